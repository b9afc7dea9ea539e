"""What a set of components surely has, and how well it keeps its constraint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rspca.algorithm.joint.task import SparseVector
from rspca.base.types import Array
from rspca.certificates.bounds.gram import EPS
from rspca.linalg.explained_variance import added_squares, largest_cosine
from rspca.linalg.vectors import spread_columns
from rspca.operators.base import OperatorMixin


def attained_by_set(op: OperatorMixin, vectors: Sequence[SparseVector], measure: str) -> float:
    """Return a proven lower bound on what a set has, in one of MEASURES."""
    if measure == "adjusted":
        return attained_adjusted(op, vectors)
    return float(sum(op.attained(vector.support, vector.loadings) for vector in vectors))


def attained_adjusted(op: OperatorMixin, vectors: Sequence[SparseVector]) -> float:
    """Return a proven lower bound on the adjusted variance in the order given, or in that of what each adds.

    Scores that are zero, or nearly depend on those before, leave nothing certain of what comes after them: in the
    second order they are last.
    """
    scores = scores_of_set(op, vectors)
    order = _by_added_length(scores)
    reordered = [vectors[place] for place in order]
    return max(_attained_in_order(op, vectors, scores), _attained_in_order(op, reordered, scores[:, order]))


def _by_added_length(scores: Array) -> list[int]:
    """Return the order in which the component that adds the most is next."""
    order: list[int] = []
    left, rest = scores.copy(), list(range(scores.shape[1]))
    while rest:
        lengths = np.linalg.norm(left[:, rest], axis=0)
        order.append(rest.pop(int(np.argmax(lengths))))
        size = float(lengths.max())
        if size > 0.0:
            direction = left[:, order[-1]] / size
            left = left - np.outer(direction, direction @ left)
    return order


def _attained_in_order(op: OperatorMixin, vectors: Sequence[SparseVector], scores: Array) -> float:
    """Return R_tt^2 of the QR of the scores, summed, less its rounding error.

    R_tt is the distance of the scores s_t from the span of those before, |s_t - T c|. If scores are off by e_t, it is
    off by at most e_t + sum |c_s| e_s, and |c| <= |s_t| / (least singular value of T). Where a Gram matrix was formed,
    its error is (sum |c_s| |v_s|'g + |v_t|'g)^2, g the `gram_errors`.
    """
    parts, lengths = np.sqrt(added_squares(scores)), np.linalg.norm(scores, axis=0)
    errors, formed = np.empty(len(vectors)), np.empty(len(vectors))
    rounding, of_gram = op.rounding() + (op.shape[0] + 64) * EPS * op.rounding_lengths(), op.gram_errors()
    total = 0.0
    for t, (support, loadings) in enumerate(vectors):
        sums = len(support) * EPS * op.rounding_lengths()[support]
        errors[t] = float(np.abs(loadings) @ (rounding[support] + sums))
        formed[t] = float(np.abs(loadings) @ of_gram[support])
        weight = 0.0
        if t:
            least = float(np.linalg.svd(scores[:, :t], compute_uv=False)[-1]) - float(errors[:t].sum())
            if least <= 0.0:
                break
            weight = (float(lengths[t]) + float(errors[t])) / least
        off = float(errors[t]) + weight * float(errors[:t].sum()) + (t + 2) * len(scores) * EPS * float(lengths[t])
        of_forming = float(formed[t]) + weight * float(formed[:t].sum())
        total += max(max(float(parts[t]) - off, 0.0) ** 2 - of_forming**2, 0.0)
    return total


def violation(op: OperatorMixin, vectors: Sequence[SparseVector], constraint: str | None, *, shared: bool) -> float:
    """Return the largest |cosine| of loadings or scores that should be zero; 1 for supports that should be apart."""
    if constraint == "uncorrelated":
        return largest_cosine(scores_of_set(op, vectors))
    if constraint == "disjoint":
        used = np.concatenate([vector.support for vector in vectors])
        return 0.0 if len(np.unique(used)) == len(used) else 1.0
    return largest_cosine(used_rows(vectors)) if constraint == "orthogonal" or shared else 0.0


def scores_of_set(op: OperatorMixin, vectors: Sequence[SparseVector]) -> Array:
    """Return the scores of all components, as columns."""
    return np.column_stack([op.scores(vector.support, vector.loadings) for vector in vectors])


def used_rows(vectors: Sequence[SparseVector]) -> Array:
    """Return components as columns, with rows only for the features that any of them uses."""
    used = union_of(vectors)
    return spread_columns([(v.loadings, np.searchsorted(used, v.support)) for v in vectors], len(used))


def union_of(vectors: Sequence[SparseVector]) -> Array:
    """Return the features that any of them uses, sorted."""
    return np.unique(np.concatenate([vector.support for vector in vectors]))
