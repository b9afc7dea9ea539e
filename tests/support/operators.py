"""Every operator with the matrix it stands for: the list that the contract tests run over."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import rspca
from rspca.operators import Centered, Deflated, GramOperator, Scaled, ScoreDeflated
from rspca.operators import streamed as blocks
from rspca.operators.low_rank import LowRankUpdate
from rspca.operators.projected import Projected
from rspca.operators.stored_rows import SomeColumns, StoredRows
from rspca.operators.streamed import BlockOperator
from rspca.operators.variants import DosageOperator, VariantPart
from rspca.operators.weighted import Weighted

M, N = 11, 8
SUPPORT = np.array([1, 2, 5, 7])


def floats(dtype=np.float64):
    return (np.random.default_rng(0).standard_normal((M, N)) + 0.5).astype(dtype)


def counts(dtype):
    return np.random.default_rng(1).integers(0, 3, (M, N)).astype(dtype)


def unit(length, seed):
    v = np.random.default_rng(seed).standard_normal(length)
    return v / np.linalg.norm(v)


def sparse_unit():
    v = np.zeros(N)
    v[[2, 5, 6]] = 0.6, -0.48, 0.64
    return v


@dataclass
class FiveMembers:
    """The least that a user's own kind of data must have."""

    X: np.ndarray

    @property
    def shape(self):
        return self.X.shape

    @property
    def dtype(self):
        return self.X.dtype

    def matmat(self, V):
        return self.X @ V

    def rmatmat(self, U):
        return self.X.T @ U

    def columns(self, support):
        return self.X[:, support]


@dataclass
class MatvecAndRmatvec:
    """The least that is multiplied: products with vectors, no dtype."""

    X: np.ndarray

    @property
    def shape(self):
        return self.X.shape

    def matvec(self, v):
        assert v.ndim == 1
        return self.X @ v

    def rmatvec(self, u):
        assert u.ndim == 1
        return self.X.T @ u


def linear_operator(X):
    op = scipy.sparse.linalg.aslinearoperator(X)
    op.X = X
    return op


def mapped(tmp_path):
    X = np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="w+", shape=(M, N))
    X[:] = floats()
    X.flush()
    return np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="r", shape=(M, N))


def in_parts(make, dtype=float):
    """Sparse data of which each entry is stored twice, as parts of it, and not in order."""
    whole = make(counts(dtype))
    data, indices = np.repeat(whole.data, 2), np.repeat(whole.indices, 2)
    data[1::2] += 1
    data[::2] = -1
    ends = np.concatenate([data[a:b][::-1] for a, b in itertools.pairwise(2 * whole.indptr)])
    turned = np.concatenate([indices[a:b][::-1] for a, b in itertools.pairwise(2 * whole.indptr)])
    return make((ends, turned, 2 * whole.indptr), shape=whole.shape)


def frame(library):
    def build(tmp_path):
        names = [f"f{j}" for j in range(N)]
        X = floats()
        return pytest.importorskip(library).DataFrame({name: X[:, j] for j, name in enumerate(names)})

    return build


