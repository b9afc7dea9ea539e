"""Which bounds are tried, and in which order: for a Gram matrix in memory, from products, and feature by feature."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.loop import eligible_features
from rspca.algorithm.polish import climb
from rspca.base.imports import lazy
from rspca.base.memory import has_room
from rspca.base.types import Array
from rspca.certificates import budgets, core_stage, precision
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.duals import scores_dual, variance_dual
from rspca.certificates.bounds.elimination import by_blocks, by_variance, streamed_rows
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.bounds.low_rank import shifted_low_rank, split_low_rank
from rspca.certificates.bounds.penalties import penalty_at, separating
from rspca.certificates.bounds.row_dual import best_row_dual_of_one, from_multiplier, row_dual_of_one
from rspca.certificates.bounds.semidefinite import dual_part, semidefinite
from rspca.certificates.bounds.spectra import ProvenSpectrum, proven_spectrum, small_gram
from rspca.certificates.bounds.thresholds import KeptEntries, best_threshold
from rspca.certificates.core_stage import CoreProof, core_sizes
from rspca.certificates.engines import Examiner
from rspca.certificates.progress import Progress
from rspca.certificates.score_stage import DualSearch, Outcome, ScoreDual, dual_plan, of_data, of_gram
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
        if outcome is not None and _is_near(run, outcome) and not run.finished():
            dual_search = DualSearch(of_gram(A, partial(_with_variance, A)), k, outcome)
            dual_search.go_on(run, run.until(budgets.SCORE_SEARCH_TIME))
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
        search_rows(run.until(budgets.SEARCH_FIRST_SHARE if score_dual is None else budgets.SEARCH_SHARE))
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


def _is_near(run: Progress, outcome: Outcome) -> bool:
    """Return whether the bound of a dual is near the least: else nodes of a search would begin far above it."""
    return outcome.upper - run.lower <= budgets.PART_MAX_GAP * (run.upper - run.lower)


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
    scores = op.scores(run.support, _loadings(op, run.support))
    u = scores / np.linalg.norm(scores)
    squares = np.asarray(op.rmatmat(u), dtype=np.float64) ** 2
    # if the middle penalty proves nothing, its neighbors do not either
    for rho in separating(squares, run.support, k, budgets.PENALTIES, run.limits):
        value = run.bound("dual in the scores", partial(scores_dual, op, u, k, rho))
        if run.bounds[-1].value > budgets.HOPELESS_RATIO * value:
            break


class Stage(NamedTuple):
    """One row of the table of what is tried from products with X."""

    name: str
    applies: Callable[[Progress, ProofState, int], bool]
    seconds: Callable[[Progress, ProofState, int], float]
    """Predicted time, longer where little is expected to be gained: stages are ordered by it."""
    compute: Callable[[Progress, ProofState, int], None]


def by_products(run: Progress, state: ProofState, k: int, more: tuple[Stage, ...] = ()) -> None:
    """Try what applies, what is predicted to be fast first, until the gap is closed or nothing is left to try."""
    left = [*more, *STAGES]
    while not run.finished():
        applicable = [stage for stage in left if stage.applies(run, state, k)]
        if not applicable:
            break
        first = min(applicable, key=lambda stage: stage.seconds(run, state, k))
        left.remove(first)
        first.compute(run, state, k)


def relaxed_scores(run: Progress, state: ProofState, k: int) -> None:
    """Bound by the optimized dual in the scores, for a share of the time."""
    scores = state.op.scores(run.support, _loadings(state.op, run.support))
    length = float(np.linalg.norm(scores))
    if length == 0.0:  # products are only rounding
        return
    squares = np.asarray(state.op.rmatmat(scores / length), dtype=np.float64) ** 2
    rho = float(np.partition(squares, len(squares) - k)[len(squares) - k])
    state.duals[k] = ScoreDual(of_data(state.op, partial(_climbed, state, k)), k, rho, near=state.near(k))
    _improve_dual(run, state, k, run.until(budgets.RELAXATION_TIME))


def relaxed_further(run: Progress, state: ProofState, k: int) -> None:
    """Go on with the optimized dual in the scores where it was stopped."""
    _improve_dual(run, state, k, run.until(budgets.RELAXATION_REST))


def _improve_dual(run: Progress, state: ProofState, k: int, clock: Callable[[], bool]) -> None:
    """Improve the dual, again on what it leaves; if it leaves few features, go on with these in memory."""
    while not run.finished() and not clock():
        dual = state.duals[k]
        dual.improve(run, clock)
        outcome = dual.outcome
        if outcome is None or not dual.is_done:
            break
        if len(outcome.possible) <= budgets.GRAM_FEATURES:
            if len(outcome.possible) < state.op.shape[1]:
                among(run, state.op.gram_block, k, outcome.possible, left_by_dual=True)
            break
        if len(outcome.possible) > budgets.SHRUNK * len(dual.possible):
            break
        left = np.union1d(outcome.possible, run.support)
        further = ScoreDual(dual.problem, k, outcome.rho, possible=left, near=outcome.near, directions=dual.directions)
        state.duals[k] = further
        state.duals[k].outcome = outcome


def relaxed_in_more_directions(run: Progress, state: ProofState, k: int) -> None:
    """Optimize the dual again with a matrix in more directions, where scores have more."""
    dual = state.duals[k]
    if dual.outcome is None:
        return
    left = np.union1d(dual.outcome.possible, run.support)
    further = ScoreDual(dual.problem, k, dual.outcome.rho, possible=left, directions=budgets.MORE_DIRECTIONS)
    state.duals[k], further.outcome = further, dual.outcome
    _improve_dual(run, state, k, run.out_of_time)


def search_scores(run: Progress, state: ProofState, k: int) -> None:
    """Search with the optimized dual at the nodes, for the rest of the time."""
    outcome = state.duals[k].outcome
    if outcome is not None:
        DualSearch(of_data(state.op, partial(_climbed, state, k)), k, outcome).go_on(run, run.out_of_time)


def share_of_steps(run: Progress, state: ProofState, k: int) -> float:
    """Return the share of the time left for a proof feature by feature: less where a search can use it."""
    return budgets.STEP_BY_STEP_SHARE * (0.2 if _can_search(run, state, k) else 1.0)


def _can_search(run: Progress, state: ProofState, k: int) -> bool:
    outcome = state.duals[k].outcome if k in state.duals else None
    if outcome is None:
        return False
    if not _is_near(run, outcome):
        return False
    count = len(outcome.possible)
    length = min(state.op.shape[0], count)
    return length <= budgets.SCORE_SEARCH_LENGTH and has_room(budgets.SCORE_COPIES * 8 * length * count)


def _relaxation_seconds(run: Progress, state: ProofState, k: int) -> float:
    return state.gram_seconds() + dual_plan(state.op, k, run.lower).total


def _can_relax(run: Progress, state: ProofState, k: int) -> bool:
    m, n = state.op.shape
    if k >= n or min(m, n) > budgets.SPECTRUM_SIDE:
        return False
    plan = dual_plan(state.op, k, run.lower)
    return state.gram_seconds() + plan.first <= run.seconds_left() and has_room(plan.size)


def _has_more_directions(run: Progress, state: ProofState, k: int) -> bool:
    if k not in state.duals or not state.duals[k].is_done or state.duals[k].outcome is None:
        return False
    if min(state.op.shape) <= state.duals[k].directions:
        return False
    plan = dual_plan(state.op, k, run.lower, budgets.MORE_DIRECTIONS)
    return state.gram_seconds() + plan.first <= run.seconds_left() and has_room(plan.size)


def _can_relax_further(run: Progress, state: ProofState, k: int) -> bool:
    return k in state.duals and not state.duals[k].is_done


def _climbed(state: ProofState, k: int, support: Array) -> tuple[Array, float]:
    """Return a support that steps from the given one lead to, and a variance that it surely has."""
    op, choice = state.op, Choice(eligible_features(state.op), state.groups)
    start = np.zeros(op.shape[1])
    start[support] = _loadings(op, support)
    end = climb(op, start, k, choice=choice, tol=1e-9, max_iter=budgets.CLIMB_STEPS)
    return end.support, op.attained(end.support, _loadings(op, end.support))


def spectral_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by leading eigenpairs, if the smaller Gram matrix is affordable."""
    if not state.affordable(run.seconds_left()):
        return
    pairs, margin = state.spectrum()
    if not (np.isfinite(margin) and np.isfinite(pairs.vectors).all()):  # products are only rounding
        return
    run.bound("largest eigenvalue", lambda: float(pairs.values[0]) + margin)
    run.bound("spectral fill", lambda: B.spectral_fill(pairs, k, run.limits) + margin)
    for rank in worthwhile_ranks(pairs, budgets.RANKS)[: budgets.FIRST_RANKS]:
        _bound_by_rank(run, state, k, rank, budgets.RANK_TIME)


