"""The transpose of an operator, for the sparse left vectors of Algorithm 2."""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, returned_by
from rspca.operators.wrapper import Wrapper


@returned_by("transposed")
class Transposed(Wrapper):
    """X': samples become features."""

    selects_columns = False

    def restricted_bytes(self, k: int) -> int:
        """Memory of k rows of X, copied, dense."""
        return OperatorMixin.restricted_bytes(self, k)

    @property
    def shape(self) -> tuple[int, int]:
        """Features by samples."""
        m, n = self.inner.shape
        return n, m

    @property
    def row_weights(self) -> Array | None:
        """None: rows are features."""
        return None

    def matmat(self, V: Array, /) -> Array:
        """X'V."""
        return self.inner.rmatmat(V)

    def rmatmat(self, U: Array, /) -> Array:
        """X U."""
        return self.inner.matmat(U)

    def columns(self, support: Array, /) -> Array:
        """Rows of X, fetched by products with unit vectors."""
        units = np.zeros((self.shape[1], len(support)))
        units[support, np.arange(len(support))] = 1.0
        return self.inner.rmatmat(units)

    def transposed(self) -> OperatorMixin:
        """Return the original operator."""
        return self.inner

    def to_float64(self) -> OperatorMixin:
        """X' with products in float64."""
        return self if self.dtype == np.float64 else Transposed(self.inner.to_float64())
