"""Which bounds are tried, and in which order: for a Gram matrix in memory, from products, and feature by feature."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.base.imports import lazy
from rspca.base.memory import has_room
from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.duals import scores_dual, separating_penalties, variance_dual
from rspca.certificates.bounds.elimination import by_blocks, by_variance, streamed_rows
from rspca.certificates.bounds.low_rank import shifted_low_rank, split_low_rank
from rspca.certificates.bounds.semidefinite import dual_part, semidefinite
from rspca.certificates.bounds.spectra import ProvenSpectrum, proven_spectrum, small_gram
from rspca.certificates.engines import Examiner
from rspca.certificates.progress import Progress
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


def in_memory(run: Progress, A: Array, k: int) -> None:
    """Try the bounds from a Gram matrix of moderate size, cheapest first, then the exact search."""
    run.survivors = len(A)
    for name, bound in CHEAP_BOUNDS.items():
        run.bound(name, bound, A, k)
    if run.finished():
        return
    pairs = B.spectrum(A)
    run.bound("largest eigenvalue", lambda: float(pairs.values[0]))
    run.bound("spectral fill", lambda: B.spectral_fill(pairs, k))
    factor = DenseOperator(np.ascontiguousarray(np.sqrt(np.maximum(pairs.values, 0.0))[:, None] * pairs.vectors.T))
    scores_bounds(run, factor, k)

    def shifted(rank: int) -> float:
        return shifted_low_rank(pairs, k, rank, tol=run.tol, out_of_time=run.until(budgets.RANK_TIME)).upper

    for rank in budgets.RANKS[: budgets.FIRST_RANKS]:
        run.bound(f"shifted rank {rank}", partial(shifted, rank))
    run.bound("split", lambda: split_low_rank(A, pairs, k, run.until(budgets.RANK_TIME)))
    if run.finished():
        return
    parts = []
    level = [0.0]

    def soft() -> float:
        value, level[0] = B.best_soft_threshold(A, k, out_of_time=run.until(budgets.THRESHOLD_TIME))
        return value

    run.bound("soft threshold", soft)
    parts.append(B.soft_thresholded(A, level[0]))
    if len(A) <= budgets.SEMIDEFINITE_FEATURES and not run.finished():

        def dual() -> float:
            tol, steps, clock = budgets.SEMIDEFINITE_TOL, budgets.SEMIDEFINITE_STEPS, run.until(budgets.THRESHOLD_TIME)
            solved = semidefinite(A, k, tol=tol, max_iter=steps, out_of_time=clock)
            parts.append(dual_part(A, solved.multiplier))
            return B.spectral_fill(B.spectrum(parts[-1]), k) + B.remainder(A - parts[-1], k)

        run.bound("semidefinite dual", dual)
    if not run.finished():
        began = time.perf_counter()
        tol = run.tol / budgets.SEARCH_TOL_SHARE
        result = search(A, k, run.support, parts, tol=tol, out_of_time=run.out_of_time, examine=Examiner(run))
        run.nodes += result.nodes
        run.reached(result.support, result.lower)
        run.proven("exact search", result.upper, time.perf_counter() - began)


def scores_bounds(run: Progress, op: OperatorMixin, k: int) -> None:
    """Try the certificate that proves the support of u optimal, at a few penalties."""
    if run.finished():
        return
    scores = op.scores(run.support, _loadings(op, run.support))
    u = scores / np.linalg.norm(scores)
    squares = np.asarray(op.rmatmat(u), dtype=np.float64) ** 2
    penalties = separating_penalties(squares, run.support, budgets.PENALTIES)
    # if the middle penalty proves nothing, its neighbors do not either
    for rho in penalties[np.argsort(np.abs(np.arange(len(penalties)) - len(penalties) // 2), kind="stable")]:
        value = run.bound("dual in the scores", partial(scores_dual, op, u, k, float(rho)))
        if run.bounds[-1].value > budgets.HOPELESS_RATIO * value:
            break


def by_products(run: Progress, state: ProofState, k: int) -> None:
    """Try the bounds from products with X: spectral bounds, duals in the space of scores, rows of the Gram matrix."""
    # rows of the Gram matrix give the best bounds for few features, its spectrum for many
    few = k <= state.op.shape[1] // budgets.ROWS_FIRST_SHARE
    stages = (row_bounds, spectral_bounds) if few else (spectral_bounds, row_bounds)
    for stage in stages:
        if not run.finished():
            stage(run, state, k)


def spectral_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by leading eigenpairs and by duals in the space of scores, if the smaller Gram matrix is affordable."""
    op = state.op
    m, n = op.shape
    if not state.affordable(run.seconds_left()):
        return
    pairs, margin = state.spectrum()
    if not (np.isfinite(margin) and np.isfinite(pairs.vectors).all()):  # products are only rounding
        return
    run.bound("largest eigenvalue", lambda: float(pairs.values[0]) + margin)
    run.bound("spectral fill", lambda: B.spectral_fill(pairs, k) + margin)
    ranks = worthwhile_ranks(pairs, budgets.RANKS)
    for rank in ranks:
        if not run.finished():
            began = time.perf_counter()
            share = budgets.LAST_RANK_TIME if rank == ranks[-1] else budgets.RANK_TIME_LARGE
            cones = shifted_low_rank(pairs, k, rank, tol=budgets.RANK_TOL, out_of_time=run.until(share))
            run.proven(f"shifted rank {rank}", cones.upper + margin, time.perf_counter() - began)
    if m <= n:
        scores_bounds(run, op, k)
        threshold = float(np.partition(precision.sq_norms(op), n - k)[n - k])
        run.bound("variance dual", lambda: variance_dual(op, k, budgets.VARIANCE_DUAL_PENALTY * threshold))


