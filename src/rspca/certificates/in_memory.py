"""What is tried where the Gram matrix is in memory: every bound, cheapest first, and the exact searches."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from rspca.base.imports import lazy
from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.duals import scores_dual
from rspca.certificates.bounds.elimination import by_blocks
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.bounds.low_rank import shifted_low_rank, split_low_rank
from rspca.certificates.bounds.penalties import separating
from rspca.certificates.bounds.row_dual import best_row_dual_of_one, from_multiplier, row_dual_of_one
from rspca.certificates.bounds.semidefinite import dual_part, semidefinite
from rspca.certificates.engines import Examiner
from rspca.certificates.progress import Progress
from rspca.certificates.score_stage import DualSearch, ScoreDual, is_near, of_gram
from rspca.certificates.search import search, variance_of
from rspca.linalg.eigen import leading_pairs
from rspca.operators.base import OperatorMixin
from rspca.operators.dense import DenseOperator

CHEAP_BOUNDS: dict[str, Callable[[Array, int], float]] = {
    "trace": lambda A, k: B.trace(np.diagonal(A).copy(), k),
    "frobenius": lambda A, k: B.frobenius(np.diagonal(A).copy(), B.row_energies(A, k), k),
    "gershgorin": lazy("rspca.certificates.bounds.gram:gershgorin"),
}
"""Bounds from the entries of a Gram matrix, in the order in which they are tried; docs/extending.md adds one."""


LIMITED_BOUNDS: dict[str, Callable[[Array, int, GroupLimits], float]] = {
    "trace": lambda A, k, limits: B.trace(np.diagonal(A).copy(), k, limits),
    "frobenius": lambda A, k, limits: B.frobenius(np.diagonal(A).copy(), B.row_energies(A, k, limits), k, limits),
    "gershgorin": lazy("rspca.certificates.bounds.gram:gershgorin"),
}
"""The same with limits on groups; a bound that is not here is used without them, and holds with them all the more."""


def in_memory(run: Progress, A: Array, k: int, *, left_by_dual: bool = False) -> None:
    """Try the bounds from a Gram matrix of moderate size, cheapest first, then the exact search.

    `left_by_dual` are features that an optimized dual left of more: there the dual goes on well.
    """
    run.survivors, limits = len(A), run.limits
    allowed = A if limits is None else limits.apart(A)
    for name, bound in CHEAP_BOUNDS.items():
        if limits is not None and name in LIMITED_BOUNDS:
            run.bound(name, LIMITED_BOUNDS[name], A, k, limits)
        else:
            run.bound(name, bound, A, k)
    if run.finished():
        return
    pairs = B.spectrum(A)
    run.bound("largest eigenvalue", lambda: float(pairs.values[0]))
    run.bound("spectral fill", lambda: B.spectral_fill(pairs, k, limits))
    factor = DenseOperator(np.ascontiguousarray(np.sqrt(np.maximum(pairs.values, 0.0))[:, None] * pairs.vectors.T))
    scores_bounds(run, factor, k)
    score_dual, dual_search = None, None
    if len(A) > (budgets.SEARCH_FIRST_LEFT if left_by_dual else budgets.SEARCH_FIRST_FEATURES):
        score_dual = optimized(run, A, k, budgets.RELAXATION_TIME)
        outcome = None if score_dual is None else score_dual.outcome
        if outcome is not None and len(outcome.possible) <= budgets.SHRUNK * len(A) and not run.finished():
            among(run, lambda left: A[np.ix_(left, left)], k, outcome.possible, left_by_dual=True)
            return
        if outcome is not None and is_near(run, outcome) and not run.finished():
            dual_search = DualSearch(of_gram(A, partial(_with_variance, A)), k, outcome)
            has_rows = len(A) <= budgets.ROW_DUAL_FEATURES
            share = budgets.SCORE_SEARCH_FIRST_TIME if has_rows else budgets.SCORE_SEARCH_TIME
            dual_search.go_on(run, run.until(share))
    if run.finished():
        return

    def shifted(rank: int) -> float:
        clock = run.until(budgets.RANK_TIME)
        return shifted_low_rank(pairs, k, rank, tol=run.tol, out_of_time=clock, limits=limits).upper

    for rank in budgets.RANKS[: budgets.FIRST_RANKS]:
        run.bound(f"shifted rank {rank}", partial(shifted, rank))
    run.bound("split", lambda: split_low_rank(A, pairs, k, run.until(budgets.RANK_TIME), limits))
    if run.finished():
        return
    parts, multipliers = [], list[Array]()
    level = [0.0]

    def soft() -> float:
        clock = run.until(budgets.THRESHOLD_TIME)
        value, level[0] = B.best_soft_threshold(allowed, k, out_of_time=clock, limits=limits)
        return value

    run.bound("soft threshold", soft)
    parts.append(B.soft_thresholded(allowed, level[0]))
    if len(A) <= budgets.SEMIDEFINITE_FEATURES and not run.finished():

        def dual() -> float:
            tol, steps, clock = budgets.SEMIDEFINITE_TOL, budgets.SEMIDEFINITE_STEPS, run.until(budgets.THRESHOLD_TIME)
            solved = semidefinite(allowed, k, tol=tol, max_iter=steps, out_of_time=clock)
            multipliers.append(solved.multiplier)
            parts.append(dual_part(allowed, solved.multiplier))
            return B.spectral_fill(B.spectrum(parts[-1]), k, limits) + B.remainder(allowed - parts[-1], k, limits)

        run.bound("semidefinite dual", dual)

    def search_rows(clock: Callable[[], bool]) -> None:
        began, tol = time.perf_counter(), run.tol / budgets.SEARCH_TOL_SHARE
        result = search(A, k, run.support, parts, tol=tol, out_of_time=clock, examine=Examiner(run), limits=limits)
        run.nodes += result.nodes
        run.reached(result.support, result.lower)
        run.proven("exact search", result.upper, time.perf_counter() - began)

    if not run.finished():
        is_first = score_dual is None or len(A) <= budgets.ROW_DUAL_FEATURES
        search_rows(run.until(budgets.SEARCH_FIRST_SHARE if is_first else budgets.SEARCH_SHARE))
    if multipliers and len(A) <= budgets.ROW_DUAL_FEATURES and not run.finished():
        possible = _left_by_rows(run, A, k, allowed, multipliers[0])
        if len(possible) <= budgets.SHRUNK * len(A) and not run.finished():
            among(run, lambda left: A[np.ix_(left, left)], k, possible)
            return
    if score_dual is None:
        score_dual = optimized(run, A, k, budgets.RELAXATION_TIME)
    if score_dual is not None:
        score_dual.improve(run, run.until(budgets.RELAXATION_REST))
        if dual_search is None and score_dual.outcome is not None:
            dual_search = DualSearch(of_gram(A, partial(_with_variance, A)), k, score_dual.outcome)
    if dual_search is not None:
        dual_search.go_on(run, run.out_of_time)
    if not run.finished():  # it was stopped by its clock, and nothing else is left
        search_rows(run.out_of_time)


def _left_by_rows(run: Progress, A: Array, k: int, allowed: Array, multiplier: Array) -> Array:
    """Bound by the row dual, and return the features that may be in a better support, by its bound for k - 1."""
    began, clock, enough = time.perf_counter(), run.until(budgets.ROW_DUAL_TIME), (1.0 + run.tol) * run.lower
    start = from_multiplier(allowed, k, multiplier)
    rows = best_row_dual_of_one(allowed, k, start, enough=enough, out_of_time=clock)
    run.proven("row dual", rows.upper, time.perf_counter() - began)
    before = row_dual_of_one(allowed, k - 1, rows.Q, rows.theta) if k > 1 and np.isfinite(rows.upper) else np.inf
    least = run.lower * (1.0 - budgets.LOWER_SLACK)
    return by_blocks(A, k, least, before, run.limits) if np.isfinite(before) else np.arange(len(A))


def optimized(run: Progress, A: Array, k: int, share: float) -> ScoreDual | None:
    """Bound by the optimized dual in the scores of a factor of A; rho is the k-th largest (x_i'u)^2 at first."""
    if run.finished() or len(A) <= k:
        return None
    block = A[np.ix_(run.support, run.support)]
    values, vectors = np.linalg.eigh(block)
    squares = (A[:, run.support] @ vectors[:, -1]) ** 2 / max(float(values[-1]), 1e-300)
    rho = float(np.partition(squares, len(A) - k)[len(A) - k])
    dual = ScoreDual(of_gram(A, partial(_with_variance, A)), k, rho)
    dual.improve(run, run.until(share))
    return dual


def among(
    run: Progress, gram: Callable[[Array], Array], k: int, possible: Array, *, left_by_dual: bool = False
) -> None:
    """Go on with the features that may be in a better support than the known one; the others are in none.

    A known support may be smaller than k, and all that is left may be no more than k.
    """
    possible = np.union1d(possible, run.support)
    A = gram(possible)
    support = np.searchsorted(possible, run.support)
    inner = Progress(
        support,
        run.lower,
        tol=run.tol,
        deadline=run.deadline,
        on_step=run.on_step,
        parent=run,
        limits=None if run.limits is None else run.limits.among(possible),
    )
    inner.bounds, inner.upper = run.bounds, run.upper
    try:
        if len(possible) <= k:
            inner.survivors = len(possible)
            inner.proven("all that is left", max(B.largest_eigenvalue(A), run.lower), 0.0)
        else:
            in_memory(inner, A, k, left_by_dual=left_by_dual)
    finally:
        run.nodes, run.survivors = run.nodes + inner.nodes, inner.survivors
        run.reached(possible[inner.support], inner.lower)
        run.upper = min(run.upper, max(inner.upper, run.lower))


def _with_variance(A: Array, support: Array) -> tuple[Array, float]:
    return support, variance_of(A, support)


def scores_bounds(run: Progress, op: OperatorMixin, k: int) -> None:
    """Try the certificate that proves the support of u optimal, at a few penalties."""
    if run.finished():
        return
    scores = op.scores(run.support, loadings_on(op, run.support))
    u = scores / np.linalg.norm(scores)
    squares = np.asarray(op.rmatmat(u), dtype=np.float64) ** 2
    # if the middle penalty proves nothing, its neighbors do not either
    for rho in separating(squares, run.support, k, budgets.PENALTIES, run.limits):
        value = run.bound("dual in the scores", partial(scores_dual, op, u, k, rho))
        if run.bounds[-1].value > budgets.HOPELESS_RATIO * value:
            break


def loadings_on(op: OperatorMixin, support: Array) -> Array:
    """Return the leading eigenvector on the support, approximately: any direction gives a valid bound."""
    return leading_pairs(op.restrict(support), 1, tol=budgets.SCORE_LOADINGS_TOL).vectors[:, 0]
