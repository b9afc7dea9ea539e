"""Products with packed genotypes, compiled by numba, each next to a plain NumPy twin; threads share the rows.

A row holds one SNP, four people a byte, two bits each, the lowest first: 00 two copies of allele 1, 01 missing, 10 one
copy, 11 none. Vectors over people are *planar*: plane q holds people q, q + 4, q + 8, ..., so that each loop below
iterates over bytes and planes together and vectorizes. Products are in the type of these vectors, float32 or float64;
sums are in that type within short blocks and float64 across them. Every block is summed by one thread in a fixed
order, so the number of threads changes no bit of a result.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from rspca.base.machine_code import is_kept, kept_if_possible
from rspca.base.types import Array

try:
    import numba
except ImportError as error:  # pragma: no cover - the development environment has it
    raise ImportError("Packed genotypes need numba, which is not installed: pip install 'rspca[genetics]'.") from error


SINGLE_BYTES = 4096
"""Bytes of a row, four people each, that are summed in the type of the vector before float64: benchmarks/scale.py."""
SINGLE_ROWS = 256
"""Rows whose weighted sum is taken in that type before float64: benchmarks/scale.py."""
TILE_BYTES = 2048
"""Bytes of a row that are added up at a time; their sums stay in the first-level cache: benchmarks/scale.py."""
MAX_BLOCKS = 64
"""Blocks of a product, whatever the number of threads, so that results do not depend on it: benchmarks/scale.py."""
SERIAL_PRODUCTS = 1 << 19
"""Genotypes times columns up to which one thread is faster than several: benchmarks/scale.py."""
PARTIAL_BYTES = 1 << 25
"""Bytes of the partial sums of X V, at most: limit of memory."""

_HIGH, _LOW, _THREE = np.uint32(0xAA), np.uint32(0x55), np.uint32(3)
_1, _2, _4, _6 = np.uint32(1), np.uint32(2), np.uint32(4), np.uint32(6)
_MISSING = np.float32(3.0)
_COPIES = np.array([2, 3, 1, 0], dtype=np.uint8)
_COPIES_OF_BYTE = _COPIES[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]

# Sums may be reordered and products fused with additions, without which LLVM vectorizes no sum of floats; NaN, infinity
# and division keep their meaning.
_SUMS = {"reassoc", "contract"}


def _compiled(function: Callable[..., None]) -> Any:
    """Compile on first use and cache the machine code on disk; warn if no folder can be written."""
    try:
        return kept_if_possible(numba.njit(nogil=True, fastmath=_SUMS, cache=True)(function))
    except RuntimeError as error:  # numba found no folder that it may write to
        if "cannot cache" not in str(error):
            raise
        warnings.warn(
            "numba found no folder in which to cache compiled kernels, so every new process compiles them again (some "
            "seconds). Set NUMBA_CACHE_DIR to a folder that can be written.",
            UserWarning,
            stacklevel=2,
        )
        return numba.njit(nogil=True, fastmath=_SUMS)(function)


@numba.njit(inline="always")
def _copies(byte: Any) -> Any:
    """Return the four numbers of copies in a byte, two bits each; 3 means a missing call."""
    x = np.uint32(byte)
    return (~x & _HIGH) | ((x ^ (x >> _1)) & _LOW)


@numba.njit(inline="always")
def _or_fill(copies: Any, fill: Any) -> Any:
    return fill if copies == _MISSING else copies


@numba.njit(inline="always")
def _float(copies: Any) -> Any:
    return np.float32(np.int32(copies))


# --- X'U ------------------------------------------------------------------------------------------------------------


@numba.njit(fastmath=_SUMS)
def _one_dot(row: Any, p: Any, fill: Any) -> Any:
    """Return the sum over people of x * p."""
    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
    total = p.dtype.type(0)
    for i in range(row.size):
        e = _copies(row[i])
        x0, x1 = _or_fill(_float(e & _THREE), fill), _or_fill(_float((e >> _2) & _THREE), fill)
        x2, x3 = _or_fill(_float((e >> _4) & _THREE), fill), _or_fill(_float(e >> _6), fill)
        total += p0[i] * x0 + p1[i] * x1 + p2[i] * x2 + p3[i] * x3
    return total


@numba.njit(fastmath=_SUMS)
def _one_dot_complete(row: Any, p: Any) -> Any:
    """Return the sum over people of x * p if no call is missing, which takes two steps less for each byte."""
    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
    total = p.dtype.type(0)
    for i in range(row.size):
        e = _copies(row[i])
        total += (
            p0[i] * _float(e & _THREE)
            + p1[i] * _float((e >> _2) & _THREE)
            + p2[i] * _float((e >> _4) & _THREE)
            + p3[i] * _float(e >> _6)
        )
    return total


@numba.njit(fastmath=_SUMS)
def _four_dots(row: Any, p: Any, fill: Any) -> Any:
    """Return the sums over people of x * p for four vectors p: each byte is decoded once for all of them."""
    a0, a1, a2, a3 = p[0, 0], p[0, 1], p[0, 2], p[0, 3]
    b0, b1, b2, b3 = p[1, 0], p[1, 1], p[1, 2], p[1, 3]
    c0, c1, c2, c3 = p[2, 0], p[2, 1], p[2, 2], p[2, 3]
    d0, d1, d2, d3 = p[3, 0], p[3, 1], p[3, 2], p[3, 3]
    a = b = c = d = p.dtype.type(0)
    for i in range(row.size):
        e = _copies(row[i])
        x0, x1 = _or_fill(_float(e & _THREE), fill), _or_fill(_float((e >> _2) & _THREE), fill)
        x2, x3 = _or_fill(_float((e >> _4) & _THREE), fill), _or_fill(_float(e >> _6), fill)
        a += a0[i] * x0 + a1[i] * x1 + a2[i] * x2 + a3[i] * x3
        b += b0[i] * x0 + b1[i] * x1 + b2[i] * x2 + b3[i] * x3
        c += c0[i] * x0 + c1[i] * x1 + c2[i] * x2 + c3[i] * x3
        d += d0[i] * x0 + d1[i] * x1 + d2[i] * x2 + d3[i] * x3
    return a, b, c, d


@_compiled
def dot_rows(
    packed: Array, rows: Array, first: int, last: int, planes: Array, fill: Array, incomplete: Array, out: Array
) -> None:
    """out[j, c] = sum over people of x[rows[j]] * planes[:, c], for first <= j < last."""
    width, columns, size = packed.shape[1], planes.shape[1], planes.shape[3]
    fours = columns - columns % 4
    for j in range(first, last):
        out[j] = 0.0
        for block in range(planes.shape[0]):
            row = packed[rows[j], block * size : min(block * size + size, width)]
            for c in range(0, fours, 4):
                sums = _four_dots(row, planes[block, c : c + 4], fill[j])
                for k in range(4):
                    out[j, c + k] += sums[k]
            for c in range(fours, columns):
                if incomplete[j]:
                    out[j, c] += _one_dot(row, planes[block, c], fill[j])
                else:
                    out[j, c] += _one_dot_complete(row, planes[block, c])


def plain_dot_rows(
    packed: Array, rows: Array, first: int, last: int, planes: Array, fill: Array, incomplete: Array, out: Array
) -> None:
    """Do what `dot_rows` does, in NumPy and float64."""
    X = plain_copies(packed[rows[first:last]], fill[first:last])
    U = planes.transpose(0, 3, 2, 1).reshape(-1, planes.shape[1])[: X.shape[1]]
    out[first:last] = X @ U.astype(np.float64)


def planar(U: Array, width: int) -> Array:
    """Return the columns of U, zero-padded to four people a byte, as (block of bytes, column, plane, byte)."""
    size = min(width, SINGLE_BYTES)
    blocks = -(-width // size)
    padded = np.zeros((blocks * size * 4, U.shape[1]), dtype=U.dtype)
    padded[: len(U)] = U
    return np.ascontiguousarray(padded.reshape(blocks, size, 4, -1).transpose(0, 3, 2, 1))


# --- X V ------------------------------------------------------------------------------------------------------------


@_compiled
def add_rows(
    packed: Array, rows: Array, first: int, last: int, weights: Array, fill: Array, incomplete: Array, out: Array
) -> None:
    """out[c] += sum over first <= j < last of weights[j, c] * x[rows[j]], in planes."""
    width = packed.shape[1]
    tile = np.empty((4, TILE_BYTES), dtype=weights.dtype)
    for c in range(weights.shape[1]):
        for block in range(first, last, SINGLE_ROWS):
            for start in range(0, width, TILE_BYTES):
                stop = min(start + TILE_BYTES, width)
                t0, t1 = tile[0, : stop - start], tile[1, : stop - start]
                t2, t3 = tile[2, : stop - start], tile[3, : stop - start]
                tile[:] = 0
                for j in range(block, min(block + SINGLE_ROWS, last)):
                    w, f = weights[j, c], fill[j]
                    row = packed[rows[j], start:stop]
                    if incomplete[j]:
                        for i in range(row.size):
                            e = _copies(row[i])
                            t0[i] += w * _or_fill(_float(e & _THREE), f)
                            t1[i] += w * _or_fill(_float((e >> _2) & _THREE), f)
                            t2[i] += w * _or_fill(_float((e >> _4) & _THREE), f)
                            t3[i] += w * _or_fill(_float(e >> _6), f)
                    else:
                        for i in range(row.size):
                            e = _copies(row[i])
                            t0[i] += w * _float(e & _THREE)
                            t1[i] += w * _float((e >> _2) & _THREE)
                            t2[i] += w * _float((e >> _4) & _THREE)
                            t3[i] += w * _float(e >> _6)
                for q in range(4):
                    for i in range(stop - start):
                        out[c, q, start + i] += tile[q, i]


def plain_add_rows(
    packed: Array, rows: Array, first: int, last: int, weights: Array, fill: Array, incomplete: Array, out: Array
) -> None:
    """Do what `add_rows` does, in NumPy and float64."""
    X = plain_copies(packed[rows[first:last]], fill[first:last])
    sums = weights[first:last].T.astype(np.float64) @ X
    out += sums.reshape(len(sums), -1, 4).transpose(0, 2, 1)


# --- columns --------------------------------------------------------------------------------------------------------


@_compiled
def unpack_rows(packed: Array, rows: Array, first: int, last: int, fill: Array, incomplete: Array, out: Array) -> None:
    """out[j] = x[rows[j]], four people a byte in their order, missing calls filled."""
    for j in range(first, last):
        row = packed[rows[j]]
        f = fill[j]
        for i in range(row.size):
            e = _copies(row[i])
            out[j, 4 * i] = _or_fill(_float(e & _THREE), f)
            out[j, 4 * i + 1] = _or_fill(_float((e >> _2) & _THREE), f)
            out[j, 4 * i + 2] = _or_fill(_float((e >> _4) & _THREE), f)
            out[j, 4 * i + 3] = _or_fill(_float(e >> _6), f)


def plain_unpack_rows(
    packed: Array, rows: Array, first: int, last: int, fill: Array, incomplete: Array, out: Array
) -> None:
    """Do what `unpack_rows` does, in NumPy."""
    out[first:last] = plain_copies(packed[rows[first:last]], fill[first:last])


def plain_copies(packed: Array, fill: Array) -> Array:
    """Return packed rows as numbers, four a byte, with `fill` of its row for each missing call."""
    copies = _COPIES_OF_BYTE[packed].reshape(len(packed), -1).astype(np.float64)
    return np.where(copies == 3.0, fill[:, None].astype(np.float64), copies)


# --- counts ---------------------------------------------------------------------------------------------------------


@numba.njit(inline="always")
def _ones(pairs: Any) -> Any:
    """Return how many of the four low bits of pairs are set."""
    twos = (pairs & np.uint32(0x11)) + ((pairs >> _2) & np.uint32(0x11))
    return np.int32((twos + (twos >> _4)) & np.uint32(0x0F))


@_compiled
def count_rows(packed: Array, rows: Array, first: int, last: int, mask: Array, out: Array) -> None:
    """out[j] = how many calls of x[rows[j]] are missing, 1, and 2, among people whose low bit is set in the mask."""
    for j in range(first, last):
        row = packed[rows[j]]
        missing = one = two = np.int32(0)
        for i in range(row.size):
            x, allowed = np.uint32(row[i]), np.uint32(mask[i])
            low, high = x & allowed, (x >> _1) & allowed
            missing += _ones(low & ~high)
            one += _ones(high & ~low)
            two += _ones(allowed & ~(low | high))
        out[j, 0], out[j, 1], out[j, 2] = missing, one, two


def plain_count_rows(packed: Array, rows: Array, first: int, last: int, mask: Array, out: Array) -> None:
    """Do what `count_rows` does, in NumPy."""
    copies = _COPIES_OF_BYTE[packed[rows[first:last]]].reshape(last - first, -1)
    counted = ((mask[:, None] >> np.array([0, 2, 4, 6])) & 1).ravel().astype(bool)
    for column, value in enumerate((3, 1, 2)):
        out[first:last, column] = np.count_nonzero(copies[:, counted] == value, axis=1)


@_compiled
def weigh_rows(packed: Array, rows: Array, first: int, last: int, planes: Array, out: Array) -> None:
    """out[j] = weights of people whose call of x[rows[j]] is missing, 1, and 2; planes hold the weights."""
    width, size = packed.shape[1], planes.shape[3]
    for j in range(first, last):
        missing = one = two = np.float64(0.0)
        for block in range(planes.shape[0]):
            row, p = packed[rows[j], block * size : min(block * size + size, width)], planes[block, 0]
            for i in range(row.size):
                e = _copies(row[i])
                for q in range(4):
                    copies, weight = (e >> np.uint32(2 * q)) & _THREE, p[q, i]
                    missing += weight if copies == _THREE else 0.0
                    one += weight if copies == _1 else 0.0
                    two += weight if copies == _2 else 0.0
        out[j, 0], out[j, 1], out[j, 2] = missing, one, two


def plain_weigh_rows(packed: Array, rows: Array, first: int, last: int, planes: Array, out: Array) -> None:
    """Do what `weigh_rows` does, in NumPy."""
    copies = _COPIES_OF_BYTE[packed[rows[first:last]]].reshape(last - first, -1)
    weights = planes.transpose(0, 3, 2, 1).reshape(-1)[: copies.shape[1]]
    for column, value in enumerate((3, 1, 2)):
        out[first:last, column] = (copies == value) @ weights


# --- threads --------------------------------------------------------------------------------------------------------


class _Threads:
    """The thread pool of all kernels: callers in several Python threads take turns; a forked child makes its own."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.lock = threading.Lock()
        self.size = 0
        self.pool: ThreadPoolExecutor | None = None

    def helpers(self, count: int) -> ThreadPoolExecutor:
        if self.pool is None or self.size < count:
            self.pool, self.size = ThreadPoolExecutor(count, "rspca-kernel"), count
        return self.pool


