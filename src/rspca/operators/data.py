"""Bases of the operators that hold data, and the adapter for objects with nothing but the five members."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.base.memory import check_room
from rspca.base.types import Array
from rspca.operators.blocks import as_type
from rspca.operators.mixin import OperatorMixin, returned_class
from rspca.operators.permutations import permuted_array, strata_of
from rspca.operators.products import Meter
from rspca.operators.protocol import Operator


class DataOperator(OperatorMixin):
    """Base of the operators that hold data: shape, float type, counter of passes, and the share of X that they read."""

    def __init__(self, shape: tuple[int, int], dtype: Any, meter: Meter | None = None, share: float = 1.0) -> None:
        self._shape = (int(shape[0]), int(shape[1]))
        self._dtype = np.dtype(dtype)
        self._meter = meter or Meter()
        self._share = share

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float type of the products."""
        return self._dtype

    @property
    def meter(self) -> Meter:
        """Counter of passes."""
        return self._meter

    def _part(self, support: Array) -> float:
        """Return the share of X that these columns are."""
        return self._share * len(support) / max(1, self.shape[1])


class Adapted(DataOperator):
    """A user's object that has only the five members of :class:`Operator`."""

    def __init__(self, inner: Operator) -> None:
        super().__init__(inner.shape, inner.dtype)
        self._inner = inner

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        self._meter.add(1.0)
        return as_type(self._inner.matmat(as_type(V, self.dtype)), self.dtype)

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        self._meter.add(1.0)
        return as_type(self._inner.rmatmat(as_type(U, self.dtype)), self.dtype)

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        self._meter.add(self._part(support))
        return as_type(self._inner.columns(support), self.dtype)

    def permuted(self, rng: np.random.Generator, labels: Array | None = None) -> OperatorMixin:
        """Return all columns as an array, each permuted: nothing is known of how they are stored."""
        m, n = self.shape
        check_room(3 * m * n * self.dtype.itemsize, "a permuted copy of the data", "Choose fewer features.")
        return returned_class("restrict")(permuted_array(self.all_columns(), rng, strata_of(labels, m)))
