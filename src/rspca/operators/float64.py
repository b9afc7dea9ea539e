"""Any single-precision operator as the exact numbers of its columns, with products in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, chunks, returned_by
from rspca.operators.wrapper import Wrapper


@returned_by("to_float64")
class Float64Columns(Wrapper):
    """X computed from its columns, which are exact; products in single precision are not used."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always float64."""
        return np.dtype(np.float64)

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        return np.asarray(self.inner.columns(support), dtype=np.float64)

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        return np.asarray(sum(block @ V[part] for part, block in self._blocks()))

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        return np.concatenate([block.T @ U for _, block in self._blocks()])

    def _blocks(self) -> Any:
        for part in chunks(self.shape[1], self.shape[0] * 8):
            yield part, self.columns(np.arange(part.start, part.stop))

    def to_float64(self) -> OperatorMixin:
        """Return itself."""
        return self
