"""Centering and scaling as wrappers: no centered, scaled or dense copy of the data is made."""

from __future__ import annotations

from typing import cast

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.low_rank import LowRankUpdate, loses_digits, minus_outer
from rspca.operators.moments import WithMoments
from rspca.operators.near_zero import near_zero
from rspca.operators.wrapper import Wrapper

CANCELLATION_MAX = {np.dtype(np.float32): 100.0, np.dtype(np.float64): 1e4}
"""Arithmetic: ratio of a sum of squares to a variance obtained from it by subtraction: two digits of seven are lost
in float32, four of sixteen in float64."""

EPS = float(np.finfo(np.float64).eps)
"""Arithmetic: twice the unit roundoff of float64, in which sums are bounded."""


class Centered(Wrapper):
    """X - 1 mean', with the column means of X. Centering twice changes nothing.

    Columns far from zero are shifted before they are multiplied, so `inner` is X - 1 shift', and `inner_mean` its mean.
    """

    def __new__(
        cls,
        inner: OperatorMixin,
        inner_mean: Array | None = None,
        *,
        shift: Array | None = None,
        constant: Array | None = None,
    ) -> Centered:
        """Return `inner` itself if it is centered already."""
        return inner if isinstance(inner, Centered) else super().__new__(cls)

    columns_are_copies = True

    def __init__(
        self,
        inner: OperatorMixin,
        inner_mean: Array | None = None,
        *,
        shift: Array | None = None,
        constant: Array | None = None,
    ) -> None:
        if inner is self:
            return
        if inner_mean is None:
            inner, inner_mean, shift, constant = near_zero(inner)
        super().__init__(inner)
        self.inner_mean: Array = inner_mean
        self.shift: Array = np.broadcast_to(0.0, self.shape[1]) if shift is None else shift
        self.constant: Array = np.zeros(self.shape[1], dtype=bool) if constant is None else constant
        """Constant columns that are not zero: products leave them out, because only rounding would remain of them."""
        self._constant = np.flatnonzero(self.constant)

    @property
    def mean(self) -> Array:
        """Column means of X."""
        return self.shift + self.inner_mean if self.shift.any() else self.inner_mean

    def matmat(self, V: Array, /) -> Array:
        """(X - 1 mean') V."""
        V = self._without_constant(V)
        return self._minus_means(self.inner.matmat(V), self.inner_mean @ V)

    def _minus_means(self, product: Array, means: Array) -> Array:
        """Return a product less the means of its columns, times the roots of weights where samples have them."""
        if self.row_weights is None:
            return np.asarray(product - _like(means, self))
        return minus_outer(product, self.intercept, np.asarray(means))

    def _total(self, U: Array) -> Array:
        """Return the sums of columns over samples, in float64, weighted where samples have weights."""
        if self.row_weights is None:
            return np.asarray(np.sum(U, axis=0, dtype=np.float64))
        return np.asarray(self.intercept @ np.asarray(U, dtype=np.float64))

    def _without_constant(self, values: Array) -> Array:
        """Return rows for features, those of constant columns set to zero."""
        if len(self._constant):
            values = np.array(values)
            values[self._constant] = 0.0
        return values

    def rmatmat(self, U: Array, /) -> Array:
        """(X - 1 mean')' U."""
        return self._without_constant(minus_outer(self.inner.rmatmat(U), self.inner_mean, self._total(U)))

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """Both in one read; the mean times the sum of the scores, nonzero by rounding or `shift`, is subtracted."""
        V = self._without_constant(V)
        product, scores = self.inner.gram_and_scores(V, self.inner_mean @ V + shift)
        # Exact scores sum to zero. These do so up to rounding, which a large mean would amplify.
        return self._without_constant(minus_outer(product, self.inner_mean, self._total(scores))), scores

    def scores(self, support: Array, loadings: Array) -> Array:
        """Centered scores in float64, about their own mean, which is more accurate than the column means."""
        if len(self._constant):
            varying = ~self.constant[support]
            support, loadings = support[varying], loadings[varying]
        scores = self.inner.scores(support, loadings)
        mean = self._total(scores) / self.total_weight
        return scores - (mean if self.row_weights is None else self.intercept * mean)

    def columns(self, support: Array, /) -> Array:
        """Centered columns, dense."""
        columns, means = self.inner.columns(support), self.inner_mean[support]
        if self.row_weights is None and _is_copy(columns, self.inner):
            columns -= _like(means, self)
        else:
            columns = self._minus_means(columns, means)
        if len(self._constant):
            columns[:, self.constant[support]] = 0.0
        return columns

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S about the mean: the means are taken off the product, as far as they are not shifted before."""
        gram = self.inner.gram_about(support, self.inner_mean)
        constant = self.constant[support]
        gram[constant], gram[:, constant] = 0.0, 0.0
        return gram

    def gram_between(self, rows: Array, columns: Array) -> Array:
        """X_R'X_C about the mean."""
        gram = self.inner.gram_between(rows, columns)
        gram -= np.multiply.outer(self.total_weight * self.inner_mean[rows], self.inner_mean[columns])
        gram[self.constant[rows]], gram[:, self.constant[columns]] = 0.0, 0.0
        return gram

    def same_gram(self, other: OperatorMixin) -> bool:
        """Return whether data and means of the other are the same."""
        if not (isinstance(other, Centered) and self.inner.same_gram(other.inner)):
            return False
        means = np.array_equal(self.inner_mean, other.inner_mean)
        return means and np.array_equal(self.constant, other.constant)

    def gram_lengths(self, mean: Array | float = 0.0) -> Array:
        """Lengths of the terms of X'X about the mean; the mean itself is rounded, which enters X'X squared."""
        root = np.sqrt(self.total_weight)
        lengths = self.inner.gram_lengths(self.inner_mean) + np.sqrt(EPS) * root * np.abs(self.inner_mean)
        return np.where(self.constant, 0.0, lengths) + root * np.abs(mean)

    def column_sums(self) -> Array:
        """Zeros; sums of weighted rows are none, only their sums times the roots of weights are."""
        return np.zeros(self.shape[1]) if self.row_weights is None else super().column_sums()

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum of squares about the mean."""
        if shift is not None:
            return self.inner.column_sq_norms(self.inner_mean + shift)
        norms = self._about_mean()
        norms[self.constant] = 0.0
        return norms

    def _about_mean(self) -> Array:
        """Sum of squares less that of the mean; computed about the mean if the difference would lose digits."""
        m, n = self.total_weight, self.shape[1]
        raw = self.inner.sq_norms
        with np.errstate(over="ignore", invalid="ignore"):
            norms = raw - m * self.inner_mean**2
            doubtful = np.flatnonzero(~(raw <= CANCELLATION_MAX[self.dtype] * norms) & ~self.constant)
        # moments of float32 data are in float64 and about a shift near the means: no other read, and no digits lost
        has_moments = isinstance(self.inner, WithMoments) and self.dtype == np.float32
        if len(doubtful) > n // 10 or (len(doubtful) and has_moments):
            return self.inner.column_sq_norms(self.inner_mean)
        self.inner.forget_sums()
        if len(doubtful):
            norms[doubtful] = self.inner.restrict(doubtful).column_sq_norms(self.inner_mean[doubtful])
        return norms

    def samples_gram(self, weights: Array | None = None) -> Array:
        """X W X' less the terms of the mean, unless most digits would cancel."""
        if loses_digits(self, weights):
            return super().samples_gram(weights)
        if len(self._constant):
            weights = self._without_constant(np.ones(self.shape[1]) if weights is None else weights)
        weighted = self.inner_mean if weights is None else weights * self.inner_mean
        along = self.inner.scores(np.arange(self.shape[1]), weighted)
        ones, square = self.intercept, float(weighted @ self.inner_mean)
        gram = self.inner.samples_gram(weights) - np.multiply.outer(along, ones) - np.multiply.outer(ones, along)
        return gram + square * np.multiply.outer(ones, ones)

    def rounding_lengths(self) -> Array:
        """Lengths of the data, of the centered data, and of the means."""
        given = not isinstance(self.inner, Wrapper)  # columns as they are given
        lengths = np.zeros(self.shape[1]) if given else self.inner.rounding_lengths()
        for part in chunks(self.shape[1], 8):  # of millions of features, no other number for each at the same time
            means, norms = self.total_weight * np.square(self.inner_mean[part]), self.sq_norms[part]
            lengths[part] += np.sqrt(means) + np.sqrt(norms)
            if given:
                lengths[part] += np.sqrt(means + norms)
        lengths[self._constant] = 0.0
        return lengths

    def data_errors(self) -> Array:
        """Errors of the data; roots of weights, which are rounded, multiply what is left after the mean."""
        if self.row_weights is None:
            return self.inner.data_errors()
        of_data = np.maximum(self.inner.data_errors() - self.inner.root_errors(), 0.0)
        return of_data + EPS * np.sqrt(self.sq_norms)

    def restrict(self, support: Array) -> Centered:
        """Restrict data and means."""
        return Centered(
            self.inner.restrict(support),
            self.inner_mean[support],
            shift=self.shift[support],
            constant=self.constant[support],
        )

    def transposed(self) -> OperatorMixin:
        """X' - mean 1'."""
        if len(self._constant):
            return super().transposed()
        return LowRankUpdate(self.inner.transposed(), self.inner_mean, self.intercept)

    def to_float64(self) -> OperatorMixin:
        """X - 1 mean' with products in float64, the means computed again."""
        if self.dtype == np.float64:
            return self
        inner = self.inner.to_float64()
        mean = np.where(self.constant, self.inner_mean, inner.means)
        return Centered(inner, mean, shift=self.shift, constant=self.constant)


