"""Reading tables: what is selected, what results carry, what is refused, and models applied to other studies."""

import warnings

import numpy as np
import pytest

import rspca
import rspca.genetics.alleles
from rspca.formats import write_plink
from rspca.genetics.regions import LONG_RANGE_LD

pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")

M, N = 23, 30


def genotypes(m=M, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.binomial(2, rng.uniform(0.1, 0.9, n), (m, n)).astype(float)
    X[0], X[1] = 0.0, 1.0
    X[rng.random((m, n)) < 0.05] = np.nan
    return X


@pytest.fixture
def bed(tmp_path):
    path = tmp_path / "x.bed"
    chromosome = np.array(["1", "chr2", "X", "22", "0"])[np.arange(N) % 5]
    write_plink(path, genotypes(), variants={"chromosome": chromosome})
    return path


def snps(table):
    return table.feature_names.tolist()


def test_a_table_names_its_rows_and_columns(bed):
    table = rspca.read(bed, chromosomes="all")
    assert table.shape == table.operator.shape == (M, N)
    assert snps(table) == [f"snp{j}" for j in range(N)]
    assert table.sample_names.tolist() == [f"I{i}" for i in range(M)]
    np.testing.assert_allclose(table.features["frequency"], np.nanmean(genotypes(), axis=0) / 2)
    np.testing.assert_allclose(table.features["missing"], np.isnan(genotypes()).mean(axis=0))
    assert all(len(column) == N for column in table.features.values())
    assert all(len(column) == M for column in table.samples.values())


def test_autosomes_are_the_default_and_chromosomes_are_named_with_or_without_chr(bed):
    assert snps(rspca.read(bed)) == [f"snp{j}" for j in range(N) if j % 5 in (0, 1, 3)]
    assert snps(rspca.read(bed, chromosomes=[2, "X"])) == [f"snp{j}" for j in range(N) if j % 5 in (1, 2)]
    assert snps(rspca.read(bed, chromosomes="22")) == [f"snp{j}" for j in range(N) if j % 5 == 3]


def test_frequency_missingness_and_lists_select(bed, tmp_path):
    X = genotypes()
    frequency, missing = np.nanmean(X, axis=0) / 2, np.isnan(X).mean(axis=0)
    table = rspca.read(bed, chromosomes="all", min_frequency=0.3, max_missing=0.05)
    wanted = np.flatnonzero((np.minimum(frequency, 1 - frequency) >= 0.3) & (missing <= 0.05))
    assert snps(table) == [f"snp{j}" for j in wanted]
    (tmp_path / "snps.txt").write_text("snp4\nsnp9\nsnp11\n")
    assert snps(rspca.read(bed, chromosomes="all", snps=tmp_path / "snps.txt")) == ["snp4", "snp9", "snp11"]
    (tmp_path / "keep.txt").write_text("F3 I3\nF20 I20\nF5 I5\n")
    for samples in (tmp_path / "keep.txt", ["I5", "I3", "I20"], [("F3", "I3"), ("F5", "I5"), ("F20", "I20")]):
        table = rspca.read(bed, samples=samples, max_missing=0.9)
        assert table.sample_names.tolist() == ["I3", "I5", "I20"]
        assert table.samples["fid"].tolist() == ["F3", "F5", "F20"]
        assert table.shape[0] == 3
    with pytest.warns(UserWarning, match="1 of the 2 samples"):
        rspca.read(bed, samples=["I5", "nobody"], max_missing=0.9)


def test_regions_are_left_out(bed, tmp_path):
    (tmp_path / "regions.bed").write_text("# mine\nchr1\t0\t6000\tname\n2 6999 7000\n")
    kept = snps(rspca.read(bed, exclude=tmp_path / "regions.bed"))
    assert {"snp0", "snp5", "snp6"}.isdisjoint(kept)  # at 1,000; at 6,000, the last position of a region; at 7,000
    assert {"snp1", "snp3", "snp10"} < set(kept)


def test_the_built_in_regions_are_left_out(tmp_path):
    inside = {"chromosome": np.array(["6", "6", "7"]), "position": np.array([30_000_000, 10_000_000, 30_000_000])}
    write_plink(tmp_path / "x.bed", genotypes(n=3), variants=inside)
    for name in LONG_RANGE_LD:
        assert snps(rspca.read(tmp_path / "x.bed", exclude=name)) == ["snp1", "snp2"]
        assert len(LONG_RANGE_LD[name]) == 24


def test_files_of_single_chromosomes_are_put_side_by_side(tmp_path):
    X = genotypes()
    for number, part in enumerate((slice(0, 12), slice(12, 13), slice(13, N))):
        names = [f"rs{j}" for j in range(N)[part]]
        write_plink(tmp_path / f"c{number}.bed", X[:, part], variants={"snp": np.array(names)})
    table = rspca.read([tmp_path / f"c{number}.bed" for number in range(3)])
    write_plink(tmp_path / "whole.bed", X)
    whole = rspca.read(tmp_path / "whole.bed")
    assert snps(table) == [f"rs{j}" for j in range(N)]
    rng = np.random.default_rng(0)
    V, U, S = rng.standard_normal((N, 2)), rng.standard_normal((M, 2)), np.array([14, 3, 12, 29])
    np.testing.assert_allclose(table.operator.matmat(V), whole.operator.matmat(V), atol=1e-4)
    np.testing.assert_array_equal(table.operator.rmatmat(U), whole.operator.rmatmat(U))
    np.testing.assert_array_equal(table.operator.columns(S), whole.operator.columns(S))
    np.testing.assert_array_equal(table.operator.restrict(S).rmatmat(U), whole.operator.restrict(S).rmatmat(U))
    assert snps(rspca.read([tmp_path / "c0.bed", tmp_path / "c2.bed"], snps=["rs14"])) == ["rs14"]
    write_plink(tmp_path / "c1.bed", X[:, 12:13], people={"iid": np.array([f"J{i}" for i in range(M)])})
    with pytest.raises(ValueError, match="same people"):
        rspca.read([tmp_path / f"c{number}.bed" for number in range(3)])


# --- what results carry -----------------------------------------------------------------------------------------------


def test_results_carry_what_the_table_knows(bed, tmp_path):
    table = rspca.read(bed, chromosomes="all")
    model = rspca.SparsePCA(2, k=4, scale="patterson", random_state=0).fit(table)
    first = model.top_features(0)[0]
    at = int(np.argmax(np.abs(model.components_[0])))
    assert first.name == first.snp == f"snp{at}"
    assert (first.position, first.allele_1, first.allele_2) == (1000 * (at + 1), "A", "G")
    assert first.frequency == pytest.approx(table.features["frequency"][at])
    scores = model.score_table(table)
    assert scores["fid"][3] == "F3"
    assert scores["iid"][3] == "I3"
    np.testing.assert_array_equal(scores["sparsepca1"], model.transform(table)[:, 1])
    model.save(tmp_path / "model.npz")
    again = rspca.load(tmp_path / "model.npz")
    assert again.top_features(1) == model.top_features(1)
    np.testing.assert_array_equal(again.transform(table), model.transform(table))


def test_a_fit_on_an_array_forgets_the_table_before(bed):
    model = rspca.SparsePCA(1, k=4, random_state=0).fit(rspca.read(bed))
    model.fit(np.random.default_rng(0).standard_normal((20, 6)))
    assert not hasattr(model, "features_")
    assert not hasattr(model, "feature_names_in_")


def test_the_scores_are_those_of_the_imputed_matrix(bed):
    X = genotypes()
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    table = rspca.read(bed, chromosomes="all")
    model = rspca.SparsePCA(2, k=5, scale="patterson", random_state=0).fit(table)
    expected = ((X - X.mean(axis=0)) / model.scale_) @ model.components_.T
    np.testing.assert_allclose(model.transform(table), expected, atol=1e-5)


# --- another study ----------------------------------------------------------------------------------------------------

ALLELES = np.array([("A", "G"), ("C", "A"), ("T", "G"), ("C", "T"), ("A", "T"), ("C", "G")])


def two_studies(tmp_path):
    X = genotypes(40, 60, seed=1)
    alleles = ALLELES[np.arange(60) % 6]
    write_plink(tmp_path / "one.bed", X, variants={"allele_1": alleles[:, 0], "allele_2": alleles[:, 1]})
    table = rspca.read(tmp_path / "one.bed")
    return X, alleles, table, rspca.SparsePCA(2, k=20, scale="patterson", random_state=0).fit(table)


def test_swapped_and_complemented_alleles_give_the_same_scores_and_the_rest_is_reported(tmp_path):
    X, alleles, _, model = two_studies(tmp_path)
    Y, theirs = X.copy(), alleles.copy()
    swapped = np.arange(60) % 4 == 1
    Y[:, swapped], theirs[swapped] = 2.0 - Y[:, swapped], theirs[swapped][:, ::-1]
    other_strand = np.arange(60) % 4 == 2
    theirs[other_strand] = np.vectorize(dict(zip("ACGT", "TGCA", strict=True)).get)(theirs[other_strand])
    order = np.random.default_rng(0).permutation(60)
    names = np.array([f"snp{j}" for j in order])
    absent, wrong = model.supports_[0][0], model.supports_[0][1]
    theirs[wrong] = ("I", "D")
    names[order == absent] = "another"
    write_plink(
        tmp_path / "two.bed", Y[:, order],
        variants={"snp": names, "allele_1": theirs[order, 0], "allele_2": theirs[order, 1]},
    )  # fmt: skip
    second = rspca.read(tmp_path / "two.bed")
    matched = model.match(second)
    status = dict(zip(matched.snps.tolist(), matched.status.tolist(), strict=True))
    used = []
    for j in np.unique(np.concatenate(model.supports_)):
        expected = "ambiguous" if j % 6 > 3 else "swapped" if swapped[j] else "same"
        expected = "missing" if j == absent else "different" if j == wrong and j % 6 < 4 else expected
        assert status[f"snp{j}"] == expected
        used += [j] if expected in ("same", "swapped") else []
    with pytest.warns(UserWarning, match="SNPs of the model are not used"):
        scores = model.transform(second)
    Z = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    weights = np.zeros_like(model.components_)
    weights[:, used] = (model.components_ / model.scale_)[:, used]
    np.testing.assert_allclose(scores, (Z - Z.mean(axis=0)) @ weights.T, atol=1e-5)


def test_missing_calls_of_another_study_count_as_the_mean_of_the_model(tmp_path):
    X, alleles, _, model = two_studies(tmp_path)
    Y = X[:5].copy()
    Y[0] = np.nan
    Y[1:, :] = np.nan_to_num(Y[1:], nan=1.0)
    write_plink(tmp_path / "few.bed", Y, variants={"allele_1": alleles[:, 0], "allele_2": alleles[:, 1]})
    np.testing.assert_allclose(model.transform(rspca.read(tmp_path / "few.bed"))[0], 0.0, atol=1e-5)


def test_an_allele_that_no_one_carries_is_recognized_by_the_other(tmp_path):
    from rspca.genetics.alleles import _status

    assert _status(("A", "G"), ("0", "G")) == "same"
    assert _status(("A", "G"), ("0", "A")) == "swapped"
    assert _status(("A", "G"), ("0", "0")) == "ambiguous"
    assert _status(("A", "G"), ("0", "C")) == "same"  # on the other strand
    assert _status(("AT", "G"), ("G", "AT")) == "swapped"
    assert _status(("A", "C"), ("A", "G")) == "different"


def test_a_study_without_any_snp_of_the_model_is_refused(tmp_path):
    _, _, _, model = two_studies(tmp_path)
    write_plink(tmp_path / "none.bed", genotypes(), variants={"snp": np.array([f"other{j}" for j in range(N)])})
    with (
        pytest.raises(ValueError, match="None of the SNPs"),
        pytest.warns(UserWarning, match="are not used"),
    ):
        model.transform(rspca.read(tmp_path / "none.bed"))


# --- files that must be refused ---------------------------------------------------------------------------------------


def replace_line(path, number, text):
    lines = path.read_text().splitlines()
    lines[number] = text
    path.write_text("\n".join(lines) + "\n")


def spoil(bed, what):
    content = bed.read_bytes()
    if what == "cut off":
        bed.write_bytes(content[:-2])
    elif what == "too long":
        bed.write_bytes(content + b"\0")
    elif what == "magic":
        bed.write_bytes(b"\x6c\x1c" + content[2:])
    elif what == "individual-major":
        bed.write_bytes(content[:2] + b"\0" + content[3:])
    elif what == "bim columns":
        replace_line(bed.with_suffix(".bim"), 4, "1 snp4 0 5000 A")
    elif what == "bim position":
        replace_line(bed.with_suffix(".bim"), 4, "1 snp4 0 5e3 A G")
    elif what == "bim short":
        bed.with_suffix(".bim").write_text("".join(bed.with_suffix(".bim").open().readlines()[:-1]))
    elif what == "bim empty":
        bed.with_suffix(".bim").write_text("")
    elif what == "fam columns":
        replace_line(bed.with_suffix(".fam"), 2, "F2 I2 0 0")
    elif what == "fam long":
        with bed.with_suffix(".fam").open("a") as file:
            file.write("".join(f"Z{i} Z{i} 0 0 0 -9\n" for i in range(4)))
    elif what == "duplicate snp":
        replace_line(bed.with_suffix(".bim"), 6, "chr2 snp5 0 7000 A G")
    elif what == "duplicate person":
        replace_line(bed.with_suffix(".fam"), 2, "F1 I1 0 0 0 -9")
    elif what == "all missing":
        X = genotypes()
        X[:, 5] = np.nan
        write_plink(bed, X)
    elif what == "no bim":
        bed.with_suffix(".bim").unlink()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("cut off", r"has \d+ bytes.*cut off"),
        ("too long", r"has \d+ bytes"),
        ("magic", "6c 1b"),
        ("individual-major", "make-bed"),
        ("bim columns", r"x\.bim, line 5: 5 columns"),
        ("bim position", r"x\.bim, line 5: position '5e3'"),
        ("bim short", "belongs to another file"),
        ("bim empty", "is empty"),
        ("fam columns", r"x\.fam, line 3: 4 columns"),
        ("fam long", "belongs to another file"),
        ("duplicate snp", r"1 SNP id.*more than once: snp5"),
        ("duplicate person", r"person.*more than once: F1 I1"),
        ("all missing", r"snp5.*max_missing"),
        ("no bim", r"x\.bim"),
    ],
)
def test_a_file_that_is_not_right_is_refused_at_once(bed, what, message):
    spoil(bed, what)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        rspca.read(bed)