def plain_duals(run: Progress, state: ProofState, k: int) -> None:
    """Bound by the duals in the scores that need no optimization."""
    op = state.op
    scores_bounds(run, op, k)
    penalty = penalty_at(precision.sq_norms(op), k, budgets.VARIANCE_DUAL_PENALTY, run.limits)
    run.bound("variance dual", lambda: variance_dual(op, k, penalty))


def rank_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by leading eigenpairs with more time, and more of them, as long as that can lead to a better bound."""
    ranks = worthwhile_ranks(state.spectrum().pairs, budgets.RANKS)
    for rank in ranks:
        if not run.finished():
            share = budgets.LAST_RANK_TIME if rank == ranks[-1] else budgets.RANK_TIME_LARGE
            upper = _bound_by_rank(run, state, k, rank, share)
            if rank >= budgets.FIRST_RANKS and upper - run.lower > budgets.HOPELESS_GAP * (run.upper - run.lower):
                break


def _bound_by_rank(run: Progress, state: ProofState, k: int, rank: int, share: float) -> float:
    """Bound by some leading eigenpairs for a share of the time, and return the bound."""
    if run.finished():
        return run.upper
    (pairs, margin), began = state.spectrum(), time.perf_counter()
    clock, known, tol = run.until(share), run.upper - margin, budgets.RANK_TOL
    cones = shifted_low_rank(pairs, k, rank, tol=tol, out_of_time=clock, known=known, limits=run.limits)
    run.proven(f"shifted rank {rank}", cones.upper + margin, time.perf_counter() - began)
    return cones.upper + margin


def row_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by the rows of the Gram matrix, read once, if that is affordable: 2 m n operations each."""
    op = state.op
    if not _can_read_rows(run, state, k):
        return
    began = time.perf_counter()
    kept = KeptEntries(budgets.KEPT_LEVEL * run.lower / k)
    for_core = 2 <= k <= budgets.CORE_MAX_K and has_room(budgets.SCORE_COPIES * 8 * k * op.shape[1])
    rows = streamed_rows(
        op, k, out_of_time=run.out_of_time, keep=kept.add, limits=run.limits, with_largest=for_core
    )
    if rows is not None:
        if rows.largest is not None:
            state.cores[k] = CoreProof(core_stage.of_data(op, k, rows.largest, run.limits), k)
        if rows.frobenius - run.lower <= budgets.HOPELESS_GAP * (run.upper - run.lower):
            state.kept[k] = kept
        run.proven("frobenius", rows.frobenius, time.perf_counter() - began)
        run.proven("gershgorin", rows.gershgorin, 0.0)


