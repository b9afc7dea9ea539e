"""Base of the operators that change what another operator computes, without touching its data."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import Meter, OperatorMixin


class Wrapper(OperatorMixin):
    """An operator around another operator: everything that is not overridden is that of the inner one."""

    def __init__(self, inner: OperatorMixin) -> None:
        self.inner = inner

    @property
    def has_samples(self) -> bool:  # type: ignore[override]
        """Whether rows are samples."""
        return self.inner.has_samples

    @property
    def own_threads(self) -> bool:  # type: ignore[override]
        """Whether products run in threads of their own."""
        return self.inner.own_threads

    @property
    def selects_columns(self) -> bool:  # type: ignore[override]
        """Whether some columns are read without reading the others."""
        return self.inner.selects_columns

    @property
    def first_block(self) -> int:  # type: ignore[override]
        """Vectors that are multiplied together at first."""
        return self.inner.first_block

    @property
    def offset(self) -> float:  # type: ignore[override]
        """Multiple of the identity in X'X that is not variance."""
        return self.inner.offset

    @property
    def has_gram_errors(self) -> bool:  # type: ignore[override]
        """Whether X'X stands for a Gram matrix that differs from it."""
        return self.inner.has_gram_errors

    def apart(self) -> Self:
        """Return the same wrapper of the wrapped data for other work."""
        inner = self.inner.apart()
        if inner is self.inner:
            return self
        other = copy.copy(self)
        other.inner = inner
        return other

    def forget_gram(self) -> None:
        """Free the memory of the Gram matrix of the wrapped data."""
        self.inner.forget_gram()

    def gram_errors(self) -> Array:
        """Errors of X'X of the wrapped data; subtracting a mean does not enlarge them."""
        return self.inner.gram_errors()

    def data_errors(self) -> Array:
        """Errors of the columns of the wrapped data; subtracting a mean or a projection does not enlarge them."""
        return self.inner.data_errors()

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        return self.inner.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float type of the products."""
        return self.inner.dtype

    @property
    def meter(self) -> Meter:
        """Counter of passes of the wrapped data."""
        return self.inner.meter

    @property
    def row_weights(self) -> Array | None:
        """Weights of the samples of the wrapped data."""
        return self.inner.row_weights

    @property
    def entries(self) -> int:
        """Numbers that one product reads."""
        return self.inner.entries

    def forget_restriction(self) -> None:
        """Free the columns that are cached, those of the wrapped data too."""
        super().forget_restriction()
        self.inner.forget_restriction()

    def restricted_bytes(self, k: int) -> int:
        """Bytes of the restricted data."""
        return self.inner.restricted_bytes(k)
