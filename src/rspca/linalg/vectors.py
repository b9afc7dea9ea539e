"""Vector mathematics without data: thresholds, projections, the k largest entries, signs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rspca.base.types import Array

TIED = 1e-10
"""Arithmetic: relative difference up to which magnitudes count as equal; sums in float64 differ by less."""
TIED_LOADINGS = {np.dtype(np.float64): TIED, np.dtype(np.float32): 8.0 * float(np.finfo(np.float32).eps)}
"""Arithmetic: the same for loadings that were computed from data of this precision."""
SHORT, LONG = 1e-100, 1e100
"""Arithmetic: between these lengths, squares are far inside float range."""
NEARLY_TIED = 1e-3
"""Arithmetic: relative distance of a level to the largest magnitude below which three digits of it are lost."""
SAMPLE_VALUES = 512
"""Values of which one is usually below the k-th largest of many; n must be 8 times as large: benchmarks/budgets.py."""
ROW_BLOCKS_PER_K, ROW_BLOCK_MIN = 4, 4
"""Blocks of a row, as a multiple of k, whose maxima bound its k-th largest value, and the values that a block must
have: not tuned."""
COARSE_BLOCK = 2**16
"""Values that `coarse` rounds at a time: they stay in cache, and many take no more memory than their result."""
LEVEL_GUESSES = 6
"""Times that `l1_l2_maximizer` guesses its non-zeros before it uses all magnitudes: benchmarks/budgets.py."""


def top_k(values: Array, k: int) -> Array:
    """Return the sorted indices of the k largest values; ties go to the lowest index."""
    n = len(values)
    if k >= n:
        return np.arange(n)
    if k <= 0:
        return np.arange(0)
    among = above_sample(values, k)
    some = values if among is None else values[among]
    level = np.partition(some, len(some) - k)[len(some) - k]
    chosen = (some >= level).nonzero()[0]
    if len(chosen) > k:  # of those that tie, the first
        ties = (some[chosen] == level).nonzero()[0]
        chosen = np.delete(chosen, ties[k - len(chosen) :])
    return chosen if among is None else among[chosen]


def above_sample(values: Array, k: int) -> Array | None:
    """Return the sorted indices of values that have the k largest among them, ties included; None if that is no help.

    A value of a sample is usually below the k-th largest, and not far below it (Floyd, Rivest 1975). So most values are
    compared once, and few are partitioned.
    """
    n = len(values)
    if n < 8 * SAMPLE_VALUES:
        return None
    sample = np.sort(values[:: n // SAMPLE_VALUES])
    rank = k * len(sample) / n
    upper = math.ceil(rank + 3.0 * math.sqrt(rank) + 1.0)
    if upper >= len(sample):
        return None
    above = (values > sample[-upper]).nonzero()[0]
    return above if len(above) >= k else None


class LargeValues(NamedTuple):
    """Values of each row among which are its largest, in the order of their columns; short rows end with -inf."""

    values: Array
    columns: Array


def large_in_rows(values: Array, k: int, tied: float = 0.0) -> LargeValues:
    """Return the k largest values of each row, 1 <= k <= n, and others; with `tied`, all that are as close to them.

    Values that may tie must not be negative. For few of many this is several times as fast as partitioning the rows.
    """
    low = kth_largest_in_rows(row_maxima(values, k), k)
    rows, columns = at_least_in_rows(values, (1.0 - tied) * low if tied else low)
    place = places_in_rows(rows, len(values))
    large = spread_in_rows(values[rows, columns], place, -np.inf)
    return LargeValues(large, spread_in_rows(columns, place, 0))


def row_maxima(values: Array, k: int) -> Array:
    """Return the maxima of blocks of each row, some times k of them, or the values themselves if these are not many.

    Their k-th largest is a lower bound of the k-th largest value that not many other values reach.
    """
    blocks = ROW_BLOCKS_PER_K * k
    if values.shape[1] < ROW_BLOCK_MIN * blocks:
        return values
    while values.shape[1] >= ROW_BLOCK_MIN * blocks:  # each half of a row at once, which is fast for few blocks too
        half = values.shape[1] // 2
        values = np.maximum(values[:, :half], values[:, half : 2 * half])
    # entries of a block are a stride apart, so that maxima of neighboring blocks are taken at once
    width = values.shape[1] // blocks
    return np.asarray(values[:, : blocks * width].reshape(len(values), width, blocks).max(axis=1))


def kth_largest_in_rows(values: Array, k: int) -> Array:
    """Return the k-th largest value of each row, as a column."""
    rest = values.shape[1] - k
    return np.partition(values, rest, axis=1)[:, rest, None]


def at_least_in_rows(values: Array, low: Array) -> tuple[Array, Array]:
    """Return rows and columns of the values that reach the level of their row, in the order of memory."""
    places = np.flatnonzero(values >= low)
    rows = places // values.shape[1]
    return rows, places - values.shape[1] * rows


class PlacesInRows(NamedTuple):
    """Where values that are listed row by row belong, if each row begins with its first value."""

    shape: tuple[int, int]
    rows: Array
    order: Array


def places_in_rows(rows: Array, count: int) -> PlacesInRows:
    """Return the places of values whose rows, so many, are listed in order."""
    reached = np.bincount(rows, minlength=count)
    order = np.arange(len(rows)) - np.repeat(np.cumsum(reached) - reached, reached)
    return PlacesInRows((count, int(reached.max(initial=0))), rows, order)


def spread_in_rows(values: Array, place: PlacesInRows, otherwise: float) -> Array:
    """Return the values at their places; rows that have fewer end with another value."""
    out = np.full(place.shape, otherwise, dtype=values.dtype)
    out[place.rows, place.order] = values
    return out


def sums_of_largest_in_rows(values: Array, k: int) -> Array:
    """Return the sum of the k largest values of each row, 1 <= k <= n."""
    return np.asarray(_largest_last(large_in_rows(values, k).values, k).sum(axis=1))


def _largest_last(values: Array, k: int) -> Array:
    """Return the k largest values of each row, the least of them first."""
    rest = values.shape[1] - k
    return np.partition(values, rest, axis=1)[:, rest:]


def top_k_in_rows(sizes: Array, k: int) -> Array:
    """Return the sorted indices of the k largest magnitudes of each row; ties up to rounding go to the lowest index."""
    large, columns = large_in_rows(sizes, k, 2.0 * TIED)
    return columns[largest_of_rows(large, k)].reshape(len(sizes), k)


def largest_of_rows(large: Array, k: int) -> Array:
    """Return a mask of the k largest magnitudes of each row; ties up to rounding go to the lowest index."""
    level = _largest_last(large, k)[:, :1]
    chosen = large >= (1.0 - TIED) * level
    for row in np.flatnonzero(np.count_nonzero(chosen, axis=1) > k):
        above = large[row] > (1.0 + TIED) * level[row]
        ties = np.flatnonzero(chosen[row] & ~above)
        chosen[row, ties[k - np.count_nonzero(above) :]] = False
    return np.asarray(chosen)


def largest_values(values: Array, count: int) -> Array:
    """Return the `count` largest values, in decreasing order."""
    largest = values[top_k(values, count)]
    return np.sort(largest)[::-1]


def decreasing_order(values: Array) -> Array:
    """Return the indices that sort values in decreasing order; ties stay in their order."""
    order = np.argsort(-values)  # several times as fast as the stable sort that ties need
    ordered = values[order]
    return np.argsort(-values, kind="stable") if np.any(ordered[1:] == ordered[:-1]) else order


def coarse(values: Array) -> Array:
    """Return values rounded to 16 binary digits, so that an order by them does not depend on the rounding of sums."""
    out = np.empty(len(values))
    for start in range(0, len(values), COARSE_BLOCK):
        part = slice(start, start + COARSE_BLOCK)
        mantissa, exponent = np.frexp(values[part])
        out[part] = np.ldexp(np.round(mantissa * 2.0**16), exponent - 16)
    return out


def largest_in_columns(values: Array, k: int) -> Array:
    """Return a mask of the k largest values of each column; ties go to the lowest row, as in `top_k`."""
    n = len(values)
    if k >= n:
        return np.ones(values.shape, dtype=bool)
    level = np.partition(values, n - k, axis=0)[n - k]
    chosen, ties = values > level, values == level
    return chosen | (ties & (np.cumsum(ties, axis=0) <= k - chosen.sum(axis=0)))


def nonzeros(x: Array) -> Array:
    """Return the indices of the non-zeros of a vector of floats, five times as fast as np.flatnonzero."""
    return (x != 0.0).nonzero()[0]


def first_largest(values: Array, rounding: float = TIED) -> int:
    """Return the index of the largest value; of those that tie up to rounding, the first."""
    return int(np.argmax(values >= values.max() * (1.0 - rounding)))


def spread(values: Array, support: Array, n: int) -> Array:
    """Return the vector of length n with these values on this support."""
    out = np.zeros(n)
    out[support] = values
    return out


def spread_columns(parts: list[tuple[Array, Array]], n: int) -> Array:
    """Return vectors of length n as columns, each with its values on its support."""
    out = np.zeros((n, len(parts)), order="F")
    for column, (values, support) in enumerate(parts):
        out[support, column] = values
    return out


def unit(x: Array) -> Array:
    """Return x scaled to unit length, also if its squares leave float range."""
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(x))
    if not SHORT < length < LONG:
        x = x / np.max(np.abs(x))
        length = float(np.linalg.norm(x))
    return np.asarray(x / length)


def oriented(x: Array, dtype: Any = np.float64) -> Array:
    """Return x or -x, so that the entry of largest magnitude (the first of them) is positive.

    Entries equal up to the rounding of `dtype` count as tied; otherwise the sign of the whole vector would depend on
    the last bit. They are set to the same magnitude, without changing the length of x, so that the rule also holds
    for exact comparisons and after a conversion to `dtype`.
    """
    size = np.abs(x)
    largest = size.max(initial=0.0)
    tied = size >= largest * (1.0 - TIED_LOADINGS[np.dtype(dtype)])
    x = -x if x[int(np.argmax(tied))] < 0 else x
    if (size[tied] == largest).all():
        return x
    leveled = np.where(tied, np.copysign(largest, x), x)
    return np.asarray(leveled * (np.linalg.norm(x) / np.linalg.norm(leveled)))


def soft(c: Array, level: float) -> Array:
    """Return sign(c) max(|c| - level, 0)."""
    return np.sign(c) * np.maximum(np.abs(c) - level, 0.0)


def l1_l2_maximizer(g: Array, k: float, expected: Array | None = None) -> Array:
    """Return the y that maximizes g'y subject to |y|_2 <= 1 and |y|_1 <= sqrt(k), k >= 1.

    It is soft(g, level) scaled to unit length, with level = 0 if that is short enough in l1, and otherwise the
    level at which the ratio |.|_1 / |.|_2 equals sqrt(k).
    If more than k entries tie for the maximum, sqrt(k) is spread over them, and |y|_2 < 1.
    `expected`, a guess of the non-zeros, saves time if it is nearly right.
    """
    size = np.abs(g)
    largest = float(size.max(initial=0.0))
    if largest == 0.0:
        return np.zeros(len(g))
    if not SHORT < largest < LONG:  # keep squares inside float range
        if not np.isfinite(largest):
            raise FloatingPointError("A gradient is not finite: X has values beyond what its precision can square.")
        return l1_l2_maximizer(g / largest, k, expected)
    level, active = (0.0, None) if expected is None else _level_near(size, k, expected)
    if active is None:
        l1, l2 = float(size.sum()), math.sqrt(size @ size)
        if l1 <= math.sqrt(k) * l2 or len(g) <= k * (1.0 + 1e-12):
            return g / l2
        level, active = _level(size, k)
    excess = size[active] - level
    if len(active) <= k or largest - level <= TIED * largest:  # k or more entries tie for the maximum, up to rounding
        active = np.flatnonzero(size > min(level, (1.0 - TIED) * largest))
        excess = size[active]
    elif largest - level < NEARLY_TIED * largest:  # the differences are exact, the level is not: find it among them
        below = level - (largest - level)
        active = np.flatnonzero(size > below)
        excess = size[active] - below
        above = np.maximum(excess - _level_of(excess, k), 0.0)
        excess = above if above.any() else excess
    # unit length, unless rounding or a tie leaves it too long in l1
    length = max(math.sqrt(excess @ excess), float(excess.sum()) / math.sqrt(k))
    y = np.zeros(len(g))
    y[active] = np.copysign(excess / length, g[active])
    return y


def _level_near(size: Array, k: float, active: Array) -> tuple[float, Array | None]:
    """Return the result of `_level` if nearly these magnitudes are above the level; otherwise 0 and None."""
    for _ in range(LEVEL_GUESSES):
        if len(active) <= k:
            break
        level = _level_below(size[active], k)
        if level <= 0.0:
            break
        above = (size > level).nonzero()[0]
        if len(above) == len(active) and (above == active).all():
            return level, active
        active = above
    return 0.0, None


def _level(size: Array, k: float) -> tuple[float, Array]:
    """Return the level at which |soft|_1 = sqrt(k) |soft|_2, and which magnitudes are above it."""
    level = _level_of(size, k)
    return level, (size > level).nonzero()[0]


def _level_of(active: Array, k: float) -> float:
    """Return the level at which |soft|_1 = sqrt(k) |soft|_2.

    If all s magnitudes were above the level, it would solve a quadratic. Magnitudes below it only lower that solution,
    so they are dropped and the next solution is larger, until all magnitudes left are above it (Michelot's idea).
    """
    level = 0.0
    while len(active) > k:
        next_level = _level_below(active, k)
        above = active[active > next_level]
        if len(above) == len(active) or next_level <= level:
            return max(level, next_level)
        level, active = max(next_level, 0.0), above
    return level


def _level_below(active: Array, k: float) -> float:
    """Return the level of more than k magnitudes if all of them are above it."""
    s = len(active)
    mean = float(active.sum()) / s
    deviations = active - mean
    return mean - math.sqrt(k / (s - k) * float(deviations @ deviations) / s)


def l1_projection(w: Array, radius: float) -> Array:
    """Return the point of {|z|_1 <= radius} nearest to w."""
    size = np.abs(w)
    if size.sum() <= radius:
        return w.copy()
    ordered = np.sort(size)[::-1]
    excess = np.cumsum(ordered) - radius
    count = np.arange(1, len(w) + 1)
    last = int(np.flatnonzero(ordered * count > excess)[-1])
    return soft(w, float(excess[last]) / (last + 1))


def inclusion_probabilities(x: Array, s: float) -> Array:
    """Return p_i = min(s |x_i| / |x|_1, 1), the rounding probabilities of Algorithm 1."""
    size = np.abs(x)
    total = float(size.sum())
    return np.minimum(s * (size / total), 1.0) if total > 0.0 else np.zeros_like(size)


def scaled_to_sum(p: Array, total: float) -> Array:
    """Return min(c p_i, 1) with c such that the sum is `total`, or as close to it as the support of p allows."""
    positive = nonzeros(p)
    if len(positive) <= total:
        return (p > 0).astype(float)
    ordered = np.sort(p[positive])[::-1]
    rest = np.cumsum(ordered[::-1])[::-1]  # rest[i]: sum of all but the i largest
    fixed = np.arange(len(ordered))
    factor = (total - fixed) / rest
    # with the i largest set to 1, the others sum to total - i; the first i at which none of them exceeds 1 is right
    i = int(np.argmax((factor * ordered <= 1.0) & (fixed < total)))
    return np.minimum(factor[i] * p, 1.0)
