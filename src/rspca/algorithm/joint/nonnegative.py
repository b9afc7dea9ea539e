"""One component with loadings that are not negative: local maxima of its variance, and single swaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.polish import Polished
from rspca.base.types import Array
from rspca.linalg.vectors import TIED, unit
from rspca.operators.base import OperatorMixin


def nonnegative_by_power_steps(
    multiply: Callable[[Array], Array], start: Array, *, tol: float = budgets.JOINT_REFIT_TOL
) -> tuple[float, Array]:
    """Return a local maximum of v'Av over unit v >= 0, A positive semidefinite, by power steps that never lose.

    By convexity v'Av >= 2 v'Ax - x'Ax, and the positive part of Ax, scaled, maximizes the right side over v >= 0.
    `multiply` returns Av.
    """
    v = np.maximum(start, 0.0)
    v = unit(v) if v.any() else np.full(len(v), len(v) ** -0.5)
    image = multiply(v)
    value = float(v @ image)
    for _ in range(budgets.NONNEGATIVE_STEPS):
        step = np.maximum(image, 0.0)
        if not step.any():
            break
        step = unit(step)
        image = multiply(step)
        gain = float(step @ image) - value
        if gain <= 0.0:
            break
        v, value = step, value + gain
        if gain <= tol * value:
            break
    return value, v


def nonnegative_swaps(op: OperatorMixin, start: Polished, gradient: Array, choice: Choice) -> Polished:
    """Swap one of the features of smallest loading for a promising one while that gains variance."""
    best = start
    for _ in range(budgets.SWAPS_MAX):
        better = _best_swap(op, best, gradient, choice)
        if better is None:
            return best
        best = better
        gradient = op.gradient(op.restrict(best.support), best.support, best.loadings)
    return best


def _best_swap(op: OperatorMixin, end: Polished, gradient: Array, choice: Choice) -> Polished | None:
    """Return the most promising of a few swaps if it gains variance; a few power steps of all of them compare them."""
    support, value, k = end.support, end.variance, len(end.support)
    outside = np.setdiff1d(choice.features, support, assume_unique=True)
    slack = np.maximum(value - op.sq_norms[outside], budgets.GROWTH_MIN_DENOMINATOR * value)
    worth = np.maximum(gradient[outside], 0.0) ** 2 / np.maximum(slack, np.finfo(float).tiny)
    joining = outside[np.argsort(-worth, kind="stable")[: budgets.SWAP_TRIES]]
    leaving = np.argsort(end.loadings, kind="stable")[: budgets.NONNEGATIVE_LEAVING]
    allowed = np.broadcast_to(choice.allowed_swaps(support, joining), (k, len(joining)))[leaving]
    rows, columns = allowed.nonzero()
    if not len(rows):
        return None
    features = np.concatenate([support, joining])
    A, places = op.gram_block(features), np.tile(np.arange(k), (len(rows), 1))
    swapped = np.arange(len(rows)), leaving[rows]
    places[swapped] = k + columns
    v = np.tile(end.loadings, (len(rows), 1))
    v[swapped] = np.maximum(v[swapped], float(end.loadings.mean()))
    matrices = A[places[:, :, None], places[:, None, :]]
    for _ in range(budgets.SEARCH_POWER_STEPS):
        v = np.maximum(np.einsum("bij,bj->bi", matrices, v), 0.0)
        lengths = np.linalg.norm(v, axis=1, keepdims=True)
        v /= np.where(lengths > 0.0, lengths, 1.0)
    best = int(np.argmax(np.einsum("bi,bij,bj->b", v, matrices, v)))
    reached, loadings = nonnegative_by_power_steps(matrices[best].__matmul__, v[best])
    if reached <= (1.0 + TIED) * value:
        return None
    proposed = features[places[best]]
    order = np.argsort(proposed)
    return Polished(proposed[order], loadings[order], reached, end.n_iter + 1, None)
