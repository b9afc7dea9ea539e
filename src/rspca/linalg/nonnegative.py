"""Maxima of v'Av over unit vectors without negative entries, for a positive semidefinite matrix: active sets."""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.linalg.vectors import unit

GAIN = 1e-13
"""Arithmetic: relative gain below which a step is rounding."""
CHANGES = 10
"""Changes of the active set for each feature, far more than there are: a guard against rounding."""


def positive_step(gradient: Array) -> Array:
    """Return the unit v >= 0 that maximizes v'g: the positive part of g, or the largest entry if none is positive.

    With g = Ax it has at least the variance of x >= 0, because v'Av >= 2 v'Ax - x'Ax for a convex form.
    """
    positive = np.maximum(gradient, 0.0)
    if positive.any():
        return unit(positive)
    best = np.zeros(len(gradient))
    best[int(np.argmax(gradient))] = 1.0
    return best


def nonnegative_maximum(A: Array, start: Array) -> tuple[float, Array]:
    """Return a local maximum of v'Av over unit v >= 0, from the positive part of `start`, and its value; none is lost.

    On the entries in use the leading eigenvector w is best. On the great circle from v to w the variance grows, because
    w is the leading vector of that plane too. So v moves to w, or as far as it stays nonnegative; an entry that gets
    zero is left out. Where v = w, an entry that is zero but has a positive gradient enters, by one step of
    `positive_step`, which gains. Every set of entries is settled at most once, so this ends.
    """
    A = (A + A.T) / 2.0
    v = positive_step(A @ positive_step(start))
    for _ in range(CHANGES * len(A) + CHANGES):
        v = _settled(A, v)
        gradient = A @ v
        value = float(v @ gradient)
        if not (gradient[v == 0.0] > GAIN * value).any():
            break
        stepped = positive_step(gradient)
        if float(stepped @ A @ stepped) <= (1.0 + GAIN) * value:
            break
        v = stepped
    return value, v


def best_nonnegative(A: Array, start: Array) -> tuple[float, Array]:
    """Return the best local maximum from `start` and from both signs of the leading eigenvector."""
    leading = np.linalg.eigh((A + A.T) / 2.0)[1][:, -1]
    ends = [nonnegative_maximum(A, x) for x in (start, leading, -leading)]
    return max(ends, key=lambda end: end[0])


def _settled(A: Array, v: Array) -> Array:
    """Return the leading eigenvector on some of the entries of v, without negative ones; no step loses variance."""
    while True:
        used = np.flatnonzero(v)
        w = np.linalg.eigh(A[np.ix_(used, used)])[1][:, -1]
        w = -w if float(w @ v[used]) < 0.0 else w
        negative = w < 0.0
        if not negative.any():
            out = np.zeros(len(v))
            out[used] = w
            return out
        inside = v[used]
        # the first entry of (1 - t) v + t w that gets zero
        shares = inside[negative] / (inside[negative] - w[negative])
        share = float(shares.min())
        moved = np.maximum((1.0 - share) * inside + share * w, 0.0)
        moved[np.flatnonzero(negative)[int(np.argmin(shares))]] = 0.0
        v = np.zeros(len(v))
        v[used] = moved / np.linalg.norm(moved)
