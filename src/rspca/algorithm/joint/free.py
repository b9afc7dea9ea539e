"""Free joint ascent: raise the adjusted variance of components that were found one by one."""

from __future__ import annotations

import numpy as np

from rspca.algorithm.joint.blocks import JointProblem, ascend, components_of, refitted
from rspca.algorithm.joint.data import GramData, OperatorData
from rspca.algorithm.joint.pooled import ascend_in_pools
from rspca.algorithm.joint.search import search
from rspca.algorithm.joint.task import JointTask, SparseVector, Together
from rspca.algorithm.promising import pool_size
from rspca.base.types import Array
from rspca.linalg.component_order import adjusted, best_order


def free(task: JointTask, start: list[SparseVector]) -> Together:
    """Return components of at least the adjusted variance of the start, both in their own order.

    In turn each component is improved in X deflated by all others, then all loadings are refitted together; no step
    loses variance. Where the Gram matrix of all features is affordable, several starts compete. Among more features
    the steps run in Gram matrices of promising ones, or through products with X if components have many features.
    """
    ks = [min(k, task.choice.most) for k in task.ks[: len(start)]]
    features = task.choice.features
    if task.op.gram_in_memory or pool_size(task.op.shape[0], len(features)) == len(features):
        vectors, sweeps = _in_gram_matrix(task, start, ks)
    else:
        pooled = ascend_in_pools(task, start, ks)
        vectors, sweeps = _through_products(task, start, ks) if pooled is None else pooled
    return _in_best_order(task, start, vectors, sweeps)


def _in_gram_matrix(task: JointTask, start: list[SparseVector], ks: list[int]) -> tuple[list[SparseVector], int]:
    """Search from several starts in the Gram matrix of all features that may be chosen."""
    features = task.choice.features
    A = task.op.gram_matrix(features)
    problem = JointProblem(GramData(A), ks, task.choice.among(features), task.nonnegative)
    places = [SparseVector(np.searchsorted(features, vector.support), vector.loadings) for vector in start]
    components, sweeps = search(problem, A, places, rng=task.rng, report=task.report)
    return [SparseVector(features[v.support], v.loadings) for v in components.vectors], sweeps


def _through_products(task: JointTask, start: list[SparseVector], ks: list[int]) -> tuple[list[SparseVector], int]:
    """Ascend through products with X, which is read a few times for each component and sweep."""
    problem = JointProblem(OperatorData(task.op), ks, task.choice, task.nonnegative)
    components, sweeps = ascend(problem, components_of(problem, start))
    components = refitted(problem, components)
    task.report("joint", sweeps, components.variance)
    return components.vectors, sweeps


def _in_best_order(task: JointTask, start: list[SparseVector], vectors: list[SparseVector], sweeps: int) -> Together:
    """Return components in their best order, or the start if they have less variance than it, up to rounding."""
    before, after = (_score_products(task, components) for components in (start, vectors))
    if adjusted(after, best_order(after, task.ks[: len(start)])).sum() <= adjusted(before).sum():
        vectors, after = start, before
    order = best_order(after, task.ks[: len(start)])
    return Together([vectors[place] for place in order], n_iter=max(1, sweeps))


def _score_products(task: JointTask, vectors: list[SparseVector]) -> Array:
    """Return V'X'XV from scores in float64."""
    scores = np.column_stack([task.op.scores(vector.support, vector.loadings) for vector in vectors])
    return scores.T @ scores
