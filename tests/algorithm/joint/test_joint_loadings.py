"""Loadings refitted together: the gradient by differences, no loss, and the maximum of small cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.joint import adjusted_in_order, dense, gram_of, random_start

from rspca.algorithm.joint.loadings import refit_together, variance_and_gradient
from rspca.algorithm.joint.task import SparseVector


@given(st.integers(0, 10**6))  # issue 17, item 1
def test_the_gradient_is_that_of_the_adjusted_variance(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 5))
    A, V = X.T @ X, rng.standard_normal((5, 3))
    gradient = variance_and_gradient(A @ V, V)[1]
    step = rng.standard_normal(V.shape)
    ahead, behind = (variance_and_gradient(A @ (V + h * step), V + h * step)[0] for h in (1e-6, -1e-6))
    slope = 2.0 * float(np.sum(gradient * step))
    assert (ahead - behind) / 2e-6 == pytest.approx(slope, rel=1e-4, abs=1e-4 * np.abs(gradient).max())


@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())  # issue 17, items 1 and 4
def test_a_refit_keeps_supports_and_never_loses(seed, r, nonnegative):
    A = gram_of(seed)
    start = random_start([3] * r, len(A), seed, nonnegative)
    V = dense(start, len(A))
    found = refit_together(A.__matmul__, V, V != 0.0, nonnegative=nonnegative, tol=1e-12)
    assert not found.V[V == 0.0].any()
    np.testing.assert_allclose(np.linalg.norm(found.V, axis=0), 1.0)
    assert not nonnegative or (found.V >= 0.0).all()
    before = adjusted_in_order(A, start)
    vectors = [SparseVector(np.flatnonzero(v), v[v != 0.0]) for v in found.V.T]
    assert found.variance == pytest.approx(adjusted_in_order(A, vectors), rel=1e-8, abs=1e-9)
    assert found.variance >= before * (1.0 - 1e-9)


def test_one_component_is_refitted_to_the_leading_eigenvector():
    A = gram_of(1)
    V = dense(random_start([4], 8, 3), 8)
    support = V[:, 0] != 0.0
    found = refit_together(A.__matmul__, V, V != 0.0, tol=1e-13)
    assert found.variance == pytest.approx(np.linalg.eigvalsh(A[np.ix_(support, support)])[-1], rel=1e-8)


def test_components_on_all_features_have_the_leading_eigenvalues():  # issue 17, item 1
    A = gram_of(5)
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 3)))[0]
    found = refit_together(A.__matmul__, V, np.ones((8, 3), dtype=bool), tol=1e-13)
    assert found.variance == pytest.approx(np.linalg.eigvalsh(A)[-3:].sum(), rel=1e-6)
