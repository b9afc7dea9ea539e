"""Data larger than memory: anything with a shape and row slices, streamed block by block, read once per product."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.arguments import argument
from rspca.base.checks import spelled, without_mask
from rspca.base.threads import in_lanes, lane_count
from rspca.base.types import Array
from rspca.operators.base import DataOperator, Meter, Moments, OperatorMixin, chunks, moments_about_zero
from rspca.operators.blocks import rows_times
from rspca.operators.column_cache import ColumnCache
from rspca.operators.dense import SUMMED_ROWS, DenseOperator, fill_nan, observed_in, take_columns
from rspca.operators.in_memory import float_type
from rspca.operators.sparse import each_entry_once
from rspca.operators.sparse_gram import gram_of_rows
from rspca.operators.stored_rows import StoredRows, row_bytes_of
from rspca.operators.summed_moments import moments_blocks, moments_of, near_means
from rspca.operators.weighted_products import times_rows

DEFAULT_MEMORY = 1 << 30
"""Bytes of all blocks in flight, if the user names no limit: benchmarks/scale.py."""
MOST_LANES = 4
"""Threads that multiply blocks, at most: each needs memory for blocks of its own."""
BLOCKS_IN_MEMORY = 2 * MOST_LANES + 2
"""Blocks that exist at once: of each lane as read and as floats, the next one, and products of them. Counted."""
MAX_BLOCK_BYTES = 1 << 23
"""Bytes of the largest block: both products of a fused pass find it in the last-level cache: benchmarks/scale.py."""
CACHED_SHARE = 0.1
"""Share of the columns up to which those of a Gram matrix are cached: limit of memory."""
STREAMED_SHARE = 0.5
"""Share of the machine's memory above which a mapped file is streamed; the system's cache would not hold it."""
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


class BlockOperator(DataOperator):
    """Rows that come in slices: a mapped array, an HDF5 dataset, a backed AnnData matrix, dense or sparse.

    Each product goes through the rows once, and the next block is read while this one is multiplied; X'(Xv) is one
    read. Integers become floats block by block. Columns cost a read of everything, so recently used ones are cached.

    Parameters
    ----------
    source : object with ``shape``, ``dtype`` and row slices
        ``source[a:b]`` returns rows as an array or a SciPy sparse matrix. It may have ``row_bytes``, what a row takes
        in memory; otherwise rows are counted as dense.
    max_memory : int or str
        Bytes for the blocks in memory, and at most as many for cached columns, as a number or "500MB".
    """

    columns_are_copies = True

    def __init__(
        self,
        source: Any,
        max_memory: int | str | None = None,
        *,
        dtype: Any = None,
        shift: Array | None = None,
        fill: Array | None = None,
        meter: Meter | None = None,
    ) -> None:
        super().__init__(source.shape, float_type(np.dtype(source.dtype)) if dtype is None else dtype, meter)
        self.source = source
        self.max_memory = memory_size(max_memory)
        self._reading = _reader(source)
        self._file = _hdf5_file(source)
        self._file_bytes = _size(self._file)
        self._shift = None if shift is None else np.asarray(shift, dtype=self._dtype)
        self._fill = fill
        """What NaN counts as in each column; None if it is an error."""
        self._bytes_each = row_bytes_of(source)
        self._cache = ColumnCache(self.restricted_bytes(1), self.max_memory)

    def _slices(self) -> list[slice]:
        budget = min(self.max_memory // BLOCKS_IN_MEMORY, MAX_BLOCK_BYTES)
        return list(chunks(self.shape[0], self._bytes_each, budget))

    def _stream(self) -> Iterator[tuple[slice, Any]]:
        """Yield every block of rows as floats, in order, while a thread reads the next: one pass."""
        with closing(self._stream_as_read(2)) as blocks:
            for part, block in blocks:
                yield part, self._floats(block)

    def _stream_as_read(self, in_use: int) -> Generator[tuple[slice, Any]]:
        """Yield every block of rows as it is read, in order; the last but `in_use` may be overwritten: one pass."""
        self._meter.add(1.0)
        parts, read = self._slices(), self._reading(in_use)
        with ThreadPoolExecutor(1, "rspca-read") as reader:
            coming = reader.submit(read, parts[0])
            for part, following in zip(parts, [*parts[1:], None], strict=True):
                block = coming.result()
                if following is not None:
                    coming = reader.submit(read, following)
                yield part, block
        if _size(self._file) < self._file_bytes:  # HDF5 would return zeros for the missing part
            raise ValueError(f"{self._file} ended early: it was cut off while it was being read.")

    def _floats(self, block: Any) -> Any:
        if scipy.sparse.issparse(block):
            rows = block.astype(self._dtype, copy=False)
            return rows if self._fill is None else _with_filled_entries(rows.tocsr(), self._fill)
        if self._fill is None:
            rows = np.asarray(without_mask(block), dtype=self._dtype)
        else:
            rows = _with_nan(block, self._dtype)
            fill_nan(rows, self._fill)
        return rows if self._shift is None else rows - self._shift

    def observed_sums(self, weights: Array | None) -> tuple[Array, Array]:
        """Sums over what is not NaN or masked, and weights of what is, in one read."""
        sums, missing = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for part, rows in self._with(fill=np.full(self.shape[1], np.nan))._stream():
            each = None if weights is None else weights[part]
            a, b = _observed_entries(rows, each) if scipy.sparse.issparse(rows) else observed_in(rows, each)
            sums += a
            missing += b
        return sums, missing

    def with_missing_as(self, fill: Array) -> BlockOperator:
        """Return the same rows with NaN replaced as they are read."""
        return self._with(fill=fill)

    def _with(self, **changed: Any) -> BlockOperator:
        """Return the operator of the same source with other settings, and the same counter of passes."""
        settings = {"dtype": self._dtype, "shift": self._shift, "fill": self._fill, "meter": self._meter}
        other = BlockOperator(self.source, self.max_memory, **settings | changed)
        other._bytes_each = self._bytes_each
        return other

    def shifted(self, shift: Array) -> OperatorMixin:
        """X - 1 shift', block of rows by block of rows; sparse rows stay sparse, with shifted columns separate."""
        if scipy.sparse.issparse(self._reading(1)(slice(0, 1))):
            return super().shifted(shift)
        before = 0.0 if self._shift is None else self._shift
        return self._with(shift=np.asarray(shift) + before)

    def permuted(self, rng: np.random.Generator, labels: Array | None = None) -> OperatorMixin:
        """Refuse: every column would have to be moved as a whole, again and again."""
        raise ValueError(
            "Data that are streamed from a file cannot be permuted column by column: every column would be moved as a "
            "whole. Load them into memory, or fewer samples or features of them."
        )

    def to_float64(self) -> BlockOperator:
        """X as the exact numbers it holds, converted block of rows by block of rows."""
        if self._dtype == np.float64:
            return self
        return self._with(dtype=np.float64)

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        V = np.asarray(V, dtype=self._dtype)
        out = np.empty((self.shape[0], *V.shape[1:]), dtype=self._dtype)

        def multiply(part: slice, rows: Any) -> None:
            out[part] = rows_times(rows, V)

        self._in_lanes(multiply)
        return out

    def rmatmat(self, U: Array, /) -> Array:
        """X'U, added up in float64 across blocks."""
        U = np.asarray(U, dtype=self._dtype)
        out = np.zeros((self.shape[1], *U.shape[1:]))
        self._in_lanes(lambda part, rows: _transposed_product(rows, U[part]), out)
        return out.astype(self._dtype)

    def _in_lanes(self, product: Callable[[slice, Any], Any], out: Array | None = None) -> None:
        """Call product(part, rows) for every block, in lanes, and add up what it returns, in order: one pass."""
        lanes = lane_count(MOST_LANES)
        with closing(self._stream_as_read(lanes + 1)) as blocks:
            in_lanes(
                lambda block: product(block[0], self._floats(block[1])),
                blocks,
                lambda found: None if out is None else np.add(out, found, out=out),
                most=lanes,
                in_step=True,
            )

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V - 1 shift' in one read."""
        return self._fused_products(V, shift, None)

    def weighted_gram_and_scores(self, V: Array, shift: Array | float, weights: Array) -> tuple[Array, Array]:
        """X' diag(w) T and T = X V - 1 shift' in one read."""
        return self._fused_products(V, shift, np.asarray(weights, dtype=self._dtype))

    def _fused_products(self, V: Array, shift: Array | float, weights: Array | None) -> tuple[Array, Array]:
        """Return X'T and T, or X' diag(w) T and T."""
        V, shift = np.asarray(V, dtype=self._dtype), np.asarray(shift, dtype=self._dtype)
        out, scores = np.zeros((self.shape[1], *V.shape[1:])), np.empty((self.shape[0], *V.shape[1:]), self._dtype)

        def products(part: slice, rows: Any) -> Array:
            scores[part] = rows_times(rows, V) - shift
            weighed = scores[part] if weights is None else times_rows(weights[part], scores[part])
            return _transposed_product(rows, weighed)

        self._in_lanes(products, out)
        return out, scores

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense: one read of everything, unless these columns are cached."""
        support = np.asarray(support, dtype=np.intp)
        if 0 < self.restricted_bytes(len(support)) <= self.max_memory:
            return self._cache.take(support, self._read)
        out = np.empty((self.shape[0], len(support)), dtype=self._dtype)

        def copy(part: slice, rows: Any) -> None:
            out[part] = _columns_of(rows, support)

        self._in_lanes(copy)
        return out

    def _read(self, support: Array) -> list[Array]:
        """Return columns as separate arrays, so that the cache can drop each of them."""
        out = [np.empty(self.shape[0], dtype=self._dtype) for _ in support]

        def copy(part: slice, rows: Any) -> None:
            for column, values in zip(out, _columns_of(rows, support).T, strict=True):
                column[part] = values

        self._in_lanes(copy)
        return out

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S in float64, in one read; of columns in the cache if these are few."""
        support = np.asarray(support, dtype=np.intp)
        if self._few(support):
            self.columns(self._cache.missing(support))
            return super().gram_matrix(support)
        return self._gram_by_rows(support, None)

    def weighted_gram_matrix(self, support: Array, weights: Array) -> Array:
        """X_S' diag(w) X_S in float64, in one read; of columns in the cache if these are few."""
        support = np.asarray(support, dtype=np.intp)
        if self._few(support):
            self.columns(self._cache.missing(support))
            return super().weighted_gram_matrix(support, weights)
        return self._gram_by_rows(support, np.sqrt(weights))

    def _gram_by_rows(self, support: Array, roots: Array | None) -> Array:
        out = np.zeros((len(support), len(support)))
        for part, rows in self._stream():
            out += _gram_of(rows[:, support], None if roots is None else roots[part])
        return out

    def moments(self) -> Moments:
        """Sums and Gram matrix in one read, in float64; dense rows about the means of the first where not small."""
        return self._moments_by_rows(None)

    def weighted_moments(self, weights: Array) -> Moments:
        """Weighted sums and Gram matrix in one read, in float64."""
        return self._moments_by_rows(weights)

    def _moments_by_rows(self, weights: Array | None) -> Moments:
        first = self._floats(self._reading(1)(slice(0, min(SUMMED_ROWS, self.shape[0]))))
        if scipy.sparse.issparse(first):
            return self._sparse_moments(weights)
        shift = near_means(np.asarray(first, dtype=np.float64))
        return moments_of(self._short_blocks, lambda block: block, shift, weights, most=1)

    def _short_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield rows, some of a block at a time, and their places; they may be overwritten after the next ones."""
        for part, rows in self._stream():
            for some in moments_blocks(*rows.shape):
                yield slice(part.start + some.start, part.start + some.stop), rows[some]

    def _sparse_moments(self, weights: Array | None) -> Moments:
        """Sums and Gram matrix of sparse rows about zero, in one read."""
        n = self.shape[1]
        sums, gram = np.zeros(n), np.zeros((n, n))
        for part, rows in self._stream():
            rows, each = each_entry_once(rows.tocsr()), None if weights is None else weights[part]
            sums += _sums_of_sparse(rows, None, each)[0]
            gram += gram_of_rows(rows, None if each is None else np.sqrt(each))
        return moments_about_zero(sums, gram)

    @property
    def moments_in_float64(self) -> bool:  # type: ignore[override]
        """Whether no number was rounded when it was shifted."""
        return self._shift is None or self._dtype == np.float64

    def gram_between(self, rows: Array, columns: Array) -> Array:
        """X_R'X_C in float64, in one read; of columns in the cache if these are few."""
        rows, columns = np.asarray(rows, dtype=np.intp), np.asarray(columns, dtype=np.intp)
        both = np.union1d(rows, columns)
        if self._few(both):
            self.columns(self._cache.missing(both))
            return super().gram_between(rows, columns)
        return self._gram_between(rows, columns, None)

    def weighted_gram_between(self, rows: Array, columns: Array, weights: Array) -> Array:
        """X_R' diag(w) X_C in float64, in one read; of columns in the cache if these are few."""
        rows, columns = np.asarray(rows, dtype=np.intp), np.asarray(columns, dtype=np.intp)
        both = np.union1d(rows, columns)
        if self._few(both):
            self.columns(self._cache.missing(both))
            return super().weighted_gram_between(rows, columns, weights)
        return self._gram_between(rows, columns, weights)

    def _gram_between(self, rows: Array, columns: Array, weights: Array | None) -> Array:
        out = np.zeros((len(rows), len(columns)))
        for part, block in self._stream():
            left, right = (_dense64(block[:, some]) for some in (rows, columns))
            out += (left if weights is None else times_rows(weights[part], left)).T @ right
        return out

    def _few(self, support: Array) -> bool:
        """Return whether these columns are read into the cache for a Gram matrix, and serve later questions from it."""
        few = 0 < len(support) <= CACHED_SHARE * self.shape[1]
        return few and 2 * self.restricted_bytes(len(support)) <= self.max_memory

    def restrict(self, support: Array) -> OperatorMixin:
        """Return the operator of X[:, support]; it is cached as a whole only if its columns do not fit the cache."""
        if self.restricted_bytes(len(support)) > self.max_memory:
            return super().restrict(support)
        return DenseOperator(self.columns(support), meter=self._meter, share=len(support) / self.shape[1])

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings in float64."""
        if len(support) * self.shape[0] * 8 <= self.max_memory:
            return self.columns(support).astype(np.float64, copy=False) @ loadings
        out = np.empty(self.shape[0])
        for part, rows in self._stream():
            out[part] = rows[:, support].astype(np.float64) @ loadings
        return out

    def column_sums(self) -> Array:
        """Sum of each column in float64."""
        return self._moments[0].copy()

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of (x_ij - shift_j)^2 in float64."""
        if shift is None:
            return self._moments[1].copy()
        return self._sums(shift)[1]

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Sums and sums of squares of the columns, in one read."""
        return self._sums(None)

    def weighted_sums(self, weights: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Weighted sums of the columns, and of their squares about a shift, in one read."""
        return self._sums(shift, weights)

    def _sums(self, shift: Array | None, weights: Array | None = None) -> tuple[Array, Array]:
        sums = np.zeros((2, self.shape[1]))

        def sums_of(part: slice, rows: Any) -> Array:
            each = None if weights is None else weights[part]
            if scipy.sparse.issparse(rows):
                return np.array(_sums_of_sparse(rows, shift, each))
            if shift is None and each is None:  # some rows in float32, where that is safe
                return np.array(DenseOperator(rows).sums_about(None))
            return np.array(_sums_of_dense(rows, shift, each))

        self._in_lanes(sums_of, sums)
        return sums[0], sums[1]


