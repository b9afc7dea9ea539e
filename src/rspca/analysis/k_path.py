"""The path over k: variance, proven bound and gap for each k, and a k to begin with."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rspca.algorithm.component import Options, check_memory, rspca_component
from rspca.algorithm.deflate import schur
from rspca.algorithm.feature_limits import Choice, Groups, binding_limits
from rspca.algorithm.loop import eligible_features
from rspca.algorithm.polish import climb, refit
from rspca.analysis.cross_validation import FoldFits, folds_of, one_standard_error
from rspca.base.arguments import argument
from rspca.base.checks import (
    as_generator,
    check_choice,
    check_integer,
    check_listener,
    check_n_components,
    check_real,
    share_as_count,
)
from rspca.base.types import Array, OnStep, Step, no_report
from rspca.certificates.certify import certify_within, given_earlier
from rspca.certificates.progress import only_compiling
from rspca.certificates.proof_state import ProofState
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import oriented, spread, unit
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced
from rspca.operators.prepared import (
    Prepared,
    SampleArguments,
    check_has_samples,
    checked_samples,
    operator_of,
    prepared,
)


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
    held_out: float | None = None
    """Share of the variance of held-out samples, mean over folds. None without cross-validation."""
    held_out_se: float | None = None
    """Its standard error over folds."""


class Path(tuple[PathPoint, ...]):
    """Points by increasing k; prints as a table. `suggested` is a k to begin with, and `why` says why."""

    suggested: int
    why: str
    later: tuple[Path, ...]
    """Paths of the second component, the third, ..., each given those before it at their suggested k."""

    def __new__(cls, points: Iterable[PathPoint] = (), later: Iterable[Path] = ()) -> Path:
        """Return the points with the k that they suggest: by held-out variance if there is any."""
        self = super().__new__(cls, points)
        ks, held_out = [p.k for p in self], [p.held_out for p in self if p.held_out is not None]
        if len(held_out) == len(ks) and ks:
            place, self.why = one_standard_error(ks, held_out, [p.held_out_se or 0.0 for p in self])
            self.suggested = ks[place]
        else:
            self.suggested, self.why = suggestion(ks, [p.share for p in self])
        self.later = tuple(later)
        return self

    def __str__(self) -> str:
        """Return the points as a table, and the suggestion; of each component."""
        tested = any(p.held_out is not None for p in self)
        head = f"{'k':>7}{'variance':>14}{'share':>9}{'upper':>14}{'gap':>10}"
        lines = [head + (f"{'held out':>11}{'s.e.':>10}" if tested else "")]
        for p in self:
            proven = f"{p.upper:>14.6g}{p.gap:>10.2e}" if p.upper is not None else f"{'-':>14}{'-':>10}"
            shares = f"{p.held_out:>11.5f}{p.held_out_se:>10.5f}" if p.held_out is not None else ""
            lines.append(f"{p.k:>7}{p.variance:>14.6g}{p.share:>9.4f}{proven}{shares}")
        lines.append(f"k = {self.suggested}: {self.why}")
        for number, path in enumerate(self.later, 2):
            lines += [f"component {number}", str(path)]
        return "\n".join(lines)


def path(
    X: Any,
    ks: Sequence[int | float],
    *,
    n_components: int = 1,
    certify: bool = False,
    seconds: float = 60.0,
    cv: Any = None,
    cv_groups: Any = None,
    groups: Any = None,
    max_per_group: int = 1,
    center: bool = True,
    scale: bool | str = False,
    sample_weight: Any = None,
    covariates: Any = None,
    missing: str = "error",
    random_state: Any = 0,
    on_step: OnStep | None = None,
    on_rows: Callable[[Path], None] | None = None,
) -> Path:
    """Return a component for each k, each started from its neighbors too, with bounds and held-out variance on demand.

    Parameters
    ----------
    X : array, sparse matrix, frame or operator
        Samples by features.
    ks : sequence of int, or of float
        Numbers of features, or shares of them strictly between 0 and 1.
    n_components : int
        With more than one, the path of each component follows in ``later``, given those before it at their suggested k.
    certify : bool
        Prove for each k how much variance any k features can have.
    seconds : float
        Time for all the proofs together.
    cv : int, splitter of scikit-learn, or pairs of train and test indices, optional
        Fit on the training samples of each fold, and measure the variance of the others: `held_out` is the mean share
        over folds, `held_out_se` its standard error. The suggestion is the smallest k within one standard error of the
        best.
    cv_groups : sequence, optional
        A label for each sample; samples of one label are held out together.
    groups, max_per_group, center, scale, sample_weight, covariates, missing
        As in :func:`decompose`.
    on_rows : callable, optional
        Called with what there is so far, whenever a k is found and whenever one is proven: so much can be kept if this
        is stopped.

    Examples
    --------
    >>> import rspca
    >>> found = rspca.path(rspca.GramOperator(rspca.datasets.load_pitprops()), range(1, 14), certify=True)
    >>> found.suggested, all(point.gap <= 1e-6 for point in found)
    (7, True)
    >>> X, _ = rspca.datasets.make_planted_spikes(100, 200, 10, 1, strength=20.0)
    >>> rspca.path(X, [2, 5, 10, 20, 50, 100], cv=5).suggested
    10
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
    m, n = given.shape
    check_n_components(n_components, given.shape)
    wanted = sorted({check_integer("k", share_as_count(k, n), 1, n, f" (X has {n} features)") for k in each})
    if not wanted:
        raise ValueError("ks is empty; give the numbers of features to try, for example ks=[5, 10, 20, 50].")
    limits = binding_limits(groups, max_per_group, X, n, wanted[-1])
    rng = as_generator(random_state)
    if cv is None and cv_groups is not None:
        raise ValueError(
            f"{argument('cv_groups')} says which samples are held out together: give {argument('cv')} too."
        )
    if cv is not None:
        check_has_samples(given, "cv")
    folds = None if cv is None else folds_of(cv, cv_groups, m, np.random.default_rng(rng.integers(2**63)))
    check_memory(given, wanted[-1])
    data = prepared(given, center=center, scale=scale, n_components=n_components, **samples._asdict())
    op, unit = balanced(data.operator)
    data = data.with_operator(op)
    fold_fits = None
    if folds is not None:
        fold_fits = FoldFits(given, samples, folds, wanted, center=center, scale=scale, limits=limits)
    plan = _Plan(wanted, limits, certify, seconds / n_components, unit, fold_fits, rng, on_step)
    paths = list[Path]()
    for number in range(n_components):
        left = data if not number else data.with_operator(op, *given_earlier(number))
        listener = (lambda rows: on_rows(_nested([*paths, rows]))) if on_rows is not None else None
        paths.append(_component_path(left, plan, number, listener))
        if number + 1 < n_components:
            place = wanted.index(paths[-1].suggested)
            chosen = paths[-1][place]
            op = schur(op, spread(chosen.loadings, chosen.support, n), op.scores(chosen.support, chosen.loadings), [])
            if fold_fits is not None:
                fold_fits.take_off(place)
    return _nested(paths)


