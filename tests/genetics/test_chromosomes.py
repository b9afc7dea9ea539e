"""Which chromosomes are autosomes, in people and in other species; what is left out is counted and said."""

import json

import numpy as np
import pytest
from support.commandline import call

import rspca
from rspca.formats import write_plink


@pytest.fixture
def study(tmp_path):
    """Write one SNP on each of these chromosomes, and return the .bed."""

    def write(chromosomes, positions=None, name="study"):
        names = [str(one) for one in chromosomes]
        X = np.random.default_rng(0).integers(0, 3, (12, len(names)))
        X[:2] = [[0] * len(names), [2] * len(names)]
        columns = {"chromosome": np.array(names)} | ({} if positions is None else {"position": np.array(positions)})
        write_plink(tmp_path / f"{name}.bed", X, variants=columns)
        return tmp_path / f"{name}.bed"

    return write


def used(table):
    return table.features["chromosome"].tolist()


HUMAN = [*range(1, 27)]
DOG, CATTLE, SALMON = [*range(1, 40)], [*range(1, 31)], [*range(1, 30)]
CONTIGS = ["NC_027300.1", "NC_027301.1", "ssa03", "scaffold_17", "contig-8"]


# issue 14, item 16
@pytest.mark.parametrize("chromosomes", [DOG, CATTLE, SALMON, CONTIGS, ["2L", "2R", "4"]], ids=str)
def test_no_chromosome_of_another_species_is_dropped(study, recwarn, chromosomes):
    table = rspca.read(study(chromosomes))
    assert used(table) == [str(one) for one in chromosomes]
    assert table.notes == ()
    assert not [one for one in recwarn if "left out" in str(one.message)]


# issue 14, item 16
def test_human_codes_are_left_out_counted_and_said(study):
    bed = study([*HUMAN, 23, 0, "GL000191.1"])
    with pytest.warns(UserWarning, match=r"7 of 29 SNPs are left out.*2 on 23 \(X\).*human X, Y, XY and MT") as said:
        table = rspca.read(bed)
    assert used(table) == [str(one) for one in range(1, 23)]
    assert table.notes == (str(said[0].message),)
    assert "7 of 29 SNPs are left out" in str(table)
    assert said[0].filename == __file__
    assert rspca.read(bed, chromosomes="all").shape[1] == 29


# issue 14, item 16
@pytest.mark.parametrize(
    ("chromosomes", "left_out"),
    [
        pytest.param([*range(1, 39), "X", "Y", "MT"], ["X", "Y", "MT"], id="dog, sex chromosomes by letter"),
        pytest.param([*range(1, 27), "X"], ["X"], id="sheep: 23 to 26 are not X if another is"),
        pytest.param([*range(1, 29), "chrZ", "chrW", "chrM"], ["chrZ", "chrW", "chrM"], id="chicken"),
        pytest.param(["chr1", "chr22", "chrX", "chrY", "chrM", "chrUn"], ["chrX", "chrY", "chrM", "chrUn"], id="hg38"),
        pytest.param(["1", "2", "PAR1", "PAR2", "0"], ["PAR1", "PAR2", "0"], id="PLINK 2"),
        pytest.param(["1", "x", "Mt", "Pt"], ["x", "Mt", "Pt"], id="plants, and letters of any case"),
        pytest.param(["I", "II", "IX", "X", "XI", "Mito"], ["Mito"], id="yeast, whose X is the tenth"),
    ],
)
def test_only_what_is_named_as_something_else_is_no_autosome(study, chromosomes, left_out):
    with pytest.warns(UserWarning, match=rf"{len(left_out)} of {len(chromosomes)} SNPs are left out"):
        table = rspca.read(study(chromosomes))
    assert used(table) == [str(one) for one in chromosomes if str(one) not in left_out]


# issue 14, item 16
def test_a_chromosome_26_that_is_too_long_for_mitochondria_is_an_autosome(study):
    sheep = study(range(1, 27), positions=[40_000_000] * 26)
    assert rspca.read(sheep).shape[1] == 26
    human = study(range(1, 27), positions=[40_000_000] * 25 + [16_000], name="human")
    with pytest.warns(UserWarning, match="4 of 26 SNPs"):
        assert rspca.read(human).shape[1] == 22