def _with_nan(block: Any, dtype: np.dtype[Any]) -> Array:
    """Return a copy of rows as floats, with NaN where they are masked."""
    rows = np.array(np.ma.getdata(block), dtype=dtype)
    if np.ma.is_masked(block):
        rows[np.ma.getmaskarray(block)] = np.nan
    return rows


def _with_filled_entries(rows: Any, fill: Array) -> Any:
    """Return CSR rows with the number of its column for each NaN."""
    absent = np.isnan(rows.data)
    if not absent.any():
        return rows
    data = np.where(absent, fill[rows.indices].astype(rows.dtype), rows.data)
    return type(rows)((data, rows.indices, rows.indptr), shape=rows.shape)


def _observed_entries(rows: Any, weights: Array | None) -> tuple[Array, Array]:
    """Return sums over what is not NaN in sparse rows, and weights of what is."""
    rows = each_entry_once(rows.tocsr())
    absent, n = np.isnan(rows.data), rows.shape[1]
    each = np.ones(len(rows.data)) if weights is None else np.repeat(weights, np.diff(rows.indptr))
    values = np.where(absent, 0.0, rows.data.astype(np.float64))
    return np.bincount(rows.indices, each * values, minlength=n), np.bincount(rows.indices, each * absent, minlength=n)