class _Plan(NamedTuple):
    """What is done for the path of each component."""

    ks: list[int]
    limits: Groups | None
    certify: bool
    seconds: float
    unit: float
    fold_fits: FoldFits | None
    rng: np.random.Generator
    on_step: OnStep | None


def _nested(paths: list[Path]) -> Path:
    """Return the path of the first component, with those of the others in it."""
    return Path(paths[0], paths[1:])


def _component_path(data: Prepared, plan: _Plan, number: int, on_rows: Callable[[Path], None] | None) -> Path:
    """Return the path of one component of data that earlier components were taken off."""
    op, unit, wanted, on_step = data.operator, plan.unit, plan.ks, plan.on_step
    started, points = time.perf_counter(), dict[int, PathPoint]()
    largest = float(leading_pairs(op, 1, tol=1e-9).values[0])

    def record(k: int, value: float, support: Array, loadings: Array, upper: float | None = None) -> None:
        gap = None if upper is None else (upper - value) / value
        upper = None if upper is None else unit**2 * upper
        points[k] = PathPoint(k, unit**2 * value, value / largest, upper, gap, support, oriented(loadings, op.dtype))
        if on_rows is not None:
            on_rows(_with_shared_bounds(points.values()))

    supports, known = _supports(op, wanted, plan.limits, plan.rng, record), ProofState(op, plan.limits)
    deadline = time.perf_counter() + plan.seconds
    for place, k in enumerate(wanted):
        value, loadings, support = *refit(op.restrict(supports[k]), np.ones(len(supports[k]))), supports[k]
        upper = None
        if plan.certify:
            now = time.perf_counter()
            share = max(deadline - now, 1e-3) / (len(wanted) - place)
            proof = certify_within(
                data,
                k,
                support,
                plan.limits,
                deadline=now + share,
                tol=1e-6,
                rng=np.random.default_rng(0),
                known=known,
                on_step=only_compiling(on_step),
            )
            upper, value, support, loadings = proof.upper, proof.lower, proof.support, proof.loadings
        record(k, value, support, loadings, upper)
        if on_step is not None:
            point, step = points[k], number * len(wanted) + place + 1
            on_step(Step(f"k = {k}", number, step, point.variance, point.upper, time.perf_counter() - started))
    if plan.fold_fits is None:
        return _with_shared_bounds(points.values())
    shares = plan.fold_fits.shares([points[k] for k in wanted], plan.rng)
    errors = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    for k, mean, error in zip(wanted, shares.mean(axis=0), errors, strict=True):
        points[k] = points[k]._replace(held_out=float(mean), held_out_se=float(error))
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
    op: OperatorMixin,
    ks: list[int],
    limits: Groups | None,
    rng: np.random.Generator,
    record: Callable[[int, float, Array, Array], None],
) -> dict[int, Array]:
    """Return the best support known for each k: found afresh, grown from a smaller k, or pruned from a larger one.

    `record` is called with those found afresh.
    """
    choice, options = Choice(eligible_features(op), limits), Options(groups=limits)
    best: dict[int, tuple[float, Array]] = {}
    for k in ks:
        found = rspca_component(op, k, no_report, options=options, normalization="svd", rng=rng).support
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
            start = choice.largest(ranking, min(k, choice.most))
            v = spread(unit(np.where(gradient == 0.0, 1e-12, gradient)[start]), start, len(gradient))
            end = climb(op, v, min(k, choice.most), choice=choice, tol=1e-9, max_iter=30)
            if end.variance > best[k][0] * (1.0 + 1e-12):
                best[k] = (end.variance, end.support)
    return {k: support for k, (_, support) in best.items()}
