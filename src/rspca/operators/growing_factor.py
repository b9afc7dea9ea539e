"""R with R'R = A for a Gram matrix A, some columns at a time: a Cholesky decomposition that can go on."""

from __future__ import annotations

import copy

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from rspca.base.types import Array

EPS = float(np.finfo(np.float64).eps)
"""Arithmetic: twice the unit roundoff of float64, in which sums are bounded."""


class GrowingFactor:
    """R with a row for each pivot so far; columns are ready when they have been included, and never change afterwards.

    Scores of a few vectors need a few rows of R: those of the features that the vectors use. Columns of any length
    count alike, because correlations are decomposed.
    """

    def __init__(self, matrix: Array, lengths: Array, noise: float) -> None:
        self.matrix, self.lengths = matrix, lengths
        self.noise = noise
        """Squared length, relative to its own, up to which what earlier columns leave of a column is rounding."""
        n = len(matrix)
        self._divisor = np.where(lengths > 0.0, lengths, 1.0)
        self._rows = np.empty((0, n))
        """The rows of R so far, divided by the lengths of the columns."""
        self._included = np.zeros(n, dtype=bool)
        self._pivots = np.zeros(n, dtype=bool)

    def copy(self) -> GrowingFactor:
        """Return R as it is now, to go on apart from this one: columns differ in their last bits with their order."""
        other = copy.copy(self)
        other._included, other._pivots = self._included.copy(), self._pivots.copy()  # rows are never written to
        return other

    def include(self, support: Array) -> None:
        """Make these columns ready: pivoting among them, after all that were included before.

        What is left of a column without a pivot is rounding. It stays out of later rows, so that scores that were
        computed before stay what they are; `error` knows what is missing.
        """
        new = support[~self._included[support]]
        if not len(new):
            return
        self._included[new] = True
        known = self._rows[:, new]
        left = self._correlations(new, new) - known.T @ known
        if float(np.diagonal(left).max()) <= self.noise:  # LAPACK would take the first pivot, however small
            return
        triangle, order, rank, _ = dpstrf(left.T, tol=self.noise, overwrite_a=1)  # symmetric, in the order of LAPACK
        chosen, others = new[order - 1], np.flatnonzero(~self._included)
        rows = np.zeros((rank, len(self.matrix)))
        rows[:, chosen] = np.triu(triangle)[:rank]
        if rank and len(others):
            left = self._correlations(chosen[:rank], others)
            left -= known[:, order[:rank] - 1].T @ self._rows[:, others]
            rows[:, others] = solve_triangular(triangle[:rank, :rank], left, trans=1)
        self._pivots[chosen[:rank]] = True
        self._rows = np.concatenate([self._rows, rows]) if len(self._rows) else rows

    def include_all(self) -> None:
        """Make all columns ready."""
        self.include(np.arange(len(self.matrix)))

    def _correlations(self, rows: Array, columns: Array) -> Array:
        part = self.matrix[np.ix_(rows, columns)]
        part /= self._divisor[rows, None]
        part /= self._divisor[columns]
        return part

    def columns(self, support: Array) -> Array:
        """R[:, support], with as many rows as A has; those without a pivot are zero."""
        self.include(support)
        out = np.zeros((len(self.matrix), len(support)))
        out[: len(self._rows)] = self._rows[:, support] * self.lengths[support]
        return out

    def times(self, V: Array) -> Array:
        """R V."""
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        self.include(used)
        out = np.zeros(V.shape)
        scaled = (self.lengths[used] * V[used].T).T
        out[: len(self._rows)] = (self._rows if len(used) == len(V) else self._rows[:, used]) @ scaled
        return out

    def transposed_times(self, U: Array) -> Array:
        """R'U; what is beyond the rows so far is completed where U needs it."""
        if U[len(self._rows) :].any():
            self.include_all()
        product = self._rows.T @ U[: len(self._rows)]
        return (self.lengths * product.T).T

    def error(self) -> float:
        """Spectral norm of the error of the correlations that R, all of it, stands for.

        Rows with a pivot have |A - R'R| <= (n + 2) eps |R|'|R| (Higham, Accuracy and Stability, Theorem 10.3); what is
        missing of the others is computed.
        """
        self.include_all()
        rest, n = np.flatnonzero(~self._pivots), len(self.matrix)
        left = self._correlations(rest, np.arange(n)) - self._rows[:, rest].T @ self._rows
        return float(np.sqrt(2.0) * np.linalg.norm(left)) + (n + 16) * EPS
