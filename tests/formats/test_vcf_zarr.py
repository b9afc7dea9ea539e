"""VCF Zarr stores: the calls of the dense matrix, packed; damage in one line."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.commandline import call, one_line

import rspca
from rspca.formats import registry
from rspca.formats.zarr_arrays import read_slice
from rspca.operators.plink import PackedOperator

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tools"))
from fuzz_seeds import vcf_store

zarr = pytest.importorskip("zarr", minversion="3", reason="to read VCF Zarr needs zarr: pip install 'rspca[zarr]'")
pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")

M, N = 43, 50


def calls(m=M, n=N, missing=0.03):
    """Alleles of variants by people."""
    rng = np.random.default_rng(0)
    alleles = rng.binomial(1, rng.uniform(0.1, 0.9, (n, 1, 1)), (n, m, 2))
    alleles[3:9] = rng.integers(0, 2, (1, m, 1))
    alleles[rng.random((n, m)) < missing] = -1
    return alleles


def counts(alleles):
    return np.where((alleles < 0).any(axis=2), np.nan, alleles.sum(axis=2)).T


def quiet(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rspca.read(path, **options)


def as_array(table):
    return np.asarray(table.operator.columns(np.arange(table.shape[1])))


def filled(X):
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


# issue 20, item 2: against the same data dense, 1e-10
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", ["g.vcz", "g.zarr", "store"])
def test_a_store_has_the_calls_of_the_dense_matrix(tmp_path, version, name):
    vcf_store(tmp_path / name, calls(), version, mask=calls() < 0)
    table = rspca.read(tmp_path / name)
    assert registry.reader_of(tmp_path / name).name == ".vcz"
    assert isinstance(table.operator, PackedOperator)
    X = filled(counts(calls()))
    np.testing.assert_allclose(as_array(table), X, atol=1e-12)
    assert table.features["chromosome"].tolist() == ["1"] * (N // 2) + ["2"] * (N - N // 2)
    assert table.features["allele_1"][0] == "A"
    assert table.samples["iid"][3] == "I3"
    models = [rspca.SparsePCA(2, k=5, random_state=0).fit(data) for data in (table, X)]
    np.testing.assert_allclose(models[0].components_, models[1].components_, atol=1e-10)


# issue 20, item 2
def test_selections_are_those_of_bed_files(tmp_path):
    vcf_store(tmp_path / "g.vcz", calls())
    known = {"chromosome": np.repeat(["1", "2"], N // 2), "snp": np.array([f"rs{j}" for j in range(N)])}
    rspca.formats.write_plink(tmp_path / "g.bed", counts(calls()), variants=known)
    for options in (
        {"chromosomes": ["2"], "min_frequency": 0.2},
        {"samples": ["I1", "I5", "I6", "I30", "I42"], "snps": ["rs3", "rs30", "rs49"]},
        {"max_missing": 0.02, "dtype": np.float32},
    ):
        ours, bed = (quiet(tmp_path / name, **options) for name in ("g.vcz", "g.bed"))
        np.testing.assert_array_equal(as_array(ours), as_array(bed))
        np.testing.assert_array_equal(ours.feature_names, bed.feature_names)
        np.testing.assert_array_equal(ours.samples["iid"], bed.samples["iid"])


# issue 20, item 2
def test_masks_haploid_calls_alleles_and_ids(tmp_path):
    alleles = np.abs(calls(missing=0.0))
    alleles[5, :10, 1] = -2  # haploid
    mask = alleles < 0
    mask[7, 4] = True
    names = np.array([f"rs{j}" for j in range(N)])
    names[9] = "."
    several = np.array([["G", "A", ""]] * N)
    several[11, 2] = "T"
    alleles[11, 0] = 2
    vcf_store(tmp_path / "g.vcz", alleles, mask=mask, variant_id=names, variant_allele=several)
    with pytest.warns(UserWarning, match="1 of the 50 variants have more than two alleles and are left out"):
        table = rspca.read(tmp_path / "g.vcz")
    X = alleles.sum(axis=2).T.astype(float)
    X[:10, 5] = 2 * alleles[5, :10, 0]
    X[4, 7] = np.nan
    np.testing.assert_allclose(as_array(table), np.delete(filled(X), 11, axis=1), atol=1e-12)
    assert table.feature_names[9] == "1:10000:G:A"


# issue 20, item 2
def test_calls_that_exceed_the_memory_are_packed_into_a_temporary_file(tmp_path):
    vcf_store(tmp_path / "g.vcz", calls(802, 5600), chunks=(500, 90))
    mapped, packed = (quiet(tmp_path / "g.vcz", max_memory=limit) for limit in ("1MB", "1GB"))
    assert isinstance(mapped.operator._sources[0], np.memmap)
    assert not isinstance(packed.operator._sources[0], np.memmap)
    v = np.linspace(-1, 1, 5600)
    np.testing.assert_array_equal(mapped.operator.gram(v), packed.operator.gram(v))
    np.testing.assert_allclose(packed.operator.matmat(v), filled(counts(calls(802, 5600))) @ v, rtol=1e-9, atol=1e-9)
    vcf_store(tmp_path / "h.vcz", calls(802, 800), chunks=(800, 802))
    with pytest.raises(ValueError, match=r"a chunk of call_genotype takes 1.28 MB in memory, and max_memory is 1 MB"):
        rspca.read(tmp_path / "h.vcz", max_memory="1MB")


def chunks_of(path, name):
    named = ("zarr.json", ".zarray", ".zattrs")
    return sorted(file for file in (path / name).rglob("*") if file.is_file() and file.name not in named)


def cut(path):
    for chunk in chunks_of(path, "call_genotype"):
        chunk.write_bytes(chunk.read_bytes()[:-3])


def noise(path):
    (path / "zarr.json").write_bytes(b"\xff[")


def other_samples(path):
    shutil.rmtree(path / "sample_id")
    zarr.open_group(str(path), mode="r+").create_array("sample_id", data=np.array(["a", "b"]))


def other_alleles(path):
    zarr.open_group(str(path), mode="r+")["call_genotype"][0, 0, 0] = 7


def empty_chunks(path):
    file = path / "variant_position" / "zarr.json"
    described = json.loads(file.read_text())
    described["chunk_grid"]["configuration"]["chunk_shape"] = [0]
    file.write_text(json.dumps(described))


DAMAGE = {
    "empty chunks": (empty_chunks, "is damaged: variant_position has chunks of shape (0,)"),
    "truncated": (cut, "is damaged: call_genotype cannot be unpacked"),
    "wrong magic": (noise, "is not a Zarr store"),
    "shard missing": (lambda path: chunks_of(path, "call_genotype")[1].unlink(), "1 of the 6 chunks of call_genotype"),
    "array missing": (lambda path: shutil.rmtree(path / "variant_position"), "it has no variant_position"),
    "mixed sample counts": (other_samples, "has 43 samples, and sample_id has 2 entries"),
    "many contigs": (
        lambda path: zarr.open_group(str(path), mode="r+")["variant_contig"].resize((10**10,)),
        "has 50 variants, and variant_contig has 10000000000 entries",
    ),
    "alleles": (other_alleles, "alleles that its variants do not have"),
}


# issue 20: one line, nothing written
@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_damaged_stores_are_refused_in_one_line(tmp_path, name):
    vcf_store(tmp_path / "g.vcz", calls())
    damage, said = DAMAGE[name]
    damage(tmp_path / "g.vcz")
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        rspca.read(tmp_path / "g.vcz")
    assert "g.vcz" in str(error.value)
    assert "\n" not in str(error.value)
    result = call("fit", "g.vcz", "-k", "2", "-o", "out", cwd=tmp_path)
    assert said in one_line(result.stderr)
    assert not (tmp_path / "out").exists()


# issue 20, item 2: vcf2zarr leaves out chunks of zeros
def test_a_store_as_vcf2zarr_writes_it_without_chunks_of_zeros(tmp_path):
    alleles = np.abs(calls(missing=0.0))
    vcf_store(tmp_path / "g.vcz", alleles, mask=alleles < 0, variant_contig=np.zeros(N, dtype=np.int8))
    for name in ("call_genotype_mask", "variant_contig"):
        for chunk in chunks_of(tmp_path / "g.vcz", name):
            chunk.unlink()
    table = rspca.read(tmp_path / "g.vcz")
    np.testing.assert_array_equal(as_array(table), counts(alleles))
    assert set(table.features["chromosome"]) == {"1"}
    positions = 1000 * (np.arange(N, dtype=np.int32) % (N // 2) + 1)
    vcf_store(tmp_path / "h.vcz", alleles, variant_position=positions)  # of two contigs
    chunks_of(tmp_path / "h.vcz", "variant_contig")[0].unlink()
    with pytest.raises(ValueError, match=r"1 of the 1 chunks of variant_contig are not stored, and would be read as 0"):
        rspca.read(tmp_path / "h.vcz")


# issue 20, item 2: what vcf2zarr writes, with the files and chunks of its own
@pytest.mark.skipif(shutil.which("vcf2zarr") is None, reason="vcf2zarr is not installed: pip install 'bio2zarr[vcf]'")
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_what_vcf2zarr_writes_is_read(tmp_path, missing):
    alleles = np.maximum(calls(missing=missing), -1)
    people = "\t".join(f"I{i}" for i in range(M))
    lines = ["##fileformat=VCFv4.3", "##contig=<ID=7>", '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">']
    lines.append(f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{people}")
    for j, row in enumerate(alleles):
        written = "\t".join("/".join("." if allele < 0 else str(allele) for allele in pair) for pair in row)
        lines.append(f"7\t{10 * j + 10}\t.\tG\tA\t.\t.\t.\tGT\t{written}")
    (tmp_path / "g.vcf").write_text("\n".join(lines) + "\n")
    command = ["vcf2zarr", "convert", "--no-progress", "g.vcf", "g.vcz"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    table = rspca.read(tmp_path / "g.vcz")
    np.testing.assert_allclose(as_array(table), filled(counts(alleles)), atol=1e-12)
    assert table.feature_names[0] == "7:10:G:A"
    assert table.samples["iid"][3] == "I3"


def test_a_chunk_of_text_that_asks_for_all_memory_is_damaged(tmp_path, monkeypatch):
    vcf_store(tmp_path / "g.vcz", calls())

    def unpacked(array, part):
        raise MemoryError("Unable to allocate 31.9 GiB")

    monkeypatch.setattr("rspca.formats.zarr_arrays._unpacked", unpacked)
    root = zarr.open_group(str(tmp_path / "g.vcz"), mode="r")
    with pytest.raises(ValueError, match="here is damaged: sample_id cannot be unpacked"):
        read_slice(root["sample_id"], slice(None), "here")
    with pytest.raises(MemoryError):  # of numbers, there may be too many
        read_slice(root["call_genotype"], slice(None), "here")


def test_a_store_is_read_where_an_event_loop_runs_as_in_a_notebook(tmp_path):
    vcf_store(tmp_path / "g.vcz", calls())

    async def read():
        return rspca.read(tmp_path / "g.vcz")

    np.testing.assert_array_equal(as_array(asyncio.run(read())), as_array(rspca.read(tmp_path / "g.vcz")))


def test_the_command_line_fits_a_store(tmp_path):
    vcf_store(tmp_path / "g.vcz", calls())
    assert call("fit", "g.vcz", "-k", "3", "-o", "out", "--min-frequency", "0.1", cwd=tmp_path).returncode == 0
    assert call("transform", "out", "g.vcz", cwd=tmp_path).stdout.count("\n") == M + 1
