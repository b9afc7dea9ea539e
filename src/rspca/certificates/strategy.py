"""What is tried, in which order: for a Gram matrix in memory, for products only, and feature by feature."""

from __future__ import annotations

import time
from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.base.memory import has_room
from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.duals import scores_dual, separating_penalties, variance_dual
from rspca.certificates.bounds.elimination import by_blocks, by_variance, streamed_rows
from rspca.certificates.bounds.low_rank import shifted_low_rank, split_low_rank
from rspca.certificates.bounds.semidefinite import dual_part, semidefinite
from rspca.certificates.bounds.spectra import Proven, proven_spectrum, small_gram
from rspca.certificates.engines import Examiner
from rspca.certificates.progress import Progress
from rspca.certificates.search import search, variance_of
from rspca.linalg.eigen import leading_pairs
from rspca.operators.base import OperatorMixin
from rspca.operators.dense import DenseOperator


def in_memory(run: Progress, A: Array, k: int) -> None:
    """Prove what can be proved from a Gram matrix of moderate size, cheapest first, then search."""
    diagonal = np.diagonal(A).copy()
    run.survivors = len(A)
    run.bound("trace", lambda: B.trace(diagonal, k))
    run.bound("frobenius", lambda: B.frobenius(diagonal, B.row_energies(A, k), k))
    run.bound("gershgorin", lambda: B.gershgorin(A, k))
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
        found = search(A, k, run.support, parts, tol=tol, out_of_time=run.out_of_time, examine=Examiner(run))
        run.nodes += found.nodes
        run.reached(found.support, found.lower)
        run.proven("exact search", found.upper, time.perf_counter() - began)