# What a user may hold; as_operator makes operators of it, and np.asarray (or toarray) the matrix it stands for.
DATA = {
    "dense": lambda tmp_path: floats(),
    "dense in Fortran order": lambda tmp_path: np.asfortranarray(floats()),
    "float32": lambda tmp_path: floats(np.float32),
    "float16": lambda tmp_path: floats(np.float16),
    "int8": lambda tmp_path: counts(np.int8),
    "int64": lambda tmp_path: counts(np.int64),
    "uint8 in Fortran order": lambda tmp_path: np.asfortranarray(counts(np.uint8)),
    "bool": lambda tmp_path: counts(np.bool_),
    "a view that is not contiguous": lambda tmp_path: np.repeat(np.repeat(floats(), 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed rows": lambda tmp_path: floats()[::-1],
    "big-endian": lambda tmp_path: floats().astype(">f8"),
    "memmap": mapped,
    "csr_array": lambda tmp_path: sp.csr_array(counts(float)),
    "csc_array": lambda tmp_path: sp.csc_array(counts(float)),
    "csr_matrix": lambda tmp_path: sp.csr_matrix(counts(float)),
    "csc_matrix": lambda tmp_path: sp.csc_matrix(counts(float)),
    "coo_array": lambda tmp_path: sp.coo_array(counts(float)),
    "csr_array in parts": lambda tmp_path: in_parts(sp.csr_array),
    "csc_array in parts": lambda tmp_path: in_parts(sp.csc_array),
    "csr_matrix of integers in parts": lambda tmp_path: in_parts(sp.csr_matrix, np.int16),
    "csr_array float32": lambda tmp_path: sp.csr_array(counts(np.float32)),
    "csr_array of integers": lambda tmp_path: sp.csr_array(counts(np.int16)),
    "csc_matrix of bool": lambda tmp_path: sp.csc_matrix(counts(np.bool_)),
    "pandas": frame("pandas"),
    "polars": frame("polars"),
    "list of lists": lambda tmp_path: floats().tolist(),
    "five members": lambda tmp_path: FiveMembers(floats()),
    "five members float32": lambda tmp_path: FiveMembers(floats(np.float32)),
    "LinearOperator": lambda tmp_path: linear_operator(floats()),
    "LinearOperator, wide": lambda tmp_path: linear_operator(floats().T),
    "LinearOperator float32": lambda tmp_path: linear_operator(floats(np.float32)),
    "matvec and rmatvec": lambda tmp_path: MatvecAndRmatvec(floats()),
}


def as_dense(data):
    if sp.issparse(data):
        return data.toarray().astype(np.float64)
    return np.array(data.X if hasattr(data, "matvec") or isinstance(data, FiveMembers) else data, dtype=np.float64)


def from_data(name):
    def build(tmp_path):
        data = DATA[name](tmp_path)
        return rspca.as_operator(data), as_dense(data)

    return build


def gram_operator(tmp_path):
    X = floats()
    A = X.T @ X
    values, vectors = np.linalg.eigh(A)
    return GramOperator(A), (vectors * np.sqrt(values)) @ vectors.T


def holes(tmp_path):
    """Genotypes with missing calls, a SNP without variance, and what the mean makes of them."""
    X = counts(float)
    X[:, 3] = 2.0
    X[np.random.default_rng(2).random((M, N)) < 0.2] = np.nan
    return X, np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def packed(dtype):
    def build(tmp_path):
        pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")
        X, imputed = holes(tmp_path)
        rspca.formats.write_plink(tmp_path / "x.bed", X)
        return rspca.read(tmp_path / "x.bed", dtype=dtype).operator, imputed

    return build


def packed_selection(tmp_path):
    """Some people and SNPs of two files."""
    pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")
    X, imputed = holes(tmp_path)
    people = np.arange(2 * M) % 2 == 1
    wide = np.full((2 * M, 2 * N), 1.0)
    wide[np.ix_(people, np.arange(N) + 3)] = X
    for name, part in (("a", slice(0, 7)), ("b", slice(7, 2 * N))):
        named = {"snp": np.array([f"s{j}" for j in range(2 * N)[part]])}
        rspca.formats.write_plink(tmp_path / f"{name}.bed", wide[:, part], variants=named)
    keep = [f"I{i}" for i in np.flatnonzero(people)]
    table = rspca.read(
        [tmp_path / "a.bed", tmp_path / "b.bed"], samples=keep, snps=[f"s{j + 3}" for j in range(N)], dtype=np.float64
    )
    return table.operator, imputed


@dataclass
class Dosages:
    """Variants by people, as files of dosages are read."""

    X: np.ndarray

    @property
    def n_people(self):
        return self.X.shape[0]

    def dosages(self, variants):
        return self.X.T[variants]


def dosages(tmp_path):
    """Two sources, in blocks of three variants."""
    X, imputed = holes(tmp_path)
    parts = [VariantPart(Dosages(X[:, :5]), np.arange(5)), VariantPart(Dosages(X[:, ::-1]), np.arange(N - 6, -1, -1))]
    return DosageOperator(parts, 6 * 3 * 8 * M), imputed


@dataclass
class RowSlices:
    """Rows by slices, and nothing else: what files of many kinds offer."""

    X: object

    @property
    def shape(self):
        return self.X.shape

    @property
    def dtype(self):
        return self.X.dtype

    def __getitem__(self, part):
        assert isinstance(part, slice)
        return self.X[part]


def in_small_blocks(X):
    """Stream X in blocks of three rows."""
    op = BlockOperator(X)
    op._bytes_each = blocks.MAX_BLOCK_BYTES // 3
    return op


def streamed(make):
    def build(tmp_path):
        X = make(tmp_path)
        return in_small_blocks(RowSlices(X)), as_dense(X)

    return build


def streamed_file(tmp_path):
    X = mapped(tmp_path)
    return in_small_blocks(X), np.array(X)


def stored_rows(tmp_path):
    X = sp.csr_array(counts(np.int16))
    return in_small_blocks(StoredRows(X.data, X.indices, X.indptr, X.shape[1])), as_dense(X)


def some_columns(tmp_path):
    picked = np.arange(floats().shape[1])[::-1]
    return in_small_blocks(SomeColumns(floats(), picked)), floats()[:, picked]


def hdf5(tmp_path):
    h5py = pytest.importorskip("h5py", reason="HDF5 needs h5py, which the extra anndata brings")
    X = counts(np.int16)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["X"] = X
    return rspca.as_operator(h5py.File(tmp_path / "x.h5")["X"]), X.astype(float)


def backed_anndata(tmp_path):
    anndata = pytest.importorskip("anndata", reason="backed .h5ad files need anndata")
    X = sp.csr_matrix(counts(np.float32))
    anndata.AnnData(X).write_h5ad(tmp_path / "x.h5ad")
    return rspca.as_operator(anndata.read_h5ad(tmp_path / "x.h5ad", backed="r").X), as_dense(X)


def dask_without_a_cluster(tmp_path):
    array = pytest.importorskip("dask.array", reason="Dask arrays need dask")
    return rspca.as_operator(array.from_array(floats(), chunks=(4, 3))), floats()


def centered(op, X):
    return Centered(op), X - X.mean(axis=0)


def scaled(op, X):
    weights = np.linspace(0.5, 2.0, X.shape[1])
    return Scaled(op, weights), X * weights


def deflated(op, X):
    v = sparse_unit()
    return Deflated(op, v), X - np.outer(X @ v, v)


def deflated_again(op, X):
    op, X = deflated(op, X)
    v = unit(X.shape[1], 5)
    return Deflated(op, v), X - np.outer(X @ v, v)


def score_deflated(op, X):
    u = unit(X.shape[0], 6)
    return ScoreDeflated(op, u), X - np.outer(u, u @ X)


def low_rank(op, X):
    a, b = unit(X.shape[0], 7), unit(X.shape[1], 8)
    return LowRankUpdate(op, a, b), X - np.outer(a, b)


def standardized_and_score_deflated(op, X):
    return score_deflated(*scaled(*centered(op, X)))


def standardized_and_deflated(op, X):
    return deflated(*scaled(*centered(op, X)))


def weights_of(m):
    """Weights of samples: one of them 0, others whole numbers and fractions."""
    return np.concatenate([[0.0, 3.0], np.random.default_rng(9).uniform(0.5, 2.0, m - 2)])


def weighted(op, X):
    w = weights_of(X.shape[0])
    return Weighted(op, w), np.sqrt(w)[:, None] * X


def weighted_and_centered(op, X):
    w = weights_of(X.shape[0])
    return Centered(Weighted(op, w)), np.sqrt(w)[:, None] * (X - w @ X / w.sum())


def projected(op, X):
    Q = np.linalg.qr(np.random.default_rng(10).standard_normal((X.shape[0], 2)))[0]
    return Projected(op, Q), X - Q @ (Q.T @ X)


WRAPPERS = [
    weighted, weighted_and_centered, projected,
    centered, scaled, deflated, deflated_again, score_deflated, low_rank, standardized_and_score_deflated,
    standardized_and_deflated,
]  # fmt: skip
WRAPPED_DATA = [
    "dense", "dense in Fortran order", "float32", "int8", "csr_array", "csc_array", "csr_array float32", "five members",
    "LinearOperator",
]  # fmt: skip


def wrapped(build, wrapper):
    return lambda tmp_path: wrapper(*build(tmp_path))


def restricted(op, X):
    return op.restrict(SUPPORT), X[:, SUPPORT]


def transposed(op, X):
    return op.transposed(), X.T


# The list. A new kind of data or wrapper joins DATA or WRAPPERS above and is tested from then on.
OPERATORS = {name: from_data(name) for name in DATA}
OPERATORS["gram"] = gram_operator
OPERATORS |= {
    "packed": packed(np.float32),
    "packed float64": packed(np.float64),
    "packed selection": packed_selection,
    "dosages": dosages,
    "streamed": streamed(lambda tmp_path: floats()),
    "streamed float32": streamed(lambda tmp_path: floats(np.float32)),
    "streamed int8": streamed(lambda tmp_path: counts(np.int8)),
    "streamed sparse": streamed(lambda tmp_path: sp.csr_array(counts(np.int16))),
    "streamed sparse in parts": streamed(lambda tmp_path: in_parts(sp.csr_array)),
    "streamed file": streamed_file,
    "stored sparse rows": stored_rows,
    "some columns": some_columns,
    "hdf5": hdf5,
    "backed anndata": backed_anndata,
    "dask without a cluster": dask_without_a_cluster,
}
for name in ("packed", "packed selection", "streamed", "streamed sparse", "hdf5"):
    for wrapper in WRAPPERS:
        OPERATORS[f"{name}, {wrapper.__name__}"] = wrapped(OPERATORS[name], wrapper)
for name in WRAPPED_DATA:
    for wrapper in WRAPPERS:
        OPERATORS[f"{name}, {wrapper.__name__}"] = wrapped(from_data(name), wrapper)
for wrapper in (scaled, deflated, deflated_again, score_deflated, low_rank):
    OPERATORS[f"gram, {wrapper.__name__}"] = wrapped(gram_operator, wrapper)
for name, build in list(OPERATORS.items()):
    OPERATORS[f"{name}, restricted"] = wrapped(build, restricted)
    OPERATORS[f"{name}, transposed"] = wrapped(build, transposed)
for name in ("dense", "csr_array", "five members"):
    for wrapper in WRAPPERS:
        OPERATORS[f"{name}, {wrapper.__name__}, restricted, transposed, transposed"] = wrapped(
            OPERATORS[f"{name}, {wrapper.__name__}, restricted"], lambda op, X: (op.transposed().transposed(), X)
        )


def assert_agrees(op, X):
    m, n = X.shape
    A = X.T @ X
    rng = np.random.default_rng(2)
    support = np.array([0, 2, 3])
    close = {"rtol": 3e-5, "atol": 3e-5 * np.abs(A).max()} if op.dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-11}

    assert op.shape == (m, n)
    assert op.dtype in (np.float32, np.float64)
    for shape in ((), (1,), (4,)):
        V, U = rng.standard_normal((n, *shape)), rng.standard_normal((m, *shape))
        np.testing.assert_allclose(op.matmat(V), X @ V, **close)
        np.testing.assert_allclose(op.rmatmat(U), X.T @ U, **close)
        np.testing.assert_allclose(op.gram(V), A @ V, **close)
        assert op.matmat(V).dtype == op.rmatmat(U).dtype == op.dtype
        assert op.gram(V).dtype == np.float64
    np.testing.assert_allclose(op.columns(support), X[:, support], **close)
    np.testing.assert_allclose(op.gram_block(support), A[np.ix_(support, support)], **close)
    np.testing.assert_allclose(op.gram_rows(support), A[support], **close)
    np.testing.assert_allclose(op.scores(support, np.array([1.0, -2.0, 3.0])), X[:, support] @ [1, -2, 3], **close)
    np.testing.assert_allclose(op.column_sums(), X.sum(axis=0), **close)
    np.testing.assert_allclose(op.column_sq_norms(), np.diag(A), **close)
    np.testing.assert_allclose(op.sq_norms, np.diag(A), **close)
    np.testing.assert_allclose(op.restrict(support).matmat(np.eye(3)), X[:, support], **close)
    np.testing.assert_allclose(op.restrict(support).sq_norms, np.diag(A)[support], **close)
    np.testing.assert_allclose(op.transposed().matmat(np.eye(m)), X.T, **close)
    np.testing.assert_allclose(op.transposed().transposed().columns(support), X[:, support], **close)
    for result in (op.gram_block(support), op.gram_rows(support), op.column_sums(), op.sq_norms):
        assert result.dtype == np.float64


def stated(statements, name, folder):
    """Yield each statement with an operator made for it alone, in a folder of its own, and its matrix."""
    for statement in statements:
        (folder / statement.__name__).mkdir()
        yield statement, *OPERATORS[name](folder / statement.__name__)
