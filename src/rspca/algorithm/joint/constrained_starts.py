"""Starts of constrained searches that are found one after another: disjoint supports, and orthogonal to those before."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import search
from rspca.algorithm.joint.starts import truncated
from rspca.algorithm.joint.task import SparseVector
from rspca.base.types import Array


def disjoint_start(A: Array, ks: list[int], choice: Choice, rng: np.random.Generator) -> list[SparseVector] | None:
    """Return components of which each has the best features that none before uses; None if features do not suffice."""
    rest, vectors = choice.features, []
    for k in ks:
        among = choice.among(rest)
        if not len(rest) or among.most < k:
            return None
        end = search(A[np.ix_(rest, rest)], k, among, known=[], rng=rng)[0]
        vectors.append(SparseVector(rest[end.support], end.loadings))
        rest = np.setdiff1d(rest, vectors[-1].support)
    return vectors


def sequential_start(A: Array, ks: list[int], choice: Choice, rng: np.random.Generator) -> list[SparseVector]:
    """Return components of which each is the best of A projected off the loadings of those before."""
    rest, vectors, basis = A, [], np.zeros((len(A), 0))
    nothing = budgets.NO_VARIANCE_EPS * np.finfo(float).eps * float(np.trace(A))
    for k in ks:
        varying = choice.features[rest.diagonal()[choice.features] > nothing]
        if len(varying) and choice.among(varying).most >= k:
            end = search(rest[np.ix_(varying, varying)], k, choice.among(varying), known=[], rng=rng)[0]
            vectors.append(SparseVector(varying[end.support], end.loadings))
        else:  # the rank is exhausted: any features will do
            vectors.append(truncated(np.sqrt(A.diagonal()), k, choice))
        x = np.zeros(len(A))
        x[vectors[-1].support] = vectors[-1].loadings
        x -= basis @ (basis.T @ x)
        if np.linalg.norm(x) > np.finfo(float).eps ** 0.5:
            q = x / np.linalg.norm(x)
            basis, image = np.column_stack([basis, q]), rest @ q
            rest = rest - np.outer(image, q) - np.outer(q, image) + (q @ image) * np.outer(q, q)
    return vectors
