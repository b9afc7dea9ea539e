"""Components found one by one become components found together: the mode runs, and its loadings are measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.joint.modes import Mode
from rspca.algorithm.joint.task import JointTask, SparseVector
from rspca.algorithm.loop import eligible_features, reporter
from rspca.algorithm.results import Component
from rspca.base.types import Array, OnStep
from rspca.linalg.explained_variance import added_squares
from rspca.linalg.vectors import inclusion_probabilities, l1_l2_maximizer
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced


class Joined(NamedTuple):
    """Components that were found together, and what that gained."""

    components: list[Component]
    gain: float
    """Adjusted variance of the set over that of the components found one by one, less 1."""


class Restrictions(NamedTuple):
    """What the loadings keep to."""

    limits: Groups | None = None
    nonnegative: bool = False


def together(
    op: OperatorMixin,
    start: list[Component],
    ks: list[int],
    mode: Mode,
    restrictions: Restrictions,
    rng: np.random.Generator,
    on_step: OnStep | None,
) -> Joined:
    """Return the components that a mode finds, beginning with those found one by one."""
    before = op.passes
    op, unit = balanced(op)
    choice = Choice(eligible_features(op), restrictions.limits)
    report = reporter(on_step, start, unit)
    task = JointTask(op, ks[: len(start)], choice, rng, restrictions.nonnegative, report)
    found = mode.find(task, [SparseVector(c.support, c.loadings) for c in start])
    vectors = [_used(vector) for vector in found.vectors]
    scores = _scores(op, vectors)
    adjusted = mode.measured_by(nonnegative=restrictions.nonnegative) == "adjusted"
    variances = added_squares(scores) if adjusted else np.sum(scores**2, axis=0)
    chances: list[Array] | list[None] = [None] * len(vectors)
    if all(component.inclusion_probability is not None for component in start):
        chances = _inclusion(op, vectors, scores, choice, deflated=adjusted)
    one_by_one = _scores(op, [SparseVector(c.support, c.loadings) for c in start])
    passes = (sum(component.passes for component in start) + op.passes - before) / len(vectors)
    components = [
        Component(
            support=vector.support,
            loadings=vector.loadings,
            variance=unit**2 * float(variance),
            n_features=op.shape[1],
            n_iter=max(component.n_iter for component in start),
            converged=all(component.converged for component in start),
            passes=passes,
            inclusion_probability=chance,
        )
        for vector, variance, chance in zip(vectors, variances, chances, strict=True)
    ]
    gain = float(added_squares(scores).sum() / added_squares(one_by_one).sum()) - 1.0
    report("together", found.n_iter, float(variances.sum()))
    return Joined(components, gain)


def _used(vector: SparseVector) -> SparseVector:
    """Return loadings without zeros, the largest of them positive; their digits stay as the mode computed them."""
    used = vector.loadings != 0.0
    loadings = vector.loadings[used]
    return SparseVector(vector.support[used], loadings if loadings[np.argmax(np.abs(loadings))] > 0.0 else -loadings)


def _scores(op: OperatorMixin, vectors: list[SparseVector]) -> Array:
    return np.column_stack([op.scores(vector.support, vector.loadings) for vector in vectors])


def _inclusion(
    op: OperatorMixin, vectors: list[SparseVector], scores: Array, choice: Choice, *, deflated: bool
) -> list[Array]:
    """Return rounding probabilities: of the relaxed vector one step of stage 1 from the loadings of each component.

    The step is taken in the data that the other components leave where these are taken off, in X otherwise. X'T of all
    scores T is enough for both: (I - P)t of the scores t of one component is a combination of columns of T.
    """
    products = np.asarray(op.rmatmat(scores), dtype=np.float64).reshape(op.shape[1], -1)
    found = []
    for number, vector in enumerate(vectors):
        weights = np.zeros(len(vectors))
        weights[number] = 1.0
        others = np.delete(np.arange(len(vectors)), number)
        if deflated and len(others):
            weights[others] = -np.linalg.lstsq(scores[:, others], scores[:, number], rcond=None)[0]
        gradient, k = choice.restricted(products @ weights), len(vector.support)
        relaxed = l1_l2_maximizer(gradient, k, expected=vector.support)
        found.append(inclusion_probabilities(relaxed, float(k)))
    return found
