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
    return eliminated(M if order is None else np.asarray(M)[np.ix_(order, order)])[0]


def eliminated(M: Array) -> tuple[Array, Array]:
    """Return d and the unit upper triangular U of M = U' diag(d) U; where nothing is left of a component, d is zero."""
    try:
        lower = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return _eliminated_singular(M)
    lengths = lower.diagonal()
    added = lengths * lengths
    if np.any(added <= NOTHING_LEFT * np.diagonal(M)):
        return _eliminated_singular(M)
    return added, lower.T / lengths[:, None]


def _eliminated_singular(M: Array) -> tuple[Array, Array]:
    left, unit_upper = np.array(M, dtype=np.float64), np.eye(len(M))
    least, added = NOTHING_LEFT * np.diagonal(left), np.zeros(len(left))
    for place in range(len(left)):
        pivot = left[place, place]
        if pivot > least[place]:
            added[place] = pivot
            row = left[place, place + 1 :]
            unit_upper[place, place + 1 :] = row / pivot
            left[place + 1 :, place + 1 :] -= np.multiply.outer(unit_upper[place, place + 1 :], row)
    return added, unit_upper


def best_order(M: Array, sizes: list[int] | None = None) -> Array:
    """Return the order of largest adjusted variance; of orders that tie, the one nearest to the given.

    Dynamic programming over subsets finds it for few components; for more, a pivoted Cholesky decomposition does, which
    exchanges of two places improve. With `sizes`, a component takes only places of components of its size.
    """
    labels = np.zeros(len(M), dtype=np.intp) if sizes is None else np.asarray(sizes)
    return _exact_order(M, labels) if len(M) <= EXACT_COMPONENTS else _improved_order(M, labels)


class _Level(NamedTuple):
    """Subsets of one size as bit masks, their components, and the subset without each of these."""

    masks: Array
    members: Array
    without: Array


@lru_cache(maxsize=EXACT_COMPONENTS)
def _levels(r: int) -> list[_Level]:
    masks = np.arange(1 << r)
    inside = ((masks[:, None] >> np.arange(r)) & 1) == 1
    levels = []
    for size in range(1, r + 1):
        subsets = masks[inside.sum(axis=1) == size]
        members = inside[subsets].nonzero()[1].reshape(len(subsets), size)
        levels.append(_Level(subsets, members, subsets[:, None] ^ (1 << members)))
    return levels


def _exact_order(M: Array, labels: Array) -> Array:
    """Return the best order: the best value of each subset is that of one component less, plus what the last adds."""
    r, least = len(M), NOTHING_LEFT * np.diagonal(M)
    left = np.empty((1 << r, r, r))  # what each subset leaves of M
    left[0] = M
    values, last = np.zeros(1 << r), np.zeros(1 << r, dtype=np.intp)
    rounding = TIED * float(np.trace(M))
    for place, (masks, members, without) in enumerate(_levels(r)):
        added = left[without, members, members]
        reached = values[without] + np.where(added > least[members], added, 0.0)
        reached[labels[members] != labels[place]] = -np.inf
        values[masks] = most = reached.max(axis=1)
        # a tie goes to the highest component, which stays behind the others
        tied = (reached >= most[:, None] - rounding)[:, ::-1]
        last[masks] = members[np.arange(len(masks)), place - np.argmax(tied, axis=1)]
        if place + 1 < r:
            eliminated_one, before = members[:, 0], left[without[:, 0]]
            rows = before[np.arange(len(masks)), eliminated_one]
            pivots = added[:, 0]
            divisor = np.where(pivots > least[eliminated_one], pivots, np.inf)
            left[masks] = before - (rows / divisor[:, None])[:, :, None] * rows[:, None, :]
    mask, order = (1 << r) - 1, np.empty(r, dtype=np.intp)
    for place in reversed(range(r)):
        order[place] = last[mask]
        mask ^= 1 << int(last[mask])
    return order


def _improved_order(M: Array, labels: Array) -> Array:
    """Return an order by pivots, improved by exchanges of two components until none gains; never below the given."""
    stored = np.arange(len(M))
    order, left = stored.copy(), np.array(M, dtype=np.float64)
    free = np.ones(len(M), dtype=bool)
    for place in stored:
        allowed = np.flatnonzero(free & (labels == labels[place]))
        chosen = allowed[int(np.argmax(np.diagonal(left)[allowed]))]
        order[place], free[chosen] = chosen, False
        if left[chosen, chosen] > NOTHING_LEFT * M[chosen, chosen]:
            left -= np.multiply.outer(left[chosen] / left[chosen, chosen], left[chosen])
    rounding = TIED * float(np.trace(M))
    value = float(adjusted(M, order).sum())
    if value <= float(adjusted(M).sum()) + rounding:
        order, value = stored.copy(), float(adjusted(M).sum())
    improving = True
    while improving:
        improving = False
        for first in range(len(M)):
            for second in np.flatnonzero(labels[first + 1 :] == labels[first]) + first + 1:
                other = order.copy()
                other[first], other[second] = order[second], order[first]
                reached = float(adjusted(M, other).sum())
                if reached > value + rounding:
                    order, value, improving = other, reached, True
    return order
