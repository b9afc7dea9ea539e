"""Centering, scaling and deflation as operators round an operator: the data are never copied or made dense."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rspca.operators.protocol import Array, OperatorMixin, Wrapper

DIGITS_LOST = {np.dtype(np.float32): 100.0, np.dtype(np.float64): 1e6}
"""How much larger a sum of squares may be than the variance that is taken from it by subtraction."""

MOST_CANCELED = 1e3
"""The same in X X': beyond it means and deflations are taken off the columns before these are multiplied."""


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
        return _less_outer(self.inner.rmatmat(U), self.mean, total)

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
        # What is left of a constant column is the rounding of its mean, which is not variance.
        rounding = self.shape[0] * (16.0 * np.finfo(self.dtype).eps * self.mean) ** 2
        norms[np.isfinite(norms) & (norms <= rounding)] = 0.0
        return norms

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
        if _cancels(self, weights):
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
        w = self.weights[support]
        return w[:, None] * self.inner.gram_block(support) * w

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


class Deflated(Wrapper):
    """X (I - v v'): the part of X that the unit vector v does not see (the paper's Algorithm 2)."""

    def __init__(self, inner: OperatorMixin, v: Array, scores: Array | None = None) -> None:
        super().__init__(inner)
        self.v = np.asarray(v, dtype=np.float64)
        self.left: Array = inner.matmat(self.v) if scores is None else scores

    def _project(self, V: Array) -> Array:
        return _less_outer(V, self.v, self.v @ V)

    def matmat(self, V: Array, /) -> Array:
        """X (V - v v'V)."""
        return self.inner.matmat(self._project(V))

    def rmatmat(self, U: Array, /) -> Array:
        """(I - v v') X'U."""
        return _like(self._project(self.inner.rmatmat(U)), self)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """(I - v v') X'T and T = X (V - v v'V) - 1 shift'."""
        product, scores = self.inner.gram_and_scores(self._project(V), shift)
        return self._project(product), scores

    def scores(self, support: Array, loadings: Array) -> Array:
        """Scores less the part along those of v, in float64."""
        return self.inner.scores(support, loadings) - self.left * (self.v[support] @ loadings)

    def columns(self, support: Array, /) -> Array:
        """X_S - (Xv) v_S'."""
        return _less_outer(self.inner.columns(support), self.left, self.v[support])

    @cached_property
    def _gram_v(self) -> Array:
        """X'Xv: what turns column norms into deflated column norms, and Gram rows into deflated ones."""
        return self.inner.gram(self.v)

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Diagonal of (I - v v')A(I - v v')."""
        if shift is not None:
            return super().column_sq_norms(shift)
        norms = self.inner.sq_norms
        left = norms - 2.0 * self.v * self._gram_v + self.v**2 * (self.v @ self._gram_v)
        return _without_rounding(left, self.inner)

    def rounding(self) -> Array:
        """Errors of the data and of what is taken off."""
        return _rounding_less_outer(self, self.left, self.v)

    def restrict(self, support: Array) -> OperatorMixin:
        """X_S - (Xv) v_S' as a rank-one change of the restricted data."""
        part = self.v[support]
        if not part.any():
            return self.inner.restrict(support)
        return LowRank(self.inner.restrict(support), self.left, part)


