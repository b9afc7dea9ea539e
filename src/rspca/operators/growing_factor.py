"""R with R'R = A for a Gram matrix A, some columns at a time: a Cholesky decomposition that can go on."""

from __future__ import annotations

import copy

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from rspca.base.types import Array

EPS = float(np.finfo(np.float64).eps)
"""Arithmetic: twice the unit roundoff of float64, in which sums are bounded."""


SMALL_PIVOT = 0.01
"""Arithmetic: length, relative to its column, below which a pivot waits for the longer ones of all other columns. The
rounding of entries beside it is divided by it, and multiplied with what the row has elsewhere: two digits are lost."""


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
        computed before stay what they are; `error` knows what is missing. Features that are nearly alike have small
        pivots, or none although other columns are correlated with their difference, and digits would be lost. Then all
        other columns are included too, the longest first, so that no row has entries that are larger than its pivot.
        """
        new = support[~self._included[support]]
        if not len(new):
            return
        rows, pivots = self._decomposed(new)
        others = np.setdiff1d(np.flatnonzero(~self._included), new, assume_unique=True)
        if len(others) and self._loses_digits(rows, pivots, new, others):
            new = np.flatnonzero(~self._included)
            rows, pivots = self._decomposed(new)
        self._included[new] = self._pivots[pivots] = True
        self._rows = np.concatenate([self._rows, rows]) if len(self._rows) else rows

    def _decomposed(self, new: Array) -> tuple[Array, Array]:
        """Return the rows of R that some columns add, and the columns with a pivot."""
        known = self._rows[:, new]
        left = self._correlations(new, new) - known.T @ known
        if float(np.diagonal(left).max()) <= self.noise:  # LAPACK would take the first pivot, however small
            return np.empty((0, len(self.matrix))), new[:0]
        triangle, order, rank, _ = dpstrf(left.T, tol=self.noise, overwrite_a=1)  # symmetric, in the order of LAPACK
        chosen, others = new[order - 1], np.setdiff1d(np.flatnonzero(~self._included), new, assume_unique=True)
        rows = np.zeros((rank, len(self.matrix)))
        rows[:, chosen] = np.triu(triangle)[:rank]
        if len(others):
            left = self._correlations(chosen[:rank], others)
            left -= known[:, order[:rank] - 1].T @ self._rows[:, others]
            rows[:, others] = solve_triangular(triangle[:rank, :rank], left, trans=1)
        return rows, chosen[:rank]

    def _loses_digits(self, rows: Array, pivots: Array, new: Array, others: Array) -> bool:
        """Return whether a pivot is small, or R'R differs from A by more than rounding for columns without a pivot."""
        if len(pivots) and abs(rows[-1, pivots[-1]]) < SMALL_PIVOT:
            return True
        dropped = np.setdiff1d(new, pivots, assume_unique=True)
        missing = self._correlations(dropped, others) - self._rows[:, dropped].T @ self._rows[:, others]
        missing -= rows[:, dropped].T @ rows[:, others]
        return float(np.abs(missing).max(initial=0.0)) > self.noise

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
