"""Search for components in a Gram matrix from several starts: one by one, varimax, random rotations, replacements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.joint.blocks import Components, JointProblem, ascend, components_of, refitted
from rspca.algorithm.joint.data import DeflatedGram
from rspca.algorithm.joint.starts import leading_directions, random_starts, truncated, varimax_starts
from rspca.algorithm.joint.task import SparseVector
from rspca.base.types import Array, Report
from rspca.linalg.vectors import TIED


class Effort(NamedTuple):
    """How much is tried beyond an ascent from the components found one by one."""

    starts: int
    """Random rotations of the leading directions."""
    finalists: int
    """Starts that climb further than one sweep."""
    replacements: int
    """Times that one or two of the best components are replaced by random ones."""


NO_SEARCH = Effort(0, 0, 0)


def search_effort(n: int, ks: list[int]) -> Effort:
    """Return what is affordable with n features: an ascent costs about n k for each component."""
    entries = n * sum(ks)
    if entries > budgets.JOINT_SEARCH_MAX_ENTRIES:
        return NO_SEARCH
    share = min(1.0, budgets.JOINT_SEARCH_ENTRIES / entries)
    counts = (budgets.JOINT_STARTS, budgets.JOINT_FINALISTS, budgets.JOINT_REPLACEMENTS)
    return Effort(*(max(-(-most // budgets.JOINT_SEARCH_LEAST), int(share * most)) for most in counts))


def search(
    problem: JointProblem, A: Array, start: list[SparseVector], *, rng: np.random.Generator, report: Report
) -> tuple[Components, int]:
    """Return the best components of all starts, never below the given one, and the sweeps that all of them took."""
    best, sweeps = ascend(problem, components_of(problem, start))
    report("joint", sweeps, best.variance)
    effort = search_effort(problem.data.features, problem.ks)
    if effort == NO_SEARCH:
        return refitted(problem, best), sweeps
    directions = leading_directions(DeflatedGram(A, np.empty((len(A), 0))), len(start) + budgets.JOINT_MORE_DIRECTIONS)
    for components in promising_starts(problem, directions, effort, rng):
        end, start_sweeps = ascend(problem, components)
        sweeps += start_sweeps
        best = end if end.variance > (1.0 + TIED) * best.variance else best
        report("joint", sweeps, best.variance)
    for number in range(effort.replacements):
        replaced = with_replacements(problem, best, directions, 1 + number % 2, rng)
        end, start_sweeps = ascend(problem, components_of(problem, replaced))
        sweeps += start_sweeps
        best = end if end.variance > (1.0 + TIED) * best.variance else best
        report("joint", sweeps, best.variance)
    return refitted(problem, best), sweeps


def promising_starts(
    problem: JointProblem, directions: tuple[Array, Array], effort: Effort, rng: np.random.Generator
) -> list[Components]:
    """Return the starts that have the largest adjusted variance after one sweep."""
    ks, choice, nonnegative = problem.ks, problem.choice, problem.nonnegative
    starts = varimax_starts(*directions, ks, choice, nonnegative=nonnegative)
    starts += random_starts(*directions, ks, choice, count=effort.starts, rng=rng, nonnegative=nonnegative)
    ends = [ascend(problem, components_of(problem, start), sweeps=1)[0] for start in starts]
    return sorted(ends, key=lambda end: -end.variance)[: effort.finalists]


def with_replacements(
    problem: JointProblem,
    components: Components,
    directions: tuple[Array, Array],
    count: int,
    rng: np.random.Generator,
) -> list[SparseVector]:
    """Return the vectors with a few of them replaced by random combinations of the leading directions."""
    values, leading = directions
    vectors = list(components.vectors)
    for place in rng.choice(len(vectors), size=min(count, len(vectors)), replace=False):
        x = leading @ (np.sqrt(values) * rng.standard_normal(len(values)))
        vectors[place] = truncated(x, problem.ks[place], problem.choice, nonnegative=problem.nonnegative)
    return vectors
