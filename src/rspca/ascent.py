"""Stage 1 and polishing on a stand-in for X: climb where that is cheap, ask X, go on until it has no more to say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rspca.operators.protocol import Array, OperatorMixin
from rspca.polishing import Polished, best_after_swaps, climb, exchange, polish
from rspca.relaxation import Climbed, linearized
from rspca.sketch import Sketch, Whole
from rspca.vectors import l1_l2_maximizer, spread, top_k

MOST_ROUNDS = 30
"""Times that a stand-in is climbed and X asked."""
SEVERAL_ENDS = 0.2
"""Share of the features beyond which all candidates lead to one end, or nearly: then only the first climbs."""
FINALISTS = 10
"""Candidates that climb one by one; more than these are thinned out by power steps together."""
SWAP_STARTS, SEVERAL_SWAPS = 3, 50
"""Different ends of polishing from which swaps are tried, and the k up to which from more than the best."""
MOST_EXCHANGES = 2
"""Times that several features are exchanged at once after the ascent."""
FEW, POOL = 64, 512
"""Supports of at most so many features are also sought among so many features, those that vary most."""
START_BUDGET = 2 * 10**7
"""Entries of X, or of k columns of A, times coordinate starts: small problems are climbed from every feature."""

Tell = Callable[[str, int, float], None]


def relax(data: Sketch | Whole, k: int, starts: list[Array], *, max_iter: int, tol: float, tell: Tell) -> Climbed:
    """Stage 1 from the best of several starts; stationary for X itself, however small the stand-in.

    A round takes several steps on the stand-in; the work ends when these gain less than tol each, and when the next
    step needs no feature that the stand-in lacked.
    """
    enough = tol * data.most_steps
    n = len(starts[0])

    def ascend(step: Array, gradient: Array, most: int) -> tuple[Climbed, Array]:
        features = data.features(gradient, max(2 * k, 4 * int(np.count_nonzero(step)) // 3))
        end = linearized(
            data.operator(features), k, step[features], max_iter=min(most, data.most_steps), tol=tol * data.patience,
            on_iteration=partial(tell, "relax"),
        )  # fmt: skip
        return end, features

    guesses = [data.guess(start) for start in starts]
    tried = [ascend(l1_l2_maximizer(guess, k), guess, max_iter) for guess in guesses]
    end, features = max(tried, key=lambda one: one[0].variance)
    variance, spent = -np.inf, end.n_iter
    while True:
        x = spread(end.x, features, n)
        seen = data.confirm(x)
        gain, variance = seen.variance - variance, seen.variance
        step = l1_l2_maximizer(seen.gradient, k)
        outside = np.ones(n, dtype=bool)
        outside[features] = False
        settled = (gain <= enough * variance or (data.exact and end.converged)) and not np.any(step[outside])
        if settled or spent >= max_iter:
            return Climbed(x, seen.gradient, variance, spent, settled)
        end, features = ascend(step, seen.gradient, max_iter - spent)
        spent += end.n_iter
        if not data.exact and end.variance - variance <= tol * variance:  # the sketch, exact at x, sees no gain
            return Climbed(x, seen.gradient, variance, spent, True)


def improve(data: Sketch | Whole, V: Array, gradient: Array, eligible: Array, *, tol: float, tell: Tell) -> Polished:
    """Polish the columns of V, vectors with k non-zeros, and exchange single features of the best; return it."""
    op, k = data.source, int(np.count_nonzero(V[:, 0]))
    if isinstance(data, Whole):
        ends = polish(
            op, np.hstack([V, coordinate_starts(op, k, eligible)]), k, eligible=eligible, finalists=FINALISTS, tol=tol
        )
    else:
        ends = [improve_by_sketch(data, V, k, gradient, eligible, tol=tol, tell=tell)]
        if k <= FEW:
            ends += few_features(op, k, eligible, tol=tol)
            ends.sort(key=lambda end: -end.variance)
    best = best_after_swaps(op, ends[: SWAP_STARTS if k <= SEVERAL_SWAPS else 1], eligible=eligible)
    tell("polish", best.n_iter, best.variance)
    return best


def improve_by_sketch(
    data: Sketch, V: Array, k: int, gradient: Array, eligible: Array, *, tol: float, tell: Tell
) -> Polished:
    """Polish on the sketch, ask X, and go on until X has nothing to add."""
    n, variance = len(V), -np.inf
    best = Polished(np.empty(0, dtype=np.intp), np.empty(0), variance, 0, None)
    allowed = np.zeros(n, dtype=bool)
    allowed[eligible] = True
    for _ in range(MOST_ROUNDS):
        features = data.features(np.where(V[:, 0], np.inf, gradient), 2 * k)
        starts = V[features] if len(features) <= SEVERAL_ENDS * n else V[features, :1]
        end = polish(
            data.operator(features), starts[:, starts.any(axis=0)], k, eligible=np.flatnonzero(allowed[features]),
            finalists=FINALISTS, tol=tol,
        )[0]  # fmt: skip
        # The sketch is exact at the last vector. Where it keeps its support, all that is left to gain is the refit.
        if np.array_equal(features[end.support], best.support) or end.variance - variance <= tol * variance:
            break
        support = features[end.support]
        V = spread(end.loadings, support, n)[:, None]
        seen = data.confirm(V[:, 0])
        gain = seen.variance - variance
        if gain > 0.0:
            best, gradient, variance = end._replace(support=support), seen.gradient, seen.variance
            tell("polish", best.n_iter, variance)
        if gain <= tol * variance:
            break
    return exchange(data.source, best._replace(variance=variance), gradient, eligible=eligible, most=MOST_EXCHANGES)


def few_features(op: OperatorMixin, k: int, eligible: Array, *, tol: float) -> list[Polished]:
    """Return where polishing leads from the best supports among the features that vary most.

    A few features that nearly repeat each other, as linked SNPs do, may have more variance than any spread over all:
    the leading directions do not show them, single features as starts do.
    """
    pool = eligible[top_k(op.sq_norms[eligible], POOL)]
    part, every = op.restrict(pool), np.arange(len(pool))
    singles = coordinate_starts(part, k, every)
    if not singles.size:
        return []
    found = polish(part, singles, k, eligible=every, finalists=SWAP_STARTS, tol=tol)
    starts = [spread(end.loadings, pool[end.support], op.shape[1]) for end in found]
    return [climb(op, start, k, eligible=eligible, tol=tol, max_iter=MOST_ROUNDS) for start in starts]


def coordinate_starts(op: OperatorMixin, k: int, eligible: Array) -> Array:
    """Return unit vectors of single features as columns: of every feature, if that is affordable."""
    m, n = op.shape
    count = min(len(eligible), START_BUDGET // (n * max(m, k)))
    features = eligible[top_k(op.sq_norms[eligible], count)]
    starts = np.zeros((op.shape[1], count))
    starts[features, np.arange(count)] = 1.0
    return starts
