"""Leading eigenpairs from products agree with a dense eigendecomposition, also where that would be too large."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rspca
from rspca.linalg import eigen
from rspca.linalg.eigen import _top, lanczos, leading_pairs, pairs_within


def with_spectrum(m, n, singular, seed=0):
    """Return an m x n matrix with these singular values and random singular vectors."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((m, len(singular))))[0]
    right = np.linalg.qr(rng.standard_normal((n, len(singular))))[0]
    return (left * singular) @ right.T


def check(X, count, tol=1e-8, start=None, values_within=1e-9):
    pairs = leading_pairs(rspca.as_operator(X), count, start, tol=tol)
    A = X.T @ X
    exact = np.linalg.eigvalsh(A)[::-1][:count]
    assert pairs.values.shape == (len(exact),)
    assert pairs.vectors.shape == (X.shape[1], len(exact))
    np.testing.assert_allclose(pairs.values, exact, rtol=0, atol=values_within * max(exact[0], 1e-300))
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(len(exact)), atol=1e-8)
    residuals = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert residuals.max() <= (2 * tol + 1e-12) * max(exact[0], 1e-300)
    return pairs


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(0, 10**6))
def test_small_matrices_agree_with_a_dense_eigendecomposition(m, n, count, seed):
    check(np.random.default_rng(seed).standard_normal((m, n)), min(count, n))


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("shape", [(300, 400), (400, 300), (40, 600), (600, 40), (130, 130), (129, 500)])
def test_large_matrices_agree_with_a_dense_eigendecomposition(shape, count):
    rank = min(shape)
    check(with_spectrum(*shape, 0.8 ** np.arange(rank)), count)


@pytest.mark.parametrize("shape", [(300, 200), (50, 300), (300, 600), (20, 10)])
def test_equal_leading_eigenvalues_are_all_found(shape):
    check(with_spectrum(*shape, np.r_[3.0, 3.0, 3.0, 1.0, 0.5 ** np.arange(6)]), 4, values_within=1e-8)


def test_clustered_eigenvalues_are_told_apart():
    check(with_spectrum(300, 250, np.r_[1.0, 0.999, 0.998, np.linspace(0.5, 0.1, 40)]), 3)


def test_a_flat_spectrum_is_still_solved_to_the_tolerance():
    X = np.random.default_rng(0).standard_normal((400, 300))
    check(X, 1, tol=1e-6)


@pytest.mark.parametrize("shape", [(300, 200), (200, 300), (3, 300), (300, 3), (1, 300), (1, 5), (300, 1), (1, 1)])
def test_a_matrix_of_rank_one_has_its_one_direction(shape):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(shape[0]), rng.standard_normal(shape[1])
    pairs = check(np.outer(a, b), 1)
    np.testing.assert_allclose(np.abs(pairs.vectors[:, 0]), np.abs(b) / np.linalg.norm(b), atol=1e-9)


@pytest.mark.parametrize("shape", [(300, 200), (2, 300), (12, 9)])
def test_more_pairs_than_the_rank_are_completed_by_zeros(shape):
    check(with_spectrum(*shape, np.array([2.0, 1.0])), 4)


def test_a_good_start_saves_passes_and_is_never_made_worse():
    X = with_spectrum(400, 300, 0.97 ** np.arange(300))
    exact = np.linalg.svd(X)[2][0]
    rng = np.random.default_rng(2)
    near = exact + 0.02 * rng.standard_normal(300) / np.sqrt(300)
    op = rspca.as_operator(X)
    leading_pairs(op, 1, tol=1e-6)
    cold = op.passes
    leading_pairs(op, 1, near, tol=1e-6)
    assert op.passes - cold < cold
    before = np.sum((X @ near) ** 2) / (near @ near)
    for tol in (1e-1, 1e-3, 1e-6):
        assert leading_pairs(op, 1, near, tol=tol).values[0] >= before * (1 - 1e-12)
    check(X, 1, start=near)
    check(X, 1, start=exact)


def test_a_start_that_is_another_eigenvector_does_not_hide_the_leading_one():
    # 1 - 1 + 1 - 1 ... is an exact eigenvector of I + 11'/n, with eigenvalue 1; the leading one has eigenvalue 2.
    n = 200
    alternating = np.where(np.arange(n) % 2, -1.0, 1.0)
    A = rspca.GramOperator(np.eye(n) + np.ones((n, n)) / n)
    v = rspca.normalize(A, alternating, how="svd")
    assert rspca.explained_variance(A, v)[0] == pytest.approx(2.0, rel=1e-6)


def test_single_precision_data_give_pairs_to_single_precision():
    X = with_spectrum(300, 250, 0.9 ** np.arange(100)).astype(np.float32)
    pairs = leading_pairs(rspca.as_operator(X), 2, tol=1e-5)
    exact = np.linalg.eigvalsh(X.astype(float).T @ X.astype(float))[::-1][:2]
    np.testing.assert_allclose(pairs.values, exact, rtol=1e-5)


