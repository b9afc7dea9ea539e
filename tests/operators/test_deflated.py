"""Schur deflation of several components at once, against one component taken off after another."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.deflation import without
from support.operators import WRAPPED_DATA, from_data

from rspca.algorithm.deflate import DEFLATIONS, schur
from rspca.operators import Centered, Scaled, as_operator
from rspca.operators.deflated import Deflated, ScoreDeflated
from rspca.operators.moments import WithMoments
from rspca.operators.prepared import prepared
from rspca.operators.tall import FormedGram


def taken_off(op, vectors, deflation="schur"):
    """Deflate by one vector after another, as the loop over components does."""
    for number, v in enumerate(vectors):
        op = DEFLATIONS[deflation](op, v, op.scores(np.flatnonzero(v), v[v != 0.0]), list(vectors[:number]))
    return op


def sparse_vectors(n, count, seed=0):
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((count, n)) * (rng.random((count, n)) < 0.7)
    V[:, 0] += 1.0
    return V / np.linalg.norm(V, axis=1, keepdims=True)


@pytest.mark.parametrize("name", WRAPPED_DATA)
@pytest.mark.parametrize("count", [1, 3])
def test_all_components_at_once_leave_what_they_leave_one_by_one(name, count, tmp_path):  # issue 16, item 1
    data, X = from_data(name)(tmp_path)
    weights = np.linspace(0.5, 2.0, X.shape[1])
    vectors = sparse_vectors(X.shape[1], count)
    op = Scaled(Centered(data), weights)
    left, Z = taken_off(op, vectors), (X - X.mean(axis=0)) * weights
    for number, v in enumerate(vectors):
        Z = without("schur", Z, v, list(vectors[:number]))
    assert isinstance(left, ScoreDeflated)
    assert left.inner is op  # not nested
    assert left.undeflated is op
    assert left.U.shape == (len(X), count)
    single = left.dtype == np.float32
    atol = 2e-4 if single else 1e-10
    n, S, rng = X.shape[1], np.array([5, 1, 2]), np.random.default_rng(1)
    V, U, w = rng.standard_normal((n, 2)), rng.standard_normal((len(X), 2)), rng.random(n)
    nested = op
    for u in left.U.T:
        nested = ScoreDeflated(nested, u)
    doubled = left.to_float64()
    for seen in (left, nested, doubled):
        for values, expected in [
            (seen.matmat(V), Z @ V),
            (seen.rmatmat(U), Z.T @ U),
            (seen.gram(V), Z.T @ Z @ V),
            (seen.deflated_product(seen.undeflated.gram(V), V), Z.T @ Z @ V),
            (seen.gram_and_scores(V)[1], Z @ V),
            (seen.gram_and_scores(V, np.array([0.3, -2.0]))[0], Z.T @ (Z @ V - [0.3, -2.0])),
            (seen.columns(S), Z[:, S]),
            (seen.scores(S, V[:3, 0]), Z[:, S] @ V[:3, 0]),
            (seen.gram_matrix(S), Z[:, S].T @ Z[:, S]),
            (seen.gram_block(S), Z[:, S].T @ Z[:, S]),
            (seen.gram_rows(S), Z[:, S].T @ Z),
            (seen.gram_between(S, np.array([0, 3])), Z[:, S].T @ Z[:, [0, 3]]),
            (seen.samples_gram(), Z @ Z.T),
            (seen.samples_gram(w), (Z * w) @ Z.T),
            (seen.sq_norms, np.sum(Z**2, axis=0)),
            (seen.restrict(S).columns(np.arange(3)), Z[:, S]),
            (seen.restrict(S).restrict(np.array([1, 2])).matmat(V[:2]), Z[:, S[1:]] @ V[:2]),
            (seen.restrict(S).to_float64().gram_block(np.arange(3)), Z[:, S].T @ Z[:, S]),
        ]:
            np.testing.assert_allclose(values, expected, atol=atol * max(1.0, float(np.abs(expected).max())))
    assert doubled.dtype == np.float64
    assert np.all(left.rounding_lengths() >= np.sqrt(np.sum(Z**2, axis=0)) * (1.0 - 1e-6))


@pytest.mark.parametrize("make", [as_operator, lambda X: FormedGram(WithMoments(as_operator(X)))])
def test_a_component_that_others_explain_takes_nothing_off(make):  # issue 16, item 1
    X = np.random.default_rng(3).standard_normal((30, 6))
    vectors = sparse_vectors(6, 2)
    once = taken_off(make(X), vectors)
    for again in (vectors[0], vectors[1], (vectors[0] - 0.5 * vectors[1])):
        twice = taken_off(make(X), np.vstack([vectors, again / np.linalg.norm(again)]))
        assert twice.U.shape[1] == 2
        np.testing.assert_allclose(twice.gram(np.eye(6)), once.gram(np.eye(6)), atol=1e-10)


@pytest.mark.parametrize("count", [1, 2, 5, 6])
def test_scores_that_were_taken_off_are_orthonormal_whatever_the_conditions(count):  # issue 16, item 1
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 6)) * 10.0 ** np.arange(0, -6, -1)
    X[:, 1] = X[:, 0] + 1e-6 * X[:, 1]
    left = taken_off(Centered(as_operator(X)), np.eye(6)[:count])
    U = left.U
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-13)
    np.testing.assert_allclose(left.loadings, Centered(as_operator(X)).rmatmat(U), atol=1e-9)
    assert left.sq_norms[:count].max() <= 1e-20
    assert np.all(left.sq_norms >= 0.0)


@pytest.mark.parametrize("deflation", ["projection", "orthogonal"])
def test_other_deflations_are_the_same_on_a_formed_gram_matrix(deflation):  # issue 16, item 3
    X = np.random.default_rng(5).standard_normal((40, 6)) * np.linspace(1, 3, 6)
    Z, vectors = X - X.mean(axis=0), sparse_vectors(6, 3)
    left = taken_off(FormedGram(Centered(WithMoments(as_operator(X)))), vectors, deflation)
    for number, v in enumerate(vectors):
        Z = without(deflation, Z, v, list(vectors[:number]))
    assert isinstance(left, Deflated)
    np.testing.assert_allclose(left.gram(np.eye(6)), Z.T @ Z, atol=1e-10)
    np.testing.assert_allclose(left.gram_matrix(np.arange(6)), Z.T @ Z, atol=1e-10)
    np.testing.assert_allclose(left.sq_norms, np.sum(Z**2, axis=0), atol=1e-10)
    assert np.all(left.gram_errors() >= left.inner.gram_errors())


def test_weights_of_the_scores_are_kept_only_where_the_gram_matrix_has_an_error():  # issue 16, items 3 and 4
    X = np.random.default_rng(6).standard_normal((40, 6))
    vectors = sparse_vectors(6, 3)
    assert taken_off(Centered(as_operator(X)), vectors).weights is None
    assert taken_off(Centered(as_operator(sp.csr_array(X))), vectors).weights is None
    formed = FormedGram(Centered(WithMoments(as_operator(X))))
    left = taken_off(formed, vectors)
    np.testing.assert_allclose(formed.matmat(left.weights), left.U, atol=1e-12)
    P = left.weights @ left.loadings.T
    np.testing.assert_allclose(P @ P, P, atol=1e-12)  # an oblique projection on the components
    Z = X - X.mean(axis=0)
    A = Z.T @ Z
    np.testing.assert_allclose((np.eye(6) - P).T @ A @ (np.eye(6) - P), left.gram(np.eye(6)), atol=1e-11)
    assert schur(formed, vectors[0], formed.scores(np.arange(6), vectors[0]), []).weights.shape == (6, 1)


# issue 16, item 3
def test_scores_taken_off_without_their_loadings_leave_errors_unknown():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6)).astype(np.float32)
    formed = prepared(as_operator(X), center=True, scale=False).operator
    assert formed.gram_errors().any()
    u = rng.standard_normal(formed.shape[0])
    left = ScoreDeflated(formed, u / np.linalg.norm(u))
    assert (left.gram_errors() >= np.sqrt(formed.sq_norms)).all()
    w = rng.standard_normal(formed.shape[0])
    w -= left.U[:, 0] * (left.U[:, 0] @ w)
    again = left.without(w / np.linalg.norm(w), 0.0, np.zeros(6))
    assert (again.gram_errors() >= np.sqrt(formed.sq_norms)).all()
