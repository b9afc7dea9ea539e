"""Nonnegative factorization X ~ WH by products with X: hierarchical alternating least squares from a truncated SVD."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.loop import eligible_features, numerical_rank
from rspca.base.types import Array, Report
from rspca.operators.base import OperatorMixin


class Parts(NamedTuple):
    """A factorization."""

    weights: Array
    """H, one row per part, of unit length; no entry is negative."""
    n_iter: int
    converged: bool


def nonnegative_parts(op: OperatorMixin, count: int, rng: np.random.Generator, report: Report) -> Parts:
    """Return `count` parts of X, or fewer if nothing is left of X: W, H >= 0 with small |X - WH|.

    The start is NNDSVD (Boutsidis and Gallopoulos 2008), the steps are those of Cichocki and Phan (2009): each column
    of W, then each row of H, is the best one given the others.
    """
    H = _start(op, count, rng)
    W = np.zeros((op.shape[0], len(H)))
    total, before, n_iter, converged = float(op.sq_norms.sum()), np.inf, 0, False
    while n_iter < budgets.PARTS_STEPS and not converged:
        n_iter += 1
        _improve(W, _product(op.matmat(H.T)), H @ H.T)
        images, overlaps = _product(op.rmatmat(W)), W.T @ W
        columns = H.T.copy()
        _improve(columns, images, overlaps)
        H = columns.T
        error = total - 2.0 * float(np.sum(images * columns)) + float(np.sum(overlaps * (H @ H.T)))
        report("parts", n_iter, total - error)
        converged = before - error <= budgets.PARTS_TOL * max(total - error, 0.0)
        before = error
    H = np.where(np.isin(np.arange(op.shape[1]), eligible_features(op)), H, 0.0)
    return Parts(_without_empty(op, H, W), n_iter, converged)


def _improve(factor: Array, images: Array, overlaps: Array) -> None:
    """Replace each column of a factor in turn by the best nonnegative one, given the others."""
    for j in range(factor.shape[1]):
        if overlaps[j, j] > 0.0:
            step = (images[:, j] - factor @ overlaps[:, j]) / overlaps[j, j]
            np.maximum(factor[:, j] + step, 0.0, out=factor[:, j])


def _start(op: OperatorMixin, count: int, rng: np.random.Generator) -> Array:
    """Return the larger side of each leading right singular vector, by sign, as rows."""
    size = min(count + budgets.PARTS_MORE_DIRECTIONS, *op.shape)
    basis = rng.standard_normal((op.shape[1], size))
    for _ in range(budgets.PARTS_POWER_STEPS):
        basis = np.linalg.qr(_product(op.gram(basis)))[0]
    scores = _product(op.matmat(basis))
    values, turn = np.linalg.eigh(scores.T @ scores)
    leading = np.argsort(-values, kind="stable")[: min(count, numerical_rank(values, op))]
    vectors, scores = basis @ turn[:, leading], scores @ turn[:, leading]
    rows = []
    for v, t in zip(vectors.T, scores.T, strict=True):
        sides = [(np.maximum(sign * v, 0.0), np.maximum(sign * t, 0.0)) for sign in (1.0, -1.0)]
        rows.append(max(sides, key=lambda side: float(np.linalg.norm(side[0]) * np.linalg.norm(side[1])))[0])
    return np.array(rows).reshape(-1, op.shape[1])


def _without_empty(op: OperatorMixin, H: Array, W: Array) -> Array:
    """Return rows of unit length; an empty one becomes the feature that the others rebuild worst, if any is left."""
    images, overlaps = _product(op.rmatmat(W)), W.T @ W
    left = op.sq_norms - 2.0 * np.sum(images * H.T, axis=1) + np.sum((overlaps @ H) * H, axis=0)
    rows = []
    for row, weights in zip(H, W.T, strict=True):
        if row.any() and weights.any():
            rows.append(row / np.linalg.norm(row))
            continue
        feature = int(np.argmax(left))
        if left[feature] > budgets.NO_VARIANCE_EPS * np.finfo(op.dtype).eps * float(op.sq_norms.sum()):
            rows.append(np.eye(1, len(left), feature)[0])
            left[feature] = 0.0
    return np.array(rows).reshape(-1, op.shape[1])


def _product(values: Array) -> Array:
    return np.asarray(values, dtype=np.float64)
