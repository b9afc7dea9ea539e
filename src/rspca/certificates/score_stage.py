"""The optimized dual in the scores as a stage of a proof: its bound, the supports it points at, what it eliminates."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds.checked_dual import CheckedDual, checked_dual, excluded
from rspca.certificates.bounds.gram import top_sum
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.bounds.score_columns import ScoreColumns, columns_of_data, columns_of_gram
from rspca.certificates.bounds.score_relaxation import Dual, Relaxation, factor_of, maximized
from rspca.certificates.engines import RootFinder
from rspca.certificates.progress import Progress
from rspca.certificates.score_search import ScoreSearch
from rspca.linalg.vectors import top_k
from rspca.operators.base import OperatorMixin

NAME, SEARCH_NAME = "optimized dual in the scores", "search with the optimized dual"


class Problem(NamedTuple):
    """The features that may be in the best support, as the stages see them."""

    sq_norms: Array
    """Upper bounds on the squared length of each feature."""
    columns: Callable[[Array, float, float], ScoreColumns]
    """Columns of features, given the largest squared length of all others, and a guess of rho."""
    improved: Callable[[Array], tuple[Array, float]]
    """A support near the given one, and a variance that it surely has."""


class Outcome(NamedTuple):
    """What the dual says at the end: features that may be in a better support, and where a search would start."""

    possible: Array
    factor: Array
    rho: float
    upper: float
    excludes: bool
    """Whether the gap is less than one feature counts, so that nodes of a search lose most of their features."""


def of_data(op: OperatorMixin, improved: Callable[[Array], tuple[Array, float]]) -> Problem:
    """Return the problem of data: their columns, or a factor of their Gram matrix where that is smaller."""

    def columns(features: Array, outside: float, rho: float) -> ScoreColumns:
        if len(features) >= op.shape[0] and op.has_samples:
            weights = np.maximum(1.0 - rho / np.maximum(norms[features], 1e-300), 0.05)
            return columns_of_data(op, features, outside, weights)
        return columns_of_gram(op.gram_block(features), features, missing_from_products(op), outside)

    norms = precision.sq_norms(op)
    return Problem(norms, columns, improved)


def missing_from_products(op: OperatorMixin) -> Callable[[int], float]:
    """Return a bound on what computed products of k columns may lack, in spectral norm: e r_i r_j in each entry."""
    return lambda k: 2.0 * precision.sum_error(op) * float(top_sum(op.rounding_lengths() ** 2, k))


def of_gram(A: Array, improved: Callable[[Array], tuple[Array, float]]) -> Problem:
    """Return the problem of a Gram matrix in memory."""

    def columns(features: Array, outside: float, rho: float) -> ScoreColumns:
        return columns_of_gram(A[np.ix_(features, features)], features, lambda k: 0.0, outside)

    return Problem(np.maximum(np.diagonal(A), 0.0), columns, improved)


def optimized_dual(
    run: Progress, problem: Problem, k: int, rho: float, *, share: float, possible: Array | None = None
) -> Outcome | None:
    """Bound by the best dual that this share of the time finds; None where there is nothing to optimize.

    `possible` are features outside which no support reaches the known variance, by default all. Columns much shorter
    than sqrt(rho) are left out at first, `rho` being a guess; the dual then uses none smaller.
    """
    began, clock = time.perf_counter(), run.until(share)
    possible = np.arange(len(problem.sq_norms)) if possible is None else possible
    outcome, find_roots = None, RootFinder(run)
    for cut in budgets.SCORE_CUTS:
        norms = problem.sq_norms[possible]
        is_long = norms > cut * rho
        features, outside = possible[is_long], float(norms[~is_long].max(initial=0.0))
        if len(features) <= k or run.finished():
            return outcome
        columns = problem.columns(features, outside, rho)
        limits = _among(run, features)
        room = None if limits is None else limits.left(np.empty(0, dtype=np.intp), np.arange(len(features)))
        relaxation = Relaxation(columns.coordinates(), k, rho, find_roots, room=room)
        factor, best, last = relaxation.start(), np.inf, False
        for level in budgets.RELAXATION_LEVELS:
            eps = level * run.lower / relaxation.eigenvalues
            tol = budgets.RELAXATION_TOL * level
            factor = maximized(relaxation, factor, eps, steps=budgets.RELAXATION_STEPS, tol=tol, stop=clock)
            dual, _ = relaxation.point(factor)
            if dual is None:
                break
            checked = checked_dual(columns, dual, k, limits=limits)
            run.proven(NAME, max(checked.upper, run.lower), time.perf_counter() - began)
            began = time.perf_counter()
            run.reached(*problem.improved(features[_best(run, features, dual.taken, k)]))
            if checked.upper < best:
                best = checked.upper
                left = possible_features(problem, columns, dual, checked, k, run.lower)
                excludes = checked.upper - checked.rho < run.lower
                outcome = Outcome(np.intersect1d(possible, left), factor_of(dual), dual.rho, checked.upper, excludes)
            elif last:  # twice no better: directions that are not optimized matter more from here on
                break
            last = checked.upper > best
            if run.finished() or clock():
                return outcome
        if outcome is None or outcome.rho > budgets.SCORE_CUT_SLACK * outside:
            return outcome
        rho = outcome.rho
    return outcome


def _among(run: Progress, features: Array) -> GroupLimits | None:
    return None if run.limits is None else run.limits.among(features)


def _best(run: Progress, features: Array, taken: Array, k: int) -> Array:
    """Return the sorted positions of the k features of which most is taken, as groups allow."""
    limits = _among(run, features)
    return np.sort(top_k(taken, k) if limits is None else limits.top(taken, k))


def possible_features(
    problem: Problem, columns: ScoreColumns, dual: Dual, checked: CheckedDual, k: int, lower: float
) -> Array:
    """Return the features that a dual does not exclude from supports that reach `lower`."""
    least = lower * (1.0 - budgets.LOWER_SLACK)
    used = np.zeros(len(problem.sq_norms), dtype=bool)
    used[columns.features] = True
    # with a feature that has y = 0 the bound is at most rho less, and its squared length more
    is_possible = checked.upper - checked.rho + problem.sq_norms >= least
    if checked.upper - checked.rho < least and columns.length <= budgets.EIGENVALUE_SIDE:
        inside = columns.features[excluded(columns, dual, checked, k, least).possible]
        is_possible[used] = False
        is_possible[inside] = True
    else:
        is_possible[used] = True
    return np.flatnonzero(is_possible)


def score_search(run: Progress, problem: Problem, k: int, outcome: Outcome) -> None:
    """Search with the dual at the nodes until the gap is closed or time is up."""
    order = outcome.possible[np.argsort(-problem.sq_norms[outcome.possible], kind="stable")]
    if len(order) <= k:
        return
    support, limits = np.flatnonzero(np.isin(order, run.support)), _among(run, order)
    others = np.setdiff1d(np.arange(len(order)), support)
    if limits is not None:
        others = limits.first_of(support, others, k - len(support))[len(support) :]
    support = np.sort(np.append(support, others[: k - len(support)]))
    began = time.perf_counter()
    columns = problem.columns(order, 0.0, outcome.rho).in_memory()
    search = ScoreSearch(
        columns,
        k,
        support,
        tol=run.tol / budgets.SEARCH_TOL_SHARE,
        out_of_time=run.out_of_time,
        newton=RootFinder(run),
        limits=limits,
    )
    factor = outcome.factor if len(outcome.factor) == columns.d**2 + 1 else search.start()
    try:
        search.run(factor, outcome.rho, run.upper)
    finally:
        run.nodes += search.nodes
        run.reached(*problem.improved(np.sort(order[search.support])))
        # what was excluded before reaches no more than the variance known then
        run.proven(SEARCH_NAME, max(search.upper(), run.lower), time.perf_counter() - began)
