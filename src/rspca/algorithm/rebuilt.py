"""Supports whose scores rebuild X best: ascent on the share of X that a regression on the scores explains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array, Report
from rspca.operators.base import OperatorMixin


class _State(NamedTuple):
    """Sparse loadings V (columns), and how well X is rebuilt from the scores XV."""

    loadings: Array
    basis: Array
    """Q, orthonormal columns that span the scores."""
    coefficients: Array
    """C', so that XVC is the regression of X on the scores."""
    rebuilt: float
    """|QQ'X|^2."""


def rebuilding_supports(op: OperatorMixin, weights: Array, ks: list[int], report: Report) -> list[Array]:
    """Return k features for each row of weights >= 0: X is rebuilt from the scores at least as from the k largest.

    Projected gradient steps with hard thresholds maximize |P X|^2, P the projection on the scores XV. Its gradient is
    2 X'(I - P)XC', C the coefficients of the regression of X on the scores. Only features with a weight are chosen.
    """
    allowed = weights.T > 0.0
    state = _state(op, _thresholded(weights.T, ks))
    step = budgets.REBUILT_FIRST_STEP / max(float(op.sq_norms.max()), np.finfo(float).tiny)
    for number in range(budgets.REBUILT_STEPS):
        images = _product(op.matmat(state.coefficients))
        unexplained = images - state.basis @ (state.basis.T @ images)
        gradient = np.where(allowed, _product(op.rmatmat(unexplained)), 0.0)
        for _ in range(budgets.REBUILT_HALVINGS):
            moved = np.where(allowed, np.maximum(state.loadings + step * gradient, 0.0), 0.0)
            candidate = _state(op, _thresholded(moved, ks))
            if candidate.rebuilt > state.rebuilt:
                break
            step /= budgets.REBUILT_STEP_FALLS
        else:
            break
        state, step = candidate, budgets.REBUILT_STEP_GROWS * step
        report("rebuilt", number, state.rebuilt)
    return [np.flatnonzero(v) for v in state.loadings.T]


def _state(op: OperatorMixin, loadings: Array) -> _State:
    """Return the regression of X on the scores of these loadings."""
    scores = _product(op.matmat(loadings))
    values, turn = np.linalg.eigh(scores.T @ scores)
    used = values > budgets.NO_VARIANCE_EPS * np.finfo(op.dtype).eps * max(float(values[-1]), 0.0)
    turn = turn[:, used] / np.sqrt(values[used])
    basis = scores @ turn
    images = _product(op.rmatmat(basis))
    return _State(loadings, basis, images @ turn.T, float(np.sum(images**2)))


def _thresholded(columns: Array, ks: list[int]) -> Array:
    """Return the k largest entries of each column, of unit length."""
    out = np.zeros_like(columns)
    for j, k in enumerate(ks):
        column = columns[:, j]
        largest = np.argsort(-column, kind="stable")[:k]
        out[largest, j] = column[largest]
        length = float(np.linalg.norm(out[:, j]))
        out[:, j] /= length if length > 0.0 else 1.0
    return out


def _product(values: Array) -> Array:
    return np.asarray(values, dtype=np.float64)
