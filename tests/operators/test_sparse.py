"""Sparse data larger than the cache are multiplied in blocks of rows; rows without entries are rows all the same."""

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.operators import in_memory
from rspca.operators.sparse import SparseOperator

EMPTY = {"first": [0, 1, 2], "middle": [4, 5], "last": [7, 8], "all but one": [0, 1, 2, 3, 4, 6, 7, 8], "none": []}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
def test_rows_without_entries_have_scores(empty, dtype, monkeypatch):
    monkeypatch.setattr(in_memory, "CACHE_BYTES", 64)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 6)).astype(dtype)
    X[empty] = 0.0
    op, v, weights = SparseOperator(sp.csr_array(X)), rng.standard_normal(6).astype(dtype), rng.random(9).astype(dtype)
    images, scores = op.gram_and_scores(v)
    np.testing.assert_allclose(scores, X @ v, atol=1e-5)
    np.testing.assert_allclose(images, X.T @ (X @ v), atol=1e-5)
    weighted = op.weighted_gram_and_scores(v, 0.5, weights)
    np.testing.assert_allclose(weighted[0], X.T @ (weights * (X @ v - 0.5)), atol=1e-5)
    np.testing.assert_allclose(op.scores(np.array([1, 4]), np.array([0.6, 0.8])), X[:, [1, 4]] @ [0.6, 0.8], atol=1e-5)


def test_documents_that_begin_with_an_empty_one_are_decomposed(monkeypatch):
    monkeypatch.setattr(in_memory, "CACHE_BYTES", 1 << 12)
    X = sp.random(900, 1200, density=0.02, format="csr", random_state=0)
    X = sp.vstack([sp.csr_matrix((3, 1200)), X]).tocsr()
    found = rspca.decompose(X, 2, k=80, random_state=0)
    dense = rspca.decompose(X.toarray(), 2, k=80, random_state=0)
    assert [c.variance for c in found.components] == pytest.approx([c.variance for c in dense.components], rel=1e-9)
