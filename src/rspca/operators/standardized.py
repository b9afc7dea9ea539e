"""Centering and scaling as operators round an operator: the data are never copied or made dense."""

from __future__ import annotations

import warnings

import numpy as np

from rspca.operators.protocol import Array, OperatorMixin, Wrapper, chunks
from rspca.operators.rankone import LowRank, cancels, less_outer

DIGITS_LOST = {np.dtype(np.float32): 100.0, np.dtype(np.float64): 1e6}
"""How much larger a sum of squares may be than the variance that is taken from it by subtraction."""


class Centered(Wrapper):
    """X - 1 mean', with the column means of X. Centering what is centered changes nothing."""

    def __new__(cls, inner: OperatorMixin, mean: Array | None = None) -> Centered:
        """Return `inner` itself if it is centered already."""
        return inner if isinstance(inner, Centered) else super().__new__(cls)

    def __init__(self, inner: OperatorMixin, mean: Array | None = None) -> None:
        if inner is self:
            return
        super().__init__(inner)
        self.mean: Array = inner.column_sums() / inner.shape[0] if mean is None else mean

    def matmat(self, V: Array, /) -> Array:
        """(X - 1 mean') V."""
        return self.inner.matmat(V) - _like(self.mean @ V, self)

    def rmatmat(self, U: Array, /) -> Array:
        """(X - 1 mean')' U."""
        total = np.asarray(np.sum(U, axis=0, dtype=np.float64))
        return less_outer(self.inner.rmatmat(U), self.mean, total)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """Both in one read: what rounding, or `shift`, leaves of the sum of the scores is taken off with the mean."""
        product, scores = self.inner.gram_and_scores(V, self.mean @ V + shift)
        # Exact scores would sum to zero. These do so up to rounding, which a large mean would make large again.
        total = np.sum(scores, axis=0, dtype=np.float64)
        product = product - np.multiply.outer(self.mean, total)
        return product, scores

    def scores(self, support: Array, loadings: Array) -> Array:
        """Centered scores in float64: about their own mean, which is exact where the column means are rounded."""
        scores = self.inner.scores(support, loadings)
        return scores - scores.mean()

    def columns(self, support: Array, /) -> Array:
        """Centered columns, dense."""
        return self.inner.columns(support) - _like(self.mean[support], self)

    def column_sums(self) -> Array:
        """Zeros."""
        return np.zeros(self.shape[1])

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum of squares about the mean."""
        if shift is not None:
            return self.inner.column_sq_norms(self.mean + shift)
        norms = self._about_mean()
        rounding = rounding_of_mean(self, self.mean)
        lost = np.flatnonzero(np.isfinite(norms) & (norms <= rounding) & (norms > 0.0))
        self._warn_if_any_vary(lost)
        norms[lost] = 0.0
        return norms

    def _warn_if_any_vary(self, lost: Array) -> None:
        """Say so if columns that count as constant are not: products in their precision could not tell."""
        for part in chunks(len(lost), self.shape[0] * 8):
            block = self.inner.columns(lost[part])
            varying = lost[part][np.any(block != block[:1], axis=0)]
            if len(varying):
                message = (
                    f"Column {varying[0]}, and perhaps others, varies by less than products in {self.dtype} can tell "
                    "so far from zero, and counts as constant. Subtract the means in float64 first, or give float64."
                )
                warnings.warn(message, UserWarning, stacklevel=2)
                return

    def _about_mean(self) -> Array:
        """Sum of squares less that of the mean; about the mean itself where the difference would lose digits."""
        m, n = self.shape
        raw = self.inner.column_sq_norms()
        with np.errstate(over="ignore", invalid="ignore"):
            norms = raw - m * self.mean**2
            doubtful = np.flatnonzero(~(raw <= DIGITS_LOST[self.dtype] * norms))
        if len(doubtful) > n // 10:
            return self.inner.column_sq_norms(self.mean)
        if len(doubtful):
            norms[doubtful] = self.inner.restrict(doubtful).column_sq_norms(self.mean[doubtful])
        return norms

    def samples_gram(self, weights: Array | None = None) -> Array:
        """X W X' about the mean: three terms of rank one less, unless these would cancel most of it."""
        if cancels(self, weights):
            return super().samples_gram(weights)
        weighted = self.mean if weights is None else weights * self.mean
        along = self.inner.scores(np.arange(self.shape[1]), weighted)
        return self.inner.samples_gram(weights) - along[:, None] - along + float(weighted @ self.mean)

    def rounding(self) -> Array:
        """Errors of the data and of subtracting the mean."""
        eps = float(np.finfo(self.dtype).eps)
        return self.inner.rounding() + eps * (np.sqrt(self.sq_norms) + np.sqrt(self.shape[0]) * np.abs(self.mean))

    def restrict(self, support: Array) -> Centered:
        """Restrict data and means alike."""
        return Centered(self.inner.restrict(support), self.mean[support])

    def transposed(self) -> OperatorMixin:
        """X' - mean 1'."""
        return LowRank(self.inner.transposed(), self.mean, np.ones(self.shape[0]))


