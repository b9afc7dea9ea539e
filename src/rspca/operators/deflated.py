"""Deflation as operators round an operator: what a component leaves of X, without a copy of the data."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rspca.operators.protocol import Array, OperatorMixin, Wrapper
from rspca.operators.rankone import LowRank, cancels, less_outer, rounding_less_outer

DOUBTFUL = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-6}
"""Share of a squared norm below which a difference to it may have lost all its digits."""

AS_DENSE = OperatorMixin.first_block
"""A first component leaves several directions of like variance, and all of them should be seen: of sparse data, too."""


class Deflated(Wrapper):
    """X (I - v v'): the part of X that the unit vector v does not see (the paper's Algorithm 2)."""

    first_block = AS_DENSE

    def __init__(self, inner: OperatorMixin, v: Array, scores: Array | None = None) -> None:
        super().__init__(inner)
        self.v = np.asarray(v, dtype=np.float64)
        self.left: Array = inner.matmat(self.v) if scores is None else scores

    def _project(self, V: Array) -> Array:
        return less_outer(V, self.v, self.v @ V)

    def matmat(self, V: Array, /) -> Array:
        """X (V - v v'V)."""
        return self.inner.matmat(self._project(V))

    def rmatmat(self, U: Array, /) -> Array:
        """(I - v v') X'U."""
        return np.asarray(self._project(self.inner.rmatmat(U)), dtype=self.dtype)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """(I - v v') X'T and T = X (V - v v'V) - 1 shift'."""
        product, scores = self.inner.gram_and_scores(self._project(V), shift)
        return self._project(product), scores

    def scores(self, support: Array, loadings: Array) -> Array:
        """Scores less the part along those of v, in float64."""
        return self.inner.scores(support, loadings) - self.left * (self.v[support] @ loadings)

    def columns(self, support: Array, /) -> Array:
        """X_S - (Xv) v_S'."""
        return less_outer(self.inner.columns(support), self.left, self.v[support])

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
        return _without_rounding(left, self)

    def rounding(self) -> Array:
        """Errors of the data and of what is taken off."""
        return rounding_less_outer(self, self.left, self.v)

    def restrict(self, support: Array) -> OperatorMixin:
        """X_S - (Xv) v_S' as a rank-one change of the restricted data."""
        part = self.v[support]
        if not part.any():
            return self.inner.restrict(support)
        return LowRank(self.inner.restrict(support), self.left, part)


class ScoreDeflated(Wrapper):
    """(I - u u') X, u the unit scores of an earlier component: Schur deflation A - Avv'A / v'Av."""

    first_block = AS_DENSE

    def __init__(self, inner: OperatorMixin, u: Array, loadings: Array | None = None) -> None:
        super().__init__(inner)
        self.u = np.asarray(u, dtype=np.float64)
        self.loadings: Array = np.asarray(inner.rmatmat(self.u), dtype=np.float64) if loadings is None else loadings

    def matmat(self, V: Array, /) -> Array:
        """(I - u u') X V."""
        product = self.inner.matmat(V)
        return less_outer(product, self.u, self.u @ product)

    def rmatmat(self, U: Array, /) -> Array:
        """X'(I - u u')U."""
        return less_outer(self.inner.rmatmat(U), self.loadings, self.u @ U)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V, less what u explains of them."""
        if np.any(shift):  # u'1 does not vanish, so the fused form below would miss a term
            return super().gram_and_scores(V, shift)
        product, scores = self.inner.gram_and_scores(V)
        explained = self.loadings @ V
        return less_outer(product, self.loadings, explained), less_outer(scores, self.u, explained)

    def scores(self, support: Array, loadings: Array) -> Array:
        """Scores less their part along u, in float64."""
        scores = self.inner.scores(support, loadings)
        return scores - self.u * (self.u @ scores)

    def columns(self, support: Array, /) -> Array:
        """X_S - u (X'u)_S'."""
        return less_outer(self.inner.columns(support), self.u, self.loadings[support])

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Squared norms less the squared part along u."""
        if shift is not None:
            return super().column_sq_norms(shift)
        norms = self.inner.sq_norms
        return _without_rounding(norms - self.loadings**2, self)

    def samples_gram(self, weights: Array | None = None) -> Array:
        """(I - u u') X W X' (I - u u'), unless that would cancel most of it."""
        if cancels(self, weights):
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


def _without_rounding(left: Array, op: Wrapper) -> Array:
    """Clip differences of squared norms: what is left below rounding error of what was there is nothing.

    The norms of data far from zero are differences themselves, with errors beyond that. So a small difference is only
    taken for a hint, and the columns are looked at.
    """
    before, eps = op.inner.sq_norms, float(np.finfo(op.dtype).eps)
    error = np.maximum(64 * eps * before, 2.0 * np.sqrt(before) * op.inner.rounding())
    small = np.flatnonzero((left > error) & (left < DOUBTFUL[op.dtype] * before))
    if len(small) and op.has_samples:
        left[small] = OperatorMixin.column_sq_norms(op.restrict(small))
    left[left <= error] = 0.0
    return left
