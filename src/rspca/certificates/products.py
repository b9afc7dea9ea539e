"""What is tried from products with X: the bounds of each row of the table in `strategy`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.loop import eligible_features
from rspca.algorithm.polish import climb
from rspca.base.memory import has_room
from rspca.base.types import Array
from rspca.certificates import budgets, core_stage, precision
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.duals import variance_dual
from rspca.certificates.bounds.elimination import streamed_rows
from rspca.certificates.bounds.low_rank import shifted_low_rank
from rspca.certificates.bounds.penalties import penalty_at
from rspca.certificates.bounds.thresholds import KeptEntries, best_threshold
from rspca.certificates.core_stage import CoreProof, core_sizes
from rspca.certificates.in_memory import among, loadings_on, scores_bounds
from rspca.certificates.progress import Progress
from rspca.certificates.proof_state import ProofState
from rspca.certificates.score_stage import DualSearch, ScoreDual, is_near, of_data


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
        _bound_by_rank(run, state, k, rank, run.until(budgets.RANK_TIME))


def plain_duals(run: Progress, state: ProofState, k: int) -> None:
    """Bound by the duals in the scores that need no optimization."""
    op = state.op
    scores_bounds(run, op, k)
    penalty = penalty_at(precision.sq_norms(op), k, budgets.VARIANCE_DUAL_PENALTY, run.limits)
    run.bound("variance dual", lambda: variance_dual(op, k, penalty))


def rank_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by leading eigenpairs with more time, and more of them, as long as that can lead to a better bound.

    A rank that needs more directions than there is time for leaves no hope for larger ones. One that ends early does:
    where several eigenvalues are alike, all ranks are poor but the one after which the spectrum falls.
    """
    ranks = worthwhile_ranks(state.spectrum().pairs, budgets.RANKS)
    for rank in ranks:
        if not run.finished():
            clock = run.until(budgets.LAST_RANK_TIME if rank == ranks[-1] else budgets.RANK_TIME_LARGE)
            upper = _bound_by_rank(run, state, k, rank, clock)
            is_hopeless = upper - run.lower > budgets.HOPELESS_GAP * (run.upper - run.lower)
            if rank >= budgets.FIRST_RANKS and is_hopeless and clock():
                break


def _bound_by_rank(run: Progress, state: ProofState, k: int, rank: int, clock: Callable[[], bool]) -> float:
    """Bound by some leading eigenpairs until the clock runs out, and return the bound."""
    if run.finished():
        return run.upper
    (pairs, margin), began = state.spectrum(), time.perf_counter()
    known, tol = run.upper - margin, budgets.RANK_TOL
    cones = shifted_low_rank(pairs, k, rank, tol=tol, out_of_time=clock, known=known, limits=run.limits)
    run.proven(f"shifted rank {rank}", cones.upper + margin, time.perf_counter() - began)
    return cones.upper + margin


def worthwhile_ranks(pairs: B.Spectrum, ranks: tuple[int, ...]) -> list[int]:
    """Return the ranks to try: the first few, and those after which the spectrum falls clearly."""
    following = pairs.values[1:]
    falls = following <= budgets.RANK_MIN_FALL * pairs.values[:-1]
    return [rank for rank in ranks if rank <= budgets.FIRST_RANKS or (rank <= len(falls) and falls[rank - 1])]


def row_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by the rows of the Gram matrix, read once, if that is affordable: 2 m n operations each."""
    op = state.op
    if not can_read_rows(run, state, k):
        return
    began = time.perf_counter()
    kept = KeptEntries(budgets.KEPT_LEVEL * run.lower / k)
    is_small = 2 <= k <= budgets.CORE_MAX_K and len(core_sizes(k, op.shape[1])) > 0
    for_core = is_small and has_room(budgets.SCORE_COPIES * 8 * k * op.shape[1])
    rows = streamed_rows(op, k, out_of_time=run.out_of_time, keep=kept.add, limits=run.limits, with_largest=for_core)
    if rows is not None:
        if rows.largest is not None:
            state.cores[k] = CoreProof(core_stage.of_data(op, k, rows.largest, run.limits), k)
        state.kept[k] = kept, rows.frobenius
        run.proven("frobenius", rows.frobenius, time.perf_counter() - began)
        run.proven("gershgorin", rows.gershgorin, 0.0)


def can_read_rows(run: Progress, state: ProofState, k: int) -> bool:
    """Return whether there is time for a read of X'X, and k is not so large that its rows say nothing."""
    return state.rows_seconds() <= run.seconds_left() and k <= state.op.shape[1] // budgets.ROWS_MAX_SHARE


