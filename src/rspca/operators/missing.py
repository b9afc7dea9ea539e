"""Missing values that count as the mean of their column: NaN in data, as missing calls of genotypes do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rspca.base.checks import check_choice
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin
from rspca.operators.dense import DenseOperator
from rspca.operators.streamed import BlockOperator

MISSING = ("error", "mean")
"""What may be done about missing values."""
FILLED_BYTES = 1 << 30
"""Bytes of an array up to which it is copied with missing values filled; larger ones are filled block by block, in each
product: limit of memory."""


class Filled(NamedTuple):
    """Data without missing values, what these count as in each column, and their share of each column."""

    operator: OperatorMixin
    fill: Array
    share: Array


def check_missing(missing: Any) -> str:
    """Return "error" or "mean", or raise."""
    check_choice("missing", missing, MISSING)
    return str(missing)


def with_nan(X: Any) -> Any:
    """Return a masked array as an array with NaN where it is masked; anything else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    kind = X.dtype if X.dtype.kind == "f" else np.dtype(float)
    return np.ma.filled(X.astype(kind), np.nan)


def filled_by_means(op: OperatorMixin, weights: Array | None) -> Filled:
    """Return data whose missing values are the mean of their column over what is observed, weighted by `weights`.

    A column with nothing observed becomes zero: it does not vary, so it is never chosen.
    """
    total = op.shape[0] if weights is None else float(weights.sum())
    found = op.observed_sums(weights)
    if found is None:  # such data know no missing values; what is not finite is refused later
        return Filled(op, op.means, np.zeros(op.shape[1]))
    sums, missing = found
    observed = np.where(missing == 0.0, total, total - missing)
    some = observed > 64 * len(sums) * float(np.finfo(float).eps) * total
    some |= missing == 0.0
    fill = np.divide(sums, observed, out=np.zeros(len(sums)), where=some)
    return Filled(with_missing_as(op, fill) if missing.any() else op, fill, np.where(some, missing / total, 1.0))


def with_missing_as(op: OperatorMixin, fill: Array) -> OperatorMixin:
    """Return data whose missing values are these numbers, one for each column."""
    if isinstance(op, DenseOperator) and op.X.nbytes > FILLED_BYTES:
        op = BlockOperator(op.X, meter=op.meter)
    filled: OperatorMixin = op.with_missing_as(fill)
    return filled
