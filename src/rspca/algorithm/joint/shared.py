"""One support for all components: the k features whose r leading eigenvalues have the largest sum."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.blocks import JointProblem
from rspca.algorithm.joint.data import DeflatedGram, GramData, JointData, OperatorData
from rspca.algorithm.joint.pooled import extended_gram, gram_affordable
from rspca.algorithm.joint.search import search
from rspca.algorithm.joint.starts import leading_directions, truncated
from rspca.algorithm.joint.task import JointTask, SparseVector, Together
from rspca.algorithm.promising import pool_size
from rspca.base.types import Array
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import TIED, oriented


class SharedSupport(NamedTuple):
    """A support, its leading eigenvalues and eigenvectors (columns), and the sum of these eigenvalues."""

    support: Array
    values: Array
    vectors: Array

    @property
    def variance(self) -> float:
        """Sum of the leading eigenvalues."""
        return float(self.values.sum())


class SharedProblem(NamedTuple):
    """Data, the number of features and of components, and the features that may be chosen."""

    data: JointData
    k: int
    n_components: int
    choice: Choice
    diagonal: Array
    """Variances of the features."""


def shared(task: JointTask, n_components: int, k: int, start: list[SparseVector]) -> Together:
    """Return the leading eigenvectors of one support of k features, which none of the starts exceeds.

    From the supports of components found one by one, and from the largest rows of the leading directions, the features
    of the largest rows of AV are taken while that gains; then features are exchanged one for one. All sets are tried
    where these are few. Otherwise several starts compete where the Gram matrix of all features is affordable, and
    among more features the exchanges run in the Gram matrix of promising ones. Nonnegative components, which are no
    eigenvectors, are then sought on the same support.
    """
    k, features = min(k, task.choice.most), task.choice.features
    if task.op.gram_in_memory or pool_size(task.op.shape[0], len(features)) == len(features):
        best, rounds = _in_gram_matrix(task, n_components, k, start)
    else:
        best, rounds = _in_pools(task, n_components, k, start)
    if task.nonnegative:
        return _nonnegative(task, n_components, best, rounds)
    pairs = leading_pairs(task.op.restrict(best.support), n_components, tol=budgets.NORMALIZE_TOL[task.op.dtype])
    vectors = [SparseVector(best.support, oriented(v, task.op.dtype)) for v in pairs.vectors.T]
    return Together(vectors, n_iter=max(1, rounds))


def _nonnegative(task: JointTask, r: int, best: SharedSupport, rounds: int) -> Together:
    """Return nonnegative components of a support, improved together; eigenvectors after the first have both signs."""
    A = task.op.gram_block(best.support)
    choice = Choice(np.arange(len(A)))
    problem = JointProblem(GramData(A), [len(A)] * r, choice, nonnegative=True)
    start = [truncated(v, len(A), choice, nonnegative=True) for v in best.vectors.T]
    components, sweeps = search(problem, A, start, rng=task.rng, report=task.report)
    vectors = [SparseVector(best.support[v.support], v.loadings) for v in components.vectors]
    return Together(vectors, n_iter=rounds + sweeps)


def _in_gram_matrix(task: JointTask, r: int, k: int, start: list[SparseVector]) -> tuple[SharedSupport, int]:
    """Search from several starts in the Gram matrix of all features that may be chosen; try all sets if few."""
    features = task.choice.features
    A = task.op.gram_matrix(features)
    choice = task.choice.among(features)
    if comb(len(features), k) <= budgets.SHARED_MAX_SETS:
        optimum = best_of_all_sets(A, k, r, choice)
        return optimum._replace(support=features[optimum.support]), 1
    problem = SharedProblem(GramData(A), k, r, choice, A.diagonal())
    V = np.zeros((len(features), len(start)))
    for column, vector in enumerate(start):
        V[np.searchsorted(features, vector.support), column] = vector.loadings
    directions = leading_directions(DeflatedGram(A, np.empty((len(A), 0))), r + budgets.JOINT_MORE_DIRECTIONS)
    supports = first_supports(problem, A @ V, directions)
    few = len(features) * k <= budgets.SHARED_SEARCH_ENTRIES
    supports += random_supports(problem, directions, task.rng, budgets.SHARED_STARTS if few else 0)
    best, rounds = with_eigenvectors(problem, supports[0]), 0
    count = len(supports) + (budgets.SHARED_REPLACEMENTS if few and k < len(features) else 0)
    for number in range(count):
        support = supports[number] if number < len(supports) else disturbed(problem, best.support, task.rng)
        end, start_rounds = improved(problem, with_eigenvectors(problem, support))
        rounds += start_rounds
        best = end if end.variance > (1.0 + TIED) * best.variance else best
        task.report("shared", rounds, best.variance)
    return best._replace(support=features[best.support]), rounds


def first_supports(problem: SharedProblem, images: Array, directions: tuple[Array, Array]) -> list[Array]:
    """Return the largest rows of the products AV of given components, and of the leading directions."""
    values, leading = directions
    r = problem.n_components
    rows = [images, leading[:, :r] * values[:r], leading[:, :r], leading * values]
    return [problem.choice.largest(np.einsum("ij,ij->i", V, V), problem.k) for V in rows]


def random_supports(
    problem: SharedProblem, directions: tuple[Array, Array], rng: np.random.Generator, count: int
) -> list[Array]:
    """Return the largest rows of random parts of the leading directions."""
    values, leading = directions
    supports = []
    for _ in range(count):
        rows = leading * (np.sqrt(values) * rng.exponential(size=len(values)))
        supports.append(problem.choice.largest(np.einsum("ij,ij->i", rows, rows), problem.k))
    return supports


def disturbed(problem: SharedProblem, support: Array, rng: np.random.Generator) -> Array:
    """Return a support with a few features replaced by random ones, as far as groups allow."""
    worth = np.zeros(problem.data.features)
    worth[support] = 2.0
    worth[rng.choice(support, size=min(len(support), 1 + int(rng.integers(3))), replace=False)] = 0.0
    return problem.choice.largest(worth + rng.random(len(worth)), problem.k)


def best_of_all_sets(A: Array, k: int, r: int, choice: Choice) -> SharedSupport:
    """Return the best of all sets of k features."""
    sets = np.array(list(combinations(choice.features.tolist(), k)))
    if choice.groups is not None:
        sets = sets[[choice.groups.allow(support) for support in sets]]
    sums = np.linalg.eigvalsh(A[sets[:, :, None], sets[:, None, :]])[:, -r:].sum(axis=1)
    support = sets[int(np.argmax(sums >= (1.0 - TIED) * sums.max()))]
    values, vectors = np.linalg.eigh(A[np.ix_(support, support)])
    return SharedSupport(support, values[::-1][:r], vectors[:, ::-1][:, :r])


def with_eigenvectors(problem: SharedProblem, support: Array) -> SharedSupport:
    """Return a support with the leading eigenvectors of its features."""
    pairs = leading_pairs(problem.data.part(support), problem.n_components, tol=budgets.SWAP_REFIT_TOL)
    return SharedSupport(support, pairs.values, pairs.vectors)


def improved(problem: SharedProblem, start: SharedSupport) -> tuple[SharedSupport, int]:
    """Return a support of at least the variance of the start, after row-norm steps and exchanges, and their number."""
    best, rounds = start, 0
    images = images_of(problem, best)
    while rounds < budgets.SHARED_ROUNDS:
        rounds += 1
        proposed = problem.choice.largest(np.einsum("ij,ij->i", images, images), problem.k)
        end = best if np.array_equal(proposed, best.support) else with_eigenvectors(problem, proposed)
        if end.variance <= (1.0 + budgets.TOL) * best.variance:
            break
        best = end
        images = images_of(problem, best)
    while rounds < budgets.SHARED_ROUNDS:
        rounds += 1
        better = exchanged(problem, best, images)
        if better is None:
            break
        best = better
        images = images_of(problem, best)
    return best, rounds


def images_of(problem: SharedProblem, end: SharedSupport) -> Array:
    """A V."""
    return np.column_stack(problem.data.images([SparseVector(end.support, v) for v in end.vectors.T]))


def exchanged(problem: SharedProblem, end: SharedSupport, images: Array) -> SharedSupport | None:
    """Return the support with one feature, or several, exchanged for better ones; None if that gains nothing.

    Removing feature i loses at most sum_t v_it^2 (l_t - a_ii) / (1 - |v_i|^2): the eigenvectors without their entry i
    still span r dimensions. Adding feature j gains, to second order, sum_t (Av_t)_j^2 / (l_t - a_jj).
    """
    support, least = end.support, max(budgets.SWAP_MIN_GAIN * float(end.values[0]), np.finfo(float).tiny)
    squares, variances = end.vectors**2, problem.diagonal[support]
    sizes = np.minimum(squares.sum(axis=1), 1.0 - TIED)
    losses = np.maximum(squares @ end.values - sizes * variances, 0.0) / (1.0 - sizes)
    slack = end.values - problem.diagonal[:, None]
    slack = np.maximum(slack, budgets.GROWTH_MIN_DENOMINATOR * end.values)
    gains = np.einsum("ij,ij->i", images, images / np.maximum(slack, least))
    several = _several(problem, end, gains, losses)
    if several is not None:
        return several
    outside = np.setdiff1d(problem.choice.features, support, assume_unique=True)
    joining = outside[np.argsort(-gains[outside], kind="stable")[: budgets.SHARED_JOINING]]
    leaving = np.argsort(losses, kind="stable")[: budgets.SHARED_LEAVING]
    return _best_pair(problem, end, images, leaving, joining) if len(joining) else None


def _several(problem: SharedProblem, end: SharedSupport, gains: Array, losses: Array) -> SharedSupport | None:
    """Exchange all features of smaller loss for those of larger gain, or half of them, or a quarter, while two."""
    outside = np.setdiff1d(problem.choice.features, end.support, assume_unique=True)
    pairs = min(len(outside), len(losses))
    count = int(np.count_nonzero(np.sort(gains[outside])[::-1][:pairs] > np.sort(losses)[:pairs]))
    while count > 1:
        worth = np.zeros(problem.data.features)
        leaving = np.argsort(losses, kind="stable")[:count]
        worth[outside] = gains[outside]
        worth[end.support] = 2.0 * float(worth.max()) + 1.0
        worth[end.support[leaving]] = 0.0
        proposed = with_eigenvectors(problem, problem.choice.largest(worth, problem.k))
        if proposed.variance > (1.0 + budgets.SWAP_MIN_GAIN) * end.variance:
            return proposed
        count //= 2
    return None


def _best_pair(
    problem: SharedProblem, end: SharedSupport, images: Array, leaving: Array, joining: Array
) -> SharedSupport | None:
    """Return the best exchange of one feature for one other, if it gains.

    Pairs are compared in the span of the eigenvectors without entry i, and of e_j. That is at most what the exchange
    has; the most promising pairs are checked exactly.
    """
    support = end.support
    between = problem.data.part(np.concatenate([support[leaving], joining])).gram_block(
        np.arange(len(leaving) + len(joining))
    )[: len(leaving), len(leaving) :]
    bounds = _ritz_sums(end, images, problem.diagonal, leaving, joining, between)
    allowed = np.broadcast_to(problem.choice.allowed_swaps(support, joining), (len(support), len(joining)))[leaving]
    bounds = np.where(allowed, bounds, -np.inf)
    best, order = None, np.argsort(-bounds, axis=None, kind="stable")[: budgets.SWAP_TRIES]
    for row, column in zip(*np.unravel_index(order, bounds.shape), strict=True):
        if not allowed[row, column]:
            continue
        proposed = support.copy()
        proposed[leaving[row]] = joining[column]
        candidate = with_eigenvectors(problem, np.sort(proposed))
        if candidate.variance > (1.0 + budgets.SWAP_MIN_GAIN) * (end if best is None else best).variance:
            best = candidate
    return best


def _ritz_sums(
    end: SharedSupport, images: Array, diagonal: Array, leaving: Array, joining: Array, between: Array
) -> Array:
    """Return the sums of the r largest Ritz values of each pair (feature out, feature in)."""
    r, rows = len(end.values), end.vectors[leaving]
    outer = rows[:, :, None] * rows[:, None, :]
    within = np.diag(end.values) - outer * (end.values[None, :, None] + end.values[None, None, :])
    within = within + diagonal[end.support[leaving], None, None] * outer
    sizes = np.minimum(np.einsum("ij,ij->i", rows, rows), 1.0 - TIED)
    # (I - vv')^(-1/2) = I + c vv'
    factors = (1.0 / np.sqrt(1.0 - sizes) - 1.0) / np.maximum(sizes, np.finfo(float).tiny)
    roots = np.eye(r) + factors[:, None, None] * outer
    across = images[joining][None, :, :] - between[:, :, None] * rows[:, None, :]
    matrices = np.empty((len(leaving), len(joining), r + 1, r + 1))
    matrices[:, :, :r, :r] = (roots @ within @ roots)[:, None]
    matrices[:, :, :r, r] = matrices[:, :, r, :r] = np.einsum("irs,ijs->ijr", roots, across)
    matrices[:, :, r, r] = diagonal[joining]
    values = np.linalg.eigvalsh(matrices)
    return np.asarray(values[:, :, 1:].sum(axis=2))


def _in_pools(task: JointTask, r: int, k: int, start: list[SparseVector]) -> tuple[SharedSupport, int]:
    """Improve a support in Gram matrices of promising features, or through products with X if k is too large."""
    op, rounds = task.op, 0
    whole = SharedProblem(OperatorData(op), k, r, task.choice, op.sq_norms)
    images = np.column_stack(whole.data.images(start))
    directions = leading_directions(op, r)
    ends = [with_eigenvectors(whole, support) for support in first_supports(whole, images, directions)]
    best = max(ends, key=lambda end: end.variance)
    features, gram = np.empty(0, dtype=np.intp), np.empty((0, 0))
    for _ in range(budgets.JOINT_POOLS):
        wanted = _promising(whole, [best] if len(features) else ends, task.choice)
        wanted = np.union1d(features, wanted)
        if not gram_affordable(op, len(wanted)):
            return improved(whole, best) if not len(features) else (best, rounds)
        if len(wanted) == len(features):
            break
        gram = extended_gram(op, gram, features, wanted)
        starts = [best.support] if len(features) else [end.support for end in ends]
        features = wanted
        problem = SharedProblem(GramData(gram), k, r, task.choice.among(features), gram.diagonal())
        before = best.support
        for support in starts:
            end, start_rounds = improved(problem, with_eigenvectors(problem, np.searchsorted(features, support)))
            rounds += start_rounds
            if end.variance > (1.0 + TIED) * best.variance:
                best = end._replace(support=features[end.support])
            task.report("shared", rounds, best.variance)
        if np.array_equal(before, best.support):
            break
    return best, rounds


def _promising(problem: SharedProblem, ends: list[SharedSupport], choice: Choice) -> Array:
    """Return the supports and the features of the largest rows of AV."""
    chosen = [end.support for end in ends]
    free = Choice(choice.features)
    count = max(budgets.SHARED_POOL_FEATURES, budgets.JOINT_POOL_PER_K * problem.k)
    for end in ends:
        images = images_of(problem, end)
        norms = np.einsum("ij,ij->i", images, images)
        chosen.append(free.largest(norms, count))
        if choice.groups is not None:
            chosen.append(choice.largest(norms, min(count, choice.most)))
    return np.unique(np.concatenate(chosen))