def _dense64(block: Any) -> Array:
    """Return a block of rows in float64, dense."""
    return np.asarray(block.toarray() if scipy.sparse.issparse(block) else block, dtype=np.float64)


def _gram_of(rows: Any, factors: Array | None) -> Array:
    """X'X of a block of rows, each times its factor, in float64."""
    if scipy.sparse.issparse(rows):
        return gram_of_rows(each_entry_once(rows.tocsr()), factors)
    rows = _dense64(rows)
    rows = rows if factors is None else times_rows(factors, rows)
    return rows.T @ rows


def _sums_of_dense(rows: Array, shift: Array | None, weights: Array | None) -> tuple[Array, Array]:
    sums, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for part in chunks(len(rows), 8 * rows.shape[1], 1 << 22):
        block = rows[part].astype(np.float64)
        each = np.ones(len(block)) if weights is None else weights[part]
        sums += block.sum(axis=0) if weights is None else each @ block
        block = block if shift is None else block - shift
        squares += np.einsum("ij,ij->j", block, block) if weights is None else each @ np.square(block)
    return sums, squares


def _transposed_product(rows: Any, U: Array) -> Array:
    """X'U of a block of rows; for dense ones U'X is quicker than X'U, for one vector three times."""
    return rows.T @ U if scipy.sparse.issparse(rows) else (U.T @ rows).T


