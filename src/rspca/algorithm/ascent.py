"""From candidates to the best support: polish them, or search a pool if features are few, then swap single ones."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.alike import block_ends
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import improved, perturbed, search
from rspca.algorithm.gram_swaps import SwappedSupport
from rspca.algorithm.polish import Polished, best_after_swaps, best_first, refitted_end, swap_each
from rspca.algorithm.pool import Pool, exact_variance, make_pool, no_swap_outside_gains, pool_around
from rspca.algorithm.route import Route
from rspca.algorithm.shared_work import SharedWork
from rspca.algorithm.small_search import is_small, search_small
from rspca.base.types import Array, Report
from rspca.linalg.vectors import nonzeros
from rspca.operators.base import OperatorMixin


def improve(
    route: Route,
    V: Array,
    gradient: Array,
    choice: Choice,
    work: SharedWork,
    *,
    tol: float,
    report: Report,
) -> Polished:
    """Return the best support that polishing the columns of V, vectors with k non-zeros, leads to.

    Supports of few features are searched for in a pool instead. In the end single features are swapped for others as
    long as that gains variance.
    """
    k = len(nonzeros(V[:, 0]))
    few = k <= budgets.POOL_MAX_K and k < choice.most
    if few:
        ends = [Polished(support, v[support], 0.0, 0, None) for v in V.T for support in [nonzeros(v)]]
    else:
        ends = route.polished(V, gradient, choice, tol=tol, report=report)
    ends = ends[: budgets.SWAP_STARTS if k <= budgets.SWAP_STARTS_MAX_K else 1]
    best = search_in_pool(route, k, ends, choice, work) if few else best_after_swaps(route.source, ends, choice=choice)
    report("polish", best.n_iter, best.variance)
    return best


def search_in_pool(route: Route, k: int, ends: list[Polished], choice: Choice, work: SharedWork) -> Polished:
    """Return the best support of few features that is found in a pool, or by exchanges from these ends.

    If the pool does not have all features, the next one has those with the largest gradients at the best supports,
    until the best support stays; then its features are swapped with all features.
    """
    op = route.source
    pool = make_pool(route, k, choice, [end.support for end in ends], work)
    ends = searched(pool, k, ends, choice)
    if not pool.complete:
        ends, stayed = best_first([*ends, *ends_in_blocks(op, k, ends, choice, work)]), False
        for number in range(budgets.NEXT_POOLS):
            count = budgets.NEXT_POOL_SUPPORTS if number else supports_of_next_pool(k)
            before, best = ends[0].support, ends[:count]
            del pool  # its Gram matrix, before the next is made
            pool = pool_around(op, choice, [(end.support, end.loadings) for end in best], work)
            ends = exchanged(pool, k, best, choice) if number else exchanged_or_searched(pool, k, best, choice)
            stayed = np.array_equal(before, ends[0].support)
            if stayed:
                break
        work.forget_last_pool()
        if stayed and ends[0].swap_optimal and no_swap_outside_gains(pool, op, before, choice):
            return refitted_end(op, ends[0])
        ends = [end._replace(swap_optimal=None) for end in ends[:1]]
        ends = [*swap_each(op, ends, choice=choice), ends[0]]
    least = (1.0 - budgets.POOL_NEAR_BEST) * max(end.variance for end in ends)
    ends = [end for end in ends[: 1 + budgets.SWAP_STARTS] if end.variance >= least]
    if len(ends) == 1:
        return ends[0]
    return best_first([end._replace(variance=exact_variance(op, end.support)) for end in ends])[0]


def supports_of_next_pool(k: int) -> int:
    """Return around how many supports the pool after the first is made: more if local optima differ more."""
    return max(budgets.NEXT_POOL_SUPPORTS, k // budgets.NEXT_POOL_K_A_SUPPORT)


def exchanged_or_searched(pool: Pool, k: int, ends: list[Polished], choice: Choice) -> list[Polished]:
    """Exchange features of the ends with the pool; search the pool too if that changes the best support.

    Large supports have many local optima, at which exchanges stop: for these the pool is searched in any case.
    """
    if supports_of_next_pool(k) > budgets.NEXT_POOL_SUPPORTS:
        return searched(pool, k, ends, choice)
    better = exchanged(pool, k, ends, choice)
    stays = np.array_equal(ends[0].support, better[0].support)
    return better if stays else searched(pool, k, better, choice)


def ends_in_blocks(op: OperatorMixin, k: int, ends: list[Polished], choice: Choice, work: SharedWork) -> list[Polished]:
    """Return the best other supports inside of blocks of features that are alike."""
    known = {end.support.tobytes() for end in ends}
    found = [end._replace(n_iter=ends[0].n_iter) for end in block_ends(op, k, choice, work.blocks(k))]
    return [end for end in found if end.support.tobytes() not in known]


def searched(pool: Pool, k: int, ends: list[Polished], choice: Choice) -> list[Polished]:
    """Return the best supports that a search of the pool finds; the pool has those of the ends, best first."""
    known = _places(pool, k, ends)
    if pool.complete and is_small(k, choice):
        return _polished(pool, search_small(pool.gram, k, known=known), ends[0].n_iter)
    rng, choice = np.random.default_rng(budgets.SEARCH_SEED), choice.among(pool.features)
    found = search(pool.gram, k, choice, known=known, rng=rng, multiply=pool.multiply, leading=pool.leading)
    if pool.gradient is not None:  # it was made around good supports, and better ones may be close
        found = perturbed(pool.gram, found, choice, rng, budgets.SEARCH_FINALISTS)
    return _polished(pool, found, ends[0].n_iter)


def exchanged(pool: Pool, k: int, ends: list[Polished], choice: Choice) -> list[Polished]:
    """Return what exchanges with features of the pool, and random changes, make of the ends, best first."""
    choice, rng = choice.among(pool.features), np.random.default_rng(budgets.SEARCH_SEED)
    found = improved(pool.gram, choice, _places(pool, k, ends))
    found = perturbed(pool.gram, found, choice, rng, budgets.IMPROVED_FINALISTS)
    return _polished(pool, found, ends[0].n_iter)


def _places(pool: Pool, k: int, ends: list[Polished]) -> list[Array]:
    return [np.searchsorted(pool.features, end.support) for end in ends if len(end.support) == k]


def _polished(pool: Pool, found: list[SwappedSupport], n_iter: int) -> list[Polished]:
    return [
        Polished(pool.features[end.support], end.loadings, end.variance, n_iter + end.n_swaps, end.swap_optimal)
        for end in found
    ]
