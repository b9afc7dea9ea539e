"""X with its column sums and its Gram matrix, taken in one pass: what tall data are reduced to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import Moments, OperatorMixin
from rspca.operators.summed_moments import FAR_SHIFT
from rspca.operators.wrapper import Wrapper


class _ColumnMoments(NamedTuple):
    """Moments without the Gram matrix: the shift, sums, squared norms and lengths of the columns."""

    shift: Array
    sums: Array
    squares: Array
    lengths: Array


class WithMoments(Wrapper):
    """X, whose sums, squared norms and Gram matrix all come from one pass, made when the first of them is asked for.

    The pass is made about a shift near the means, so that no digits are lost when the means are taken off.
    """

    def __init__(self, inner: OperatorMixin) -> None:
        super().__init__(inner)
        self._moments: Moments | None = None
        self._columns: _ColumnMoments | None = None

    @property
    def moments_in_float64(self) -> bool:  # type: ignore[override]
        """Whether the moments are those of the numbers that X holds."""
        return self.inner.moments_in_float64

    def moments(self) -> Moments:
        """Sums and Gram matrix of X - 1 shift', and the shift."""
        if self._moments is None:
            self._moments = self.inner.moments()
        return self._moments

    def _of_columns(self) -> _ColumnMoments:
        if self._columns is None:
            shift, sums, gram, lengths = self.moments()
            self._columns = _ColumnMoments(shift, sums, np.diagonal(gram).copy(), lengths)
        return self._columns

    def forget_gram(self) -> None:
        """Free the memory of the Gram matrix, and keep sums and squared norms."""
        self._of_columns()
        self._moments = None

    def column_sums(self) -> Array:
        """Sum of each column."""
        if self.row_weights is not None:
            return self.inner.column_sums()
        columns = self._of_columns()
        return self.shape[0] * columns.shift + columns.sums

    @property
    def means(self) -> Array:
        """Mean of each column."""
        columns = self._of_columns()
        return columns.shift + columns.sums / self.total_weight

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of (x_ij - shift_j)^2."""
        near, sums, squares, _ = self._of_columns()
        move = near - (0.0 if shift is None else shift)
        return squares + (2.0 * sums + self.total_weight * move) * move

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S in float64."""
        return self.gram_about(support, np.zeros(self.shape[1]))

    def gram_about(self, support: Array, mean: Array) -> Array:
        """(X_S - 1 mean_S')'(X_S - 1 mean_S') in float64."""
        shift, sums, gram, lengths = self.moments()
        whole = np.array_equal(support, np.arange(len(gram)))
        gram = gram if whole else gram[np.ix_(support, support)]
        some = Moments(shift[support], sums[support], gram, lengths[support])
        return some.about(mean[support], self.total_weight).gram

    def gram_lengths(self, mean: Array | float = 0.0) -> Array:
        """Lengths of the columns as they were multiplied, and of what was added to move them to the mean."""
        moments = self._of_columns()
        return moments.lengths + np.sqrt(self.total_weight) * np.abs(moments.shift - mean)

    def rounding_lengths(self) -> Array:
        """Lengths of the columns, and of what their squared norms were made from."""
        return np.sqrt(self.sq_norms) + self.gram_lengths()

    def root_errors(self) -> Array:
        """Errors of the roots of weights."""
        return self.inner.root_errors()

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        return self.inner.matmat(V)

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        return self.inner.rmatmat(U)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V - 1 shift'."""
        return self.inner.gram_and_scores(V, shift)

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings in float64."""
        return self.inner.scores(support, loadings)

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        return self.inner.columns(support)

    def restrict(self, support: Array) -> OperatorMixin:
        """Return the operator of X[:, support]."""
        return self.inner.restrict(support)

    def transposed(self) -> OperatorMixin:
        """X'."""
        return self.inner.transposed()

    def shifted(self, shift: Array) -> OperatorMixin:
        """X - 1 shift', with the same moments about another shift; taken again if digits of these columns were lost."""
        moved, columns = WithMoments(self.inner.shifted(shift)), self._of_columns()
        left = self.column_sq_norms(self.means)
        if np.all((columns.lengths**2 <= FAR_SHIFT * left) | (shift == 0.0)):
            near = columns.shift - shift
            moved._columns = columns._replace(shift=near)
            moved._moments = None if self._moments is None else self._moments._replace(shift=near)
        return moved

    def to_float64(self) -> OperatorMixin:
        """X with products in float64; the moments are taken again if they were those of rounded numbers."""
        if self.dtype == np.float64:
            return self
        same = WithMoments(self.inner.to_float64())
        if self.moments_in_float64:
            same._moments, same._columns = self._moments, self._of_columns()
        return same

    def same_gram(self, other: OperatorMixin) -> bool:
        """Return whether the other has the same moments."""
        return isinstance(other, WithMoments) and self._of_columns() is other._of_columns()
