"""Deflation as wrappers: X without the part that a component explains, without a copy of the data."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.low_rank import GramPart, LowRankUpdate, as_columns, loses_digits, minus_outer, subtract_outer
from rspca.operators.wrapper import Wrapper

ROWS_MIN_SHARE = 1e-2
"""Arithmetic: share of a direction that must be left for its row to be used; errors grow tenfold at most."""
GRAM_MIN_SHARE = 1e-6
"""Arithmetic: share of the trace of a Gram matrix that deflation must leave for a search to use the difference."""
ROUNDING_MULTIPLE = 4.0
"""Arithmetic: multiple of the rounding error of a deflated column up to which its length is only rounding."""
DOUBTFUL_SHARE = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-6}
"""Arithmetic: share of a squared norm below which a difference to it may have lost all its digits."""
KNOWN_SCORES, P_FACTOR = 0.1, 1.25
"""Arithmetic: error of variances that were taken off, relative to them, up to which the errors of what is left are
known; and the factor 1.1 / 0.9 by which a projection then differs from that of the exact Gram matrix."""

FIRST_BLOCK = OperatorMixin.first_block
"""Vectors multiplied at once at first: after a first component several directions have similar variance, and all should
be seen, also of sparse data."""


class Deflated(Wrapper):
    """X (I - v v'): X without its part along the unit vector v (the paper's Algorithm 2)."""

    first_block = FIRST_BLOCK

    def __init__(
        self, inner: OperatorMixin, v: Array, scores: Array | None = None, direction_error: float = 0.0
    ) -> None:
        super().__init__(inner)
        self.v = np.asarray(v, dtype=np.float64)
        self.left: Array = inner.matmat(self.v) if scores is None else scores
        self.direction_error = direction_error
        """Bound on the distance of v from the exact unit vector."""

    @property
    def gram_in_memory(self) -> bool:  # type: ignore[override]
        """Whether X'X is in memory, so that products with what is left of it cost no pass."""
        return self.inner.gram_in_memory

    def _project(self, V: Array) -> Array:
        return minus_outer(V, self.v, self.v @ V)

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

    def gram(self, V: Array) -> Array:
        """(I - v v') X'X (V - v v'V)."""
        return self._project(self.inner.gram(self._project(V)))

    def scores(self, support: Array, loadings: Array) -> Array:
        """Scores less the part along those of v, in float64."""
        return self.inner.scores(support, loadings) - self.left * (self.v[support] @ loadings)

    def columns(self, support: Array, /) -> Array:
        """X_S - (Xv) v_S'."""
        return minus_outer(self.inner.columns(support), self.left, self.v[support])

    @cached_property
    def _gram_v(self) -> Array:
        """X'Xv, from which deflated column norms and Gram matrices follow."""
        return self.inner.gram(self.v)

    def gram_matrix(self, support: Array) -> Array:
        """((I - v v')A(I - v v'))_SS, unless most of it would cancel."""
        gram, v, along = self.inner.gram_matrix(support), self.v[support], self._gram_v[support]
        along, before = along - 0.5 * float(self.v @ self._gram_v) * v, float(np.trace(gram))
        subtract_outer(gram, v, along)
        subtract_outer(gram, along, v)
        return gram if np.trace(gram) > GRAM_MIN_SHARE * before else super().gram_matrix(support)

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Diagonal of (I - v v')A(I - v v')."""
        if shift is not None:
            return super().column_sq_norms(shift)
        norms = self.inner.sq_norms
        left = norms - 2.0 * self.v * self._gram_v + self.v**2 * (self.v @ self._gram_v)
        return _without_rounding(left, norms + (np.linalg.norm(self.left) * self.v) ** 2, self)

    def rounding_lengths(self) -> Array:
        """Lengths of the data plus those of the terms of the scores of v, which are subtracted."""
        lengths = self.inner.rounding_lengths()
        return lengths + np.abs(self.v) * float(np.abs(self.v) @ lengths)

    def gram_errors(self) -> Array:
        """Errors of X'X, and of the part along v."""
        errors = self.inner.gram_errors()
        return errors + np.abs(self.v) * float(np.abs(self.v) @ errors)

    def data_errors(self) -> Array:
        """Errors of the columns, of the scores that are subtracted from them, and of the direction v."""
        errors = self.inner.data_errors()
        turned = float(np.linalg.norm(self.left)) + np.abs(self.v) * float(np.sqrt(self.inner.sq_norms.sum()))
        turned = self.direction_error * (1.0 + self.direction_error) * turned
        return errors + np.abs(self.v) * float(np.abs(self.v) @ errors) + turned

    def to_float64(self) -> OperatorMixin:
        """X (I - v v') with products in float64, Xv computed again."""
        return (
            self if self.dtype == np.float64 else Deflated(self.inner.to_float64(), self.v, None, self.direction_error)
        )

    def restrict(self, support: Array) -> OperatorMixin:
        """X_S - (Xv) v_S' as a rank-one update of the restricted data."""
        part = self.v[support]
        if not part.any():
            return self.inner.restrict(support)
        return _part(self, support, LowRankUpdate(self.inner.restrict(support), self.left, part))


