"""Sets of sparse vectors from which searches for several components start: rotations of the leading directions."""

from __future__ import annotations

import numpy as np

from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.task import SparseVector
from rspca.algorithm.loop import numerical_rank
from rspca.base.types import Array
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.varimax import varimax
from rspca.linalg.vectors import unit
from rspca.operators.base import OperatorMixin

LENGTHS = (0.5, 0.0)
"""Powers of the eigenvalues: lengths of the leading components before a rotation, as in Jolliffe (1995)."""


def leading_directions(op: OperatorMixin, count: int) -> tuple[Array, Array]:
    """Return up to `count` leading eigenvalues of X'X that are more than rounding, and their vectors as columns."""
    pairs = leading_pairs(op, count, tol=1e-6)
    rank = max(1, numerical_rank(pairs.values, op))
    return pairs.values[:rank], pairs.vectors[:, :rank]


def varimax_starts(
    values: Array, vectors: Array, ks: list[int], choice: Choice, *, nonnegative: bool = False
) -> list[list[SparseVector]]:
    """Return the k largest entries of varimax rotations of the r leading directions, and of one or two more of them.

    A rotation of more directions than components gives more columns than are needed: those of most variance are taken.
    There is no start where there are fewer directions than components.
    """
    starts = []
    for count in range(len(ks), min(len(ks) + 3, len(values) + 1)):
        for power in LENGTHS:
            loadings = vectors[:, :count] * values[:count] ** power
            weights = values[:count, None] ** power * varimax(loadings)[0]
            starts.append(truncated_rotation(values[:count], vectors[:, :count], weights, ks, choice, nonnegative))
    return starts


def random_starts(
    values: Array,
    vectors: Array,
    ks: list[int],
    choice: Choice,
    *,
    count: int,
    rng: np.random.Generator,
    nonnegative: bool = False,
) -> list[list[SparseVector]]:
    """Return the k largest entries of random rotations of the leading directions."""
    starts = []
    for _ in range(count if len(values) >= len(ks) else 0):
        turn = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
        weights = np.sqrt(values)[:, None] * turn
        starts.append(truncated_rotation(values, vectors, weights, ks, choice, nonnegative))
    return starts


def truncated_rotation(
    values: Array, vectors: Array, weights: Array, ks: list[int], choice: Choice, nonnegative: bool
) -> list[SparseVector]:
    """Return the k largest entries of combinations of leading directions, those of most variance first."""
    variances = values @ weights**2 / np.maximum(np.sum(weights**2, axis=0), np.finfo(float).tiny)
    rotated = vectors @ weights[:, np.argsort(-variances, kind="stable")[: len(ks)]]
    return [truncated(x, k, choice, nonnegative=nonnegative) for k, x in zip(ks, rotated.T, strict=True)]


def truncated(x: Array, k: int, choice: Choice, *, nonnegative: bool = False) -> SparseVector:
    """Return the k largest entries of x that may be chosen, of unit length; of its larger side if none is negative."""
    if nonnegative:
        positive, negative = np.maximum(x, 0.0), np.maximum(-x, 0.0)
        x = positive if positive @ positive >= negative @ negative else negative
    support = choice.largest(x, min(k, choice.most))
    loadings = x[support]
    if not loadings.any():
        loadings = np.ones(len(support))
    return SparseVector(support, unit(loadings))
