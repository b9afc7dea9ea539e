"""Polishing at fixed k: truncated power steps and refits, then single swaps until none gains variance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_swaps import swap_features
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
    """Return the supports that climbs from the columns of V, vectors with about k non-zeros, end at, best first.

    If there are more columns than finalists, joint truncated power steps select the finalists.
    """
    if V.shape[1] > finalists:
        V = power_steps(op, V, k, choice=choice, keep=finalists)
    ends = climb_each(op, V, k, choice=choice, tol=tol, max_iter=budgets.FIRST_CLIMB_STEPS)
    best, *others = sorted(ends, key=lambda end: -end.variance)
    if best.n_iter == budgets.FIRST_CLIMB_STEPS:
        v = np.zeros(len(V))
        v[best.support] = best.loadings
        best = climb(op, v, k, choice=choice, tol=tol, max_iter=budgets.CLIMB_STEPS)
    return [best, *others]


def power_steps(op: OperatorMixin, V: Array, k: int, *, choice: Choice, keep: int) -> Array:
    """Return the best columns after joint truncated power steps v <- top-k(X'Xv), until no support changes."""
    patterns = V != 0.0
    for _ in range(budgets.POLISH_POWER_STEPS):
        gradients = op.gram(V)
        variances = np.einsum("ij,ij->j", V, gradients)
        V = truncated(gradients, k, choice)
        unchanged = (V != 0.0) == patterns
        patterns = V != 0.0
        if unchanged.all():
            break
    _, first = np.unique(patterns, axis=1, return_index=True)  # one column for each support
    return V[:, first[np.argsort(-variances[first], kind="stable")[:keep]]]


def climb(op: OperatorMixin, v: Array, k: int, *, choice: Choice, tol: float, max_iter: int) -> Polished:
    """Refit, take the k largest entries of X'Xv, and repeat until the support stays or gains less than tol."""
    return climb_each(op, v[:, None], k, choice=choice, tol=tol, max_iter=max_iter)[0]


def climb_each(op: OperatorMixin, V: Array, k: int, *, choice: Choice, tol: float, max_iter: int) -> list[Polished]:
    """Climb from each column of V; stop at a support that another climb visited: both would continue identically."""
    ends: list[Polished] = []
    visited: set[bytes] = set()
    for v in V.T:
        support, n_iter = nonzeros(v), 0
        path = {support.tobytes()}
        if not path.isdisjoint(visited):
            continue
        part = op.restrict(support)
        value, loadings = refit(part, v[support], budgets.CLIMB_REFIT_TOL)
        while n_iter < max_iter:
            n_iter += 1
            gradient = op.gradient(part, support, loadings)
            proposed = choice.largest(gradient, k)
            if np.array_equal(proposed, support):
                break
            path.add(proposed.tobytes())
            if not path.isdisjoint(visited):
                break
            next_part = op.restrict(proposed)
            next_value, next_loadings = refit(next_part, gradient[proposed], budgets.CLIMB_REFIT_TOL)
            gain = next_value - value
            if gain > 0.0 or len(support) < k:
                support, part, value, loadings = proposed, next_part, next_value, next_loadings
            if gain <= tol * value:
                break
        if path.isdisjoint(visited):
            ends.append(Polished(support, loadings, value, n_iter, None))
        visited |= path
    return ends


def exchange(op: OperatorMixin, start: Polished, gradient: Array, *, choice: Choice, rounds: int) -> Polished:
    """Exchange several features at once for others of larger worth while that gains variance.

    To second order a feature j outside adds g_j^2 / (l - a_jj) to the variance l, with g = X'Xv, and a feature i inside
    contributes v_i^2 (l - a_ii). A power step compares |g_j| with l |v_i|, which favors features inside, because their
    gradient contains their own variance. If exchanging all pairs gains nothing, the clearest half is tried, and so on.
    """
    best, diagonal, part = start, op.sq_norms, None
    for _ in range(rounds):
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
            # ratio of worth outside to inside above which only the clearest `count` pairs are left
            least = max(leaving[count - 1], budgets.EXCHANGE_MIN_WORTH * joining[count - 1])
            demand = (1.0 - budgets.EXCHANGE_ROUNDING) * joining[count - 1] / least
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
    """Return the leading eigenvalue and eigenvector of the columns of a support."""
    values, vectors = leading_pairs(part, 1, start, tol=budgets.SWAP_REFIT_TOL if tol is None else tol)
    return float(values[0]), vectors[:, 0]


def truncated(G: Array, k: int, choice: Choice) -> Array:
    """Return the k largest entries of each column, among rows that may be chosen, scaled to unit length."""
    V = np.where(choice.largest_in_columns(G, k), G, 0.0)
    lengths = np.linalg.norm(V, axis=0)
    return V / np.where(lengths > 0.0, lengths, 1.0)


def swaps_affordable(k: int, n: int) -> bool:
    """Return whether all swaps of one of k features for one of n - k, and the rows of X'X they need, are few enough."""
    return k * (n - k) <= budgets.SWAP_MAX_PAIRS and k * n <= budgets.SWAP_MAX_ENTRIES


def best_after_swaps(op: OperatorMixin, ends: list[Polished], *, choice: Choice) -> Polished:
    """Return the best end after single swaps, if examining all swaps is affordable."""
    if len(ends[0].support) == len(choice.features):
        return ends[0]._replace(swap_optimal=True)  # there is nothing to swap
    return best_first(swap_each(op, ends, choice=choice))[0]


def swap_each(op: OperatorMixin, ends: list[Polished], *, choice: Choice) -> list[Polished]:
    """Return each end after single swaps, or the ends themselves if there are too many swaps to examine."""
    if not swaps_affordable(len(ends[0].support), len(choice.features)):
        return ends
    return [swap(op, end, choice=choice) for end in ends]


def best_first(ends: list[Polished]) -> list[Polished]:
    """Return the ends by decreasing variance; those that tie for the best up to rounding by their features."""
    ends = sorted(ends, key=lambda end: -end.variance)
    tied = [end for end in ends if end.variance >= (1.0 - TIED) * ends[0].variance]
    return [*sorted(tied, key=lambda end: end.support.tolist()), *ends[len(tied) :]]


def swap(op: OperatorMixin, start: Polished, *, choice: Choice) -> Polished:
    """Swap one feature for another while that gains variance; swap_optimal means that no swap gains any more."""
    end = swap_features(op.gram_rows, op.sq_norms, start.support, choice)
    return refitted_end(op, Polished(end.support, end.loadings, 0.0, start.n_iter + end.n_swaps, end.swap_optimal))


def refitted_end(op: OperatorMixin, end: Polished) -> Polished:
    """Return the end with the best loadings of its support, and their variance."""
    value, loadings = refit(op.restrict(end.support), end.loadings)
    return end._replace(variance=value, loadings=loadings)
