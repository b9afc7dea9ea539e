"""Joint ascent in the Gram matrix of a few promising features of many, chosen again until the supports stay."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.blocks import JointProblem, ascend, components_of, refitted
from rspca.algorithm.joint.data import GramData, JointData, OperatorData
from rspca.algorithm.joint.task import JointTask, SparseVector
from rspca.base.types import Array
from rspca.linalg.vectors import spread_columns
from rspca.operators.base import OperatorMixin


def promising_features(task: JointTask, vectors: list[SparseVector], ks: list[int]) -> Array:
    """Return the supports and, for each component, the features of largest gradient; one block product.

    The gradient of component j, as the others leave it, is A_j v_j = A V c, c the column j of the inverse of V'AV,
    scaled so that its entry j is one.
    """
    images = task.op.gram(spread_columns([(v.loadings, v.support) for v in vectors], task.op.shape[1]))
    M = np.array([v.loadings @ images[v.support] for v in vectors])
    weights = np.linalg.pinv((M + M.T) / 2.0, rcond=budgets.JOINT_SINGULAR, hermitian=True)
    weights /= np.where(weights.diagonal() > 0.0, weights.diagonal(), 1.0)
    free, chosen = Choice(task.choice.features), [vector.support for vector in vectors]
    for place, k in enumerate(ks):
        gradient, count = images @ weights[:, place], pool_share(k, len(ks))
        if task.nonnegative:
            gradient = np.maximum(gradient, 0.0)
        chosen.append(free.largest(gradient, count))
        if task.choice.groups is not None:  # the largest may all be of a few groups
            chosen.append(task.choice.largest(gradient, min(count, task.choice.most)))
    return np.unique(np.concatenate(chosen))


def pool_share(k: int, r: int) -> int:
    """Return how many features the pool has for each of r components of k features."""
    wanted = max(budgets.JOINT_POOL_FEATURES, budgets.JOINT_POOL_PER_K * k)
    return max(k, min(wanted, budgets.POOL_COMPLETE_FEATURES // r))


def gram_affordable(op: OperatorMixin, count: int) -> bool:
    """Return whether the Gram matrix of so many features fits in memory and costs little."""
    products = min(op.shape[0] * count, op.entries) * count
    return count <= budgets.POOL_COMPLETE_FEATURES and products <= budgets.POOL_COMPLETE_PRODUCTS


def ascend_in_pools(task: JointTask, start: list[SparseVector], ks: list[int]) -> tuple[list[SparseVector], int] | None:
    """Return components after ascents in pools, and the number of sweeps; None if a pool is too large to begin with."""
    vectors, sweeps = start, 0
    features, gram = np.empty(0, dtype=np.intp), np.empty((0, 0))
    for _ in range(budgets.JOINT_POOLS):
        wanted = np.union1d(features, promising_features(task, vectors, ks))
        if not gram_affordable(task.op, len(wanted)):
            return (vectors, sweeps) if sweeps else None
        if len(wanted) == len(features):
            break
        data: JointData
        if few_samples(task.op, len(wanted), ks):
            data = OperatorData(task.op.restrict(wanted))
        else:
            gram = extended_gram(task.op, gram, features, wanted)
            data = GramData(gram)
        features = wanted
        problem = JointProblem(data, ks, task.choice.among(features), task.nonnegative)
        places = [SparseVector(np.searchsorted(features, v.support), v.loadings) for v in vectors]
        before = components_of(problem, places)
        components, pool_sweeps = ascend(problem, before)
        components = refitted(problem, components)
        sweeps += pool_sweeps
        task.report("joint", sweeps, components.variance)
        vectors = [SparseVector(features[v.support], v.loadings) for v in components.vectors]
        if components.variance <= (1.0 + budgets.JOINT_MIN_GAIN) * before.variance:
            break
    return vectors, sweeps


def few_samples(op: OperatorMixin, count: int, ks: list[int]) -> bool:
    """Return whether columns are smaller than their Gram matrix, and components too large for single swaps."""
    return 2 * op.shape[0] < count and min(ks) ** 2 * count > budgets.JOINT_SWAP_PRODUCTS


def extended_gram(op: OperatorMixin, gram: Array, features: Array, wanted: Array) -> Array:
    """Return the Gram matrix of more features, from that of some of them."""
    if not len(features):
        return op.gram_matrix(wanted)
    old = np.isin(wanted, features, assume_unique=True)
    extended = np.empty((len(wanted), len(wanted)))
    extended[np.ix_(old, old)] = gram
    across = op.gram_between(wanted[~old], wanted)
    extended[~old], extended[:, ~old] = across, across.T
    return extended
