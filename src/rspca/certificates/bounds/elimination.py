"""Elimination of features that are in no support better than a known one, from norms and products of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds.core import largest_squares
from rspca.certificates.bounds.gram import frobenius, top_sum
from rspca.certificates.bounds.limits import GroupLimits, sums_beside
from rspca.operators.base import OperatorMixin, chunks


def by_variance(diagonal: Array, lower: float, upper_before: float) -> Array:
    """Return the features that may be in a support of k features with variance above `lower`.

    With i in S, X_S X_S' = X_{S-i} X_{S-i}' + x_i x_i', so l_1 <= `upper_before` + a_ii, a bound for k - 1 features
    being `upper_before`. With limits on groups, S - i is within them if S is, and `lower` must be that of a support
    which they allow.
    """
    return np.flatnonzero(diagonal >= lower - upper_before)


def by_blocks(A: Array, k: int, lower: float, upper_before: float, limits: GroupLimits | None = None) -> Array:
    """Return the features that a test of 2 x 2 blocks does not eliminate, repeated until none is dropped.

    With i in S and P = A_{S-i}: l_1(A_SS) is at most that of [[u, r], [r, a_ii]], u = `upper_before` >= l_1(P) and r a
    bound on the length of column i in S: r^2 = min(T_{k-1}(a_ij^2), a_ii u), the latter since A_SS is semidefinite.
    With limits on groups T_{k-1} is over the features that may stand beside i.
    """
    alive = np.arange(len(A))
    while True:
        part = A[np.ix_(alive, alive)]
        diagonal = np.diagonal(part)
        squares = part**2
        np.fill_diagonal(squares, 0.0)
        beside = sums_beside(squares, np.arange(len(part)), k, None if limits is None else limits.among(alive))
        r2 = np.minimum(beside, diagonal * upper_before)
        bound = 0.5 * (upper_before + diagonal) + np.sqrt(0.25 * (upper_before - diagonal) ** 2 + r2)
        passed = bound >= lower
        if passed.all() or not passed.any():
            return alive[passed]
        alive = alive[passed]


class RowBounds(NamedTuple):
    """Bounds on all supports of k features from one read of the Gram matrix, row by row."""

    frobenius: float
    gershgorin: float
    largest: Array | None = None
    """The k - 1 largest squares of each row off the diagonal, the largest first, if they are wanted."""


def streamed_rows(
    op: OperatorMixin,
    k: int,
    *,
    out_of_time: Callable[[], bool],
    keep: Callable[[int, Array], None] = lambda first, rows: None,
    limits: GroupLimits | None = None,
    with_largest: bool = False,
) -> RowBounds | None:
    """Return `bounds.frobenius` and `bounds.gershgorin` from blocks of rows of X'X; None if time ran out.

    `keep` sees each block as well, with the number of its first row, and zeros between features that exclude each
    other.
    """
    n, diagonal = op.shape[1], precision.sq_norms(op)
    energy, sums = np.empty(n), np.empty(n)
    largest = np.empty((n, min(k - 1, n))) if with_largest else None
    for part, rows in _rows(op):
        if out_of_time():
            return None
        if limits is not None:
            own = np.arange(part.start, part.stop)
            rows = limits.apart(rows, own)
            energy[part] = sums_beside(rows**2, own, k, limits)
            sums[part] = sums_beside(np.abs(rows), own, k, limits)
            keep(part.start, rows)
            if largest is not None:
                largest[part] = largest_squares(rows, k - 1)
            continue
        keep(part.start, rows)
        top = np.partition(rows**2, n - k + 1, axis=1)[:, n - k + 1 :] if k > 1 else np.zeros((len(rows), 1))
        energy[part] = top.sum(axis=1)
        sums[part] = np.sqrt(top).sum(axis=1)
        if largest is not None:
            largest[part] = -np.sort(-top[:, : k - 1], axis=1)
    # effect of an error of e r_i r_j in each entry on the length and the sum of the k - 1 largest of a row
    lengths = op.rounding_lengths() ** 2
    slack = precision.sum_error(op) * np.sqrt(lengths * float(top_sum(lengths, k - 1)))
    plain = frobenius(diagonal, (np.sqrt(energy) + slack) ** 2, k, limits)
    return RowBounds(plain, float((diagonal + sums + np.sqrt(k) * slack).max()), largest)


def _rows(op: OperatorMixin) -> Iterator[tuple[slice, Array]]:
    """Yield the Gram matrix a block of rows at a time, its diagonal set to zero."""
    n = op.shape[1]
    for part in chunks(n, n * 8, budgets.ROWS_BYTES):
        rows = op.gram_rows(np.arange(part.start, part.stop))
        rows[np.arange(part.stop - part.start), np.arange(part.start, part.stop)] = 0.0
        yield part, rows
