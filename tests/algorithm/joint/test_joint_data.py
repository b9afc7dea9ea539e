"""What block steps see of the data: the same through a Gram matrix in memory and through products with X."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.joint import dense, random_start, task_of

import rspca
from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Groups
from rspca.algorithm.joint.data import DeflatedGram, GramData, OperatorData
from rspca.algorithm.joint.pooled import few_samples, gram_affordable, pool_share, promising_features


def data_of(seed, m=9, n=7):
    X = np.random.default_rng(seed).standard_normal((m, n))
    return X, X.T @ X


@given(st.integers(0, 10**6))  # issue 17, item 1
def test_a_gram_matrix_and_products_with_x_give_the_same(seed):
    X, A = data_of(seed)
    vectors = random_start([3, 2], 7, seed)
    V = dense(vectors, 7)
    weights = np.linalg.inv(np.linalg.cholesky(V.T @ A @ V)).T  # XVW is orthonormal
    L = A @ V @ weights
    support = np.array([1, 4, 6])
    for data in (GramData(A), OperatorData(rspca.as_operator(X))):
        assert data.features == 7
        images = data.images(vectors)
        np.testing.assert_allclose(np.column_stack(images), A @ V, atol=1e-10)
        np.testing.assert_allclose(data.image(vectors[0]), A @ V[:, 0], atol=1e-10)
        np.testing.assert_allclose(data.products_within(support)(np.eye(3)), A[np.ix_(support, support)], atol=1e-10)
        np.testing.assert_allclose(data.part(support).gram(np.eye(3)), A[np.ix_(support, support)], atol=1e-10)
        block = data.without(vectors, images, weights)
        np.testing.assert_allclose(block.gram(np.eye(7)), A - L @ L.T, atol=1e-9)
        np.testing.assert_allclose(block.gram_rows(support), (A - L @ L.T)[support], atol=1e-9)
        np.testing.assert_allclose(block.gram(V), 0.0, atol=1e-9)
        np.testing.assert_allclose(block.sq_norms, np.diag(A - L @ L.T), atol=1e-9)
        part = block.restrict(support)
        loadings = np.array([0.5, -1.0, 2.0])
        gradient = (A - L @ L.T)[:, support] @ loadings
        np.testing.assert_allclose(block.gradient(part, support, loadings), gradient, atol=1e-9)


def test_many_features_are_multiplied_through_their_columns():
    X, A = data_of(1, m=3)
    multiply = OperatorData(rspca.as_operator(X)).products_within(np.arange(5))
    np.testing.assert_allclose(multiply(np.eye(5)), A[:5, :5], atol=1e-12)


def test_without_other_components_nothing_is_taken_off():
    X, A = data_of(2)
    for data in (GramData(A), OperatorData(rspca.as_operator(X))):
        np.testing.assert_allclose(data.without([], [], np.empty((0, 0))).gram(np.eye(7)), A, atol=1e-12)


def test_a_deflated_gram_matrix_is_symmetric_to_the_last_bit():
    _, A = data_of(3)
    block = DeflatedGram(A, A[:, :2] / 3.0).gram_block(np.arange(7))
    np.testing.assert_array_equal(block, block.T)


@pytest.mark.parametrize("nonnegative", [False, True])  # issue 17, item 1
def test_promising_features_are_those_of_largest_gradient_in_each_block(monkeypatch, nonnegative):
    monkeypatch.setattr(budgets, "JOINT_POOL_FEATURES", 4)
    monkeypatch.setattr(budgets, "JOINT_POOL_PER_K", 1)
    X, A = data_of(5, m=30, n=25)
    vectors = random_start([2, 2, 2], 25, 1)
    V, wanted = dense(vectors, 25), set(np.concatenate([vector.support for vector in vectors]))
    for place in range(3):
        W = np.delete(V, place, axis=1)
        left = A - A @ W @ np.linalg.solve(W.T @ A @ W, W.T @ A)
        gradient = left @ V[:, place]
        gradient = np.maximum(gradient, 0.0) if nonnegative else np.abs(gradient)
        wanted |= set(np.argsort(-gradient)[:4])
    task = task_of(rspca.as_operator(X), [2, 2, 2], nonnegative=nonnegative)
    assert set(promising_features(task, vectors, [2, 2, 2]).tolist()) == wanted


def test_a_pool_has_features_of_many_groups(monkeypatch):  # issue 17, item 1
    monkeypatch.setattr(budgets, "JOINT_POOL_FEATURES", 3)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 12))
    X[:, :6] = X[:, :1] + 0.01 * X[:, :6]  # six of a kind
    groups = Groups(np.array([0] * 6 + [1, 1, 2, 2, 3, 3]), 1)
    task = task_of(rspca.as_operator(X), [3], groups=groups)
    pool = promising_features(task, random_start([1], 1), [3])
    assert len(np.unique(groups.labels[pool])) >= 3


def test_the_size_of_data_decides_what_is_formed():
    op = rspca.as_operator(np.ones((40, 10)))
    assert gram_affordable(op, 1000)
    assert not gram_affordable(op, budgets.POOL_COMPLETE_FEATURES + 1)
    assert few_samples(op, 3000, [200, 200])
    assert not few_samples(op, 3000, [200, 20])
    assert not few_samples(rspca.as_operator(np.ones((4000, 2))), 3000, [200])
    assert pool_share(20, 5) == budgets.JOINT_POOL_FEATURES
    assert pool_share(200, 5) == budgets.JOINT_POOL_PER_K * 200
    assert pool_share(60, 100) == 60
