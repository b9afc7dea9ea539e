"""Vector mathematics without data: thresholds, projections, the k largest entries, signs."""

from __future__ import annotations

import math
from typing import Any

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
"""Values that enclose the k-th largest of many; n must be 8 times as large: benchmarks/budgets.py."""
LEVEL_GUESSES = 6
"""Times that `l1_l2_maximizer` guesses its non-zeros before it uses all magnitudes: benchmarks/budgets.py."""


def top_k(values: Array, k: int) -> Array:
    """Return the sorted indices of the k largest values; ties go to the lowest index."""
    n = len(values)
    if k >= n:
        return np.arange(n)
    if k <= 0:
        return np.arange(0)
    level = kth_largest(values, k)
    found = (values >= level).nonzero()[0]
    if len(found) == k:
        return found
    above = (values > level).nonzero()[0]
    ties = (values == level).nonzero()[0][: k - len(above)]
    return np.sort(np.concatenate([above, ties]))


def kth_largest(values: Array, k: int) -> float:
    """Return the k-th largest value, 1 <= k <= n.

    Two values of a sample enclose it, as a rule, and only what lies between them is partitioned (Floyd, Rivest 1975):
    several times as fast as to partition all, and ties cost nothing.
    """
    n = len(values)
    if n < 8 * SAMPLE_VALUES:
        return float(np.partition(values, n - k)[n - k])
    sample = np.sort(values[:: n // SAMPLE_VALUES])
    rank = k * len(sample) / n
    margin = 3.0 * math.sqrt(rank) + 1.0
    lower, upper = math.floor(rank - margin), math.ceil(rank + margin)
    low = sample[-upper] if upper < len(sample) else -np.inf
    high = sample[-lower] if lower > 0 else np.inf
    between = values[(values > low) & (values <= high)]
    wanted = k - np.count_nonzero(values > high)
    if 0 < wanted <= len(between):
        return float(np.partition(between, len(between) - wanted)[len(between) - wanted])
    if 0 < wanted <= len(between) + np.count_nonzero(values == low):
        return float(low)
    return float(np.partition(values, n - k)[n - k])


def largest_values(values: Array, count: int) -> Array:
    """Return the `count` largest values, in decreasing order."""
    largest = values[top_k(values, count)]
    return np.sort(largest)[::-1]


def decreasing(values: Array) -> Array:
    """Return the order in which values decrease; those that tie keep their order."""
    order = np.argsort(-values)  # several times as fast as a stable sort, which only ties need
    ordered = values[order]
    return np.argsort(-values, kind="stable") if np.any(ordered[1:] == ordered[:-1]) else order


def coarse(values: Array) -> Array:
    """Return values to 16 binary digits: what orders features by it does not depend on how sums were rounded."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**16), exponent - 16)


def largest_in_columns(values: Array, k: int) -> Array:
    """Return where the k largest values of each column stand; ties go to the lowest row. As `top_k`, all at once."""
    n = len(values)
    if k >= n:
        return np.ones(values.shape, dtype=bool)
    level = np.partition(values, n - k, axis=0)[n - k]
    chosen, ties = values > level, values == level
    return chosen | (ties & (np.cumsum(ties, axis=0) <= k - chosen.sum(axis=0)))


def nonzeros(x: Array) -> Array:
    """Return where a vector of floats is not zero, in a fifth of the time that NumPy takes to find it."""
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
    """Return x scaled to unit length, also where its squares leave float range."""
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(x))
    if not SHORT < length < LONG:
        x = x / np.max(np.abs(x))
        length = float(np.linalg.norm(x))
    return np.asarray(x / length)


def oriented(x: Array, dtype: Any = np.float64) -> Array:
    """Return x or -x, so that the entry of largest magnitude (the first of them) is positive.

    Entries equal up to the rounding of `dtype` count as tied: otherwise the sign of the whole vector would depend on
    the last bit. They get the same magnitude, at the same length of x, so that the rule also holds for exact
    comparisons, and after a conversion to `dtype`.
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
    Who expects these entries to be the non-zeros, or nearly, may say so: it saves time.
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
    kept = size[active] - level
    if len(active) <= k or largest - level <= TIED * largest:  # k or more entries tie for the maximum, up to rounding
        active = np.flatnonzero(size > min(level, (1.0 - TIED) * largest))
        kept = size[active]
    elif largest - level < NEARLY_TIED * largest:  # the differences are exact, the level is not: find it among them
        below = level - (largest - level)
        active = np.flatnonzero(size > below)
        kept = size[active] - below
        above = np.maximum(kept - _level_of(kept, k), 0.0)
        kept = above if above.any() else kept
    # unit length, unless rounding or a tie leaves it too long in l1
    length = max(math.sqrt(kept @ kept), float(kept.sum()) / math.sqrt(k))
    y = np.zeros(len(g))
    y[active] = np.copysign(kept / length, g[active])
    return y


def _level_near(size: Array, k: float, active: Array) -> tuple[float, Array | None]:
    """Return the same as `_level` if nearly these magnitudes are above the level; nothing where that is not so."""
    for _ in range(LEVEL_GUESSES):
        if len(active) <= k:
            break
        level = _level_below(size[active], k)
        if level <= 0.0:
            break
        above = (size > level).nonzero()[0]
        if len(above) == len(active) and np.array_equal(above, active):
            return level, active
        active = above
    return 0.0, None


def _level(size: Array, k: float) -> tuple[float, Array]:
    """Return the level at which |soft|_1 = sqrt(k) |soft|_2, and which magnitudes are above it."""
    level = _level_of(size, k)
    return level, (size > level).nonzero()[0]


def _level_of(active: Array, k: float) -> float:
    """Return the same level.

    Were all s magnitudes above the level, it would solve a quadratic. Magnitudes below it only lower that solution, so
    they can be dropped and the next solution is larger, until all that are left are above (Michelot's idea).
    """
    level = 0.0
    while len(active) > k:
        found = _level_below(active, k)
        above = active[active > found]
        if len(above) == len(active) or found <= level:
            return max(level, found)
        level, active = max(found, 0.0), above
    return level


def _level_below(active: Array, k: float) -> float:
    """Return the level that more than k magnitudes have if all of them are above it."""
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
    return np.minimum(s * (size / size.sum()), 1.0)


def scaled_to_sum(p: Array, total: float) -> Array:
    """Return min(c p_i, 1) with c such that the sum is `total`, or as near to it as the support of p allows."""
    positive = nonzeros(p)
    if len(positive) <= total:
        return (p > 0).astype(float)
    ordered = np.sort(p[positive])[::-1]
    rest = np.cumsum(ordered[::-1])[::-1]  # rest[i]: sum of all but the i largest
    fixed = np.arange(len(ordered))
    factor = (total - fixed) / rest
    # with the i largest at one, the others share total - i; the first i at which none of them exceeds one is right
    i = int(np.argmax((factor * ordered <= 1.0) & (fixed < total)))
    return np.minimum(factor[i] * p, 1.0)
