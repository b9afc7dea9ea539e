"""Operator for dense arrays in memory or mapped from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np

from rspca.base.memory import check_room
from rspca.base.threads import in_lanes, sum_in_lanes
from rspca.base.types import Array
from rspca.linalg.vectors import nonzeros
from rspca.operators import in_memory
from rspca.operators.base import BLOCK_BYTES, Meter, Moments, OperatorMixin, chunks, returned_by
from rspca.operators.blocks import rows_times
from rspca.operators.gram_products import gram_of_blocks, product_in_lanes
from rspca.operators.in_memory import SELECTED_BYTES, InMemory, float_type
from rspca.operators.permutations import permuted_array, strata_of
from rspca.operators.summed_moments import moments_blocks, moments_of, near_means
from rspca.operators.weighted_products import times_rows

GATHER_ROWS_SHARE, GATHER_COLUMNS_SHARE = 0.05, 0.14
"""Shares of all columns up to which gathering them is faster than multiplying all, for X stored by rows and by columns:
benchmarks/speed.py. By rows every entry costs a cache line, but the next vector uses nearly the same columns."""
GATHER_MIN_ENTRIES = 2**17
"""Entries of X up to which all are multiplied, or copied, without gathering columns; sketches are as small:
benchmarks/speed.py."""
REUSE_SHARE = 0.1
"""Share of all columns up to which a restriction copies columns from the last one; both exist at once, and more columns
are read from X as fast: benchmarks/speed.py."""
SUMMED_ROWS = 256
"""Rows that are summed in the precision of the data, before float64: 256 float32 numbers lose at most two digits."""
FLOAT32_SAFE_SUMS = (1e-30, 1e30)
"""Arithmetic: sums of squares that are far inside the range of float32."""
FLOAT64_BLOCK_BYTES = 1 << 26
"""Bytes of a block of float32 data that is converted to float64, so that adding block products takes little time."""
SHIFTED_SHARE = 0.1
"""Share of the columns up to which shifted ones are multiplied separately, and the others by BLAS without a copy:
benchmarks/centering.py."""
FEW_VECTORS, FEW_VECTORS_BYTES = 4, 1 << 22
"""Vectors up to which a few rows at a time, so many bytes, are multiplied by one after another. For a product with so
few vectors at once BLAS copies X, which takes as long as four more of them: benchmarks/users.py."""
COPIED_BYTES = 1 << 20
"""Bytes of the rows that a lane gathers and converts at a time, so that they stay in cache: not tuned."""
READ_TWICE_SHARE = 3 / 8
"""Share of the cache that a block of rows fills which is read twice. Blocks have equal lengths, as lanes share them.
With blocks of 16 MB instead of 6, X'(Xv) takes 10 to 20 % more time: benchmarks/speed.py."""
LANE_ENTRIES, MOST_LANES = 1 << 20, 8
"""Entries of X in each part that a lane multiplies, about, and parts at most; more threads wait for memory. Parts are
the same for any number of lanes, and so is every bit of a product: benchmarks/users.py."""


