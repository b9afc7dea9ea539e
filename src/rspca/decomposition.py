"""The algorithm: relax, round, normalize, polish; deflate; repeat."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.ascent import Tell, improve, relax
from rspca.components import Component, OnStep, Step
from rspca.deflation import DEFLATIONS, Deflation
from rspca.normalization import NORMALIZATIONS
from rspca.operators.protocol import Array, OperatorMixin
from rspca.operators.sources import balanced
from rspca.relaxation import PROJECTED_TOL, Climbed, projected
from rspca.rounding import bernoulli_draws, best_bernoulli, exact_supports
from rspca.sketch import Sketch, Whole
from rspca.vectors import first_largest, inclusion_probabilities, oriented, spread, top_k

ROUNDINGS = ("exact", "bernoulli")
LARGE = 10**6
"""Entries of X beyond which iterations run on a sketch of it."""
POLISHED_DRAWS = 2
"""Draws that are polished."""


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


Finder = Callable[[OperatorMixin, int, Tell], Found]
JointFinder = Callable[[OperatorMixin, list[int], Tell], Iterable[Found]]


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
        relaxed = relax(data, k, directions, max_iter=options.max_iter, tol=options.tol, tell=tell)
    if options.rounding == "bernoulli":
        candidates = best_bernoulli(op, bernoulli_draws(relaxed.x, s, options.n_draws, rng), k, s)[:, None]
    else:
        supports = exact_supports(relaxed.x, k, s, options.n_draws, rng)
        supports = [completed(one, relaxed, eligible) for one in supports]
        if options.polish:
            supports = promising_draws(relaxed, supports)
        candidates = np.column_stack([on_support(relaxed.x, one) for one in supports])
        if not options.polish:  # nothing will improve the choice, so all draws are multiplied, as one block
            candidates = candidates[:, [int(np.argmax(op.variances(candidates)))]]
    x, swap_optimal = candidates[:, 0], None
    if options.polish:
        if options.rounding == "exact":
            candidates = np.column_stack([candidates, on_support(leading, top_k(np.abs(leading), k))])
        best = improve(data, candidates, relaxed.gradient, eligible, tol=options.tol, tell=tell)
        x, swap_optimal = spread(best.loadings, best.support, len(x)), best.swap_optimal
    support = np.flatnonzero(x)
    loadings = NORMALIZATIONS[normalization](op, support, x[support])
    p = inclusion_probabilities(relaxed.x, s)
    return Found(support, loadings, relaxed.n_iter, relaxed.converged, relaxed.variance, p, swap_optimal)


def eligible_features(op: OperatorMixin) -> Array:
    """Return the features that vary: a constant column is never chosen."""
    norms = op.sq_norms
    return np.flatnonzero(norms > np.finfo(float).eps ** 2 * norms.max(initial=0.0))


def longest_column(op: OperatorMixin) -> int:
    """Return the feature of largest variance, the first of those that tie up to rounding."""
    return first_largest(op.sq_norms, 1e3 * float(np.finfo(op.dtype).eps))


def promising_draws(relaxed: Climbed, supports: list[Array]) -> list[Array]:
    """Return the k largest entries, which come first, and the POLISHED_DRAWS others that promise the most variance.

    By convexity v'Av >= 2 v'Ax - x'Ax, and Ax is known: comparing draws by v'Ax costs no product at all.
    """
    x = relaxed.x
    promised = [float(x[one] @ relaxed.gradient[one]) / float(np.linalg.norm(x[one])) for one in supports]
    others = 1 + np.argsort(-np.array(promised[1:]), kind="stable")[:POLISHED_DRAWS]
    return [supports[i] for i in [0, *others]]


def on_support(x: Array, support: Array) -> Array:
    """Return x with all other entries set to zero, scaled to unit length."""
    return spread(x[support] / np.linalg.norm(x[support]), support, len(x))


def completed(support: Array, relaxed: Climbed, eligible: Array) -> Array:
    """Return the support with features that x does not use exchanged for those of largest gradient."""
    used = support[relaxed.x[support] != 0.0]
    if len(used) == len(support):
        return support
    spare = np.setdiff1d(eligible, used)
    return np.sort(np.concatenate([used, spare[top_k(np.abs(relaxed.gradient[spare]), len(support) - len(used))]]))


def largest_varying(values: Array, k: int, eligible: Array) -> Array:
    """Return the sorted indices of the k largest magnitudes among the eligible features."""
    return np.asarray(eligible[top_k(np.abs(values[eligible]), k)])


def one_after_another(
    find: Finder, op: OperatorMixin, ks: list[int], *, deflation: str | Deflation, on_step: OnStep | None = None
) -> list[Component]:
    """Find a component, deflate, and go on with what is left, until there are enough or nothing is left."""
    found = list[Component]()
    op, unit = balanced(op)
    tell = _teller(on_step, found, unit)
    total = float(op.sq_norms.sum())
    deflate = DEFLATIONS[deflation] if isinstance(deflation, str) else deflation
    for number, k in enumerate(ks):
        if op.sq_norms.sum() <= 64 * np.finfo(op.dtype).eps * total:
            _report_rank(number, len(ks), exact=deflation == "schur")
            break
        before = op.passes
        component, scores = _component(op, find(op, k, tell), unit, before)
        tell("component", number, component.variance / unit**2)
        found.append(component)
        if number + 1 < len(ks):
            op = deflate(op, component.dense(), scores, [c.dense() for c in found[:-1]])
    return found


def all_at_once(
    find: JointFinder, op: OperatorMixin, ks: list[int], *, on_step: OnStep | None = None
) -> list[Component]:
    """Report what a method finds that keeps its components apart by itself: all of them belong to the same X.

    `find` returns or yields at most len(ks) findings, fewer if the rank of X allows no more.
    """
    found = list[Component]()
    op, unit = balanced(op)
    tell = _teller(on_step, found, unit)
    before = op.passes
    for one in find(op, ks, tell) if op.sq_norms.any() else ():
        component, _ = _component(op, one, unit, before)
        tell("component", len(found), component.variance / unit**2)
        found.append(component)
        before = op.passes
    if len(found) < len(ks):
        _report_rank(len(found), len(ks), exact=True)
    return found


def refitted(op: OperatorMixin, component: Component) -> Component:
    """Return the component with the best loadings on its support, at the cost of that alone."""
    before = op.passes
    op, unit = balanced(op)
    loadings = NORMALIZATIONS["svd"](op, component.support, component.loadings)
    again, _ = _component(op, Found(component.support, loadings), unit, before)
    return replace(
        component, support=again.support, loadings=again.loadings, variance=again.variance,
        passes=component.passes + again.passes,
    )  # fmt: skip


def numerical_rank(values: Array, op: OperatorMixin) -> int:
    """Return how many of these leading eigenvalues are more than the rounding of the data."""
    return int(np.count_nonzero(values > 64 * np.finfo(op.dtype).eps * float(op.sq_norms.sum())))


def _teller(on_step: OnStep | None, found: list[Component], unit: float) -> Tell:
    """Return what passes progress on: which component is being sought follows from how many are found."""
    started = time.perf_counter()

    def tell(stage: str, iteration: int, variance: float) -> None:
        if on_step is not None:
            seconds = time.perf_counter() - started
            on_step(Step(stage, len(found), iteration, unit**2 * variance, None, seconds))

    return tell


def _component(op: OperatorMixin, one: Found, unit: float, before: float) -> tuple[Component, Array]:
    """Return a finding as it is reported, in the units of the user, and its scores in those of op."""
    kept = one.loadings != 0.0
    support, loadings = one.support[kept], oriented(one.loadings[kept])
    scores = op.scores(support, loadings)
    component = Component(
        support=support, loadings=loadings, variance=unit**2 * (float(scores @ scores) - op.offset),
        n_features=op.shape[1], n_iter=one.n_iter, converged=one.converged, passes=op.passes - before,
        relaxed_variance=None if one.relaxed_variance is None else unit**2 * one.relaxed_variance,
        inclusion_probability=one.inclusion_probability, swap_optimal=one.swap_optimal,
    )  # fmt: skip
    return component, scores


def _report_rank(found: int, wanted: int, *, exact: bool) -> None:
    if found == 0:
        raise ValueError(
            "X has no variance: every column is constant, or too small to be squared (then multiply X by a constant). "
            "There is no component to find."
        )
    # Schur deflation lowers the rank by one each time; the others may need more components to exhaust it.
    why = f"X has rank {found}" if exact else f"nothing is left of X after {found} component(s)"
    warnings.warn(f"{why}, so only {found} of the {wanted} components asked for are there.", UserWarning, stacklevel=5)
