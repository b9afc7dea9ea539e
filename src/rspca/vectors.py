"""Vector mathematics without data: thresholds, projections, the k largest entries, signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def top_k(values: Array, k: int) -> Array:
    """Return the sorted indices of the k largest values; ties go to the lowest index."""
    n = len(values)
    if k >= n:
        return np.arange(n)
    if k <= 0:
        return np.arange(0)
    level = np.partition(values, n - k)[n - k]
    above = np.flatnonzero(values > level)
    ties = np.flatnonzero(values == level)[: k - len(above)]
    return np.sort(np.concatenate([above, ties]))


def spread(values: Array, support: Array, n: int) -> Array:
    """Return the vector of length n with these values on this support."""
    out = np.zeros(n)
    out[support] = values
    return out


def oriented(x: Array) -> Array:
    """Return x or -x, so that the entry of largest magnitude (the first of them) is positive."""
    size = np.abs(x)
    # Entries equal up to rounding count as tied: otherwise the sign of the whole vector would hang on the last bit.
    first = int(np.argmax(size >= size.max() * (1.0 - 1e-10)))
    return -x if x[first] < 0 else x


def soft(c: Array, level: float) -> Array:
    """Return sign(c) max(|c| - level, 0)."""
    return np.sign(c) * np.maximum(np.abs(c) - level, 0.0)


def l1_l2_maximizer(g: Array, k: float) -> Array:
    """Return the y that maximizes g'y subject to |y|_2 <= 1 and |y|_1 <= sqrt(k), k >= 1.

    It is soft(g, level) scaled to unit length, with level = 0 if that is short enough in l1, and otherwise the
    level at which the ratio |.|_1 / |.|_2 equals sqrt(k).
    If more than k entries tie for the maximum, sqrt(k) is spread over them, and |y|_2 < 1.
    """
    largest = float(np.abs(g).max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(g)
    g = g / largest
    size = np.abs(g)
    if size.sum() <= np.sqrt(k) * np.linalg.norm(size):
        return g / np.linalg.norm(g)
    tied = size >= 1.0
    if np.count_nonzero(tied) >= k:
        return np.where(tied, np.sign(g), 0.0) * (np.sqrt(k) / np.count_nonzero(tied))
    thresholded = soft(g, _level(size, k))
    length = float(np.linalg.norm(thresholded))
    l1 = float(np.abs(thresholded).sum())
    if l1 > np.sqrt(k) * length:  # rounding left it a little too long in l1: stay inside the constraint
        length = l1 / np.sqrt(k)
    return thresholded / length


def _level(size: Array, k: float) -> float:
    """Return the level at which |soft|_1 = sqrt(k) |soft|_2, for magnitudes with maximum one.

    Were all s magnitudes above the level, it would solve a quadratic. Magnitudes below it only lower that solution, so
    they can be dropped and the next solution is larger, until all that are left are above (Michelot's idea).
    """
    level, active = 0.0, size
    while len(active) > k:
        s, mean = len(active), float(active.mean())
        deviations = active - mean
        found = mean - np.sqrt(k / (s - k) * float(deviations @ deviations) / s)
        above = active[active > found]
        if (found <= level and s < len(size)) or len(above) == s:
            return max(level, found)
        level, active = max(level, found), above
    return level


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
    """Return p_i = min(s |x_i| / |x|_1, 1), the sampling probabilities of Algorithm 1."""
    size = np.abs(x)
    return np.minimum(s * (size / size.sum()), 1.0)


def scaled_to_sum(p: Array, total: float) -> Array:
    """Return min(c p_i, 1) with c such that the sum is `total`, or as near to it as the support of p allows."""
    if np.count_nonzero(p) <= total:
        return (p > 0).astype(float)
    ordered = np.sort(p[p > 0])[::-1]
    rest = np.cumsum(ordered[::-1])[::-1]  # rest[i]: sum of all but the i largest
    fixed = np.arange(len(ordered))
    factor = (total - fixed) / rest
    # with the i largest at one, the others share total - i; the first i at which none of them exceeds one is right
    i = int(np.argmax((factor * ordered <= 1.0) & (fixed < total)))
    return np.minimum(factor[i] * p, 1.0)
