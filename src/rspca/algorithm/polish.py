"""Monotone ascent at fixed k: truncated power steps, refits, then single swaps until none can gain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import exchange_features
from rspca.base.types import Array
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import TIED, largest_values, nonzeros
from rspca.operators.base import OperatorMixin


class Polished(NamedTuple):
    """A support, its best loadings, and whether any single swap could improve it (None: not examined)."""

    support: Array
    loadings: Array
    variance: float
    n_iter: int
    swap_optimal: bool | None


def polish(op: OperatorMixin, V: Array, k: int, *, choice: Choice, finalists: int, tol: float) -> list[Polished]:
    """Improve the columns of V, each a vector with about k non-zeros, and return where they end, best first.

    If there are more columns than finalists, truncated power steps with all of them at once choose.
    """
    if V.shape[1] > finalists:
        V = power_steps(op, V, k, choice=choice, keep=finalists)
    ends = climbs(op, V, k, choice=choice, tol=tol, max_iter=budgets.FIRST_CLIMB_STEPS)
    best, *others = sorted(ends, key=lambda one: -one.variance)
    if best.n_iter == budgets.FIRST_CLIMB_STEPS:
        v = np.zeros(len(V))
        v[best.support] = best.loadings
        best = climb(op, v, k, choice=choice, tol=tol, max_iter=budgets.CLIMB_STEPS)
    return [best, *others]


def power_steps(op: OperatorMixin, V: Array, k: int, *, choice: Choice, keep: int) -> Array:
    """Take truncated power steps v <- top-k(X'Xv) with all columns until their supports stay; return the best."""
    patterns = V != 0.0
    for _ in range(budgets.POLISH_POWER_STEPS):
        gradients = op.gram(V)
        variances = np.einsum("ij,ij->j", V, gradients)
        V = truncated(gradients, k, choice)
        unchanged = (V != 0.0) == patterns
        patterns = V != 0.0
        if unchanged.all():
            break
    _, first = np.unique(patterns, axis=1, return_index=True)  # columns whose supports met go on as one
    return V[:, first[np.argsort(-variances[first], kind="stable")[:keep]]]


def climb(op: OperatorMixin, v: Array, k: int, *, choice: Choice, tol: float, max_iter: int) -> Polished:
    """Refit, take the k largest entries of X'Xv, and repeat until the support stays or gains less than tol."""
    return climbs(op, v[:, None], k, choice=choice, tol=tol, max_iter=max_iter)[0]


def climbs(op: OperatorMixin, V: Array, k: int, *, choice: Choice, tol: float, max_iter: int) -> list[Polished]:
    """Climb from each column of V; one that comes upon a support where another was would go its way, and ends."""
    ends: list[Polished] = []
    passed: set[bytes] = set()
    for v in V.T:
        support, n_iter = nonzeros(v), 0
        way = {support.tobytes()}
        if not way.isdisjoint(passed):
            continue
        part = op.restrict(support)
        value, loadings = refit(part, v[support], budgets.CLIMB_REFIT_TOL)
        while n_iter < max_iter:
            n_iter += 1
            gradient = op.gradient(part, support, loadings)
            proposed = choice.largest(gradient, k)
            if np.array_equal(proposed, support):
                break
            way.add(proposed.tobytes())
            if not way.isdisjoint(passed):
                break
            next_part = op.restrict(proposed)
            next_value, next_loadings = refit(next_part, gradient[proposed], budgets.CLIMB_REFIT_TOL)
            gain = next_value - value
            if gain > 0.0 or len(support) < k:
                support, part, value, loadings = proposed, next_part, next_value, next_loadings
            if gain <= tol * value:
                break
        if way.isdisjoint(passed):
            ends.append(Polished(support, loadings, value, n_iter, None))
        passed |= way
    return ends


def exchange(op: OperatorMixin, start: Polished, gradient: Array, *, choice: Choice, most: int) -> Polished:
    """Exchange features of small worth for others of larger worth while that gains variance, at most so many times.

    To second order a feature j outside adds g_j^2 / (l - a_jj) to the variance l, with g = X'Xv, and a feature i inside
    takes v_i^2 (l - a_ii) with it. A power step compares |g_j| with l |v_i|, which favors what is inside: its own
    variance is in its gradient. What exchanging all of them does not gain, exchanging the clearest cases may.
    """
    best, diagonal, part = start, op.sq_norms, None
    for _ in range(most):
        support, value = best.support, best.variance
        if part is not None:
            gradient = op.gradient(part, support, best.loadings)
        worth = gradient**2 / np.maximum(value - diagonal, budgets.SWAP_MIN_GAIN * value)
        inside = best.loadings**2 * np.maximum(value - diagonal[support], 0.0)
        outside = worth[choice.features]
        outside[np.searchsorted(choice.features, support)] = 0.0
        pairs = min(len(support), len(outside) - len(support))
        joining, leaving = largest_values(outside, pairs), np.sort(inside)[:pairs]
        count = int(np.count_nonzero(joining > leaving))
        while count:
            # so much more must a feature outside be worth that the clearest `count` cases are left
            demand = (1.0 - 1e-12) * joining[count - 1] / max(leaving[count - 1], 1e-100 * joining[count - 1])
            worth[support] = demand * inside
            proposed = choice.largest(worth, len(support))
            if np.array_equal(proposed, support):
                return best
            part = op.restrict(proposed)
            reached, loadings = refit(part, gradient[proposed], budgets.EXCHANGE_REFIT_TOL)
            if reached > (1.0 + budgets.SWAP_MIN_GAIN) * value:
                break
            count //= 2
        if not count:
            return best
        best = Polished(proposed, loadings, reached, best.n_iter + 1, None)
        if reached <= (1.0 + budgets.EXCHANGE_MIN_GAIN) * value:
            break
    return best


def refit(part: OperatorMixin, start: Array, tol: float | None = None) -> tuple[float, Array]:
    """Return the leading eigenpair of the few columns of a support, from a good start."""
    values, vectors = leading_pairs(part, 1, start, tol=budgets.SWAP_REFIT_TOL if tol is None else tol)
    return float(values[0]), vectors[:, 0]


def truncated(G: Array, k: int, choice: Choice) -> Array:
    """Return the k largest entries of each column, among rows that may be chosen, scaled to unit length."""
    V = np.where(choice.largest_in_columns(G, k), G, 0.0)
    lengths = np.linalg.norm(V, axis=0)
    return V / np.where(lengths > 0.0, lengths, 1.0)


def exchanges_affordable(k: int, n: int) -> bool:
    """Return whether all exchanges of one of k features for one of n - k, and the Gram rows they need, are few."""
    return k * (n - k) <= budgets.SWAP_MAX_PAIRS and k * n <= budgets.SWAP_MAX_ENTRIES


def best_after_swaps(op: OperatorMixin, ends: list[Polished], *, choice: Choice) -> Polished:
    """Return the best that single exchanges make of these ends, where examining them all is affordable."""
    if len(ends[0].support) == len(choice.features):
        return ends[0]._replace(swap_optimal=True)  # there is nothing to exchange
    return best_first(after_swaps(op, ends, choice=choice))[0]


def after_swaps(op: OperatorMixin, ends: list[Polished], *, choice: Choice) -> list[Polished]:
    """Return what single exchanges make of each of these ends, or the ends where these are too many to examine."""
    if not exchanges_affordable(len(ends[0].support), len(choice.features)):
        return ends
    return [swap(op, end, choice=choice) for end in ends]


def best_first(ends: list[Polished]) -> list[Polished]:
    """Return the ends by decreasing variance; of the best, equal up to rounding, the one of the lowest features."""
    ends = sorted(ends, key=lambda end: -end.variance)
    tied = [end for end in ends if end.variance >= (1.0 - TIED) * ends[0].variance]
    return [*sorted(tied, key=lambda end: end.support.tolist()), *ends[len(tied) :]]


def swap(op: OperatorMixin, start: Polished, *, choice: Choice) -> Polished:
    """Exchange one feature for another while that gains variance; swap_optimal says that no exchange is left."""
    end = exchange_features(op.gram_rows, op.sq_norms, start.support, choice)
    value, loadings = refit(op.restrict(end.support), end.loadings)
    return Polished(end.support, loadings, value, start.n_iter + end.n_exchanges, end.swap_optimal)