class Scaled(Wrapper):
    """X diag(weights)."""

    def __init__(self, inner: OperatorMixin, weights: Array) -> None:
        super().__init__(inner)
        self.weights = weights

    @property
    def offset(self) -> float:  # type: ignore[override]
        """The offset of the inner operator, when one weight serves all columns."""
        return self.inner.offset * float(self.weights[0]) ** 2 if self.inner.offset else 0.0

    @property
    def gram_in_memory(self) -> bool:  # type: ignore[override]
        """Whether X'X is in memory, which scaling changes little."""
        return self.inner.gram_in_memory

    def gram(self, V: Array) -> Array:
        """Weights * X'X (weights * V)."""
        return _scale_rows(self.weights, self.inner.gram(_scale_rows(self.weights, V)))

    def matmat(self, V: Array, /) -> Array:
        """X (weights * V)."""
        return self.inner.matmat(_scale_rows(self.weights, V))

    def rmatmat(self, U: Array, /) -> Array:
        """Weights * (X'U)."""
        return _like(_scale_rows(self.weights, self.inner.rmatmat(U)), self)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """Weights * X'T and T = X (weights * V) - 1 shift'."""
        product, scores = self.inner.gram_and_scores(_scale_rows(self.weights, V), shift)
        return _scale_rows(self.weights, product), scores

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S (weights_S * loadings) in float64."""
        return self.inner.scores(support, self.weights[support] * loadings)

    def columns(self, support: Array, /) -> Array:
        """Scaled columns, dense."""
        columns, weights = self.inner.columns(support), _like(self.weights[support], self)
        return np.multiply(columns, weights, out=columns if _is_copy(columns, self.inner) else None)

    def gram_block(self, support: Array) -> Array:
        """X_S'X_S, scaled."""
        w, gram = self.weights[support], self.inner.gram_block(support)
        gram *= w[:, None]
        gram *= w
        return gram

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S, scaled."""
        w, gram = self.weights[support], self.inner.gram_matrix(support)
        gram *= w[:, None]
        gram *= w
        return gram

    def gram_between(self, rows: Array, columns: Array) -> Array:
        """X_R'X_C, scaled."""
        return self.weights[rows, None] * self.inner.gram_between(rows, columns) * self.weights[columns]

    def same_gram(self, other: OperatorMixin) -> bool:
        """Return whether data and weights of the other are the same."""
        same = isinstance(other, Scaled) and self.inner.same_gram(other.inner)
        return same and np.array_equal(self.weights, cast(Scaled, other).weights)

    def gram_rows(self, support: Array) -> Array:
        """X_S'X, scaled before the product if there are samples, because unscaled squares may leave float range."""
        if self.inner.has_samples:
            return super().gram_rows(support)
        return self.weights[support, None] * self.inner.gram_rows(support) * self.weights

    def column_sums(self) -> Array:
        """Weights times the column sums."""
        return self.weights * self.inner.column_sums()

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum of squares, scaled."""
        if shift is None:
            return (self.weights * np.sqrt(self.inner.sq_norms)) ** 2
        return super().column_sq_norms(shift)

    def samples_gram(self, weights: Array | None = None) -> Array:
        """X S W S X'."""
        return self.inner.samples_gram(self.weights**2 if weights is None else weights * self.weights**2)

    def rounding_lengths(self) -> Array:
        """Lengths of the data, scaled."""
        return self.weights * self.inner.rounding_lengths()

    def data_errors(self) -> Array:
        """Errors of the data, scaled."""
        return self.weights * self.inner.data_errors()

    def gram_lengths(self, mean: Array | float = 0.0) -> Array:
        """Lengths of the terms of X'X, scaled."""
        return self.weights * self.inner.gram_lengths() + np.sqrt(self.total_weight) * np.abs(mean)

    def gram_errors(self) -> Array:
        """Errors of X'X, scaled."""
        return self.weights * self.inner.gram_errors()

    def attained(self, support: Array, loadings: Array) -> float:
        """Return a proven lower bound on the variance of the loadings."""
        if self.inner.has_samples:
            return super().attained(support, loadings)
        return self.inner.attained(support, self.weights[support] * loadings)

    def to_float64(self) -> OperatorMixin:
        """X diag(weights) with products in float64."""
        return self if self.dtype == np.float64 else Scaled(self.inner.to_float64(), self.weights)

    def restrict(self, support: Array) -> Scaled:
        """Restrict data and weights."""
        return Scaled(self.inner.restrict(support), self.weights[support])

    def transposed(self) -> OperatorMixin:
        """diag(weights) X'."""
        return RowScaled(self.inner.transposed(), self.weights)


