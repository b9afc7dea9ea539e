"""What workers of a cluster run: functions of their blocks, which must be importable to be sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.checks import without_mask
from rspca.base.types import Array
from rspca.operators.base import Moments, OperatorMixin
from rspca.operators.dense import DenseOperator
from rspca.operators.plink import Calls, PackedOperator, Part
from rspca.operators.sparse import SparseOperator, each_entry_once


def call_method(block: OperatorMixin, method: str, arguments: tuple[Any, ...]) -> Any:
    """Return the result of a method of a block, or of what is computed of it beyond its methods."""
    if isinstance(block, PackedOperator):
        import numba

        numba.set_num_threads(1)  # the worker already runs a thread for each task
    if method in _COMPUTED:
        return _COMPUTED[method](block, *arguments)
    return getattr(block, method)(*arguments)


def _sums_and_sq_norms(block: OperatorMixin) -> tuple[Array, Array]:
    return block.column_sums(), block.column_sq_norms()


CountedMoments = tuple[Moments, float]
"""Moments, and number of rows or their total weight."""


def _counted_moments(block: OperatorMixin) -> CountedMoments:
    return block.moments(), block.shape[0]


def _weighed_moments(block: OperatorMixin, weights: Array) -> CountedMoments:
    return block.weighted_moments(weights), float(weights.sum())


_COMPUTED: dict[str, Callable[..., Any]] = {
    "sums_and_sq_norms": _sums_and_sq_norms,
    "counted_moments": _counted_moments,
    "weighed_moments": _weighed_moments,
}
"""What workers compute of a block beyond its methods, by name."""


def added_moments(first: CountedMoments, second: CountedMoments) -> CountedMoments:
    """Return the moments of the rows of both about the shift of the first.

    Shifts are near the means of rows, so they differ by no more than the rows themselves do: no digits are lost.
    """
    (known, m), (other, other_m) = first, second
    other = other.about(known.shift, other_m)
    lengths = np.hypot(known.lengths, other.lengths)
    return Moments(known.shift, known.sums + other.sums, known.gram + other.gram, lengths), m + other_m


def product_of_columns(left: Array, right: Array) -> Array:
    """Return the products of the columns of two blocks in float64."""
    return np.asarray(left, dtype=np.float64).T @ np.asarray(right, dtype=np.float64)


def shifted_sum(parts: list[Array], shift: Array) -> Array:
    """Return the sum of scores of blocks of columns, added up in float64, less a shift, in the type of the parts."""
    total = np.zeros(parts[0].shape)
    for part in parts:
        total += part
    return total.astype(parts[0].dtype) - shift


def call_transposed(block: OperatorMixin, scores: Array) -> Array:
    """Return the product of a block of columns, transposed, with scores that another worker may have computed."""
    return np.asarray(call_method(block, "rmatmat", (scores,)))


def counted_calls(block: PackedOperator) -> Calls:
    """Return how often each call occurs."""
    return block.calls


def by_rows(data: Any) -> Any:
    """Return sparse data that can be cut into rows."""
    return data.tocsr()


def block_of(data: Any) -> OperatorMixin:
    """Return the operator of a chunk of a Dask array."""
    if scipy.sparse.issparse(data):
        return SparseOperator(each_entry_once(data.tocsr()))
    return DenseOperator(np.require(without_mask(data), requirements=["C_CONTIGUOUS", "ALIGNED"]))


def open_packed(pieces: list[tuple[str, Array]], n_people: int, people: Array | None, dtype: str) -> PackedOperator:
    """Return packed genotypes of some rows of files that this worker can read."""
    import numba

    numba.set_num_threads(1)
    width = (n_people + 3) // 4
    parts = [Part(np.memmap(path, np.uint8, "r", offset=3).reshape(-1, width), rows) for path, rows in pieces]
    return PackedOperator(parts, n_people, people, dtype=np.dtype(dtype))
