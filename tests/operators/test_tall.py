"""Tall data as their Gram matrix: digits at large means, the error that certificates are told, and the cost model."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from support.exact_cases import exact_gram, exactly_deflated, rounded
from threadpoolctl import threadpool_limits

import rspca
from rspca.algorithm.deflate import schur
from rspca.operators import Centered, as_operator, summed_moments
from rspca.operators.dense import DenseOperator
from rspca.operators.moments import WithMoments
from rspca.operators.prepared import prepared
from rspca.operators.summed_moments import LANE_FEATURES, moments_of
from rspca.operators.tall import FEATURES_A_COMPONENT, MOST_FEATURES, FormedGram, gram_is_cheaper


def far(rng, m, n, ratio, dtype=np.float64):
    """Columns whose means are so many standard deviations from zero."""
    return (rng.standard_normal((m, n)) + ratio * rng.choice([-1.0, 1.0], n)).astype(dtype)


def test_the_gram_matrix_is_formed_where_there_are_few_features_for_each_component():  # issue 16, item 3
    a = FEATURES_A_COMPONENT
    for count in (1, 3):
        assert gram_is_cheaper((10**6, count * a), count)
        assert not gram_is_cheaper((10**6, count * a + 1), count)
    assert gram_is_cheaper((MOST_FEATURES, MOST_FEATURES), 100)
    assert not gram_is_cheaper((MOST_FEATURES + 1, MOST_FEATURES + 1), 100)
    assert gram_is_cheaper((50, 50), 1)
    assert not gram_is_cheaper((49, 50), 1)
    assert not gram_is_cheaper((10**6, 5), 0)


KINDS = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "csr": sp.csr_array,
    "streamed": lambda X: as_operator(X, max_memory="1MB"),
    "five members": lambda X: rspca.as_operator(FiveMembers(X)),
}


class FiveMembers:
    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def matmat(self, V):
        return self.X @ V

    def rmatmat(self, U):
        return self.X.T @ U

    def columns(self, support):
        return self.X[:, support]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dtype", "ratio"), [(np.float64, 1e2), (np.float64, 1e8), (np.float32, 30.0), (np.float32, 1e5)]
)
@pytest.mark.parametrize("scale", [False, True])
def test_no_digits_are_lost_at_large_means(kind, dtype, ratio, scale):  # issue 16, item 3
    X = far(np.random.default_rng(0), 300, 6, ratio, dtype)
    X[:, 4] = X[0, 4]  # constant
    X[:, 5] = 0.0
    Z = X.astype(np.longdouble) - X.astype(np.longdouble).mean(axis=0)
    if scale:
        Z = Z / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1.0)
    A = np.asarray(Z.T @ Z, dtype=float)
    A[4:], A[:, 4:] = 0.0, 0.0
    formed = prepared(as_operator(KINDS[kind](X)), center=True, scale=scale).operator
    assert isinstance(formed, FormedGram)
    size = float(np.abs(A).max())
    np.testing.assert_allclose(formed.matrix, A, atol=(1e-9 if dtype == np.float64 else 1e-5) * size)
    np.testing.assert_allclose(formed.to_float64().matrix, A, atol=1e-9 * size)
    assert not formed.matrix[4:].any()
    assert not formed.columns(np.array([4, 5])).any()


def test_rows_that_are_ordered_do_not_cost_digits():  # issue 16, item 3
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    X[::8] += 1e7  # every row that is sampled first is far from the others
    op = DenseOperator(X)
    moments = WithMoments(op).moments()
    assert np.all(moments.lengths**2 <= 101 * np.sum((X - X.mean(axis=0)) ** 2, axis=0))
    first = moments_of(lambda: iter([X]), lambda rows: (slice(0, 4000), rows), np.full(3, 1e9))
    Z = X - X.mean(axis=0)
    np.testing.assert_allclose(first.about(X.mean(axis=0), 4000).gram, Z.T @ Z, rtol=1e-12, atol=1e-12 * np.sum(Z**2))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [5, LANE_FEATURES + 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_all_rows_at_once_in_lanes_and_in_place(threads, n, weighted, monkeypatch):
    # issue 16, item 3
    monkeypatch.setattr(summed_moments, "MOMENTS_BYTES", 1)
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((900, n)) + 30.0).astype(np.float32)
    weights = rng.random(900) if weighted else np.ones(900)
    with threadpool_limits(threads, user_api="blas"):
        op = DenseOperator(X)
        moments = op.weighted_moments(weights) if weighted else op.moments()
    Z = X - moments.shift
    np.testing.assert_allclose(moments.sums, weights @ Z, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(moments.gram, (Z.T * weights) @ Z, rtol=1e-12, atol=1e-10)
    assert np.array_equal(moments.gram, moments.gram.T)


class WithoutProducts(np.ndarray):
    """Weights that must not be multiplied by BLAS."""

    def __matmul__(self, other):
        raise AssertionError("NumPy's threads would spin against those of SciPy")


@pytest.mark.parametrize("n", [5, LANE_FEATURES + 1])
def test_rows_that_come_one_block_at_a_time_are_summed_in_one_library(n):
    rows = np.random.default_rng(0).standard_normal((900, n))
    weights = np.ones(900).view(WithoutProducts)
    blocks = [slice(start, start + 300) for start in range(0, 900, 300)]
    with threadpool_limits(2, user_api="blas"):
        moments = moments_of(lambda: blocks, lambda part: (part, rows[part]), np.zeros(n), weights, most=1)
    np.testing.assert_allclose(moments.sums, rows.sum(axis=0), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(moments.gram, rows.T @ rows, rtol=1e-12, atol=1e-10)


def test_moments_take_one_pass_and_none_after_that():  # issue 16, items 3 and 7
    op = as_operator(np.random.default_rng(0).standard_normal((500, 20)) + 1.0)
    rspca.decompose(op, 3, k=5)
    assert op.passes <= 1.0
    sparse = as_operator(sp.random_array((500, 20), density=0.3, rng=np.random.default_rng(0)).tocsr())
    rspca.decompose(sparse, 3, k=5)
    assert sparse.passes <= 2.0


def test_a_shift_of_float32_is_not_what_proofs_are_made_on():  # issue 16, item 3
    X = far(np.random.default_rng(3), 60, 5, 3e4, np.float32) + np.float32(0.3)
    moved = WithMoments(as_operator(X)).shifted(np.full(5, np.float32(3e4), dtype=float))
    assert not moved.moments_in_float64
    exact = X.astype(np.float64) - np.float64(np.float32(3e4))
    np.testing.assert_allclose(moved.to_float64().moments().about(np.zeros(5), 60).gram, exact.T @ exact, rtol=1e-13)
    assert WithMoments(as_operator(X)).moments_in_float64


# --- what certificates are told ---------------------------------------------------------------------------------------


def true_errors(A, formed, vectors):
    """Return |v'(X'X - A)v| for the matrix and for R, A exact, in fractions."""
    values = []
    for matrix in (formed.matrix, None):
        for v in vectors:
            w = [Fraction(float(x)) for x in v]
            if matrix is None:
                scores = [
                    sum((Fraction(float(r)) * x for r, x in zip(row, w, strict=True)), Fraction(0))
                    for row in formed.factor
                ]
                seen = sum(s * s for s in scores)
            else:
                seen = sum(w[i] * w[j] * Fraction(float(matrix[i, j])) for i in range(len(w)) for j in range(len(w)))
            exact = sum(w[i] * w[j] * A[i][j] for i in range(len(w)) for j in range(len(w)))
            values.append((v, abs(float(seen - exact))))
    return values


FAMILIES = {
    "plain": lambda rng, m, n: rng.standard_normal((m, n)),
    "means": lambda rng, m, n: rng.standard_normal((m, n)) + 10.0 ** rng.uniform(0, 9, n),
    "scales": lambda rng, m, n: rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-7, 7, n),
    "ordered": lambda rng, m, n: np.sort(rng.standard_normal((m, n)) ** 5 * 1e4, axis=0),
    "rank 2": lambda rng, m, n: rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)),
    "duplicates": lambda rng, m, n: rng.standard_normal((m, 2))[:, rng.integers(2, size=n)],
    "float32": lambda rng, m, n: (rng.standard_normal((m, n)) + 10.0 ** rng.uniform(0, 4, n)).astype(np.float32),
    "many small beside one large": lambda rng, m, n: rng.standard_normal((m, n)) * np.r_[1e7, np.full(n - 1, 1e-2)],
}


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_error_of_a_formed_gram_matrix_is_bounded_in_exact_arithmetic(family, center):  # issue 16, item 3
    rng = np.random.default_rng([16, len(family)])
    for _ in range(6):
        n = int(rng.integers(2, 6))
        X = FAMILIES[family](rng, int(rng.integers(n, 90)), n)
        formed = prepared(as_operator(X), center=center, scale=False).operator.to_float64()
        A = exact_gram(X, center)
        vectors = [*np.eye(n), *rng.standard_normal((4, n)), *(np.eye(n)[:1] - np.eye(n)[1:])]
        errors = formed.gram_errors()
        for v, error in true_errors(A, formed, vectors):
            assert error <= float(np.abs(v) @ errors) ** 2
        # not loose: with one row more, a proof to 1e-6 is still possible
        assert float(errors @ errors) <= 1e-10 * float(np.trace(rounded(A)))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_error_of_what_components_leave_of_a_formed_gram_matrix_is_bounded(family):  # issue 16, item 3
    rng = np.random.default_rng([17, len(family)])
    for _ in range(4):
        n = int(rng.integers(3, 6))
        X = FAMILIES[family](rng, int(rng.integers(n + 2, 60)), n)
        op = prepared(as_operator(X), center=True, scale=False).operator.to_float64()
        whole, vectors = op, np.round(8 * rng.standard_normal((2, n))) / 8 + np.eye(2, n)
        for number, v in enumerate(vectors):
            op = schur(op, v, op.scores(np.arange(n), v), list(vectors[:number]))
        left, removed = exactly_deflated(exact_gram(X, True), vectors, "schur")
        if removed != "exactly" or float(np.trace(rounded(left))) <= 1e-9 * whole.sq_norms.sum():
            continue
        errors = op.gram_errors()
        assert np.all(errors >= whole.gram_errors())
        for v in rng.standard_normal((5, n)):
            exact = sum(Fraction(float(v[i])) * Fraction(float(v[j])) * left[i][j] for i in range(n) for j in range(n))
            rounding = float(np.abs(v) @ (op.rounding() + 80 * np.finfo(float).eps * op.rounding_lengths()))
            tolerance = float(np.abs(v) @ errors) ** 2 + 2.0 * float(exact) ** 0.5 * rounding + rounding**2
            assert abs(float(v @ op.gram(v)) - float(exact)) <= tolerance
            assert op.attained(np.arange(n), v) <= float(exact)


def test_a_component_that_is_nothing_but_rounding_proves_nothing_of_what_it_leaves():  # issue 16, item 3
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 4))
    op = FormedGram(Centered(WithMoments(as_operator(X))))
    v = np.linalg.svd(X - X.mean(axis=0))[2][3]
    scores = op.scores(np.arange(4), v) + 1e-9 * np.eye(4)[0]  # noise, as if it were variance
    left = schur(op, v, scores, [])
    assert left.attained(np.arange(4), v) == 0.0
    assert np.all(left.gram_errors() ** 2 >= op.sq_norms)


def test_float32_columns_some_of_them_far_from_zero_are_read_once():
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((20_000, 30)) * np.arange(1, 31)).astype(np.float32)
    X[:, 4] += 200.0  # forty times its spread: a difference of float32 sums would lose four digits
    found = rspca.decompose(X, 2, k=5, random_state=0)
    exact = X.astype(np.float64)
    assert found.passes == 1.0
    assert found.total_variance == pytest.approx(((exact - exact.mean(axis=0)) ** 2).sum(), rel=1e-12)
