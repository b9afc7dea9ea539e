"""PLINK 2 files: the same table as the .bed of the same calls, dosages as the dense matrix, damage in one line."""

import pickle
import shutil
import subprocess
import tempfile
import warnings
from dataclasses import replace

import numpy as np
import pytest
from support.commandline import call, one_line

import rspca
from benchmarks.data import data_path
from rspca.base.files import read_bytes
from rspca.cli.support.inputs import Reading, opened
from rspca.genetics.packing import pack_calls
from rspca.genetics.pgen import read_pgen_header, read_psam, read_pvar
from rspca.genetics.plink import pack
from rspca.operators.plink import PackedOperator
from rspca.operators.variants import DosageOperator

pgenlib = pytest.importorskip("pgenlib", reason="to read .pgen needs Pgenlib: pip install 'rspca[genetics]'")
pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")

M, N = 41, 60


def genotypes(m=M, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.binomial(2, rng.uniform(0.1, 0.9, n), (m, n)).astype(float)
    block = slice(min(7, n), min(13, n))
    X[:, block] = np.clip(rng.integers(0, 3, (m, 1)) + rng.integers(0, 2, (m, block.stop - block.start)) - 1, 0, 2)
    X[rng.random((m, n)) < 0.04] = np.nan
    return X


def described(n):
    chromosomes = np.where(np.arange(n) < n // 2, "1", np.where(np.arange(n) < n - 3, "2", "X"))
    return {
        "chromosome": chromosomes,
        "snp": np.array([f"rs{j}" for j in range(n)]),
        "position": 1000 * (np.arange(n) + 1),
        "allele_1": np.full(n, "A"),
        "allele_2": np.full(n, "G"),
    }


def write_pgen(path, X, *, dosages=False, alt=None, header=True, variants=None):
    """Write people by variants as .pgen, .pvar and .psam, as plink2 does."""
    m, n = X.shape
    known = variants or described(n)
    writer = pgenlib.PgenWriter(str(path).encode(), m, variant_ct=n, nonref_flags=False, dosage_present=dosages)
    for column in X.T:
        if dosages:
            writer.append_dosages(np.where(np.isnan(column), -9, column).astype(np.float32))
        else:
            writer.append_biallelic(np.where(np.isnan(column), -9, column).astype(np.int8))
    writer.close()
    rows = zip(*(known[name] for name in ("chromosome", "position", "snp", "allele_2", "allele_1")), strict=True)
    text = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n" if header else ""
    path.with_suffix(".pvar").write_text(text + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    people = "".join(f"F{i}\tI{i}\t1\n" for i in range(m))
    path.with_suffix(".psam").write_text(f"#FID\tIID\tSEX\n{people}")
    return path


@pytest.fixture
def study(tmp_path):
    X = genotypes()
    write_pgen(tmp_path / "g.pgen", X)
    (tmp_path / "bed").mkdir()
    rspca.formats.write_plink(tmp_path / "bed" / "g.bed", X, variants=described(N))
    return tmp_path


def quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rspca.read(*arguments, **options)


def as_array(table):
    return np.asarray(table.operator.columns(np.arange(table.shape[1])))


def test_calls_are_packed_as_the_plain_packing_does():
    X = genotypes()
    np.testing.assert_array_equal(pack_calls(np.where(np.isnan(X), -9, X).astype(np.int8).T.copy()), pack(X))


SELECTIONS = {
    "autosomes": {},
    "all": {"chromosomes": "all"},
    "one": {"chromosomes": ["2"], "min_frequency": 0.2},
    "some": {"samples": [f"I{i}" for i in range(3, 30, 2)], "snps": [f"rs{j}" for j in range(1, 50, 3)]},
    "missing": {"max_missing": 0.05, "dtype": np.float32},
}


# issue 20, item 1
@pytest.mark.parametrize("name", SELECTIONS)
def test_a_pgen_is_the_table_of_its_bed(study, name):
    ours, bed = (quiet(study / file, **SELECTIONS[name]) for file in ("g.pgen", "bed/g.bed"))
    assert isinstance(ours.operator, PackedOperator)
    np.testing.assert_array_equal(as_array(ours), as_array(bed))
    assert ours.operator.dtype == bed.operator.dtype
    for side in ("features", "samples"):
        assert getattr(ours, side).keys() == getattr(bed, side).keys()
        for key, column in getattr(ours, side).items():
            np.testing.assert_array_equal(column, getattr(bed, side)[key])
    models = [rspca.SparsePCA(2, k=4, scale="patterson", random_state=0).fit(table) for table in (ours, bed)]
    np.testing.assert_allclose(models[0].components_, models[1].components_, atol=1e-6 if name == "missing" else 1e-12)


# issue 20, item 1
def test_groups_and_another_study_work_as_for_bed(study):
    bed, ours = quiet(study / "bed/g.bed"), quiet(study / "g.pgen")
    model = rspca.SparsePCA(2, k=4, groups=10_000, random_state=0).fit(bed)
    np.testing.assert_array_equal(
        model.components_, rspca.SparsePCA(2, k=4, groups=10_000, random_state=0).fit(ours).components_
    )
    swapped = described(N) | {"allele_1": np.full(N, "G"), "allele_2": np.full(N, "A")}
    other = quiet(write_pgen(study / "other.pgen", 2 - genotypes(), variants=swapped))
    assert set(model.match(other).status.tolist()) == {"swapped"}
    np.testing.assert_allclose(model.transform(other), model.transform(bed), atol=1e-12)
    streamed = quiet(write_pgen(study / "d.pgen", 2 - genotypes(), variants=swapped, dosages=True), dosages=True)
    np.testing.assert_allclose(model.transform(streamed), model.transform(bed), atol=1e-10)


# issue 20, item 1
def test_text_files_may_be_compressed_without_header_or_those_of_plink_1(study):
    zstandard = pytest.importorskip("zstandard")
    expected = as_array(quiet(study / "g.pgen"))
    content = (study / "g.pvar").read_bytes()
    (study / "g.pvar").unlink()
    with pytest.raises(FileNotFoundError, match=r"no g\.pvar next to it"):
        rspca.read(study / "g.pgen")
    (study / "g.pvar.zst").write_bytes(zstandard.compress(content))
    np.testing.assert_array_equal(as_array(quiet(study / "g")), expected)  # the suffix may be left out
    (study / "g.pvar.zst").write_bytes(zstandard.compress(content)[:-20])
    with pytest.raises(ValueError, match=r"g\.pvar\.zst is damaged"):
        rspca.read(study / "g.pgen")
    (study / "g.pvar.zst").unlink()
    (study / "g.psam").unlink()
    for suffix in ("bim", "fam"):
        shutil.copy(study / "bed" / f"g.{suffix}", study / f"g.{suffix}")
    np.testing.assert_array_equal(as_array(quiet(study / "g.pgen")), expected)
    (study / "only.psam").write_text("#IID\n" + "".join(f"I{i}\n" for i in range(M)))
    assert quiet(study / "g.pgen", psam=study / "only.psam").samples["fid"][0] == "0"
    assert read_psam(study / "g.fam")["iid"][3] == "I3"
    assert read_pvar(study / "g.bim")["position"][1] == 2000


# issue 20, item 1
def test_several_files_are_one_table(tmp_path):
    X = genotypes()
    known = described(N)
    for name, part in (("a", slice(0, 25)), ("b", slice(25, N))):
        variants = {key: column[part] for key, column in known.items()}
        write_pgen(tmp_path / f"{name}.pgen", X[:, part], variants=variants)
    whole = quiet(write_pgen(tmp_path / "g.pgen", X))
    for dosages in (False, True):
        table = quiet([tmp_path / "a.pgen", tmp_path / "b.pgen"], dosages=dosages)
        np.testing.assert_allclose(as_array(table), as_array(whole), atol=1e-12)
    (tmp_path / "b.psam").write_text("#IID\n" + "".join(f"other{i}\n" for i in range(M)))
    with pytest.raises(ValueError, match="do not list the same people"):
        rspca.read([tmp_path / "a.pgen", tmp_path / "b.pgen"])


def real_dosages(m=300, n=500):
    rng = np.random.default_rng(1)
    X = np.clip(rng.standard_normal((m, 1)) * (np.arange(n) < 12) * 0.4 + rng.uniform(0, 2, (m, n)), 0, 2)
    X = np.round(X * 2**14) / 2**14  # what the format stores
    X[rng.random((m, n)) < 0.02] = np.nan
    return X


# issue 20: dosages against the same data dense, 1e-10
def test_dosages_are_those_of_the_dense_matrix(tmp_path):
    X = real_dosages()
    path = write_pgen(tmp_path / "d.pgen", X, dosages=True)
    table = rspca.read(path, dosages=True, chromosomes="all", max_memory="1MB")
    assert isinstance(table.operator, DosageOperator)
    dense = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(as_array(table), dense, atol=1e-12)
    np.testing.assert_allclose(table.features["missing"], np.isnan(X).mean(axis=0), atol=1e-12)
    models = [rspca.SparsePCA(2, k=10, random_state=0).fit(data) for data in (table, dense)]
    assert [s.tolist() for s in models[0].supports_] == [s.tolist() for s in models[1].supports_]
    np.testing.assert_allclose(models[0].components_, models[1].components_, atol=1e-10)
    np.testing.assert_allclose(models[0].transform(table), models[1].transform(dense), atol=1e-9)
    again = pickle.loads(pickle.dumps(table.operator))
    np.testing.assert_array_equal(again.columns([3, 1]), table.operator.columns([3, 1]))
    few = rspca.read(path, dosages=True, chromosomes="all", max_missing=0.02, samples=["I5", "I7", "I9"])
    assert few.shape[0] == 3
    assert 0 < few.shape[1] < 500


# issue 20, item 1
def test_calls_that_exceed_the_memory_are_packed_into_a_temporary_file(tmp_path, monkeypatch):
    X = genotypes(640, 6400)
    path = write_pgen(tmp_path / "g.pgen", X)
    (tmp_path / "cache").mkdir()
    mapped, packed = (quiet(path, max_memory=limit, cache=tmp_path / "cache") for limit in ("1MB", "1GB"))
    assert isinstance(mapped.operator._sources[0], np.memmap)
    assert not isinstance(packed.operator._sources[0], np.memmap)
    V = np.linspace(-1, 1, mapped.shape[1] * 8).reshape(-1, 8)
    monkeypatch.setattr("rspca.operators.plink.BYTES_AT_ONCE", 1 << 16)  # pages are let go between blocks
    np.testing.assert_array_equal(mapped.operator.gram(V), packed.operator.gram(V))
    np.testing.assert_array_equal(mapped.operator.columns([5, 1]), packed.operator.columns([5, 1]))
    assert not list((tmp_path / "cache").iterdir())
    with pytest.raises(OSError, match="cannot be written to"):
        quiet(path, max_memory="1MB", cache=tmp_path / "none")


# issue 20, item 1
def test_the_limit_is_for_all_files_together(tmp_path):
    for name in "ab":
        known = described(3600) | {"snp": np.array([f"{name}{j}" for j in range(3600)])}
        write_pgen(tmp_path / f"{name}.pgen", np.zeros((640, 3600)), variants=known)
    one, both = (quiet([tmp_path / f"{name}.pgen" for name in names], max_memory="1MB") for names in ("a", "ab"))
    assert not isinstance(one.operator._sources[0], np.memmap)  # 0.58 MB
    assert isinstance(both.operator._sources[0], np.memmap)
    assert both.shape[1] == 2 * one.shape[1]


# issue 20, item 1: a cache file next to the result
@pytest.mark.parametrize("name", ["out", "out/scores.csv", None])
def test_commands_pack_next_to_their_result(tmp_path, monkeypatch, name):
    write_pgen(tmp_path / "g.pgen", np.zeros((640, 6400)))
    (tmp_path / "out").mkdir()
    folders, make = [], tempfile.TemporaryFile

    def recorded(*arguments, **options):
        folders.append(options.get("dir"))
        return make(*arguments, **options)

    monkeypatch.setattr(tempfile, "TemporaryFile", recorded)
    result, reading = None if name is None else tmp_path / name, Reading(max_memory="1MB")
    for chosen in (reading, replace(reading, cache=tmp_path)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with opened([tmp_path / "g.pgen"], chosen, result=result):
                pass
    assert folders == [None if name is None else tmp_path / "out", tmp_path]
    assert not list((tmp_path / "out").iterdir())


# issue 20, item 1
def test_alleles_phase_and_dosages_that_are_not_used_are_reported(tmp_path):
    X = genotypes(10, 6)
    path = tmp_path / "g.pgen"
    write_pgen(path, X)
    writer = pgenlib.PgenWriter(
        str(path).encode(), 10, variant_ct=6, nonref_flags=False, allele_ct_limit=3, hardcall_phase_present=True
    )
    rng, alleles = np.random.default_rng(0), []
    for j in range(6):
        alleles.append(rng.integers(0, 3 if j == 2 else 2, 20).astype(np.int32))
        writer.append_alleles(alleles[-1], all_phased=True, allele_ct=3 if j == 2 else 2)
    writer.close()
    path.with_suffix(".pvar").write_text(path.with_suffix(".pvar").read_text().replace("rs2\tG\tA", "rs2\tG\tA,C"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = rspca.read(path, chromosomes="all")
    texts = " ".join(str(warning.message) for warning in said)
    assert "1 of the 6 variants have more than two alleles and are left out" in texts
    assert "their phase is not used" in texts
    assert table.feature_names.tolist() == ["rs0", "rs1", "rs3", "rs4", "rs5"]
    np.testing.assert_array_equal(as_array(table)[:, 2], (alleles[3].reshape(10, 2) == 1).sum(axis=1))
    write_pgen(tmp_path / "d.pgen", real_dosages(10, 6), dosages=True)
    with pytest.warns(UserWarning, match="has dosages; hard calls are used"):
        rspca.read(tmp_path / "d.pgen", chromosomes="all", max_missing=0.9)


def changed(path, change):
    path.write_bytes(change(path.read_bytes()))


DAMAGE = {
    "truncated": (lambda p: changed(p, lambda b: b[:-1]), "cut off"),
    "half": (lambda p: changed(p, lambda b: b[: len(b) // 2]), "cut off"),
    "header only": (lambda p: changed(p, lambda b: b[:8]), "cut off"),
    "longer": (lambda p: changed(p, lambda b: b + b"x"), "cut off or damaged"),
    "empty": (lambda p: changed(p, lambda b: b""), "does not begin with 6c 1b"),
    "wrong magic": (lambda p: changed(p, lambda b: b"\x6c\x1c" + b[2:]), "does not begin with 6c 1b"),
    "a .bed": (lambda p: changed(p, lambda b: b[:2] + b"\x01" + b[3:]), "is a PLINK 1 .bed file"),
    "other mode": (lambda p: changed(p, lambda b: b[:2] + b"\x20" + b[3:]), "storage mode 0x20"),
    "many variants": (lambda p: changed(p, lambda b: b[:3] + b"\xff\xff\xff\x7f" + b[7:]), "cut off"),
    "mixed sample counts": (
        lambda p: p.with_suffix(".psam").write_text("#IID\nI1\nI2\n"), "41 people, and its .psam lists 2"
    ),
    "mixed variant counts": (
        lambda p: p.with_suffix(".pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n1\t5\trs1\tA\tC\n"), "60 variants"
    ),
    "no psam": (lambda p: p.with_suffix(".psam").unlink(), "no g.psam next to it"),
    "position": (
        lambda p: p.with_suffix(".pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n1\tx\trs1\tA\tC\n"), "position 'x'"
    ),
    "pvar header": (lambda p: p.with_suffix(".pvar").write_text("#CHROM\tPOS\n1\t5\n"), "its header has no ID"),
}  # fmt: skip


# issue 20: one line, nothing written
@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_pgen_files_are_refused_in_one_line(study, name):
    damage, said = DAMAGE[name]
    damage(study / "g.pgen")
    with pytest.raises((ValueError, OSError), match=said) as error:
        rspca.read(study / "g.pgen")
    assert "\n" not in str(error.value)
    for files in (["g.pgen"], ["g.pgen", "other.pgen"], ["g.pgen", "--dosages"]):
        result = call("fit", *files, "-k", "2", "-o", "out", cwd=study)
        absent = "other.pgen does not exist" in result.stderr and "other.pgen" in files
        assert absent or said in one_line(result.stderr)
        assert result.returncode == 2
        assert not (study / "out").exists()


def test_a_damaged_record_is_an_error_of_this_file(study):
    header = read_pgen_header(study / "g.pgen")
    assert (header.n_variants, header.n_people, header.has_dosages, header.is_phased) == (N, M, False, False)
    content = bytearray((study / "g.pgen").read_bytes())
    content[12 + 8 : 12 + 8 + N // 2] = b"\x77" * (N // 2)  # types of records that need other records
    (study / "g.pgen").write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"g\.pgen is"):
        rspca.read(study / "g.pgen", chromosomes="all")


# issue 20: what plink2 writes, with the names of its own
@pytest.mark.skipif(shutil.which("plink2") is None, reason="plink2 is not installed")
def test_what_plink2_writes_is_read(study):
    for options in (["--make-pgen"], ["--make-pgen", "vzs"]):
        done = subprocess.run(["plink2", "--bfile", "bed/g", *options, "--out", "w"], cwd=study, capture_output=True)
        assert done.returncode == 0
        np.testing.assert_array_equal(as_array(quiet(study / "w.pgen")), as_array(quiet(study / "bed" / "g.bed")))
        for file in study.glob("w.*"):
            file.unlink()


def test_the_command_line_fits_and_transforms(study):
    result = call("fit", "g.pgen", "-k", "3", "-n", "2", "-o", "out", "--chromosomes", "all", cwd=study)
    assert result.returncode == 0
    scores = call("transform", "out", "bed/g.bed", "--chromosomes", "all", cwd=study).stdout
    assert scores == call("transform", "out", "g.pgen", "--chromosomes", "all", cwd=study).stdout
    assert call("fit", "g.pgen", "-k", "3", "--dosages", "-o", "d", "--chromosomes", "1", cwd=study).returncode == 0
    assert "give g.pgen" in one_line(call("fit", "g.pvar", "-k", "2", cwd=study).stderr)


# issue 20, item 1: HapMap3 as .pgen, made by plink2 from the .bed
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("plink2") is None, reason="plink2 is not installed")
def test_hapmap3_as_pgen_has_the_loadings_of_bed(tmp_path):
    source = data_path("hapmap3_flashpca", "data.bed").parent
    for suffix in ("bed", "fam"):
        shutil.copy(source / f"data.{suffix}", tmp_path / f"h.{suffix}")
    (tmp_path / "h.bim").write_bytes(read_bytes(source / "data.bim.gz"))
    subprocess.run(
        ["plink2", "--bfile", "h", "--make-pgen", "--out", "h"], cwd=tmp_path, capture_output=True, check=True
    )
    ours, bed = (
        rspca.SparsePCA(3, k=100, random_state=0).fit(quiet(tmp_path / f"h.{name}")) for name in ("pgen", "bed")
    )
    assert [s.tolist() for s in ours.supports_] == [s.tolist() for s in bed.supports_]
    np.testing.assert_allclose(ours.components_, bed.components_, atol=1e-10)
