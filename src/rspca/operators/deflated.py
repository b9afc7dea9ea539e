"""Deflation as wrappers: X without the part that a component explains, without a copy of the data."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.low_rank import LowRankUpdate, minus_outer, subtract_outer
from rspca.operators.projected import FIRST_BLOCK, GRAM_MIN_SHARE, LeftProjected, part_of, without_rounding
from rspca.operators.wrapper import Wrapper

ROWS_MIN_SHARE = 1e-2
"""Arithmetic: share of a direction that must be left for its row to be used; errors grow tenfold at most."""
ROWS_BYTES = 2**18
"""Bytes of rows that are deflated at a time: in cache; not tuned."""
KNOWN_SCORES, P_FACTOR = 0.1, 1.25
"""Arithmetic: error of variances that were taken off, relative to them, up to which the errors of what is left are
known; and the factor 1.1 / 0.9 by which a projection then differs from that of the exact Gram matrix."""


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
        return without_rounding(left, norms + (np.linalg.norm(self.left) * self.v) ** 2, self)

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
        return part_of(self, support, LowRankUpdate(self.inner.restrict(support), self.left, part))


class ScoreDeflated(LeftProjected):
    """(I - UU')X, the columns of U orthonormal scores of earlier components: Schur deflation, all of it at once.

    One component takes A to A - Avv'A / v'Av = X'(I - uu')X, u the unit scores Xv / |Xv|.
    """

    def __init__(
        self,
        inner: OperatorMixin,
        U: Array,
        direction_errors: Array | float = 0.0,
        *,
        loadings: Array | None = None,
        weights: Array | None = None,
    ) -> None:
        super().__init__(inner, U, direction_errors, loadings=loadings)
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

    @property
    def taken_off(self) -> Array:
        """X'U."""
        return self.loadings

    @property
    def nearly_all_taken_off(self) -> bool:
        """Whether U explains nearly all of X."""
        return float(self.sq_norms.sum()) <= GRAM_MIN_SHARE * float(self.inner.sq_norms.sum())

    def without(self, u: Array, direction_error: float, v: Array) -> ScoreDeflated:
        """Return what is left without one more u, orthogonal to U: the part of Xv that U does not explain."""
        loadings, weights = self.inner.image_of(u), None
        self.inner.forget_image()
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

    def deflated_gram(self, gram: Array, support: Array) -> Array | None:
        """X_S'X_S less the part along U; None if most of it cancels."""
        return self.less_explained(gram, support)

    def deflated_product(self, product: Array, V: Array) -> Array:
        """X'X V less what U explains of it."""
        return self.product_less_explained(product, V)

    def deflated_rows(self, left: Array, rows: Array) -> tuple[Array, Array]:
        """Return orthonormal scores and their rows, without the directions that U explains."""
        explained = self.U.T @ left
        values, weights = np.linalg.eigh(np.eye(len(rows)) - explained.T @ explained)
        weights = weights[:, values > ROWS_MIN_SHARE] / np.sqrt(values[values > ROWS_MIN_SHARE])
        out, along = np.empty((weights.shape[1], rows.shape[1])), weights.T @ explained.T
        for part in chunks(rows.shape[1], 8 * len(rows), ROWS_BYTES):  # in cache between the two products
            some = weights.T @ rows[:, part]
            some -= along @ self.loadings[part].T
            out[:, part] = some
        return (left - self.U @ explained) @ weights, out

    def deflated_samples_gram(self, gram: Array) -> Array:
        """(I - UU') XX' (I - UU')."""
        return self.unexplained(self.unexplained(gram).T)

    def deflated_part(self, part: OperatorMixin, features: Array) -> OperatorMixin:
        """(I - UU') X_S; unlike a restriction, it can be deflated further and shares the work done on X_S."""
        return ScoreDeflated(part, self.U, self.direction_errors, loadings=self.loadings[features])

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
