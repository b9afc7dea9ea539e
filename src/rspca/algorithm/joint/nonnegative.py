"""One component with loadings that are not negative: local maxima of its variance, and single swaps."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.polish import Polished
from rspca.base.types import Array
from rspca.linalg.vectors import TIED, unit
from rspca.operators.base import OperatorMixin


def nonnegative_maximum(A: Array, start: Array) -> tuple[float, Array]:
    """Return a local maximum of v'Av over unit v >= 0, A positive semidefinite, by power steps that never lose.

    By convexity v'Av >= 2 v'Ax - x'Ax, and the positive part of Ax, scaled, maximizes the right side over v >= 0.
    """
    v = np.maximum(start, 0.0)
    v = unit(v) if v.any() else np.full(len(v), len(v) ** -0.5)
    image = A @ v
    value = float(v @ image)
    for _ in range(budgets.NONNEGATIVE_STEPS):
        step = np.maximum(image, 0.0)
        if not step.any():
            break
        step = unit(step)
        image = A @ step
        gain = float(step @ image) - value
        if gain <= 0.0:
            break
        v, value = step, value + gain
        if gain <= budgets.JOINT_REFIT_TOL * value:
            break
    return value, v


def nonnegative_swaps(op: OperatorMixin, start: Polished, gradient: Array, choice: Choice) -> Polished:
    """Swap the feature that contributes least for a promising one while that gains variance."""
    best = start
    for _ in range(budgets.SWAPS_MAX):
        better = _best_swap(op, best, gradient, choice)
        if better is None:
            return best
        best = better
        gradient = op.gradient(op.restrict(best.support), best.support, best.loadings)
    return best


def _best_swap(op: OperatorMixin, end: Polished, gradient: Array, choice: Choice) -> Polished | None:
    """Return the best of a few promising swaps if it gains variance."""
    support, value = end.support, end.variance
    outside = np.setdiff1d(choice.features, support, assume_unique=True)
    slack = np.maximum(value - op.sq_norms[outside], budgets.GROWTH_MIN_DENOMINATOR * value)
    worth = np.maximum(gradient[outside], 0.0) ** 2 / np.maximum(slack, np.finfo(float).tiny)
    joining = outside[np.argsort(-worth, kind="stable")[: budgets.SWAP_TRIES]]
    leaving = np.argsort(end.loadings, kind="stable")[: budgets.NONNEGATIVE_LEAVING]
    features = np.concatenate([support, joining])
    A = op.gram_block(features)
    best = None
    allowed = np.broadcast_to(choice.allowed_swaps(support, joining), (len(support), len(joining)))
    for place in leaving:
        for number in np.flatnonzero(allowed[place]):
            some = np.arange(len(support))
            some[place] = len(support) + number
            start = np.append(end.loadings, np.zeros(len(joining)))[some]
            start[place] = max(float(end.loadings[place]), float(end.loadings.mean()))
            reached, loadings = nonnegative_maximum(A[np.ix_(some, some)], start)
            if reached > (1.0 + TIED) * max(value, 0.0 if best is None else best.variance):
                order = np.argsort(features[some])
                best = Polished(features[some][order], loadings[order], reached, end.n_iter + 1, None)
    return best
