"""Products, sums and Gram matrices with a weight for each sample: what `Weighted` asks of the data that it wraps."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.operators.blocks import as_float64, as_type, chunks
from rspca.operators.gram_products import GRAM_COLUMNS_BYTES, GramProducts, Moments, moments_about_zero


class WeightedProducts(GramProducts):
    """Sums over samples that count differently, by reading columns; data in blocks of rows do it in one read."""

    def rows_at(self, rows: Array) -> Any:
        """Return the operator of some samples, in increasing order; None where selecting them saves nothing."""
        return None

    def filled_for(self, weights: Array) -> Any:
        """Return the data with missing values filled by means of these weights; the same if nothing is missing."""
        return self

    def observed_sums(self, weights: Array | None) -> tuple[Array, Array] | None:
        """Return sums of w_i x_ij over what is not missing, and weights of what is; None if nothing can be missing."""
        return None

    def with_missing_as(self, fill: Array) -> Any:
        """Return the data with missing values replaced, by one number for each column."""
        return self

    def weighted_sums(self, weights: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Sums over samples of w_i x_ij and of w_i (x_ij - shift_j)^2, float64."""
        n = self.shape[1]
        sums, squares = np.empty(n), np.empty(n)
        for part in chunks(n, self.shape[0] * 8):
            block = as_float64(self.columns(np.arange(part.start, part.stop)))
            sums[part] = weights @ block
            squares[part] = weights @ np.square(block if shift is None else block - shift[part])
        return sums, squares

    def weighted_gram_and_scores(self, V: Array, shift: Array | float, weights: Array) -> tuple[Array, Array]:
        """X' diag(w) T in float64, and T = X V - 1 shift'."""
        scores = self.matmat(V) - as_type(shift, self.dtype)
        return as_float64(self.rmatmat(times_rows(weights, scores))), scores

    def weighted_gram_matrix(self, support: Array, weights: Array) -> Array:
        """X_S' diag(w) X_S in float64, without the columns all at once."""
        return self.weighted_gram_between(support, support, weights)

    def weighted_gram_between(self, rows: Array, columns: Array, weights: Array) -> Array:
        """X_R' diag(w) X_C in float64, without the columns of either all at once."""
        out = np.empty((len(rows), len(columns)))
        for down in chunks(len(rows), self.shape[0] * 8, GRAM_COLUMNS_BYTES):
            left = (weights[:, None] * as_float64(self.columns(rows[down]))).T
            for across in chunks(len(columns), self.shape[0] * 8, GRAM_COLUMNS_BYTES // 4):
                out[down, across] = left @ as_float64(self.columns(columns[across]))
        return out

    def weighted_moments(self, weights: Array) -> Moments:
        """Weighted sums and Gram matrix of all columns, in float64."""
        return moments_about_zero(
            self.weighted_sums(weights)[0], self.weighted_gram_matrix(np.arange(self.shape[1]), weights)
        )


def times_rows(factors: Array, values: Array) -> Array:
    """Return a vector or the rows of a matrix, each multiplied by its factor, in the type of the values."""
    factors = as_type(factors, values.dtype)
    return factors * values if values.ndim == 1 else factors[:, None] * values
