"""Components on disjoint supports: block steps on the features that no other component uses, and takeovers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.blocks import JointProblem, best_in_block
from rspca.algorithm.joint.constrained_starts import disjoint_start
from rspca.algorithm.joint.data import DeflatedGram, GramData
from rspca.algorithm.joint.loadings import refit_together
from rspca.algorithm.joint.pooled import extended_gram, promising_features
from rspca.algorithm.joint.starts import leading_directions, random_starts, truncated, varimax_starts
from rspca.algorithm.joint.task import JointTask, SparseVector
from rspca.base.types import Array
from rspca.linalg.component_order import NOTHING_LEFT, adjusted, best_order
from rspca.linalg.vectors import TIED, spread_columns, unit


class _Search(NamedTuple):
    """A Gram matrix, and what its components may be."""

    A: Array
    ks: list[int]
    choice: Choice
    nonnegative: bool
    plain_sum: bool
    """Whether the objective is sum v'Av, not the adjusted variance."""


class _Solution(NamedTuple):
    """Components in their order, and the objective."""

    vectors: list[SparseVector]
    value: float


def disjoint_components(
    task: JointTask, start: list[SparseVector], ks: list[int], *, plain_sum: bool
) -> tuple[list[SparseVector], int]:
    """Return components of large adjusted variance, or large sum v'Av, no two of which share a feature; and the rounds.

    In turn each component is improved in X deflated by the others, on the features that they leave. Several starts
    compete; then some components of the best are replaced at random.
    """
    features = task.choice.features
    complete = len(features) <= budgets.CONSTRAINED_POOL_COMPLETE
    if not complete:
        enough = task.choice.largest(task.op.sq_norms, min(task.choice.most, sum(ks)))
        features = np.union1d(promising_features(task, start, ks), enough)
    gram, vectors, rounds = task.op.gram_matrix(features), start, 0
    for number in range(budgets.CONSTRAINED_POOLS):
        scale = max(float(gram.diagonal().max()), np.finfo(float).tiny)
        problem = _Search(gram / scale, ks, task.choice.among(features), task.nonnegative, plain_sum)
        places = [SparseVector(np.searchsorted(features, v.support), v.loadings) for v in vectors]
        solution, more = _search(problem, places, task, scale, first=number == 0)
        rounds += more
        before = {vector.support.tobytes() for vector in vectors}
        vectors = [SparseVector(features[v.support], v.loadings) for v in solution.vectors]
        if complete or before == {vector.support.tobytes() for vector in vectors}:
            break
        wanted = np.union1d(features, promising_features(task, vectors, ks))
        if len(wanted) == len(features):
            break
        gram, features = extended_gram(task.op, gram, features, wanted), wanted
    return [_positive(vector) for vector in vectors], rounds


def _positive(vector: SparseVector) -> SparseVector:
    """Return the vector without loadings of zero and with its largest one positive."""
    used = vector.loadings != 0.0
    vector = SparseVector(vector.support[used], vector.loadings[used])
    largest = vector.loadings[np.argmax(np.abs(vector.loadings))]
    return vector if largest > 0.0 else vector._replace(loadings=-vector.loadings)


