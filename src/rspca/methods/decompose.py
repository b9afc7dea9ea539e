"""One decomposition: settings checked without the data, then the data prepared, and a method run on them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rspca.algorithm.component import Options, check_memory
from rspca.algorithm.feature_limits import Choice, Groups, limits
from rspca.algorithm.joint.constraints import check_feasible, check_shared
from rspca.algorithm.joint.modes import Mode, chosen_mode
from rspca.algorithm.joint.task import SparseVector
from rspca.algorithm.loop import LoopOptions
from rspca.algorithm.results import Component, Decomposition
from rspca.base.arguments import argument
from rspca.base.checks import (
    as_generator,
    check_choice,
    check_listener,
    check_n_components,
    check_options,
    check_real,
    check_sparsity,
)
from rspca.base.memory import keep_freed_blocks
from rspca.base.threads import small_products_in_one_thread, threads_for
from rspca.base.types import Array, OnStep
from rspca.certificates.certify import prover
from rspca.certificates.joint import JointCertificate, certify_joint_prepared
from rspca.genetics.clumps import clumps, r2_limit
from rspca.linalg.explained_variance import added_squares, largest_cosine
from rspca.linalg.structure import structure_of
from rspca.linalg.vectors import spread_columns
from rspca.methods import METHODS, PARTS
from rspca.methods.combinations import TOGETHER, check_combination
from rspca.methods.registry import Method, MethodSettings
from rspca.methods.together import Restrictions, together
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced
from rspca.operators.missing import check_missing
from rspca.operators.prepared import Prepared, SampleArguments, checked_samples, data_operator, prepared

OPTIONS = {name: value for name, value in Options()._asdict().items() if name != "groups"}
"""Options of method="rspca" that are arguments of `decompose`, with their defaults."""


class Settings(NamedTuple):
    """How components are found, checked as far as that is possible without the data; `checked_settings` makes them."""

    method: Method
    run: MethodSettings
    rng: np.random.Generator
    n_components: Any
    k: Any
    side: str
    k_samples: Any
    center: Any
    scale: Any
    groups: Any
    max_per_group: Any
    certify: bool
    certify_seconds: float
    mode: Mode | None
    """How components are found together; None if one by one."""
    nonnegative: bool
    missing: str = "error"


def checked_settings(given: Mapping[str, Any]) -> Settings:
    """Return settings from arguments of `decompose`; raise for unknown names and values before any work starts."""
    known = METHODS | PARTS
    check_choice("method", given["method"], known)
    method, options = known[given["method"]], {name: given[name] for name in OPTIONS}
    deflation = given["deflation"]
    run = METHODS["rspca"].checked(given["normalization"], deflation, options)  # whose options these are
    check_combination(given)
    r2_limit(given["groups"])
    if not method.rounds:
        check_options(options, OPTIONS, method.name)
        run = run._replace(options={})
    side = given.get("side", "features")
    check_choice("side", side, ("features", "both"))
    mode = chosen_mode(**{name: given[name] for name in TOGETHER})
    _check_certifiable(method, deflation, given["certify"], given["certify_seconds"], mode)
    rest = {name: given[name] for name in ("n_components", "k", "center", "scale", "groups", "max_per_group")}
    return Settings(
        method=method,
        run=run,
        rng=as_generator(given["random_state"]),
        side=side,
        k_samples=given.get("k_samples"),
        certify=given["certify"],
        certify_seconds=given["certify_seconds"],
        mode=mode,
        nonnegative=given["nonnegative"],
        missing=check_missing(given.get("missing", "error")),
        **rest,
    )


def decompose_checked(
    X: Any, settings: Settings, loop: LoopOptions, sample_weight: Any = None, covariates: Any = None
) -> Decomposition:
    """Return sparse principal components for settings that are checked; what depends on the data is checked here."""
    check_listener("on_step", loop.on_step)
    check_listener("on_component", loop.on_component)
    op, method = data_operator(X, settings.missing), settings.method
    n_components, rng = settings.n_components, settings.rng
    n = op.shape[1]
    ks = check_sparsity(settings.k, check_n_components(n_components, op.shape), n)
    ks_samples = _sample_sparsity(settings, op)
    method.check_earlier(loop.earlier, n_components, n)
    limits = _limits(settings, X, op, max(ks))
    _check_feasible(settings, ks, op, limits)
    if settings.run.deflation == "hotelling" and op.has_samples:
        raise ValueError(
            f"{argument('deflation', 'hotelling')} is for a Gram matrix: give GramOperator(A), or choose 'schur'."
        )
    given = SampleArguments(sample_weight, covariates, settings.missing)
    samples = checked_samples(op, given, settings.center)
    if ks_samples and (samples.weights is not None or samples.design is not None):
        raise ValueError(
            "side='both' chooses samples too, which neither sample_weight nor covariates can have a say in. Leave them "
            "out, or give side='features'."
        )
    before = op.passes
    sketched = method.rounds and settings.run.options["solver"] == "linearized"
    check_memory(op, max(ks), sketched=sketched, n_components=n_components)
    keep_freed_blocks()
    data = prepared(op, center=settings.center, scale=settings.scale, n_components=n_components, **samples._asdict())
    op, run, prove = data.operator, settings.run, None
    if method.rounds:
        run = run._replace(options={**run.options, "groups": limits})
    if settings.certify and settings.mode is None:
        seconds, refit = settings.certify_seconds / n_components, run.normalization == "svd"
        s = run.options.get("s")
        deflation, earlier = run.deflation, loop.earlier
        prove = prover(
            data,
            seconds,
            refit=refit,
            deflation=deflation,
            s=s,
            limits=limits,
            earlier=earlier,
            nonnegative=run.options.get("nonnegative", False),
        )
    with threads_for(op):
        components = method.run(op, ks, run, rng, loop, prove)
        left = method.run(op.transposed(), ks_samples, run, rng, LoopOptions(loop.on_step)) if ks_samples else []
        joined = _together(data, components, ks, settings, limits, loop.on_step)
        components = joined.components
        with small_products_in_one_thread():
            measured, unit = balanced(op)
            scores = np.column_stack([measured.scores(c.support, c.loadings) for c in components])
            passes = op.passes - before
            structure = structure_of(scores, np.asarray(measured.rmatmat(scores), dtype=np.float64), measured.sq_norms)
    return Decomposition(
        components=components,
        method=method.name,
        mean=np.array(data.mean),
        scale=np.array(data.divisor),
        sample_components=left,
        explained_variance=unit**2 * added_squares(scores),
        total_variance=float(op.sq_norms.sum() - op.offset * n),
        orthogonality=largest_cosine(_used_rows(components)),
        score_correlation=largest_cosine(scores),
        passes=passes,
        structure=structure.coefficients,
        reconstruction=unit**2 * structure.reconstruction,
        has_samples=op.has_samples,
        n_samples=data.n_samples,
        total_weight=data.total_weight,
        fill=data.fill,
        missing_share=data.missing_share,
        taken_off=data.taken_off,
        preparation=data.description,
        joint_gain=joined.gain,
        joint_certificate=joined.certificate,
    )


class _Joined(NamedTuple):
    components: list[Component]
    gain: float | None = None
    certificate: JointCertificate | None = None


def _together(
    data: Prepared,
    components: list[Component],
    ks: list[int],
    settings: Settings,
    limits: Groups | None,
    on_step: OnStep | None,
) -> _Joined:
    """Return components found together, beginning with those found one by one, and what is proven of the set."""
    mode = settings.mode
    if mode is None:
        return _Joined(components)
    rng, kept_to = settings.rng.spawn(1)[0], Restrictions(limits, settings.nonnegative)
    found = together(data.operator, components, ks, mode, kept_to, rng, on_step)
    proof = None
    if settings.certify:
        proof = certify_joint_prepared(
            data,
            ks[: len(components)],
            [SparseVector(c.support, c.loadings) for c in found.components],
            constraint=mode.constraint,
            shared=mode.measured_by(nonnegative=settings.nonnegative) == "shared",
            nonnegative=settings.nonnegative,
            limits=limits,
            deadline=time.perf_counter() + settings.certify_seconds,
            tol=1e-6,
            rng=np.random.default_rng(0),
            on_step=on_step,
        )
    return _Joined(found.components, found.gain if mode.name == "joint" else None, proof)


def _check_feasible(settings: Settings, ks: list[int], op: OperatorMixin, limits: Groups | None) -> None:
    """Refuse what no components can satisfy, before the data are read."""
    mode = settings.mode
    if mode is None:
        return
    if mode.is_shared:
        check_shared(ks)
    if mode.constraint is not None:
        m, n = op.shape
        samples = m if op.has_samples else None
        check_feasible(mode.constraint, ks, n, limits, nonnegative=settings.nonnegative, samples=samples)


def _used_rows(components: list[Component]) -> Array:
    """Return components as columns, with rows only for the features that any of them uses."""
    used = np.unique(np.concatenate([c.support for c in components]))
    return spread_columns([(c.loadings, np.searchsorted(used, c.support)) for c in components], len(used))


def _check_certifiable(method: Method, deflation: str, certify: bool, seconds: float, mode: Mode | None) -> None:
    """Refuse certificates of what cannot have them."""
    check_choice("certify", certify, (True, False))
    check_real("certify_seconds", seconds, 0.0, strict=True)
    if certify and not method.certifiable and mode is None:
        why = "uses all features" if method.dense else "finds them together"
        raise ValueError(
            f"{argument('certify', True)} certifies components of k features found one after another; "
            f"{argument('method', method.name)} {why}. "
            "Choose another method, or give its components to rspca.certify one by one."
        )
    if certify and deflation == "hotelling":
        raise ValueError(
            f"{argument('certify', True)} needs a deflation that leaves the data positive semidefinite: choose "
            "'schur', 'projection' or 'orthogonal' instead of 'hotelling'."
        )


def _limits(settings: Settings, X: Any, op: OperatorMixin, k: int) -> Groups | None:
    """Return how many features each group may have, or None; refuse methods that know no groups."""
    groups, most_each, options = settings.groups, settings.max_per_group, settings.run.options
    n = op.shape[1]
    features, r2 = getattr(X, "features", None), r2_limit(groups)
    if r2 is not None:
        groups = clumps(op, features, r2)
    found = limits(groups, most_each, n, features)
    if found is None:
        return None
    if not settings.method.rounds or options["rounding"] != "exact" or settings.side != "features":
        raise ValueError(
            f"{argument('groups')} needs {argument('method', 'rspca')}, rounding='exact' and side='features': others "
            "know no groups."
        )
    most = Choice(np.arange(n), found).most
    if k > most:
        raise ValueError(
            f"{argument('k', k)} features are asked for, but with {argument('max_per_group', most_each)} the "
            f"groups give {most} at most; lower {argument('k')}, or raise {argument('max_per_group')}."
        )
    return found if int(np.bincount(found.labels).max()) > found.most else None  # limits that bind nowhere are none


def _sample_sparsity(settings: Settings, op: OperatorMixin) -> list[int] | None:
    """Return the number of samples of each left vector, or None if there are none."""
    if settings.side == "features":
        if settings.k_samples is not None:
            raise ValueError("k_samples is the sparsity of the left vectors: it needs side='both'.")
        return None
    if not op.has_samples:
        raise ValueError("side='both' needs samples; a Gram matrix has none.")
    if settings.k_samples is None:
        raise ValueError("side='both' needs k_samples, the number of samples in each left vector.")
    return check_sparsity(settings.k_samples, settings.n_components, op.shape[0], "k_samples", "samples")
