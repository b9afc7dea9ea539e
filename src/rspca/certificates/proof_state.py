"""What is known of one operator and serves proofs for several k: its spectrum, duals, and certified results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm.feature_limits import Groups
from rspca.base.memory import has_room
from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.bounds.spectra import ProvenSpectrum, proven_spectrum, small_gram
from rspca.certificates.bounds.thresholds import KeptEntries
from rspca.certificates.core_stage import CoreProof
from rspca.certificates.score_stage import ScoreDual
from rspca.operators.base import OperatorMixin


class Certified(NamedTuple):
    """A certified result for one k of the path k = 1, 2, 3, ...; it holds for all features."""

    k: int
    support: Array
    lower: float
    upper: float
    survivors: int


class ProofState:
    """Results for one operator that proofs for several k share: its spectrum, and certified results for small k.

    `given` is the original operator, for work that is not a proof; `op` has the same numbers with float64 products.
    `groups` limit the supports in question, of every k.
    """

    def __init__(self, given: OperatorMixin, groups: Groups | None = None) -> None:
        self.given, self.op, self.groups = given, given.to_float64(), groups
        self.limits = None if groups is None else GroupLimits(groups)
        self.steps: list[Certified] = []
        """Certified results for k = 1, 2, ..."""
        self.duals: dict[int, ScoreDual] = {}
        """The optimized dual in the scores, by k."""
        self.proven: dict[int, float] = {}
        """Bounds on the variance of k features, by k, with what rounding may hide."""
        self.cores: dict[int, CoreProof] = {}
        """Bounds by a core of features, by k."""
        self.before_core: dict[int, float] = {}
        """The least bound before a core was tried, by k."""
        self.kept: dict[int, tuple[KeptEntries, float]] = {}
        """Entries of the Gram matrix above a level, and the Frobenius bound of its rows, by k."""
        self._spectrum: ProvenSpectrum | None = None

    def bound_by_other_k(self, k: int) -> float:
        """Return a bound from those for other k: Z_k grows with k, and Z_k / k, a mean of the k largest, does not.

        Z_k is the largest sum of the k largest (x_i'u)^2 over unit vectors u.
        """
        bounds = [upper * max(1.0, k / other) for other, upper in self.proven.items()]
        return min(bounds, default=np.inf) * (1.0 + 4.0 * B.EPS)

    def near(self, k: int) -> Array | None:
        """Return where a dual can start: at that of the nearest k."""
        outcomes = {other: dual.outcome for other, dual in self.duals.items()}
        factors = {other: found.near for other, found in outcomes.items() if found is not None}
        return factors[min(factors, key=lambda other: abs(np.log(other / k)))] if factors else None

    def gram_seconds(self) -> float:
        """Return how long the smaller Gram matrix is predicted to take; with sparse data, by their stored entries."""
        m, n = self.op.shape
        sparse = budgets.SPARSE_PRODUCT * float(self.op.entries) ** 2 / max(m, n)
        return min(float(m) * n * min(m, n), sparse) / budgets.FLOPS

    def rows_seconds(self) -> float:
        """Return how long one read of the larger Gram matrix is predicted to take."""
        m, n = self.op.shape
        return min(2.0 * m * n * n, budgets.SPARSE_ROWS * n * float(self.op.entries)) / budgets.FLOPS

    @property
    def has_spectrum(self) -> bool:
        """Whether the spectrum is known, and its vectors are more than rounding."""
        return self._spectrum is not None and bool(np.isfinite(self._spectrum.margin))

    def affordable(self, seconds: float) -> bool:
        """Return whether the spectrum is known, or can be computed in this time and in the free memory."""
        small = min(self.op.shape)
        soon = small <= budgets.SPECTRUM_SIDE and self.gram_seconds() <= seconds
        return self._spectrum is not None or (soon and has_room(budgets.SPECTRUM_COPIES * 8 * small**2))

    def spectrum(self) -> ProvenSpectrum:
        """Return the leading pairs with their proof."""
        if self._spectrum is None:
            self._spectrum = proven_spectrum(self.op, budgets.SPECTRUM_PAIRS, small_gram(self.op))
        return self._spectrum