# issue 14, item 16
def test_codes_are_judged_over_all_files_of_a_study(study, tmp_path):
    beds = []
    for number in (1, 23, 38):
        beds.append(tmp_path / f"c{number}.bed")
        variants = {"chromosome": np.array([str(number)] * 2), "snp": np.array([f"c{number}s0", f"c{number}s1"])}
        write_plink(beds[-1], np.array([[0, 1], [1, 2], [2, 0]]), variants=variants)
    assert rspca.read(beds).shape[1] == 6
    with pytest.warns(UserWarning, match="2 of 4 SNPs"):
        assert rspca.read(beds[:2]).shape[1] == 2


# issue 14, item 16
@pytest.mark.parametrize(
    ("there", "asked", "expected"),
    [
        (HUMAN, "X", ["23"]),
        (HUMAN, "chrX", ["23"]),
        (HUMAN, 23, ["23"]),
        (HUMAN, ["Y", "XY", "M"], ["24", "25", "26"]),
        ([1, 22, "X", "MT"], "23", ["X"]),
        ([1, 22, "X", "MT"], [26, 1], ["1", "MT"]),
        ([1, "chrX"], "x", ["chrX"]),
        (DOG, "23", ["23"]),
        (HUMAN, "1-5", list("12345")),
        (HUMAN, ["chr3-chr4", "X"], ["3", "4", "23"]),
        (HUMAN, "1-3,22,X", ["1", "2", "3", "22", "23"]),
        (HUMAN, "21-23", ["21", "22", "23"]),
        (DOG, "22-24", ["22", "23", "24"]),
        (["1-5", 1, 2], "1-5", ["1-5"]),
    ],
)
def test_chromosomes_are_found_by_letter_by_code_and_by_range(study, there, asked, expected):
    bed = study(there)
    table = rspca.read(bed, chromosomes=asked)
    assert used(table) == expected
    text = ",".join(map(str, asked)) if isinstance(asked, list) else asked
    out = bed.parent / "out"
    done = call("fit", bed, "--chromosomes", text, "-k", 1, "--json", "-q", "--no-report", "-o", out)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_features"] == len(expected)


# issue 14, item 16
def test_the_command_line_says_what_is_left_out(study, tmp_path):
    bed = study(HUMAN)
    done = call("fit", bed, "-k", 2, "--no-report", "-o", tmp_path / "out")
    assert "4 of 26 SNPs are left out by their chromosome: 1 on 23 (X), 1 on 24 (Y)" in done.stderr
    assert "--chromosomes all uses all" in done.stderr
    done = call("fit", bed, "-k", 2, "--no-report", "-o", tmp_path / "out", "--chromosomes", "1-5")
    assert "21 of 26 SNPs are left out by their chromosome" in done.stderr
    assert "other chromosomes" in done.stderr
    done = call("fit", bed, "-k", 2, "--no-report", "-o", tmp_path / "out", "--chromosomes", "all")
    assert "left out" not in done.stderr


# issue 14, item 16
def test_a_range_that_makes_no_sense_is_refused_and_absent_ends_are_said(study, tmp_path):
    bed = study([1, 2, 3])
    with pytest.raises(ValueError, match="chromosomes='5-1' ends before it begins"):
        rspca.read(bed, chromosomes="5-1")
    with pytest.warns(UserWarning, match=r"2 of the 4 chromosomes asked for are not in the data: 4, 5") as said:
        assert rspca.read(bed, chromosomes="2-5").shape[1] == 2
    assert said[0].filename == __file__
    done = call("fit", bed, "-k", 1, "-o", tmp_path / "out", "--chromosomes", "7-9")
    assert done.returncode == 2
    assert "those there are 1, 2, 3" in done.stderr


# issue 14, item 16
def test_regions_are_found_on_chromosomes_by_letter_and_by_code(study, tmp_path):
    (tmp_path / "x.regions").write_text("chrX 0 100000000\n")
    bed = study([1, 23, 23], positions=[10, 20, 200_000_000])
    assert rspca.read(bed, chromosomes="all", exclude=tmp_path / "x.regions").feature_names.tolist() == ["snp0", "snp2"]
    (tmp_path / "x.regions").write_text("23 0 100000000\n")
    bed = study([1, "X", "chrX"], positions=[10, 20, 200_000_000])
    assert rspca.read(bed, chromosomes="all", exclude=tmp_path / "x.regions").feature_names.tolist() == ["snp0", "snp2"]