def test_snps_without_a_call_can_be_left_out(bed):
    spoil(bed, "all missing")
    assert "snp5" not in snps(rspca.read(bed, max_missing=0.99))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chromosomes": ["9"]}, "those there are 1, chr2, X, 22, 0"),
        ({"min_frequency": 0.7}, "between 0 and 0.5"),
        ({"max_missing": 1.5}, "between 0 and 1"),
        ({"min_frequency": 0.5, "max_missing": 0.0}, "loosen"),
        ({"samples": ["nobody"]}, "None of the 1 samples"),
        ({"exclude": "long-range-ld-hg17"}, "neither one of long-range-ld-hg18"),
        ({"dtype": np.int8}, "float32 or float64"),
    ],
)
def test_a_selection_that_makes_no_sense_is_refused(bed, options, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        rspca.read(bed, **options)


def test_files_that_cannot_be_read_are_refused(tmp_path, bed):
    with pytest.raises(ValueError, match=r"not known\. Give a file of \.all, \.bed"):
        rspca.read(tmp_path / "x.xyz")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        rspca.read(tmp_path / "absent.bed")
    with pytest.raises(ValueError, match="empty list"):
        rspca.read([])
    with pytest.raises(ValueError, match="not genotypes"):
        write_plink(tmp_path / "y.bed", np.full((3, 2), 7))
    assert not (tmp_path / "y.bed").exists()


# --- two studies, and what is asked for -------------------------------------------------------------------------------


def other_people(tmp_path, swapped):
    """Genotypes with missing calls, and the same of other people with the alleles of some SNPs the other way round."""
    rng = np.random.default_rng(0)
    one, two = rng.binomial(2, 0.4, (60, 30)).astype(float), rng.binomial(2, 0.2, (40, 30)).astype(float)
    two[rng.random(two.shape) < 0.2] = np.nan
    write_plink(tmp_path / "one.bed", one)
    stored = np.where(swapped, 2.0 - two, two)
    alleles = {"allele_1": np.where(swapped, "G", "A"), "allele_2": np.where(swapped, "A", "G")}
    write_plink(tmp_path / "two.bed", stored, variants=alleles)
    return two


@pytest.mark.parametrize("scale", [False, "patterson"])
def test_scores_of_another_study_are_those_of_its_alleles_with_the_means_of_the_model(tmp_path, scale):
    swapped = np.arange(30) % 3 == 0
    two = other_people(tmp_path, swapped)
    model = rspca.SparsePCA(2, k=6, scale=scale, random_state=0).fit(rspca.read(tmp_path / "one.bed"))
    centered = (np.where(np.isnan(two), model.mean_, two) - model.mean_) / model.scale_
    other = rspca.read(tmp_path / "two.bed")
    np.testing.assert_allclose(model.transform(other), centered @ model.components_.T, atol=1e-12)
    basis = np.linalg.qr(model.components_.T)[0]
    share = np.sum((centered @ basis) ** 2) / np.sum(centered**2)
    assert model.score(other) == pytest.approx(share, rel=1e-12)


def test_a_study_without_all_snps_has_no_share_of_variance(tmp_path):
    other_people(tmp_path, np.zeros(30, dtype=bool))
    model = rspca.SparsePCA(1, k=3, random_state=0).fit(rspca.read(tmp_path / "one.bed"))
    with pytest.raises(ValueError, match="1 of the 30 SNPs of the model are not used: 1 missing"):
        model.score(rspca.read(tmp_path / "two.bed", snps=[f"snp{j}" for j in range(29)]))


@pytest.mark.parametrize(("alleles", "status"), [(("AC", "GT"), "ambiguous"), (("AC", "GA"), "same")])
def test_alleles_of_several_letters_may_look_alike_on_both_strands(alleles, status):
    features = {
        "snp": np.array(["rs1", "rs2"]),
        "allele_1": np.array([alleles[0], "A"]),
        "allele_2": np.array([alleles[1], "G"]),
    }
    other = features | {"snp": np.array(["rs1", "rs3"])}
    assert rspca.genetics.alleles.match_snps(features, other, np.array([0])).status.tolist() == [status]


@pytest.mark.parametrize("listed", [list, iter, np.array])
def test_what_is_asked_for_in_several_files_may_be_any_list(tmp_path, listed):
    for number in (1, 2):
        names = {"snp": np.array([f"c{number}s{j}" for j in range(5)]), "chromosome": np.full(5, str(number))}
        write_plink(tmp_path / f"{number}.bed", np.eye(6, 5), variants=names)
    files = [tmp_path / "1.bed", tmp_path / "2.bed"]
    assert rspca.read(files, snps=listed(["c1s1", "c2s0", "c2s4"])).feature_names.tolist() == ["c1s1", "c2s0", "c2s4"]
    assert rspca.read(files, chromosomes=listed([1, 2])).shape == (6, 10)
    assert rspca.read(files, chromosomes=np.int64(2)).shape == rspca.read(files, chromosomes=2).shape == (6, 5)
    for nonsense in (None, 1.5):
        with pytest.raises(TypeError, match="chromosomes="):
            rspca.read(files, chromosomes=nonsense)
    with pytest.raises(TypeError, match="snps=7"):
        rspca.read(files, snps=7)


def test_what_is_asked_for_and_not_there_is_told(tmp_path):
    iids = {"fid": np.array(["F1", "F1", "F2", "F2"]), "iid": np.array(["1", "2", "1", "3"])}
    write_plink(tmp_path / "a.bed", np.eye(4, 3), people=iids)
    with pytest.warns(UserWarning, match="1 of the 2 SNPs asked for are not in the data: nope"):
        assert rspca.read(tmp_path / "a.bed", snps=["snp0", "nope"]).shape == (4, 1)
    with pytest.warns(UserWarning, match="1 of the 2 chromosomes asked for are not in the data: X"):
        rspca.read(tmp_path / "a.bed", chromosomes=["1", "X"])
    with pytest.warns(UserWarning, match="2 of the 3 samples asked for are not in the data"):
        assert rspca.read(tmp_path / "a.bed", samples=["3", "4", ("F1", "3")]).shape == (1, 3)
    with pytest.warns(UserWarning, match="1 of the IIDs asked for are those of several people, such as 1"):
        assert rspca.read(tmp_path / "a.bed", samples=["1", "3"]).shape == (3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rspca.read(tmp_path / "a.bed", samples=["3", "2", "2", ("F1", "2")]).shape == (2, 3)


def test_frequency_does_not_depend_on_which_allele_is_counted(tmp_path):
    X = np.zeros((5, 2))
    X[0, 0], X[:, 1] = 1.0, 2.0
    X[0, 1] = 1.0
    write_plink(tmp_path / "a.bed", X)
    assert rspca.read(tmp_path / "a.bed", min_frequency=0.1).shape == (5, 2)


def test_chromosomes_may_be_numbered_with_zeros(tmp_path):
    write_plink(tmp_path / "a.bed", np.eye(4, 3), variants={"chromosome": ["01", "chr02", "X"]})
    assert rspca.read(tmp_path / "a.bed").feature_names.tolist() == ["snp0", "snp1"]
    assert rspca.read(tmp_path / "a.bed", chromosomes=[2]).feature_names.tolist() == ["snp1"]


def test_files_in_capitals_in_another_encoding_and_with_an_empty_line(tmp_path):
    write_plink(tmp_path / "a.bed", np.eye(4, 3))
    for suffix in ("bed", "bim", "fam"):
        content = (tmp_path / f"a.{suffix}").read_bytes()
        if suffix == "fam":
            content = content.replace(b"I2", "\u00e92".encode("latin-1")) + b"\n"
        (tmp_path / f"B.{suffix.upper()}").write_bytes(content)
    with pytest.raises(ValueError, match="encoding"):
        rspca.read(tmp_path / "B.BED")
    table = rspca.read(tmp_path / "B.BED", encoding="latin-1")
    assert table.sample_names.tolist() == ["I0", "I1", "\u00e92", "I3"]
    assert rspca.formats.read_plink(tmp_path / "B.BED", encoding="latin-1").people[2] == "\u00e92"


def test_a_third_byte_that_means_nothing_is_not_taken_for_another_order(tmp_path):
    write_plink(tmp_path / "a.bed", np.eye(4, 3))
    content = bytearray((tmp_path / "a.bed").read_bytes())
    for byte, told in ((0, "lists people first"), (2, "third byte")):
        content[2] = byte
        (tmp_path / "a.bed").write_bytes(content)
        with pytest.raises(ValueError, match=told):
            rspca.read(tmp_path / "a.bed")
