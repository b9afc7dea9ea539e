"""Columns far from zero: products of vectors with few non-zeros read only the columns of these."""

import numpy as np
import pytest
import scipy.sparse as sp

from rspca.operators import Centered, as_operator
from rspca.operators.shifted import Shifted


def far_from_zero(dtype=np.float64, order="C", m=80, n=3000):
    """Return data with a few columns far from zero, and their shift."""
    X = np.random.default_rng(0).standard_normal((m, n))
    X[:, [5, 70, 900]] += 1e4
    shift = np.zeros(n)
    shift[[5, 70, 900]] = 1e4
    return np.asarray(X, dtype=dtype, order=order), shift


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [0, 1, 100, 300, 2000])
def test_a_vector_with_few_nonzeros_is_multiplied_by_their_columns(count, dtype, order):
    X, shift = far_from_zero(dtype, order)
    op = as_operator(X).shifted(shift)
    assert isinstance(op, Shifted)
    v = np.zeros(X.shape[1])
    v[np.random.default_rng(1).permutation(X.shape[1])[:count]] = 1.0
    v[[5, 7]] = [0.5, 2.0] if count else 0.0
    before = op.passes
    product = op.matmat(v)
    assert product.dtype == dtype
    exact = (X.astype(float) - shift) @ v
    np.testing.assert_allclose(product, exact, atol=(1e-11 if dtype == np.float64 else 1e-2) * max(1, count) ** 0.5)
    most = X.shape[1] / (7 if order == "F" else 20)
    assert (op.passes - before < 0.2) == (np.count_nonzero(v) <= most)
    gram, scores = Centered(op, np.zeros(len(shift))).gram_and_scores(v)
    np.testing.assert_allclose(scores, exact, atol=(1e-11 if dtype == np.float64 else 1e-2) * max(1, count) ** 0.5)
    assert gram.shape == v.shape


def test_blocks_of_vectors_and_sparse_data_are_multiplied_as_a_whole():
    X, shift = far_from_zero()
    thinned = sp.csr_array(np.where(np.abs(X) > 2.5, X, 0.0))
    v = np.zeros(X.shape[1])
    v[:100] = 1.0
    for op, V in ((as_operator(X).shifted(shift), np.column_stack([v, v])), (as_operator(thinned).shifted(shift), v)):
        before = op.passes
        np.testing.assert_allclose(op.matmat(V), op.columns(np.arange(X.shape[1])) @ V, atol=1e-9)
        assert op.passes - before >= 1.0