def threshold_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by the soft threshold and the semidefinite dual, by blocks of the entries that a read of X'X kept."""
    kept = state.kept.pop(k)
    clock = run.until(budgets.THRESHOLD_TIME)
    run.bound(
        "soft threshold by blocks", lambda: best_threshold(state.op, k, kept, out_of_time=clock, limits=run.limits)
    )


def core_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by a core of features, for a share of the time."""
    _improve_core(run, state, k, run.until(budgets.CORE_TIME))


def core_bounds_further(run: Progress, state: ProofState, k: int) -> None:
    """Go on with the core where it was stopped."""
    _improve_core(run, state, k, run.until(budgets.RELAXATION_REST))


def _improve_core(run: Progress, state: ProofState, k: int, clock: Callable[[], bool]) -> None:
    """Improve bounds by cores; if one excludes all other features, go on with it in memory."""
    core = state.cores[k]
    core.go_on(run, clock)
    if core.possible is not None and not run.finished():
        among(run, state.op.gram_block, k, core.possible)


def _core_seconds(run: Progress, state: ProofState, k: int) -> float:
    m, n = state.op.shape
    count = float(core_sizes(k, n)[0])
    per_row = min(2.0 * m * n, budgets.SPARSE_ROWS * float(state.op.entries)) + budgets.ROW_ENTRY * n
    return (per_row * (count + budgets.CORE_ROWS) + budgets.CORE_EVALUATIONS * 20.0 * count**3) / budgets.FLOPS


def worthwhile_ranks(pairs: B.Spectrum, ranks: tuple[int, ...]) -> list[int]:
    """Return the ranks to try: the first few, and those after which the spectrum falls clearly."""
    following = pairs.values[1:]
    falls = following <= budgets.RANK_MIN_FALL * pairs.values[:-1]
    return [rank for rank in ranks if rank <= budgets.FIRST_RANKS or (rank <= len(falls) and falls[rank - 1])]


def _can_read_rows(run: Progress, state: ProofState, k: int) -> bool:
    return state.rows_seconds() <= run.seconds_left() and k <= state.op.shape[1] // budgets.ROWS_MAX_SHARE


def _rows_seconds(run: Progress, state: ProofState, k: int) -> float:
    """Return the time of a read of X'X: late where k is large, as its rows then give poor bounds; zero if urgent."""
    n = state.op.shape[1]
    seconds = state.rows_seconds() + budgets.ROW_ENTRY * n**2 / budgets.FLOPS
    if k > n // budgets.ROWS_FIRST_SHARE:
        return _after_dual(run, state, k, 10.0 * seconds)
    return seconds if seconds <= budgets.URGENT_SHARE * run.seconds_left() else 0.0  # later there would be no time