class Standardized(Scaled):
    """X with each column divided by its spread, which is computed from X itself.

    A constant column stays as it is, or is exactly zero if it is centered.

    scale=True: the standard deviation (ddof 0); "patterson": sqrt(2p(1-p)), p half the mean, for genotypes.
    """

    def __init__(self, inner: OperatorMixin, scale: bool | str) -> None:
        self.scale = scale
        about_mean = Centered(inner)  # inner itself if it is centered
        varies, spread = self._spread(about_mean)
        length = inner.sq_norms > 0.0
        super().__init__(inner, np.where(length, 1.0 / np.where(varies, spread, 1.0), 0.0))
        self._weight_errors = _relative_errors(about_mean, self.scale)

    def _spread(self, about_mean: Centered) -> tuple[Array, Array]:
        """Return which columns vary, and the number that each is divided by."""
        if self.scale == "patterson":
            spread = np.sqrt(np.maximum(about_mean.mean * (1.0 - about_mean.mean / 2.0), 0.0))
        else:
            spread = np.sqrt(about_mean.sq_norms / about_mean.total_weight)
        return spread > 0.0, spread

    def data_errors(self) -> Array:
        """Errors of the data, scaled, and of the weights themselves."""
        return super().data_errors() + self._weight_errors * np.sqrt(self.sq_norms)

    def to_float64(self) -> OperatorMixin:
        """X divided by its spread with products in float64, the spread computed again."""
        return self if self.dtype == np.float64 else Standardized(self.inner.to_float64(), self.scale)


