"""What to take away before the next component: four schemes, each an operator round the operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from rspca.arguments import argument
from rspca.operators.deflated import Deflated, ScoreDeflated
from rspca.operators.gram import GramOperator
from rspca.operators.protocol import Array, OperatorMixin
from rspca.operators.standardized import Scaled
from rspca.vectors import nonzeros

Deflation = Callable[[OperatorMixin, Array, Array, list[Array]], OperatorMixin]
"""(op, unit vector, its scores, earlier vectors) -> what is left of op."""
NOTHING = 1e-12
"""Length of scores, relative to the longest column, or of a part of a unit vector, that is rounding."""


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
    if left <= NOTHING:  # v is in the span of those before it, up to rounding
        return op
    q = q / left
    used = nonzeros(q)
    return Deflated(op, q, op.scores(used, q[used]))


def schur(op: OperatorMixin, v: Array, scores: Array, earlier: list[Array]) -> OperatorMixin:
    """(I - uu')X, u the unit scores: A - Avv'A / v'Av. The next variance is the next adjusted variance.

    Scores that earlier components explain, up to rounding, leave X as it is: there is nothing to take off.
    """
    length, whole = float(np.linalg.norm(scores)), float(np.sqrt(op.sq_norms.max(initial=0.0)))
    if length <= NOTHING * whole:
        return op
    u, below = scores / length, op
    while isinstance(below, ScoreDeflated):  # keep the scores orthogonal to working precision, float32 data or not
        u = u - below.u * (below.u @ u)
        below = below.inner
    left = float(np.linalg.norm(u))
    return ScoreDeflated(op, u / left) if left > NOTHING else op


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
