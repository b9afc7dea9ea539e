"""R of a Gram matrix, made some columns at a time."""

import numpy as np
import pytest

from rspca.operators.growing_factor import GrowingFactor


def gram(rank, n, scales=1.0):
    X = np.random.default_rng([rank, n]).standard_normal((rank, n)) * scales
    return X.T @ X


def factor_of(A):
    return GrowingFactor(A, np.sqrt(np.diagonal(A)), 64 * len(A) * np.finfo(float).eps)


@pytest.mark.parametrize("rank", [3, 12, 30])
def test_products_of_columns_are_those_of_the_gram_matrix_in_whatever_order_they_are_asked_for(
    rank,
):  # issue 16, item 4
    A = gram(rank, 12, 10.0 ** np.arange(-6, 6))
    factor, rng = factor_of(A), np.random.default_rng(0)
    lengths = np.sqrt(np.diagonal(A))
    for _ in range(6):
        S = rng.permutation(12)[:3]
        R = factor.columns(S)
        np.testing.assert_allclose(
            R.T @ R / lengths[S] / lengths[S][:, None], (A / lengths / lengths[:, None])[np.ix_(S, S)], atol=1e-13
        )
    factor.include_all()
    R = factor.columns(np.arange(12)) / lengths
    np.testing.assert_allclose(R.T @ R, A / lengths / lengths[:, None], atol=1e-13)


def test_scores_that_were_computed_stay_what_they_are_when_more_columns_follow():  # issue 16, item 4
    A = gram(4, 9)
    factor, v = factor_of(A), np.zeros(9)
    v[[1, 5, 7]] = 1.0, -2.0, 0.5
    before = factor.times(v)
    np.testing.assert_allclose(factor.transposed_times(before), A @ v, atol=1e-12)
    factor.include_all()
    assert np.array_equal(factor.times(v), before)
    np.testing.assert_allclose(factor.transposed_times(before), A @ v, atol=1e-12)


def test_any_vector_of_samples_can_be_multiplied():  # issue 16, item 4
    A = gram(20, 6)
    factor, u = factor_of(A), np.random.default_rng(1).standard_normal(6)
    factor.include(np.array([2]))
    product = factor.transposed_times(u)  # needs all rows of R
    np.testing.assert_allclose(product, factor.columns(np.arange(6)).T @ u)
    assert factor.error() < 1e-13


def test_columns_without_length_have_no_part_in_it():  # issue 16, item 4
    A = np.zeros((4, 4))
    A[:2, :2] = gram(5, 2)
    factor = factor_of(A)
    factor.include(np.array([3]))
    assert not factor.columns(np.array([2, 3])).any()
    R = factor.columns(np.arange(4))
    np.testing.assert_allclose(R.T @ R, A, atol=1e-13)


@pytest.mark.parametrize("distance", [0.0, 1e-4, 1e-6, 1e-7, 1e-8, 1e-10])
def test_features_that_are_nearly_alike_cost_no_digits(distance):  # what is small is left to pivots that come later
    rng = np.random.default_rng(0)
    for _ in range(20):
        columns = rng.standard_normal((13, 3))
        X = columns[:, [0, 0, 0, 1, 1, 2]] + distance * rng.standard_normal((13, 6))
        X[:, 1] = X[:, 0]
        X /= np.linalg.norm(X, axis=0)
        A = X.T @ X
        factor, order = factor_of(A), rng.permutation(6)
        for support in (order[:2], order[2:4], order[4:]):
            factor.include(support)
            R = factor.columns(np.flatnonzero(factor._included))
            np.testing.assert_allclose(
                R.T @ R, A[np.ix_(factor._included, factor._included)], atol=64 * np.finfo(float).eps
            )
