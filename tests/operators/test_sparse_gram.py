"""The Gram matrix of sparse rows is the same whichever way it is computed."""

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.operators import sparse_gram
from rspca.operators.summed_moments import GramSum


def rows_of(density, dtype=np.float64, shape=(200, 30)):
    return sp.random(*shape, density, format="csr", dtype=dtype, random_state=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.15, 0.9])
@pytest.mark.parametrize("compiles", [True, False])
def test_each_way_gives_the_gram_matrix(density, dtype, compiles, monkeypatch):  # issue 16, item 8
    monkeypatch.setattr(sparse_gram, "COMPILE_PRODUCTS", 0)
    monkeypatch.setattr(sparse_gram, "can_compile", lambda: compiles)
    monkeypatch.setattr(sparse_gram, "_compiled_loop", lambda: sparse_gram.add_products)  # the loop, as Python
    monkeypatch.setattr(sparse_gram, "LOOP_BYTES", 4000)
    X = rows_of(density, dtype)
    dense = X.toarray().astype(np.float64)
    gram = sparse_gram.gram_of_rows(X)
    np.testing.assert_allclose(gram, dense.T @ dense, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(gram, gram.T)


def test_the_loop_is_compiled_for_much_work_only(monkeypatch):
    used = []
    monkeypatch.setattr(sparse_gram, "can_compile", lambda: used.append(True) or False)
    X = rows_of(0.1)
    sparse_gram.gram_of_rows(X)
    assert not used
    sparse_gram.gram_of_rows(X)  # earlier matrices do not count: the same matrix takes the same way
    assert not used
    monkeypatch.setattr(sparse_gram, "COMPILE_PRODUCTS", 1)
    sparse_gram.gram_of_rows(X)
    assert used


def test_the_compiled_loop_gives_the_same(monkeypatch):
    pytest.importorskip("numba", reason="the loop is compiled by numba")
    monkeypatch.setattr(sparse_gram, "COMPILE_PRODUCTS", 0)
    X = rows_of(0.1, np.float32, (3000, 50))
    dense = X.toarray().astype(np.float64)
    np.testing.assert_allclose(sparse_gram.gram_of_rows(X), dense.T @ dense, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_lanes_share_a_triangle_without_gaps(count):
    shares = sparse_gram.shares_of_triangle(30, count)
    assert [j for some in shares for j in range(30)[some]] == list(range(30))


def test_the_number_of_lanes_changes_no_bit(monkeypatch):
    monkeypatch.setattr(sparse_gram, "COMPILE_PRODUCTS", 0)
    monkeypatch.setattr(sparse_gram, "can_compile", lambda: True)
    monkeypatch.setattr(sparse_gram, "_compiled_loop", lambda: sparse_gram.add_products)  # the loop, as Python
    X, grams = rows_of(0.1), []
    for lanes in (1, 2, 5):
        monkeypatch.setattr(sparse_gram, "lane_count", lambda lanes=lanes: lanes)
        grams.append(sparse_gram.gram_of_rows(X))
    np.testing.assert_array_equal(grams[1], grams[0])
    np.testing.assert_array_equal(grams[2], grams[0])


def test_sparse_moments_take_one_pass():  # issue 16, item 8
    X = rows_of(0.2)
    op = rspca.as_operator(X)
    shift, sums, gram = op.moments()[:3]
    assert op.passes == 1.0
    np.testing.assert_array_equal(shift, 0.0)
    np.testing.assert_allclose(sums, X.toarray().sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(gram, X.toarray().T @ X.toarray(), rtol=1e-13)


def test_tall_sparse_data_are_read_once():  # issue 16, item 8
    X = rows_of(0.1, np.float32, (3000, 60))
    assert rspca.decompose(X, 3, k=5).passes == 1.0


def test_blocks_of_rows_are_added_up():  # issue 16, item 3
    rows = np.random.default_rng(0).standard_normal((100, 7))
    gram = GramSum(7)
    for first in range(0, 100, 30):
        gram.add(rows[first : first + 30])
    matrix = gram.matrix()
    np.testing.assert_allclose(matrix, rows.T @ rows, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(matrix, matrix.T)
