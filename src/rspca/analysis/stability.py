"""Stability: how often refits on half of the samples choose the same features, and find the same components."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from rspca.algorithm.feature_limits import Groups
from rspca.algorithm.loop import LoopOptions
from rspca.analysis.resampling import Loadings, Resampler, absolute_cosines, half_samples, matched
from rspca.base.checks import check_integer, check_real
from rspca.base.types import Array, OnStep, Step
from rspca.methods.decompose import Settings, decompose_checked
from rspca.operators.base import OperatorMixin
from rspca.operators.prepared import Samples

ASSUMPTION = (
    "The bound holds on average over data sets if features that do not belong to the component are exchangeable, and "
    "halves choose features that do belong at least as often (Meinshausen and Bühlmann 2010; Shah and Samworth 2013)."
)
"""What the error bound takes for granted."""


class RunnerUp(NamedTuple):
    """A feature that halves of the samples chose, and the component does not have."""

    feature: int
    share: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Stability:
    """How stable components are under halves of the samples."""

    share: Any
    """Share of the halves that choose each feature, (n_components, n_features), sparse."""
    cosine: Array
    """Mean |cosine| between each component and the component of a half that matches it: 1 is the same direction."""
    overlap: Array
    """Mean share of the features of each component that the matching component of a half has too."""
    n_pairs: int
    """Pairs of complementary halves."""
    n_candidates: int
    """Features that could be chosen: those that vary."""
    supports: list[Array] = field(default_factory=list)
    """Features of the components of all samples."""
    assumption: str = ASSUMPTION

    def shares(self, component: int) -> Array:
        """Return the share of halves that choose each feature, for one component, dense."""
        return np.asarray(self.share[[component], :].toarray()).ravel()

    def runners_up(self, component: int, n: int | None = 10) -> list[RunnerUp]:
        """Return the features chosen most often among those that the component does not have."""
        shares = self.shares(component)
        shares[self.supports[component]] = 0.0
        order = np.argsort(-shares, kind="stable")[:n]
        return [RunnerUp(int(i), float(shares[i])) for i in order if shares[i] > 0.0]

    def error_bound(self, threshold: float = 0.9) -> Array:
        """Return q^2 / ((2 threshold - 1) p) for each component: features wrongly chosen with at least this share.

        It bounds their expected number, with q features chosen of p; see `assumption`.
        """
        check_real("threshold", threshold, 0.5, strict=True)
        if threshold > 1.0:
            raise ValueError(f"threshold={threshold!r} is a share of the halves: give one above 0.5, up to 1.")
        chosen = np.array([len(support) for support in self.supports], dtype=float)
        return np.asarray(chosen**2 / ((2.0 * threshold - 1.0) * self.n_candidates))

    def __str__(self) -> str:
        """Return a line for each component, and the bound with its assumption."""
        lines = [
            f"{'component':>9}{'features':>9}{'share >= 0.9':>13}{'wrong, at most':>15}{'|cosine|':>9}{'overlap':>9}"
        ]
        for j, bound in enumerate(self.error_bound(0.9)):
            often = int(np.count_nonzero(self.shares(j)[self.supports[j]] >= 0.9))
            lines.append(
                f"{j + 1:>9}{len(self.supports[j]):>9}{often:>13}{bound:>15.3g}{self.cosine[j]:>9.3f}"
                f"{self.overlap[j]:>9.3f}"
            )
        return "\n".join([*lines, f"{self.n_pairs} pairs of halves. {self.assumption}"])

    def __repr__(self) -> str:
        """Return a summary in one line."""
        cosines = ", ".join(f"{value:.3f}" for value in self.cosine)
        return f"Stability({self.n_pairs} pairs of halves, mean |cosine| {cosines})"


def check_pairs(n_pairs: Any, m: int) -> int:
    """Return the number of pairs, or raise if there are too few samples for halves."""
    number = check_integer("n_pairs", n_pairs, 1)
    if m < 4:
        raise ValueError(f"X has {m} samples; halves of at least two need 4.")
    return number


def stability_of(
    given: OperatorMixin,
    samples: Samples,
    found: Sequence[Loadings],
    *,
    center: bool,
    scale: bool | str,
    limits: Groups | None,
    n_pairs: int,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> Stability:
    """Return how stable components, found one by one with Schur deflation, are under complementary half-samples."""
    resampler = Resampler(given, samples, center=center, scale=scale, limits=limits)
    counts, ks = half_samples(given.shape[0], n_pairs, rng), [len(component.support) for component in found]
    size = max(1, min(2 * n_pairs, 2 * int((1 << 27) // (16 * (sum(given.shape))))))
    tally, started = _Tally(found, given.shape[1]), time.perf_counter()
    for first in range(0, 2 * n_pairs, size):
        some = counts[:, first : first + size]
        ends = resampler.components(resampler.fits(some), found, ks, rng)
        for fit in range(some.shape[1]):
            tally.add([of_component[fit] for of_component in ends])
        if on_step is not None:
            on_step(Step("stability", 0, tally.count, 0.0, None, time.perf_counter() - started))
    return tally.result(n_pairs, len(resampler.choice.features))


def refitted_stability(
    given: OperatorMixin,
    samples: Samples,
    found: Sequence[Loadings],
    settings: Settings,
    n_pairs: int,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> Stability:
    """Return the same for components that are found otherwise: every half gets a full fit with these settings."""
    counts = half_samples(given.shape[0], n_pairs, rng)
    weights, covariates = samples.weights, None if samples.design is None else samples.design.matrix
    tally, started = _Tally(found, given.shape[1]), time.perf_counter()
    for half in counts.T:
        used = np.flatnonzero(half if weights is None else half * weights)
        design = None if covariates is None else covariates[used]
        rows = given.rows_at(used)
        own = half if weights is None else half * weights
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about ranks and iterations of halves
            if rows is None:
                fitted = decompose_checked(given, settings, LoopOptions(), own, covariates)
            else:
                fitted = decompose_checked(
                    rows, settings, LoopOptions(), None if weights is None else own[used], design
                )
        tally.add(fitted.components)
        if on_step is not None:
            on_step(Step("stability", 0, tally.count, 0.0, None, time.perf_counter() - started))
    return tally.result(n_pairs, given.shape[1])


class _Tally:
    """Counts of chosen features, and sums of cosines and overlaps, of the halves so far."""

    def __init__(self, found: Sequence[Loadings], n: int) -> None:
        self.found, self.count = found, 0
        self._counts = [dict[int, int]() for _ in found]
        self._cosines, self._overlaps, self._n = np.zeros(len(found)), np.zeros(len(found)), n

    def add(self, components: Sequence[Loadings]) -> None:
        """Match the components of one half with those of all samples, and count."""
        self.count += 1
        cosines = absolute_cosines(self.found, components)
        for j, other in enumerate(matched(cosines)):
            if other < 0:  # a half may have a lower rank
                continue
            own, theirs = self.found[j], components[other]
            self._cosines[j] += cosines[j, other]
            self._overlaps[j] += len(np.intersect1d(own.support, theirs.support)) / len(own.support)
            for feature in theirs.support.tolist():
                self._counts[j][feature] = self._counts[j].get(feature, 0) + 1

    def result(self, n_pairs: int, n_candidates: int) -> Stability:
        """Return shares and means."""
        rows = [np.array(sorted(counts), dtype=np.int64) for counts in self._counts]
        values = [
            np.array([counts[i] for i in row.tolist()], dtype=float) / self.count
            for row, counts in zip(rows, self._counts, strict=True)
        ]
        ends = np.cumsum([0, *(len(row) for row in rows)])
        share = scipy.sparse.csr_array((np.concatenate(values), np.concatenate(rows), ends), shape=(len(rows), self._n))
        return Stability(
            share=share,
            cosine=self._cosines / self.count,
            overlap=self._overlaps / self.count,
            n_pairs=n_pairs,
            n_candidates=n_candidates,
            supports=[np.asarray(component.support) for component in self.found],
        )
