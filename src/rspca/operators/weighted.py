"""Samples that count differently: rows multiplied by the roots of their weights, as a wrapper round any data."""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import Moments, OperatorMixin
from rspca.operators.shifted import Shifted
from rspca.operators.standardized import EPS, Scaled
from rspca.operators.weighted_products import times_rows
from rspca.operators.wrapper import Wrapper


class Weighted(Wrapper):
    """diag(sqrt(w)) X: the Gram matrix is the sum over samples of w_i x_i x_i', so a weight of 2 is a row given twice.

    A column of ones becomes sqrt(w). So whatever subtracts a number from a column, such as centering, subtracts it
    times these roots: arguments called `shift` are in the units of X.
    """

    def __init__(self, inner: OperatorMixin, weights: Array) -> None:
        super().__init__(inner)
        self.weights = np.asarray(weights, dtype=np.float64)
        self.roots = np.sqrt(self.weights)
        self._sums: tuple[Array, Array] | None = None

    @property
    def row_weights(self) -> Array | None:
        """The weights."""
        return self.weights

    @property
    def moments_in_float64(self) -> bool:  # type: ignore[override]
        """Whether moments are those of the numbers that X holds."""
        return self.inner.moments_in_float64

    def _of_columns(self) -> tuple[Array, Array]:
        """Return weighted sums and sums of squares of the columns, made in one read."""
        if self._sums is None:
            self._sums = self.inner.weighted_sums(self.weights)
        return self._sums

    @property
    def means(self) -> Array:
        """X'w / sum of w."""
        return self._of_columns()[0] / self.total_weight

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of w_i (x_ij - shift_j)^2."""
        return self._of_columns()[1].copy() if shift is None else self.inner.weighted_sums(self.weights, shift)[1]

    def matmat(self, V: Array, /) -> Array:
        """Roots * (X V)."""
        return times_rows(self.roots, self.inner.matmat(V))

    def rmatmat(self, U: Array, /) -> Array:
        """X'(roots * U)."""
        return self.inner.rmatmat(times_rows(self.roots, np.asarray(U, dtype=self.dtype)))

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'(w * T) and roots * T, T = X V - 1 shift', in one read where the data allow it."""
        product, scores = self.inner.weighted_gram_and_scores(V, shift, self.weights)
        return product, times_rows(self.roots, scores)

    def columns(self, support: Array, /) -> Array:
        """X[:, support] with rows times roots, dense."""
        return times_rows(self.roots, self.inner.columns(support))

    def scores(self, support: Array, loadings: Array) -> Array:
        """Roots * (X_S loadings) in float64."""
        return self.roots * self.inner.scores(support, loadings)

    def gram_matrix(self, support: Array) -> Array:
        """X_S' diag(w) X_S in float64."""
        return self.inner.weighted_gram_matrix(support, self.weights)

    def gram_between(self, rows: Array, columns: Array) -> Array:
        """X_R' diag(w) X_C in float64."""
        return self.inner.weighted_gram_between(rows, columns, self.weights)

    def samples_gram(self, weights: Array | None = None) -> Array:
        """X diag(weights) X', rows and columns times roots."""
        gram = self.inner.samples_gram(weights)
        gram *= self.roots[:, None]
        gram *= self.roots
        return gram

    def moments(self) -> Moments:
        """Weighted sums and Gram matrix in float64, in one read where the data allow it."""
        return self.inner.weighted_moments(self.weights)

    def rounding_lengths(self) -> Array:
        """Lengths of the weighted columns, and of the terms of what the data compute themselves."""
        lengths = np.sqrt(self.sq_norms)
        of_data = self.inner.inner if isinstance(self.inner, Shifted) else self.inner  # shifted columns are exact
        if isinstance(of_data, Wrapper):
            lengths = lengths + self.roots.max() * self.inner.rounding_lengths()
        return lengths

    def data_errors(self) -> Array:
        """Errors of the data, weighted, and of the roots, which are rounded."""
        return self.roots.max() * self.inner.data_errors() + self.root_errors()

    def root_errors(self) -> Array:
        """Errors of the roots."""
        return EPS * np.sqrt(self.sq_norms)

    def gram_errors(self) -> Array:
        """Errors of X'X, weighted."""
        return self.roots.max() * self.inner.gram_errors()

    def same_gram(self, other: OperatorMixin) -> bool:
        """Return whether data and weights of the other are the same."""
        if not (isinstance(other, Weighted) and self.inner.same_gram(other.inner)):
            return False
        return np.array_equal(self.weights, other.weights)

    def shifted(self, shift: Array) -> OperatorMixin:
        """diag(sqrt(w)) (X - 1 shift')."""
        return Weighted(self.inner.shifted(shift), self.weights)

    def restrict(self, support: Array) -> Weighted:
        """Restrict the data."""
        return Weighted(self.inner.restrict(support), self.weights)

    def transposed(self) -> OperatorMixin:
        """X' diag(sqrt(w))."""
        return Scaled(self.inner.transposed(), self.roots)

    def to_float64(self) -> OperatorMixin:
        """Return the same with products in float64."""
        return self if self.dtype == np.float64 else Weighted(self.inner.to_float64(), self.weights)


def without_unused(op: OperatorMixin, weights: Array) -> tuple[OperatorMixin, Array, Array | None]:
    """Return data and weights without samples of weight 0, and the others, where that saves work; else as they are."""
    used = np.flatnonzero(weights)
    selected = op.rows_at(used) if len(used) < len(weights) else None
    return (op, weights, None) if selected is None else (selected, weights[used], used)


def weighted(op: OperatorMixin, weights: Array) -> OperatorMixin:
    """Return data whose samples count `weights` times, which are checked; the data themselves if all are 1."""
    return op if np.all(weights == 1.0) else Weighted(op.filled_for(weights), weights)
