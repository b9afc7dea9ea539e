"""The operator protocol: a shape, a float type and three products, all that a new kind of data must supply."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from rspca.base.types import Array


@runtime_checkable
class Operator(Protocol):
    """A data matrix X (m samples by n features) seen only through its products.

    These five members are all that a new kind of data must supply; :class:`OperatorMixin` derives the rest.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features, ``(m, n)``."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float type of the products, float32 or float64."""
        ...

    def matmat(self, V: Array, /) -> Array:
        """X V, for a vector of length n or an n x b block."""
        ...

    def rmatmat(self, U: Array, /) -> Array:
        """X'U, for a vector of length m or an m x b block."""
        ...

    def columns(self, support: Array, /) -> Array:
        """X[:, support] as a dense array."""
        ...
