"""Block steps on the adjusted variance: improve one component while the others stay, and all loadings together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.data import JointData
from rspca.algorithm.joint.loadings import refit_together
from rspca.algorithm.joint.nonnegative import nonnegative_by_power_steps, nonnegative_swaps
from rspca.algorithm.joint.task import SparseVector
from rspca.algorithm.polish import Polished, exchange, swap
from rspca.algorithm.polish import refit as refit_part
from rspca.base.types import Array
from rspca.linalg.component_order import NOTHING_LEFT, adjusted, best_order
from rspca.linalg.vectors import TIED, spread_columns, unit
from rspca.operators.base import OperatorMixin


class JointProblem(NamedTuple):
    """Data, and what components of them may be."""

    data: JointData
    ks: list[int]
    """Features of the component at each place, at most."""
    choice: Choice
    nonnegative: bool = False


class Components(NamedTuple):
    """Sparse unit vectors in an order of large adjusted variance, and products of A = X'X with them."""

    vectors: list[SparseVector]
    images: list[Array]
    """A v of each."""
    M: Array
    """V'A V."""
    variance: float
    """Adjusted, in this order."""


def components_of(problem: JointProblem, vectors: list[SparseVector]) -> Components:
    """Return components in their best order; a component keeps to places of its size."""
    images = problem.data.images(vectors)
    M = np.array([[v.loadings @ image[v.support] for image in images] for v in vectors])
    return rearranged(vectors, images, (M + M.T) / 2.0, best_order(M, problem.ks))


def rearranged(vectors: list[SparseVector], images: list[Array], M: Array, order: Array) -> Components:
    """Return components in another order."""
    M = M[np.ix_(order, order)]
    return Components([vectors[j] for j in order], [images[j] for j in order], M, float(adjusted(M).sum()))


def ascend(problem: JointProblem, components: Components, *, sweeps: int | None = None) -> tuple[Components, int]:
    """Return components after sweeps of block steps and refits, and the number of sweeps; no step loses variance."""
    sweep, most = 0, budgets.JOINT_SWEEPS if sweeps is None else sweeps
    while sweep < most:
        sweep, before = sweep + 1, components.variance
        for place in range(len(components.vectors)):
            components = block_step(problem, components, place)
        components = refitted(problem, components, tol=budgets.JOINT_SWEEP_REFIT_TOL)
        if components.variance <= (1.0 + budgets.JOINT_MIN_GAIN) * before:
            break
    return components, sweep


def block_step(problem: JointProblem, components: Components, place: int) -> Components:
    """Return the components with one of them improved, if the adjusted variance of all grows.

    With the component last, the adjusted variance is that of the others plus the variance of the block. Where it stands
    may have more, so both orders are tried.
    """
    others = [j for j in range(len(components.vectors)) if j != place]
    M = components.M[np.ix_(others, others)]
    values, turn = np.linalg.eigh(M)
    explained = values > NOTHING_LEFT * max(float(np.trace(M)), np.finfo(float).tiny)
    weights = turn[:, explained] / np.sqrt(values[explained])
    images = [components.images[j] for j in others]
    block = problem.data.without([components.vectors[j] for j in others], images, weights)
    if block.sq_norms.max() <= budgets.NO_VARIANCE_EPS * np.finfo(block.dtype).eps * float(np.trace(components.M)):
        return components  # the others explain everything
    old = components.vectors[place]
    along = weights @ (weights.T @ components.M[others, place])  # what the others explain of the component
    gradient = components.images[place] - sum(
        (weight * image for weight, image in zip(along, images, strict=True)), np.zeros(1)
    )
    new = best_in_block(problem, block, old, gradient, problem.ks[place])
    if np.array_equal(new.support, old.support) and np.allclose(new.loadings, old.loadings, rtol=0.0, atol=TIED):
        return components
    return with_vector(problem, components, place, new)