class Scaled(Wrapper):
    """X diag(weights)."""

    def __init__(self, inner: OperatorMixin, weights: Array) -> None:
        super().__init__(inner)
        self.weights = weights

    @property
    def offset(self) -> float:  # type: ignore[override]
        """The offset of the inner operator, when one weight serves all columns."""
        return self.inner.offset * float(self.weights[0]) ** 2 if self.inner.offset else 0.0

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
        return self.inner.columns(support) * _like(self.weights[support], self)

    def gram_block(self, support: Array) -> Array:
        """X_S'X_S, scaled."""
        w, gram = self.weights[support], self.inner.gram_block(support)
        gram *= w[:, None]
        gram *= w
        return gram

    def gram_rows(self, support: Array) -> Array:
        """X_S'X, scaled: before the product where there is one, because unscaled squares may leave float range."""
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

    def rounding(self) -> Array:
        """Errors of the data, scaled."""
        return self.weights * self.inner.rounding()

    def restrict(self, support: Array) -> Scaled:
        """Restrict data and weights alike."""
        return Scaled(self.inner.restrict(support), self.weights[support])

    def transposed(self) -> OperatorMixin:
        """diag(weights) X'."""
        return RowScaled(self.inner.transposed(), self.weights)


class Standardized(Scaled):
    """X with each column divided by its spread, which is found from X itself.

    A constant column stays as it is if it is not centered; if it is, nothing is left of it, not even rounding.

    scale=True: the standard deviation (ddof 0); "patterson": sqrt(2p(1-p)), p half the mean, for genotypes.
    """

    def __init__(self, inner: OperatorMixin, scale: bool | str) -> None:
        self.scale = scale
        super().__init__(inner, self.weights_of(inner))

    def weights_of(self, inner: OperatorMixin) -> Array:
        """Return one over the spread of each column."""
        about_mean = Centered(inner)  # itself, if it is centered
        if self.scale == "patterson":
            spread = np.sqrt(np.maximum(about_mean.mean * (1.0 - about_mean.mean / 2.0), 0.0))
        else:
            spread = np.sqrt(about_mean.sq_norms / inner.shape[0])
        varies, length = spread > 0.0, inner.sq_norms > 0.0
        return np.where(length, 1.0 / np.where(varies, spread, 1.0), 0.0)


class RowScaled(Wrapper):
    """diag(weights) X: what scaling features means for the transpose."""

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


def rounding_of_mean(op: OperatorMixin, mean: Array) -> Array:
    """Return the squared norms that may be left of constant columns: the rounding of their mean, not variance."""
    return np.asarray(op.shape[0] * (16.0 * np.finfo(op.dtype).eps * mean) ** 2)


def _scale_rows(weights: Array, V: Array) -> Array:
    return (weights * V.T).T


def _like(values: Array, op: OperatorMixin) -> Array:
    return np.asarray(values, dtype=op.dtype)
