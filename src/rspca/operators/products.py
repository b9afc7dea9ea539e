"""Products with X, sums over its columns, and the counter of passes: what every operator has at least."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.operators.blocks import as_float64, as_type, chunks


class Meter:
    """Counter of passes: one pass is one read of all m n entries by one block product."""

    def __init__(self) -> None:
        self.passes = 0.0

    def add(self, share: float) -> None:
        """Record a product that read `share` of the entries."""
        self.passes += share


class Products:
    """The five members of an operator, which data supply, and what follows from products at once."""

    has_samples: bool = True
    """Whether rows are samples, so that scores exist. A Gram matrix has none."""
    own_threads: bool = False
    """Whether products run in threads of their own instead of those of BLAS."""
    first_block: int = 8
    """Vectors that are multiplied at once while nothing is known of X; where one read serves all of them, they cost
    little more than one: benchmarks/speed.py."""
    contiguous_columns: bool = False
    """Whether the entries of each column are next to each other in memory, so that some columns are read fast."""
    selects_columns: bool = False
    """Whether some columns are read without reading the others."""
    gram_in_memory: bool = False
    """Whether X'X is in memory as a matrix, so that products with it cost no pass over X."""
    has_gram_errors: bool = False
    """Whether X'X stands for a Gram matrix that differs from it, as `gram_errors` bounds."""
    columns_are_copies: bool = False
    """Whether `columns` returns new arrays, which may be overwritten."""
    offset: float = 0.0
    """Multiple of the identity contained in X'X that is not variance (Hotelling deflation needs one)."""
    moments_in_float64: bool = False
    """Whether `moments` are those of the numbers that X holds, up to the rounding of float64, whatever the type."""
    _share: float = 1.0
    """Share of all columns of the data whose passes are counted."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float type of the products."""
        raise NotImplementedError

    @property
    def meter(self) -> Meter:
        """The counter of passes that this operator shares with everything derived from it."""
        raise NotImplementedError

    @property
    def passes(self) -> float:
        """Passes over X so far, by this operator and all that were derived from the same data."""
        return self.meter.passes

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        raise NotImplementedError

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        raise NotImplementedError

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        raise NotImplementedError

    def all_columns(self) -> Array:
        """X, dense: for small X only, and read-only."""
        return self.columns(np.arange(self.shape[1]))

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T in float64, and T = X V - intercept shift'; a centering wrapper subtracts `shift` from scores."""
        scores, shift = self.matmat(V), as_type(shift, self.dtype)
        if self.row_weights is not None:
            shift = np.multiply.outer(as_type(self.intercept, self.dtype), np.broadcast_to(shift, scores.shape[1:]))
        scores = scores - shift
        return as_float64(self.rmatmat(scores)), scores

    def gram(self, V: Array) -> Array:
        """X'(X V) in float64."""
        return self.gram_and_scores(V)[0]

    def column_sums(self) -> Array:
        """Sum of each column, float64."""
        return as_float64(self.rmatmat(np.ones(self.shape[0], dtype=self.dtype)))

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of (x_ij - shift_j)^2, float64; weighted where samples have weights."""
        out = np.empty(self.shape[1])
        for part in chunks(self.shape[1], self.shape[0] * 8):
            block = as_float64(self.columns(np.arange(part.start, part.stop)))
            if shift is not None:
                block = block - np.multiply.outer(self.intercept, shift[part])
            out[part] = np.einsum("ij,ij->j", block, block)
        return out

    @property
    def entries(self) -> int:
        """Numbers that one product reads: all m n, or those that are stored."""
        m, n = self.shape
        return m * n

    @cached_property
    def sums(self) -> Array:
        """``column_sums()``, computed once."""
        return self.column_sums()

    @property
    def row_weights(self) -> Array | None:
        """Weight of each sample, which its row was multiplied by the root of; None if all count alike."""
        return None

    @cached_property
    def intercept(self) -> Array:
        """What a column of ones is in X: ones, or the roots of the weights of the samples."""
        weights = self.row_weights
        return np.broadcast_to(1.0, self.shape[0]) if weights is None else np.sqrt(weights)

    @cached_property
    def total_weight(self) -> float:
        """Number of samples, or the sum of their weights."""
        weights = self.row_weights
        return float(self.shape[0]) if weights is None else float(weights.sum())

    @property
    def means(self) -> Array:
        """Mean of each column of the data, weighted where samples have weights; float64."""
        if self.row_weights is None:
            return self.sums / self.shape[0]
        return as_float64(self.rmatmat(as_type(self.intercept, self.dtype))) / self.total_weight

    def forget_sums(self) -> None:
        """Free the memory of `sums` and `sq_norms`, where it matters: the means and the norms about them suffice."""

    @cached_property
    def sq_norms(self) -> Array:
        """``column_sq_norms()``, computed once."""
        return self.column_sq_norms()