@returned_by("restrict")
class DenseOperator(InMemory):
    """A NumPy array or memmap, float or integer, read in place.

    Floats that BLAS can read go to it directly; anything else is converted block of rows by block of rows, so
    that integer data never exist as a whole in floating point.
    """

    def __init__(
        self, X: Array, meter: Meter | None = None, share: float = 1.0, *, dtype: Any = None, shift: Array | None = None
    ) -> None:
        X = X.view(np.int8) if X.dtype == np.bool_ else X  # the same bytes, which NumPy converts much faster
        super().__init__(X, meter, share)
        self._dtype = self._dtype if dtype is None else np.dtype(dtype)
        self._shift = None if shift is None else np.asarray(shift, dtype=self._dtype)
        contiguous = X.flags.c_contiguous or X.flags.f_contiguous
        self._direct = contiguous and X.dtype == self._dtype and X.flags.aligned and shift is None
        # Reading each block of rows twice while it is in cache makes X'(Xv) one pass; rows must be contiguous.
        self._fused = X.flags.c_contiguous and X.shape[0] > 1

    @property
    def contiguous_columns(self) -> bool:  # type: ignore[override]
        """Whether X is stored by columns."""
        return bool(self.X.flags.f_contiguous)

    def _blocks(self) -> list[slice]:
        row_bytes = self.shape[1] * self._dtype.itemsize
        if self._direct:
            count = -(-self.shape[0] * row_bytes // int(READ_TWICE_SHARE * in_memory.CACHE_BYTES))
            return list(chunks(self.shape[0], 1, -(-self.shape[0] // count)))
        converted = BLOCK_BYTES if self._dtype == float_type(self.X.dtype) else FLOAT64_BLOCK_BYTES
        return list(chunks(self.shape[0], row_bytes, converted))

    def _short_blocks(self) -> list[slice]:
        """Blocks of few rows, so that sums in single precision are accurate and, by rows, stay in cache."""
        cached = self.shape[0] if self.X.flags.f_contiguous else max(1, 2**20 // self.shape[1])
        return list(chunks(self.shape[0], 1, min(SUMMED_ROWS, cached)))

    def _rows(self, part: slice) -> Array:
        rows = np.ascontiguousarray(self.X[part], dtype=self._dtype)
        return rows if self._shift is None else rows - self._shift

    def shifted(self, shift: Array) -> OperatorMixin:
        """X - 1 shift': a few shifted columns separately, or all columns block of rows by block of rows."""
        if np.count_nonzero(shift) <= SHIFTED_SHARE * self.shape[1]:
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

    def permuted(self, rng: np.random.Generator, labels: Array | None = None) -> OperatorMixin:
        """Return a copy with each column permuted."""
        check_room(2 * self.X.nbytes, "a permuted copy of the data", "Choose fewer features.")
        X = permuted_array(np.asarray(self.X), rng, strata_of(labels, self.shape[0]))
        return DenseOperator(X, dtype=self._dtype, shift=self._shift)

    def transposed(self) -> OperatorMixin:
        """Return the operator of X', on the same memory unless X is shifted."""
        return super().transposed() if self._shift is None else OperatorMixin.transposed(self)

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        self._meter.add(self._share)
        V = np.asarray(V, dtype=self._dtype)
        if self._direct:
            return self._product(V)
        out = np.empty((self.shape[0], *V.shape[1:]), dtype=self._dtype)
        for part in self._blocks():
            out[part] = self._rows(part) @ V
        return out

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        self._meter.add(self._share)
        U = np.asarray(U, dtype=self._dtype)
        if self._direct:
            return self._transposed_product(U)
        out = np.zeros((self.shape[1], *U.shape[1:]), dtype=np.float64)
        for part in self._blocks():
            out += self._rows(part).T @ U[part]
        return out.astype(self._dtype, copy=False)

    def _product(self, V: Array) -> Array:
        """X V, in lanes that share the longer side of X."""
        if self.X.size < 2 * LANE_ENTRIES:
            return np.asarray(self.X @ V)
        m, n = self.shape
        parts = _lane_parts(max(m, n), self.X.size)
        if m < n:
            return sum_in_lanes(lambda part: self.X[:, part] @ V[part], parts)
        out = np.empty((m, *V.shape[1:]), dtype=self._dtype)

        def product(part: slice) -> None:
            out[part] = rows_times(self.X[part], V)

        in_lanes(product, parts)
        return out

    def _transposed_product(self, U: Array) -> Array:
        """X'U, in lanes that share the longer side of X."""
        if self.X.size < 2 * LANE_ENTRIES:
            return np.asarray((U.T @ self.X).T)  # for a block of columns a third less time than X.T @ U
        m, n = self.shape
        parts = _lane_parts(max(m, n), self.X.size)
        if m >= n:
            return sum_in_lanes(lambda part: U[part].T @ self.X[part], parts).T
        out = np.empty((*U.shape[1:], n), dtype=self._dtype)
        in_lanes(lambda part: np.matmul(U.T, self.X[:, part], out=out[..., part]), parts)
        return out.T

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V - 1 shift' in one read of X where its rows are contiguous, or all of it fits the cache.

        For a vector with few non-zeros T needs few columns, and one read is enough in any order.
        """
        return self._fused_products(V, shift, None)

    def weighted_gram_and_scores(self, V: Array, shift: Array | float, weights: Array) -> tuple[Array, Array]:
        """X' diag(w) T and T = X V - 1 shift', in one read where that is possible."""
        return self._fused_products(V, shift, np.asarray(weights, dtype=self._dtype))

    def _fused_products(self, V: Array, shift: Array | float, weights: Array | None) -> tuple[Array, Array]:
        """Return X'T and T, or X' diag(w) T and T."""
        V, shift = np.asarray(V, dtype=self._dtype), np.asarray(shift, dtype=self._dtype)
        few = self._few_nonzeros(V)
        if few is not None:
            cached = self._fused  # columns of X by rows are worth caching; contiguous columns are read as fast again
            scores = (self.restrict(few).matmat(V[few]) if cached else self.columns(few) @ V[few]) - shift
            if V.ndim == 2 and cached and weights is None:
                return self._transposed_one_by_one(scores), scores
            return np.asarray(self.rmatmat(_weighed(weights, scores)), dtype=np.float64), scores
        if self._direct and self.X.nbytes <= 2 * in_memory.CACHE_BYTES:
            self._meter.add(self._share)
            scores = self._product(V) - shift
            return np.asarray(self._transposed_product(_weighed(weights, scores)), dtype=np.float64), scores
        if not self._fused:
            scores = self.matmat(V) - shift
            return np.asarray(self.rmatmat(_weighed(weights, scores)), dtype=np.float64), scores
        if self._direct and weights is None and V.ndim == 2 and V.shape[1] <= FEW_VECTORS:
            return self._one_by_one(V, np.broadcast_to(shift, V.shape[1]))
        self._meter.add(self._share)
        out = np.zeros((self.shape[1], *V.shape[1:]), dtype=np.float64, order="F")
        scores = np.empty((self.shape[0], *V.shape[1:]), dtype=self._dtype)

        def products(part: slice) -> Array:
            rows = self._rows(part)
            scores[part] = rows_times(rows, V) - shift
            weighed = _weighed(None if weights is None else weights[part], scores[part])
            return np.asarray((weighed.T @ rows).T)  # for a block of columns a tenth less time than rows.T @ scores

        in_lanes(products, self._blocks(), lambda product: np.add(out, product, out=out))
        return out, scores

    def _one_by_one(self, V: Array, shift: Array) -> tuple[Array, Array]:
        """X'T and T = X V - 1 shift' of a few vectors, one after another for rows that are in cache."""
        V, scores = np.asfortranarray(V), np.empty((self.shape[0], V.shape[1]), dtype=self._dtype, order="F")

        def score(part: slice) -> None:
            for column, own in enumerate(scores[part].T):
                own[:] = rows_times(self.X[part], V[:, column]) - shift[column]

        return self._transposed_one_by_one(scores, score), scores

    def _transposed_one_by_one(self, scores: Array, score: Callable[[slice], None] | None = None) -> Array:
        """X'T of a few vectors, one after another for rows that are in cache; `score` computes T of these rows."""
        self._meter.add(self._share)
        scores = scores if scores.flags.f_contiguous else np.asfortranarray(scores)
        out = np.zeros((self.shape[1], scores.shape[1]), order="F")

        def products(part: slice) -> Array:
            if score is not None:
                score(part)
            product = np.empty(out.shape, dtype=self._dtype, order="F")
            for own, column in zip(scores[part].T, product.T, strict=True):
                np.matmul(own, self.X[part], out=column)
            return product

        parts = chunks(self.shape[0], self.shape[1] * self._dtype.itemsize, FEW_VECTORS_BYTES)
        in_lanes(products, parts, lambda product: np.add(out, product, out=out))
        return out

    def _few_nonzeros(self, V: Array) -> Array | None:
        """Return the non-zeros of a few vectors if gathering their columns is faster than multiplying all of X."""
        few = V.ndim == 1 or V.shape[1] <= FEW_VECTORS
        if not few or self.X.size <= GATHER_MIN_ENTRIES or not self._direct:
            return None
        places = nonzeros(np.asarray(V.any(axis=1)) if V.ndim == 2 else V)
        share = GATHER_ROWS_SHARE if self._fused else GATHER_COLUMNS_SHARE
        return places if len(places) <= self.shape[1] * share else None

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        self._meter.add(self._part(support))
        if self._direct:
            return take_columns(self.X, support)
        block = np.asarray(self.X[:, support], dtype=self._dtype)
        return block if self._shift is None else block - self._shift[support]

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S in float64, block of rows by block of rows."""
        return self._gram_by_rows(support, None)

    def weighted_gram_matrix(self, support: Array, weights: Array) -> Array:
        """X_S' diag(w) X_S in float64, block of rows by block of rows."""
        return self._gram_by_rows(support, np.sqrt(weights))

    def _gram_by_rows(self, support: Array, roots: Array | None) -> Array:
        self._meter.add(self._part(support))
        parts = chunks(self.shape[0], max(1, len(support)) * 8)
        blocks = (_weighed(None if roots is None else roots[part], self._in_float64(part, support)) for part in parts)
        return gram_of_blocks(blocks, len(support))

    def gram_between(self, rows: Array, columns: Array) -> Array:
        """X_R'X_C in float64, block of rows by block of rows."""
        return self._gram_between(rows, columns, None)

    def weighted_gram_between(self, rows: Array, columns: Array, weights: Array) -> Array:
        """X_R' diag(w) X_C in float64, block of rows by block of rows."""
        return self._gram_between(rows, columns, weights)

    def _gram_between(self, rows: Array, columns: Array, weights: Array | None) -> Array:
        self._meter.add(self._part(rows) + self._part(columns))
        out, places = np.zeros((len(rows), len(columns))), _places(rows, columns)
        each = max(1, len(rows) + len(columns)) * 8
        for part in chunks(self.shape[0], each, BLOCK_BYTES // 2):
            right = self._in_float64(part, columns)
            # from the copy they come in half the time
            left = self._in_float64(part, rows) if places is None else right.take(places, axis=1)
            left = _weighed(None if weights is None else weights[part], left)
            product_in_lanes(left.T, right, out, add=True)
        return out

    def moments(self) -> Moments:
        """Sums and Gram matrix in one read, in float64, about the means of some rows where these are not small."""
        return self._moments_by_rows(None)

    def weighted_moments(self, weights: Array) -> Moments:
        """Weighted sums and Gram matrix in one read, in float64."""
        return self._moments_by_rows(weights)

    def _moments_by_rows(self, weights: Array | None) -> Moments:
        m, n = self.shape
        some = self._rows(slice(0, m, max(1, m // SUMMED_ROWS)))

        def blocks() -> Iterator[slice]:
            self._meter.add(self._share)
            return moments_blocks(m, n)

        near = near_means(np.asarray(some, dtype=np.float64))
        return moments_of(blocks, lambda part: (part, self._rows(part)), near, weights)

    @property
    def moments_in_float64(self) -> bool:  # type: ignore[override]
        """Whether no number was rounded when it was shifted."""
        return self._shift is None or self._dtype == np.float64

    def _in_float64(self, part: slice, support: Array) -> Array:
        """Return some columns of a block of rows in float64; lanes share the rows."""
        if self._dtype == np.float64 and np.array_equal(support, np.arange(self.shape[1])):
            return self._rows(part)
        out = np.empty((part.stop - part.start, len(support)))

        def copy(some: slice) -> None:
            out[some] = self._rows_of(slice(part.start + some.start, part.start + some.stop), support)

        in_lanes(copy, chunks(len(out), 8 * len(support), COPIED_BYTES))
        return out

    def _rows_of(self, part: slice, support: Array) -> Array:
        """Return some columns of a block of rows."""
        rows = np.asarray(take_columns(self.X[part], support), dtype=self._dtype)
        return rows if self._shift is None else rows - self._shift[support]

    def all_columns(self) -> Array:
        """X, where it is."""
        if self._shift is not None:
            return super().all_columns()
        self._meter.add(self._share)
        return np.asarray(self.X, dtype=self._dtype)

    def _restricted(self, support: Array) -> OperatorMixin:
        """Return the operator of X[:, support]; supports that are tried in turn differ in few columns."""
        columns = self._reused(support)
        if columns is None:
            return super()._restricted(support)
        return DenseOperator(columns, meter=self._meter, share=self._part(support))

    def _reused(self, support: Array) -> Array | None:
        """X[:, support], mostly copied from the last restriction, if that has most of these columns."""
        last = self._restriction
        if last is None or self.X.size <= GATHER_MIN_ENTRIES or not 0 < len(last[0]) <= REUSE_SHARE * self.shape[1]:
            return None
        cached, columns = last[0], cast(DenseOperator, last[1]).X
        places = np.minimum(np.searchsorted(cached, support), len(cached) - 1)
        new = np.flatnonzero(cached[places] != support)
        if len(new) > len(support) // 2:
            return None
        taken = take_columns(columns, places)
        taken[:, new] = self.columns(support[new])
        return taken

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings in float64; if S is all columns, they are converted block of rows by block of rows."""
        if not np.array_equal(support, np.arange(self.shape[1])):
            return super().scores(support, loadings)
        self._meter.add(self._share)
        out = np.empty(self.shape[0])

        def score(part: slice) -> None:
            out[part] = rows_times(np.asarray(self._rows(part), dtype=np.float64), loadings)

        in_lanes(score, chunks(self.shape[0], self.shape[1] * 8, BLOCK_BYTES // 4))  # each lane has a copy
        return out

    def column_sums(self) -> Array:
        """Sum of each column: float64 across blocks, so that long columns do not lose digits in single precision."""
        return self._moments[0].copy()

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of (x_ij - shift_j)^2, added up in float64 across blocks of rows."""
        if shift is None:
            return self._moments[1].copy()
        self._meter.add(self._share)
        return self.sums_about(shift)[1]

    def weighted_sums(self, weights: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Weighted sums of the columns, and of their squares about a shift, in float64, in one read."""
        self._meter.add(self._share)
        sums, squares = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for part in self._short_blocks():
                block = np.asarray(self._rows(part), dtype=np.float64)
                sums += weights[part] @ block
                squares += weights[part] @ np.square(block if shift is None else block - shift)
        return sums, squares

    def observed_sums(self, weights: Array | None) -> tuple[Array, Array] | None:
        """Sums over what is not NaN, and weights of what is, in float64; None for integers."""
        if self.X.dtype.kind != "f":
            return None
        self._meter.add(self._share)
        sums, missing = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for part in self._short_blocks():
            a, b = observed_in(self.X[part], None if weights is None else weights[part])
            sums += a
            missing += b
        return sums, missing

    def with_missing_as(self, fill: Array) -> DenseOperator:
        """Return the operator of a copy in which NaN is the number of its column."""
        if self.X.dtype.kind != "f":
            return self
        X = np.array(self.X, dtype=self._dtype)
        for part in self._short_blocks():
            fill_nan(X[part], fill)
        return DenseOperator(X, meter=self._meter, share=self._share)

    def rows_at(self, rows: Array) -> DenseOperator | None:
        """Return the operator of a copy of some rows; None if they are too large to be copied."""
        if len(rows) * self.X.itemsize * self.shape[1] > SELECTED_BYTES or self._shift is not None:
            return None
        share = self._share * len(rows) / max(1, self.shape[0])
        return DenseOperator(self.X[rows], meter=self._meter, share=share, dtype=self._dtype)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Sums and sums of squares of the columns, in one read, because both are needed."""
        self._meter.add(self._share)
        return self.sums_about(None)

    def sums_about(self, shift: Array | None) -> tuple[Array, Array]:
        """Sums of the columns, and of their squares about a shift, in one read that is not counted."""
        sums, squares = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        center = None if shift is None else np.asarray(shift, dtype=self._dtype)

        def sums_of(part: slice) -> tuple[Array, Array]:
            block = np.asarray(self.X[part], dtype=self._dtype)
            block = block if self._shift is None else block - self._shift
            block = block if center is None else block - center
            return np.ones(len(block), dtype=self._dtype) @ block, np.einsum("ij,ij->j", block, block)

        def add(found: tuple[Array, Array]) -> None:
            np.add(sums, found[0], out=sums)
            np.add(squares, found[1], out=squares)

        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            in_lanes(sums_of, self._short_blocks(), add)
        if self._dtype == np.float32:
            unsafe = np.flatnonzero(~((squares > FLOAT32_SAFE_SUMS[0]) & (squares < FLOAT32_SAFE_SUMS[1])))
            sums[unsafe], squares[unsafe] = self._sums_in_double_precision(unsafe, shift)
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


def _lane_parts(length: int, entries: int) -> list[slice]:
    """Return the parts of the longer side of X that lanes share: some of equal length, aligned to cache lines."""
    count = min(entries // LANE_ENTRIES, MOST_LANES)
    return list(chunks(length, 1, -(-length // (16 * count)) * 16))


def _places(some: Array, features: Array) -> Array | None:
    """Return where some features are among others, which are sorted; None unless all of them are there."""
    if not len(features):
        return None
    places = np.minimum(np.searchsorted(features, some), len(features) - 1)
    return places if np.array_equal(features[places], some) else None


def observed_in(rows: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return sums over what is not NaN in a block of rows, and weights of what is, in float64."""
    absent = np.isnan(rows)
    values = np.where(absent, 0.0, np.asarray(rows, dtype=np.float64))
    each = np.ones(len(rows)) if weights is None else weights
    return each @ values, each @ absent


def fill_nan(rows: Array, fill: Array) -> None:
    """Replace NaN in a block of rows by the number of its column, in place."""
    absent = np.isnan(rows)
    if absent.any():
        np.copyto(rows, np.asarray(fill, dtype=rows.dtype), where=absent)


def _weighed(factors: Array | None, rows: Array) -> Array:
    """Return rows, or a vector, times factors; as they are without factors."""
    return rows if factors is None else times_rows(factors, rows)


def take_columns(X: Array, support: Array) -> Array:
    """X[:, support] in at most half the time of indexing: NumPy needs no buffer if no index can be out of range."""
    inside = len(support) > 0 and support.min() >= 0 and support.max() < X.shape[1]
    mode: Literal["clip", "raise"] = "clip" if inside else "raise"
    if X.flags.c_contiguous:
        return np.take(X, support, axis=1, mode=mode)
    return np.take(X.T, support, axis=0, mode=mode).T
