"""HDF5 files from strangers: what leads to other files is refused, and damage is one line with the file's name."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.commandline import call, one_line

import rspca
from rspca.formats import hdf5

anndata = pytest.importorskip("anndata", reason="to read .h5ad needs anndata: pip install 'rspca[anndata]'")
h5py = pytest.importorskip("h5py")

M, N = 30, 8


def matrix():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, (M, N)).astype(np.float32)
    X[:, [1, 2]] += rng.poisson(6, (M, 1))
    return X


@pytest.fixture
def file(tmp_path):
    """A file with a sparse X, a dense layer, and a secret beside it that is as large as its parts."""
    adata = anndata.AnnData(sp.csr_matrix(matrix()), layers={"dense": matrix()})
    adata.obs["depth"], adata.var["weight"] = np.arange(M) * 1.0, np.arange(N) * 1.0
    adata.write_h5ad(tmp_path / "x.h5ad")
    (tmp_path / "secret.bin").write_bytes(np.full(10**4, 7.0).tobytes())
    with h5py.File(tmp_path / "secret.h5", "w") as other:
        other["secret"] = np.full((M, N), 7.0)
    return tmp_path / "x.h5ad"


def external_storage(group, name, shape, dtype, folder):
    group.create_dataset(name, shape, dtype, external=[(str(folder / "secret.bin"), 0, h5py.h5f.UNLIMITED)])


def external_link(group, name, shape, dtype, folder):
    group[name] = h5py.ExternalLink(str(folder / "secret.h5"), "/secret")


def virtual(group, name, shape, dtype, folder):
    layout = h5py.VirtualLayout(shape, dtype)
    layout[...] = h5py.VirtualSource(str(folder / "secret.h5"), "secret", shape)
    group.create_virtual_dataset(name, layout)


LEADING_ELSEWHERE = {"external storage": external_storage, "external link": external_link, "virtual": virtual}
PLACES = ["layers/dense", "X/data", "X/indices", "X/indptr", "obs/depth", "var/weight", "uns/more"]


def replaced(path, place, make):
    """Put what leads elsewhere in the place of a dataset, with its attributes."""
    with h5py.File(path, "r+") as file:
        before = file.get(place)
        shape, dtype = ((3,), "f8") if before is None else (before.shape, before.dtype)
        attributes = {} if before is None else dict(before.attrs)
        if before is not None:
            del file[place]
        group, _, name = place.rpartition("/")
        make(file.require_group(group), name, shape, dtype, path.parent)
        if make is not external_link:
            file[place].attrs.update(attributes)


# issue 14, item 12
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", LEADING_ELSEWHERE)
def test_hdf5_that_leads_to_other_files_is_refused_wherever_it_is(file, kind, place):
    replaced(file, place, LEADING_ELSEWHERE[kind])
    with pytest.raises(ValueError, match=rf"x\.h5ad: .*{place}.* Copy the data into one file"):
        rspca.read(file)
    result = call("fit", "x.h5ad", "-k", "2", "-o", "out", cwd=file.parent)
    assert result.returncode == 2
    assert "x.h5ad" in one_line(result.stderr)
    assert not (file.parent / "out").exists()


@pytest.mark.parametrize("kind", LEADING_ELSEWHERE)
def test_a_backed_file_that_leads_to_other_files_is_refused(file, kind):
    replaced(file, "layers/dense", LEADING_ELSEWHERE[kind])
    adata = anndata.read_h5ad(file, backed="r")
    try:
        with pytest.raises(ValueError, match=r"x\.h5ad: .*layers/dense"):
            rspca.spca(adata, n_comps=1, k=2)
    finally:
        adata.file.close()


def test_a_backed_file_that_was_closed_is_opened_again(file):
    adata = anndata.read_h5ad(file, backed="r")
    adata.file.close()
    try:
        rspca.spca(adata, n_comps=1, k=2)
    finally:
        adata.file.close()
    assert adata.obsm["X_spca"].shape == (M, 1)


def test_a_group_behind_an_external_link_is_not_opened(file, tmp_path):
    with h5py.File(file, "r+") as stored:
        del stored["X"]
        stored["X"] = h5py.ExternalLink("absent.h5", "/X")
    with pytest.raises(ValueError, match=r"/X is a link to absent\.h5, another file"):
        rspca.read(file)


def test_soft_links_inside_of_a_file_and_circles_of_groups_are_followed(file):
    with h5py.File(file, "r+") as stored:
        stored["kept"] = stored["X"]
        del stored["X"]
        stored["X"] = h5py.SoftLink("/kept")
        stored["uns/circle"] = stored["/"]
        stored["uns/dangling"] = h5py.SoftLink("/absent")
    table = rspca.read(file)
    np.testing.assert_array_equal(table.operator.columns(np.arange(N)), matrix())


# --- damage -----------------------------------------------------------------------------------------------------------

DAMAGE = {
    "no indptr": ("indptr", None, "X has no indptr; a sparse matrix has data, indices, indptr"),
    "no indices": ("indices", None, "X has no indices"),
    "no data": ("data", None, "X has no data"),
    "short indptr": ("indptr", np.zeros(3, dtype=np.int32), r"X/indptr has 3 entries for a matrix of 30 x 8, by rows"),
    "indptr of floats": ("indptr", np.zeros(M + 1), "X/indptr has shape .* float64; a vector of whole numbers"),
    "indices of two dimensions": ("indices", np.zeros((4, 4), dtype=int), r"X/indices has shape \(4, 4\)"),
    "few indices": ("indices", np.zeros(3, dtype=int), "X/indices has 3 entries, X/data"),
    "text for data": ("data", np.array([b"x"] * 5), "X/data has shape .* a vector of numbers"),
    "a single number": ("data", np.float64(3.0), r"X/data has shape \(\)"),
    "indptr that falls": ("indptr", np.linspace(50, 0, M + 1).astype(np.int32), "damaged"),
    "indptr beyond the end": ("indptr", np.arange(M + 1) * 10**6, "damaged"),
    "negative indices": ("indices", -1, "damaged"),
    "indices beyond the end": ("indices", 10**6, "damaged"),
}


def damaged(path, part, content):
    with h5py.File(path, "r+") as file:
        if isinstance(content, int):
            file["X"][part][...] = content
            return
        del file["X"][part]
        if content is not None:
            file["X"][part] = content


# issue 14, item 12
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_sparse_matrix_with_a_part_that_is_missing_or_wrong_is_one_line(file, kind):
    part, content, said = DAMAGE[kind]
    damaged(file, part, content)
    with pytest.raises(ValueError, match=rf"x\.h5ad is damaged: .*{said}" if said != "damaged" else "is damaged"):
        rspca.read(file)
    result = call("fit", "x.h5ad", "-k", "2", cwd=file.parent)
    assert result.returncode == 2
    assert "x.h5ad" in one_line(result.stderr)


def test_a_backed_file_without_a_part_of_its_matrix_is_one_line(file):
    damaged(file, "indptr", None)
    adata = anndata.read_h5ad(file, backed="r")
    try:
        with pytest.raises(ValueError, match=r"x\.h5ad is damaged: X has no indptr"):
            rspca.spca(adata, n_comps=1, k=2)
    finally:
        adata.file.close()


def test_a_dense_matrix_whose_bytes_are_damaged_is_one_line(tmp_path):
    anndata.AnnData(matrix()).write_h5ad(tmp_path / "x.h5ad", compression="gzip")
    with h5py.File(tmp_path / "x.h5ad", "r") as stored:
        place, size = stored["X"].id.get_chunk_info(0).byte_offset, stored["X"].id.get_chunk_info(0).size
    content = bytearray((tmp_path / "x.h5ad").read_bytes())
    content[place : place + size] = bytes(size)
    (tmp_path / "x.h5ad").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.h5ad is damaged"):
        rspca.read(tmp_path / "x.h5ad")


def test_a_shape_that_is_none_is_one_line(file):
    with h5py.File(file, "r+") as stored:
        stored["X"].attrs["shape"] = np.array([-1, 8])
    with pytest.raises(ValueError, match=r"x\.h5ad"):
        rspca.read(file)


def test_columns_that_unpack_to_more_than_the_memory_are_refused_before_they_are_read(file):
    with h5py.File(file, "r+") as stored:
        del stored["obs/depth"]
        stored["obs"].create_dataset("depth", (10**13,), "f8", chunks=(10**6,), compression="gzip")
        stored["obs/depth"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    with pytest.raises(MemoryError, match=r"obs of .*x\.h5ad, unpacked, needs"):
        rspca.read(file)


def test_a_link_of_a_kind_that_h5py_does_not_know_is_refused(file, monkeypatch):
    def unknown(self, *_, **__):
        raise TypeError("Unknown link type")

    with h5py.File(file) as stored:
        monkeypatch.setattr(h5py.Group, "get", unknown)
        with pytest.raises(ValueError, match="a kind that is not known"):
            hdf5.check_self_contained(stored, "x.h5ad")