def _columns_of(rows: Any, support: Array) -> Array:
    """Return some columns of a block of rows, dense."""
    return rows[:, support].toarray() if scipy.sparse.issparse(rows) else take_columns(rows, support)


def _sums_of_sparse(rows: Any, shift: Array | None, weights: Array | None) -> tuple[Array, Array]:
    rows = each_entry_once(rows.tocsr())
    n, total = rows.shape[1], float(rows.shape[0] if weights is None else weights.sum())
    data = rows.data.astype(np.float64)
    shift = np.zeros(n) if shift is None else shift
    each = np.ones(len(data)) if weights is None else np.repeat(weights, np.diff(rows.indptr))
    absent = total - np.bincount(rows.indices, each, minlength=n)
    absent[np.bincount(rows.indices, minlength=n) == rows.shape[0]] = 0.0  # not the rounding of a difference
    squares = np.bincount(rows.indices, each * (data - shift[rows.indices]) ** 2, minlength=n)
    return np.bincount(rows.indices, each * data, minlength=n), squares + absent * shift**2


# --- what may be streamed ---------------------------------------------------------------------------------------------


def is_sliced(X: Any) -> bool:
    """Return whether X is a matrix with row slices that is not an array: HDF5, Zarr, backed AnnData."""
    if isinstance(X, np.ndarray | np.generic) or scipy.sparse.issparse(X) or hasattr(X, "to_numpy"):
        return False
    shape = getattr(X, "shape", None)
    if not (hasattr(X, "__getitem__") and isinstance(shape, tuple) and len(shape) == 2 and hasattr(X, "dtype")):
        return False
    return isinstance(X.dtype, np.dtype | type)