class ScoreDeflated(Wrapper):
    """(I - UU')X, the columns of U orthonormal scores of earlier components: Schur deflation, all of it at once.

    One component takes A to A - Avv'A / v'Av = X'(I - uu')X, u the unit scores Xv / |Xv|.
    """

    first_block = FIRST_BLOCK

    def __init__(
        self,
        inner: OperatorMixin,
        U: Array,
        direction_errors: Array | float = 0.0,
        *,
        loadings: Array | None = None,
        weights: Array | None = None,
    ) -> None:
        super().__init__(inner)
        self.U = as_columns(U)
        if loadings is None:  # nothing is read where nothing was taken off yet
            loadings = inner.rmatmat(self.U) if self.U.shape[1] else np.empty((inner.shape[1], 0))
        self.loadings: Array = np.asarray(loadings, dtype=np.float64)
        """X'U."""
        self.direction_errors = np.broadcast_to(np.asarray(direction_errors, dtype=float), (self.U.shape[1],))
        """Bounds on the distance of each u from the unit vector that it stands for."""
        self.weights = weights
        """W with U = XW, where X'X has an error, which taking off U enlarges; None if it has none or W is unknown."""

    @property
    def gram_in_memory(self) -> bool:  # type: ignore[override]
        """Whether X'X is in memory, so that products with what is left of it cost no pass."""
        return self.inner.gram_in_memory

    @property
    def undeflated(self) -> OperatorMixin:
        """X."""
        return self.inner

    def without(self, u: Array, direction_error: float, v: Array) -> ScoreDeflated:
        """Return what is left without one more u, orthogonal to U: the part of Xv that U does not explain."""
        loadings, weights = np.asarray(self.inner.rmatmat(u), dtype=np.float64), None
        if self.inner.has_gram_errors and (self.weights is not None or not self.U.shape[1]):
            before = np.empty((len(v), 0)) if self.weights is None else self.weights
            weights = np.column_stack([before, v - before @ (self.loadings.T @ v)])
        return ScoreDeflated(
            self.inner,
            np.column_stack([self.U, u]),
            np.append(self.direction_errors, direction_error),
            loadings=np.column_stack([self.loadings, loadings]),
            weights=weights,
        )

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
        return minus_outer(self.inner.gram(V), self.loadings, self.loadings.T @ V)

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
        gram = self.deflated_gram(self.inner.gram_matrix(support), support)
        return super().gram_matrix(support) if gram is None else gram

    def deflated_gram(self, gram: Array, support: Array) -> Array | None:
        """X_S'X_S less the part along U; None if most of it cancels."""
        loadings, before = self.loadings[support], float(np.trace(gram))
        subtract_outer(gram, loadings, loadings)
        return gram if np.trace(gram) > GRAM_MIN_SHARE * before else None

    def deflated_rows(self, left: Array, rows: Array) -> tuple[Array, Array]:
        """Return orthonormal scores and their rows, without the directions that U explains."""
        explained = self.U.T @ left
        values, weights = np.linalg.eigh(np.eye(len(rows)) - explained.T @ explained)
        weights = weights[:, values > ROWS_MIN_SHARE] / np.sqrt(values[values > ROWS_MIN_SHARE])
        out = np.empty((weights.shape[1], rows.shape[1]))
        for part in chunks(rows.shape[1], 8 * len(rows)):
            out[:, part] = weights.T @ (rows[:, part] - explained.T @ self.loadings[part].T)
        return (left - self.U @ explained) @ weights, out

    def deflated_part(self, part: OperatorMixin, features: Array) -> OperatorMixin:
        """(I - UU') X_S; unlike a restriction, it can be deflated further and shares the work done on X_S."""
        return ScoreDeflated(part, self.U, self.direction_errors, loadings=self.loadings[features])

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Squared norms less the squared part along U."""
        if shift is not None:
            return super().column_sq_norms(shift)
        norms = self.inner.sq_norms
        return _without_rounding(norms - np.einsum("ij,ij->i", self.loadings, self.loadings), norms, self)

    def samples_gram(self, weights: Array | None = None) -> Array:
        """(I - UU') X W X' (I - UU'), unless that would cancel most of it."""
        if loses_digits(self, weights):
            return super().samples_gram(weights)
        gram = self.inner.samples_gram(weights)
        gram = gram - self.U @ (self.U.T @ gram)
        return gram - (gram @ self.U) @ self.U.T

    def rounding_lengths(self) -> Array:
        """Lengths of the data and of what is taken off."""
        return self.inner.rounding_lengths() + np.abs(self.loadings).sum(axis=1)

    def data_errors(self) -> Array:
        """Errors of the columns, and of the directions U: each turns what those before it left."""
        errors = self.direction_errors * (1.0 + self.direction_errors)
        rounding = (self.shape[0] + 64) * float(np.finfo(np.float64).eps) * self.inner.rounding_lengths() ** 2
        squares = self.loadings**2
        left = self.inner.sq_norms[:, None] - (np.cumsum(squares, axis=1) - squares)
        lengths = np.sqrt(np.maximum(left, 0.0) + rounding[:, None])
        return self.inner.data_errors() + (np.abs(self.loadings) + lengths) @ errors

    def gram_errors(self) -> Array:
        """Errors of X'X, which taking off U enlarges.

        What is left of A is (I - P)'A(I - P) with P = W(X'U)', and no other P leaves less. So an error E of A changes
        it by at most |(I - P)'E(I - P)|, with the P of either matrix. Those differ by less than a quarter if the scores
        that were taken off are known to a tenth of their variance; otherwise, or without W, nothing is known.
        """
        errors = self.inner.gram_errors()
        if not self.U.shape[1] or not errors.any():
            return errors
        along = np.full(1, np.inf) if self.weights is None else np.abs(self.weights).T @ errors
        if float(along @ along) > KNOWN_SCORES:
            return errors + np.sqrt(self.inner.sq_norms)
        return P_FACTOR * (errors + np.abs(self.loadings) @ along)

    def to_float64(self) -> OperatorMixin:
        """(I - UU') X with products in float64, X'U computed again."""
        if self.dtype == np.float64:
            return self
        return ScoreDeflated(self.inner.to_float64(), self.U, self.direction_errors, weights=self.weights)

    def restrict(self, support: Array) -> OperatorMixin:
        """X_S - U (X'U)_S' as a change of low rank of the restricted data."""
        return _part(self, support, LowRankUpdate(self.inner.restrict(support), self.U, self.loadings[support]))


def _part(op: Wrapper, support: Array, columns: LowRankUpdate) -> OperatorMixin:
    """Return a few columns of what is left, with their Gram matrix where that of the data is in memory."""
    return GramPart(columns, op.gram_matrix(support)) if op.gram_in_memory else columns


def _without_rounding(left: Array, terms: Array, op: Wrapper) -> Array:
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
