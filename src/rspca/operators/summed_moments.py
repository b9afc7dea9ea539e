"""Column sums and Gram matrices, added up in float64 over blocks of rows that stay in cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from scipy.linalg.blas import dsyrk

from rspca.base.threads import in_lanes
from rspca.base.types import Array
from rspca.operators.base import Moments, chunks
from rspca.operators.weighted_products import times_rows

FAR_SHIFT = 100.0
"""Arithmetic: ratio of a sum of squares about the shift to that about the mean from which a second pass is made: two
digits of sixteen would be lost."""
EPS = float(np.finfo(np.float64).eps)
"""Arithmetic: twice the unit roundoff of float64, in which sums are bounded."""
LANE_FEATURES = 512
"""Features up to which lanes multiply blocks of rows, each into a Gram matrix of 2 MB at most that is then added. The
Gram matrix of more features, or where blocks come to one lane, is added up in place, in threads of BLAS:
benchmarks/users.py."""
MOMENTS_BYTES, MOMENTS_ROWS = 1 << 22, 256
"""Bytes of the blocks of rows, in float64, whose products are added up, and least number of rows; they stay in cache:
benchmarks/users.py."""

Part = TypeVar("Part")


class GramSum:
    """X'X of n features, one triangle of it, added up by BLAS in place: no matrix is made for each block of rows."""

    def __init__(self, n: int) -> None:
        self.triangle = np.zeros((n, n), order="F")
        """The lower triangle of this matrix counts."""

    def add(self, rows: Array) -> None:
        """Add the products of a block of rows in float64, by rows."""
        self.triangle = dsyrk(1.0, rows.T, beta=1.0, c=self.triangle, overwrite_c=1, lower=1)

    def add_product(self, product: Array) -> None:
        """Add the products of rows that were multiplied before: a symmetric matrix, by rows."""
        np.add(self.triangle, product.T, out=self.triangle)

    def matrix(self) -> Array:
        """Return the whole matrix; nothing can be added afterwards."""
        return with_upper_triangle(self.triangle).T


def with_upper_triangle(gram: Array) -> Array:
    """Fill the upper triangle of a symmetric matrix from the lower one, in place."""
    for part in chunks(len(gram), 8 * len(gram), 1 << 20):
        diagonal = np.tril(gram[part, part])
        gram[part, part] = diagonal + np.tril(diagonal, -1).T
        gram[part, part.stop :] = gram[part.stop :, part].T
    return gram


def moments_blocks(m: int, n: int) -> Iterator[slice]:
    """Return the blocks of m rows of n features whose products are added up."""
    return chunks(m, n * 8, max(MOMENTS_BYTES, MOMENTS_ROWS * n * 8))


def near_means(rows: Array) -> Array:
    """Return a shift for each column that brings it near zero: the mean of some rows; zeros where means are small."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = rows.mean(axis=0), rows.std(axis=0)
        small = np.all(np.abs(mean) <= 2.0 * spread) or not np.isfinite(mean).all()
    return np.zeros(rows.shape[1]) if small else mean


def moments_of(
    blocks: Callable[[], Iterable[Part]],
    rows: Callable[[Part], tuple[slice, Array]],
    shift: Array,
    weights: Array | None = None,
    *,
    most: int | None = None,
) -> Moments:
    """Return the moments of blocks of rows, about the shift; about the means if these are far from the shift.

    `rows(block)` returns the places of a block among all rows, and its rows; it is called in `most` lanes at most. The
    shift may come from rows that differ from the others, and a shift far from the mean costs digits.
    """
    moments, m = _moments_about(blocks(), rows, shift, weights, most)
    with np.errstate(over="ignore", invalid="ignore"):
        squares, off = np.diagonal(moments.gram), moments.sums / m
        far = (squares > FAR_SHIFT * (squares - m * off**2)) & (np.abs(off) > np.sqrt(EPS) * np.abs(shift))
    if not far.any():
        return moments
    return _moments_about(blocks(), rows, np.where(far, shift + off, shift), weights, most)[0]


def _moments_about(
    blocks: Iterable[Part],
    rows: Callable[[Part], tuple[slice, Array]],
    shift: Array,
    weights: Array | None,
    most: int | None,
) -> tuple[Moments, float]:
    """Return the moments of blocks of rows about a shift, and how many rows there are, or their total weight.

    Only one BLAS library multiplies, that of NumPy or that of SciPy: threads of the other would spin meanwhile.
    """
    n, m, of_block = len(shift), 0, _LaneMemory()
    sums, gram, in_place = np.zeros(n), GramSum(n), most == 1 or n > LANE_FEATURES

    def moments(block: Part) -> tuple[Array, Array, int]:
        part, given = rows(block)
        near = _less_shift(given, shift, of_block)
        each = np.ones(len(near)) if weights is None else weights[part]
        total = np.einsum("i,ij->j", each, near) if in_place else each @ near
        near = near if weights is None else times_rows(np.sqrt(each), near)
        return total, near if in_place else near.T @ near, len(near)

    def add(found: tuple[Array, Array, int]) -> None:
        nonlocal m
        np.add(sums, found[0], out=sums)
        if in_place:
            gram.add(found[1])
        else:
            gram.add_product(found[1])
        m += found[2]

    with np.errstate(over="ignore", invalid="ignore"):
        if in_place:
            for block in blocks:
                add(moments(block))
        else:
            in_lanes(moments, blocks, add, most=most)
    matrix = gram.matrix()
    total = float(m if weights is None else weights.sum())
    return Moments(shift, sums, matrix, np.sqrt(np.diagonal(matrix))), total


def _less_shift(rows: Array, shift: Array, memory: _LaneMemory) -> Array:
    """Return a block of rows less the shift, in float64: itself, or in memory that the next block will overwrite."""
    shifted = shift.any()
    if rows.dtype == np.float64 and not shifted:
        return rows
    near = memory.of_shape(rows.shape)
    np.copyto(near, rows)  # converting and subtracting at once takes half as long again
    return np.subtract(near, shift, out=near) if shifted else near


class _LaneMemory(threading.local):
    """Memory of each lane for one array, used again for each block: writing to new memory takes longer."""

    def __init__(self) -> None:
        self._entries = np.empty(0)

    def of_shape(self, shape: tuple[int, ...]) -> Array:
        """Return an array by rows whose entries may be anything."""
        size = int(np.prod(shape))
        if len(self._entries) < size:
            self._entries = np.empty(size)
        return self._entries[:size].reshape(shape)
