"""Which bounds are tried from products with X, and in which order: a table with when each applies and its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.memory import has_room
from rspca.certificates import budgets
from rspca.certificates.core_stage import core_sizes
from rspca.certificates.products import (
    can_read_rows,
    can_search,
    core_bounds,
    core_bounds_further,
    plain_duals,
    rank_bounds,
    relaxed_further,
    relaxed_in_more_directions,
    relaxed_scores,
    row_bounds,
    search_scores,
    spectral_bounds,
    threshold_bounds,
)
from rspca.certificates.progress import Progress
from rspca.certificates.proof_state import ProofState
from rspca.certificates.score_stage import dual_plan


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


def share_of_steps(run: Progress, state: ProofState, k: int) -> float:
    """Return the share of the time left for a proof feature by feature: less where a search can use it."""
    return budgets.STEP_BY_STEP_SHARE * (0.2 if can_search(run, state, k) else 1.0)


def _relaxation_seconds(run: Progress, state: ProofState, k: int) -> float:
    return state.gram_seconds() + dual_plan(state.op, k, run.lower).total


def _can_relax(run: Progress, state: ProofState, k: int) -> bool:
    m, n = state.op.shape
    if k >= n or min(m, n) > budgets.SPECTRUM_SIDE:
        return False
    plan = dual_plan(state.op, k, run.lower)
    return state.gram_seconds() + plan.first <= run.seconds_left() and has_room(plan.size)


def _can_relax_further(run: Progress, state: ProofState, k: int) -> bool:
    return k in state.duals and not state.duals[k].is_done


def _has_more_directions(run: Progress, state: ProofState, k: int) -> bool:
    if k not in state.duals or not state.duals[k].is_done or state.duals[k].outcome is None:
        return False
    if min(state.op.shape) <= state.duals[k].directions:
        return False
    plan = dual_plan(state.op, k, run.lower, budgets.MORE_DIRECTIONS)
    return state.gram_seconds() + plan.first <= run.seconds_left() and has_room(plan.size)


def _has_blocks(run: Progress, state: ProofState, k: int) -> bool:
    """Return whether entries were kept, and the bound of rows leaves hope for them."""
    return k in state.kept and state.kept[k][1] - run.lower <= budgets.HOPELESS_GAP * (run.upper - run.lower)


def _blocks_seconds(run: Progress, state: ProofState, k: int) -> float:
    """Return zero where there is no core, and a time after that of a core otherwise: that is better on most data."""
    return 2.0 * _core_seconds(run, state, k) if k in state.cores else 0.0


def _core_seconds(run: Progress, state: ProofState, k: int) -> float:
    m, n = state.op.shape
    count = float(core_sizes(k, n)[0])
    per_row = min(2.0 * m * n, budgets.SPARSE_ROWS * float(state.op.entries)) + budgets.ROW_ENTRY * n
    return (per_row * (count + budgets.CORE_ROWS) + budgets.CORE_EVALUATIONS * 20.0 * count**3) / budgets.FLOPS


def _rows_seconds(run: Progress, state: ProofState, k: int) -> float:
    """Return the time of a read of X'X: late where k is large, as its rows then give poor bounds; zero if urgent."""
    n = state.op.shape[1]
    seconds = state.rows_seconds() + budgets.ROW_ENTRY * n**2 / budgets.FLOPS
    if k > n // (budgets.CORE_FIRST_SHARE if k <= budgets.CORE_MAX_K else budgets.ROWS_FIRST_SHARE):
        return _after_dual(run, state, k, 10.0 * seconds)
    is_urgent = k <= n // budgets.ROWS_FIRST_SHARE and seconds > budgets.URGENT_SHARE * run.seconds_left()
    return 0.0 if is_urgent else seconds  # later there would be no time


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
    Stage("rows", can_read_rows, _rows_seconds, row_bounds),
    Stage("blocks", _has_blocks, _blocks_seconds, threshold_bounds),
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
    Stage("search by scores", can_search, _search_seconds, search_scores),
)
"""What is tried from products with X, in the order of predicted time; docs/certificates.md describes the bounds."""
