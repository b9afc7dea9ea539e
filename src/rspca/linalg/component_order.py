"""The order of components in which their adjusted variance is largest, from the products of their scores."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.linalg.vectors import TIED

EXACT_COMPONENTS = 12
"""Components up to which the order is exact: all 2^12 subsets take 10 ms (benchmarks/joint.py)."""
NOTHING_LEFT = 1e-12
"""Arithmetic: share of a variance, below the rounding of its elimination, that counts as explained by others."""


def adjusted(M: Array, order: Array | None = None) -> Array:
    """Return what each component, in this order, adds to those before it: the pivots of M = V'X'XV.

    They are the squared diagonal of R in the QR decomposition of the scores (Zou, Hastie, Tibshirani 2006).
    """
    left = np.array(M, dtype=np.float64) if order is None else np.asarray(M, dtype=np.float64)[np.ix_(order, order)]
    least, added = NOTHING_LEFT * np.diagonal(left), np.zeros(len(left))
    for place, pivot in enumerate(np.diagonal(left)):  # a view: pivots are read after earlier eliminations
        if pivot > least[place]:
            added[place] = pivot
            row = left[place, place + 1 :]
            left[place + 1 :, place + 1 :] -= np.multiply.outer(row / pivot, row)
    return added


def best_order(M: Array, sizes: list[int] | None = None) -> Array:
    """Return the order of largest adjusted variance; of orders that tie, the one nearest to the given.

    Dynamic programming over subsets finds it for few components; for more, a pivoted Cholesky decomposition does, which
    exchanges of two places improve. With `sizes`, a component takes only places of components of its size.
    """
    labels = np.zeros(len(M), dtype=np.intp) if sizes is None else np.asarray(sizes)
    return _exact_order(M, labels) if len(M) <= EXACT_COMPONENTS else _improved_order(M, labels)


class _Level(NamedTuple):
    """Subsets of one size: as bit masks, their lowest component, and the subset without it."""

    masks: Array
    lowest: Array
    without_lowest: Array


@lru_cache(maxsize=EXACT_COMPONENTS)
def _levels(r: int) -> list[_Level]:
    masks = np.arange(1 << r)
    counts = ((masks[:, None] >> np.arange(r)) & 1).sum(axis=1)
    levels = []
    for size in range(r):
        some = masks[counts == size]
        low = some & -some
        lowest = np.frexp(low.astype(np.float64))[1] - 1 if size else np.zeros(1, dtype=np.intp)
        levels.append(_Level(some, lowest, some ^ low))
    return levels


def _exact_order(M: Array, labels: Array) -> Array:
    """Return the best order: the best value of each subset is that of one component less, plus what the last adds."""
    r, least = len(M), NOTHING_LEFT * np.diagonal(M)
    left = np.empty((1 << r, r, r))  # what each subset leaves of M
    left[0] = M
    values, last = np.full(1 << r, -np.inf), np.zeros(1 << r, dtype=np.intp)
    values[0] = 0.0
    rounding = TIED * float(np.trace(M))
    for place, level in enumerate(_levels(r)):
        if place:
            before = left[level.without_lowest]
            rows = before[np.arange(len(before)), level.lowest]
            pivots = rows[np.arange(len(rows)), level.lowest]
            inverse = np.where(pivots > least[level.lowest], 1.0 / np.where(pivots > 0.0, pivots, 1.0), 0.0)
            left[level.masks] = before - (rows * inverse[:, None])[:, :, None] * rows[:, None, :]
        added = left[level.masks][:, np.arange(r), np.arange(r)]
        added[added <= least] = 0.0
        for component in np.flatnonzero(labels == labels[place]):
            smaller = (level.masks >> component & 1) == 0
            larger = level.masks[smaller] | 1 << component
            reached = values[level.masks[smaller]] + added[smaller, component]
            better = reached >= values[larger] - rounding  # a tie goes to the higher component, which stays behind
            last[larger[better]] = component
            values[larger[better]] = np.maximum(reached[better], values[larger[better]])
    mask, order = (1 << r) - 1, np.empty(r, dtype=np.intp)
    for place in reversed(range(r)):
        order[place] = last[mask]
        mask ^= 1 << int(last[mask])
    return order


def _improved_order(M: Array, labels: Array) -> Array:
    """Return an order by pivots, improved by exchanges of two components until none gains; never below the given."""
    given = np.arange(len(M))
    order, left = given.copy(), np.array(M, dtype=np.float64)
    free = np.ones(len(M), dtype=bool)
    for place in given:
        allowed = np.flatnonzero(free & (labels == labels[place]))
        chosen = allowed[int(np.argmax(np.diagonal(left)[allowed]))]
        order[place], free[chosen] = chosen, False
        if left[chosen, chosen] > NOTHING_LEFT * M[chosen, chosen]:
            left -= np.multiply.outer(left[chosen] / left[chosen, chosen], left[chosen])
    rounding = TIED * float(np.trace(M))
    value = float(adjusted(M, order).sum())
    if value <= float(adjusted(M).sum()) + rounding:
        order, value = given.copy(), float(adjusted(M).sum())
    improving = True
    while improving:
        improving = False
        for first in range(len(M)):
            for second in np.flatnonzero(labels[first + 1 :] == labels[first]) + first + 1:
                other = order.copy()
                other[[first, second]] = order[[second, first]]
                reached = float(adjusted(M, other).sum())
                if reached > value + rounding:
                    order, value, improving = other, reached, True
    return order
