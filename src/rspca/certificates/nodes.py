"""One node of the exact search: a bound on all supports between F and F + C, and the features of C to leave out.

Plain NumPy that numba can compile unchanged (engines.py chooses). Bounds hold in exact arithmetic: search.py adds the
margin for rounding.

With limits on groups, `labels` has the group of each feature and `room` how many more of each group may join F; sums of
largest entries are then over features that may (bounds/limits.py). Without limits, `labels` is empty.
"""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.certificates.budgets import NODE_SHIFTS

NO_LABELS = np.empty(0, dtype=np.intp)
"""The groups of features where there are none."""


def _top_sum(values: Array, k: int) -> float:
    """Return the sum of the k largest values."""
    n = len(values)
    if k <= 0:
        return 0.0
    return float(values.sum() if k >= n else np.partition(values, n - k)[n - k :].sum())


def _top_sum_loop(values: Array, k: int) -> float:
    """Return the sum of the k largest values, compiled: ten times as fast as numba's partition for short rows."""
    k = min(k, len(values))
    if k <= 0:
        return 0.0
    largest = np.full(k, -np.inf)  # ascending
    for value in values:
        if value > largest[0]:
            at = 0
            while at + 1 < k and largest[at + 1] < value:
                largest[at] = largest[at + 1]
                at += 1
            largest[at] = value
    return float(largest.sum())


def _allowed_sum(values: Array, k: int, labels: Array, room: Array) -> float:
    """Return the largest sum of k values, none of them negative, with no more of each group than there is room for."""
    if len(labels) == 0:
        return _top_sum(values, k)
    total, taken = 0.0, 0
    if k <= 0:
        return total
    left = room.copy()
    for at in np.argsort(-values):
        if left[labels[at]] > 0:
            left[labels[at]] -= 1
            total += values[at]
            taken += 1
            if taken == k:
                break
    return total


def _beside_sum(values: Array, own: int, k: int, labels: Array, room: Array) -> float:
    """Return the largest sum of k values other than `own`, which takes a place in its group."""
    if len(labels) == 0:
        return _top_sum(np.concatenate((values[:own], values[own + 1 :])), k)
    others = values.copy()
    others[own] = 0.0
    left = room.copy()
    left[labels[own]] -= 1
    return _allowed_sum(others, k, labels, left)


def _frobenius(A: Array, fixed: int, picks: int, least: float, alive: Array, labels: Array, room: Array) -> float:
    """Bound by |A_SS - c I|_F, and drop from `alive` what cannot be in a support that reaches `least`.

    The first `fixed` rows of A are in S, `picks` of the others will be. A feature j adds to the square of the norm
    (a_jj - c)^2, twice its products with F, and at most its `picks` - 1 largest products with others outside F.
    """
    n = len(A)
    squares = A * A
    diagonal = np.diag(A).copy()
    own = np.zeros(n - fixed)
    for j in range(fixed, n):
        row = squares[j]
        beside = _beside_sum(row[fixed:], j - fixed, picks - 1, labels, room)
        own[j - fixed] = 2.0 * row[:fixed].sum() + beside
    inside = 0.0
    for i in range(fixed):
        inside += squares[i, :fixed].sum() - squares[i, i]
    best, shift = np.inf, 0.0
    for c in np.linspace(0.0, diagonal.max(), NODE_SHIFTS):
        base = inside + ((diagonal[:fixed] - c) ** 2).sum()
        bound = c + np.sqrt(base + _allowed_sum(own + (diagonal[fixed:] - c) ** 2, picks, labels, room))
        if bound < best:
            best, shift = bound, c
    gains = own + (diagonal[fixed:] - shift) ** 2
    base = inside + ((diagonal[:fixed] - shift) ** 2).sum()
    without = base + _allowed_sum(gains, picks - 1, labels, room)  # with j, at least what j and the best others reach
    for j in range(n - fixed):
        if shift + np.sqrt(without + gains[j]) < least:
            alive[j] = False
    return best


def _rows(A: Array, fixed: int, picks: int, labels: Array, room: Array) -> float:
    """Bound by the largest absolute row sum of A_SS with F in S (Gershgorin)."""
    size = np.abs(A)
    best = 0.0
    for i in range(len(A)):
        row = size[i]
        others = row[fixed:]
        if i < fixed:
            total = row[:fixed].sum() + _allowed_sum(others, picks, labels, room)
        else:  # the diagonal is in, with picks - 1 of the others
            total = row[:fixed].sum() + row[i]
            total += _beside_sum(others, i - fixed, picks - 1, labels, room)
        best = max(best, total)
    return best


def _two_blocks(A: Array, fixed: int, picks: int, labels: Array, room: Array) -> float:
    """Bound by [[l_1(A_FF), g], [g, e]], e a bound on A_CC alone and g one on |A_FC|, for the features to come.

    l_1 of a block matrix is at most that of the matrix of the norms of its blocks.
    """
    outer = np.ascontiguousarray(A[fixed:, fixed:])
    everyone = np.ones(len(outer), dtype=np.bool_)
    e = min(_frobenius(outer, 0, picks, 0.0, everyone, labels, room), _rows(outer, 0, picks, labels, room))
    e = min(e, _allowed_sum(np.diag(outer).copy(), picks, labels, room))
    b = np.linalg.eigvalsh(np.ascontiguousarray(A[:fixed, :fixed]))[-1]
    g2 = _allowed_sum((A[:fixed, fixed:] ** 2).sum(axis=0), picks, labels, room)
    return 0.5 * (b + e) + np.sqrt(0.25 * (b - e) ** 2 + g2)


