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
from rspca.analysis.halves import Halves, HalvesOptions
from rspca.analysis.resampling import Loadings, Resampler, half_samples
from rspca.base.arguments import argument
from rspca.base.checks import check_integer, check_real
from rspca.base.types import Array, Step
from rspca.methods.decompose import Settings, decompose_checked
from rspca.operators.base import OperatorMixin
from rspca.operators.prepared import Samples

ASSUMPTION = (
    "The bound holds on average over data sets if features that do not belong to the component are exchangeable, and "
    "halves choose features that do belong at least as often (Meinshausen and Bühlmann 2010; Shah and Samworth 2013)."
)
"""What the error bound takes for granted."""
PART_BYTES = 1 << 27
"""Memory for the halves that are fitted together: scores and loadings of pairs."""


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
    """Mean |cosine| between each component and the component of a half that matches it, 1 for the same direction."""
    overlap: Array
    """Mean share of the features of each component that the matching component of a half has too."""
    n_pairs: int
    """Pairs of complementary halves."""
    n_candidates: int
    """Number of features that vary, and so could be chosen."""
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
        lines = ["component  features  chosen by 90 % of halves  wrong of these, at most  |cosine|  overlap"]
        for j, bound in enumerate(self.error_bound(0.9)):
            often = int(np.count_nonzero(self.shares(j)[self.supports[j]] >= 0.9))
            lines.append(
                f"{j + 1:>9}  {len(self.supports[j]):>8}  {often:>24}  {bound:>23.3g}  {self.cosine[j]:>8.3f}"
                f"  {self.overlap[j]:>7.3f}"
            )
        pairs = f"{self.n_pairs} pair{'' if self.n_pairs == 1 else 's'} of halves"
        return "\n".join([*lines, f"{pairs}. {self.assumption}"])

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
    seed: int,
    loop: HalvesOptions,
) -> Stability:
    """Return how stable components, found one by one with Schur deflation, are under complementary half-samples.

    Each part of the halves has random numbers of its own, so that a run that continues finds what one run finds.
    """
    resampler = Resampler(given, samples, center=center, scale=scale, limits=limits)
    ks, halves = [len(component.support) for component in found], _begun(found, given, loop, n_pairs)
    counts = half_samples(given.shape[0], n_pairs, np.random.default_rng([seed, 0]))
    size, started = 2 * max(1, PART_BYTES // (16 * sum(given.shape))), time.perf_counter()
    for first in range(halves.count, 2 * n_pairs, size):
        some = counts[:, first : first + size]
        rng = np.random.default_rng([seed, 1 + first])
        ends = resampler.components(resampler.fits(some), found, ks, rng)
        for fit in range(some.shape[1]):
            halves.add([of_component[fit] for of_component in ends])
        _tell(loop, halves, started)
    return _result(halves, given.shape[1], n_pairs, len(resampler.choice.features))


def refitted_stability(
    given: OperatorMixin,
    samples: Samples,
    found: Sequence[Loadings],
    settings: Settings,
    n_pairs: int,
    seed: int,
    loop: HalvesOptions,
) -> Stability:
    """Return the same for components that are found otherwise: every half gets a full fit with these settings."""
    counts = half_samples(given.shape[0], n_pairs, np.random.default_rng([seed, 0]))
    weights, covariates = samples.weights, None if samples.design is None else samples.design.matrix
    halves, started = _begun(found, given, loop, n_pairs), time.perf_counter()
    for number in range(halves.count, 2 * n_pairs):
        half, own_settings = counts[:, number], settings._replace(rng=np.random.default_rng([seed, 1 + number]))
        used = np.flatnonzero(half if weights is None else half * weights)
        design = None if covariates is None else covariates[used]
        rows = given.rows_at(used)
        own = half if weights is None else half * weights
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about ranks and iterations of halves
            if rows is None:
                fitted = decompose_checked(given, own_settings, LoopOptions(), own, covariates)
            else:
                fitted = decompose_checked(
                    rows, own_settings, LoopOptions(), None if weights is None else own[used], design
                )
        halves.add(fitted.components)
        _tell(loop, halves, started)
    return _result(halves, given.shape[1], n_pairs, given.shape[1])


def _begun(found: Sequence[Loadings], given: OperatorMixin, loop: HalvesOptions, n_pairs: int) -> Halves:
    """Return the halves of a run that was stopped, or none."""
    halves = Halves(found)
    if loop.earlier is not None:
        try:
            halves.continued(loop.earlier, given.shape[1])
        except ValueError as error:
            raise ValueError(
                f"{argument('earlier')} cannot be continued: {error}. Give what on_halves was called with, as arrays()."
            ) from error
    if halves.count > 2 * n_pairs:
        raise ValueError(f"{argument('earlier')} has {halves.count} halves; n_pairs={n_pairs} has {2 * n_pairs}.")
    return halves


def _tell(loop: HalvesOptions, halves: Halves, started: float) -> None:
    if loop.on_halves is not None:
        loop.on_halves(halves)
    if loop.on_step is not None:
        loop.on_step(Step("stability", 0, halves.count, 0.0, None, time.perf_counter() - started))


def _result(halves: Halves, n: int, n_pairs: int, n_candidates: int) -> Stability:
    """Return shares and means."""
    rows = [np.array(sorted(counts), dtype=np.int64) for counts in halves.chosen]
    values = [
        np.array([counts[i] for i in row.tolist()], dtype=float) / halves.count
        for row, counts in zip(rows, halves.chosen, strict=True)
    ]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    share = scipy.sparse.csr_array((np.concatenate(values), np.concatenate(rows), ends), shape=(len(rows), n))
    return Stability(
        share=share,
        cosine=halves.cosines / halves.count,
        overlap=halves.overlaps / halves.count,
        n_pairs=n_pairs,
        n_candidates=n_candidates,
        supports=[np.asarray(component.support) for component in halves.found],
    )
