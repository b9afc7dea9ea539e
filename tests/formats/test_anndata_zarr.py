"""Zarr stores of AnnData and 10x .h5 files: the same data as dense, streamed where large, refused where damaged."""

import json
import re
import shutil
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from support.commandline import call, one_line

import rspca
from rspca.formats import registry
from rspca.operators.streamed import BlockOperator

anndata = pytest.importorskip("anndata", reason="to read .zarr needs anndata: pip install 'rspca[zarr]'")
zarr = pytest.importorskip("zarr", minversion="3", reason="to read .zarr needs zarr: pip install 'rspca[zarr]'")
pandas = pytest.importorskip("pandas")
h5py = pytest.importorskip("h5py")

M, N = 60, 20
KINDS = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:zarr", "ignore::FutureWarning:anndata")


def counts(m=M, n=N):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, (m, n)).astype(np.float32)
    X[:, [3, 7, 11]] += rng.poisson(6, (m, 1))
    return X


def made(X, **more):
    m, n = X.shape
    obs = pandas.DataFrame({"kind": pandas.Categorical(["u", "v"] * (m // 2))}, index=[f"cell{i}" for i in range(m)])
    var = pandas.DataFrame({"highly_variable": np.arange(n) % 2 == 1}, index=[f"g{j}" for j in range(n)])
    return anndata.AnnData(X, obs=obs, var=var, **more)


def stored(path, adata, version=3, chunks=None):
    before = anndata.settings.zarr_write_format
    anndata.settings.zarr_write_format = version
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adata.write_zarr(path, chunks=chunks)
    finally:
        anndata.settings.zarr_write_format = before
    return path


def tenx(path, X, version=3, types=None):
    """Write what Cell Ranger writes: features by cells, by columns."""
    columns = sp.csc_array(X.T)
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix" if version == 3 else "GRCh38")
        for name, values in (("data", columns.data.astype(np.int32)), ("indices", columns.indices),
                             ("indptr", columns.indptr), ("shape", np.array(columns.shape, dtype=np.int32)),
                             ("barcodes", np.array([f"AAC{i}-1" for i in range(X.shape[0])], dtype="S"))):  # fmt: skip
            group.create_dataset(name, data=values, chunks=name in ("data", "indices") or None)
        names = {"id": [f"ENSG{j}" for j in range(X.shape[1])], "name": [f"g{j}" for j in range(X.shape[1])]}
        if version == 3:
            kinds = types or ["Gene Expression"] * X.shape[1]
            names |= {"feature_type": kinds, "genome": ["GRCh38"] * X.shape[1]}
            for name, values in names.items():
                group[f"features/{name}"] = np.array(values, dtype="S")
        else:
            group["genes"], group["gene_names"] = (np.array(values, dtype="S") for values in names.values())
    return path


def as_array(table):
    return np.asarray(table.operator.columns(np.arange(table.shape[1])))


# issue 20, item 3
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_store_is_read_like_the_h5ad_of_the_same_data(tmp_path, kind, version):
    adata = made(KINDS[kind](counts()), layers={"twice": KINDS[kind](2 * counts())})
    path = stored(tmp_path / "x.zarr", adata, version)
    table = rspca.read(path)
    np.testing.assert_array_equal(as_array(table), counts())
    assert table.feature_names[3] == "g3"
    assert table.samples["kind"][1] == "v"
    assert table.sample_names[5] == "cell5"
    masked = rspca.read(path, layer="twice", mask="highly_variable")
    np.testing.assert_array_equal(as_array(masked), 2 * counts()[:, 1::2])
    model, dense = (rspca.SparsePCA(2, k=3, random_state=0).fit(data) for data in (table, counts()))
    np.testing.assert_allclose(model.components_, dense.components_, atol=1e-6)  # single precision


# issue 20, item 3
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("masked", [False, True])
def test_large_stores_are_streamed(tmp_path, kind, version, masked):
    X = counts(9000, 40).astype(np.float64)
    path = stored(tmp_path / "x.zarr", made(KINDS[kind](X)), version, chunks=(700, 13) if kind == "dense" else None)
    table = rspca.read(path, max_memory="1MB", mask="highly_variable" if masked else None)
    X = X[:, 1::2] if masked else X
    assert isinstance(table.operator, BlockOperator)
    v = np.linspace(-1, 1, X.shape[1])
    np.testing.assert_allclose(table.operator.gram(v), X.T @ (X @ v), rtol=1e-12)
    model, dense = (rspca.SparsePCA(1, k=3, random_state=0).fit(data) for data in (table, X))
    assert model.supports_[0].tolist() == dense.supports_[0].tolist()
    np.testing.assert_allclose(model.components_, dense.components_, atol=1e-10)


# issue 20, item 3
@pytest.mark.parametrize("version", [2, 3])
def test_cell_ranger_files_are_cells_by_genes(tmp_path, version):
    path = tenx(tmp_path / "x.h5", counts(), version)
    table = rspca.read(path)
    np.testing.assert_array_equal(as_array(table), counts())
    assert table.feature_names[3] == "g3"
    assert table.features["gene_id"][3] == "ENSG3"
    assert table.sample_names[5] == "AAC5-1"
    np.testing.assert_array_equal(as_array(rspca.read(path, mask=np.arange(N) < 4)), counts()[:, :4])


# issue 20, item 3
def test_large_cell_ranger_files_are_streamed_and_types_are_chosen(tmp_path):
    X = counts(9000, 40)
    types = ["Gene Expression"] * 30 + ["Antibody Capture"] * 10
    path = tenx(tmp_path / "x.h5", X, types=types)
    with pytest.warns(UserWarning, match=r"several types.*Antibody Capture \(10\), Gene Expression \(30\)"):
        rspca.read(path)
    table = rspca.read(path, max_memory="1MB", feature_type="Gene Expression")
    assert isinstance(table.operator, BlockOperator)
    v = np.linspace(-1, 1, 30)
    np.testing.assert_allclose(table.operator.gram(v), X[:, :30].T @ (X[:, :30] @ v), rtol=1e-12)
    with pytest.raises(ValueError, match="feature_type='RNA'"):
        rspca.read(path, feature_type="RNA")


# issue 20, item 3
@pytest.mark.parametrize("name", ["x.zarr", "x.h5ad", "x.h5"])
@pytest.mark.filterwarnings("ignore:X holds whole numbers")
def test_spca_takes_files_and_returns_what_it_found(tmp_path, name):
    adata = made(sp.csr_matrix(counts(9000, 40)))
    path = tmp_path / name
    if name == "x.h5":
        tenx(path, counts(9000, 40))
    elif name == "x.zarr":
        stored(path, adata)
    else:
        adata.write_h5ad(path)
    mask = np.arange(40) % 2 == 1
    rspca.spca(adata, n_comps=2, k=3, mask_var=mask)
    found = rspca.spca(path, n_comps=2, k=3, mask_var=mask, max_memory="1MB")
    np.testing.assert_allclose(found.varm["sPCs"], adata.varm["sPCs"], atol=1e-5)
    np.testing.assert_allclose(found.obsm["X_spca"], adata.obsm["X_spca"], atol=1e-3)
    assert found.X is None
    assert found.shape == adata.shape


# issue 20, item 3
def test_spca_streams_matrices_that_are_arrays_of_a_store(tmp_path):
    X = np.log1p(counts(9000, 40))
    path = stored(tmp_path / "x.zarr", made(sp.csr_matrix(X)))
    lazy = anndata.AnnData(anndata.io.sparse_dataset(zarr.open_group(path, mode="r")["X"]))
    eager = anndata.AnnData(sp.csr_matrix(X))
    for adata in (lazy, eager):
        rspca.spca(adata, n_comps=1, k=3, max_memory="1MB")
    np.testing.assert_allclose(lazy.varm["sPCs"], eager.varm["sPCs"], atol=1e-5)


def without_a_chunk(path):
    chunk = next(
        p
        for p in sorted((path / "X" / "data").rglob("*"))
        if p.is_file() and not p.name.endswith(("json", "array", "attrs"))
    )
    chunk.unlink()


def cut_chunk(path):
    for chunk in (path / "X" / "data").rglob("*"):
        if chunk.is_file() and not chunk.name.endswith(("json", "array", "attrs")):
            chunk.write_bytes(chunk.read_bytes()[:-1])


def without_root(path):
    for name in ("zarr.json", ".zgroup"):
        (path / name).unlink(missing_ok=True)


def root_of_noise(path):
    for name in ("zarr.json", ".zgroup"):
        if (path / name).exists():
            (path / name).write_bytes(b"\xff{[")


def fewer_cells(path):
    shutil.rmtree(path / "obs")
    other = path.with_name("other.zarr")
    stored(other, made(sp.csr_matrix(counts()[:10])), 2 if (path / ".zgroup").exists() else 3)
    shutil.copytree(other / "obs", path / "obs")


def link_to_elsewhere(path):
    place = path / "X" / "data"
    shutil.move(place, path.with_name("elsewhere"))
    place.symlink_to(path.with_name("elsewhere"))


DAMAGE = {
    "shard missing": (without_a_chunk, "1 of the 1 chunks of X/data are not stored"),
    "truncated": (cut_chunk, "is damaged"),
    "no root": (without_root, "is not a Zarr store"),
    "wrong magic": (root_of_noise, "is not a Zarr store"),
    "mixed sample counts": (fewer_cells, "obs and var have 10 and 20 rows"),
    "link": (link_to_elsewhere, "is a link to another place"),
}


# issue 20: one line, nothing written
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_stores_are_refused_in_one_line(tmp_path, name, version):
    path = stored(tmp_path / "x.zarr", made(sp.csr_matrix(counts())), version)
    damage, said = DAMAGE[name]
    damage(path)
    with pytest.raises(ValueError, match=said) as error:
        rspca.read(path)
    assert "x.zarr" in str(error.value)
    assert "\n" not in str(error.value)
    if version == 3:
        result = call("fit", "x.zarr", "-k", "2", "-o", "out", cwd=tmp_path)
        assert said in one_line(result.stderr)
        assert result.returncode == 2
        assert not (tmp_path / "out").exists()


# issue 20: what is not stored is zero only if the user says so
def test_chunks_that_were_left_out_on_purpose_are_accepted_on_request(tmp_path):
    X = counts()
    X[:10] = 0.0
    path = stored(tmp_path / "x.zarr", made(X), chunks=(10, N))
    with pytest.raises(ValueError, match=r"1 of the 6 chunks of X are not stored.*missing_chunks='fill'"):
        rspca.read(path)
    np.testing.assert_array_equal(as_array(rspca.read(path, missing_chunks="fill")), X)
    assert call("fit", "x.zarr", "-k", "2", "-o", "out", "--missing-chunks", "fill", cwd=tmp_path).returncode == 0


# issue 20, item 3: writers leave out chunks of zeros, so columns of one value have none
@pytest.mark.parametrize("version", [2, 3])
def test_columns_of_one_value_are_read_with_a_warning_and_names_and_masks_must_be_whole(tmp_path, version):
    adata = made(sp.csr_matrix(counts()))
    adata.obs["batch"], adata.var["mito"] = pandas.Categorical(["one"] * M), False
    path = stored(tmp_path / "x.zarr", adata, version)
    with pytest.warns(UserWarning, match=r"chunks of obs/batch, var/mito are not stored, and are read as 0"):
        table = rspca.read(path)
    assert set(table.samples["batch"]) == {"one"}
    assert not table.features["mito"].any()
    with pytest.raises(ValueError, match="1 of the 1 chunks of var/mito are not stored"):
        rspca.read(path, mask="mito")
    for name in ("var/highly_variable", "obs/_index"):
        shutil.rmtree(path / name / "c", ignore_errors=True)
        (path / name / "0").unlink(missing_ok=True)
    with pytest.raises(ValueError, match="1 of the 1 chunks of obs/_index are not stored"):
        rspca.read(path, mask="highly_variable")


# issue 20: a codec that runs code is refused before it runs
def test_a_store_with_pickled_arrays_is_refused(tmp_path):
    path = stored(tmp_path / "x.zarr", made(counts()), 2)
    described = json.loads((path / "X" / ".zarray").read_text())
    described["filters"] = [{"id": "pickle", "protocol": 5}]
    (path / "X" / ".zarray").write_text(json.dumps(described))
    with pytest.raises(ValueError, match=r"pickle, which is not known to be safe|damaged"):
        rspca.read(path)


# issue 20: a chunk is unpacked as a whole
def test_chunks_that_exceed_the_memory_are_refused(tmp_path):
    path = stored(tmp_path / "x.zarr", made(counts(9000, 40)), chunks=(9000, 40))
    with pytest.raises(ValueError, match=r"a chunk of X takes 1.44 MB in memory, and max_memory is 1 MB"):
        rspca.read(path, max_memory="1MB")


TENX_DAMAGE = {
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-200]), "cut off"),
    "name that is no text": (lambda path: h5py.File(path, "r+").create_group(b"\xff"), "is damaged: 'utf-8' codec"),
    "wrong magic": (lambda path: path.write_bytes(b"PK\x03\x04" + path.read_bytes()[4:]), "is not an HDF5 file"),
    "mixed sample counts": (lambda path: renamed(path, "matrix/barcodes", np.array([b"a", b"b"])), "2 barcodes"),
    "part missing": (lambda path: renamed(path, "matrix/indices", None), "has no indices"),
    "other HDF5": (lambda path: renamed(path, "matrix", None), "is not a file of Cell Ranger"),
    "index outside": (lambda path: renamed(path, "matrix/indices", "large"), "is damaged"),
    "features missing": (lambda path: renamed(path, "matrix/features", None), "does not name its features"),
}


def renamed(path, place, values):
    with h5py.File(path, "r+") as file:
        old = file[place]
        values = np.full(old.shape, 10**6, dtype=np.int32) if isinstance(values, str) else values
        del file[place]
        if values is not None:
            file[place] = values


# issue 20: one line, nothing written
@pytest.mark.parametrize("name", TENX_DAMAGE)
def test_damaged_cell_ranger_files_are_refused_in_one_line(tmp_path, name):
    path = tenx(tmp_path / "x.h5", counts())
    damage, said = TENX_DAMAGE[name]
    damage(path)
    with pytest.raises(ValueError, match=said) as error:
        rspca.read(path)
    assert "x.h5" in str(error.value)
    assert "\n" not in str(error.value)
    result = call("fit", "x.h5", "-k", "2", "-o", "out", cwd=tmp_path)
    assert re.search(said, one_line(result.stderr))
    assert not (tmp_path / "out").exists()


def test_stores_are_recognized_by_their_files(tmp_path):
    path = stored(tmp_path / "cells", made(counts()))
    assert registry.reader_of(path).name == ".zarr"
    assert rspca.read(path).shape == (M, N)
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(ValueError, match="is not a Zarr store"):
        rspca.read(tmp_path / "empty.zarr")
    (tmp_path / "file.zarr").write_bytes(b"x")
    with pytest.raises(ValueError, match="is not a Zarr store, which is a folder"):
        rspca.read(tmp_path / "file.zarr")
