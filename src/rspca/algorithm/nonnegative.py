"""One component whose loadings are not negative: relax, round, polish, swap and refit, all of them without signs.

Every step keeps v >= 0 and none loses variance: x'Ax is convex, so the best v >= 0 of the linearized problem, the
positive part of the gradient, has at least the variance of x. Data are touched by products only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.loop import Found
from rspca.algorithm.round import exact_supports
from rspca.base.types import Array, Report
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.nonnegative import best_nonnegative, nonnegative_maximum, positive_step
from rspca.linalg.vectors import inclusion_probabilities, l1_l2_maximizer, nonzeros, spread, spread_columns, unit
from rspca.operators.base import OperatorMixin


class NonnegativeTask(NamedTuple):
    """What one component without negative loadings is computed from."""

    op: OperatorMixin
    k: int
    choice: Choice
    s: float
    n_draws: int
    polish: bool
    refit: bool
    max_iter: int
    tol: float
    rng: np.random.Generator
    report: Report


class SignedEnd(NamedTuple):
    """A support and its loadings, all of them positive, of unit length."""

    support: Array
    loadings: Array
    variance: float


def nonnegative_component(task: NonnegativeTask) -> Found:
    """Return a component without negative loadings; it has fewer than k features where the best k have zeros."""
    op, k, choice = task.op, task.k, task.choice
    relaxed, steps, converged = relaxed_points(task)
    gradients = op.gram(relaxed)
    variances = np.einsum("ij,ij->j", relaxed, gradients)
    best = int(np.argmax(variances))
    x, gradient = relaxed[:, best], gradients[:, best]
    drawn = [x] if not task.n_draws else _drawn(task, x, gradient)
    starts = [_truncated(column, k, choice) for column in (*drawn, *gradients.T)]
    if task.polish:
        ends = polished(task, np.column_stack([*starts, *starts_of_single_features(task, gradients)]))
        end = swapped(task, ends)
    else:
        V = np.column_stack(starts)
        v = V[:, int(np.argmax(op.variances(V)))]
        end = SignedEnd(nonzeros(v), v[nonzeros(v)], 0.0)
    if task.refit:
        end = refitted(op, end.support, end.loadings, thorough=True)
    p = inclusion_probabilities(x, task.s)
    if not p[end.support].all():  # no rounding of the relaxed vector has this support
        near = op.gradient(op.restrict(end.support), end.support, end.loadings)
        p = inclusion_probabilities(l1_l2_maximizer(choice.restricted(np.maximum(near, 0.0)), k), task.s)
    return Found(end.support, end.loadings, steps, converged, float(variances[best]), p)


def relaxed_points(task: NonnegativeTask) -> tuple[Array, int, bool]:
    """Return stationary points of max x'Ax over x >= 0, |x|_2 <= 1, |x|_1 <= sqrt(k), one block product a step.

    They start from both signs of leading directions and from the feature of largest variance; after a few steps only
    the best of them go on.
    """
    op, k, choice = task.op, task.k, task.choice
    count = min(budgets.NONNEGATIVE_DIRECTIONS, *op.shape)
    leading = leading_pairs(op, count, tol=budgets.LEADING_TOL).vectors
    longest = spread(np.ones(1), choice.features[[int(np.argmax(op.sq_norms[choice.features]))]], op.shape[1])
    points = np.column_stack([leading, -leading, longest])
    X = np.column_stack([_relaxed_step(choice, column, k) for column in points.T])
    variances, converged, iteration = np.full(X.shape[1], -np.inf), False, 0
    while not converged and iteration < task.max_iter:
        iteration += 1
        gradients = op.gram(X)
        reached = np.einsum("ij,ij->j", X, gradients)
        task.report("relax", iteration, float(reached.max()))
        converged = bool((reached - variances <= max(task.tol, budgets.NONNEGATIVE_TOL) * reached).all())
        variances = reached
        if iteration == budgets.NONNEGATIVE_TRIAL_STEPS:
            kept = np.argsort(-reached, kind="stable")[: budgets.NONNEGATIVE_KEPT]
            X, gradients, variances = X[:, kept], gradients[:, kept], variances[kept]
        if not converged:
            X = np.column_stack([_relaxed_step(choice, column, k) for column in gradients.T])
    return X, iteration, converged


def polished(task: NonnegativeTask, V: Array) -> list[SignedEnd]:
    """Return where truncated power steps and refits lead from the columns of V, best first."""
    columns = power_ends(task.op, V, task.k, task.choice)[:, : budgets.POLISH_FINALISTS]
    ends = [climbed(task, column) for column in columns.T]
    return sorted(ends, key=lambda end: -end.variance)


class _PoolGram(NamedTuple):
    """The Gram matrix of a pool of features: products with many vectors are faster than through the data."""

    A: Array

    def gram(self, V: Array) -> Array:
        """A V."""
        return np.asarray(self.A @ V)

    def variances(self, V: Array) -> Array:
        """v'Av of each column."""
        return np.asarray(np.einsum("ij,ij->j", V, self.A @ V))


