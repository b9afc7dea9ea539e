"""Sums of largest entries and of largest eigenvalues, smoothed: what duals are optimized by, never what is reported."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import scipy  # its submodules are loaded when they are first used

from rspca.base.types import Array
from rspca.certificates import budgets

Objective = Callable[[Array], tuple[float, Array]]


class SmoothSum(NamedTuple):
    """A smoothed sum of the largest entries of each row, at least that sum, and its gradient."""

    values: Array
    weights: Array
    """Between 0 and 1, with the same sum in each row: the gradient."""


def smooth_top_sums(rows: Array, k: int, width: float) -> SmoothSum:
    """Return max over 0 <= p <= 1, sum p = k of p'a - width/2 |p|^2, plus width k/2, for each row a.

    It is at least T_k(a), because its p may be the indicator of the k largest entries, and at most T_k(a) + width k/2.
    """
    n = rows.shape[-1]
    if k >= n:
        return SmoothSum(rows.sum(axis=-1), np.ones_like(rows))
    scaled = rows / width
    kept = min(n, budgets.SMOOTHED_ENTRIES * k + budgets.SMOOTHED_ENTRIES)
    largest = scaled if kept == n else np.partition(scaled, n - kept, axis=-1)[..., n - kept :]
    levels = _levels(largest, k)
    if kept < n and not (largest.min(axis=-1) <= levels).all():
        levels = _levels(scaled, k)
    weights = np.clip(scaled - levels[..., None], 0.0, 1.0)
    values = np.sum(rows * weights, axis=-1) - 0.5 * width * np.sum(weights**2, axis=-1) + 0.5 * width * k
    return SmoothSum(values, weights)


def smooth_ky_fan(values: Array, r: int, width: float) -> tuple[float, Array]:
    """Return the smoothed sum of the r largest eigenvalues, and the weight of each of them in its gradient."""
    smooth = smooth_top_sums(values[None], r, width)
    return float(smooth.values[0]), smooth.weights[0]


def _levels(scaled: Array, k: int) -> Array:
    """Return the level of each row above which clipped entries sum to k, by bisection."""
    low, high = scaled.min(axis=-1) - 1.0, scaled.max(axis=-1)
    for _ in range(budgets.SMOOTHED_BISECTIONS):
        middle = 0.5 * (low + high)
        above = np.clip(scaled - middle[..., None], 0.0, 1.0).sum(axis=-1) > k
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(high)


class _OutOfTimeError(Exception):
    """The clock ran out inside an objective."""


class _Best:
    """The best point so far."""

    def __init__(self, point: Array) -> None:
        self.value, self.point = np.inf, point


def descended(objective: Objective, start: Array, steps: int, out_of_time: Callable[[], bool]) -> Array:
    """Return the best point that L-BFGS reaches from `start` in so many steps, or until the clock runs out."""
    best = _Best(start)

    def watched(point: Array) -> tuple[float, Array]:
        if np.isfinite(best.value) and out_of_time():
            raise _OutOfTimeError
        value, gradient = objective(point)
        if value < best.value:
            best.value, best.point = value, point.copy()
        return value, gradient

    with suppress(_OutOfTimeError):
        scipy.optimize.minimize(watched, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return best.point
