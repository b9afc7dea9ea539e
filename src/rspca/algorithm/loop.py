"""From a way to find one component, or all at once, to the components that are reported."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.deflate import DEFLATIONS, Deflation
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.results import Component, OnComponent
from rspca.base.types import Array, OnStep, Step
from rspca.linalg.vectors import first_largest, oriented, top_k
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced


class Proof(Protocol):
    """What the loop asks of a proof that comes with a component."""

    def in_units(self, factor: float) -> Any:
        """Return the proof with all variances multiplied by a factor."""


class Found(NamedTuple):
    """One component before it is reported."""

    support: Array
    loadings: Array
    n_iter: int = 1
    converged: bool = True
    relaxed_variance: float | None = None
    inclusion_probability: Array | None = None
    swap_optimal: bool | None = None
    certificate: Proof | None = None


class Teller(Protocol):
    """What a finder tells of its progress, in the units of the operator that it was given."""

    def __call__(self, stage: str, iteration: int, variance: float, upper: float | None = None) -> None:
        """Tell it."""


Finder = Callable[[OperatorMixin, int, Teller], Found]
JointFinder = Callable[[OperatorMixin, list[int], Teller], Iterable[Found]]


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


def one_after_another(
    find: Finder, op: OperatorMixin, ks: list[int], *, deflation: str | Deflation, on_step: OnStep | None = None,
    on_component: OnComponent | None = None, earlier: Sequence[Component] = (),
) -> list[Component]:  # fmt: skip
    """Find a component, deflate, and go on with what is left, until there are enough or nothing is left.

    The data are deflated by `earlier` components just as they were when these were found, so a loop that goes on after
    them finds what one loop over all would have found, to the last bit.
    """
    found = list(earlier)
    op, unit = balanced(op)
    tell = _teller(on_step, found, unit)
    total = float(op.sq_norms.sum())
    op.shared_work["count"] = len(ks)
    deflate = DEFLATIONS[deflation] if isinstance(deflation, str) else deflation
    op = deflated(op, found, deflate) if len(found) < len(ks) else op
    for number, k in enumerate(ks[len(found) :], len(found)):
        if op.sq_norms.sum() <= budgets.NO_VARIANCE_EPS * np.finfo(op.dtype).eps * total:
            _report_rank(number, len(ks), exact=deflation == "schur")
            break
        before = op.passes
        component, scores = _component(op, find(op, k, tell), unit, before)
        if on_component is not None:  # before it is told: what is reported as found has been kept
            on_component(component)
        tell("component", number, component.variance / unit**2)
        found.append(component)
        if number + 1 < len(ks):
            op = deflate(op, component.dense(), scores, [c.dense() for c in found[:-1]])
    return found


def deflated(op: OperatorMixin, components: Sequence[Component], deflate: Deflation) -> OperatorMixin:
    """Return what components, in the order in which they were found, leave of op."""
    vectors = [one.dense() for one in components]
    for number, one in enumerate(components):
        op = deflate(op, vectors[number], op.scores(one.support, one.loadings), vectors[:number])
    return op


def all_at_once(
    find: JointFinder, op: OperatorMixin, ks: list[int], *, normalization: str, on_step: OnStep | None = None
) -> list[Component]:
    """Report what a method finds that keeps its components apart by itself: all of them belong to the same X.

    `find` returns or yields at most len(ks) findings, fewer if the rank of X allows no more. Loadings are refitted to
    what the components before leave of X: on X itself the best loadings are those of the first component again.
    """
    found = list[Component]()
    op, unit = balanced(op)
    tell = _teller(on_step, found, unit)
    left, before = op, op.passes
    for one in find(op, ks, tell) if op.sq_norms.any() else ():
        loadings = NORMALIZATIONS[normalization](left, one.support, one.loadings)
        component, _ = _component(op, one._replace(loadings=loadings), unit, before)
        if normalization != "naive" and len(found) + 1 < len(ks):
            own = left.scores(component.support, component.loadings)
            left = DEFLATIONS["schur"](left, component.dense(), own, [other.dense() for other in found])
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
    return int(np.count_nonzero(values > budgets.NO_VARIANCE_EPS * np.finfo(op.dtype).eps * float(op.sq_norms.sum())))


def _teller(on_step: OnStep | None, found: list[Component], unit: float) -> Teller:
    """Return what passes progress on: which component is being sought follows from how many are found."""
    started = time.perf_counter()

    def tell(stage: str, iteration: int, variance: float, upper: float | None = None) -> None:
        if on_step is not None:
            seconds = time.perf_counter() - started
            bound = None if upper is None else unit**2 * upper
            on_step(Step(stage, len(found), iteration, unit**2 * variance, bound, seconds))

    return tell


def _component(op: OperatorMixin, one: Found, unit: float, before: float) -> tuple[Component, Array]:
    """Return a finding as it is reported, in the units of the user, and its scores in those of op."""
    kept = one.loadings != 0.0
    support, loadings = one.support[kept], oriented(one.loadings[kept], op.dtype)
    scores = op.scores(support, loadings)
    component = Component(
        support=support, loadings=loadings, variance=unit**2 * (float(scores @ scores) - op.offset),
        n_features=op.shape[1], n_iter=one.n_iter, converged=one.converged, passes=op.passes - before,
        relaxed_variance=None if one.relaxed_variance is None else unit**2 * one.relaxed_variance,
        inclusion_probability=one.inclusion_probability, swap_optimal=one.swap_optimal,
        certificate=None if one.certificate is None else one.certificate.in_units(unit**2),
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
