"""The path over k: variance, proven bound and gap for each k, and a k to begin with."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rspca.algorithm.component import Options, check_memory, rspca_component
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.loop import eligible_features
from rspca.algorithm.polish import climb, refit
from rspca.base.checks import as_generator, check_choice, check_integer, check_listener, check_real
from rspca.base.types import Array, OnStep, Step, no_report
from rspca.certificates.certify import certify_prepared
from rspca.certificates.progress import only_compiling
from rspca.certificates.strategy import ProofState
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import oriented, spread, unit
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced
from rspca.operators.prepared import SampleArguments, checked_samples, operator_of, prepared


class PathPoint(NamedTuple):
    """The best component found with k features."""

    k: int
    variance: float
    share: float
    """variance / ||X||_2^2: what it has of the first principal component's."""
    upper: float | None
    """Proven: no k features have more. None if that was not asked for."""
    gap: float | None
    """(upper - variance) / variance."""
    support: Array
    loadings: Array
    """Of unit length, one for each feature of the support; the largest is positive."""


class Path(tuple[PathPoint, ...]):
    """Points by increasing k; prints as a table. `suggested` is a k to begin with, and `why` says why."""

    suggested: int
    why: str

    def __new__(cls, points: Iterable[PathPoint] = ()) -> Path:
        """Return the points with the k that they suggest."""
        self = super().__new__(cls, points)
        self.suggested, self.why = suggestion([p.k for p in self], [p.share for p in self])
        return self

    def __str__(self) -> str:
        """Return the points as a table, and the suggestion."""
        lines = [f"{'k':>7}{'variance':>14}{'share':>9}{'upper':>14}{'gap':>10}"]
        for p in self:
            proven = f"{p.upper:>14.6g}{p.gap:>10.2e}" if p.upper is not None else f"{'-':>14}{'-':>10}"
            lines.append(f"{p.k:>7}{p.variance:>14.6g}{p.share:>9.4f}{proven}")
        return "\n".join([*lines, f"k = {self.suggested}: {self.why}"])


def path(
    X: Any,
    ks: Sequence[int],
    *,
    certify: bool = False,
    seconds: float = 60.0,
    center: bool = True,
    scale: bool | str = False,
    sample_weight: Any = None,
    covariates: Any = None,
    missing: str = "error",
    random_state: Any = 0,
    on_step: OnStep | None = None,
    on_rows: Callable[[Path], None] | None = None,
) -> Path:
    """Return the first component for each k, each started from its neighbors too, with bounds if `certify`.

    `seconds` is the time for all the proofs together. `on_rows` is called with what there is so far, whenever a k is
    found and whenever one is proven: so much can be kept if this is stopped. `sample_weight`, `covariates` and
    `missing` are those of :func:`decompose`.

    Examples
    --------
    >>> import rspca
    >>> found = rspca.path(rspca.GramOperator(rspca.datasets.load_pitprops()), range(1, 14), certify=True)
    >>> found.suggested, all(point.gap <= 1e-6 for point in found)
    (7, True)
    """
    check_choice("certify", certify, (True, False))
    check_real("seconds", seconds, 0.0, strict=True)
    check_listener("on_step", on_step)
    check_listener("on_rows", on_rows)
    try:
        each = list(ks)
    except TypeError:
        raise TypeError(f"ks={ks!r} must be a list of whole numbers, for example ks=[5, 10, 20, 50].") from None
    given, of_samples = operator_of(X, missing), SampleArguments(sample_weight, covariates, missing)
    samples = checked_samples(given, of_samples, center)
    wanted = sorted({check_integer("k", k, 1, given.shape[1], f" (X has {given.shape[1]} features)") for k in each})
    if not wanted:
        raise ValueError("ks is empty; give the numbers of features to try, for example ks=[5, 10, 20, 50].")
    rng = as_generator(random_state)
    check_memory(given, wanted[-1])
    data = prepared(given, center=center, scale=scale, **samples._asdict())
    op, unit = balanced(data.operator)
    data = data.with_operator(op)
    started, points = time.perf_counter(), dict[int, PathPoint]()
    largest = float(leading_pairs(op, 1, tol=1e-9).values[0])

    def record(k: int, value: float, support: Array, loadings: Array, upper: float | None = None) -> None:
        gap = None if upper is None else (upper - value) / value
        upper = None if upper is None else unit**2 * upper
        points[k] = PathPoint(k, unit**2 * value, value / largest, upper, gap, support, oriented(loadings, op.dtype))
        if on_rows is not None:
            on_rows(_with_shared_bounds(points.values()))

    supports, known = _supports(op, wanted, rng, record), ProofState(op)
    deadline = time.perf_counter() + seconds
    for number, k in enumerate(wanted):
        value, loadings, support = *refit(op.restrict(supports[k]), np.ones(len(supports[k]))), supports[k]
        upper = None
        if certify:
            now = time.perf_counter()
            share = max(deadline - now, 1e-3) / (len(wanted) - number)
            proof = certify_prepared(
                data,
                k,
                support,
                deadline=now + share,
                tol=1e-6,
                rng=np.random.default_rng(0),
                known=known,
                on_step=only_compiling(on_step),
            )
            upper, value, support, loadings = proof.upper, proof.lower, proof.support, proof.loadings
        record(k, value, support, loadings, upper)
        if on_step is not None:
            point = points[k]
            on_step(Step(f"k = {k}", 0, number + 1, point.variance, point.upper, time.perf_counter() - started))
    return _with_shared_bounds(points.values())


