"""Tasks, starts and measures for the tests of several components together."""

from contextlib import contextmanager

import numpy as np
import pytest

import rspca
from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.task import JointTask, SparseVector
from rspca.algorithm.loop import eligible_features


def gram_of(seed, n=8):
    """Return a random Gram matrix: of full or low rank, with ties, or with factors."""
    rng = np.random.default_rng(seed)
    kind = seed % 4
    X = rng.standard_normal((n + 5 if kind else 3, n))
    if kind == 2:
        X = np.round(X) + 0.1 * rng.standard_normal((len(X), 1))
    if kind == 3:
        X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, n)) + 0.4 * rng.standard_normal((20, n))
    return X.T @ X


def task_of(op, ks, seed=0, groups=None, **options):
    choice = Choice(eligible_features(op), groups)
    return JointTask(op, list(ks), choice, np.random.default_rng(seed), **options)


def random_start(ks, n, seed=0, nonnegative=False):
    """Return vectors of random features."""
    rng, vectors = np.random.default_rng(seed), []
    for k in ks:
        x = rng.standard_normal(k) + 2.0
        x = np.abs(x) if nonnegative else x
        vectors.append(SparseVector(np.sort(rng.choice(n, k, replace=False)), x / np.linalg.norm(x)))
    return vectors


def one_by_one(op, ks, seed=0, **options):
    found = rspca.decompose(op, len(ks), k=list(ks), random_state=seed, **options)
    return [SparseVector(c.support, np.asarray(c.loadings, dtype=np.float64)) for c in found.components]


def dense(vectors, n):
    V = np.zeros((n, len(vectors)))
    for column, vector in enumerate(vectors):
        V[vector.support, column] = vector.loadings
    return V


def adjusted_in_order(A, vectors):
    """Return the adjusted variance by its definition: squares of R in the QR of the scores."""
    values, turn = np.linalg.eigh(A)
    root = (turn * np.sqrt(np.maximum(values, 0.0))) @ turn.T
    return float(np.sum(np.diag(np.linalg.qr(root @ dense(vectors, len(A)))[1]) ** 2))


def assert_well_formed(vectors, ks, features, nonnegative=False):
    for vector, k in zip(vectors, ks, strict=True):
        assert 0 < len(vector.support) <= k
        assert np.all(np.diff(vector.support) > 0)
        assert np.isin(vector.support, features).all()
        assert vector.loadings.dtype == np.float64
        assert np.linalg.norm(vector.loadings) == pytest.approx(1.0, abs=1e-12)
        assert not nonnegative or (vector.loadings >= 0.0).all()


@contextmanager
def little_search():
    """Try fewer starts, so that many cases can be tested."""
    few = {"JOINT_STARTS": 2, "JOINT_FINALISTS": 1, "JOINT_REPLACEMENTS": 1}
    few |= {"SHARED_STARTS": 1, "SHARED_REPLACEMENTS": 1, "DISJOINT_STARTS": 1, "DISJOINT_FINALISTS": 1}
    few |= {"CONSTRAINED_WORK": 2e4}  # microseconds
    with pytest.MonkeyPatch.context() as patch:
        for name, value in few.items():
            patch.setattr(budgets, name, value)
        yield patch