def row_bounds(run: Progress, state: ProofState, k: int) -> None:
    """Bound by the rows of the Gram matrix, read once, if that is affordable: 2 m n operations each."""
    op = state.op
    m, n = op.shape
    if 2.0 * m * n * n > budgets.FLOPS * run.seconds_left() or k > n // budgets.ROWS_MAX_SHARE:
        return
    began = time.perf_counter()
    rows = streamed_rows(op, k, out_of_time=run.out_of_time)
    if rows is not None:
        run.proven("frobenius", rows.frobenius, time.perf_counter() - began)
        run.proven("gershgorin", rows.gershgorin, 0.0)


def worthwhile_ranks(pairs: B.Spectrum, ranks: tuple[int, ...]) -> list[int]:
    """Return the ranks to try: the first few, and those after which the spectrum falls clearly."""
    following = pairs.values[1:]
    falls = following <= budgets.RANK_MIN_FALL * pairs.values[:-1]
    return [rank for rank in ranks if rank <= budgets.FIRST_RANKS or (rank <= len(falls) and falls[rank - 1])]


class ProofState:
    """Results for one operator that proofs for several k share: its spectrum, and certified results for small k.

    `given` is the original operator, for work that is not a proof; `op` has the same numbers with float64 products.
    """

    def __init__(self, given: OperatorMixin) -> None:
        self.given, self.op = given, given.to_float64()
        self.steps: list[Certified] = []
        """Certified results for k = 1, 2, ..."""
        self._spectrum: ProvenSpectrum | None = None

    def affordable(self, seconds: float) -> bool:
        """Return whether the spectrum is known, or can be computed in this time and in the free memory."""
        m, n = self.op.shape
        small = min(m, n)
        soon = small <= budgets.SPECTRUM_SIDE and m * n * small <= budgets.FLOPS * seconds
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
    op: OperatorMixin, k: int, support: Array, lower: float, before: Certified | None, run: Progress
) -> Certified | None:
    """Certify k features from a bound for k - 1, on the features that elimination leaves; None if these are too many.

    The result holds for all features: eliminated features are in no support above `lower`.
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
    passed = np.union1d(by_blocks(A, k, least, before.upper), np.searchsorted(alive, support))
    if len(passed) > budgets.GRAM_FEATURES:
        return None
    A, alive = A[np.ix_(passed, passed)], alive[passed]
    start = np.searchsorted(alive, support)
    inner = Progress(start, variance_of(A, start), tol=run.tol, deadline=run.deadline, parent=run)
    if len(alive) > k:
        in_memory(inner, A, k)
    else:
        inner.proven("all that is left", inner.lower, 0.0)
    run.nodes += inner.nodes
    return Certified(k, alive[inner.support], inner.lower, max(inner.upper, inner.lower), len(alive))


def _loadings(op: OperatorMixin, support: Array) -> Array:
    """Return the leading eigenvector on the support, approximately: any direction gives a valid bound."""
    return leading_pairs(op.restrict(support), 1, tol=budgets.SCORE_LOADINGS_TOL).vectors[:, 0]