def test_the_same_call_gives_the_same_pairs():
    X = with_spectrum(300, 250, 0.9 ** np.arange(100))
    first, second = (leading_pairs(rspca.as_operator(X), 2) for _ in range(2))
    np.testing.assert_array_equal(first.vectors, second.vectors)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_restarts_lose_nothing(count, monkeypatch):
    monkeypatch.setattr("rspca.linalg.eigen.LANCZOS_VECTORS", 6)
    X = with_spectrum(120, 90, np.linspace(2.0, 0.5, 90) ** 0.5)
    op = rspca.as_operator(X)
    values, vectors = lanczos(op, count, None, tol=1e-9)
    assert op.passes > 3 * (6 + 2 * count)  # it did restart
    exact, directions = np.linalg.eigh(X.T @ X)
    np.testing.assert_allclose(values[:count], exact[::-1][:count], rtol=1e-9)
    np.testing.assert_allclose(np.abs(vectors[:, :count].T @ directions[:, ::-1][:, :count]), np.eye(count), atol=1e-5)


def test_where_every_space_is_invariant_the_search_goes_on_outside_and_reads_nothing_unwritten(monkeypatch):
    empty = np.empty
    monkeypatch.setattr(np, "empty", lambda *args, **options: np.full_like(empty(*args, **options), np.nan))
    values, vectors = lanczos(rspca.GramOperator(2.0 * np.eye(20)), 3, None, tol=1e-10)
    np.testing.assert_allclose(values[:3], 2.0)
    np.testing.assert_allclose(vectors[:, :3].T @ vectors[:, :3], np.eye(3), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("n", [2, 7, 40, 64])
def test_one_leading_pair_of_a_small_matrix_is_that_of_its_whole_decomposition(n, scale):
    X = np.random.default_rng(n).standard_normal((n + 5, n))
    A = scale * (X.T @ X)
    values, vectors = np.linalg.eigh(A)
    pair = _top(A, 1)
    assert pair.values.shape == (1,)
    assert pair.vectors.shape == (n, 1)
    assert pair.values[0] == pytest.approx(values[-1], rel=1e-12)
    assert abs(float(pair.vectors[:, 0] @ vectors[:, -1])) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("A", [np.zeros((5, 5)), np.eye(5), np.ones((5, 5)), np.diag([1.0, 1e-300, 0.0])], ids=str)
def test_one_leading_pair_of_a_matrix_with_ties_or_of_low_rank_is_one_of_its_pairs(A):
    pair = _top(A, 1)
    assert pair.values[0] == pytest.approx(np.linalg.eigvalsh(A)[-1], abs=1e-14)
    assert np.linalg.norm(pair.vectors[:, 0]) == pytest.approx(1.0)
    np.testing.assert_allclose(A @ pair.vectors[:, 0], pair.values[0] * pair.vectors[:, 0], atol=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_columns_that_are_orthonormal_up_to_rounding_have_a_leading_pair(seed):  # LAPACK alone finds none of every 12th
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((12, 9)))[0]
    pair = _top(Q.T @ Q, 1)
    assert pair.values[0] == pytest.approx(1.0, rel=1e-14)
    assert np.linalg.norm(pair.vectors[:, 0]) == pytest.approx(1.0, rel=1e-14)
    found = rspca.decompose(Q, 1, k=3, center=False, random_state=0).components[0]
    assert found.variance == pytest.approx(1.0, rel=1e-14)


def test_the_whole_is_decomposed_where_one_pair_fails(monkeypatch):
    A = np.diag([3.0, 1.0, 2.0])
    monkeypatch.setattr(eigen, "dsyevr", lambda *args, **options: (np.zeros(3), np.zeros((3, 1)), 0, None, 1))
    assert _top(A, 1).values.tolist() == [3.0]
    assert np.abs(_top(A, 1).vectors[:, 0]).tolist() == [1.0, 0.0, 0.0]


def test_an_eigenvalue_that_rounding_made_negative_is_zero():
    assert _top(np.diag([-1e-17, -2e-17]), 1).values.tolist() == [0.0]
    assert _top(np.diag([-1e-17, -2e-17]), 2).values.tolist() == [0.0, 0.0]


def test_pairs_within_a_span_are_eigenpairs_if_it_has_them():  # issue 16, item 1
    X = with_spectrum(60, 40, np.arange(12.0, 0.0, -1.0))
    right = np.linalg.svd(X)[2].T
    mixed = np.linalg.qr(right[:, :5] @ np.random.default_rng(1).standard_normal((5, 5)))[0]
    pairs = pairs_within(mixed, X.T @ X @ mixed)
    np.testing.assert_allclose(pairs.values, np.arange(12.0, 7.0, -1.0) ** 2, rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(pairs.vectors * right[:, :5], axis=0)), 1.0, rtol=1e-10)


def test_pairs_within_a_span_that_holds_nothing_are_zero():
    X = with_spectrum(30, 20, np.array([3.0, 2.0]))
    nothing = np.linalg.svd(X)[2].T[:, 5:8]
    pairs = pairs_within(nothing, X.T @ X @ nothing)
    assert np.all(pairs.values <= 1e-12)
    assert np.isfinite(pairs.vectors).all()