def _remainder(R: Array, fixed: int, picks: int, labels: Array, room: Array) -> float:
    """Bound x'Rx for a symmetric R with zero diagonal by the largest row sum with F in S."""
    n = len(R)
    size = np.abs(R)
    row_sum = 0.0
    for i in range(n):
        row = size[i]
        taken = picks if i < fixed else picks - 1
        row_sum = max(row_sum, row[:fixed].sum() + _allowed_sum(row[fixed:], taken, labels, room))
    return row_sum


def _fill(values: Array, shares: Array) -> float:
    """Return the value of the knapsack of bounds.filled for one row of shares; eigenvalues ascending."""
    total, left = 0.0, 1.0
    for i in range(len(values) - 1, -1, -1):
        part = min(shares[i], left)
        total += values[i] * part
        left -= part
        if left <= 0.0:
            break
    return total + left * values[0]


def _spectral(
    values: Array,
    weights: Array,
    constant: float,
    fixed: int,
    picks: int,
    least: float,
    alive: Array,
    labels: Array,
    room: Array,
) -> float:
    """Bound by the spectral fill with F in every share, plus a constant; drop what cannot reach `least`.

    weights[j, l] = v_jl^2. With j in S, the share of l is at most that of F, of j, and of the best picks - 1 others.
    """
    n, r = weights.shape
    shares, fewer, last = np.empty(r), np.empty(r), np.empty(r)
    for column in range(r):
        inside = weights[:fixed, column].sum()
        if len(labels) == 0:
            free = np.sort(weights[fixed:, column])
            fewer[column] = inside + free[len(free) - picks + 1 :].sum()
            last[column] = free[len(free) - picks]
            shares[column] = fewer[column] + last[column]
        else:
            outside = weights[fixed:, column].copy()
            fewer[column] = inside + _allowed_sum(outside, picks - 1, labels, room)
            shares[column] = inside + _allowed_sum(outside, picks, labels, room)
            last[column] = shares[column] - fewer[column]
    bound = constant + _fill(values, shares)
    if bound < least:
        alive[:] = False
        return bound
    for j in range(fixed, n):
        if alive[j - fixed]:
            # with j at most `shares`, and at most j and the best picks - 1 of all
            with_j = fewer + np.minimum(weights[j], last)
            if constant + _fill(values, with_j) < least:
                alive[j - fixed] = False
    return bound


def examine(
    A: Array, parts: Array, fixed: Array, free: Array, k: int, least: float, labels: Array, most: int
) -> tuple[float, Array, Array]:
    """Return a bound on supports with `fixed` and k - |fixed| of `free`, the free features left, and a ranking.

    parts[s] = S with A = S + R, R of zero diagonal: each gives the fill of S plus a bound on R. The ranking is the
    leading eigenvector of the part with the least bound, on fixed then free features: it decides on branches and tries.
    `labels` are the groups of all features of A, of which a support has at most `most` each; empty without limits.
    """
    picks = k - len(fixed)
    order = np.concatenate((fixed, free))
    alive = np.ones(len(free), dtype=np.bool_)
    inner = A[order][:, order]
    room, own = np.zeros(1, dtype=np.int64), labels
    if len(labels) > 0:
        room = np.full(labels.max() + 1, most)
        for feature in fixed:
            room[labels[feature]] -= 1
        own = labels[free]
    count = len(fixed)
    bound = min(_frobenius(inner, count, picks, least, alive, own, room), _rows(inner, count, picks, own, room))
    if count > 0:
        bound = min(bound, _two_blocks(inner, count, picks, own, room))
    ranking = np.abs(inner).sum(axis=1)
    for s in range(len(parts)):
        if bound < least or alive.sum() < picks:
            break
        remaining = np.concatenate((np.ones(count, dtype=np.bool_), alive))
        order, ranking = order[remaining], ranking[remaining]
        if len(labels) > 0:
            own = labels[order[count:]]
        alive = np.ones(len(order) - count, dtype=np.bool_)
        if len(order) <= k:
            break
        S = parts[s][order][:, order]
        R = A[order][:, order] - S
        values, vectors = np.linalg.eigh(S)
        constant = _remainder(R, count, picks, own, room)
        part_bound = _spectral(values, vectors * vectors, constant, count, picks, least, alive, own, room)
        if part_bound < bound or s == 0:
            ranking = np.abs(vectors[:, -1])
        bound = min(bound, part_bound)
    remaining = np.concatenate((np.ones(count, dtype=np.bool_), alive))
    return bound, order[remaining][count:], ranking[remaining]


COMPILED = (
    "_top_sum_loop",
    "_allowed_sum",
    "_beside_sum",
    "_frobenius",
    "_rows",
    "_two_blocks",
    "_remainder",
    "_fill",
    "_spectral",
    "examine",
)
"""Functions that numba compiles together, with `_top_sum_loop` in place of `_top_sum`."""
