"""Sums, Gram matrices and what deflation leaves of them: every operator against the matrix it stands for."""

import numpy as np
import pytest
from support.operators import OPERATORS, stated

from rspca.operators.deflated import ScoreDeflated
from rspca.operators.moments import WithMoments
from rspca.operators.tall import FormedGram


def close_to(op):
    return {"rtol": 1e-4, "atol": 1e-3} if op.dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}


def about(X, shift, ones=None):
    Z = X - np.outer(np.ones(len(X)) if ones is None else ones, np.broadcast_to(shift, X.shape[1]))
    return Z.T @ Z


def moments_are_those_of_the_matrix_about_the_shift_that_they_state(op, X):  # issue 16, item 3
    moments = op.moments()
    ones = op.intercept  # roots of weights where samples have them
    np.testing.assert_allclose(moments.sums, ones @ (X - np.outer(ones, moments.shift)), **close_to(op))
    np.testing.assert_allclose(moments.gram, about(X, moments.shift, ones), **close_to(op))
    assert moments.sums.dtype == moments.gram.dtype == np.float64
    assert np.all(moments.lengths**2 >= np.diagonal(moments.gram) * (1.0 - 1e-12))
    mean = ones @ X / (ones @ ones)
    moved = moments.about(mean, op.total_weight)
    np.testing.assert_allclose(moved.gram, about(X, mean, ones), **close_to(op))
    np.testing.assert_allclose(moved.sums, 0.0, atol=1e-3 if op.dtype == np.float32 else 1e-9)
    assert np.all(moved.lengths >= moments.lengths)


def gram_matrices_about_means_and_between_features_are_those_of_the_matrix(op, X):  # issue 16, item 3
    n = X.shape[1]
    ones = op.intercept
    mean, S, T = ones @ X / (ones @ ones), np.arange(1, n, 2), np.array([0, n - 1])
    for seen in (op, WithMoments(op)):
        for support in (S, np.arange(n)):
            np.testing.assert_allclose(
                seen.gram_about(support, mean), about(X[:, support], mean[support], ones), **close_to(op)
            )
        np.testing.assert_allclose(seen.gram_matrix(S), about(X[:, S], 0.0), **close_to(op))
        np.testing.assert_allclose(seen.column_sums(), X.sum(axis=0), **close_to(op))
        np.testing.assert_allclose(seen.column_sq_norms(), np.sum(X**2, axis=0), **close_to(op))
        squares = np.sum((X - np.outer(ones, mean)) ** 2, axis=0)
        np.testing.assert_allclose(seen.column_sq_norms(mean), squares, **close_to(op))
        np.testing.assert_allclose(seen.means, mean, **close_to(op))
        np.testing.assert_allclose(seen.gram_between(S, T), X[:, S].T @ X[:, T], **close_to(op))


def a_formed_gram_matrix_stands_for_the_data(op, X):  # issue 16, item 3
    formed, A, n = FormedGram(op), about(X, 0.0), X.shape[1]
    rng = np.random.default_rng(1)
    V, S, all_features = rng.standard_normal((n, 3)), np.array([2, 0]), np.arange(n)
    close = close_to(op)
    assert formed.shape == (n, n)
    assert formed.dtype == np.float64
    for values, expected in [
        (formed.gram(V), A @ V),
        (formed.rmatmat(formed.matmat(V)), A @ V),
        (formed.gram_and_scores(V)[0], A @ V),
        (formed.gram_block(S), A[np.ix_(S, S)]),
        (formed.gram_matrix(all_features), A),
        (formed.gram_rows(S), A[S]),
        (formed.gram_between(S, all_features), A[S]),
        (formed.column_sq_norms(), np.diagonal(A)),
        (formed.variances(V), np.einsum("ij,ij->j", V, A @ V)),
        (formed.restrict(S).gram_matrix(np.arange(2)), A[np.ix_(S, S)]),
        (formed.columns(S).T @ formed.columns(S), A[np.ix_(S, S)]),
        (formed.restrict(S).columns(np.arange(2)), formed.columns(S)),
        (formed.gradient(formed.restrict(S), S, V[:2, 0]), V[:2, 0] @ A[S]),
        (formed.samples_gram(np.ones(n)), formed.factor @ formed.factor.T),
        (formed.to_float64().gram(V), A @ V),
        (formed.restrict(S).to_float64().gram_block(np.arange(2)), A[np.ix_(S, S)]),
    ]:
        np.testing.assert_allclose(values, expected, **close)
    with pytest.raises(NotImplementedError, match="no column sums"):
        formed.column_sums()
    with pytest.raises(ValueError, match="cannot be centered"):
        formed.gram_and_scores(V, 1.0)


def what_scores_leave_follows_from_gram_matrices_and_rows_before_deflation(op, X):  # issue 16, item 1
    m, n = X.shape
    rng = np.random.default_rng(2)
    U = np.linalg.qr(rng.standard_normal((m, 3)))[0][:, : min(3, m - 1)]
    left, Z = ScoreDeflated(op, U), X - U @ (U.T @ X)
    S = np.arange(0, n, 2)
    np.testing.assert_allclose(left.deflated_gram(op.gram_matrix(S), S), about(Z[:, S], 0.0), **close_to(op))
    scores = np.linalg.qr(rng.standard_normal((m, min(2, m - 3))))[0] if m > 3 else np.empty((m, 0))
    orthonormal, rows = left.deflated_rows(scores, np.asarray(op.rmatmat(scores), dtype=float).T)
    np.testing.assert_allclose(orthonormal.T @ orthonormal, np.eye(len(rows)), atol=1e-9)
    np.testing.assert_allclose(rows, orthonormal.T @ Z, **close_to(op))
    assert left.undeflated is op


STATEMENTS = (
    moments_are_those_of_the_matrix_about_the_shift_that_they_state,
    gram_matrices_about_means_and_between_features_are_those_of_the_matrix,
    a_formed_gram_matrix_stands_for_the_data,
    what_scores_leave_follows_from_gram_matrices_and_rows_before_deflation,
)


@pytest.mark.parametrize("name", [name for name in OPERATORS if not name.startswith("gram")])
def test_moments_and_gram_matrices_are_those_of_the_matrix_an_operator_stands_for(name, tmp_path):
    """All statements of an operator in one test: a test takes longer to be reported than a statement to be checked."""
    for statement, op, X in stated(STATEMENTS, name, tmp_path):
        statement(op, X)
