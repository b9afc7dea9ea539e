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
    columns: Callable[[Array, float, float, int], ScoreColumns]
    """Columns of features, given the largest squared length of all others, a guess of rho, and a number of leading
    directions."""
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
    near: Array | None
    """The factor, where duals of other features and of another k can start from it."""


def of_data(op: OperatorMixin, improved: Callable[[Array], tuple[Array, float]]) -> Problem:
    """Return the problem of data: their columns, or a factor of their Gram matrix where that is smaller."""

    def columns(features: Array, outside: float, rho: float, directions: int) -> ScoreColumns:
        if len(features) >= op.shape[0] and op.has_samples:
            return columns_of_data(op, features, outside, _weights(norms[features], rho), directions)
        weights = _weights(norms[features], rho)
        return columns_of_gram(
            op.gram_block(features), features, missing_from_products(op), outside, weights, directions
        )

    norms = precision.sq_norms(op)
    return Problem(norms, columns, improved)


def missing_from_products(op: OperatorMixin) -> Callable[[int], float]:
    """Return a bound on what computed products of k columns may lack, in spectral norm: e r_i r_j in each entry."""
    return lambda k: 2.0 * precision.sum_error(op) * float(top_sum(op.rounding_lengths() ** 2, k))


def of_gram(A: Array, improved: Callable[[Array], tuple[Array, float]]) -> Problem:
    """Return the problem of a Gram matrix in memory."""

    def columns(features: Array, outside: float, rho: float, directions: int) -> ScoreColumns:
        weights = _weights(norms[features], rho)
        return columns_of_gram(A[np.ix_(features, features)], features, lambda k: 0.0, outside, weights, directions)

    norms = np.maximum(np.diagonal(A), 0.0)
    return Problem(norms, columns, improved)


def _weights(norms: Array, rho: float) -> Array:
    """Return about how much of each column a dual with this penalty uses, to choose directions by."""
    return np.maximum(1.0 - rho / np.maximum(norms, 1e-300), budgets.DIRECTION_MIN_WEIGHT)


