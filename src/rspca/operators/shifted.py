"""X - 1 shift' for columns far from zero: the shift is subtracted before anything is multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from rspca.base.types import Array
from rspca.linalg.vectors import nonzeros
from rspca.operators.base import OperatorMixin, chunks, returned_by
from rspca.operators.dense import GATHER_COLUMNS_SHARE, GATHER_MIN_ENTRIES, GATHER_ROWS_SHARE
from rspca.operators.wrapper import Wrapper

CACHED_BYTES = 1 << 26
"""Bytes of shifted columns that are stored; larger ones are read again for each product: benchmarks/centering.py."""


@returned_by("shifted")
class Shifted(Wrapper):
    """X - 1 shift', in which the columns with a shift are multiplied separately.

    A product with columns whose mean is 1e6 times their spread loses six digits before the mean is subtracted.
    Subtracting a number of the same float type first loses none.
    """

    def __init__(self, inner: OperatorMixin, shift: Array) -> None:
        super().__init__(inner)
        self.shift = np.asarray(shift, dtype=np.float64)
        self._far = np.flatnonzero(self.shift)

    def matmat(self, V: Array, /) -> Array:
        """(X - 1 shift') V; of vectors with few non-zeros, from their columns."""
        few = self._few_nonzeros(V)
        if few is not None:
            return self.columns(few) @ np.asarray(V[few], dtype=self.dtype)
        near = np.array(V, dtype=self.dtype)
        near[self._far] = 0.0
        product = self.inner.matmat(near)
        for part, block in self._far_blocks():
            product = product + block @ np.asarray(V[self._far[part]], dtype=self.dtype)
        return product

    def _few_nonzeros(self, V: Array) -> Array | None:
        """Return the non-zeros of vectors if their columns, dense, are a small part of what a product reads."""
        entries = self.inner.entries
        if entries <= GATHER_MIN_ENTRIES:
            return None
        places = nonzeros(V if V.ndim == 1 else np.asarray(V.any(axis=1)))
        share = GATHER_COLUMNS_SHARE if self.inner.contiguous_columns else GATHER_ROWS_SHARE
        return places if len(places) * self.shape[0] <= share * entries else None

    def rmatmat(self, U: Array, /) -> Array:
        """(X - 1 shift')' U."""
        product, U = np.array(self.inner.rmatmat(U)), np.asarray(U, dtype=self.dtype)
        for part, block in self._far_blocks():
            product[self._far[part]] = block.T @ U
        return product

    def columns(self, support: Array, /) -> Array:
        """X[:, support] - 1 shift_S', dense."""
        return self.inner.columns(support) - np.asarray(self.shift[support], dtype=self.dtype)

    def scores(self, support: Array, loadings: Array) -> Array:
        """(X_S - 1 shift_S') loadings in float64."""
        far = self.shift[support] != 0.0
        scores = self.inner.scores(support[~far], loadings[~far])
        for part in chunks(int(far.sum()), self.shape[0] * 8):
            block = self.columns(support[far][part])
            scores = scores + block.astype(np.float64) @ loadings[far][part]
        return scores

    def column_sums(self) -> Array:
        """Sum of each shifted column, float64."""
        sums = self.inner.column_sums()
        for part, block in self._far_blocks():
            sums[self._far[part]] = block.sum(axis=0, dtype=np.float64)
        return sums

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum of squares of each shifted column, about another shift if one is given; float64."""
        norms = self.inner.column_sq_norms(shift)
        for part, block in self._far_blocks():
            far = self._far[part]
            about = block.astype(np.float64) - (0.0 if shift is None else shift[far])
            norms[far] = np.einsum("ij,ij->j", about, about)
        return norms

    def rounding_lengths(self) -> Array:
        """Lengths of the columns; of shifted columns after the shift."""
        lengths = np.array(self.inner.rounding_lengths())
        if not isinstance(self.inner, Wrapper):  # the columns are exact
            lengths[self._far] = 0.0
        lengths[self._far] += np.sqrt(self.sq_norms[self._far])
        return lengths

    def restrict(self, support: Array) -> OperatorMixin:
        """Restrict data and shift."""
        part, shift = self.inner.restrict(support), self.shift[support]
        return part.shifted(shift) if shift.any() else part

    def to_float64(self) -> OperatorMixin:
        """X - 1 shift' with products in float64."""
        return self if self.dtype == np.float64 else Shifted(self.inner.to_float64(), self.shift)

    def _far_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the shifted columns in blocks: which of them, and their values."""
        if len(self._far) * self.shape[0] * self.dtype.itemsize <= CACHED_BYTES:
            yield slice(0, len(self._far)), self._cached
            return
        for part in chunks(len(self._far), self.shape[0] * 8):
            yield part, self.columns(self._far[part])

    @cached_property
    def _cached(self) -> Array:
        return self.columns(self._far)
