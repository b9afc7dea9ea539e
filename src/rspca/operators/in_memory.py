"""Base of the dense and the sparse operator of data in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.operators.base import DataOperator, Meter, OperatorMixin

CACHE_BYTES = 1 << 24
"""Bytes of a block that is read twice while it is in the last-level cache: benchmarks/speed.py."""

SELECTED_BYTES = 1 << 29
"""Bytes of rows that are copied when the others have weight 0; more are multiplied by 0: limit of memory."""


def float_type(stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the float type of the products of stored numbers: float32 for half and single precision, else float64."""
    return np.dtype(np.float32 if stored in (np.float16, np.float32) else np.float64)


class InMemory(DataOperator):
    """An operator of an array or a SciPy sparse matrix."""

    selects_columns = True
    columns_are_copies = True

    def __init__(self, X: Any, meter: Meter | None = None, share: float = 1.0) -> None:
        super().__init__(X.shape, float_type(X.dtype), meter, share)
        self.X = X

    def __sizeof__(self) -> int:
        """Bytes in memory; a Dask cluster decides by them what to move."""
        data = self.X if isinstance(self.X, np.ndarray) else self.X.data
        return object.__sizeof__(self) + int(data.nbytes)

    def transposed(self) -> OperatorMixin:
        """Return the operator of X', on the same memory."""
        return type(self)(self.X.T, meter=self._meter, share=self._share)
