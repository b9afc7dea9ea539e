"""Search for several components under a constraint in one Gram matrix: exchanges, then random changes and exchanges.

Several solutions are improved at once, so that their refits share array operations. `budgets.SEARCH_WORK` bounds the
work, which is counted and not timed: the same data and generator give the same result on every machine.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.constraints import largest_cosine_of_products
from rspca.algorithm.joint.exchange_model import Problem, promising_moves
from rspca.algorithm.joint.sqp import Fits, joined_fits, refit
from rspca.algorithm.joint.task import SparseVector
from rspca.base.types import Array, Report


def flat_starts(problem: Problem, starts: list[list[SparseVector]]) -> tuple[Array, Array]:
    """Return support sets and loadings as rows; components with too few features get those of largest variance."""
    supports = np.zeros((len(starts), len(problem.layout.owners)), dtype=np.intp)
    loadings = np.zeros(supports.shape)
    ends = problem.layout.ends
    for row, vectors in enumerate(starts):
        for j, (support, values) in enumerate(vectors):
            x = np.zeros(len(problem.A))
            x[support] = values
            chosen = problem.choice.completed(support, x, np.sqrt(problem.A.diagonal()), problem.ks[j])
            supports[row, ends[j] : ends[j + 1]] = chosen
            loadings[row, ends[j] : ends[j + 1]] = x[chosen]
    return supports, loadings


def sort_features(problem: Problem, supports: Array, loadings: Array) -> None:
    """Sort the features of each component, in place."""
    ends = problem.layout.ends
    for begin, end in pairwise(ends):
        order = np.argsort(supports[:, begin:end], axis=1)
        supports[:, begin:end] = np.take_along_axis(supports[:, begin:end], order, axis=1)
        loadings[:, begin:end] = np.take_along_axis(loadings[:, begin:end], order, axis=1)


def fitted(problem: Problem, supports: Array, loadings: Array, *, steps: int, damping: float) -> Fits:
    """Return the support sets with refitted loadings; the value is -inf where the constraints are not met.

    Loadings that would become negative, where they must not, are fixed at zero: an active set that only grows.
    """
    if not problem.nonnegative:
        return refit(
            problem.A,
            supports,
            loadings,
            problem.layout,
            uncorrelated=problem.uncorrelated,
            steps=steps,
            damping=damping,
        )
    used = np.ones(supports.shape, dtype=bool)
    sides = (loadings * np.abs(loadings)) @ problem.layout.onehot
    loadings = np.maximum(loadings * np.where(sides < 0.0, -1.0, 1.0)[:, problem.layout.owners], 0.0)
    for _ in range(budgets.NONNEGATIVE_REFITS):
        fits = refit(
            problem.A,
            supports,
            loadings,
            problem.layout,
            uncorrelated=problem.uncorrelated,
            steps=steps,
            damping=damping,
            used=used,
        )
        negative = fits.loadings < -budgets.FEASIBLE
        if not negative.any():
            break
        used &= ~negative
        loadings = np.maximum(fits.loadings, 0.0)
    values = np.where(negative.any(axis=1), -np.inf, fits.values)
    return fits._replace(loadings=np.maximum(fits.loadings, 0.0), values=values)


def worths(fits: Fits, cost: float = budgets.ZERO_LOADING_COST) -> Array:
    """Return by what solutions are compared: their value, less a little for each loading of zero, a missing feature."""
    return np.asarray(fits.values * (1.0 - cost * missing_features(fits)))


def missing_features(fits: Fits) -> Array:
    """Return how many loadings of each solution are zero."""
    return np.asarray(np.count_nonzero(np.abs(fits.loadings) < budgets.NO_LOADING, axis=1))


def best_rows_of_each(parents: Array, values: Array, count: int) -> Array:
    """Return the rows of the `count` largest finite values of each parent, by parents."""
    order = np.lexsort((-values, parents))
    rank = np.arange(len(order)) - np.searchsorted(parents[order], parents[order])
    return np.asarray(order[(rank < count) & np.isfinite(values[order])])


def climb(problem: Problem, fits: Fits, limit: float) -> tuple[Fits, float]:
    """Return the solutions after exchanges while one gains, and the work that was done.

    After half of the work that is the limit only the two best continue, then one, until twice the limit.
    """
    fits = Fits(*(field.copy() for field in fits))
    active, work = np.arange(len(fits.values)), 0.0
    while len(active) and work < 2.0 * limit:
        if work > 0.5 * limit:
            most = 2 if work < limit else 1
            active = active[np.argsort(-worths(fits)[active], kind="stable")[:most]]
        moves = promising_moves(problem, fits.chosen(active), most_chains(problem, budgets.EXCHANGE_CLIMB_MOVES))
        sort_features(problem, moves.supports, moves.loadings)
        first = fitted(problem, moves.supports, moves.loadings, steps=0, damping=0.0)
        rows = best_rows_of_each(moves.parents, worths(first), budgets.EXCHANGE_CLIMB_REFITS)
        ends = fitted(
            problem,
            first.supports[rows],
            first.loadings[rows],
            steps=budgets.EXCHANGE_CLIMB_STEPS,
            damping=budgets.EXCHANGE_CLIMB_DAMPING,
        )
        work += round_work(problem, len(active), len(first.values) + budgets.EXCHANGE_CLIMB_STEPS * len(rows))
        best = best_rows_of_each(moves.parents[rows], worths(ends), 1)
        ends, parents = ends.chosen(best), active[moves.parents[rows][best]]
        better = worths(ends) > (1.0 + budgets.EXCHANGE_CLIMB_LEAST_GAIN) * worths(fits)[parents]
        active = parents[better]
        for field, new in zip(fits, ends.chosen(better), strict=True):
            field[active] = new
    return fits, work


def round_work(problem: Problem, models: int, solves: int) -> float:
    """Return the work of a round of exchanges, about microseconds of one core: fixed, of models, of small systems."""
    r, size = len(problem.ks), system_size(problem)
    entering = min(len(problem.A), budgets.EXCHANGE_ENTERING)
    fixed, model, feature, entry, solve, square, cube = budgets.ROUND_WORK
    each = solve + square * size**2 + cube * size**3
    return fixed + models * r * (model + (feature + entry * size**2) * entering) + solves * each


def perturbed(problem: Problem, fits: Fits, rng: np.random.Generator) -> Fits:
    """Return the solutions with a few random features in place of others, refitted; those that stay feasible.

    Features are drawn from those of the largest slopes.
    """
    supports, loadings = fits.supports.copy(), fits.loadings.copy()
    owners, ends = problem.layout.owners, problem.layout.ends
    changes = min(int(rng.integers(1, budgets.PERTURB_FEATURES + 1)), supports.shape[1])
    for row in range(len(supports)):
        for place in rng.choice(supports.shape[1], changes, replace=False):
            j = owners[place]
            support = supports[row, ends[j] : ends[j + 1]]
            slopes = np.abs(loadings[row, ends[j] : ends[j + 1]] @ problem.A[support])
            near = Choice(problem.choice.features).largest(slopes, budgets.PERTURB_ENTERING + len(support))
            outside = np.setdiff1d(near, support)
            allowed = problem.choice.allowed_swaps(support, outside)
            if allowed is not True:
                outside = outside[np.asarray(allowed)[place - ends[j]]]
            if len(outside):
                supports[row, place] = rng.choice(outside)
                loadings[row, place] = budgets.PERTURB_LOADING * rng.standard_normal()
    sort_features(problem, supports, loadings)
    ends_of = fitted(problem, supports, loadings, steps=budgets.START_REFIT_STEPS, damping=budgets.SQP_DAMPING)
    return ends_of.chosen(np.isfinite(ends_of.values))


def best_distinct_fits(fits: Fits, count: int) -> Fits:
    """Return the best solutions, each value once; the best of those that miss no feature is among them."""
    worth = worths(fits)
    order = np.argsort(-worth, kind="stable")
    new = np.ones(len(order), dtype=bool)
    new[1:] = worth[order][1:] < (1.0 - budgets.EXCHANGE_CLIMB_LEAST_GAIN) * worth[order][:-1]
    order = order[new]
    complete = order[missing_features(fits)[order] == 0][:1]
    return fits.chosen(np.concatenate([order[:count], complete[~np.isin(complete, order[:count])]]))


class Found(NamedTuple):
    """What a search found."""

    fits: Fits
    """Best solutions, best first; none if no support set could be made feasible."""
    rounds: int
    closest: float
    """Least violation of all starts, as the largest |cosine| of two components."""


def search(
    problem: Problem, starts: list[list[SparseVector]], *, rng: np.random.Generator, work: float, report: Report
) -> Found:
    """Return the best solutions that are found from these starts, and from random ones if none of them is feasible."""
    supports, loadings = flat_starts(problem, starts)
    fits, closest = feasible_fits(problem, supports, loadings)
    for _ in range(budgets.FEASIBILITY_ROUNDS):
        if len(fits.values):
            break
        supports, loadings = random_sets(problem, rng)
        fits, violation = feasible_fits(problem, supports, loadings)
        closest = min(closest, violation)
    if not len(fits.values):
        return Found(fits, 0, closest)
    fits, done = climb(problem, fits, work)
    rounds, best, patience = 1, -np.inf, budgets.PERTURB_PATIENCE
    while done < work and patience:
        fits = best_distinct_fits(fits, budgets.PERTURB_ELITES)
        leader = float(worths(fits)[0])
        patience = (
            budgets.PERTURB_PATIENCE if leader > (1.0 + budgets.EXCHANGE_CLIMB_LEAST_GAIN) * best else patience - 1
        )
        best = max(best, leader)
        report("joint", rounds, float(fits.values[0]))
        parents = fits.chosen(np.resize(np.arange(len(fits.values)), most_chains(problem, budgets.PERTURB_CHAINS)))
        changed = perturbed(problem, parents, rng)
        done += round_work(problem, 0, budgets.START_REFIT_STEPS * len(parents.values))
        if len(changed.values):
            ends, spent = climb(problem, changed, work - done)
            fits, done = joined_fits([fits, ends]), done + spent
        rounds += 1
    fits = best_distinct_fits(fits, budgets.PERTURB_ELITES)
    best_first = np.argsort(-worths(fits, budgets.ZERO_LOADING_LAST_COST), kind="stable")
    return Found(fits.chosen(best_first), rounds, 0.0)


def most_chains(problem: Problem, most: int) -> int:
    """Return how many solutions are improved at once: fewer where their KKT systems are large."""
    return int(np.clip(budgets.CHAIN_ENTRIES // system_size(problem) ** 2, 1, most))


def system_size(problem: Problem) -> int:
    """Return the size of a KKT system: all loadings and all constraints."""
    return len(problem.layout.owners) + len(problem.layout.first) + len(problem.ks)


def feasible_fits(problem: Problem, supports: Array, loadings: Array) -> tuple[Fits, float]:
    """Return the best of the starts that can be made feasible, refitted; and the least violation of all."""
    supports, loadings = supports.copy(), loadings.copy()
    sort_features(problem, supports, loadings)
    chains = most_chains(problem, budgets.EXCHANGE_CLIMB_CHAINS)
    if len(supports) > budgets.START_BATCH * chains:  # large systems: only the starts that are best before a refit
        parts = [
            fitted(problem, supports[row : row + 1], loadings[row : row + 1], steps=0, damping=0.0)
            for row in range(len(supports))
        ]
        order = np.argsort(-joined_fits(parts).values, kind="stable")[: budgets.START_BATCH * chains]
        supports, loadings = supports[order], loadings[order]
    fits = fitted(problem, supports, loadings, steps=budgets.START_REFIT_STEPS, damping=budgets.SQP_DAMPING)
    feasible = np.isfinite(fits.values)
    closest = 0.0
    if not feasible.any():
        tried = zip(np.vstack([supports, supports]), np.vstack([loadings, fits.loadings]), strict=True)
        closest = min(_largest_cosine(problem, support, x) for support, x in tried)
    return best_distinct_fits(fits.chosen(feasible), chains), closest


def _largest_cosine(problem: Problem, support: Array, x: Array) -> float:
    """Return the largest |cosine| of two components; infinite where one of them has no loadings."""
    V = np.zeros((len(problem.A), len(problem.ks)))
    V[support, problem.layout.owners] = np.maximum(x, 0.0) if problem.nonnegative else x
    if not V.any(axis=0).all():
        return np.inf
    return largest_cosine_of_products(V.T @ problem.A @ V if problem.uncorrelated else V.T @ V)


def random_sets(problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return support sets that are drawn at random, and random loadings."""
    count = most_chains(problem, budgets.FEASIBILITY_SETS)
    loadings = rng.standard_normal((count, len(problem.layout.owners)))
    supports = np.empty(loadings.shape, dtype=np.intp)
    for row in range(count):
        for j, k in enumerate(problem.ks):
            drawn = problem.choice.largest(rng.random(len(problem.A)), k)
            supports[row, problem.layout.ends[j] : problem.layout.ends[j + 1]] = drawn
    return supports, loadings