def is_large_file(X: Any) -> bool:
    """Return whether X is a mapped file that is too large for the system's cache."""
    return isinstance(X, np.memmap) and X.nbytes > STREAMED_SHARE * _machine_memory()


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a Unix: rely on the system's cache
        return 1 << 62


def memory_size(limit: int | str | None) -> int:
    """Return a limit in bytes, from a number, a text such as "500MB", or None for the default."""
    if limit is None:
        return DEFAULT_MEMORY
    text = limit if isinstance(limit, str) else spelled(limit)
    match = re.fullmatch(r"\s*(\d{1,20}(?:\.\d*)?|\.\d+)\s*([kmgt]?i?)b?\s*", text.lower())
    if isinstance(limit, bool) or match is None or match[2] not in _UNITS:
        raise ValueError(f"{argument('max_memory', limit)} is not a size; give bytes, or for example 500MB or 4GiB.")
    size = int(float(match[1]) * _UNITS[match[2]])
    if size < 10**6:
        raise ValueError(f"{argument('max_memory', limit)} is {size} bytes; at least 1 MB is needed.")
    return size


Read = Callable[[slice], Any]


def _reader(source: Any) -> Callable[[int], Read]:
    """Return a function that starts a pass, with a number of blocks in use at once, and returns a reader of rows.

    Rows of a mapped file in row order are read from the file, unless the mapping is private (mode "c"), so that changes
    are only in memory, or another file has taken the name; then rows come from the mapping.
    """
    rows: Callable[[int], Read] = lambda blocks: lambda part: _computed(source[part])  # noqa: E731
    if not (isinstance(source, np.memmap) and source.mode != "c" and source.flags.c_contiguous and _is_whole(source)):
        return rows
    mapped = _identity(source.filename)
    return lambda blocks: (
        _file_reader(source, blocks) if _identity(source.filename) == mapped is not None else rows(blocks)
    )