def _spectrum_seconds(run: Progress, state: ProofState, k: int) -> float:
    return state.gram_seconds() + float(min(state.op.shape)) ** 3 / budgets.FLOPS


def _plain_duals_seconds(run: Progress, state: ProofState, k: int) -> float:
    return budgets.PLAIN_DUALS * _spectrum_seconds(run, state, k)


def _has_plain_duals(run: Progress, state: ProofState, k: int) -> bool:
    return state.has_spectrum and state.op.shape[0] <= state.op.shape[1]


def _ranks_seconds(run: Progress, state: ProofState, k: int) -> float:
    return _after_dual(run, state, k, budgets.LOW_RANK_TIME * run.seconds_left())


def _after_dual(run: Progress, state: ProofState, k: int, seconds: float) -> float:
    """Return a time after that of the optimized dual, where this applies and was not tried."""
    is_before = k not in state.duals and _can_relax(run, state, k)
    return max(seconds, 2.0 * _relaxation_seconds(run, state, k)) if is_before else seconds


def _search_seconds(run: Progress, state: ProofState, k: int) -> float:
    """Return zero where the dual excludes most features: else the search comes last, and takes all of the time."""
    outcome = state.duals[k].outcome
    return 0.0 if outcome is not None and outcome.excludes else np.inf


STAGES = (
    Stage("spectrum", lambda run, state, k: state.affordable(run.seconds_left()), _spectrum_seconds, spectral_bounds),
    Stage("rows", _can_read_rows, _rows_seconds, row_bounds),
    Stage("blocks", lambda run, state, k: k in state.kept, lambda run, state, k: 0.0, threshold_bounds),
    Stage("core", lambda run, state, k: k in state.cores and not state.cores[k].is_done, _core_seconds, core_bounds),
    Stage("relaxed scores", _can_relax, _relaxation_seconds, relaxed_scores),
    Stage("plain duals", _has_plain_duals, _plain_duals_seconds, plain_duals),
    Stage("ranks", lambda run, state, k: state.has_spectrum, _ranks_seconds, rank_bounds),
    Stage(
        "relaxed scores, resumed",
        _can_relax_further,
        lambda run, state, k: budgets.RELAXATION_REST * run.seconds_left(),
        relaxed_further,
    ),
    Stage(
        "core, resumed",
        lambda run, state, k: k in state.cores and state.cores[k].is_stopped,
        lambda run, state, k: budgets.RELAXATION_REST * run.seconds_left(),
        core_bounds_further,
    ),
    Stage(
        "more directions",
        _has_more_directions,
        lambda run, state, k: run.seconds_left(),
        relaxed_in_more_directions,
    ),
    Stage("search by scores", _can_search, _search_seconds, search_scores),
)
"""What is tried from products with X, in the order of predicted time; docs/certificates.md describes the bounds."""


