"""Every method on the same data at the same number of non-zeros, both normalizations: the paper's protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rspca.algorithm.component import check_memory
from rspca.algorithm.feature_limits import binding_limits
from rspca.algorithm.joint.modes import MODES
from rspca.algorithm.loop import refitted
from rspca.algorithm.results import Component
from rspca.analysis.compare_sets import SetComparison, compare_sets
from rspca.base.arguments import argument
from rspca.base.checks import (
    TooLarge,
    as_generator,
    check_choice,
    check_listener,
    check_n_components,
    check_real,
    check_sparsity,
)
from rspca.base.types import OnStep, Step
from rspca.certificates.certificate import Certificate
from rspca.certificates.certify import certify_within
from rspca.certificates.progress import only_compiling
from rspca.linalg.eigen import leading_pairs
from rspca.methods import METHODS
from rspca.operators.prepared import SampleArguments, checked_samples, operator_of, prepared


class Compared(NamedTuple):
    """One method with one normalization, first component."""

    method: str
    normalization: str
    nonzeros: int
    variance: float
    share: float
    """variance / ||X||_2^2"""
    seconds: float
    passes: float
    overlap: float
    """Share of its support that is also in the support of the best row."""
    of_bound: float | None = None
    """variance / the proven upper bound for this number of non-zeros: 1 is proven optimal. None for `pca`."""


class Comparison(tuple[Compared, ...]):
    """Rows of a comparison, best first; prints as a table."""

    skipped: dict[str, str]
    """Methods that refused data of this size, with their reasons."""
    certificate: Certificate | None
    """What is proven of all k features; its ``upper`` is the bound that every method is compared with."""

    def __new__(
        cls,
        rows: Iterable[Compared] = (),
        skipped: dict[str, str] | None = None,
        certificate: Certificate | None = None,
    ) -> Comparison:
        """Return the rows, with the methods that have none, and what no method can exceed."""
        self = super().__new__(cls, rows)
        self.skipped, self.certificate = dict(skipped or {}), certificate
        return self

    def __str__(self) -> str:
        """Return the rows as a table, and below it what was proven and what was skipped."""
        head = f"{'method':<12}{'loadings':<10}{'non-zeros':>9}{'share':>10}{'of bound':>10}{'overlap':>9}{'passes':>8}"
        lines = [
            f"{r.method:<12}{r.normalization:<10}{r.nonzeros:>9}{r.share:>10.4f}{_of_bound(r.of_bound):>10}"
            f"{r.overlap:>9.2f}{r.passes:>8.1f}{r.seconds:>9.3f}"
            for r in self
        ]
        proven = [f"proven: {self.certificate}"] if self.certificate is not None else []
        skipped = [f"{name}: skipped. {reason}" for name, reason in self.skipped.items()]
        return "\n".join([f"{head}{'seconds':>9}", *lines, *proven, *skipped])


def _of_bound(share: float | None) -> str:
    return "-" if share is None else f"{share:.4f}"


def compare(
    X: Any,
    k: int | Sequence[int],
    *,
    n_components: int = 1,
    methods: Iterable[str] | None = None,
    modes: Iterable[str] | None = None,
    center: bool = True,
    scale: bool | str = False,
    sample_weight: Any = None,
    covariates: Any = None,
    missing: str = "error",
    groups: Any = None,
    max_per_group: int = 1,
    certify_seconds: float | None = 5.0,
    random_state: Any = 0,
    on_step: OnStep | None = None,
    on_rows: Callable[[Any], None] | None = None,
) -> Comparison | SetComparison:
    """Return the first component of every method at k non-zeros, naive and refitted, best first.

    Each method runs once; its support is then refitted. A method that finds fewer than k features, because of ties or
    because it leaves some at zero, says so in `nonzeros`. One that refuses data of this size is in `skipped`, with its
    reason. `pca` is listed once, dense, as the yardstick: its share is 1. `certify_seconds` is the time for a proven
    bound on what any k features can have; None leaves it out. `on_rows` is called after each row with those so far,
    which have no bound yet: so much can be kept if this is stopped. `sample_weight`, `covariates` and `missing`
    are those of :func:`decompose`, and so are `groups` and `max_per_group`: methods that know no groups are skipped.

    With `n_components` > 1 the sets of components are compared, each method's found one by one and, starting from those
    of "rspca", found together in every one of the `modes` ("joint", "orthogonal", "uncorrelated", "disjoint",
    "shared"): adjusted, subspace and reconstruction variance, cosines, correlations. `k` may then be a list.

    Examples
    --------
    >>> import rspca
    >>> rows = rspca.compare(rspca.GramOperator(rspca.datasets.load_pitprops()), 5)
    >>> [(r.method, round(r.share, 3)) for r in rows if r.method != "pca"][0]
    ('rspca', 0.807)
    """
    if isinstance(methods, str) or not isinstance(methods, Iterable | None):
        raise TypeError(f"methods={methods!r} must be a list of names, for example ['rspca', 'maxcomp'].")
    check_listener("on_step", on_step)
    check_listener("on_rows", on_rows)
    names = list(METHODS) if methods is None else list(methods)
    for name in names:
        check_choice("method", name, METHODS)
    given, of_samples = operator_of(X, missing), SampleArguments(sample_weight, covariates, missing)
    samples = checked_samples(given, of_samples, center)
    check_n_components(n_components, given.shape)
    ks = check_sparsity(k, n_components, given.shape[1])
    limits = binding_limits(groups, max_per_group, X, given.shape[1], max(ks))
    if groups is not None and n_components > 1:
        raise ValueError(f"{argument('groups')} goes with one component; leave out {argument('n_components')}.")
    chosen_modes = compared_modes(modes, n_components, ks)
    as_generator(random_state)
    if certify_seconds is not None:
        check_real("certify_seconds", certify_seconds, 0.0, strict=True)
    check_memory(given, max(ks), sketched="rspca" in names, n_components=n_components)
    data = prepared(given, center=center, scale=scale, n_components=n_components, **samples._asdict())
    if n_components > 1:
        return compare_sets(
            data,
            ks,
            names,
            chosen_modes,
            certify_seconds=certify_seconds,
            seed=lambda: as_generator(random_state),
            on_step=on_step,
            on_rows=on_rows,
        )
    k = ks[0]
    op = data.operator
    largest = float(leading_pairs(op, 1, tol=1e-9).values[0])
    found, skipped = list[_Found](), dict[str, str]()
    started = time.perf_counter()
    for name in names:
        began = time.perf_counter()
        if groups is not None and not (METHODS[name].rounds or METHODS[name].dense):
            skipped[name] = f"{argument('method', name)} knows no groups."
            continue
        options: dict[str, Any] = {"groups": limits} if METHODS[name].rounds else {}
        try:
            component = METHODS[name](op, 1, k, normalization="naive", rng=as_generator(random_state), **options)[0]
        except TooLarge as reason:
            skipped[name] = str(reason)
            continue
        for loadings in ("dense",) if METHODS[name].dense else ("naive", "svd"):
            component = refitted(op, component) if loadings == "svd" else component
            found.append(_Found(name, loadings, component, time.perf_counter() - began))
            if on_rows is not None:
                on_rows(_compared(found, skipped, largest, k))
            if on_step is not None:
                seconds = time.perf_counter() - started
                on_step(Step(f"{name} {loadings}", 0, len(found), component.variance, None, seconds))
    proof = None
    if certify_seconds is not None:
        by_variance = sorted(found, key=lambda row: -row.component.variance)
        leader = next((row.component.support for row in by_variance if len(row.component.support) <= k), None)
        deadline, rng = time.perf_counter() + certify_seconds, np.random.default_rng(0)
        compiling = only_compiling(on_step)
        proof = certify_within(data, k, leader, limits, deadline=deadline, tol=1e-6, rng=rng, on_step=compiling)
    return _compared(found, skipped, largest, k, proof)


def compared_modes(modes: Iterable[str] | None, n_components: int, ks: list[int]) -> list[str]:
    """Return the modes to compare: all that suit the sparsity, unless they are named."""
    if modes is None:
        return [name for name, mode in MODES.items() if not mode.is_shared or (len(set(ks)) == 1 and ks[0] >= len(ks))]
    if isinstance(modes, str) or not isinstance(modes, Iterable):
        raise TypeError(f"modes={modes!r} must be a list of names, for example ['joint', 'disjoint'].")
    names = list(modes)
    for name in names:
        check_choice("modes", name, MODES)
    if names and n_components == 1:
        raise ValueError(
            f"{argument('modes', names)} are for several components together: give {argument('n_components')} of at "
            "least 2."
        )
    return names


class _Found(NamedTuple):
    method: str
    normalization: str
    component: Component
    seconds: float


def _best_first(row: _Found) -> tuple[float, bool]:
    """Return a key by which largest variances come first, and of equal ones those of refitted loadings."""
    return -row.component.variance, row.normalization == "naive"


def _compared(
    found: list[_Found], skipped: dict[str, str], largest: float, k: int, proof: Certificate | None = None
) -> Comparison:
    """Return the components as rows, best first, compared with the best of them and with what is proven."""
    ordered = sorted(found, key=_best_first)
    best = next((row.component.support for row in ordered if not METHODS[row.method].dense), None)
    rows = (
        Compared(
            method=name,
            normalization=loadings,
            nonzeros=len(component.support),
            variance=component.variance,
            share=component.variance / largest,
            seconds=seconds,
            passes=component.passes,
            overlap=1.0 if best is None else len(np.intersect1d(component.support, best)) / len(component.support),
            of_bound=float(component.variance / proof.upper)
            if proof is not None and len(component.support) <= k
            else None,
        )
        for name, loadings, component, seconds in ordered
    )
    return Comparison(rows, skipped, proof)
