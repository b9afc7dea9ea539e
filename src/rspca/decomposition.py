"""The algorithm: relax, round, normalize, polish; deflate; repeat."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca import rounding as _rounding
from rspca.components import Component, OnStep, Step
from rspca.deflation import DEFLATIONS
from rspca.normalization import NORMALIZATIONS
from rspca.operators.protocol import Array, OperatorMixin
from rspca.operators.sources import balanced, negligible
from rspca.polishing import polish
from rspca.relaxation import SOLVERS
from rspca.spectral import leading_pairs
from rspca.vectors import inclusion_probabilities, oriented, top_k

ROUNDINGS = ("exact", "bernoulli")
PROJECTED_TOL = 1e-10
"""Relative change at which solver="projected" stops; the paper's table needs it."""
LEADING_TOL = 1e-4
"""Residual to which the leading direction is found: it is only a start."""
POLISHED_DRAWS = 3
"""Draws that are polished, of those that have the most variance."""
START_BUDGET = 2 * 10**7
"""Entries of X times coordinate starts: small problems are climbed from every feature, large ones from few."""
SWAP_STARTS = 3
"""Different end points of the power steps from which swaps are tried."""


class Options(NamedTuple):
    """How method="rspca" finds one component."""

    solver: str = "linearized"
    rounding: str = "exact"
    s: float | None = None
    n_draws: int = 16
    polish: bool = True
    max_iter: int = 1000
    tol: float = 1e-7


class Found(NamedTuple):
    """One component before it is reported."""

    support: Array
    loadings: Array
    n_iter: int = 1
    converged: bool = True
    relaxed_variance: float | None = None
    inclusion_probability: Array | None = None
    swap_optimal: bool | None = None


Tell = Callable[[str, int, float], None]
Finder = Callable[[OperatorMixin, int, Tell], Found]


def rspca_component(
    op: OperatorMixin, k: int, tell: Tell, *, options: Options, normalization: str, rng: np.random.Generator
) -> Found:
    """One component by the paper's method: a stationary point, rounded at random, polished, refitted."""
    eligible = eligible_features(op)
    k = min(k, len(eligible))
    s = float(options.s or k)
    paper = options.solver == "projected"
    leading = leading_pairs(op, 1, tol=PROJECTED_TOL if paper else LEADING_TOL).vectors[:, 0]
    relaxed = SOLVERS[options.solver](
        op, k, leading, max_iter=options.max_iter, tol=PROJECTED_TOL if paper else options.tol,
        on_iteration=lambda i, variance: tell("relax", i, variance),
    )  # fmt: skip
    x, swap_optimal = relaxed.x, None
    if options.rounding == "bernoulli":
        x = _rounding.best_bernoulli(op, _rounding.bernoulli_draws(x, s, options.n_draws, rng), k, s)
        candidates = [np.flatnonzero(x)]
    else:
        candidates = screened(op, x, _rounding.exact_supports(x, k, s, options.n_draws, rng), eligible)
        if options.polish:
            candidates += [top_k(np.abs(leading), k), *coordinate_starts(op, k, eligible)]
    support = candidates[0]
    if options.polish:
        best = polish(op, candidates, eligible=eligible, swap_starts=SWAP_STARTS)
        tell("polish", best.n_iter, best.variance)
        support, swap_optimal = best.support, best.swap_optimal
        x = np.zeros(len(x))
        x[support] = best.loadings
    loadings = NORMALIZATIONS[normalization](op, support, x[support])
    p = inclusion_probabilities(relaxed.x, s)
    return Found(support, loadings, relaxed.n_iter, relaxed.converged, relaxed.variance, p, swap_optimal)


def eligible_features(op: OperatorMixin) -> Array:
    """Return the features that vary: a constant column is never chosen."""
    norms = op.sq_norms
    return np.flatnonzero(norms > negligible(norms, op.shape[0]))


def screened(op: OperatorMixin, x: Array, supports: list[Array], eligible: Array) -> list[Array]:
    """Return the POLISHED_DRAWS supports on which x has the most variance, best first, and the k largest."""
    supports = [completed(one, x, eligible, op.sq_norms) for one in supports]
    V = np.zeros((len(x), len(supports)))
    for column, support in enumerate(supports):
        V[support, column] = x[support] / np.linalg.norm(x[support])
    order = np.argsort(-_rounding.variances(op, V), kind="stable")[:POLISHED_DRAWS]
    return [supports[i] for i in order] + ([] if 0 in order else [supports[0]])


def completed(support: Array, x: Array, eligible: Array, norms: Array) -> Array:
    """Return the support with features that x does not use exchanged for the varying ones of largest norm."""
    used = support[x[support] != 0.0]
    if len(used) == len(support):
        return support
    spare = np.setdiff1d(eligible, used)
    return np.sort(np.concatenate([used, spare[top_k(norms[spare], len(support) - len(used))]]))


def coordinate_starts(op: OperatorMixin, k: int, eligible: Array) -> list[Array]:
    """Return for single features the k features most correlated with each: every feature of a small problem."""
    count = min(len(eligible), START_BUDGET // (op.shape[0] * op.shape[1]))
    if count == 0:
        return []
    features = eligible[top_k(op.sq_norms[eligible], count)]
    rows = np.abs(op.gram_rows(features))
    off = np.setdiff1d(np.arange(op.shape[1]), eligible)
    rows[:, off] = -1.0
    return [top_k(row, k) for row in rows]


def one_after_another(
    find: Finder, op: OperatorMixin, ks: list[int], *, deflation: str, on_step: OnStep | None = None
) -> list[Component]:
    """Find a component, deflate, and go on with what is left, until there are enough or nothing is left."""
    started, found = time.perf_counter(), list[Component]()
    op, unit = balanced(op)
    total = float(op.sq_norms.sum())
    for number, k in enumerate(ks):
        if op.sq_norms.sum() <= 64 * np.finfo(op.dtype).eps * total:
            _report_rank(number, len(ks))
            break

        def tell(stage: str, iteration: int, variance: float, number: int = number) -> None:
            if on_step is not None:
                seconds = time.perf_counter() - started
                on_step(Step(stage, number, iteration, unit**2 * variance, None, seconds))

        before = op.passes
        one = find(op, k, tell)
        kept = one.loadings != 0.0
        support, loadings = one.support[kept], oriented(one.loadings[kept])
        scores = op.scores(support, loadings)
        component = Component(
            support=support, loadings=loadings, variance=unit**2 * (float(scores @ scores) - op.offset),
            n_features=op.shape[1], n_iter=one.n_iter, converged=one.converged, passes=op.passes - before,
            relaxed_variance=None if one.relaxed_variance is None else unit**2 * one.relaxed_variance,
            inclusion_probability=one.inclusion_probability, swap_optimal=one.swap_optimal,
        )  # fmt: skip
        found.append(component)
        tell("component", number, component.variance / unit**2)
        if number + 1 < len(ks):
            op = DEFLATIONS[deflation](op, component.dense(), scores, [c.dense() for c in found[:-1]])
    return found


def _report_rank(rank: int, wanted: int) -> None:
    if rank == 0:
        raise ValueError("X has no variance: every column is constant. There is no component to find.")
    warnings.warn(
        f"X has rank {rank}: {rank} components explain all its variance, so only {rank} of the {wanted} asked for "
        "are returned.", UserWarning, stacklevel=4,
    )  # fmt: skip
