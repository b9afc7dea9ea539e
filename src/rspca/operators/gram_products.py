"""Products of columns with each other: Gram matrices of some features, of all, or of samples; moments about a shift."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

import numpy as np

from rspca.base.threads import in_lanes
from rspca.base.types import Array
from rspca.operators.blocks import BLOCK_BYTES, as_float64, chunks
from rspca.operators.products import Products

GRAM_COLUMNS_BYTES = 1 << 22
"""Bytes of a block of columns, in float64, from which a Gram matrix is computed block by block: benchmarks/speed.py."""
TILE_FEATURES = 256
"""Rows of a Gram matrix that a lane computes at a time. In one lane such parts of 1,000 features take 5 to 10 % more
time than the whole, in two they take half. Parts are the same for any number of lanes, and so are all bits: not
tuned."""


class Moments(NamedTuple):
    """Column sums and Gram matrix of X - 1 shift', both in float64, and the lengths of the terms of both."""

    shift: Array
    sums: Array
    gram: Array
    lengths: Array
    """Entries of the Gram matrix of m rows are off by at most (m + 64) eps times two of them."""

    def about(self, shift: Array, m: float) -> Moments:
        """Return the moments of m rows, or rows of total weight m, about another shift."""
        move, gram = self.shift - shift, self.gram.copy()
        if move.any():
            half = self.sums + 0.5 * m * move
            for part in chunks(len(move), 8 * len(move)):
                gram[part] += np.multiply.outer(half[part], move)
                gram[part] += np.multiply.outer(move[part], half)
        return Moments(shift, self.sums + m * move, gram, self.lengths + np.sqrt(m) * np.abs(move))


def moments_about_zero(sums: Array, gram: Array) -> Moments:
    """Return the moments of columns that were not shifted."""
    return Moments(np.zeros(len(sums)), sums, gram, np.sqrt(np.diagonal(gram)))


def gram_of_blocks(blocks: Iterable[Array], n: int) -> Array:
    """Return the sum of B'B over blocks of rows B, in float64, of n features; lanes share its rows."""
    out, tiles, empty = np.zeros((n, n)), _tiles(n), True
    for rows in blocks:
        in_lanes(_below_diagonal(rows, out, add=not empty), tiles)
        empty = False

    def mirror(tile: slice) -> None:
        out[: tile.start, tile] = out[tile, : tile.start].T

    in_lanes(mirror, tiles)
    return out


def _below_diagonal(rows: Array, out: Array, *, add: bool) -> Callable[[slice], None]:
    """Return what computes some rows of B'B up to the diagonal, or adds them to those that are there."""

    def work(tile: slice) -> None:
        left, before = rows[:, tile].T, slice(0, tile.start)
        for right, target in ((left.T, out[tile, tile]), (rows[:, before], out[tile, before])):
            if add:
                target += left @ right
            else:
                np.matmul(left, right, out=target)

    return work


def product_in_lanes(left: Array, right: Array, out: Array, *, add: bool = False) -> None:
    """Write the product of two matrices, or add it to what is there; lanes share its rows."""

    def work(tile: slice) -> None:
        if add:
            out[tile] += left[tile] @ right
        else:
            np.matmul(left[tile], right, out=out[tile])

    in_lanes(work, _tiles(len(left)))


def _tiles(n: int) -> list[slice]:
    """Return parts of n features, the last first: those next to a diagonal take longer the later they come."""
    return list(chunks(n, 1, TILE_FEATURES))[::-1]


class GramProducts(Products):
    """Gram matrices in float64, by reading columns."""

    def gram_block(self, support: Array) -> Array:
        """X_S'X_S in float64."""
        block = as_float64(self.columns(support))
        return block.T @ block

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S in float64 of many features, without their columns all at once: for a search, not for a proof.

        Wrappers subtract means and deflations from the result, so errors are relative to the data before that.
        """
        count = len(list(chunks(len(support), self.shape[0] * 8, GRAM_COLUMNS_BYTES)))
        if count <= 1:
            return gram_of_blocks([as_float64(self.columns(support))], len(support))
        parts = list(chunks(len(support), 1, -(-len(support) // count)))  # of equal length: none is larger than needed
        out = np.empty((len(support), len(support)))
        for number, rows in enumerate(parts):
            left = as_float64(self.columns(support[rows]))
            for columns in parts[: number + 1]:
                if columns is rows:
                    out[rows, rows] = gram_of_blocks([left], left.shape[1])
                    continue
                right = as_float64(self.columns(support[columns]))
                product_in_lanes(left.T, right, out[rows, columns])
                out[columns, rows] = out[rows, columns].T
                del right  # before the next columns are read
            del left
        return out

    def gram_to_read(self, support: Array) -> Array:
        """X_S'X_S as in `gram_matrix`, never to be written to: it may be in memory for other uses."""
        return self.gram_matrix(support)

    def forget_gram(self) -> None:
        """Free the memory of a Gram matrix that has been used; another pass makes it again."""

    def apart(self) -> Self:
        """Return the same data for other work, such as a proof, that leaves no trace in what is computed here later."""
        return self

    def gram_about(self, support: Array, mean: Array) -> Array:
        """(X_S - 1 mean_S')'(X_S - 1 mean_S') in float64, for a search."""
        gram, mean = self.gram_matrix(support), mean[support]
        for part in chunks(len(mean), 8 * len(mean)):
            gram[part] -= np.multiply.outer(self.total_weight * mean[part], mean)
        return gram

    def gram_between(self, rows: Array, columns: Array) -> Array:
        """X_R'X_C in float64 for two sets of features, without the columns of either all at once: for a search."""
        out = np.empty((len(rows), len(columns)))
        for down in chunks(len(rows), self.shape[0] * 8, GRAM_COLUMNS_BYTES):
            left = as_float64(self.columns(rows[down])).T
            for across in chunks(len(columns), self.shape[0] * 8, GRAM_COLUMNS_BYTES // 4):  # read as often in any case
                product_in_lanes(left, as_float64(self.columns(columns[across])), out[down, across])
        return out

    def gram_rows(self, support: Array) -> Array:
        """X_S'X in float64: the rows of the Gram matrix that belong to the support, one block product."""
        return as_float64(self.rmatmat(self.columns(support))).T

    def samples_gram(self, weights: Array | None = None) -> Array:
        """X diag(weights) X' in float64, m x m; weights are not negative."""
        out = np.zeros((self.shape[0], self.shape[0]))
        for part in chunks(self.shape[1], self.shape[0] * 8, 4 * BLOCK_BYTES):
            block = as_float64(self.columns(np.arange(part.start, part.stop)))
            if weights is not None:
                block = block * np.sqrt(weights[part])
            out += block @ block.T
        return out

    def moments(self) -> Moments:
        """Column sums and the whole Gram matrix; about a shift near the means where one pass can make it so.

        Sums are those of float64: what is taken off the Gram matrix must belong to it.
        """
        m, n = self.shape
        parts = (self.columns(np.arange(part.start, part.stop)) for part in chunks(n, m * 8))
        sums = np.concatenate([self.intercept @ as_float64(block) for block in parts])
        return moments_about_zero(sums, self.gram_matrix(np.arange(n)))
