"""Cutting a range into blocks of some bytes, arrays in a wanted float type, and products of blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rspca.base.types import Array

BLOCK_BYTES = 1 << 23
"""Bytes of a block that is copied when data are converted; it stays in cache: benchmarks/speed.py."""


def chunks(length: int, bytes_each: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut range(length) into slices of about `budget` bytes."""
    step = max(1, budget // max(1, bytes_each))
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


def as_type(values: Array | float, dtype: np.dtype[Any]) -> Array:
    """Return an array of this float type, without a copy if it is one."""
    return np.asarray(values, dtype=dtype)


def as_float64(values: Array) -> Array:
    """Return an array in float64, without a copy if it is one."""
    return np.asarray(values, dtype=np.float64)


def rows_times(rows: Any, V: Array) -> Array:
    """Return the product of a block of rows, dense or sparse, with a vector or with several.

    While NumPy's `matmul` multiplies rows that are contiguous in memory by one vector, no other lane works. `dot` lets
    them, with the same bits, but it would copy other rows.
    """
    contiguous = isinstance(rows, np.ndarray) and rows.flags.c_contiguous
    return np.dot(rows, V) if contiguous and V.ndim == 1 else rows @ V