def _search(
    problem: _Search, start: list[SparseVector], task: JointTask, scale: float, *, first: bool
) -> tuple[_Solution, int]:
    """Return the best solution of all starts and of random replacements, and the number of ascents."""
    ks, choice, rng = problem.ks, problem.choice, task.rng
    directions = leading_directions(
        DeflatedGram(problem.A, np.empty((len(problem.A), 0))), len(ks) + budgets.CONSTRAINED_DIRECTIONS
    )
    starts = [start]
    effort = int(np.clip(budgets.DISJOINT_ENTRIES // (len(problem.A) * sum(ks)), 1, budgets.DISJOINT_STARTS))
    if first:
        greedy = disjoint_start(problem.A, ks, choice, rng)
        starts += [greedy] if greedy is not None else []
        starts += varimax_starts(*directions, ks, choice, nonnegative=problem.nonnegative)[:effort]
        starts += random_starts(*directions, ks, choice, count=effort, rng=rng, nonnegative=problem.nonnegative)
    ends = [_solution(problem, _made_disjoint(problem, one)) for one in starts]
    ends = [_swept(problem, end) for end in ends]
    ends.sort(key=lambda end: -end.value)
    best, ascents = ends[0], len(ends)
    for end in ends[: budgets.DISJOINT_FINALISTS]:
        end, ascents = _ascended(problem, end), ascents + 1
        best = end if end.value > (1.0 + TIED) * best.value else best
        task.report("joint", ascents, scale * best.value)
    for number in range(effort if first else 0):
        replaced = _replaced(problem, best.vectors, directions, 1 + number % 2, rng)
        end, ascents = _ascended(problem, _solution(problem, _made_disjoint(problem, replaced))), ascents + 1
        best = end if end.value > (1.0 + TIED) * best.value else best
        task.report("joint", ascents, scale * best.value)
    return best, ascents


def _replaced(
    problem: _Search, vectors: list[SparseVector], directions: tuple[Array, Array], count: int, rng: np.random.Generator
) -> list[SparseVector]:
    """Return the vectors with a few of them replaced by random combinations of the leading directions."""
    values, leading = directions
    vectors = list(vectors)
    for place in rng.choice(len(vectors), size=min(count, len(vectors)), replace=False):
        x = leading @ (np.sqrt(values) * rng.standard_normal(len(values)))
        vectors[place] = truncated(x, problem.ks[place], problem.choice, nonnegative=problem.nonnegative)
    return vectors


def _made_disjoint(problem: _Search, vectors: list[SparseVector]) -> list[SparseVector]:
    """Return the vectors with each feature left to the one of largest loading; those that lose some get others.

    Where the groups leave no room for that, supports are made of the groups that have most features left.
    """
    owner, most = np.full(len(problem.A), -1), np.zeros(len(problem.A))
    for j, (support, loadings) in enumerate(vectors):
        larger = support[np.abs(loadings) > most[support]]
        owner[larger] = j
        most[support] = np.maximum(most[support], np.abs(loadings))
    free, made = owner < 0, []
    for j, (support, loadings) in enumerate(vectors):
        own = owner[support] == j
        allowed = problem.choice.features[free[problem.choice.features] | (owner[problem.choice.features] == j)]
        left = Choice(allowed, problem.choice.groups)
        if left.most < problem.ks[j]:
            return _spread_over_groups(problem)
        x = np.zeros(len(problem.A))
        x[support[own]] = loadings[own]
        if problem.nonnegative:
            x = np.maximum(x if np.sum(x * np.abs(x)) >= 0.0 else -x, 0.0)
        worth = np.abs(x @ problem.A) + TIED * problem.A.diagonal()
        chosen = left.completed(support[own], x, worth, problem.ks[j])
        free[chosen] = False
        values = x[chosen] if x[chosen].any() else np.ones(len(chosen))
        made.append(SparseVector(chosen, unit(values)))
    return made


def _spread_over_groups(problem: _Search) -> list[SparseVector]:
    """Return disjoint supports, the largest first, each of features of the groups that have most of them left."""
    groups = problem.choice.groups
    labels = np.zeros(len(problem.A), dtype=np.intp) if groups is None else groups.labels
    most = len(problem.A) if groups is None else groups.most
    left = {
        label: problem.choice.features[labels[problem.choice.features] == label].tolist() for label in np.unique(labels)
    }
    vectors: list[SparseVector] = [SparseVector(np.empty(0, dtype=np.intp), np.empty(0))] * len(problem.ks)
    for j in np.argsort(-np.array(problem.ks), kind="stable"):
        taken = dict.fromkeys(left, 0)
        support = []
        for _ in range(problem.ks[j]):
            label = max((one for one in left if taken[one] < most), key=lambda one: len(left[one]))
            support.append(left[label].pop(0))
            taken[label] += 1
        vectors[j] = SparseVector(np.sort(support), np.full(len(support), len(support) ** -0.5))
    return vectors


def _solution(problem: _Search, vectors: list[SparseVector]) -> _Solution:
    """Return the vectors in their best order, with the objective."""
    V = spread_columns([(v.loadings, v.support) for v in vectors], len(problem.A))
    used = np.unique(np.concatenate([v.support for v in vectors]))
    M = V[used].T @ problem.A[np.ix_(used, used)] @ V[used]
    if problem.plain_sum:
        return _Solution(vectors, float(np.trace(M)))
    order = best_order((M + M.T) / 2.0, problem.ks)
    return _Solution([vectors[j] for j in order], float(adjusted(M, order).sum()))


def _ascended(problem: _Search, solution: _Solution) -> _Solution:
    """Return the solution after sweeps and takeovers while they gain."""
    for _ in range(budgets.JOINT_SWEEPS):
        before = solution.value
        solution = _swept(problem, solution)
        for place in range(len(solution.vectors)):
            solution = _better(solution, _taken_over(problem, solution, place))
        if solution.value <= (1.0 + budgets.EXCHANGE_CLIMB_LEAST_GAIN) * before:
            break
    return solution


def _better(old: _Solution, new: _Solution) -> _Solution:
    return new if new.value > (1.0 + TIED) * old.value else old


def _swept(problem: _Search, solution: _Solution) -> _Solution:
    """Return the solution after a block step of each component and a refit of all loadings."""
    for place in range(len(solution.vectors)):
        vectors = list(solution.vectors)
        vectors[place] = _block_step(problem, vectors, place, _unused(problem, vectors, place))
        solution = _better(solution, _solution(problem, vectors))
    return _better(solution, _refitted(problem, solution))


def _unused(problem: _Search, vectors: list[SparseVector], place: int) -> Choice:
    """Return the features that no other component uses."""
    taken = np.concatenate([np.empty(0, dtype=np.intp), *(v.support for j, v in enumerate(vectors) if j != place)])
    return Choice(np.setdiff1d(problem.choice.features, taken), problem.choice.groups)


def _block_step(problem: _Search, vectors: list[SparseVector], place: int, choice: Choice) -> SparseVector:
    """Return the component improved in A deflated by the others, on features of the choice."""
    old = vectors[place]
    L = np.empty((len(problem.A), 0))
    others = [v for j, v in enumerate(vectors) if j != place and len(v.support)]
    if others and not problem.plain_sum:
        images = np.column_stack([v.loadings @ problem.A[v.support] for v in others])
        M = np.array([v.loadings @ images[v.support] for v in others])
        values, turn = np.linalg.eigh((M + M.T) / 2.0)
        explained = values > NOTHING_LEFT * max(float(np.trace(M)), np.finfo(float).tiny)
        L = images @ (turn[:, explained] / np.sqrt(values[explained]))
    block = DeflatedGram(problem.A, L)
    k = min(problem.ks[place], choice.most)
    left = block.sq_norms[choice.features].max(initial=0.0)
    if left <= budgets.NO_VARIANCE_EPS * np.finfo(float).eps * float(np.trace(problem.A)):
        return old if len(old.support) == k else truncated(np.sqrt(problem.A.diagonal()), k, choice)
    gradient = block.gradient(block, *old)
    problem_of_block = JointProblem(GramData(problem.A), problem.ks, choice, problem.nonnegative)
    return best_in_block(problem_of_block, block, old, gradient, k)


def _taken_over(problem: _Search, solution: _Solution, place: int) -> _Solution:
    """Return what follows if one component takes features of others, which then take what is left."""
    vectors = list(solution.vectors)
    vectors[place] = _block_step(problem, vectors, place, problem.choice)
    taken = vectors[place].support
    robbed = [j for j, v in enumerate(vectors) if j != place and np.isin(v.support, taken).any()]
    if not robbed:
        return solution
    for j in robbed:
        left = ~np.isin(vectors[j].support, taken)
        vectors[j] = SparseVector(vectors[j].support[left], vectors[j].loadings[left])
    for j in robbed:
        choice = _unused(problem, vectors, j)
        if choice.most < problem.ks[j]:
            return solution
        if not vectors[j].loadings.any():
            vectors[j] = truncated(problem.A.diagonal(), problem.ks[j], choice, nonnegative=problem.nonnegative)
        vectors[j] = _block_step(problem, vectors, j, choice)
    return _swept(problem, _solution(problem, vectors))


def _refitted(problem: _Search, solution: _Solution) -> _Solution:
    """Return the solution with all loadings refitted together, where the objective is the adjusted variance."""
    if problem.plain_sum:
        return solution
    vectors = solution.vectors
    used = np.unique(np.concatenate([v.support for v in vectors]))
    places = [np.searchsorted(used, v.support) for v in vectors]
    V = spread_columns([(v.loadings, at) for v, at in zip(vectors, places, strict=True)], len(used))
    inside = spread_columns([(np.ones(len(at)), at) for at in places], len(used)) > 0.0
    A = problem.A[np.ix_(used, used)]
    found = refit_together(A.__matmul__, V, inside, nonnegative=problem.nonnegative, tol=budgets.JOINT_REFIT_TOL)
    again = [SparseVector(used[at[v[at] != 0.0]], v[at[v[at] != 0.0]]) for at, v in zip(places, found.V.T, strict=True)]
    return _solution(problem, again)