def power_ends(op: OperatorMixin | _PoolGram, V: Array, k: int, choice: Choice) -> Array:
    """Return where truncated power steps lead from the columns of V, one for each support, best first."""
    visited: set[bytes] = set()
    ended: list[Array] = []
    for _ in range(budgets.POLISH_POWER_STEPS):
        moving = []
        for before, gradient in zip(V.T, op.gram(V).T, strict=True):
            v = _truncated(gradient, k, choice)
            pattern = nonzeros(v).tobytes()
            if pattern == nonzeros(before).tobytes():
                ended.append(v)
            elif pattern not in visited:  # another start that was here goes on, or has ended
                moving.append(v)
            visited.add(pattern)
        if not moving:
            break
        V = np.column_stack(moving)
    columns = np.column_stack([*ended, *moving])
    return np.asarray(columns[:, np.argsort(-op.variances(columns), kind="stable")])


def climbed(task: NonnegativeTask, v: Array) -> SignedEnd:
    """Refit, take the k largest positive entries of X'Xv, and repeat while that gains."""
    op, end = task.op, refitted(task.op, nonzeros(v), v[nonzeros(v)])
    for step in range(budgets.CLIMB_STEPS):
        gradient = op.gradient(op.restrict(end.support), end.support, end.loadings)
        proposed = nonzeros(_truncated(gradient, task.k, task.choice))
        if np.array_equal(proposed, end.support):
            break
        following = refitted(op, proposed, gradient[proposed])
        if following.variance <= (1.0 + task.tol) * end.variance:
            break
        end = following
        task.report("polish", step + 1, end.variance)
    return end


def swapped(task: NonnegativeTask, ends: list[SignedEnd]) -> SignedEnd:
    """Return the best end after swaps of single features, where examining all of them is affordable."""
    n = len(task.choice.features)
    if task.k * n > budgets.SWAP_MAX_ENTRIES or task.k * max(n - task.k, 0) > budgets.SWAP_MAX_PAIRS:
        return ends[0]
    finals = [_swapped(task, end) for end in ends[: budgets.SWAP_STARTS if task.k <= budgets.SWAP_STARTS_MAX_K else 1]]
    return max(finals, key=lambda end: end.variance)


def refitted(op: OperatorMixin, support: Array, start: Array, *, thorough: bool = False) -> SignedEnd:
    """Return the loadings of most variance near a start, without the features that they do not use."""
    if len(support) <= budgets.NONNEGATIVE_DENSE:
        A = op.gram_block(support)
        value, loadings = (best_nonnegative if thorough else nonnegative_maximum)(A, start)
    else:
        part, loadings, value = op.restrict(support), positive_step(start), -np.inf
        for _ in range(budgets.NONNEGATIVE_REFIT_STEPS):
            gradient = part.gram(loadings)
            reached = float(loadings @ gradient)
            if reached <= (1.0 + budgets.CLIMB_REFIT_TOL) * value:
                break
            value, loadings = reached, positive_step(gradient)
    used = loadings > 0.0
    return SignedEnd(support[used], unit(loadings[used]), value)