def threshold_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by the soft threshold and the semidefinite dual, by blocks of the entries that a read of X'X kept."""
    kept = state.kept.pop(k)[0]
    clock = run.until(budgets.THRESHOLD_TIME)
    run.bound(
        "soft threshold by blocks", lambda: best_threshold(state.op, k, kept, out_of_time=clock, limits=run.limits)
    )


def core_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by a core of features, for a share of the time."""
    _improve_core(run, state, k, run.until(budgets.CORE_TIME))


def core_bounds_further(run: Progress, state: ProofState, k: int) -> None:
    """Go on with the core where it was stopped, until the end if nothing else can use the time."""
    _improve_core(run, state, k, run.until(budgets.RELAXATION_REST) if can_search(run, state, k) else run.out_of_time)


def _improve_core(run: Progress, state: ProofState, k: int, clock: Callable[[], bool]) -> None:
    """Improve bounds by cores; if one excludes all other features, go on with it in memory."""
    core = state.cores[k]
    state.before_core.setdefault(k, run.upper)
    core.go_on(run, clock)
    if core.possible is not None and not run.finished():
        among(run, state.op.gram_block, k, core.possible)


def relaxed_scores(run: Progress, state: ProofState, k: int) -> None:
    """Bound by the optimized dual in the scores, for a share of the time."""
    scores = state.op.scores(run.support, loadings_on(state.op, run.support))
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


def relaxed_in_more_directions(run: Progress, state: ProofState, k: int) -> None:
    """Optimize the dual again with a matrix in more directions, where scores have more."""
    dual = state.duals[k]
    if dual.outcome is None:
        return
    left = np.union1d(dual.outcome.possible, run.support)
    further = ScoreDual(dual.problem, k, dual.outcome.rho, possible=left, directions=budgets.MORE_DIRECTIONS)
    state.duals[k], further.outcome = further, dual.outcome
    _improve_dual(run, state, k, run.out_of_time)


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


def search_scores(run: Progress, state: ProofState, k: int) -> None:
    """Search with the optimized dual at the nodes, for the rest of the time."""
    outcome = state.duals[k].outcome
    if outcome is not None:
        DualSearch(of_data(state.op, partial(_climbed, state, k)), k, outcome).go_on(run, run.out_of_time)


def can_search(run: Progress, state: ProofState, k: int) -> bool:
    """Return whether a search with the optimized dual at its nodes fits into memory and may improve the bound."""
    outcome = state.duals[k].outcome if k in state.duals else None
    if outcome is None:
        return False
    if not is_near(run, outcome, state.before_core.get(k)):  # a core may end far above the optimum, a search does not
        return False
    count = len(outcome.possible)
    length = min(state.op.shape[0], count)
    return length <= budgets.SCORE_SEARCH_LENGTH and has_room(budgets.SCORE_COPIES * 8 * length * count)


def _climbed(state: ProofState, k: int, support: Array) -> tuple[Array, float]:
    """Return a support that steps from the given one lead to, and a variance that it surely has."""
    op, choice = state.op, Choice(eligible_features(state.op), state.groups)
    start = np.zeros(op.shape[1])
    start[support] = loadings_on(op, support)
    end = climb(op, start, k, choice=choice, tol=1e-9, max_iter=budgets.CLIMB_STEPS)
    return end.support, op.attained(end.support, loadings_on(op, end.support))
