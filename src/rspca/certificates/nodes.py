"""One node of the exact search: a bound on all supports between F and F + C, and the features of C to leave out.

Plain NumPy that numba can compile unchanged (engines.py chooses). Bounds hold in exact arithmetic: search.py adds the
margin for rounding.
"""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.certificates.budgets import NODE_SHIFTS


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


def _frobenius(A: Array, fixed: int, picks: int, least: float, alive: Array) -> float:
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
        others = np.concatenate((row[fixed:j], row[j + 1 :]))
        own[j - fixed] = 2.0 * row[:fixed].sum() + _top_sum(others, picks - 1)
    inside = 0.0
    for i in range(fixed):
        inside += squares[i, :fixed].sum() - squares[i, i]
    best, shift = np.inf, 0.0
    for c in np.linspace(0.0, diagonal.max(), NODE_SHIFTS):
        base = inside + ((diagonal[:fixed] - c) ** 2).sum()
        bound = c + np.sqrt(base + _top_sum(own + (diagonal[fixed:] - c) ** 2, picks))
        if bound < best:
            best, shift = bound, c
    gains = own + (diagonal[fixed:] - shift) ** 2
    base = inside + ((diagonal[:fixed] - shift) ** 2).sum()
    without = base + _top_sum(gains, picks - 1)  # with j, at least what j and the best others reach
    for j in range(n - fixed):
        if shift + np.sqrt(without + gains[j]) < least:
            alive[j] = False
    return best


def _rows(A: Array, fixed: int, picks: int) -> float:
    """Bound by the largest absolute row sum of A_SS with F in S (Gershgorin)."""
    size = np.abs(A)
    best = 0.0
    for i in range(len(A)):
        row = size[i]
        others = row[fixed:]
        if i < fixed:
            total = row[:fixed].sum() + _top_sum(others, picks)
        else:  # the diagonal is in, with picks - 1 of the others
            total = row[:fixed].sum() + row[i]
            total += _top_sum(np.concatenate((row[fixed:i], row[i + 1 :])), picks - 1)
        best = max(best, total)
    return best


def _two_blocks(A: Array, fixed: int, picks: int) -> float:
    """Bound by [[l_1(A_FF), g], [g, e]], e a bound on A_CC alone and g one on |A_FC|, for the features to come.

    l_1 of a block matrix is at most that of the matrix of the norms of its blocks.
    """
    outer = np.ascontiguousarray(A[fixed:, fixed:])
    everyone = np.ones(len(outer), dtype=np.bool_)
    e = min(_frobenius(outer, 0, picks, 0.0, everyone), _rows(outer, 0, picks))
    e = min(e, _top_sum(np.diag(outer).copy(), picks))
    b = np.linalg.eigvalsh(np.ascontiguousarray(A[:fixed, :fixed]))[-1]
    g2 = _top_sum((A[:fixed, fixed:] ** 2).sum(axis=0), picks)
    return 0.5 * (b + e) + np.sqrt(0.25 * (b - e) ** 2 + g2)


def _remainder(R: Array, fixed: int, picks: int) -> float:
    """Bound x'Rx for a symmetric R with zero diagonal by the largest row sum with F in S."""
    n = len(R)
    size = np.abs(R)
    row_sum = 0.0
    for i in range(n):
        row = size[i]
        taken = picks if i < fixed else picks - 1
        row_sum = max(row_sum, row[:fixed].sum() + _top_sum(row[fixed:], taken))
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
    values: Array, weights: Array, constant: float, fixed: int, picks: int, least: float, alive: Array
) -> float:
    """Bound by the spectral fill with F in every share, plus a constant; drop what cannot reach `least`.

    weights[j, l] = v_jl^2. With j in S, the share of l is at most that of F, of j, and of the best picks - 1 others.
    """
    n, r = weights.shape
    shares, fewer, last = np.empty(r), np.empty(r), np.empty(r)
    for column in range(r):
        free = np.sort(weights[fixed:, column])
        inside = weights[:fixed, column].sum()
        fewer[column] = inside + free[len(free) - picks + 1 :].sum()
        last[column] = free[len(free) - picks]
        shares[column] = fewer[column] + last[column]
    bound = constant + _fill(values, shares)
    if bound < least:
        alive[:] = False
        return bound
    for j in range(fixed, n):
        if alive[j - fixed]:
            # among the best picks - 1 already, j leaves room for one more, which is no better than `last`
            with_j = fewer + np.minimum(weights[j], last)
            if constant + _fill(values, with_j) < least:
                alive[j - fixed] = False
    return bound


def examine(A: Array, parts: Array, fixed: Array, free: Array, k: int, least: float) -> tuple[float, Array, Array]:
    """Return a bound on supports with `fixed` and k - |fixed| of `free`, the free features left, and a ranking.

    parts[s] = S with A = S + R, R of zero diagonal: each gives the fill of S plus a bound on R. The ranking is the
    leading eigenvector of the part with the least bound, on fixed then free features: it decides on branches and tries.
    """
    picks = k - len(fixed)
    order = np.concatenate((fixed, free))
    alive = np.ones(len(free), dtype=np.bool_)
    inner = A[order][:, order]
    bound = min(_frobenius(inner, len(fixed), picks, least, alive), _rows(inner, len(fixed), picks))
    if len(fixed) > 0:
        bound = min(bound, _two_blocks(inner, len(fixed), picks))
    ranking = np.abs(inner).sum(axis=1)
    for s in range(len(parts)):
        if bound < least or alive.sum() < picks:
            break
        remaining = np.concatenate((np.ones(len(fixed), dtype=np.bool_), alive))
        order, ranking = order[remaining], ranking[remaining]
        alive = np.ones(len(order) - len(fixed), dtype=np.bool_)
        if len(order) <= k:
            break
        S = parts[s][order][:, order]
        R = A[order][:, order] - S
        values, vectors = np.linalg.eigh(S)
        constant = _remainder(R, len(fixed), picks)
        part_bound = _spectral(values, vectors * vectors, constant, len(fixed), picks, least, alive)
        if part_bound < bound or s == 0:
            ranking = np.abs(vectors[:, -1])
        bound = min(bound, part_bound)
    remaining = np.concatenate((np.ones(len(fixed), dtype=np.bool_), alive))
    return bound, order[remaining][len(fixed) :], ranking[remaining]


COMPILED = ("_top_sum_loop", "_frobenius", "_rows", "_two_blocks", "_remainder", "_fill", "_spectral", "examine")
"""Functions that numba compiles together, with `_top_sum_loop` in place of `_top_sum`."""
