"""Stage 1 and polishing: iterate on X or on a sketch of it, and confirm results of the sketch by products with X."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import SwappedSupport, improved, search
from rspca.algorithm.polish import Polished, best_after_swaps, best_first, exchange, polish, swap_each
from rspca.algorithm.pool import Pool, exact_variance, make_pool, pool_around
from rspca.algorithm.relax import StationaryPoint, linearized
from rspca.algorithm.shared_work import SharedWork
from rspca.algorithm.sketch import FullData, Sketch
from rspca.base.types import Array, Report
from rspca.linalg.vectors import l1_l2_maximizer, nonzeros, spread
from rspca.operators.base import OperatorMixin


def relax(
    data: Sketch | FullData, k: int, starts: list[Array], *, max_iter: int, tol: float, effort: Effort, report: Report
) -> StationaryPoint:
    """Return the best stationary point of stage 1 that is reached from these starts."""
    if isinstance(data, Sketch):
        return relax_on_sketch(data, k, starts, max_iter=max_iter, tol=tol, effort=effort, report=report)
    return relax_on_data(data, k, starts, max_iter=max_iter, tol=tol, report=report)


def relax_on_data(
    data: FullData, k: int, starts: list[Array], *, max_iter: int, tol: float, report: Report
) -> StationaryPoint:
    """Return the best stationary point that steps on X itself reach from these starts."""
    points = [l1_l2_maximizer(data.gradient(start), k) for start in starts]
    on_iteration = partial(report, "relax")
    ends = [linearized(data.source, k, x, max_iter=max_iter, tol=tol, on_iteration=on_iteration) for x in points]
    best = max(ends, key=lambda end: end.variance)
    confirmed = data.confirm(best.x)
    return best._replace(gradient=confirmed.gradient, variance=confirmed.variance)


class Effort(NamedTuple):
    """How far stage 1 is carried on a sketch: until a product with X gains less than `gain`, or after so many."""

    gain: float
    products: float = np.inf


def stage1_effort(op: OperatorMixin, k: int, tol: float, *, polished: bool) -> Effort:
    """Return how far stage 1 is carried: less far if polishing follows, or the search of a pool."""
    if not polished:
        return Effort(tol * budgets.SKETCH_GAIN_TOL)
    if k <= budgets.POOL_MAX_K:
        return Effort(tol * budgets.SKETCH_GAIN_TOL_FEW, budgets.SKETCH_PRODUCTS_FEW)
    return Effort(tol * (budgets.SKETCH_GAIN_TOL if op.undeflated is op else budgets.SKETCH_GAIN_TOL_LATER))


def relax_on_sketch(
    data: Sketch, k: int, starts: list[Array], *, max_iter: int, tol: float, effort: Effort, report: Report
) -> StationaryPoint:
    """Run stage 1 on the sketch, confirm each result by one product with X, and stop when X confirms no gain.

    The result is stationary for X itself: stage 1 stops when a round of steps gains at most `effort.gain`, and when
    the next step needs no feature that was left out of the last round; or after as many products as the effort allows.
    """
    step_tol = tol * budgets.SKETCH_STEP_TOL
    n = len(starts[0])

    def ascend(step: Array, gradient: Array, max_steps: int, tol: float) -> tuple[StationaryPoint, Array]:
        """Return where a few steps on the sketch lead, and the features on which they were taken."""
        within = (1.0 - budgets.L1_ROUNDING) * np.sqrt(k)
        if np.abs(step).sum() < within:  # the leading direction itself may satisfy the constraint
            leading = data.leading_direction()
            if np.abs(leading).sum() <= within:
                image = data.gradient(leading)
                report("relax", 1, float(leading @ image))
                return StationaryPoint(leading, image, float(leading @ image), 1, True), np.arange(n)
        used = len(nonzeros(step))
        spare = used // budgets.SKETCH_SPARE_FEATURES
        features = data.features(gradient, max(budgets.SKETCH_FEATURES_PER_K * k, used + spare))
        sketch, x, steps = data.operator(features), step[features], min(max_steps, budgets.SKETCH_STEPS)
        return linearized(sketch, k, x, max_iter=steps, tol=tol, on_iteration=partial(report, "relax")), features

    gradients = [data.gradient(start) for start in starts]
    first_tol = max(step_tol, budgets.SKETCH_FIRST_TOL)
    tried = [ascend(l1_l2_maximizer(gradient, k), gradient, max_iter, first_tol) for gradient in gradients]
    end, features = max(tried, key=lambda result: result[0].variance)
    variance, n_iter, products = -np.inf, end.n_iter, 0
    while True:
        x = spread(end.x, features, n)
        confirmed = data.confirm(x)
        gain, variance = confirmed.variance - variance, confirmed.variance
        step = l1_l2_maximizer(confirmed.gradient, k, expected=nonzeros(x))
        inside = len(nonzeros(step[features])) == len(nonzeros(step))
        products += 1
        converged = (gain <= effort.gain * variance and inside) or products >= effort.products
        if converged or n_iter >= max_iter:
            return StationaryPoint(x, confirmed.gradient, variance, n_iter, converged)
        end, features = ascend(step, confirmed.gradient, max_iter - n_iter, step_tol)
        n_iter += end.n_iter
        if end.variance - variance <= effort.gain * variance:  # the sketch, which is exact at x, shows no gain
            return StationaryPoint(x, confirmed.gradient, variance, n_iter, True)


def ends_may_differ(data: Sketch | FullData, k: int) -> bool:
    """Return whether polishing from several candidates may end at different supports."""
    return isinstance(data, FullData) or k <= budgets.SEVERAL_STARTS_SHARE * data.source.shape[1]


def improve(
    data: Sketch | FullData,
    V: Array,
    gradient: Array,
    choice: Choice,
    work: SharedWork,
    *,
    tol: float,
    report: Report,
) -> Polished:
    """Return the best support that polishing the columns of V, vectors with k non-zeros, leads to.

    Supports of few features are also searched for in a pool. In the end single features are swapped for others as long
    as that gains variance.
    """
    op, k = data.source, len(nonzeros(V[:, 0]))
    few = k <= budgets.POOL_MAX_K and k < choice.most
    if few:
        ends = [Polished(support, v[support], 0.0, 0, None) for v in V.T for support in [nonzeros(v)]]
    elif isinstance(data, FullData):
        starts = np.hstack([V, coordinate_starts(op, k, choice)])
        ends = polish(op, starts, k, choice=choice, finalists=budgets.POLISH_FINALISTS, tol=tol)
    else:
        ends = [improve_on_sketch(data, V, gradient, choice, tol=tol, report=report)]
    ends = ends[: budgets.SWAP_STARTS if k <= budgets.SWAP_STARTS_MAX_K else 1]
    best = search_in_pool(data, k, ends, choice, work) if few else best_after_swaps(op, ends, choice=choice)
    report("polish", best.n_iter, best.variance)
    return best


def search_in_pool(data: Sketch | FullData, k: int, ends: list[Polished], choice: Choice, work: SharedWork) -> Polished:
    """Return the best support of few features that is found in a pool, or by exchanges from these ends.

    If the pool does not have all features, the next one has those with the largest gradients at the best supports,
    until the best support stays; then its features are swapped with all features.
    """
    op = data.source
    pool = make_pool(data, k, choice, [end.support for end in ends], work)
    first = op.undeflated is op and not pool.complete
    ends = searched(pool, k, ends, choice, budgets.SEARCH_FINALISTS_FIRST if first else None)
    if not pool.complete:
        for number in range(budgets.NEXT_POOLS):
            before, best = ends[0].support, ends[: budgets.NEXT_POOL_SUPPORTS]
            pool = pool_around(op, choice, [(end.support, end.loadings) for end in best], work)
            ends = exchanged(pool, k, best, choice) if number else searched(pool, k, best, choice)
            if np.array_equal(before, ends[0].support):
                break
        ends = [end._replace(swap_optimal=None) for end in ends[:1]]
        ends = [*swap_each(op, ends, choice=choice), ends[0]]
    finalists = ends[: 1 + budgets.SWAP_STARTS]
    return best_first([end._replace(variance=exact_variance(op, end.support)) for end in finalists])[0]


def searched(pool: Pool, k: int, ends: list[Polished], choice: Choice, finalists: int | None = None) -> list[Polished]:
    """Return the best supports that a search of the pool finds; the pool has those of the ends, best first."""
    rng = np.random.default_rng(budgets.SEARCH_SEED)
    known, choice = _places(pool, k, ends), choice.among(pool.features)
    found = search(
        pool.gram,
        k,
        choice,
        known=known,
        rng=rng,
        multiply=pool.multiply,
        leading=pool.leading,
        finalists=finalists,
    )
    return _polished(pool, found, ends[0].n_iter)


def exchanged(pool: Pool, k: int, ends: list[Polished], choice: Choice) -> list[Polished]:
    """Return what exchanges with features of the pool make of the ends, best first."""
    found = improved(pool.gram, choice.among(pool.features), _places(pool, k, ends))
    return _polished(pool, found, ends[0].n_iter)


def _places(pool: Pool, k: int, ends: list[Polished]) -> list[Array]:
    return [np.searchsorted(pool.features, end.support) for end in ends if len(end.support) == k]


def _polished(pool: Pool, found: list[SwappedSupport], n_iter: int) -> list[Polished]:
    return [
        Polished(pool.features[end.support], end.loadings, end.variance, n_iter + end.n_swaps, end.swap_optimal)
        for end in found
    ]


def improve_on_sketch(
    data: Sketch, V: Array, gradient: Array, choice: Choice, *, tol: float, report: Report
) -> Polished:
    """Polish on the sketch, confirm each result by one product with X, and stop when X confirms no gain."""
    n, k, variance = len(V), len(nonzeros(V[:, 0])), -np.inf
    best = Polished(np.empty(0, dtype=np.intp), np.empty(0), variance, 0, None)
    for _ in range(budgets.POLISH_ROUNDS):
        features = promising_features(data, V[:, 0], gradient, budgets.POLISH_FEATURES_PER_K * k, choice)
        sketch, starts, allowed = data.operator(features), V[features], choice.among(features)
        starts = starts[:, starts.any(axis=0)]
        end = polish(sketch, starts, k, choice=allowed, finalists=budgets.POLISH_FINALISTS, tol=tol)[0]
        support = features[end.support]
        if np.array_equal(support, best.support):  # the sketch is exact at the last vector: what it gains is the refit
            if end.variance > variance:
                best, variance = end._replace(support=support), end.variance
                gradient = data.gradient(spread(end.loadings, support, n))
            break
        if end.variance - variance <= budgets.POLISH_TOL * tol * variance:
            break
        V = spread(end.loadings, support, n)[:, None]
        confirmed = data.confirm(V[:, 0])
        gain = confirmed.variance - variance
        if gain > 0.0:
            best, gradient, variance = end._replace(support=support), confirmed.gradient, confirmed.variance
            report("polish", best.n_iter, variance)
        if gain <= budgets.POLISH_TOL * tol * variance:
            break
    best = best._replace(variance=variance)
    return exchange(data.source, best, gradient, choice=choice, rounds=budgets.EXCHANGE_ROUNDS)


def promising_features(data: Sketch, v: Array, gradient: Array, count: int, choice: Choice) -> Array:
    """Return the features in use and those of the largest gradients; with groups, the best of each before others."""
    used = v != 0.0
    if choice.groups is not None:
        used[choice.largest(gradient, count)] = True
    else:
        used[data.features(np.where(used, 0.0, gradient), count - int(np.count_nonzero(used)))] = True
    return used.nonzero()[0]


def coordinate_starts(op: OperatorMixin, k: int, choice: Choice) -> Array:
    """Return unit vectors of single features as columns: of all features, or of those of largest variance."""
    m, n = op.shape
    count = min(len(choice.features), budgets.START_ENTRIES // (n * max(m, k)))
    features = Choice(choice.features).largest(op.sq_norms, count)
    starts = np.zeros((n, count))
    starts[features, np.arange(count)] = 1.0
    return starts