def scores_bounds(run: Progress, op: OperatorMixin, k: int) -> None:
    """Try the certificate that proves the support of u optimal, at a few penalties."""
    if run.finished():
        return
    scores = op.scores(run.support, _loadings(op, run.support))
    u = scores / np.linalg.norm(scores)
    squares = np.asarray(op.rmatmat(u), dtype=np.float64) ** 2
    penalties = separating_penalties(squares, run.support, budgets.PENALTIES)
    # nearly all or nothing: where the middle penalty proves nothing, its neighbors do not either
    for rho in penalties[np.argsort(np.abs(np.arange(len(penalties)) - len(penalties) // 2), kind="stable")]:
        value = run.bound("dual in the scores", partial(scores_dual, op, u, k, float(rho)))
        if run.bounds[-1].value > budgets.HOPELESS_RATIO * value:
            break


def by_products(run: Progress, known: Known, k: int) -> None:
    """Prove what products with X can: spectral bounds, duals in the space of scores, rows of the Gram matrix."""
    # few features are bounded best by rows of the Gram matrix, many by its spectrum
    few = k <= known.op.shape[1] // budgets.ROWS_FIRST_SHARE
    stages = (row_bounds, spectral_bounds) if few else (spectral_bounds, row_bounds)
    for stage in stages:
        if not run.finished():
            stage(run, known, k)


def spectral_bounds(run: Progress, known: Known, k: int) -> None:
    """Bound by leading eigenpairs, and by duals in the space of scores, where the smaller Gram matrix is affordable."""
    op = known.op
    m, n = op.shape
    if not known.affordable(run.seconds_left()):
        return
    pairs, margin = known.spectrum()
    if not (np.isfinite(margin) and np.isfinite(pairs.vectors).all()):  # products show nothing but rounding
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


def row_bounds(run: Progress, known: Known, k: int) -> None:
    """Bound by the rows of the Gram matrix, read once, where that is affordable: 2 m n operations each."""
    op = known.op
    m, n = op.shape
    if 2.0 * m * n * n > budgets.FLOPS * run.seconds_left() or k > n // budgets.ROWS_MAX_SHARE:
        return
    began = time.perf_counter()
    rows = streamed_rows(op, k, out_of_time=run.out_of_time)
    if rows is not None:
        run.proven("frobenius", rows.frobenius, time.perf_counter() - began)
        run.proven("gershgorin", rows.gershgorin, 0.0)


def worthwhile_ranks(pairs: B.Spectrum, ranks: tuple[int, ...]) -> list[int]:
    """Return the ranks to try: those after which the spectrum falls by a good part, and the first few."""
    following = pairs.values[1:]
    falls = following <= budgets.RANK_MIN_FALL * pairs.values[:-1]
    return [rank for rank in ranks if rank <= budgets.FIRST_RANKS or (rank <= len(falls) and falls[rank - 1])]


class Known:
    """What has been proven of one operator, for every k that will be asked for: its spectrum, and small k.

    `given` is the operator as it came, for what needs no proof; `op` has the same numbers, with products in float64.
    """

    def __init__(self, given: OperatorMixin) -> None:
        self.given, self.op = given, given.to_float64()
        self.steps: list[Certified] = []
        """Certified results for k = 1, 2, ..."""
        self._spectrum: Proven | None = None

    def affordable(self, seconds: float) -> bool:
        """Return whether the spectrum is known, or can be had in this time and in the memory that is free."""
        m, n = self.op.shape
        small = min(m, n)
        soon = small <= budgets.SPECTRUM_SIDE and m * n * small <= budgets.FLOPS * seconds
        return self._spectrum is not None or (soon and has_room(budgets.SPECTRUM_COPIES * 8 * small**2))

    def spectrum(self) -> Proven:
        """Return the leading pairs with their proof."""
        if self._spectrum is None:
            self._spectrum = proven_spectrum(self.op, budgets.SPECTRUM_PAIRS, small_gram(self.op))
        return self._spectrum


class Certified(NamedTuple):
    """One step of the path k = 1, 2, 3, ...: proven for all features."""

    k: int
    support: Array
    lower: float
    upper: float
    survivors: int


def step_by_step(
    op: OperatorMixin, k: int, support: Array, lower: float, before: Certified | None, run: Progress
) -> Certified | None:
    """Certify k features from a bound for k - 1, on the features that elimination leaves; None if these are too many.

    The result holds for all features: what was eliminated is in no support above `lower`.
    """
    diagonal = precision.sq_norms(op)
    if k == 1 or before is None:
        best = int(np.argmax(diagonal))
        return Certified(1, np.array([best]), float(diagonal[best]), float(diagonal[best]), 1) if k == 1 else None
    # what rounding may hide of a variance, in the products and in the tests
    hidden = 2.0 * precision.sum_error(op) * float(B.top_sum(precision.reach(op) ** 2, k))
    least = lower * (1.0 - budgets.LOWER_SLACK) - hidden
    alive = by_variance(diagonal, least, before.upper)
    alive = np.union1d(alive, support)
    if len(alive) > budgets.SURVIVORS:
        return None
    A = op.gram_block(alive)
    kept = np.union1d(by_blocks(A, k, least, before.upper), np.searchsorted(alive, support))
    if len(kept) > budgets.GRAM_FEATURES:
        return None
    A, alive = A[np.ix_(kept, kept)], alive[kept]
    inner = Progress(np.searchsorted(alive, support), variance_of(A, np.searchsorted(alive, support)), tol=run.tol,
                     deadline=run.deadline, parent=run)  # fmt: skip
    if len(alive) > k:
        in_memory(inner, A, k)
    else:
        inner.proven("all that is left", inner.lower, 0.0)
    run.nodes += inner.nodes
    return Certified(k, alive[inner.support], inner.lower, max(inner.upper, inner.lower), len(alive))


def _loadings(op: OperatorMixin, support: Array) -> Array:
    """Return the leading eigenvector of the support: an approximation will do, any direction gives a bound."""
    return leading_pairs(op.restrict(support), 1, tol=budgets.SCORE_LOADINGS_TOL).vectors[:, 0]
