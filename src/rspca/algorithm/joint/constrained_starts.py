"""Starts of constrained searches that are found one after another: disjoint supports, and orthogonal to those before."""

from __future__ import annotations

import numpy as np

from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import search
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
    features = choice.features
    rest, among, vectors, basis = A[np.ix_(features, features)], choice.among(features), [], np.zeros((len(features), 0))
    for k in ks:
        end = search(rest, min(k, among.most), among, known=[], rng=rng)[0]
        vectors.append(SparseVector(features[end.support], end.loadings))
        x = np.zeros(len(features))
        x[end.support] = end.loadings
        x -= basis @ (basis.T @ x)
        if np.linalg.norm(x) > np.finfo(float).eps ** 0.5:
            q = x / np.linalg.norm(x)
            basis, image = np.column_stack([basis, q]), rest @ q
            rest = rest - np.outer(image, q) - np.outer(q, image) + (q @ image) * np.outer(q, q)
    return vectors
