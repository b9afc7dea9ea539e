"""Variance that sparse components explain, in five definitions; none of them suits all uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from rspca.base.types import Array
from rspca.linalg.eigen import GramProducts, leading_pairs
from rspca.linalg.vectors import nonzeros, unit


class Scored(GramProducts, Protocol):
    """What explained variance needs of X; every operator has it."""

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings, accumulated in float64."""

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""


def scores_of(op: Scored, V: Array) -> Array:
    """Return X V in float64 for the rows v of V, reading only the columns that each of them uses."""
    supports = [nonzeros(v) for v in V]
    return np.column_stack([op.scores(support, v[support]) for support, v in zip(supports, V, strict=True)])


def adjusted(op: Scored, V: Array) -> Array:
    """R_jj^2 of the QR of the scores (Zou, Hastie, Tibshirani 2006): what each component adds to those before it."""
    return added_squares(scores_of(op, V))


def added_squares(columns: Array) -> Array:
    """Return the squared length of what each column adds to the span of those before it."""
    return np.sum(gram_schmidt(columns)[1] ** 2, axis=0)


def subspace(op: Scored, V: Array) -> Array:
    """Added |X V(V'V)^-1 V'|_F^2 (Shen, Huang 2008): variance of the projection on the span; never decreases."""
    directions = gram_schmidt(np.column_stack([unit(v) if v.any() else v for v in V]))[0]
    return np.array([float(np.sum(np.square(_scores(op, q)))) for q in directions.T])


def gram_schmidt(columns: Array) -> tuple[Array, Array]:
    """Return the unit direction that each column adds to those before it, and its part along it; zero if none."""
    directions, parts = np.zeros_like(columns), np.zeros_like(columns)
    for j in range(columns.shape[1]):
        new = columns[:, j]
        for _ in range(2):
            new = new - directions[:, :j] @ (directions[:, :j].T @ new)
        size = float(np.linalg.norm(new))
        if size > 1e-10 * float(np.linalg.norm(columns[:, j])):
            directions[:, j], parts[:, j] = new / size, new
    return directions, parts


def reconstruction(op: Scored, V: Array) -> Array:
    """Added |P X|_F^2, P the projection on the scores XV: what the scores explain of X by least squares."""
    directions = gram_schmidt(scores_of(op, V))[0]
    return np.sum(np.square(np.asarray(op.rmatmat(directions), dtype=np.float64)), axis=0)


def total(op: Scored, V: Array) -> Array:
    """v'Av of each component. The sum counts shared variance more than once, and can exceed the total."""
    return np.sum(scores_of(op, V) ** 2, axis=0)


def pca_share(op: Scored, V: Array) -> Array:
    """v_j'Av_j over the sum of the r leading eigenvalues: the share of what r dense components have."""
    largest = float(leading_pairs(op, len(V), tol=1e-7).values.sum())
    if largest == 0.0:
        raise ValueError("X has no variance: every column is constant, so there is nothing to take a share of.")
    return total(op, V) / largest


def _scores(op: Scored, v: Array) -> Array:
    support = nonzeros(v)
    return op.scores(support, v[support])


DEFINITIONS: dict[str, Callable[[Scored, Array], Array]] = {
    "adjusted": adjusted,
    "subspace": subspace,
    "reconstruction": reconstruction,
    "sum": total,
    "pca_share": pca_share,
}


def cosines(columns: Array) -> Array:
    """Return the cosine between every two columns; of centered columns it is their correlation."""
    lengths = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(lengths > 0.0, lengths, 1.0)
    return unit.T @ unit


def largest_cosine(columns: Array) -> float:
    """Return the largest |cosine| between two columns: how far they are from orthogonal."""
    if columns.shape[1] == 1:
        return 0.0
    sizes = np.abs(cosines(columns))
    np.fill_diagonal(sizes, 0.0)
    return float(sizes.max(initial=0.0))
