"""What to take away before the next component: four schemes, each an operator round the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rspca.algorithm import budgets
from rspca.base.arguments import argument
from rspca.base.types import Array
from rspca.linalg.vectors import nonzeros
from rspca.operators.base import OperatorMixin
from rspca.operators.deflated import Deflated, ScoreDeflated
from rspca.operators.gram import GramOperator
from rspca.operators.standardized import Scaled

Deflation = Callable[[OperatorMixin, Array, Array, list[Array]], OperatorMixin]
"""(op, unit vector, its scores, earlier vectors) -> what is left of op."""
EPS = float(np.finfo(np.float64).eps)


def projection(op: OperatorMixin, v: Array, scores: Array, earlier: list[Array]) -> OperatorMixin:
    """X (I - v v'), Algorithm 2 of the paper. Directions removed earlier can come back in later components."""
    return Deflated(op, v, scores)


def orthogonal(op: OperatorMixin, v: Array, scores: Array, earlier: list[Array]) -> OperatorMixin:
    """X (I - QQ'), Q an orthonormal basis of all components so far: the whole earlier span is removed."""
    q = v.copy()
    if earlier:
        basis = scipy.linalg.orth(np.column_stack(earlier))
        for _ in range(2):
            q = q - basis @ (basis.T @ q)
    left = float(np.linalg.norm(q))
    if left <= budgets.NO_LENGTH:  # v is in the span of those before it, up to rounding
        return op
    q = q / left
    used = nonzeros(q)
    return Deflated(op, q, op.scores(used, q[used]), (4 * len(earlier) + 8) * EPS / left)


def schur(op: OperatorMixin, v: Array, scores: Array, earlier: list[Array]) -> OperatorMixin:
    """(I - uu')X, u the unit scores: A - Avv'A / v'Av. The next variance is the next adjusted variance.

    Scores that earlier components explain, up to rounding, leave X as it is: there is nothing to take off.
    """
    new = _new_scores(op, v, _unexplained(op, scores), earlier)
    if new is None:
        return op
    length = float(np.linalg.norm(new.scores))
    before = op if isinstance(op, ScoreDeflated) else ScoreDeflated(op, np.empty((op.shape[0], 0)))
    error = (len(nonzeros(v)) + 64) * EPS * new.rounded_at / length
    return before.without(_unit(op, new.scores), error, new.vector / length)


def gradient_at(op: OperatorMixin, support: Array, loadings: Array) -> Array:
    """Return X'Xv in float64 by way of the unit scores of v: if `schur` takes v off next, X is not read again."""
    if op.gram_in_memory:
        return op.gradient(op.restrict(support), support, loadings)
    scores = _unexplained(op, op.scores(support, loadings))
    length = float(np.linalg.norm(scores))
    return length * op.undeflated.image_of(_unit(op, scores)) if length > 0.0 else np.zeros(op.shape[1])


def _unit(op: OperatorMixin, scores: Array) -> Array:
    """Return scores of length one, orthogonal to those taken off before to working precision, float32 data or not."""
    u = _unexplained(op, scores / np.linalg.norm(scores))
    return np.asarray(u / np.linalg.norm(u))


def _unexplained(op: OperatorMixin, scores: Array) -> Array:
    """Return scores less their part along those that were taken off before."""
    return op.unexplained(scores) if isinstance(op, ScoreDeflated) else scores


class _NewScores(NamedTuple):
    """Scores that earlier components do not explain, and the length to which their rounding is relative."""

    vector: Array
    """Its scores, less their part along those taken off before, are these."""
    scores: Array
    rounded_at: float


def _new_scores(op: OperatorMixin, v: Array, scores: Array, earlier: list[Array]) -> _NewScores | None:
    """Return what is new in the scores of v, accurate to working precision; None if that is nothing but rounding.

    If earlier components explain nearly all of the scores, what is left of them has the rounding of what was there.
    Taking the explained part off v instead, and multiplying again, has only the rounding of what is left.
    """
    whole = op.inner if isinstance(op, ScoreDeflated) else op
    reach, length = whole.rounding_lengths(), float(np.linalg.norm(scores))
    used = nonzeros(v)
    terms = float(np.abs(v[used]) @ reach[used])
    if length >= budgets.EXPLAINED_SCORES * terms or not earlier:
        return _NewScores(v, scores, terms) if length > budgets.SCORES_ROUNDING_EPS * EPS * terms else None
    # entries of v are rounded: what that may leave of the scores is not new
    own = float(np.abs(v[nonzeros(v)]) @ _lengths(op, nonzeros(v)))
    places, basis = [nonzeros(one) for one in earlier], np.column_stack(earlier)
    explained = np.column_stack([whole.scores(at, one[at]) for at, one in zip(places, earlier, strict=True)])
    vector, used = v, nonzeros(v)
    for _ in range(budgets.RESIDUAL_STEPS):
        vector = vector - basis @ np.linalg.lstsq(explained, whole.scores(used, vector[used]), rcond=None)[0]
        used = nonzeros(vector)
        scores = op.scores(used, vector[used])
        length, terms = float(np.linalg.norm(scores)), float(np.abs(vector) @ reach)
        if length <= budgets.SCORES_ROUNDING_EPS * EPS * (own + terms):
            return None
        if length >= budgets.EXPLAINED_SCORES * float(np.linalg.norm(whole.scores(used, vector[used]))):
            return _NewScores(vector, scores, own + terms)
    return None


def _lengths(op: OperatorMixin, support: Array) -> Array:
    """Return the lengths of a few columns, computed in float64 from the columns themselves."""
    return np.asarray(np.linalg.norm(op.restrict(support).to_float64().columns(np.arange(len(support))), axis=0))


def hotelling(op: OperatorMixin, v: Array, scores: Array, earlier: list[Array]) -> OperatorMixin:
    """A - (v'Av) vv' for a Gram matrix, shifted by a multiple of I where it is no longer positive semidefinite.

    The shift moves x'Ax of every unit x alike, so it changes no answer; it is carried as `offset` and taken off the
    variance.
    """
    unit = 1.0
    while isinstance(op, Scaled):
        unit, op = unit * float(op.weights[0]), op.inner
    if not isinstance(op, GramOperator):
        raise ValueError(
            f"{argument('deflation', 'hotelling')} needs the matrix A itself: give GramOperator(A), or choose 'schur'."
        )
    A = op.matrix - op.offset * np.eye(op.shape[1])
    A = A - (v @ A @ v) * np.multiply.outer(v, v)
    lowest = float(scipy.linalg.eigvalsh(A, subset_by_index=(0, 0))[0])
    offset = max(0.0, -lowest)
    following: OperatorMixin = GramOperator(A + offset * np.eye(len(A)), offset=offset)
    return following if unit == 1.0 else Scaled(following, np.full(len(A), unit))


DEFLATIONS: dict[str, Deflation] = {
    "schur": schur,
    "projection": projection,
    "orthogonal": orthogonal,
    "hotelling": hotelling,
}
