"""A penalty that leaves k non-zeros, by bisection: for the methods that are steered by a penalty, not by k."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array

STEPS = 24
"""Halvings of the interval of the penalty: beyond them a jump over k counts as one."""


class Solved(NamedTuple):
    """The sparse vector that a method finds for one value of its penalty."""

    x: Array
    n_iter: int
    converged: bool


def closest_from_above(solve: Callable[[float], Solved], k: int, dense: float, sparse: float) -> Solved:
    """Return the solution with k non-zeros, or with as few more as bisection finds; n_iter counts all iterations.

    `dense` and `sparse` are the penalties with the most and the fewest non-zeros. The number of non-zeros need not
    be monotone in between, and it may jump over k: then the caller keeps the k largest entries.
    """
    last = solve(sparse)
    spent, best = last.n_iter, last if np.count_nonzero(last.x) >= k else None
    high = dense
    for _ in range(STEPS if best is None else 0):
        penalty = 0.5 * (dense + sparse)
        last = solve(penalty)
        spent, count = spent + last.n_iter, np.count_nonzero(last.x)
        if count < k:
            sparse = penalty
            continue
        dense = penalty
        if best is None or count <= np.count_nonzero(best.x):
            best = last
        if count == k:
            break
    if best is None:
        best = solve(high)
        spent += best.n_iter
    return best._replace(n_iter=spent)
