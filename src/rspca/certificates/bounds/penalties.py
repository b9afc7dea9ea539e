"""Penalties of the duals in the space of scores: what a feature must exceed to count, one number or one a group.

For values b_i that are not negative, rho >= 0 and s_g >= 0, let rho_i = max(rho, s_g) for i in group g. The sum of b_i
over a support of k features with at most `most` of each group is at most

    k rho + most sum_g (s_g - rho)_+ + sum_i (b_i - rho_i)_+,

because sum_S rho_i = k rho + sum_g |S in g| (s_g - rho)_+. (It is linear programming duality for the polytope of the
partition matroid, so equality is reached.) Without groups it is k rho + sum_i (b_i - rho)_+. The duals replace b_i by
(x_i'w)^2 and the positive parts by matrices Y_i >= x_i x_i' - rho_i I, one feature at a time: their proofs are the same
with rho_i in place of rho, and with `total` in place of k rho.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates.bounds.limits import EPS, GroupLimits


class Penalty(NamedTuple):
    """The penalty of each feature, and what k features pay at most for all of theirs."""

    each: Array
    """rho_i, the same for all without groups."""
    total: float
    """k rho + most sum_g (s_g - rho)_+, raised by its own rounding."""


def penalty(rho: float, n: int, k: int, limits: GroupLimits | None = None, levels: Array | None = None) -> Penalty:
    """Return the penalty of rho and, with groups, of the levels s_g; any numbers that are not negative are valid."""
    if limits is None or levels is None:
        return Penalty(np.full(n, rho), k * rho * (1.0 + 4.0 * EPS))
    excess = np.maximum(levels - rho, 0.0)
    total = k * rho + limits.most * float(excess.sum())
    return Penalty(np.maximum(rho, levels)[limits.labels], total * (1.0 + (len(levels) + 8) * EPS))


def penalty_at(values: Array, k: int, factor: float, limits: GroupLimits | None) -> Penalty:
    """Return `factor` times the least of the k largest values that are allowed, and of the largest of each group."""
    n = len(values)
    if limits is None:
        return penalty(factor * float(np.partition(values, n - k)[n - k]), n, k)
    chosen = limits.top(values, k)
    rho, levels = factor * float(values[chosen].min()), np.zeros(len(limits.sizes))
    for place in np.flatnonzero(np.bincount(limits.labels[chosen], minlength=len(levels)) == limits.most):
        levels[place] = factor * float(values[chosen][limits.labels[chosen] == place].min())
    return penalty(rho, n, k, limits, levels)


def separating_penalties(squares: Array, support: Array, count: int) -> Array:
    """Return values of rho between the largest (x_i'u)^2 outside the support and the smallest inside, if any."""
    inside = np.zeros(len(squares), dtype=bool)
    inside[support] = True
    low, high = float(squares[~inside].max(initial=0.0)), float(squares[inside].min())
    if low >= high and not inside.all():
        return np.empty(0)
    return low + (np.arange(count) + 0.5) / count * (high - low)


def separating(squares: Array, support: Array, k: int, count: int, limits: GroupLimits | None) -> list[Penalty]:
    """Return penalties for k features that separate the support from all others, if there are any, the middle first.

    With groups, a feature outside whose group is full must be below s_g only, and others below rho.
    """
    n, middle_first = len(squares), np.argsort(np.abs(np.arange(count) - count // 2), kind="stable")
    if limits is None:
        found = separating_penalties(squares, support, count)
        return [penalty(float(found[i]), n, k) for i in middle_first[: len(found)]]
    inside = np.zeros(n, dtype=bool)
    inside[support] = True
    is_full = np.bincount(limits.labels[support], minlength=len(limits.sizes)) >= limits.most
    low, high = np.zeros(len(is_full)), np.full(len(is_full), np.inf)
    np.maximum.at(low, limits.labels[~inside], squares[~inside])
    np.minimum.at(high, limits.labels[inside], squares[inside])
    rho_low, rho_high = float(low[~is_full].max(initial=0.0)), float(squares[inside].min())
    if rho_low >= rho_high or (is_full & (low >= high)).any():
        return []
    low, high = np.where(is_full, low, 0.0), np.where(is_full, high, 0.0)
    shares = (middle_first + 0.5) / count
    return [
        penalty(rho_low + share * (rho_high - rho_low), n, k, limits, low + share * (high - low)) for share in shares
    ]
