"""Operators for data in memory or mapped from a file: dense arrays and SciPy sparse matrices."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np

from rspca.operators.protocol import BLOCK_BYTES, Array, Meter, OperatorMixin, chunks
from rspca.operators.threads import shared_if_large
from rspca.vectors import nonzeros, spread

CACHE_BYTES = 1 << 24
"""Size of the pieces that are read twice while they are in the last-level cache: large enough that the work between
two BLAS calls does not show."""
FEW_OF_ROWS, FEW_OF_COLUMNS = 0.05, 0.14
"""Share of all columns up to which taking them is quicker than to multiply all, by the order in which X is stored: of
rows every entry costs a line of cache, but the next vector uses nearly the same, and those are kept."""
SOON_MULTIPLIED = 2**17
"""Entries that are all multiplied, or copied, before a few columns are found among them: sketches have as many."""
MOST_TAKEN_OVER = 0.1
"""Share of all columns up to which what the last restriction has of the next is copied from there: both exist then, and
more than these are as quickly read from X."""
MOST_ROWS_SUMMED = 256
"""Rows whose sum is taken in the precision of the data; sums of these sums are float64."""
SINGLE_SAFE = (1e-30, 1e30)
"""Sums of squares that single precision surely held."""
WIDE_BYTES = 1 << 26
"""Size of the blocks of single-precision data that are converted to float64: adding up their products takes little."""
FEW_SHIFTED = 0.1
"""Share of the columns up to which shifted ones are multiplied apart, so that the others go to BLAS as they are."""


def float_type(stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the float type of the products of stored numbers: float32 for half and single precision, else float64."""
    return np.dtype(np.float32 if stored in (np.float16, np.float32) else np.float64)


class _InMemory(OperatorMixin):
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