def starts_of_single_features(task: NonnegativeTask, gradients: Array) -> list[Array]:
    """Return vectors to start from that power steps reach from single features: on all, or on a pool of promising ones.

    The pool has the features of the largest gradients at relaxed points, and of the largest variances.
    """
    op, k, choice = task.op, task.k, task.choice
    m, n = op.shape
    if n * len(choice.features) * max(m, k) <= budgets.START_ENTRIES:
        return list(coordinates(choice.features, n).T)
    room = budgets.NONNEGATIVE_POOL_BYTES // max(op.restricted_bytes(1), 1)
    size = min(budgets.NONNEGATIVE_POOL, len(choice.features), room)
    if size < 2 * k:
        return []
    worth = np.max(np.maximum(gradients, 0.0) / np.maximum(gradients.max(axis=0), np.finfo(float).tiny), axis=1)
    promising = Choice(choice.features)
    pool = np.union1d(promising.largest(worth, size // 2), promising.largest(op.sq_norms, size - size // 2))
    among = choice.among(pool)
    ends = power_ends(_PoolGram(op.gram_matrix(pool)), coordinates(among.features, len(pool)), k, among)
    finalists = ends[:, : budgets.POLISH_FINALISTS].T
    return [spread(end[end > 0.0], pool[end > 0.0], n) for end in finalists]


def coordinates(features: Array, n: int) -> Array:
    """Return single features as columns."""
    return spread_columns([(np.ones(1), features[[place]]) for place in range(len(features))], n)


def _swapped(task: NonnegativeTask, end: SignedEnd) -> SignedEnd:
    """Swap one feature for another, or add one, while that gains variance.

    With w the loadings without feature i, of unit length, cos w + sin e_j has as variance the larger eigenvalue of
    [[w'Aw, w'A_j], [., a_jj]] where w'A_j > 0, and the larger of both variances otherwise: a value that is reached
    without negative loadings. The pairs of the largest such values are refitted.
    """
    op, choice, diagonal = task.op, task.choice, task.op.sq_norms
    for _ in range(budgets.NONNEGATIVE_SWAPS):
        support, v, value = end
        rows = op.gram_rows(support)
        gradient = v @ rows
        left = np.maximum(1.0 - v**2, budgets.SWAP_MIN_GAIN)
        without = np.maximum(value - 2.0 * v * gradient[support] + v**2 * diagonal[support], 0.0) / left
        along = (gradient - v[:, None] * rows) / np.sqrt(left)[:, None]
        alone = left <= budgets.SWAP_MIN_GAIN
        without[alone], along[alone] = 0.0, 0.0
        outside = np.setdiff1d(choice.features, support)
        reached = _larger(without[:, None], along[:, outside], diagonal[outside])
        reached = np.where(choice.allowed_swaps(support, outside), reached, -np.inf)
        pairs = _best_pairs(reached, budgets.NONNEGATIVE_TRIED)
        proposals = [(float(reached[i, j]), np.append(np.delete(support, i), outside[j])) for i, j in pairs]
        if len(support) < task.k and len(outside):
            added = _larger(np.full(len(outside), value), gradient[outside], diagonal[outside])
            most = np.argsort(-added, kind="stable")[: budgets.NONNEGATIVE_TRIED]
            grown = [(float(added[j]), np.append(support, outside[j])) for j in most]
            proposals += [one for one in grown if choice.groups is None or choice.groups.allow(one[1])]
        better = _first_better(task.op, [np.sort(one) for _, one in sorted(proposals, key=lambda one: -one[0])], end)
        if better is None:
            break
        end = better
    return end


def _first_better(op: OperatorMixin, proposals: list[Array], end: SignedEnd) -> SignedEnd | None:
    """Return the first of these supports, the most promising first, that has more variance once it is refitted."""
    for support in proposals:
        tried = refitted(op, support, _start(support, end))
        if tried.variance > (1.0 + budgets.SWAP_MIN_GAIN) * end.variance:
            return tried
    return None


def _start(support: Array, end: SignedEnd) -> Array:
    """Return positive loadings on a support: those of another where both have a feature, and a small one elsewhere."""
    places = np.minimum(np.searchsorted(end.support, support), len(end.support) - 1)
    known = end.support[places] == support
    return np.where(known, end.loadings[places], 1.0 / np.sqrt(len(support) + 1.0))


def _larger(first: Array, along: Array, second: Array) -> Array:
    """Return the largest variance of cos w + sin e over angles from 0 to 90 degrees."""
    middle, half = 0.5 * (first + second), 0.5 * (first - second)
    return np.where(along > 0.0, middle + np.sqrt(half**2 + along**2), np.maximum(first, second))


def _best_pairs(values: Array, count: int) -> list[tuple[int, int]]:
    """Return rows and columns of the largest values that are finite."""
    flat = values.ravel()
    if 0 < count < len(flat):  # ties at the limit stay, so that the order among them is that of a full sort
        near = np.flatnonzero(flat >= np.partition(flat, len(flat) - count)[len(flat) - count])
    else:
        near = np.arange(len(flat))
    order = near[np.argsort(-flat[near], kind="stable")[:count]]
    return [divmod(int(place), values.shape[1]) for place in order if np.isfinite(flat[place])]


def _relaxed_step(choice: Choice, gradient: Array, k: int) -> Array:
    """Return the x >= 0 of the relaxed constraints that maximizes x'g."""
    positive = choice.restricted(np.maximum(gradient, 0.0))
    if not positive.any():
        return spread(np.ones(1), choice.features[[int(np.argmax(gradient[choice.features]))]], len(gradient))
    return l1_l2_maximizer(positive, k)


def _truncated(gradient: Array, k: int, choice: Choice) -> Array:
    """Return the k largest positive entries that may be chosen together, scaled to unit length."""
    positive = choice.restricted(np.maximum(gradient, 0.0))
    if not positive.any():
        return spread(np.ones(1), choice.features[[int(np.argmax(gradient[choice.features]))]], len(gradient))
    chosen = choice.largest(positive, k)
    chosen = chosen[positive[chosen] > 0.0]
    return spread(unit(positive[chosen]), chosen, len(gradient))


def _drawn(task: NonnegativeTask, x: Array, gradient: Array) -> list[Array]:
    """Return randomized roundings of the relaxed vector: x on drawn supports, as far as groups allow."""
    vectors = []
    for support in exact_supports(x, task.k, task.s, task.n_draws, task.rng):
        used = support[x[support] > 0.0]
        chosen = task.choice.completed(used, x, np.maximum(gradient, 0.0), len(support))
        values = np.where(
            x[chosen] > 0.0, x[chosen], np.maximum(gradient[chosen], 0.0) / max(float(gradient.max()), 1e-300)
        )
        if values.any():
            vectors.append(spread(unit(values[values > 0.0]), chosen[values > 0.0], len(x)))
    return vectors or [x]
