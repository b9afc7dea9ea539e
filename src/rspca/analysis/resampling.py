"""Refits of one data set under other weights of its samples: half-samples, folds, and how their components match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

from rspca.algorithm.deflate import schur
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.loop import eligible_features, longest_column
from rspca.algorithm.many_fits import End, ManyFits, Start, best_climbs, rough_directions
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.convert import balanced
from rspca.operators.prepared import Samples, prepared


class Loadings(Protocol):
    """A sparse vector; components are such."""

    @property
    def support(self) -> Array:
        """Sorted features."""

    @property
    def loadings(self) -> Array:
        """Their loadings."""


class Resampler:
    """Data that are prepared once, and refitted under many weights of the samples."""

    def __init__(
        self, given: OperatorMixin, samples: Samples, *, center: bool, scale: bool | str, limits: Groups | None = None
    ) -> None:
        self._given, self._samples, self._center, self._scale = given, samples, center, scale
        data = prepared(given, center=center, scale=scale, n_components=0, **samples._asdict())
        self.operator, _ = balanced(data.operator)
        self._divisor = data.divisor
        m, weights = given.shape[0], samples.weights
        self.rows = np.arange(m) if self.operator.shape[0] == m or weights is None else np.flatnonzero(weights)
        roots = np.ones(len(self.rows)) if weights is None else np.sqrt(weights[self.rows])
        columns = [roots] if center else []
        if samples.design is not None:
            matrix = samples.design.matrix[self.rows]
            columns += [roots * (column - column.mean()) for column in matrix.T]
        self.basis = np.column_stack(columns) if columns else None
        self.choice = Choice(eligible_features(self.operator), limits)

    def fits(self, counts: Array) -> ManyFits:
        """Return the fits in which samples count so often, a column for each fit, besides their own weights."""
        return ManyFits(self.operator, np.sqrt(counts[self.rows]), self.basis, self._factors(counts))

    def _factors(self, counts: Array) -> Array | None:
        """Return what each fit multiplies the columns by, because it scales them by its own samples."""
        if self._scale is False:
            return None
        weights = self._samples.weights
        factors = np.empty((self.operator.shape[1], counts.shape[1]))
        for number, column in enumerate(counts.T):
            own = self._samples._replace(weights=column if weights is None else column * weights, design=None)
            data = prepared(self._given, center=self._center, scale=self._scale, n_components=0, **own._asdict())
            factors[:, number] = self._divisor / data.divisor
        return factors

    def components(
        self, fits: ManyFits, found: Sequence[Loadings], ks: Sequence[int], rng: np.random.Generator
    ) -> list[list[End]]:
        """Return the components of every fit, a list for each component, found one after another.

        Climbs start from components of all samples, from a direction of the fit's own, and from the longest column.
        """
        ends, op = list[list[End]](), self.operator
        for number, k in enumerate(ks):
            starts = [
                Start(fit, near.support, near.loadings)
                for near in found[max(number - 1, 0) : number + 2]
                for fit in range(fits.count)
            ]
            longest = longest_column(op)
            starts += [Start(fit, np.array([longest]), np.ones(1)) for fit in range(fits.count)]
            starts += self.own_starts(fits, [k] * fits.count, rng)
            ends.append(best_climbs(fits, starts, [k] * fits.count, self.choice))
            if number + 1 < len(ks):
                fits.take_off(np.column_stack([end.scores for end in ends[-1]]))
                vector = np.zeros(op.shape[1])
                vector[found[number].support] = found[number].loadings
                op = schur(op, vector, op.scores(found[number].support, found[number].loadings), [])
        return ends

    def own_starts(self, fits: ManyFits, ks: Sequence[int], rng: np.random.Generator) -> list[Start]:
        """Return a start of each fit that knows nothing of the others: the largest entries of a rough direction."""
        starts = list[Start]()
        for part in chunks(fits.count, 8 * self.operator.shape[1], 1 << 27):
            some = np.arange(part.start, part.stop)
            directions = rough_directions(fits, some, rng)
            for fit, direction in zip(some.tolist(), directions.T, strict=True):
                support = self.choice.largest(direction, min(ks[fit], self.choice.most))
                starts.append(Start(fit, support, direction[support]))
        return starts


def half_samples(m: int, n_pairs: int, rng: np.random.Generator) -> Array:
    """Return complementary half-samples as columns of 0 and 1: 2j and 2j + 1 have no sample in common."""
    counts, half = np.zeros((m, 2 * n_pairs)), m // 2
    for pair in range(n_pairs):
        order = rng.permutation(m)
        counts[order[:half], 2 * pair] = 1.0
        counts[order[half : 2 * half], 2 * pair + 1] = 1.0
    return counts


def absolute_cosines(found: Sequence[Loadings], others: Sequence[Loadings]) -> Array:
    """Return the |cosine| between the loadings of each component and of each other one."""
    out = np.zeros((len(found), len(others)))
    for i, a in enumerate(found):
        for j, b in enumerate(others):
            _, left, right = np.intersect1d(a.support, b.support, assume_unique=True, return_indices=True)
            lengths = float(np.linalg.norm(a.loadings) * np.linalg.norm(b.loadings))
            out[i, j] = min(abs(float(a.loadings[left] @ b.loadings[right])) / (lengths or 1.0), 1.0)
    return out


def matched(cosines: Array) -> Array:
    """Return for each row the column that it is matched with, such that the sum of cosines is largest; -1 if none."""
    rows, columns = linear_sum_assignment(-cosines)
    out = np.full(len(cosines), -1)
    out[rows] = columns
    return out
