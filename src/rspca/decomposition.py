"""The algorithm: relax, round, normalize, polish; deflate; repeat."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.components import Component, OnStep, Step
from rspca.deflation import DEFLATIONS
from rspca.normalization import NORMALIZATIONS
from rspca.operators.protocol import Array, OperatorMixin
from rspca.operators.sketch import Sketch, Whole
from rspca.operators.sources import balanced
from rspca.polishing import Polished, best_after_swaps, polish
from rspca.relaxation import Climbed, linearized, projected
from rspca.rounding import bernoulli_draws, best_bernoulli, exact_supports
from rspca.vectors import inclusion_probabilities, l1_l2_maximizer, oriented, top_k

ROUNDINGS = ("exact", "bernoulli")
PROJECTED_TOL = 1e-10
"""Relative change at which solver="projected" stops; the paper's table needs it."""
LARGE = 10**6
"""Entries of X beyond which iterations run on a sketch of it."""
SKETCH_STEPS = 12
"""Steps of stage 1 on a sketch before X is asked again."""
MOST_ROUNDS = 30
"""Times that a sketch is climbed and X asked."""
POLISHED_DRAWS = 3
"""Draws that are polished."""
FINALISTS = 10
"""Candidates that climb one by one; more than these are thinned out by power steps together."""
SWAP_STARTS = 3
"""Different ends of polishing from which swaps are tried."""
START_BUDGET = 2 * 10**7
"""Entries of X times coordinate starts: small problems are climbed from every feature, large ones from few."""


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
    if options.solver == "projected":
        data: Sketch | Whole = Whole(op, tol=PROJECTED_TOL)
        leading = data.directions()[0]
        tell_step = partial(tell, "relax")
        relaxed = projected(op, k, leading, max_iter=options.max_iter, tol=PROJECTED_TOL, on_iteration=tell_step)
    else:
        data = Sketch(op) if op.shape[0] * op.shape[1] > LARGE else Whole(op)
        directions = data.directions()
        leading = directions[0]
        relaxed = relax(data, k, directions, options, tell)
    if options.rounding == "bernoulli":
        candidates = best_bernoulli(op, bernoulli_draws(relaxed.x, s, options.n_draws, rng), k, s)[:, None]
    else:
        supports = exact_supports(relaxed.x, k, s, options.n_draws, rng)
        candidates = best_draws(op, relaxed, [completed(one, relaxed, eligible) for one in supports])
    x, swap_optimal = candidates[:, 0], None
    if options.polish:
        if options.rounding == "exact":
            candidates = np.column_stack([candidates, on_support(leading, top_k(np.abs(leading), k))])
        best = improve(data, candidates, relaxed.gradient, eligible, options, tell)
        x, swap_optimal = spread(best.loadings, best.support, len(x)), best.swap_optimal
    support = np.flatnonzero(x)
    loadings = NORMALIZATIONS[normalization](op, support, x[support])
    p = inclusion_probabilities(relaxed.x, s)
    return Found(support, loadings, relaxed.n_iter, relaxed.converged, relaxed.variance, p, swap_optimal)


def relax(data: Sketch | Whole, k: int, starts: list[Array], options: Options, tell: Tell) -> Climbed:
    """Stage 1: climb on the sketch, from its best start; ask X; go on until X has nothing to add."""
    n, whole, tell_step = len(starts[0]), isinstance(data, Whole), partial(tell, "relax")
    every, most = np.arange(n), options.max_iter if whole else SKETCH_STEPS
    climb = partial(linearized, max_iter=most, tol=options.tol if whole else 0.1 * options.tol, on_iteration=tell_step)
    tried = [climb(data.operator(every), k, start) for start in starts]
    climbed = max(tried, key=lambda one: one.variance)
    x, variance, spent = climbed.x, -np.inf, climbed.n_iter
    outside = np.zeros(n, dtype=bool)
    while True:
        seen = data.confirm(x)
        step = l1_l2_maximizer(seen.gradient, k)
        gain, variance = seen.variance - variance, seen.variance
        # tol is the gain of one step, and this round took several
        settled = gain <= options.tol * climbed.n_iter * variance or (whole and climbed.converged)
        settled = settled and not np.any(step[outside])
        if settled or spent >= options.max_iter:
            return Climbed(x, seen.gradient, variance, spent, settled)
        features = every if whole else promising(seen.gradient, max(3 * k, 2 * int(np.count_nonzero(step))))
        outside = np.ones(n, dtype=bool)
        outside[features] = False
        climbed = climb(data.operator(features), k, step[features])
        x = spread(climbed.x, features, n)
        spent += climbed.n_iter


