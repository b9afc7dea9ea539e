"""The loop over components: find, prove, report, deflate, repeat; or report what a method finds together."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.deflate import Deflation, schur
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.results import Component, OnComponent
from rspca.base.threads import small_products_in_one_thread
from rspca.base.types import Array, OnStep, Report, Step, no_report
from rspca.linalg.vectors import first_largest, oriented, top_k
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced


class Proof(Protocol):
    """What the loop asks of a proof that comes with a component."""

    def in_units(self, factor: float) -> Any:
        """Return the proof with all variances multiplied by a factor."""


class Found(NamedTuple):
    """One component as a method finds it."""

    support: Array
    loadings: Array
    """Of any length: the loop normalizes them."""
    n_iter: int = 1
    converged: bool = True
    relaxed_variance: float | None = None
    inclusion_probability: Array | None = None
    swap_optimal: bool | None = None
    certificate: Proof | None = None


Finder = Callable[[OperatorMixin, int, Report], Found]
"""(op, k, report) -> one component of at most k features."""
JointFinder = Callable[[OperatorMixin, list[int], Report], Iterable[Found]]
"""(op, one k per component, report) -> all components of op, or as many as its rank allows."""
Prover = Callable[[OperatorMixin, int, Component, Report], Component]
"""(op, k, component, report) -> the component, or a better one, with its certificate."""


class LoopOptions(NamedTuple):
    """What a caller may ask of the loop over components."""

    on_step: OnStep | None = None
    on_component: OnComponent | None = None
    earlier: Sequence[Component] = ()
    """Components that were found before, in the same data with the same options: the loop continues after them."""


def eligible_features(op: OperatorMixin) -> Array:
    """Return the features that vary: a constant column is never chosen."""
    norms = op.sq_norms
    return np.flatnonzero(norms > np.finfo(float).eps ** 2 * norms.max(initial=0.0))


def longest_column(op: OperatorMixin) -> int:
    """Return the feature of largest variance, the first of those that tie up to rounding."""
    return first_largest(op.sq_norms, budgets.TIED_VARIANCE_EPS * float(np.finfo(op.dtype).eps))


def largest_varying(values: Array, k: int, eligible: Array) -> Array:
    """Return the sorted indices of the k largest magnitudes among the eligible features."""
    return np.asarray(eligible[top_k(np.abs(values[eligible]), k)])


def one_by_one(
    finders: Sequence[tuple[int, Finder]],
    op: OperatorMixin,
    *,
    deflate: Deflation,
    normalization: str | None,
    loop: LoopOptions,
    prove: Prover | None = None,
) -> list[Component]:
    """Find a component, report it, deflate, and repeat with what is left, until there are enough or nothing is left.

    `finders` has a pair for each component: its k, and the function that finds it. `normalization` is None if that
    function normalizes the loadings itself. The data are deflated by earlier components just as they were when these
    were found, so that a loop which continues after them finds what one loop over all finds, to the last bit.
    """
    found = list(loop.earlier)
    op, unit = balanced(op)
    report = reporter(loop.on_step, found, unit)
    total = float(op.sq_norms.sum())
    op = deflated(op, found, deflate) if len(found) < len(finders) else op
    for number, (k, find) in enumerate(finders[len(found) :], len(found)):
        if op.sq_norms.sum() <= budgets.NO_VARIANCE_EPS * np.finfo(op.dtype).eps * total:
            _report_rank(number, len(finders), exact=deflate is schur)
            break
        before = op.passes
        candidate = find(op, k, report)
        if normalization is not None:
            loadings = NORMALIZATIONS[normalization](op, candidate.support, candidate.loadings)
            candidate = candidate._replace(loadings=loadings)
        proven = None if prove is None else prove(op, k, _component(op, candidate, 1.0, before)[0], report)
        with small_products_in_one_thread():
            component, scores = _component(op, proven or candidate, unit, before)
        if loop.on_component is not None:  # before the step: what is reported as found has been stored
            loop.on_component(component)
        report("component", number, component.variance / unit**2)
        found.append(component)
        if number + 1 < len(finders):
            with small_products_in_one_thread():
                op = deflate(op, component.dense(), scores, [c.dense() for c in found[:-1]])
    op.undeflated.forget_image()
    return found


def deflated(op: OperatorMixin, components: Sequence[Component], deflate: Deflation) -> OperatorMixin:
    """Return what components, in the order in which they were found, leave of op."""
    vectors = [component.dense() for component in components]
    for number, component in enumerate(components):
        op = deflate(op, vectors[number], op.scores(component.support, component.loadings), vectors[:number])
    return op


def all_together(
    find: JointFinder, op: OperatorMixin, ks: list[int], *, normalization: str, loop: LoopOptions
) -> list[Component]:
    """Report what a method finds that separates its components by itself: all of them belong to the same X.

    `find` returns or yields at most len(ks) components, fewer if the rank of X allows no more. Loadings are refitted to
    what the components before leave of X: on X itself the best loadings are those of the first component again.
    """
    found = list[Component]()
    op, unit = balanced(op)
    report = reporter(loop.on_step, found, unit)
    left, before = op, op.passes
    for candidate in find(op, ks, report) if op.sq_norms.any() else ():
        loadings = NORMALIZATIONS[normalization](left, candidate.support, candidate.loadings)
        component, _ = _component(op, candidate._replace(loadings=loadings), unit, before)
        if normalization != "naive" and len(found) + 1 < len(ks):
            scores = left.scores(component.support, component.loadings)
            left = schur(left, component.dense(), scores, [other.dense() for other in found])
        report("component", len(found), component.variance / unit**2)
        found.append(component)
        before = op.passes
    if len(found) < len(ks):
        _report_rank(len(found), len(ks), exact=True)
    return found


def refitted(op: OperatorMixin, component: Component) -> Component:
    """Return the component with the best loadings on its support."""
    before = op.passes
    op, unit = balanced(op)
    loadings = NORMALIZATIONS["svd"](op, component.support, component.loadings)
    again, _ = _component(op, Found(component.support, loadings), unit, before)
    passes = component.passes + again.passes
    return replace(component, support=again.support, loadings=again.loadings, variance=again.variance, passes=passes)


def numerical_rank(values: Array, op: OperatorMixin) -> int:
    """Return how many of these leading eigenvalues are more than the rounding of the data."""
    return int(np.count_nonzero(values > budgets.NO_VARIANCE_EPS * np.finfo(op.dtype).eps * float(op.sq_norms.sum())))


def reporter(on_step: OnStep | None, found: list[Component], unit: float) -> Report:
    """Return what passes progress on to the user; the number of the component is how many are found."""
    if on_step is None:
        return no_report
    started = time.perf_counter()

    def report(stage: str, iteration: int, variance: float, upper: float | None = None) -> None:
        seconds = time.perf_counter() - started
        bound = None if upper is None else unit**2 * upper
        on_step(Step(stage, len(found), iteration, unit**2 * variance, bound, seconds))

    return report


def _component(op: OperatorMixin, found: Found | Component, unit: float, before: float) -> tuple[Component, Array]:
    """Return a component as it is reported, in the units of the user, and its scores in those of op."""
    used = found.loadings != 0.0
    support, loadings = found.support[used], oriented(found.loadings[used], op.dtype)
    scores = op.scores(support, loadings)
    component = Component(
        support=support,
        loadings=loadings,
        variance=unit**2 * (float(scores @ scores) - op.offset),
        n_features=op.shape[1],
        n_iter=found.n_iter,
        converged=found.converged,
        passes=op.passes - before,
        relaxed_variance=None if found.relaxed_variance is None else unit**2 * found.relaxed_variance,
        inclusion_probability=found.inclusion_probability,
        swap_optimal=found.swap_optimal,
        certificate=None if found.certificate is None else found.certificate.in_units(unit**2),
    )
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