def _identity(name: Any) -> tuple[int, int] | None:
    """Return device and inode of a file, which differ from those of a later file of the same name; None if absent."""
    try:
        status = os.stat(name)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _file_reader(source: np.memmap[Any, Any], blocks: int) -> Read:
    """Return a reader of rows that fills buffers in turn: the others are multiplied while one is filled.

    Reading avoids the page faults of a mapping and of new memory for each block, and leaves no pages in memory.
    """
    path, offset, row_bytes = Path(str(source.filename)), int(source.offset), source.shape[1] * source.dtype.itemsize
    turns, buffers = itertools.cycle(range(blocks)), dict[int, Array]()

    def read(part: slice) -> Array:
        turn, size = next(turns), (part.stop - part.start) * source.shape[1]
        if turn not in buffers or buffers[turn].size < size:
            buffers[turn] = np.empty(size, dtype=source.dtype)
        rows = buffers[turn][:size]
        with path.open("rb", buffering=0) as file:
            file.seek(offset + part.start * row_bytes)
            view = rows.view(np.uint8).data
            while len(view):
                got = file.readinto(view)
                if not got:
                    raise ValueError(f"{path} ended early: it was cut off while it was being read.")
                view = view[got:]
        return rows.reshape(-1, source.shape[1])

    return read


def _hdf5_file(source: Any) -> str | None:
    """Return the name of the file of an HDF5 dataset, or of the dataset that some columns or stored rows come from."""
    name = getattr(getattr(source, "file", None), "filename", None)
    if isinstance(name, str):
        return name
    inner = source.data if isinstance(source, StoredRows) else getattr(source, "source", None)
    return None if inner is None else _hdf5_file(inner)


def _size(name: str | None) -> int:
    return os.path.getsize(name) if name is not None and os.path.exists(name) else 0


def _computed(block: Any) -> Any:
    """Return rows as an array or sparse matrix; lazy blocks, such as those of Dask, are computed."""
    return block.compute() if hasattr(block, "compute") else block


def _is_whole(source: np.memmap[Any, Any]) -> bool:
    """Return whether this is a whole mapping: a slice of one has its file name, but starts elsewhere."""
    import mmap

    return source.filename is not None and isinstance(source.base, mmap.mmap)
