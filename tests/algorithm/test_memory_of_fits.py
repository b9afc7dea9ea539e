"""Memory beyond X of a fit: a tenth of X, 50 MB, and r + 6 vectors of samples and features."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

import rspca
from rspca.algorithm import budgets
from rspca.algorithm.component import check_memory
from rspca.base import memory
from rspca.operators import as_operator
from rspca.operators.tall import gram_is_cheaper

# issue 16, item 4


def allowance(X, r):
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if scipy.sparse.issparse(X) else X.nbytes
    m, n = X.shape
    gram = 8 * n**2 if gram_is_cheaper(X.shape, r) else 0
    return 0.1 * size + 50e6 + 8 * (r + 6) * (m + n) + gram


def peak(fit, X):
    tracemalloc.start()
    try:
        fit(X)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def dense(m, n, dtype, order="C"):
    rng = np.random.default_rng(m)
    X = 4.0 * rng.standard_normal((m, n), dtype=np.float32)
    X += rng.standard_normal((m, 2), dtype=np.float32) @ rng.uniform(2.0, 8.0, (2, n)).astype(np.float32)
    return np.asarray(np.clip(X, -120.0, 120.0), dtype=dtype, order=order)


def sparse(m, n, density, dtype, form):
    X = scipy.sparse.random_array((m, n), density=density, rng=np.random.default_rng(m), dtype=np.float64)
    X.data = np.asarray(1.0 + 5.0 * X.data, dtype=dtype)
    return X.asformat(form)


CASES = {
    "tall": lambda: dense(500_000, 20, np.float32),
    "tall, by columns": lambda: dense(100_000, 100, np.float32, "F"),
    "tall, float64": lambda: dense(100_000, 100, np.float64),
    "tall, int8": lambda: dense(300_000, 60, np.int8),
    "tall, many features": lambda: dense(4_000, 1_400, np.float32),
    "wide": lambda: dense(300, 40_000, np.float32),
    "tall, CSR": lambda: sparse(200_000, 100, 0.05, np.float32, "csr"),
    "tall, CSC": lambda: sparse(200_000, 100, 0.05, np.float64, "csc"),
    "tall, CSR of integers": lambda: sparse(200_000, 100, 0.05, np.int32, "csr"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_takes_little_memory_beyond_the_data(case):
    X = CASES[case]()
    assert peak(lambda X: rspca.decompose(X, 2, k=15, random_state=0), X) <= allowance(X, 2)


@pytest.mark.parametrize("case", ["tall", "tall, by columns", "tall, int8", "tall, CSR"])
def test_the_estimator_copies_nothing(case):
    X = CASES[case]()
    assert peak(rspca.SparsePCA(2, k=15, random_state=0).fit, X) <= allowance(X, 2)


def test_very_many_features_take_what_a_working_set_needs_and_not_a_multiple_of_them():
    # the sketch, projections and pool of a working set are about 110 MB beyond the allowance, however many features
    X = sparse(200, 2_000_000, 0.002, np.float64, "csr")
    assert peak(lambda X: rspca.decompose(X, 2, k=15, random_state=0), X) <= allowance(X, 2) + 130e6


def test_a_mapped_file_stays_one(tmp_path):
    np.save(tmp_path / "x.npy", dense(300_000, 60, np.float32))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert peak(lambda X: rspca.decompose(X, 2, k=15, random_state=0), X) <= allowance(X, 2)


def test_the_check_of_free_memory_counts_what_a_route_uses(monkeypatch):
    asked = []
    monkeypatch.setattr(memory, "free_memory", lambda: asked.append(0) or 0)
    tall = as_operator(np.broadcast_to(np.float32(1.0), (5_000_000, 20)))
    check_memory(tall, 5, n_components=5)  # a Gram matrix of 20 features is next to nothing
    assert not asked
    with pytest.raises(MemoryError, match="Gram matrix of 3000 features"):
        check_memory(as_operator(np.broadcast_to(np.float32(1.0), (10_000, 3000))), 5, n_components=5)
    wide = scipy.sparse.csr_array((10, 3_000_000))
    with pytest.raises(MemoryError):
        check_memory(as_operator(wide), 5)
    monkeypatch.setattr(memory, "free_memory", lambda: 200_000_000)
    check_memory(as_operator(wide), 5)
    monkeypatch.setattr(budgets, "WORKING_SET_FEATURES", 10**9)  # without one, a sketch of all features
    with pytest.raises(MemoryError):
        check_memory(as_operator(wide), 5)
