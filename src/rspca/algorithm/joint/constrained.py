"""Several components under a constraint: orthogonal loadings, uncorrelated scores or disjoint supports."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.joint.constrained_search import Found, fitted, search
from rspca.algorithm.joint.constrained_starts import disjoint_start, sequential_start
from rspca.algorithm.joint.constraints import CONSTRAINTS, Infeasible, check_feasible, largest_violation
from rspca.algorithm.joint.data import DeflatedGram
from rspca.algorithm.joint.disjoint import disjoint_components
from rspca.algorithm.joint.exchange_model import Problem
from rspca.algorithm.joint.pooled import extended_gram, promising_features
from rspca.algorithm.joint.sqp import Fits, layout_of
from rspca.algorithm.joint.starts import leading_directions, random_starts, varimax_starts
from rspca.algorithm.joint.task import JointTask, SparseVector, Together
from rspca.algorithm.pool import exact_gram
from rspca.base.arguments import argument
from rspca.base.types import Array

__all__ = ["CONSTRAINTS", "check_feasible", "constrained"]


def constrained(task: JointTask, start: list[SparseVector], constraint: str) -> Together:
    """Return as many components as `task.ks` has entries that satisfy the constraint exactly, up to rounding.

    "orthogonal" and "uncorrelated" maximize sum v'Av, with V'V or V'AV diagonal; components are ordered by variance.
    "disjoint" maximizes the adjusted variance. Orthogonal loadings that must not be negative have disjoint supports,
    so that with `nonnegative` "orthogonal" means disjoint supports, with sum v'Av as the objective. Components have k
    features; fewer only where the constraint leaves no room for more.

    Raises ValueError if the request is infeasible for any data, or if the search ends without a feasible solution.
    """
    choice = task.choice
    groups = None if choice.groups is None else choice.groups._replace(labels=choice.groups.labels[choice.features])
    ks = [min(k, choice.most) for k in task.ks]
    check_feasible(constraint, ks, len(choice.features), groups, task.nonnegative)
    start = completed_start(task, start[: len(ks)], ks)
    if constraint == "disjoint" or (constraint == "orthogonal" and task.nonnegative):
        vectors, rounds = disjoint_components(task, start, ks, plain_sum=constraint == "orthogonal")
    else:
        vectors, rounds = _under_equations(task, start, ks, constraint)
    if constraint != "disjoint":
        vectors = by_variance(task, vectors, ks)
    return Together(vectors, largest_violation(task.op, vectors, constraint), max(1, rounds))


def completed_start(task: JointTask, start: list[SparseVector], ks: list[int]) -> list[SparseVector]:
    """Return the start with vectors of the features of largest variance that it does not use, where it has too few."""
    vectors = list(start)
    values = np.sqrt(task.op.sq_norms)
    for vector in vectors:
        values[vector.support] *= np.finfo(float).eps
    for k in ks[len(start) :]:
        support = task.choice.largest(values, k)
        vectors.append(SparseVector(support, np.full(k, k**-0.5)))
        values[support] *= np.finfo(float).eps
    return vectors


def by_variance(task: JointTask, vectors: list[SparseVector], ks: list[int]) -> list[SparseVector]:
    """Return components ordered by variance, the largest first; a component keeps to places of its size."""
    variances = np.array([np.sum(task.op.scores(*vector) ** 2) for vector in vectors])
    sizes, ordered = np.array(ks), list(vectors)
    for size in np.unique(sizes):
        places = np.flatnonzero(sizes == size)
        for place, source in zip(places, places[np.argsort(-variances[places], kind="stable")], strict=True):
            ordered[place] = vectors[source]
    return ordered


def _under_equations(
    task: JointTask, start: list[SparseVector], ks: list[int], constraint: str
) -> tuple[list[SparseVector], int]:
    """Search in the Gram matrix of all features, or of promising ones, and refit the best on X."""
    features, gram = _first_pool(task, start, ks)
    complete, vectors, rounds, work = len(features) == len(task.choice.features), start, 0, 1.0
    for number in range(budgets.CONSTRAINED_POOLS):
        found, problem = _search_pool(
            task, features, gram, vectors, constraint, work * budgets.CONSTRAINED_WORK, number
        )
        if not len(found.fits.values):
            raise Infeasible(_not_found(constraint, ks, found.closest, complete=complete))
        rounds += found.rounds
        best = _vectors(problem, found.fits, features)
        same = number > 0 and _same_supports(best, vectors)
        vectors, work = best, budgets.CONSTRAINED_NEXT_WORK
        if complete or same or number == budgets.CONSTRAINED_POOLS - 1:
            break
        wanted = np.union1d(features, promising_features(task, vectors, ks))
        if len(wanted) == len(features):
            break
        gram, features = extended_gram(task.op, gram, features, wanted), wanted
    return _refitted_on_data(task, vectors, constraint), rounds


def _first_pool(task: JointTask, start: list[SparseVector], ks: list[int]) -> tuple[Array, Array]:
    """Return the features that are searched first, and their Gram matrix."""
    features = task.choice.features
    if len(features) > budgets.CONSTRAINED_POOL_COMPLETE:
        enough = task.choice.largest(task.op.sq_norms, max(ks))
        features = np.union1d(promising_features(task, start, ks), enough)
    return features, task.op.gram_matrix(features)


def _search_pool(
    task: JointTask,
    features: Array,
    gram: Array,
    vectors: list[SparseVector],
    constraint: str,
    work: float,
    number: int,
) -> tuple[Found, Problem]:
    """Search from the vectors; in the first pool also from starts of other kinds."""
    ks = [min(k, task.choice.most) for k in task.ks]
    choice = task.choice.among(features)
    count = len(ks) + budgets.CONSTRAINED_DIRECTIONS
    directions = leading_directions(DeflatedGram(gram, np.empty((len(gram), 0))), count)
    unit = max(float(directions[0][0]), np.finfo(float).tiny)
    problem = Problem(gram / unit, ks, choice, layout_of(ks), constraint == "uncorrelated", task.nonnegative)
    starts = [[SparseVector(np.searchsorted(features, v.support), v.loadings) for v in vectors]]
    if number == 0:
        starts += varimax_starts(*directions, ks, choice, nonnegative=task.nonnegative)
        starts += random_starts(
            *directions, ks, choice, count=budgets.CONSTRAINED_STARTS, rng=task.rng, nonnegative=task.nonnegative
        )
        starts.append(sequential_start(problem.A, ks, choice, task.rng, uncorrelated=problem.uncorrelated))
        if not problem.uncorrelated:
            starts += [one for one in [disjoint_start(problem.A, ks, choice, task.rng)] if one is not None]

    def report(stage: str, iteration: int, variance: float, upper: float | None = None) -> None:
        task.report(stage, iteration, unit * variance, upper)

    return search(problem, starts, rng=task.rng, work=work, report=report), problem


def _vectors(problem: Problem, fits: Fits, features: Array) -> list[SparseVector]:
    """Return the best solution as sparse vectors, without loadings of zero."""
    ends, vectors = problem.layout.ends, []
    for begin, end in pairwise(ends):
        support, loadings = fits.supports[0, begin:end], fits.loadings[0, begin:end]
        used = np.abs(loadings) >= budgets.NO_LOADING
        vectors.append(SparseVector(features[support[used]], loadings[used]))
    return vectors


def _same_supports(some: list[SparseVector], others: list[SparseVector]) -> bool:
    return {vector.support.tobytes() for vector in some} == {vector.support.tobytes() for vector in others}


def _refitted_on_data(task: JointTask, vectors: list[SparseVector], constraint: str) -> list[SparseVector]:
    """Return the loadings refitted in the exact Gram matrix of their features, each with its largest entry positive."""
    used = np.unique(np.concatenate([vector.support for vector in vectors]))
    gram = exact_gram(task.op, used)
    unit = max(float(gram.diagonal().max()), np.finfo(float).tiny)
    ks = [len(vector.support) for vector in vectors]
    problem = Problem(
        gram / unit, ks, task.choice.among(used), layout_of(ks), constraint == "uncorrelated", task.nonnegative
    )
    supports = np.concatenate([np.searchsorted(used, vector.support) for vector in vectors])[None]
    loadings = np.concatenate([vector.loadings for vector in vectors])[None]
    fits = fitted(problem, supports, loadings, steps=budgets.LAST_REFIT_STEPS, damping=budgets.EXCHANGE_CLIMB_DAMPING)
    if not np.isfinite(fits.values[0]):
        raise Infeasible(_not_found(constraint, ks, float(fits.violations[0]), complete=False))
    refitted = []
    for support, loadings_of in _vectors(problem, fits, used):
        largest = loadings_of[np.argmax(np.abs(loadings_of))]
        refitted.append(SparseVector(support, loadings_of if largest > 0.0 else -loadings_of))
    return refitted


def _not_found(constraint: str, ks: list[int], closest: float, *, complete: bool) -> str:
    """Return the message of a search that found no feasible components."""
    pairs = {"orthogonal": "loadings", "uncorrelated": "scores"}[constraint]
    where = "" if complete else " among the promising features"
    return (
        f"{argument('constraint', constraint)} could not be satisfied by {len(ks)} components of "
        f"{' and '.join(str(k) for k in sorted(set(ks)))} features{where}: the closest that was found has two {pairs} "
        f"with a cosine of {closest:.2g}. Raise {argument('k')}, ask for fewer components, or drop the constraint."
    )