def improve(data: Sketch | Whole, V: Array, gradient: Array, eligible: Array, options: Options, tell: Tell) -> Polished:
    """Polish candidates: climb on the sketch, ask X, until X has nothing to add; then exchange single features."""
    n, k, whole, variance = len(V), int(np.count_nonzero(V[:, 0])), isinstance(data, Whole), -np.inf
    allowed = np.zeros(n, dtype=bool)
    allowed[eligible] = True
    v = V[:, 0]
    for _ in range(MOST_ROUNDS):
        features = np.arange(n) if whole else promising(np.where(v, np.inf, gradient), 3 * k)
        inside = np.flatnonzero(allowed[features])
        small = data.operator(features)
        if whole:
            starts = np.hstack([V, coordinate_starts(small, inside)])
        else:
            starts = v[features, None] if np.isfinite(variance) else V[features]
            starts = starts[:, starts.any(axis=0)]
        ends = polish(small, starts, k, eligible=inside, finalists=FINALISTS, tol=options.tol)
        ends = [end._replace(support=features[end.support]) for end in ends[:SWAP_STARTS]]
        v = spread(ends[0].loadings, ends[0].support, n)
        seen = data.confirm(v)
        gain, gradient, variance = seen.variance - variance, seen.gradient, seen.variance
        tell("polish", ends[0].n_iter, variance)
        if whole or gain <= options.tol * variance:
            break
    return best_after_swaps(data.source, ends, eligible=eligible)


def promising(gradient: Array, count: int) -> Array:
    """Return the features with the largest gradients, or all if few would be left out."""
    return top_k(np.abs(gradient), count) if 2 * count < len(gradient) else np.arange(len(gradient))


def eligible_features(op: OperatorMixin) -> Array:
    """Return the features that vary: a constant column is never chosen."""
    norms = op.sq_norms
    return np.flatnonzero(norms > np.finfo(float).eps ** 2 * norms.max(initial=0.0))


def best_draws(op: OperatorMixin, relaxed: Climbed, supports: list[Array]) -> Array:
    """Return x on its k largest entries and on the POLISHED_DRAWS other supports that promise most, best first.

    By convexity v'Av >= 2 v'Ax - x'Ax, and Ax is known: comparing draws by v'Ax costs no product. The few that are
    left are compared by their variance, in one block product.
    """
    x = relaxed.x
    promised = [float(x[one] @ relaxed.gradient[one]) / float(np.linalg.norm(x[one])) for one in supports]
    others = 1 + np.argsort(-np.array(promised[1:]), kind="stable")[:POLISHED_DRAWS]
    V = np.column_stack([on_support(x, supports[i]) for i in [0, *others]])
    return V[:, np.argsort(-op.variances(V), kind="stable")]


def on_support(x: Array, support: Array) -> Array:
    """Return x with all other entries set to zero, scaled to unit length."""
    return spread(x[support] / np.linalg.norm(x[support]), support, len(x))


def spread(values: Array, support: Array, n: int) -> Array:
    """Return the vector of length n with these values on this support."""
    out = np.zeros(n)
    out[support] = values
    return out


def completed(support: Array, relaxed: Climbed, eligible: Array) -> Array:
    """Return the support with features that x does not use exchanged for those of largest gradient."""
    used = support[relaxed.x[support] != 0.0]
    if len(used) == len(support):
        return support
    spare = np.setdiff1d(eligible, used)
    return np.sort(np.concatenate([used, spare[top_k(np.abs(relaxed.gradient[spare]), len(support) - len(used))]]))


def coordinate_starts(op: OperatorMixin, eligible: Array) -> Array:
    """Return unit vectors of single features as columns: every feature of a small problem, none of a large one."""
    count = min(len(eligible), START_BUDGET // (op.shape[0] * op.shape[1]))
    features = eligible[top_k(op.sq_norms[eligible], count)] if count else eligible[:0]
    starts = np.zeros((op.shape[1], count))
    starts[features, np.arange(count)] = 1.0
    return starts


def one_after_another(
    find: Finder, op: OperatorMixin, ks: list[int], *, deflation: str, on_step: OnStep | None = None
) -> list[Component]:
    """Find a component, deflate, and go on with what is left, until there are enough or nothing is left."""
    started, found = time.perf_counter(), list[Component]()
    op, unit = balanced(op)
    total = float(op.sq_norms.sum())
    for number, k in enumerate(ks):
        if op.sq_norms.sum() <= 64 * np.finfo(op.dtype).eps * total:
            _report_rank(number, len(ks), deflation)
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


def _report_rank(found: int, wanted: int, deflation: str) -> None:
    if found == 0:
        raise ValueError("X has no variance: every column is constant. There is no component to find.")
    # Schur deflation lowers the rank by one each time; the others may need more components to exhaust it.
    why = f"X has rank {found}" if deflation == "schur" else f"nothing is left of X after {found} component(s)"
    warnings.warn(f"{why}, so only {found} of the {wanted} components asked for are there.", UserWarning, stacklevel=4)