def _relative_errors(about_mean: Centered, scale: bool | str) -> Array:
    """Return bounds on the relative errors of weights in float64; zero for single precision, which proves nothing.

    A sum of m squares is off by at most (m + 64) eps times the squares that entered it: those of the columns before
    their mean was subtracted, as far as CANCELLATION_MAX allows. For "patterson" the mean p2 = 2p has a similar
    relative error, and p2 (1 - p2 / 2) at most that over 1 - p2 / 2; a square root halves relative errors.
    """
    m, n = about_mean.shape
    if about_mean.dtype != np.float64:
        return np.zeros(n)
    eps = float(np.finfo(np.float64).eps)
    if scale == "patterson":
        with np.errstate(divide="ignore"):
            lost = 1.0 / np.abs(1.0 - about_mean.mean / 2.0)
        return np.where(np.isfinite(lost), (m + 64) * eps * (1.0 + lost), 0.0)
    norms = about_mean.sq_norms
    before = np.minimum(about_mean.rounding_lengths() ** 2, CANCELLATION_MAX[about_mean.dtype] * norms)
    return (m + 64) * eps * np.divide(before, norms, out=np.ones(n), where=norms > 0.0)


class RowScaled(Wrapper):
    """diag(weights) X, the transpose of a scaled operator."""

    def __init__(self, inner: OperatorMixin, weights: Array) -> None:
        super().__init__(inner)
        self.weights = weights

    def matmat(self, V: Array, /) -> Array:
        """Weights * (X V)."""
        return _like(_scale_rows(self.weights, self.inner.matmat(V)), self)

    def rmatmat(self, U: Array, /) -> Array:
        """X'(weights * U)."""
        return self.inner.rmatmat(_scale_rows(self.weights, U))

    def columns(self, support: Array, /) -> Array:
        """Columns with scaled rows, dense."""
        return _like(_scale_rows(self.weights, self.inner.columns(support)), self)


def _is_copy(columns: Array, op: OperatorMixin) -> bool:
    """Return whether these columns of an operator are nobody else's: those of a user may be the data themselves."""
    return op.columns_are_copies and columns.flags.writeable and columns.dtype == op.dtype


def _scale_rows(weights: Array, V: Array) -> Array:
    return (weights * V.T).T


def _like(values: Array, op: OperatorMixin) -> Array:
    return np.asarray(values, dtype=op.dtype)