class DenseOperator(_InMemory):
    """A NumPy array or memmap, float or integer, read in place.

    Floats that BLAS can read go to it directly; anything else is converted block of rows by block of rows, so
    that integer data never exist as a whole in floating point.
    """

    def __init__(
        self, X: Array, meter: Meter | None = None, share: float = 1.0, *, dtype: Any = None, shift: Array | None = None
    ) -> None:
        X = X.view(np.int8) if X.dtype == np.bool_ else X  # the same bytes, which NumPy turns to floats far sooner
        super().__init__(X, meter, share)
        self._dtype = self._dtype if dtype is None else np.dtype(dtype)
        self._shift = None if shift is None else np.asarray(shift, dtype=self._dtype)
        contiguous = X.flags.c_contiguous or X.flags.f_contiguous
        self._direct = contiguous and X.dtype == self._dtype and X.flags.aligned and shift is None
        # Reading each block of rows twice while it is in cache makes X'(Xv) one pass; it needs rows in one piece.
        self._fused = X.flags.c_contiguous and X.shape[0] > 1

    def _blocks(self) -> list[slice]:
        budget = CACHE_BYTES if self._direct else BLOCK_BYTES if self._dtype == float_type(self.X.dtype) else WIDE_BYTES
        return list(chunks(self.shape[0], self.shape[1] * self._dtype.itemsize, budget))

    def _short_blocks(self) -> list[slice]:
        """Blocks of so few rows that sums within them lose nothing in single precision, and, by rows, stay in cache."""
        cached = self.shape[0] if self.X.flags.f_contiguous else max(1, 2**20 // self.shape[1])
        return list(chunks(self.shape[0], 1, min(MOST_ROWS_SUMMED, cached)))

    def _rows(self, part: slice) -> Array:
        rows = np.ascontiguousarray(self.X[part], dtype=self._dtype)
        return rows if self._shift is None else rows - self._shift

    def shifted(self, shift: Array) -> OperatorMixin:
        """X - 1 shift': a few columns apart from the others, or all of them block of rows by block of rows."""
        if np.count_nonzero(shift) <= FEW_SHIFTED * self.shape[1]:
            return super().shifted(shift)
        before = 0.0 if self._shift is None else self._shift
        return DenseOperator(
            self.X, meter=self._meter, share=self._share, dtype=self._dtype, shift=np.asarray(shift) + before
        )

    def to_float64(self) -> DenseOperator:
        """X as the exact numbers it holds, converted block of rows by block of rows."""
        if self._dtype == np.float64:
            return self
        return DenseOperator(self.X, meter=self._meter, share=self._share, dtype=np.float64, shift=self._shift)

    def transposed(self) -> OperatorMixin:
        """Return the operator of X', on the same memory where X is read as it is."""
        return super().transposed() if self._shift is None else OperatorMixin.transposed(self)

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        self._meter.add(self._share)
        V = np.asarray(V, dtype=self._dtype)
        if self._direct:
            with shared_if_large(self.X.size):
                return np.asarray(self.X @ V)
        out = np.empty((self.shape[0], *V.shape[1:]), dtype=self._dtype)
        for part in self._blocks():
            out[part] = self._rows(part) @ V
        return out

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        self._meter.add(self._share)
        U = np.asarray(U, dtype=self._dtype)
        if self._direct:  # for a block of columns in this order: a third less time than X.T @ U
            with shared_if_large(self.X.size):
                return np.asarray((U.T @ self.X).T)
        out = np.zeros((self.shape[1], *U.shape[1:]), dtype=np.float64)
        for part in self._blocks():
            out += self._rows(part).T @ U[part]
        return out.astype(self._dtype, copy=False)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V - 1 shift' in one read of X where its rows are contiguous, or all of it fits the cache.

        For a vector with few non-zeros T needs few columns, and one read is enough in any order.
        """
        V, shift = np.asarray(V, dtype=self._dtype), np.asarray(shift, dtype=self._dtype)
        few = self._few_nonzeros(V)
        if few is not None:
            kept = self._fused  # columns of rows are worth keeping, columns in one piece are as quickly read again
            scores = (self.restrict(few).matmat(V[few]) if kept else self.columns(few) @ V[few]) - shift
            return np.asarray(self.rmatmat(scores), dtype=np.float64), scores
        if self._direct and self.X.nbytes <= 2 * CACHE_BYTES:
            self._meter.add(self._share)
            with shared_if_large(self.X.size):
                scores = self.X @ V - shift
                return np.asarray(self.X.T @ scores, dtype=np.float64), scores
        if not self._fused:
            return super().gram_and_scores(V, shift)
        self._meter.add(self._share)
        out = np.zeros((self.shape[1], *V.shape[1:]), dtype=np.float64)
        scores = np.empty((self.shape[0], *V.shape[1:]), dtype=self._dtype)
        for part in self._blocks():
            rows = self._rows(part)
            with shared_if_large(rows.size):
                scores[part] = rows @ V - shift
                out += rows.T @ scores[part]
            del rows  # or two blocks would be there when the next is made
        return out, scores

    def _few_nonzeros(self, V: Array) -> Array | None:
        """Return the places of the non-zeros of a vector, if it is quicker to take their columns than to multiply."""
        if V.ndim > 1 or self.X.size <= SOON_MULTIPLIED or not self._direct:
            return None
        places = nonzeros(V)
        return places if len(places) <= self.shape[1] * (FEW_OF_ROWS if self._fused else FEW_OF_COLUMNS) else None

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        self._meter.add(self._part(support))
        if self._direct:
            return _take(self.X, support)
        block = np.asarray(self.X[:, support], dtype=self._dtype)
        return block if self._shift is None else block - self._shift[support]

    def all_columns(self) -> Array:
        """X, where it is."""
        if self._shift is not None:
            return super().all_columns()
        self._meter.add(self._share)
        return np.asarray(self.X, dtype=self._dtype)

    def _restricted(self, support: Array) -> OperatorMixin:
        """Return the operator of X[:, support]; supports that are tried in turn differ in few columns."""
        taken = self._taken_over(support)
        if taken is None:
            return super()._restricted(support)
        return DenseOperator(taken, meter=self._meter, share=self._part(support))

    def _taken_over(self, support: Array) -> Array | None:
        """X[:, support], most of it from the last restriction, if that has most of it."""
        last = self._restriction
        if last is None or self.X.size <= SOON_MULTIPLIED or not 0 < len(last[0]) <= MOST_TAKEN_OVER * self.shape[1]:
            return None
        known, columns = last[0], cast(DenseOperator, last[1]).X
        places = np.minimum(np.searchsorted(known, support), len(known) - 1)
        new = np.flatnonzero(known[places] != support)
        if len(new) > len(support) // 2:
            return None
        taken = _take(columns, places)
        taken[:, new] = self.columns(support[new])
        return taken

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings in float64; all columns are converted block of rows by block of rows, where they are."""
        if not np.array_equal(support, np.arange(self.shape[1])):
            return super().scores(support, loadings)
        self._meter.add(self._share)
        rows = chunks(self.shape[0], self.shape[1] * 8)
        return np.concatenate([np.asarray(self._rows(part), dtype=np.float64) @ loadings for part in rows])

    def column_sums(self) -> Array:
        """Sum of each column: float64 across blocks, so that single precision does not lose long columns."""
        return self._moments[0].copy()

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of (x_ij - shift_j)^2, added up in float64 across blocks of rows."""
        if shift is None:
            return self._moments[1].copy()
        self._meter.add(self._share)
        return self._sums(shift)[1]

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Sums and sums of squares of the columns, in one read: who wants the ones soon wants the others."""
        self._meter.add(self._share)
        return self._sums(None)

    def _sums(self, shift: Array | None) -> tuple[Array, Array]:
        sums, squares = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        center = None if shift is None else np.asarray(shift, dtype=self._dtype)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for part in self._short_blocks():
                block = np.asarray(self.X[part], dtype=self._dtype)
                block = block if self._shift is None else block - self._shift
                block = block if center is None else block - center
                sums += np.ones(len(block), dtype=self._dtype) @ block
                squares += np.einsum("ij,ij->j", block, block)
        if self._dtype == np.float32:
            left = np.flatnonzero(~((squares > SINGLE_SAFE[0]) & (squares < SINGLE_SAFE[1])))
            sums[left], squares[left] = self._sums_in_double_precision(left, shift)
        return sums, squares

    def _sums_in_double_precision(self, columns: Array, shift: Array | None) -> tuple[Array, Array]:
        """Sums and sums of squares of columns that left the range of single precision, or are zero."""
        sums, squares = np.zeros(len(columns)), np.zeros(len(columns))
        for part in self._short_blocks() if len(columns) else ():
            self._meter.add(self._part(columns) * (part.stop - part.start) / self.shape[0])
            block = self.X[part][:, columns].astype(np.float64)
            block = block if self._shift is None else block - self._shift[columns]
            block = block if shift is None else block - shift[columns]
            sums += block.sum(axis=0)
            squares += np.einsum("ij,ij->j", block, block)
        return sums, squares


def _take(X: Array, support: Array) -> Array:
    """X[:, support], in half the time of indexing, or less: NumPy writes in place where no index can be wrong."""
    inside = len(support) > 0 and support.min() >= 0 and support.max() < X.shape[1]
    mode: Literal["clip", "raise"] = "clip" if inside else "raise"
    if X.flags.c_contiguous:
        return np.take(X, support, axis=1, mode=mode)
    return np.take(X.T, support, axis=0, mode=mode).T


def each_entry_once(X: Any) -> Any:
    """Return a CSR or CSC matrix whose entries are stored once each, which sums of squares need; a copy if need be."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


class SparseOperator(_InMemory):
    """A SciPy CSR or CSC matrix or array, each entry stored once; never made dense, centered only by a wrapper."""

    first_block = 1
    """Several vectors cost as much together as one by one, and one by one each learns from those before."""

    def __init__(self, X: Any, meter: Meter | None = None, share: float = 1.0) -> None:
        if X.dtype not in (np.float32, np.float64):  # SciPy would convert in each product; indices stay shared
            X = type(X)((X.data.astype(np.float64), X.indices, X.indptr), shape=X.shape)
        super().__init__(X, meter, share)

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
        return np.asarray(self.X.T @ np.asarray(U, dtype=self._dtype))

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V - 1 shift' in one read of X, if it is stored by rows or fits the cache."""
        if len(self._row_blocks) == 0:
            return super().gram_and_scores(V, shift)
        self._meter.add(self._share)
        V, shift = np.asarray(V, dtype=self._dtype), np.asarray(shift, dtype=self._dtype)
        out, scores = np.zeros((self.shape[1], *V.shape[1:])), []
        for block, transposed in self._row_blocks:
            scores.append(block @ V - shift)
            out += transposed @ scores[-1]
        return out, np.concatenate(scores)

    @cached_property
    def _row_blocks(self) -> list[tuple[Any, Any]]:
        """Views of the rows in pieces that fit the cache, with their transposes; none if X is large and CSC."""
        X = self.X
        if X.data.nbytes + X.indices.nbytes <= CACHE_BYTES:
            return [(X, X.T)]
        if X.format == "csc":
            return []
        wanted = np.arange(0, X.nnz, CACHE_BYTES // (X.data.itemsize + X.indices.itemsize))
        cuts = np.unique(np.append(np.searchsorted(X.indptr, wanted, side="right") - 1, self.shape[0]))
        blocks = []
        for first, last in itertools.pairwise(cuts):
            part = slice(X.indptr[first], X.indptr[last])
            rows = (X.data[part], X.indices[part], X.indptr[first : last + 1] - X.indptr[first])
            block = type(X)(rows, shape=(last - first, self.shape[1]))
            blocks.append((block, block.T))
        return blocks

    @cached_property
    def _by_column(self) -> Any:
        """X in the order of columns, from which some are quickly taken, if it is so stored or small enough to copy."""
        small = self.X.data.nbytes + self.X.indices.nbytes <= CACHE_BYTES
        return self.X.tocsc() if small else self.X

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        self._meter.add(self._part(support))
        return np.asarray(self._by_column[:, support].toarray())

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

    def column_sums(self) -> Array:
        """Sum of each column in float64."""
        self._meter.add(self._share)
        return self._column_totals(np.asarray(self.X.data, dtype=np.float64))

    def _column_totals(self, entries: Array) -> Array:
        """Sum of these values in the places of the stored entries: a product, which is quicker than counting bins."""
        values = type(self.X)((entries, self.X.indices, self.X.indptr), shape=self.shape)
        return np.asarray(values.T @ np.ones(self.shape[0]))

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings in float64, from the stored entries."""
        kept = cast(SparseOperator | None, self._last_restriction(support))
        if kept is None and self._by_column.format != "csc":
            self._meter.add(self._share)  # to find columns among rows everything is read: a product is quicker
            return np.asarray(self.X @ spread(loadings, support, self.shape[1]))
        self._meter.add(self._part(support))
        columns = self._by_column[:, support] if kept is None else kept.X
        return np.asarray(columns.astype(np.float64, copy=False) @ loadings)

    def samples_gram(self, weights: Array | None = None) -> Array:
        """X diag(weights) X' in float64, by a sparse product."""
        self._meter.add(self._share)
        X = self.X.astype(np.float64)
        scaled = X if weights is None else X.multiply(weights[None, :]).tocsr()
        return np.asarray((scaled @ X.T).toarray())

    def restricted_bytes(self, k: int) -> int:
        """Memory of k columns, still sparse, if they are as full as the others."""
        each = self.X.data.itemsize + self.X.indices.itemsize
        return int(self.X.nnz * each * min(1.0, k / max(1, self.shape[1])))

    def _restricted(self, support: Array) -> SparseOperator:
        """Return the operator of X[:, support], still sparse."""
        return SparseOperator(self._by_column[:, support], meter=self._meter, share=self._part(support))