class ProofState:
    """Results for one operator that proofs for several k share: its spectrum, and certified results for small k.

    `given` is the original operator, for work that is not a proof; `op` has the same numbers with float64 products.
    `groups` limit the supports in question, of every k.
    """

    def __init__(self, given: OperatorMixin, groups: Groups | None = None) -> None:
        self.given, self.op, self.groups = given, given.to_float64(), groups
        self.limits = None if groups is None else GroupLimits(groups)
        self.steps: list[Certified] = []
        """Certified results for k = 1, 2, ..."""
        self.duals: dict[int, ScoreDual] = {}
        """The optimized dual in the scores, by k."""
        self.proven: dict[int, float] = {}
        """Bounds on the variance of k features, by k, with what rounding may hide."""
        self.cores: dict[int, CoreProof] = {}
        """Bounds by a core of features, by k."""
        self.kept: dict[int, KeptEntries] = {}
        """Entries of the Gram matrix above a level, by k."""
        self._spectrum: ProvenSpectrum | None = None

    def bound_by_other_k(self, k: int) -> float:
        """Return a bound from those for other k: Z_k grows with k, and Z_k / k, a mean of the k largest, does not.

        Z_k is the largest sum of the k largest (x_i'u)^2 over unit vectors u.
        """
        bounds = [upper * max(1.0, k / other) for other, upper in self.proven.items()]
        return min(bounds, default=np.inf) * (1.0 + 4.0 * B.EPS)

    def near(self, k: int) -> Array | None:
        """Return where a dual can start: at that of the nearest k."""
        outcomes = {other: dual.outcome for other, dual in self.duals.items()}
        factors = {other: found.near for other, found in outcomes.items() if found is not None}
        return factors[min(factors, key=lambda other: abs(np.log(other / k)))] if factors else None

    def gram_seconds(self) -> float:
        """Return how long the smaller Gram matrix is predicted to take; with sparse data, by their stored entries."""
        m, n = self.op.shape
        sparse = budgets.SPARSE_PRODUCT * float(self.op.entries) ** 2 / max(m, n)
        return min(float(m) * n * min(m, n), sparse) / budgets.FLOPS

    def rows_seconds(self) -> float:
        """Return how long one read of the larger Gram matrix is predicted to take."""
        m, n = self.op.shape
        return min(2.0 * m * n * n, budgets.SPARSE_ROWS * n * float(self.op.entries)) / budgets.FLOPS

    @property
    def has_spectrum(self) -> bool:
        """Whether the spectrum is known, and its vectors are more than rounding."""
        return self._spectrum is not None and bool(np.isfinite(self._spectrum.margin))

    def affordable(self, seconds: float) -> bool:
        """Return whether the spectrum is known, or can be computed in this time and in the free memory."""
        small = min(self.op.shape)
        soon = small <= budgets.SPECTRUM_SIDE and self.gram_seconds() <= seconds
        return self._spectrum is not None or (soon and has_room(budgets.SPECTRUM_COPIES * 8 * small**2))

    def spectrum(self) -> ProvenSpectrum:
        """Return the leading pairs with their proof."""
        if self._spectrum is None:
            self._spectrum = proven_spectrum(self.op, budgets.SPECTRUM_PAIRS, small_gram(self.op))
        return self._spectrum


class Certified(NamedTuple):
    """A certified result for one k of the path k = 1, 2, 3, ...; it holds for all features."""

    k: int
    support: Array
    lower: float
    upper: float
    survivors: int


def step_by_step(
    op: OperatorMixin,
    k: int,
    support: Array,
    lower: float,
    before: Certified | None,
    run: Progress,
    limits: GroupLimits | None = None,
) -> Certified | None:
    """Certify k features from a bound for k - 1, on the features that elimination leaves; None if these are too many.

    The result holds for all features: eliminated features are in no support above `lower`, which is the variance of a
    support that `limits` allow.
    """
    diagonal = precision.sq_norms(op)
    if k == 1 or before is None:
        best = int(np.argmax(diagonal))
        return Certified(1, np.array([best]), float(diagonal[best]), float(diagonal[best]), 1) if k == 1 else None
    # rounding error of a variance, in the products and in the tests
    hidden = 2.0 * precision.sum_error(op) * float(B.top_sum(op.rounding_lengths() ** 2, k))
    least = lower * (1.0 - budgets.LOWER_SLACK) - hidden
    alive = by_variance(diagonal, least, before.upper)
    alive = np.union1d(alive, support)
    if len(alive) > budgets.SURVIVORS:
        return None
    A = op.gram_block(alive)
    left = None if limits is None else limits.among(alive)
    passed = np.union1d(by_blocks(A, k, least, before.upper, limits=left), np.searchsorted(alive, support))
    if len(passed) > budgets.GRAM_FEATURES:
        return None
    A, alive = A[np.ix_(passed, passed)], alive[passed]
    start = np.searchsorted(alive, support)
    inner = Progress(
        start,
        variance_of(A, start),
        tol=run.tol,
        deadline=run.deadline,
        parent=run,
        limits=None if left is None else left.among(passed),
    )
    if len(alive) > k:
        in_memory(inner, A, k)
    else:
        inner.proven("all that is left", inner.lower, 0.0)
    run.nodes += inner.nodes
    return Certified(k, alive[inner.support], inner.lower, max(inner.upper, inner.lower), len(alive))


def _loadings(op: OperatorMixin, support: Array) -> Array:
    """Return the leading eigenvector on the support, approximately: any direction gives a valid bound."""
    return leading_pairs(op.restrict(support), 1, tol=budgets.SCORE_LOADINGS_TOL).vectors[:, 0]
