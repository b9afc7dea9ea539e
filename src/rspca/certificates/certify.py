"""certify: how far k features are from the best k features, proven, within the time given."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rspca.algorithm.component import Options, check_memory, relaxed_near, rspca_component
from rspca.algorithm.deflate import DEFLATIONS
from rspca.algorithm.feature_limits import Choice, Groups, check_enough
from rspca.algorithm.feature_limits import limits as feature_limits
from rspca.algorithm.loop import Prover, deflated, eligible_features
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.results import Component
from rspca.base.arguments import argument
from rspca.base.checks import as_generator, check_choice, check_listener, check_real, check_sparsity, check_vector
from rspca.base.memory import has_room
from rspca.base.types import Array, OnStep, Report, Step, no_report
from rspca.certificates import budgets, strategy
from rspca.certificates.bounds.gram import EPS, top_sum
from rspca.certificates.bounds.limits import words_of
from rspca.certificates.certificate import Certificate, status_of
from rspca.certificates.in_memory import among
from rspca.certificates.precision import sq_norms
from rspca.certificates.progress import Progress
from rspca.certificates.proof_state import Certified, ProofState
from rspca.certificates.steps import step_by_step
from rspca.linalg.vectors import inclusion_probabilities, oriented, unit
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced
from rspca.operators.prepared import (
    NOTHING_GIVEN,
    Prepared,
    SampleArguments,
    checked_samples,
    operator_of,
    prepared,
)
from rspca.operators.standardized import Scaled


def certify(
    X: Any,
    k: int,
    *,
    loadings: Any = None,
    after: Any = None,
    deflation: str = "schur",
    seconds: float = 30.0,
    tol: float = 1e-6,
    center: bool = True,
    scale: bool | str = False,
    groups: Any = None,
    max_per_group: int = 1,
    of_samples: SampleArguments = NOTHING_GIVEN,
    random_state: Any = 0,
    on_step: OnStep | None = None,
) -> Certificate:
    """Return a proven interval for the largest variance v'X'Xv of unit vectors v with k features.

    The arguments are those of :func:`rspca.certify`.
    """
    deadline = time.perf_counter() + check_real("seconds", seconds, 0.0, strict=True)
    check_real("tol", tol, 0.0, strict=True)
    check_listener("on_step", on_step)
    given = operator_of(X, of_samples.missing)
    k = check_sparsity(k, 1, given.shape[1])[0]
    check_memory(given, k)
    limits = feature_limits(groups, max_per_group, given.shape[1], getattr(X, "features", None))
    check_enough(limits, max_per_group, given.shape[1], k)
    start = None if loadings is None else _given_support(loadings, k, given.shape[1], limits)
    rng = as_generator(random_state)
    data = _left_by(_components(after, given.shape[1]), given, deflation, center, scale, of_samples)
    return certify_within(data, k, start, limits, deadline=deadline, tol=tol, rng=rng, on_step=on_step)


def variance_given(
    X: Any,
    loadings: Any,
    *,
    after: Any = None,
    deflation: str = "schur",
    center: bool = True,
    scale: bool | str = False,
    of_samples: SampleArguments = NOTHING_GIVEN,
) -> float:
    """Return v'X'Xv of the loadings, scaled to unit length, in what earlier components leave: what `certify` bounds."""
    given = operator_of(X, of_samples.missing)
    vector = check_vector("loadings", loadings, given.shape[1])
    before = _components(after, given.shape[1])
    support = np.flatnonzero(vector)
    op = _left_by(before, given, deflation, center, scale, of_samples).operator
    return op.to_float64().attained(support, unit(vector[support]))


def _left_by(
    before: list[Component],
    given: OperatorMixin,
    deflation: str,
    center: bool,
    scale: bool | str,
    of_samples: SampleArguments,
) -> Prepared:
    """Return the data, prepared, as earlier components leave them.

    Scores of vectors that nearly depend on each other have digits that a Gram matrix has not: then X itself is used.
    """
    check_choice("deflation", deflation, set(DEFLATIONS) - {"hotelling"})
    samples = checked_samples(given, of_samples, center)
    data = prepared(given, center=center, scale=scale, n_components=0 if before else 1, **samples._asdict())
    left = deflated(data.operator, before, DEFLATIONS[deflation])
    return data.with_operator(left, *given_earlier(len(before)))


def certify_prepared(
    data: Prepared,
    k: int,
    start: Array | None,
    *,
    deadline: float,
    tol: float,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
    known: ProofState | None = None,
    limits: Groups | None = None,
) -> Certificate:
    """Certify data that are prepared, and perhaps deflated; `known` is what an earlier call proved of them.

    With `limits`, only supports that groups allow are in question, and `start` must be one of them.
    """
    op = data.operator
    if op.offset:
        raise ValueError("Hotelling deflation leaves a matrix that is not semidefinite: it cannot be certified.")
    began = time.perf_counter()
    given, size = balanced(op)
    known = ProofState(given, limits) if known is None else known
    if known.groups is not limits:
        raise RuntimeError("What was proven before is of other groups: please report this.")
    op = known.op
    eligible = eligible_features(op)
    if not len(eligible) or (op.has_samples and (op.sq_norms <= op.rounding() ** 2).all()):
        raise ValueError("X has no variance beyond rounding: there is nothing to certify.")
    choice = Choice(eligible, known.groups)
    k = min(k, choice.most)
    stopped_by = "nothing left to try"
    try:
        supports = [_found_support(known, k, rng)]
    except KeyboardInterrupt:
        supports, stopped_by = [choice.largest(op.sq_norms, k)], "interrupt"
    if start is not None and len(start := np.intersect1d(start, eligible)):
        supports.append(start)
    best = max((_evaluated(op, support) for support in supports), key=lambda pair: pair[1])
    run = Progress(*best, tol=tol, deadline=deadline, on_step=on_step, limits=known.limits)
    try:
        if stopped_by != "interrupt":
            _prove(run, known, k, eligible)
        if run.out_of_time():
            stopped_by = "time"
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    run.on_step = None
    if not np.isfinite(run.upper):
        run.proven("trace", float(top_sum(sq_norms(op), k)), 0.0)
    margin = rounding_margin(op, k, run.upper, eligible)
    support, lower = _evaluated(op, run.support)
    if run.upper + margin < (1.0 - budgets.CONTRADICTION) * lower:
        raise RuntimeError(f"The bound {run.upper} is below the variance {lower} of a support: please report this.")
    upper = max(float(run.upper) + margin, lower)
    known.proven[k] = min(known.proven.get(k, np.inf), upper)
    status = status_of(lower, upper, tol)
    values = oriented(best_loadings(op, support))
    found = Certificate(
        k=k,
        lower=lower,
        upper=upper,
        status=status,
        stopped_by="proof" if status == "optimal" else stopped_by,
        support=support,
        loadings=values,
        bounds=tuple(bound for bound in run.bounds if np.isfinite(bound.value)),
        assumptions=data.description,
        margin=margin,
        survivors=run.survivors,
        nodes=run.nodes,
        engine=run.engine,
        seconds=time.perf_counter() - began,
        n_features=op.shape[1],
        center=data.center,
        scale=data.scale,
        tol=float(tol),
        max_per_group=0 if known.groups is None else known.groups.most,
    )
    return found.in_units(size**2)


def certify_within(data: Prepared, k: int, start: Array | None, limits: Groups | None, **options: Any) -> Certificate:
    """Certify prepared data against the supports that limits allow, and say so in the certificate."""
    return certify_prepared(data.with_operator(data.operator, *words_of(limits)), k, start, limits=limits, **options)


def prover(
    data: Prepared,
    seconds: float,
    *,
    refit: bool,
    deflation: str = "schur",
    s: float | None = None,
    limits: Groups | None = None,
    earlier: Sequence[Component] = (),
    nonnegative: bool = False,
) -> Prover:
    """Return the step of the loop that certifies a component, and replaces it by what the proof improved.

    `seconds` is the time for each component. `refit` says whether loadings may be replaced, `s` and `limits` are those
    of the rounding, `earlier` are the components that there are already, taken off by `deflation`. If loadings must be
    `nonnegative`, none that has a negative one takes their place.
    """
    before = list(earlier)
    unit = balanced(data.operator)[1]

    def in_units(op: OperatorMixin) -> OperatorMixin:
        return op if unit == 1.0 else Scaled(op, np.full(op.shape[1], 1.0 / unit))

    words = words_of(limits)
    if nonnegative:
        words = (*words, "the bound is for loadings of any sign, so it holds where none is negative")

    def may_replace(proof: Certificate) -> bool:
        """Return whether signs allow what the proof found; its largest loading is positive."""
        return not nonnegative or bool((proof.loadings >= 0.0).all())

    def prove(op: OperatorMixin, k: int, component: Component, report: Report) -> Component:
        def on_step(step: Step) -> None:
            report(step.stage, step.iteration, step.variance, step.upper)

        deadline, op = time.perf_counter() + seconds, op.apart()  # the next component does not depend on the proof
        at_most = max(k, len(component.support))  # Algorithm 1 of the paper may draw more than k features
        if hidden_by_forming(op, at_most, component.variance) and columns_fit(data.operator.unformed):
            op = deflated(in_units(data.operator.unformed), before, DEFLATIONS[deflation])
        left = data.with_operator(op, *given_earlier(len(before)), *words)
        rng = np.random.default_rng(0)
        proof = certify_prepared(
            left, at_most, component.support, deadline=deadline, tol=1e-6, rng=rng, on_step=on_step, limits=limits
        )
        support, loadings, probability = component.support, component.loadings, component.inclusion_probability
        better = proof.lower > (1.0 + 1e-9) * component.variance and refit
        if better and may_replace(proof):
            used = proof.loadings != 0.0
            support, loadings = proof.support[used], proof.loadings[used]
            if probability is not None:
                near = relaxed_near(op, support, loadings, Choice(eligible_features(op), limits))
                probability = inclusion_probabilities(near, float(s or k))
        proof = proof.of(support, loadings, op.to_float64().attained(support, loadings))
        report("certified", 0, proof.lower, proof.upper)
        proven = replace(
            component, support=support, loadings=loadings, inclusion_probability=probability, certificate=proof
        )
        before.append(proven)
        return proven

    return prove


def hidden_by_forming(op: OperatorMixin, k: int, variance: float) -> bool:
    """Return whether the error of a formed Gram matrix is too large for a proof: then X itself has more digits."""
    return float(top_sum(op.gram_errors() ** 2, k)) > budgets.FORMED_ERROR * variance


def columns_fit(op: OperatorMixin) -> bool:
    """Return whether the columns of X fit into memory, in float64 and twice."""
    return op.has_samples and has_room(16 * op.shape[0] * op.shape[1])


def given_earlier(count: int) -> tuple[str, ...]:
    """Return in words that earlier components are taken for granted, where there are any."""
    return (f"given the {count} component(s) before it, as deflation left the data",) if count else ()


def _components(after: Any, n: int) -> list[Component]:
    """Return vectors, one or several as rows, or none, as components."""
    return [] if after is None or np.size(after) == 0 else [_as_component(row, n) for row in np.atleast_2d(after)]


def _as_component(v: Any, n: int) -> Component:
    vector = unit(check_vector("after", v, n))
    support = np.flatnonzero(vector)
    return Component(support=support, loadings=vector[support], variance=np.nan, n_features=n)


def _prove(run: Progress, known: ProofState, k: int, eligible: Array) -> None:
    """Try what there is for data of this size, until the gap is closed."""
    op = known.op
    if len(eligible) <= budgets.GRAM_FEATURES:
        among(run, op.gram_block, k, eligible)
        return
    run.survivors = len(eligible)
    run.bound("trace", lambda: float(top_sum(sq_norms(op), k, limits=run.limits)))
    if (other := known.bound_by_other_k(k)) < run.upper:
        run.proven("bound of another k", other, 0.0)
    strategy.by_products(run, known, k, (FEATURE_BY_FEATURE,))


def _by_steps(run: Progress, known: ProofState, k: int) -> None:
    """Certify k = 1, 2, 3, ... in turn, for a share of the time."""
    began = time.perf_counter()
    seconds = strategy.share_of_steps(run, known, k) * run.seconds_left()
    half = Progress(run.support, run.lower, tol=run.tol, deadline=began + seconds, parent=run, limits=run.limits)
    for step in certified_steps(known, k, half):
        if step.k == k:
            run.survivors, run.nodes = step.survivors, half.nodes
            run.reached(step.support, step.lower)
            run.proven("feature by feature", step.upper, time.perf_counter() - began)
        elif time.perf_counter() - began > (step.k / k) ** budgets.STEPS_POWER * seconds:  # it will not arrive
            break


FEATURE_BY_FEATURE = strategy.Stage(
    "feature by feature",
    lambda run, known, k: k <= budgets.STEP_BY_STEP_MAX_K,
    lambda run, known, k: budgets.STEPS_TIME * run.seconds_left(),
    _by_steps,
)


def certified_steps(known: ProofState, most: int, run: Progress) -> Iterator[Certified]:
    """Yield certified results for k = 1, 2, ... as long as elimination leaves few enough features, and time."""
    yield from known.steps[:most]
    rng = np.random.default_rng(0)
    for k in range(len(known.steps) + 1, most + 1):
        if run.out_of_time():
            return
        support, lower = _evaluated(known.op, _found_support(known, k, rng))
        last = known.steps[-1] if known.steps else None
        step = step_by_step(known.op, k, support, lower, last, run, known.limits)
        if step is None:
            return
        known.steps.append(step)
        yield step


def rounding_margin(op: OperatorMixin, k: int, upper: float, eligible: Array) -> float:
    """Return what rounding may hide: of the data as products see them, and of inner products of length m.

    |X_S + E|^2 <= |X_S|^2 + 2 |X_S| |E_S| + |E_S|^2, and |E_S|^2 is at most the sum over the k largest columns.
    Features taken for constant can add no more than their squared norms, which are nothing but rounding.
    """
    norms = sq_norms(op)
    constant = np.ones(len(norms), dtype=bool)
    constant[eligible] = False
    error = float(np.sqrt(top_sum(op.rounding() ** 2, k)))
    products = (op.shape[0] + 16) * EPS * float(top_sum(norms, k))
    formed = float(top_sum(op.gram_errors() ** 2, k))
    return float(2.0 * np.sqrt(upper) * error + error**2 + products + top_sum(norms[constant], k) + formed)


def _given_support(loadings: Any, k: int, n: int, limits: Groups | None) -> Array:
    vector = check_vector("loadings", loadings, n)
    support = np.flatnonzero(vector)
    if not 1 <= len(support) <= k:
        raise ValueError(f"loadings has {len(support)} non-zeros; between 1 and {argument('k', k)} are needed.")
    if limits is not None and not limits.allow(support):
        largest = int(np.bincount(limits.labels[support]).max())
        raise ValueError(
            f"loadings has {largest} features of one group; {argument('max_per_group', limits.most)} allows no more "
            "than that many. Give loadings that keep to it, or none."
        )
    return support


def _evaluated(op: OperatorMixin, support: Array) -> tuple[Array, float]:
    """Return the support with a variance that its best loadings surely have."""
    return support, op.attained(support, best_loadings(op, support))


def best_loadings(op: OperatorMixin, support: Array) -> Array:
    return NORMALIZATIONS["svd"](op, support, np.ones(len(support)))


def _found_support(known: ProofState, k: int, rng: np.random.Generator) -> Array:
    """Return the support that the default method finds, in the data as given if their products show what varies.

    Where even products in float64 show rounding more than what is left, it is the k longest columns.
    """
    for op in (known.given, known.op):
        rounding = float(np.finfo(op.dtype).eps * np.sum(op.rounding_lengths() ** 2))
        most = Choice(eligible_features(op), known.groups).most
        if float(op.sq_norms.sum()) > budgets.FOUND_ROUNDING * rounding and most >= k:
            options = Options(groups=known.groups)
            return rspca_component(op, k, no_report, options=options, normalization="svd", rng=rng).support
    return Choice(eligible_features(known.op), known.groups).largest(known.op.sq_norms, k)


__all__ = ["certified_steps", "certify", "certify_prepared", "prover"]