def _with_shared_bounds(found: Iterable[PathPoint]) -> Path:
    """Return the path of these points: more features never have less, so a bound for k holds for fewer too."""
    points = list(found)
    for number in range(len(points) - 2, -1, -1):
        point, bound = points[number], points[number + 1].upper
        if point.upper is not None and bound is not None and bound < point.upper:
            points[number] = point._replace(upper=bound, gap=(bound - point.variance) / point.variance)
    return Path(points)


def suggestion(ks: Sequence[int], shares: Sequence[float]) -> tuple[int, str]:
    """Return the k after which the curve flattens: farthest above the straight line between its ends, k on a log scale.

    It is where a feature more begins to add less than the average feature of the range did; nothing statistical.
    """
    if len(ks) < 3:
        return ks[-1], "the largest tried; give three or more values of k for a suggestion"
    x, y = np.log(np.asarray(ks, dtype=float)), np.asarray(shares, dtype=float)
    line = y[0] + (y[-1] - y[0]) * (x - x[0]) / (x[-1] - x[0])
    best = int(np.argmax(y - line))
    if best == 0:
        return ks[-1], "the largest tried: the share grows faster and faster up to there, so try larger k"
    return ks[best], (
        f"the curve of share against log k bends most here: {ks[best]} features have {100 * y[best]:.3g} % of the "
        f"variance of the first principal component, {ks[-1]} have {100 * y[-1]:.3g} %"
    )


def _supports(
    op: OperatorMixin, ks: list[int], rng: np.random.Generator, record: Callable[[int, float, Array, Array], None]
) -> dict[int, Array]:
    """Return the best support known for each k: found afresh, grown from a smaller k, or pruned from a larger one.

    `record` is called with those found afresh.
    """
    choice = Choice(eligible_features(op))
    best: dict[int, tuple[float, Array]] = {}
    for k in ks:
        found = rspca_component(op, k, no_report, options=Options(), normalization="svd", rng=rng).support
        value, loadings = refit(op.restrict(found), np.ones(len(found)))
        best[k] = (value, found)
        record(k, value, found, loadings)
    for order in (ks, ks[::-1]):  # up, each from the one before; then down
        for before, k in itertools.pairwise(order):
            support = best[before][1]
            part = op.restrict(support)
            _, loadings = refit(part, np.ones(len(support)))
            gradient = op.gradient(part, support, loadings)
            ranking = np.abs(spread(loadings, support, len(gradient))) if k < before else np.abs(gradient)
            if k > before:
                ranking[support] = np.inf  # all of the smaller support, and the most promising others
            start = choice.largest(ranking, k)
            v = spread(unit(np.where(gradient == 0.0, 1e-12, gradient)[start]), start, len(gradient))
            end = climb(op, v, min(k, len(choice.features)), choice=choice, tol=1e-9, max_iter=30)
            if end.variance > best[k][0] * (1.0 + 1e-12):
                best[k] = (end.variance, end.support)
    return {k: support for k, (_, support) in best.items()}
