"""What the operators of data in memory share: the data, the counter of passes, the float type."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import Meter, OperatorMixin

CACHE_BYTES = 1 << 24
"""Bytes of a block that is read twice while it is in the last-level cache: benchmarks/speed.py."""


def float_type(stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the float type of the products of stored numbers: float32 for half and single precision, else float64."""
    return np.dtype(np.float32 if stored in (np.float16, np.float32) else np.float64)


class InMemory(OperatorMixin):
    """What the dense and the sparse operator share: the data, the counter, and the share of it they read."""

    def __init__(self, X: Any, meter: Meter | None = None, share: float = 1.0) -> None:
        self.X = X
        self._meter = meter or Meter()
        self._share = share
        self._dtype = float_type(X.dtype)

    def __sizeof__(self) -> int:
        """Bytes in memory, by which a cluster decides what is worth moving."""
        data = self.X if isinstance(self.X, np.ndarray) else self.X.data
        return object.__sizeof__(self) + int(data.nbytes)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        m, n = self.X.shape
        return int(m), int(n)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 for half and single precision data, float64 for everything else."""
        return self._dtype

    @property
    def meter(self) -> Meter:
        """Counter of passes."""
        return self._meter

    def transposed(self) -> OperatorMixin:
        """Return the operator of X', on the same memory."""
        return type(self)(self.X.T, meter=self._meter, share=self._share)

    def _part(self, support: Array) -> float:
        return self._share * len(support) / max(1, self.shape[1])
