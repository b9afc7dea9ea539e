"""Monotone ascent at fixed k: truncated power steps, refits, then single swaps until none can gain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.choice import Choice
from rspca.operators.protocol import Array, OperatorMixin
from rspca.spectral import leading_pairs
from rspca.vectors import largest_values, nonzeros

SWAP_BUDGET = 5 * 10**6 // 4
"""Pairs (feature out, feature in) up to which single swaps are searched exhaustively."""
ROWS_BUDGET = 4 * 10**6
"""Entries of the k rows of the Gram matrix that they need: what matters when k is close to n."""
MOST_SWAPS = 500
SMALLEST_GAIN = 1e-10
"""Relative gain below which a swap counts as none."""
WORTHWHILE = 1e-5
"""Relative gain of exchanging several features below which that is not tried again: it costs a pass over X."""
FIRST_CLIMB = 6
"""Steps that each candidate climbs before the best of them goes on alone."""
MOST_STEPS = 30
"""Truncated power steps that all candidates take together."""
ROUGH, CLOSE, FINE = 1e-3, 1e-4, 1e-7
"""Residuals to which refits are carried out on the way, between exchanges, and at the end. Exchanges are compared to
second order, which is right at an eigenvector: from a rough one, tries that fail cost more than this does."""


class Polished(NamedTuple):
    """A support, its best loadings, and whether any single swap could improve it (None: not examined)."""

    support: Array
    loadings: Array
    variance: float
    n_iter: int
    swap_optimal: bool | None


def polish(
    op: OperatorMixin, V: Array, k: int, *, choice: Choice, finalists: int, tol: float = 1e-7, max_iter: int = 100
) -> list[Polished]:
    """Improve the columns of V, each a vector with about k non-zeros, and return where they end, best first.

    If there are more columns than finalists, truncated power steps with all of them at once choose.
    """
    if V.shape[1] > finalists:
        V = power_steps(op, V, k, choice=choice, keep=finalists)
    ends = climbs(op, V, k, choice=choice, tol=tol, max_iter=FIRST_CLIMB)
    best, *others = sorted(ends, key=lambda one: -one.variance)
    if best.n_iter == FIRST_CLIMB:
        v = np.zeros(len(V))
        v[best.support] = best.loadings
        best = climb(op, v, k, choice=choice, tol=tol, max_iter=max_iter)
    return [best, *others]


def power_steps(op: OperatorMixin, V: Array, k: int, *, choice: Choice, keep: int) -> Array:
    """Take truncated power steps v <- top-k(X'Xv) with all columns until their supports stay; return the best."""
    patterns = V != 0.0
    for _ in range(MOST_STEPS):
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
        value, loadings = refit(part, v[support], ROUGH)
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
            next_value, next_loadings = refit(next_part, gradient[proposed], ROUGH)
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
        worth = gradient**2 / np.maximum(value - diagonal, SMALLEST_GAIN * value)
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
            reached, loadings = refit(part, gradient[proposed], CLOSE)
            if reached > (1.0 + SMALLEST_GAIN) * value:
                break
            count //= 2
        if not count:
            return best
        best = Polished(proposed, loadings, reached, best.n_iter + 1, None)
        if reached <= (1.0 + WORTHWHILE) * value:
            break
    return best


def grow(op: OperatorMixin, k: int, first: int, features: Array) -> Array:
    """Return the support of k of these features that grows from one of them, each time by the largest gradient.

    A feature costs one product. Its features hang together, as those of one gene or of linked SNPs do.
    """
    chosen, rows = [first], np.empty((k, op.shape[1]))
    outside = np.zeros(op.shape[1], dtype=bool)
    outside[features] = True
    for count in range(1, k):
        rows[count - 1] = op.gram_rows(np.array(chosen[-1:]))[0]
        v = np.linalg.eigh(_symmetric(rows[:count, chosen]))[1][:, -1]
        outside[chosen[-1]] = False
        chosen.append(int(np.argmax(np.where(outside, np.abs(v @ rows[:count]), -1.0))))
    return np.sort(np.array(chosen))


def refit(part: OperatorMixin, start: Array, tol: float = FINE) -> tuple[float, Array]:
    """Return the leading eigenpair of the few columns of a support, from a good start."""
    values, vectors = leading_pairs(part, 1, start, tol=tol)
    return float(values[0]), vectors[:, 0]


def truncated(G: Array, k: int, choice: Choice) -> Array:
    """Return the k largest entries of each column, among rows that may be chosen, scaled to unit length."""
    V = np.where(choice.largest_in_columns(G, k), G, 0.0)
    lengths = np.linalg.norm(V, axis=0)
    return V / np.where(lengths > 0.0, lengths, 1.0)


def exchanges_affordable(k: int, n: int) -> bool:
    """Return whether all exchanges of one of k features for one of n - k, and the Gram rows they need, are few."""
    return k * (n - k) <= SWAP_BUDGET and k * n <= ROWS_BUDGET


def best_after_swaps(op: OperatorMixin, ends: list[Polished], *, choice: Choice) -> Polished:
    """Return the best that single exchanges make of these ends, where examining them all is affordable."""
    k = len(ends[0].support)
    if k == len(choice.features):
        return ends[0]._replace(swap_optimal=True)  # there is nothing to exchange
    if not exchanges_affordable(k, len(choice.features)):
        return ends[0]
    return max((swap(op, end, choice=choice) for end in ends), key=lambda one: one.variance)


def swap(op: OperatorMixin, start: Polished, *, choice: Choice) -> Polished:
    """Exchange one feature for another while that gains variance; swap_optimal tells that no exchange is left.

    With A_SS = l vv' + (rest), R = sum over the rest of qq'/(l - l_q), and for a feature j outside: a = A_Sj,
    alpha = v'a, r = Ra, q = a'r + A_jj - l. Exchanging i for j raises the largest eigenvalue above l exactly when
    R_ii alpha^2 + v_i^2 q - 2 alpha v_i r_i > 0: the Schur complement of S + j with i removed, as the shift tends to l.
    So one k x k eigendecomposition examines all k (n - k) exchanges.
    """
    support, n_swaps, swap_optimal = start.support.copy(), 0, False
    diagonal, rows = op.sq_norms, op.gram_rows(support)
    while n_swaps < MOST_SWAPS and not swap_optimal:
        values, vectors = np.linalg.eigh(_symmetric(rows[:, support]))
        value, v = float(values[-1]), vectors[:, -1]
        least = SMALLEST_GAIN * value
        rest = (vectors[:, :-1] / np.maximum(value - values[:-1], least)) @ vectors[:, :-1].T
        entering = np.setdiff1d(choice.features, support, assume_unique=True)
        a = rows[:, entering]
        alpha, r = v @ a, rest @ a
        q = np.einsum("ij,ij->j", a, r) + diagonal[entering] - value
        rest_ii, v_i = np.diagonal(rest)[:, None], v[:, None]
        curvature = r**2 - rest_ii * q
        gain = rest_ii * alpha**2 + v_i**2 * q - 2.0 * alpha * v_i * r - least * curvature
        allowed = choice.exchanges(support, entering)
        score = np.where((gain > 0.0) & allowed, gain / (np.abs(curvature) + v_i**2 + least), 0.0)
        exchange = _best_exchange(rows, diagonal, support, entering, score, value + least)
        if exchange is None:
            swap_optimal = True
        else:
            leaving, joining = exchange
            support[leaving] = joining
            rows[leaving] = op.gram_rows(np.array([joining]))[0]
            n_swaps += 1
    order = np.argsort(support)
    value, loadings = refit(op.restrict(support[order]), v[order])
    return Polished(support[order], loadings, value, start.n_iter + n_swaps, swap_optimal)


def _best_exchange(
    rows: Array, diagonal: Array, support: Array, entering: Array, score: Array, value: float
) -> tuple[int, int] | None:
    """Return the best of the most promising exchanges (position out, feature in) if it reaches `value`, or None."""
    promising = (score.ravel() > 0.0).nonzero()[0]  # few, as a rule; to order all with their ties takes far longer
    tries = 8 if len(support) <= 100 else 2
    best, found = value, None
    for flat in promising[np.argsort(score.ravel()[promising])[-tries:]]:
        i, j = np.unravel_index(flat, score.shape)
        inside = _symmetric(rows[:, support])
        inside[i, :] = inside[:, i] = rows[:, entering[j]]
        inside[i, i] = diagonal[entering[j]]
        reached = float(np.linalg.eigvalsh(inside)[-1])
        if reached > best:
            best, found = reached, (int(i), int(entering[j]))
    return found


def _symmetric(A: Array) -> Array:
    return (A + A.T) / 2.0
