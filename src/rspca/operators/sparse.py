"""Operator for SciPy sparse matrices in memory."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any, cast

import numpy as np

from rspca.base.memory import check_room
from rspca.base.types import Array
from rspca.linalg.vectors import spread
from rspca.operators import in_memory
from rspca.operators.base import Meter, Moments, moments_about_zero
from rspca.operators.in_memory import InMemory
from rspca.operators.permutations import permuted_sparse, strata_of
from rspca.operators.sparse_gram import gram_of_rows, rows_times
from rspca.operators.weighted_products import times_rows


def each_entry_once(X: Any) -> Any:
    """Return a CSR or CSC matrix without duplicate entries, which sums of squares need; a copy if there are any."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _view(kind: Any, shape: tuple[int, int], arrays: tuple[Array, Array, Array]) -> Any:
    """Return a sparse matrix of these arrays; given them at once, SciPy would copy parts of longer arrays."""
    out = kind(shape, dtype=arrays[0].dtype)
    out.data, out.indices, out.indptr = arrays
    return out


class SparseOperator(InMemory):
    """A SciPy CSR or CSC matrix or array, each entry stored once; never made dense, centered only by a wrapper."""

    moments_in_float64 = True
    first_block = 1
    """A block of vectors costs as much as the same vectors one by one, and then each can use those before it."""

    def __init__(self, X: Any, meter: Meter | None = None, share: float = 1.0) -> None:
        if X.dtype not in (np.float32, np.float64):  # SciPy would convert in each product; indices stay shared
            X = type(X)((X.data.astype(np.float64), X.indices, X.indptr), shape=X.shape)
        super().__init__(X, meter, share)

    @property
    def entries(self) -> int:
        """Stored entries."""
        return int(self.X.nnz)

    def permuted(self, rng: np.random.Generator, labels: Array | None = None) -> SparseOperator:
        """Return a copy, still sparse, with each column permuted."""
        size = self.X.data.nbytes + 4 * self.X.indices.nbytes
        check_room(3 * size, "a permuted copy of the data", "Choose fewer features.")
        return SparseOperator(permuted_sparse(self.X, rng, strata_of(labels, self.shape[0])))

    def to_float64(self) -> SparseOperator:
        """X with its stored entries in float64."""
        if self._dtype == np.float64:
            return self
        return SparseOperator(self.X.astype(np.float64), meter=self._meter, share=self._share)

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        self._meter.add(self._share)
        return np.asarray(self.X @ np.asarray(V, dtype=self._dtype))

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        self._meter.add(self._share)
        return np.asarray(self._transpose @ np.asarray(U, dtype=self._dtype))

    @cached_property
    def _transpose(self) -> Any:
        """X' by rows, if X is stored by columns or small enough to copy; else X' on the same memory.

        Made once: SciPy takes as long for it as for a product with few columns. By rows a block takes less time.
        """
        return self._by_column.T

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V - 1 shift' in one read of X, if it is stored by rows or fits the cache."""
        return self._fused_products(V, shift, None)

    def weighted_gram_and_scores(self, V: Array, shift: Array | float, weights: Array) -> tuple[Array, Array]:
        """X' diag(w) T and T = X V - 1 shift', in one read where that is possible."""
        return self._fused_products(V, shift, np.asarray(weights, dtype=self._dtype))

    def _fused_products(self, V: Array, shift: Array | float, weights: Array | None) -> tuple[Array, Array]:
        """Return X'T and T, or X' diag(w) T and T."""
        if len(self._row_blocks) == 0:
            scores = self.matmat(V) - np.asarray(shift, dtype=self._dtype)
            weighed = scores if weights is None else times_rows(weights, scores)
            return np.asarray(self.rmatmat(weighed), dtype=np.float64), scores
        self._meter.add(self._share)
        V, shift = np.asarray(V, dtype=self._dtype), np.asarray(shift, dtype=self._dtype)
        if len(self._row_blocks) == 1:
            scores = self.X @ V - shift
            weighed = scores if weights is None else times_rows(weights, scores)
            return np.asarray(self._transpose @ weighed, dtype=np.float64), scores
        out, parts, first = np.zeros((self.shape[1], *V.shape[1:])), [], 0
        for block, transposed in self._row_blocks:
            scores = block @ V - shift
            parts.append(scores)
            out += transposed @ (
                scores if weights is None else times_rows(weights[first : first + len(scores)], scores)
            )
            first += len(scores)
        return out, np.concatenate(parts)

    @cached_property
    def _row_blocks(self) -> list[tuple[Any, Any]]:
        """Views of the rows in pieces that fit the cache, with their transposes; none if X is large and CSC."""
        X = self.X
        if X.data.nbytes + X.indices.nbytes <= in_memory.CACHE_BYTES:
            return [(X, self._transpose)]
        if X.format == "csc":
            return []
        wanted = np.arange(0, X.nnz, max(1, in_memory.CACHE_BYTES // (X.data.itemsize + X.indices.itemsize)))
        # the first block begins at row 0, though the search skips rows without entries
        rows = np.searchsorted(X.indptr, wanted, side="right") - 1
        cuts = np.unique(np.concatenate([[0], rows, [self.shape[0]]]))
        blocks = []
        for first, last in itertools.pairwise(cuts):
            part = slice(X.indptr[first], X.indptr[last])
            arrays = X.data[part], X.indices[part], X.indptr[first : last + 1] - X.indptr[first]
            shape = (int(last - first), self.shape[1])
            blocks.append((_view(type(X), shape, arrays), _view(type(X.T), shape[::-1], arrays)))
        return blocks

    @cached_property
    def _by_column(self) -> Any:
        """X by columns, from which selecting some is fast, if it is stored so or small enough to copy; else X."""
        small = self.X.data.nbytes + self.X.indices.nbytes <= in_memory.CACHE_BYTES
        return self.X.tocsc() if small else self.X

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        self._meter.add(self._part(support))
        return np.asarray(self._by_column[:, support].toarray())

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S in float64."""
        return self._gram_of_rows(support, None)

    def weighted_gram_matrix(self, support: Array, weights: Array) -> Array:
        """X_S' diag(w) X_S in float64."""
        return self._gram_of_rows(support, np.sqrt(weights))

    def _gram_of_rows(self, support: Array, roots: Array | None) -> Array:
        self._meter.add(self._part(support))
        whole = np.array_equal(support, np.arange(self.shape[1]))
        return gram_of_rows(self.X if whole else self._by_column[:, support], roots)

    def moments(self) -> Moments:
        """Sums and Gram matrix in float64, about zero, because stored zeros cost nothing only there."""
        sums = self._column_totals(np.asarray(self.X.data, dtype=np.float64))
        return moments_about_zero(sums, self.gram_matrix(np.arange(self.shape[1])))

    def gram_between(self, rows: Array, columns: Array) -> Array:
        """X_R'X_C in float64, by a sparse product."""
        return self._gram_between(rows, columns, None)

    def weighted_gram_between(self, rows: Array, columns: Array, weights: Array) -> Array:
        """X_R' diag(w) X_C in float64, by a sparse product."""
        return self._gram_between(rows, columns, weights)

    def _gram_between(self, rows: Array, columns: Array, weights: Array | None) -> Array:
        self._meter.add(self._part(rows) + self._part(columns))
        left, right = (self._by_column[:, some].astype(np.float64, copy=False) for some in (rows, columns))
        left = left if weights is None else rows_times(weights, left.tocsr())
        return np.asarray((left.T @ right).toarray())

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of (x_ij - shift_j)^2: the stored entries one by one, the zeros by their number."""
        self._meter.add(self._share)
        m, n = self.shape
        data = np.asarray(self.X.data, dtype=np.float64)
        if shift is None:
            return self._column_totals(data**2)
        columns = self.X.indices if self.X.format == "csr" else np.repeat(np.arange(n), np.diff(self.X.indptr))
        stored = np.bincount(columns, minlength=n)
        return self._column_totals((data - shift[columns]) ** 2) + (m - stored) * shift**2

    def weighted_sums(self, weights: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Weighted sums, and those of squares about a shift: stored entries one by one, zeros by their weight."""
        self._meter.add(self._share)
        m, n = self.shape
        data = np.asarray(self.X.data, dtype=np.float64)
        if shift is None:
            return self._column_totals(data, weights), self._column_totals(data**2, weights)
        columns = self.X.indices if self.X.format == "csr" else np.repeat(np.arange(n), np.diff(self.X.indptr))
        absent = weights.sum() - self._column_totals(np.ones(len(data)), weights)
        absent[np.bincount(columns, minlength=n) == m] = 0.0  # not the rounding of a difference
        squares = self._column_totals((data - shift[columns]) ** 2, weights) + absent * shift**2
        return self._column_totals(data, weights), squares

    def weighted_moments(self, weights: Array) -> Moments:
        """Weighted sums and Gram matrix in float64, about zero."""
        sums = self._column_totals(np.asarray(self.X.data, dtype=np.float64), weights)
        return moments_about_zero(sums, self.weighted_gram_matrix(np.arange(self.shape[1]), weights))

    def observed_sums(self, weights: Array | None) -> tuple[Array, Array]:
        """Sums over what is not NaN, and weights of what is; zeros that are not stored are observed."""
        self._meter.add(self._share)
        data = np.asarray(self.X.data, dtype=np.float64)
        absent = np.isnan(data)
        return (
            self._column_totals(np.where(absent, 0.0, data), weights),
            self._column_totals(absent.astype(np.float64), weights),
        )

    def with_missing_as(self, fill: Array) -> SparseOperator:
        """Return the operator of the same entries with the number of its column for NaN; indices are shared."""
        absent = np.flatnonzero(np.isnan(self.X.data))
        data = self.X.data.copy()
        data[absent] = fill[self._columns_of(absent)]
        filled = _view(type(self.X), self.shape, (data, self.X.indices, self.X.indptr))
        return SparseOperator(filled, meter=self._meter, share=self._share)

    def _columns_of(self, entries: Array) -> Array:
        """Return the columns of stored entries."""
        if self.X.format == "csr":
            return np.asarray(self.X.indices[entries])
        return np.asarray(np.searchsorted(self.X.indptr, entries, side="right") - 1)

    def rows_at(self, rows: Array) -> SparseOperator | None:
        """Return the operator of a copy of some rows; None if they are too large to be copied."""
        share = len(rows) / max(1, self.shape[0])
        if share * (self.X.data.nbytes + self.X.indices.nbytes) > in_memory.SELECTED_BYTES:
            return None
        return SparseOperator(each_entry_once(self.X[rows]), meter=self._meter, share=self._share * share)

    def column_sums(self) -> Array:
        """Sum of each column in float64."""
        self._meter.add(self._share)
        return self._column_totals(np.asarray(self.X.data, dtype=np.float64))

    def _column_totals(self, entries: Array, weights: Array | None = None) -> Array:
        """Column sums of these values at the stored entries: a product, which is faster than np.bincount."""
        values = type(self.X)((entries, self.X.indices, self.X.indptr), shape=self.shape)
        return np.asarray(values.T @ (np.ones(self.shape[0]) if weights is None else weights))

    def forget_sums(self) -> None:
        """Free vectors of n numbers: there may be more features than samples and entries of each."""
        vars(self).pop("sums", None)
        vars(self).pop("sq_norms", None)

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings in float64, from the stored entries."""
        cached = cast(SparseOperator | None, self._last_restriction(support))
        if cached is None and self._by_column.format != "csc":
            self._meter.add(self._share)  # selecting columns of rows reads everything: a product is faster
            v = spread(loadings, support, self.shape[1])
            # block by block: SciPy copies float32 entries as float64
            return np.concatenate([block @ v for block, _ in self._row_blocks])
        self._meter.add(self._part(support))
        columns = self._by_column[:, support] if cached is None else cached.X
        return np.asarray(columns.astype(np.float64, copy=False) @ loadings)

    def samples_gram(self, weights: Array | None = None) -> Array:
        """X diag(weights) X' in float64, by a sparse product."""
        self._meter.add(self._share)
        X = self.X.astype(np.float64)
        scaled = X if weights is None else X.multiply(weights[None, :]).tocsr()
        return np.asarray((scaled @ X.T).toarray())

    def restricted_bytes(self, k: int) -> int:
        """Bytes of k columns, still sparse, of average density."""
        each = self.X.data.itemsize + self.X.indices.itemsize
        return int(self.X.nnz * each * min(1.0, k / max(1, self.shape[1])))

    def _restricted(self, support: Array) -> SparseOperator:
        """Return the operator of X[:, support], still sparse."""
        return SparseOperator(self._by_column[:, support], meter=self._meter, share=self._part(support))
