"""Columns whose mean is large against their spread, shifted near zero before they are multiplied."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin

FAR_FROM_ZERO = {np.dtype(np.float32): 1e4, np.dtype(np.float64): 1e6}
"""Arithmetic: ratio of a sum of squares to that about the mean above which the column is shifted: products would lose
two digits of seven, or three of sixteen."""
DOUBTFUL_BYTES = 1 << 26
"""Bytes up to which columns that may be far from zero are copied and examined; otherwise all of X is read."""
MEAN_CORRECTIONS = 4
"""Corrections of a mean by the mean of the residuals; two suffice unless the first sum lost all digits."""


class NearZero(NamedTuple):
    """X - 1 shift', its column means, the shift, if there is one, and which columns are constant."""

    op: OperatorMixin
    mean: Array
    shift: Array | None
    constant: Array


def near_zero(op: OperatorMixin) -> NearZero:
    """Return X with columns whose mean is large against their spread shifted by it, and the remaining means.

    Such columns are found by the digits that their sums of squares lose. Whether they vary, and how much, is decided
    by their entries after subtracting a number of the same float type, which is exact where it matters.
    """
    m, n = op.total_weight, op.shape[1]
    mean, shift, constant = op.means, None, np.zeros(n, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        about_mean = op.sq_norms - m * mean**2
        doubtful = ~(op.sq_norms <= FAR_FROM_ZERO[op.dtype] * about_mean) & np.isfinite(mean) & (mean != 0.0)
    if doubtful.any():
        columns, part = np.flatnonzero(doubtful), op
        if op.restricted_bytes(len(columns)) <= DOUBTFUL_BYTES:
            part = op.restrict(columns)
        else:
            columns = np.arange(n)
        nearest, rest, norms = _nearest(part, np.where(doubtful, mean, 0.0)[columns])
        still = doubtful[columns] & (norms == 0.0)
        far = doubtful[columns] & ~still & ~(part.sq_norms <= FAR_FROM_ZERO[op.dtype] * norms)
        constant[columns[still]], mean[columns[still]] = True, nearest[still]
        if far.any():
            shift = np.zeros(n)
            shift[columns[far]], mean[columns[far]] = nearest[far], rest[far]
    return NearZero(op if shift is None or not shift.any() else op.shifted(shift), mean, shift, constant)


def about(op: OperatorMixin, mean: Array) -> tuple[OperatorMixin, Array]:
    """Return X - 1 shift' and mean - shift for the means of other data, with columns far from zero shifted."""
    with np.errstate(over="ignore", invalid="ignore"):
        far = ~(op.sq_norms <= FAR_FROM_ZERO[op.dtype] * op.column_sq_norms(mean))
    return shifted_to(op, mean, far)


def shifted_to(op: OperatorMixin, mean: Array, far: Array) -> tuple[OperatorMixin, Array]:
    """Return X - 1 shift' and mean - shift; the shift of these columns is the float closest to their mean."""
    shift = np.where(far, mean, 0.0).astype(op.dtype).astype(np.float64)
    return op.shifted(shift) if shift.any() else op, mean - shift


def _nearest(op: OperatorMixin, mean: Array) -> tuple[Array, Array, Array]:
    """Return the floats closest to the column means, the rest of the means, and the squared norms about them.

    A mean of numbers far from zero has the rounding error of its sum; the mean of the residuals corrects it. A constant
    column becomes zero.
    """
    nearest = np.asarray(mean, dtype=op.dtype).astype(np.float64)
    for _ in range(MEAN_CORRECTIONS):
        moved = op.shifted(nearest)
        left = moved.means
        corrected = np.where(nearest == 0.0, 0.0, nearest + left).astype(op.dtype).astype(np.float64)
        if np.array_equal(corrected, nearest):
            break
        nearest = corrected
    moved = op.shifted(nearest)
    left = moved.means
    return nearest, left, moved.column_sq_norms(left)
