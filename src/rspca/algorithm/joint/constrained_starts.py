"""Starts of constrained searches that are found one by one: on disjoint supports, or in what the constraint leaves."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import best_distinct, power_steps, search, supports_along_directions
from rspca.algorithm.joint.starts import truncated
from rspca.algorithm.joint.task import SparseVector
from rspca.base.types import Array


def disjoint_start(A: Array, ks: list[int], choice: Choice, rng: np.random.Generator) -> list[SparseVector] | None:
    """Return components of which each has the best features that none before uses; None if features do not suffice."""
    rest, vectors = choice.features, []
    for k in ks:
        if not len(rest) or choice.among(rest).most < k:
            return None
        vectors.append(_best_single(A, k, rest, choice, rng))
        rest = np.setdiff1d(rest, vectors[-1].support)
    return vectors


def sequential_start(
    A: Array, ks: list[int], choice: Choice, rng: np.random.Generator, *, uncorrelated: bool
) -> list[SparseVector]:
    """Return components of which each is the best of A projected off v, or off Av, of those v that came before."""
    rest, vectors, basis = A, [], np.zeros((len(A), 0))
    nothing = budgets.NO_VARIANCE_EPS * np.finfo(float).eps * float(np.trace(A))
    for k in ks:
        varying = choice.features[rest.diagonal()[choice.features] > nothing]
        if len(varying) and choice.among(varying).most >= k:
            vectors.append(_best_single(rest, k, varying, choice, rng))
        else:  # the rank is exhausted: any features will do
            vectors.append(truncated(np.sqrt(A.diagonal()), k, choice))
        support, loadings = vectors[-1]
        x = np.zeros(len(A))
        x[support] = loadings
        x = loadings @ A[support] if uncorrelated else x
        length = np.linalg.norm(x)
        x = x - basis @ (basis.T @ x)
        if np.linalg.norm(x) > np.finfo(float).eps ** 0.5 * length:
            q = x / np.linalg.norm(x)
            basis, image = np.column_stack([basis, q]), rest @ q
            rest = rest - np.outer(image, q) - np.outer(q, image) + (q @ image) * np.outer(q, q)
    return vectors


def _best_single(A: Array, k: int, features: Array, choice: Choice, rng: np.random.Generator) -> SparseVector:
    """Return the best component of k of these features: by a full search, or by power steps if k is large."""
    part, among = A[np.ix_(features, features)], choice.among(features)
    if k <= budgets.POOL_MAX_K:
        end = search(part, k, among, known=[], rng=rng)[0]
        return SparseVector(features[end.support], end.loadings)
    along = supports_along_directions(part, k, among, rng, part.__matmul__)
    best = best_distinct(power_steps(part, best_distinct(along, budgets.SEARCH_DIRECTIONS), among), 1)
    return SparseVector(features[best.supports[0]], best.loadings[0])