class ScoreDual:
    """The optimized dual of one problem, a level of the barrier at a time: it can be stopped and resumed.

    `possible` are features outside which no support reaches the known variance, by default all. Columns much shorter
    than sqrt(rho) are left out at first, `rho` being a guess; the dual then uses none smaller. `near` is the factor of
    a dual for other features or another k, which is a start where columns have the same coordinates. `directions` are
    the leading directions of scores in which the relaxation has a matrix.
    """

    def __init__(
        self,
        problem: Problem,
        k: int,
        rho: float,
        *,
        possible: Array | None = None,
        near: Array | None = None,
        directions: int = budgets.SCORE_DIRECTIONS,
    ) -> None:
        self.directions = directions
        self.problem, self.k, self.rho, self.near = problem, k, rho, near
        self.possible = np.arange(len(problem.sq_norms)) if possible is None else possible
        self.outcome: Outcome | None = None
        self.is_done = not rho > 0.0
        self._cuts, self._levels = list(budgets.SCORE_CUTS), list[float]()
        self._columns: ScoreColumns | None = None

    def improve(self, run: Progress, clock: Callable[[], bool]) -> None:
        """Bound by better and better duals until nothing is left to try, or the clock runs out."""

        def is_late() -> bool:
            """Return whether the clock ran out, or no more than checking a dual fits into the time left."""
            checking = 0.0 if self._columns is None else _check_seconds(self._columns)
            return clock() or run.seconds_left() <= checking

        while not self.is_done and not run.finished() and not is_late():
            if self._columns is None:
                self._enter(run)
            else:
                self._solve_level(run, self._columns, is_late)

    def _enter(self, run: Progress) -> None:
        """Read the columns that are long enough, and choose where to start."""
        norms = self.problem.sq_norms[self.possible]
        is_long = norms > self._cuts.pop(0) * self.rho
        features, outside = self.possible[is_long], float(norms[~is_long].max(initial=0.0))
        if len(features) <= self.k:
            self._leave()
            return
        began = time.perf_counter()
        columns = self.problem.columns(features, outside, self.rho, self.directions)
        self._limits, room = _among(run, features), None
        if self._limits is not None:
            room = self._limits.left(np.empty(0, dtype=np.intp), np.arange(len(features)))
        self._relaxation = Relaxation(columns.coordinates(), self.k, self.rho, RootFinder(run), room=room)
        self._levels, self._factor = list(budgets.RELAXATION_LEVELS), self._relaxation.start()
        if columns.has_own_axes and self.near is not None and len(self.near) == len(self._factor):
            self._levels, self._factor = list(budgets.RELAXATION_NEAR_LEVELS), self.near
        self._best, self._is_worse, self._columns = np.inf, False, columns
        self._seconds = time.perf_counter() - began

    def _leave(self) -> None:
        """Go on with shorter columns if the penalty came near the length of those left out; else this is done."""
        outside = 0.0 if self._columns is None else self._columns.longest_outside
        self._columns, self._levels = None, []
        if self.outcome is None or self.outcome.rho > budgets.SCORE_CUT_SLACK * outside or not self._cuts:
            self.is_done = self.outcome is not None or not self._cuts
        else:
            self.rho = self.outcome.rho

    def _solve_level(self, run: Progress, columns: ScoreColumns, clock: Callable[[], bool]) -> None:
        """Optimize at one level, and check the dual where that is cheap or the level is low enough."""
        began, level, relaxation, k = time.perf_counter(), self._levels[0], self._relaxation, self.k
        eps, tol = level * run.lower / relaxation.eigenvalues, budgets.RELAXATION_TOL * level
        self._factor = maximized(
            relaxation,
            self._factor,
            eps,
            steps=budgets.RELAXATION_STEPS,
            tol=tol,
            stop=lambda: clock() or run.finished(),
        )
        is_stopped = clock()
        if not is_stopped:
            self._levels.pop(0)
        dual, _ = relaxation.point(self._factor)
        if dual is None:
            self._leave()
            return
        # no dual of these columns has a bound below the value of the relaxation
        if dual.value - run.lower > budgets.PART_MAX_GAP * (run.upper - run.lower):
            self.is_done = True
            return
        self._seconds += time.perf_counter() - began
        is_costly = _check_seconds(columns) > budgets.CHECK_TIME * run.seconds_left()
        if is_costly and level > budgets.CHECK_LEVEL and not is_stopped:
            return
        began = time.perf_counter()
        checked = checked_dual(columns, dual, k, limits=self._limits)
        run.proven(NAME, max(checked.upper, run.lower), self._seconds + time.perf_counter() - began)
        self._seconds = 0.0
        run.reached(*self.problem.improved(columns.features[_best(run, columns.features, dual.taken, k)]))
        is_better = checked.upper < self._best
        if is_better:
            self._best = checked.upper
            left = possible_features(self.problem, columns, dual, checked, k, run.lower)
            excludes = checked.upper - checked.rho < run.lower
            near = factor_of(dual) if columns.has_own_axes else None
            self.outcome = Outcome(
                np.intersect1d(self.possible, left), factor_of(dual), dual.rho, checked.upper, excludes, near
            )
        # twice no better: directions that are not optimized matter more from here on
        if not self._levels or (not is_better and self._is_worse and columns.d < columns.length):
            self._leave()
        self._is_worse = not is_better


def _check_seconds(columns: ScoreColumns) -> float:
    """Return how long checking a dual takes: a matrix of all columns, and its largest eigenvalue."""
    products = 2.0 * columns.length**2 * (columns.count + columns.length)
    return products / (budgets.MATRIX_SPEED * budgets.FLOPS)


class DualPlan(NamedTuple):
    """Predicted seconds of the optimized dual, until its first bound and in all, and the bytes that it needs."""

    first: float
    total: float
    size: int