class ScoreDeflated(Wrapper):
    """(I - u u') X, u the unit scores of an earlier component: Schur deflation A - Avv'A / v'Av."""

    def __init__(self, inner: OperatorMixin, u: Array, loadings: Array | None = None) -> None:
        super().__init__(inner)
        self.u = np.asarray(u, dtype=np.float64)
        self.loadings: Array = np.asarray(inner.rmatmat(self.u), dtype=np.float64) if loadings is None else loadings

    def matmat(self, V: Array, /) -> Array:
        """(I - u u') X V."""
        product = self.inner.matmat(V)
        return _less_outer(product, self.u, self.u @ product)

    def rmatmat(self, U: Array, /) -> Array:
        """X'(I - u u')U."""
        return _less_outer(self.inner.rmatmat(U), self.loadings, self.u @ U)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V, less what u explains of them."""
        if np.any(shift):  # u'1 does not vanish, so the fused form below would miss a term
            return super().gram_and_scores(V, shift)
        product, scores = self.inner.gram_and_scores(V)
        explained = self.loadings @ V
        return _less_outer(product, self.loadings, explained), _less_outer(scores, self.u, explained)

    def scores(self, support: Array, loadings: Array) -> Array:
        """Scores less their part along u, in float64."""
        scores = self.inner.scores(support, loadings)
        return scores - self.u * (self.u @ scores)

    def columns(self, support: Array, /) -> Array:
        """X_S - u (X'u)_S'."""
        return _less_outer(self.inner.columns(support), self.u, self.loadings[support])

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Squared norms less the squared part along u."""
        if shift is not None:
            return super().column_sq_norms(shift)
        norms = self.inner.sq_norms
        return _without_rounding(norms - self.loadings**2, self.inner)

    def samples_gram(self, weights: Array | None = None) -> Array:
        """(I - u u') X W X' (I - u u'), unless that would cancel most of it."""
        if _cancels(self, weights):
            return super().samples_gram(weights)
        gram = self.inner.samples_gram(weights)
        along = gram @ self.u
        return gram - np.outer(along, self.u) - np.outer(self.u, along - self.u * float(along @ self.u))

    def rounding(self) -> Array:
        """Errors of the data and of what is taken off."""
        return self.inner.rounding() + float(np.finfo(self.dtype).eps) * np.abs(self.loadings)

    def restrict(self, support: Array) -> LowRank:
        """X_S - u (X'u)_S' as a rank-one change of the restricted data."""
        return LowRank(self.inner.restrict(support), self.u, self.loadings[support])


class LowRank(Wrapper):
    """X - a b': a rank-one change, what deflation leaves of a few columns."""

    def __init__(self, inner: OperatorMixin, a: Array, b: Array) -> None:
        super().__init__(inner)
        self.a = np.asarray(a, dtype=np.float64)
        self.b = np.asarray(b, dtype=np.float64)

    def matmat(self, V: Array, /) -> Array:
        """X V - a (b'V)."""
        return _less_outer(self.inner.matmat(V), self.a, self.b @ V)

    def rmatmat(self, U: Array, /) -> Array:
        """X'U - b (a'U)."""
        return _less_outer(self.inner.rmatmat(U), self.b, self.a @ U)

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings - a (b_S'loadings), in float64."""
        return self.inner.scores(support, loadings) - self.a * (self.b[support] @ loadings)

    def columns(self, support: Array, /) -> Array:
        """X_S - a b_S'."""
        return _less_outer(self.inner.columns(support), self.a, self.b[support])

    def rounding(self) -> Array:
        """Errors of the data and of what is taken off."""
        return _rounding_less_outer(self, self.a, self.b)

    def restrict(self, support: Array) -> LowRank:
        """Restrict both terms."""
        return LowRank(self.inner.restrict(support), self.a, self.b[support])


class Transposed(Wrapper):
    """X': samples become features."""

    def restricted_bytes(self, k: int) -> int:
        """Memory of k rows of X, copied, dense."""
        return OperatorMixin.restricted_bytes(self, k)

    @property
    def shape(self) -> tuple[int, int]:
        """Features by samples."""
        m, n = self.inner.shape
        return n, m

    def matmat(self, V: Array, /) -> Array:
        """X'V."""
        return self.inner.rmatmat(V)

    def rmatmat(self, U: Array, /) -> Array:
        """X U."""
        return self.inner.matmat(U)

    def columns(self, support: Array, /) -> Array:
        """Rows of X, fetched by products with unit vectors."""
        units = np.zeros((self.shape[1], len(support)))
        units[support, np.arange(len(support))] = 1.0
        return self.inner.rmatmat(units)

    def transposed(self) -> OperatorMixin:
        """Return the operator that was transposed."""
        return self.inner


def _scale_rows(weights: Array, V: Array) -> Array:
    return (weights * V.T).T


def _like(values: Array, op: OperatorMixin) -> Array:
    return np.asarray(values, dtype=op.dtype)


def _less_outer(product: Array, a: Array, b: Array) -> Array:
    """Return product - a b' in the type and the memory order of the product: mixed orders take three times as long."""
    by_columns = product.ndim == 2 and product.flags.f_contiguous
    outer = np.asarray(np.multiply.outer(b, a).T if by_columns else np.multiply.outer(a, b), dtype=product.dtype)
    return np.subtract(product, outer, out=outer)


def _cancels(op: Wrapper, weights: Array | None) -> bool:
    """Return whether X W X' is so much smaller than the terms it is the difference of that digits would be lost."""
    terms = (op.rounding() / float(np.finfo(op.dtype).eps)) ** 2
    each = np.ones(len(terms)) if weights is None else weights
    return float(each @ terms) > MOST_CANCELED * float(each @ op.sq_norms)


def _rounding_less_outer(op: Wrapper, a: Array, b: Array) -> Array:
    """Return the rounding errors of X - a b': those of X, and those of the term itself."""
    return op.inner.rounding() + float(np.finfo(op.dtype).eps) * float(np.linalg.norm(a)) * np.abs(b)


def _without_rounding(left: Array, inner: OperatorMixin) -> Array:
    """Clip differences of squared norms: what is left below rounding error of what was there is nothing."""
    before = inner.sq_norms
    error = np.maximum(64 * float(np.finfo(inner.dtype).eps) * before, 2.0 * np.sqrt(before) * inner.rounding())
    left[left <= error] = 0.0
    return left