_threads = _Threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.reset)


def in_blocks(task: Callable[[int], None], count: int) -> None:
    """Call task(0), ..., task(count - 1), in as many threads as numba.get_num_threads() allows."""
    helpers = min(numba.get_num_threads(), count) - 1
    if helpers < 1:
        for block in range(count):
            task(block)
        return
    numbers = itertools.count()

    def work() -> None:
        while (block := next(numbers)) < count:
            task(block)

    with _threads.lock:
        others = [_threads.helpers(helpers).submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            wait(others)
    for future in others:
        future.result()


def block_rows(n: int, width: int, columns: int = 1, partial_bytes: int = 0) -> int:
    """Return the number of rows of a block, which does not depend on the number of threads."""
    if 4 * n * width * columns <= SERIAL_PRODUCTS:
        return max(1, n)
    most = min(MAX_BLOCKS, max(4, PARTIAL_BYTES // partial_bytes)) if partial_bytes else MAX_BLOCKS
    return max(16, -(-n // most))


# --- compilation ----------------------------------------------------------------------------------------------------


_ready: set[np.dtype[Any]] = set()


def ready(dtype: Any) -> bool:
    """Return whether every kernel is compiled for this type, or loaded from disk, in this process."""
    return np.dtype(dtype) in _ready


def are_kept(dtype: Any) -> bool:
    """Return whether an earlier run compiled the kernels for this type, so that they are only loaded."""
    return is_kept(unpack_rows, np.dtype(dtype).name)  # of all kernels, its arguments have no other type of floats


def compile_all(dtype: Any = np.float64) -> float:
    """Compile every kernel, or load it from disk, and return the seconds that this took."""
    started = time.perf_counter()
    packed, rows = np.zeros((1, 1), dtype=np.uint8), np.zeros(1, dtype=np.int64)
    packed.flags.writeable = False  # as mapped files are: a kernel is compiled for each kind of argument
    fill, incomplete = np.ones(1, dtype=dtype), np.zeros(1, dtype=np.bool_)
    dot_rows(packed, rows, 0, 1, np.ones((1, 1, 4, 1), dtype=dtype), fill, incomplete, np.zeros((1, 1)))
    add_rows(packed, rows, 0, 1, np.ones((1, 1), dtype=dtype), fill, incomplete, np.zeros((1, 4, 1)))
    unpack_rows(packed, rows, 0, 1, fill, incomplete, np.zeros((1, 4), dtype=dtype))
    count_rows(packed, rows, 0, 1, np.full(1, 0x55, dtype=np.uint8), np.zeros((1, 3), dtype=np.int64))
    weigh_rows(packed, rows, 0, 1, np.ones((1, 1, 4, 1)), np.zeros((1, 3)))
    _ready.add(np.dtype(dtype))
    return time.perf_counter() - started