def best_in_block(
    problem: JointProblem, block: OperatorMixin, vector: SparseVector, gradient: Array, k: int
) -> SparseVector:
    """Return k features with loadings of at least the variance that the vector has in the block, if it has k.

    Power steps choose the k largest entries of the gradient while that gains. Then features are exchanged: one by one
    where rows of the block cost little, otherwise several at once by their worth to second order.
    """
    end, gradient = climbed(problem, block, vector, gradient, k)
    swaps = problem.data.examines_swaps and k**2 * problem.data.features <= budgets.JOINT_SWAP_PRODUCTS
    if problem.nonnegative:
        end = nonnegative_swaps(block, end, gradient, problem.choice) if swaps else end
    elif len(end.support) < len(problem.choice.features):
        if swaps:
            end = swap(block, end, choice=problem.choice)
        else:
            end = exchange(block, end, gradient, choice=problem.choice, rounds=budgets.EXCHANGE_ROUNDS)
            end = end._replace(loadings=refit_part(block.restrict(end.support), end.loadings)[1])
    used = end.loadings != 0.0
    return SparseVector(end.support[used], unit(end.loadings[used]))


def climbed(
    problem: JointProblem, block: OperatorMixin, vector: SparseVector, gradient: Array, k: int
) -> tuple[Polished, Array]:
    """Return the end of truncated power steps with refits, and the gradient there."""
    support, loadings = vector
    value = float(loadings @ gradient[support])
    if value <= NOTHING_LEFT * float(block.sq_norms.max()):  # the others explain the vector: begin elsewhere
        longest = problem.choice.largest(block.sq_norms, 1)
        support, loadings, value = longest, np.ones(1), 0.0
        gradient = block.gradient(block.restrict(longest), longest, loadings)
    for _ in range(budgets.CLIMB_STEPS):
        proposed = problem.choice.largest(np.maximum(gradient, 0.0) if problem.nonnegative else gradient, k)
        part = block.restrict(proposed)
        if problem.nonnegative:
            reached, next_loadings = nonnegative_by_power_steps(part.gram, gradient[proposed], tol=budgets.TOL)
        else:
            reached, next_loadings = refit_part(part, gradient[proposed], budgets.EXCHANGE_REFIT_TOL)
        if reached <= (1.0 + budgets.TOL) * value and len(support) >= k:
            break
        stays = np.array_equal(proposed, support)
        support, loadings, value = proposed, next_loadings, reached
        gradient = block.gradient(part, support, loadings)
        if stays:
            break
    return Polished(support, loadings, value, 0, None), gradient


def with_vector(problem: JointProblem, components: Components, place: int, vector: SparseVector) -> Components:
    """Return the components with another vector at one place if that raises the adjusted variance."""
    vectors, images, M = list(components.vectors), list(components.images), components.M.copy()
    vectors[place], images[place] = vector, problem.data.image(vector)
    M[place] = M[:, place] = [other.loadings @ images[place][other.support] for other in vectors]
    orders = [np.arange(len(M))]
    if len(set(problem.ks[place:])) == 1:  # those behind move to places of their own size
        orders.append(np.append(np.delete(orders[0], place), place))
    candidates = [rearranged(vectors, images, M, order) for order in orders]
    best = max(candidates, key=lambda candidate: candidate.variance)
    return best if best.variance > (1.0 + TIED) * components.variance else components


def refitted(problem: JointProblem, components: Components, *, tol: float = budgets.JOINT_REFIT_TOL) -> Components:
    """Return the components with all loadings refitted together on their supports, if their variance grows."""
    vectors = components.vectors
    used = np.unique(np.concatenate([vector.support for vector in vectors]))
    places = [np.searchsorted(used, vector.support) for vector in vectors]
    V = spread_columns([(v.loadings, at) for v, at in zip(vectors, places, strict=True)], len(used))
    inside = spread_columns([(np.ones(len(at)), at) for at in places], len(used)) > 0.0
    refit = refit_together(problem.data.products_within(used), V, inside, nonnegative=problem.nonnegative, tol=tol)
    if refit.variance <= (1.0 + TIED) * components.variance:
        return components
    refitted_vectors = []
    for at, v in zip(places, refit.V.T, strict=True):
        nonzero = at[v[at] != 0.0]
        refitted_vectors.append(SparseVector(used[nonzero], v[nonzero]))
    changed = components_of(problem, refitted_vectors)
    return changed if changed.variance > components.variance else components
