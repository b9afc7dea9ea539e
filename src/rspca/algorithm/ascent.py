"""Stage 1 and polishing on a stand-in for X: climb where that is cheap, ask X, go on until it has no more to say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import search
from rspca.algorithm.polish import Polished, after_swaps, best_after_swaps, best_first, exchange, polish
from rspca.algorithm.pool import POOL_MAX_K, Pool, exact_variance, make_pool, pool_around
from rspca.algorithm.relax import Climbed, linearized
from rspca.algorithm.sketch import Sketch, Whole
from rspca.base.types import Array
from rspca.linalg.vectors import l1_l2_maximizer, nonzeros, spread
from rspca.operators.base import OperatorMixin

MOST_ROUNDS = 30
"""Times that a stand-in is climbed and X asked."""
SETTLED = 0.01
"""Share of the tolerance below which polishing has nothing to add. Rivals go on until their support stays."""
SEVERAL_ENDS = 0.1
"""Share of the features beyond which, on a sketch, all candidates lead to one end, or nearly."""
FINALISTS = 10
"""Candidates that climb one by one; more than these are thinned out by power steps together."""
SWAP_STARTS, SEVERAL_SWAPS = 3, 50
"""Different ends of polishing from which swaps are tried, and the k up to which from more than the best."""
MOST_EXCHANGES = 4
"""Times that several features are exchanged at once after the ascent."""
MOST_POOLS, SEVERAL_BEST = 4, 6
"""Pools that are made around the best supports after the first, and how many supports these are."""
START_BUDGET = 2 * 10**7
"""Entries of X, or of k columns of A, times coordinate starts: where k is too large for a pool, small problems are
climbed from every feature."""

Tell = Callable[[str, int, float], None]


def relax(data: Sketch | Whole, k: int, starts: list[Array], *, max_iter: int, tol: float, tell: Tell) -> Climbed:
    """Stage 1 from the best of several starts; stationary for X itself, however small the stand-in.

    A round takes several steps on the stand-in; the work ends when they gain little together, and when the next step
    needs no feature that the stand-in lacked.
    """
    enough, fine = tol * data.enough, tol * data.patience
    n = len(starts[0])

    def ascend(step: Array, gradient: Array, most: int, tol: float) -> tuple[Climbed, Array]:
        within = (1.0 - 1e-9) * np.sqrt(k)
        if not data.exact and np.abs(step).sum() < within:  # the leading direction itself may be short enough
            leading = data.directions()[0]
            if np.abs(leading).sum() <= within:
                image = data.guess(leading)
                tell("relax", 1, float(leading @ image))
                return Climbed(leading, image, float(leading @ image), 1, True), np.arange(n)
        features = data.features(gradient, max(2 * k, 4 * len(nonzeros(step)) // 3))
        end = linearized(
            data.operator(features), k, step[features], max_iter=min(most, data.most_steps), tol=tol,
            on_iteration=partial(tell, "relax"),
        )  # fmt: skip
        return end, features

    guesses = [data.guess(start) for start in starts]
    tried = [ascend(l1_l2_maximizer(guess, k), guess, max_iter, max(fine, data.rough)) for guess in guesses]
    end, features = max(tried, key=lambda one: one[0].variance)
    variance, spent = -np.inf, end.n_iter
    while True:
        x = spread(end.x, features, n)
        seen = data.confirm(x)
        gain, variance = seen.variance - variance, seen.variance
        step = l1_l2_maximizer(seen.gradient, k, expected=nonzeros(x))
        inside = len(nonzeros(step[features])) == len(nonzeros(step))
        settled = (gain <= enough * variance or (data.exact and end.converged)) and inside
        if settled or spent >= max_iter:
            return Climbed(x, seen.gradient, variance, spent, settled)
        end, features = ascend(step, seen.gradient, max_iter - spent, fine)
        spent += end.n_iter
        if not data.exact and end.variance - variance <= enough * variance:  # the sketch, exact at x, sees no gain
            return Climbed(x, seen.gradient, variance, spent, True)


def several_ends(data: Sketch | Whole, k: int) -> bool:
    """Return whether it is worth while to polish more than one candidate."""
    return data.exact or k <= SEVERAL_ENDS * data.source.shape[1]


def improve(data: Sketch | Whole, V: Array, gradient: Array, choice: Choice, *, tol: float, tell: Tell) -> Polished:
    """Polish the columns of V, vectors with k non-zeros, search for better supports of few features; return the best.

    Single features of the best supports are exchanged for others as long as that gains variance.
    """
    op, k = data.source, len(nonzeros(V[:, 0]))
    few = k <= POOL_MAX_K and k < choice.most
    if isinstance(data, Whole):
        starts = V if few else np.hstack([V, coordinate_starts(op, k, choice)])
        ends = polish(op, starts, k, choice=choice, finalists=FINALISTS, tol=tol)
    else:
        ends = [improve_by_sketch(data, V, k, gradient, choice, tol=tol, tell=tell)]
    ends = ends[: SWAP_STARTS if k <= SEVERAL_SWAPS else 1]
    best = search_in_pool(op, k, ends, choice) if few else best_after_swaps(op, ends, choice=choice)
    tell("polish", best.n_iter, best.variance)
    return best


def search_in_pool(op: OperatorMixin, k: int, ends: list[Polished], choice: Choice) -> Polished:
    """Return the best support of few features that is found in a pool, or by exchanges from these ends.

    Where a pool has not all features the next one has those with the largest gradients at the best supports, until the
    best stays; then single features are exchanged with all of them.
    """
    pool = make_pool(op, k, choice, [end.support for end in ends])
    ends = searched(pool, k, ends, choice)
    if not pool.complete:
        for _ in range(MOST_POOLS):
            before = ends[0].support
            pool = pool_around(op, choice, [(end.support, end.loadings) for end in ends[:SEVERAL_BEST]])
            ends = searched(pool, k, ends[:SEVERAL_BEST], choice)
            if np.array_equal(before, ends[0].support):
                break
        ends = [end._replace(swap_optimal=None) for end in ends[:SWAP_STARTS]]
        ends = [*after_swaps(op, ends, choice=choice), ends[0]]
    return best_first([end._replace(variance=exact_variance(op, end.support)) for end in ends[: 1 + SWAP_STARTS]])[0]


def searched(pool: Pool, k: int, ends: list[Polished], choice: Choice) -> list[Polished]:
    """Return the best supports in a pool, which has those of the ends, best first."""
    known = [np.searchsorted(pool.features, end.support) for end in ends if len(end.support) == k]
    found = search(
        pool.gram, k, choice.among(pool.features), known=known, rng=np.random.default_rng(POOL_MAX_K),
        multiply=pool.multiply,
    )  # fmt: skip
    return [
        Polished(
            pool.features[end.support], end.loadings, end.variance, ends[0].n_iter + end.n_exchanges, end.swap_optimal
        )
        for end in found
    ]


def improve_by_sketch(
    data: Sketch, V: Array, k: int, gradient: Array, choice: Choice, *, tol: float, tell: Tell
) -> Polished:
    """Polish on the sketch, ask X, and go on until X has nothing to add."""
    n, variance = len(V), -np.inf
    best = Polished(np.empty(0, dtype=np.intp), np.empty(0), variance, 0, None)
    for _ in range(MOST_ROUNDS):
        features = _promising(data, V[:, 0], gradient, 2 * k, choice)
        starts = V[features]
        end = polish(
            data.operator(features), starts[:, starts.any(axis=0)], k, choice=choice.among(features),
            finalists=FINALISTS, tol=tol,
        )[0]  # fmt: skip
        support = features[end.support]
        if np.array_equal(support, best.support):  # the sketch is exact at the last vector: what it gains is the refit
            if end.variance > variance:
                best, variance = end._replace(support=support), end.variance
                gradient = data.guess(spread(end.loadings, support, n))
            break
        if end.variance - variance <= SETTLED * tol * variance:
            break
        V = spread(end.loadings, support, n)[:, None]
        seen = data.confirm(V[:, 0])
        gain = seen.variance - variance
        if gain > 0.0:
            best, gradient, variance = end._replace(support=support), seen.gradient, seen.variance
            tell("polish", best.n_iter, variance)
        if gain <= SETTLED * tol * variance:
            break
    return exchange(data.source, best._replace(variance=variance), gradient, choice=choice, most=MOST_EXCHANGES)


def _promising(data: Sketch, v: Array, gradient: Array, count: int, choice: Choice) -> Array:
    """Return the features in use and those of the largest gradients; with groups, the best of each before others."""
    used = v != 0.0
    if choice.groups is not None:
        used[choice.largest(gradient, count)] = True
    else:
        used[data.features(np.where(used, 0.0, gradient), count - int(np.count_nonzero(used)))] = True
    return used.nonzero()[0]


def coordinate_starts(op: OperatorMixin, k: int, choice: Choice) -> Array:
    """Return unit vectors of single features as columns: of every feature, or those of largest variance."""
    m, n = op.shape
    count = min(len(choice.features), START_BUDGET // (n * max(m, k)))
    features = Choice(choice.features).largest(op.sq_norms, count)
    starts = np.zeros((op.shape[1], count))
    starts[features, np.arange(count)] = 1.0
    return starts