def dual_plan(op: OperatorMixin, k: int, lower: float, directions: int = budgets.SCORE_DIRECTIONS) -> DualPlan:
    """Return how long optimizing the dual is predicted to take, without the Gram matrix of the samples."""
    m, count = op.shape[0], int(np.count_nonzero(precision.sq_norms(op) > 0.5 * budgets.SCORE_CUTS[0] * lower / k))
    length = min(m, count)
    d = min(length, directions)
    evaluation = count * d * (4.0 * d / budgets.MATRIX_SPEED + budgets.ROOT_OPERATIONS) + 20.0 * d**3
    basis = budgets.DIRECTION_PRODUCTS * d * float(length) ** 2 + float(length) ** 3
    check = 2.0 * float(length) ** 2 * (count + length) / budgets.MATRIX_SPEED
    first = (basis + 2.0 * m * d * count) / budgets.MATRIX_SPEED + 5.0 * evaluation + check
    total = first + budgets.RELAXATION_EVALUATIONS * evaluation + 2.0 * check
    size = 8 * (budgets.SCORE_COPIES * count * d + budgets.SPECTRUM_COPIES * length * length)
    return DualPlan(first / budgets.FLOPS, total / budgets.FLOPS, size)


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
    # l_1(G + a a' - y y') <= l_1(G) + |a|^2: with a feature the bound is at most rho less, and its squared length more
    lengths = problem.sq_norms + columns.margin(k, checked.upper)
    is_possible = checked.upper - checked.rho + lengths >= least
    if checked.upper - checked.rho < least:
        inside = np.zeros(len(is_possible), dtype=bool)
        inside[columns.features[excluded(columns, dual, checked, k, least).possible]] = True
        is_possible[columns.features] &= inside[columns.features]
    return np.flatnonzero(is_possible)


def is_near(run: Progress, outcome: Outcome, upper: float | None = None) -> bool:
    """Return whether the bound of a dual is near the least, or near `upper`: else nodes of a search begin far above."""
    least = run.upper if upper is None else upper
    return outcome.upper - run.lower <= budgets.PART_MAX_GAP * (least - run.lower)


class DualSearch:
    """The search with the dual at the nodes, until the gap is closed or the clock runs out; it can be resumed."""

    def __init__(self, problem: Problem, k: int, outcome: Outcome) -> None:
        self.problem, self.outcome, self.k = problem, outcome, k
        self.order = outcome.possible[np.argsort(-problem.sq_norms[outcome.possible], kind="stable")]
        self.is_empty = len(self.order) <= k
        self._search: ScoreSearch | None = None

    def _started(self, run: Progress) -> ScoreSearch:
        inside, limits = np.flatnonzero(np.isin(self.order, run.support)), _among(run, self.order)
        others = np.setdiff1d(np.arange(len(self.order)), inside)
        if limits is not None:
            others = limits.first_of(inside, others, self.k - len(inside))[len(inside) :]
        support = np.sort(np.append(inside, others[: self.k - len(inside)]))
        columns = self.problem.columns(self.order, 0.0, self.outcome.rho, budgets.SCORE_DIRECTIONS).in_memory()
        tol, newton = run.tol / budgets.SEARCH_TOL_SHARE, RootFinder(run)
        search = ScoreSearch(columns, self.k, support, tol=tol, newton=newton, limits=limits)
        factor = self.outcome.factor if len(self.outcome.factor) == columns.d**2 + 1 else search.start()
        search.begin(factor, self.outcome.rho, run.upper)
        return search

    def go_on(self, run: Progress, clock: Callable[[], bool]) -> None:
        """Split nodes until all are closed or the clock runs out, and keep what that proves."""
        if self.is_empty or run.finished():
            return
        began = time.perf_counter()
        if self._search is None:
            self._search = self._started(run)
        search, before = self._search, self._search.nodes
        try:
            search.run(clock)
        finally:
            run.nodes += search.nodes - before
            run.reached(*self.problem.improved(np.sort(self.order[search.support])))
            # what was excluded before reaches no more than the variance known then
            if (upper := max(search.upper(), run.lower)) < run.upper:  # else the bound is not that of the search
                run.proven(SEARCH_NAME, upper, time.perf_counter() - began)
