"""Left projections: X without what some orthonormal vectors over samples explain of it, such as covariates."""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.low_rank import GramPart, LowRankUpdate, as_columns, loses_digits, minus_outer, subtract_outer
from rspca.operators.wrapper import Wrapper

GRAM_MIN_SHARE = 1e-6
"""Arithmetic: share of the trace of a Gram matrix that deflation must leave for a search to use the difference."""
ROUNDING_MULTIPLE = 4.0
"""Arithmetic: multiple of the rounding error of a deflated column up to which its length is only rounding."""
DOUBTFUL_SHARE = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-6}
"""Arithmetic: share of a squared norm below which a difference to it may have lost all its digits."""
FIRST_BLOCK = OperatorMixin.first_block
"""Vectors multiplied at once at first: after a first component several directions have similar variance, and all should
be seen, also of sparse data."""


class LeftProjected(Wrapper):
    """(I - UU')X, the columns of U orthonormal vectors over the samples, and the rounding of it."""

    first_block = FIRST_BLOCK

    def __init__(
        self,
        inner: OperatorMixin,
        U: Array,
        direction_errors: Array | float = 0.0,
        *,
        loadings: Array | None = None,
    ) -> None:
        super().__init__(inner)
        self.U = as_columns(U)
        if loadings is None:  # nothing is read where nothing was taken off yet
            loadings = inner.rmatmat(self.U) if self.U.shape[1] else np.empty((inner.shape[1], 0))
        self.loadings: Array = np.asarray(loadings, dtype=np.float64)
        """X'U."""
        self.direction_errors = np.broadcast_to(np.asarray(direction_errors, dtype=float), (self.U.shape[1],))
        """Bounds on the distance of each u from the unit vector that it stands for."""

    def matmat(self, V: Array, /) -> Array:
        """(I - UU') X V."""
        product = self.inner.matmat(V)
        return minus_outer(product, self.U, self.U.T @ product)

    def rmatmat(self, U: Array, /) -> Array:
        """X'(I - UU')U."""
        return minus_outer(self.inner.rmatmat(U), self.loadings, self.U.T @ U)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V, less what U explains of them."""
        if np.any(shift):  # U'1 does not vanish, so the fused form below would miss a term
            return super().gram_and_scores(V, shift)
        product, scores = self.inner.gram_and_scores(V)
        explained = self.loadings.T @ V
        return minus_outer(product, self.loadings, explained), minus_outer(scores, self.U, explained)

    def gram(self, V: Array) -> Array:
        """X'X V less what U explains of it."""
        return self.product_less_explained(self.inner.gram(V), V)

    def product_less_explained(self, product: Array, V: Array) -> Array:
        """Return the product with V of what is left of X'X, from that of X'X itself."""
        return minus_outer(product, self.loadings, self.loadings.T @ V)

    def scores(self, support: Array, loadings: Array) -> Array:
        """Scores less their part along U, in float64."""
        return self.unexplained(self.inner.scores(support, loadings))

    def unexplained(self, scores: Array) -> Array:
        """Return scores less their part along U, twice, so that nothing but rounding is left of it."""
        for _ in range(2):
            scores = scores - self.U @ (self.U.T @ scores)
        return scores

    def columns(self, support: Array, /) -> Array:
        """X_S - U (X'U)_S'."""
        return minus_outer(self.inner.columns(support), self.U, self.loadings[support].T)

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S less the part along U, unless most of it would cancel."""
        gram = self.less_explained(self.inner.gram_matrix(support), support)
        return super().gram_matrix(support) if gram is None else gram

    def less_explained(self, gram: Array, support: Array) -> Array | None:
        """Return X_S'X_S less the part along U, in place; None if most of it cancels."""
        loadings, before = self.loadings[support], float(np.trace(gram))
        subtract_outer(gram, loadings, loadings)
        return gram if np.trace(gram) > GRAM_MIN_SHARE * before else None

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Squared norms less the squared part along U."""
        if shift is not None:
            return super().column_sq_norms(shift)
        norms = self.inner.sq_norms
        return without_rounding(norms - np.einsum("ij,ij->i", self.loadings, self.loadings), norms, self)

    def samples_gram(self, weights: Array | None = None) -> Array:
        """(I - UU') X W X' (I - UU'), unless that would cancel most of it."""
        if loses_digits(self, weights):
            return super().samples_gram(weights)
        gram = self.inner.samples_gram(weights)
        gram = gram - self.U @ (self.U.T @ gram)
        return gram - (gram @ self.U) @ self.U.T

    def rounding_lengths(self) -> Array:
        """Lengths of the data and of what is taken off."""
        lengths = self.inner.rounding_lengths()
        for part in chunks(len(lengths), 8 * self.loadings.shape[1]):
            lengths[part] += np.abs(self.loadings[part]).sum(axis=1)
        return lengths

    def data_errors(self) -> Array:
        """Errors of the columns, and of the directions U: each turns what those before it left."""
        errors = self.direction_errors * (1.0 + self.direction_errors)
        rounding = (self.shape[0] + 64) * float(np.finfo(np.float64).eps) * self.inner.rounding_lengths() ** 2
        squares = self.loadings**2
        left = self.inner.sq_norms[:, None] - (np.cumsum(squares, axis=1) - squares)
        lengths = np.sqrt(np.maximum(left, 0.0) + rounding[:, None])
        return self.inner.data_errors() + (np.abs(self.loadings) + lengths) @ errors

    def restrict(self, support: Array) -> OperatorMixin:
        """X_S - U (X'U)_S' as a change of low rank of the restricted data."""
        return part_of(self, support, LowRankUpdate(self.inner.restrict(support), self.U, self.loadings[support]))


class Projected(LeftProjected):
    """X without what covariates explain of it: Q is an orthonormal basis of them, and X is centered before.

    Later deflations are about what is left here: this is their undeflated X.
    """

    def gram_lengths(self, mean: Array | float = 0.0) -> Array:
        """Lengths of the terms of X'X, and of what is taken off."""
        lengths = self.inner.gram_lengths() + np.abs(self.loadings).sum(axis=1)
        return lengths + np.sqrt(self.total_weight) * np.abs(mean)

    def to_float64(self) -> OperatorMixin:
        """(I - QQ') X with products in float64, X'Q computed again."""
        if self.dtype == np.float64:
            return self
        return Projected(self.inner.to_float64(), self.U, self.direction_errors)


def part_of(op: Wrapper, support: Array, columns: LowRankUpdate) -> OperatorMixin:
    """Return a few columns of what is left, with their Gram matrix where that of the data is in memory."""
    return GramPart(columns, op.gram_matrix(support)) if op.gram_in_memory else columns


def without_rounding(left: Array, terms: Array, op: Wrapper) -> Array:
    """Return differences of squared norms, set to zero where they are below the rounding error of their terms.

    The norms of data far from zero are differences themselves, with larger errors, and the square root of a rounding
    error is not small. So small differences are computed again from the columns, whose lengths have only their own
    rounding errors.
    """
    eps, lengths, doubtful = float(np.finfo(op.dtype).eps), op.inner.rounding_lengths(), []
    for part in chunks(len(left), 8):
        error = np.maximum(64 * eps * terms[part], 2.0 * np.sqrt(terms[part]) * eps * lengths[part])
        below = left[part] < np.maximum(DOUBTFUL_SHARE[op.dtype] * terms[part], error)
        doubtful.append(part.start + np.flatnonzero((terms[part] > 0.0) & below))
        lengths[part] = error
    small, error = np.concatenate(doubtful), lengths
    if len(small) and op.has_samples:
        left[small] = OperatorMixin.column_sq_norms(op.restrict(small))
        error[small] = (ROUNDING_MULTIPLE * eps * op.rounding_lengths()[small]) ** 2
    left[left <= error] = 0.0
    return left
