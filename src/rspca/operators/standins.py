"""Small stand-ins for X on which iterations are cheap, with the one product that confirms or enlarges them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rspca.operators.gram import SmallGram
from rspca.operators.matrix import DenseOperator
from rspca.operators.protocol import Array, OperatorMixin

WORKING_SHARE = 0.2
"""Share of the features up to which a copy of them may stand in for all."""
SKETCH_ROWS = 40
"""Most rows of a sketch."""

NextSupport = Callable[[Array], Array]


class Confirmed(NamedTuple):
    """What X itself says of a vector found on a stand-in."""

    gradient: Array
    """X'Xx, for all features."""
    variance: float
    settled: bool
    """Whether the stand-in told all there is to know; otherwise it has been enlarged."""


class Sketch:
    """F' with q rows, F F' <= X'X, and equal to it on the q vectors that X'X has been multiplied by (Nystroem).

    Whatever climbs on F' climbs at least as far on X, and it starts from the same value at any vector learned: so
    climbing on the sketch and learning where that led is an ascent on X (it minorizes, then maximizes).
    """

    most_steps = 12
    """Steps of an iteration on the sketch before it is time to ask X again."""
    most_candidates = 1
    """Where a sketch is good enough all candidates lead to one end, or nearly so."""

    def __init__(self, op: OperatorMixin) -> None:
        n = op.shape[1]
        self.source = op
        self.features = np.arange(n)
        self._rows = min(SKETCH_ROWS, n)
        self._basis = np.empty((n, self._rows), order="F")
        self._images = np.empty((n, self._rows), order="F")
        self._inner = np.zeros((self._rows, self._rows))
        self._filled = 0
        self._last = -np.inf

    def lead(self, tol: float) -> Array:
        """Learn until the leading eigenvector of X'X is known to residual tol (as Lanczos would); return it."""
        n = self.source.shape[1]
        direction = np.random.default_rng(n).standard_normal(n)
        while True:
            self._learn(direction)
            q = self._filled
            values, weights = scipy.linalg.eigh(self._inner[:q, :q])
            vector = self._basis[:, :q] @ weights[:, -1]
            residual = self._images[:, :q] @ weights[:, -1] - values[-1] * vector
            if np.linalg.norm(residual) <= tol * values[-1] or q == self._rows:
                return vector / np.linalg.norm(vector)
            direction = residual

    @property
    def operator(self) -> DenseOperator:
        """The sketch as data: q rows for m."""
        q = self._filled
        values, weights = scipy.linalg.eigh(self._inner[:q, :q])
        kept = values > 16 * np.finfo(self.source.dtype).eps * values[-1]
        return DenseOperator((weights[:, kept] / np.sqrt(values[kept])).T @ self._images[:, :q].T)

    def confirm(self, x: Array, next_support: NextSupport, tol: float) -> Confirmed:
        """Multiply X'X by x and learn; settled once that gains less than tol over the vector before."""
        if self._filled == self._rows:
            self._forget()
        self._learn(x)
        q = self._filled
        gradient = self._images[:, :q] @ (self._basis[:, :q].T @ x)
        variance = float(x @ gradient)
        settled = variance - self._last <= tol * variance
        self._last = -np.inf if settled else variance
        return Confirmed(gradient, variance, settled)

    def _learn(self, x: Array) -> None:
        """Add the part of x that is new to the basis, with its image; nothing, if rounding is all that is new."""
        q = self._filled
        basis, length = self._basis[:, :q], float(np.linalg.norm(x))
        new = x / length
        for _ in range(2):
            new = new - basis @ (basis.T @ new)
        size = float(np.linalg.norm(new))
        if size <= 32 * np.finfo(self.source.dtype).eps:
            return
        self._basis[:, q] = new / size
        self._images[:, q] = self.source.gram(self._basis[:, q])
        column = self._basis[:, : q + 1].T @ self._images[:, q]
        self._inner[: q + 1, q] = self._inner[q, : q + 1] = column
        self._filled = q + 1

    def _forget(self) -> None:
        """Keep the leading half of what is known."""
        kept = self._rows // 2
        values, weights = scipy.linalg.eigh(self._inner)
        self._basis[:, :kept] = self._basis @ weights[:, -kept:]
        self._images[:, :kept] = self._images @ weights[:, -kept:]
        self._inner[:] = 0.0
        np.fill_diagonal(self._inner[:kept, :kept], values[-kept:])
        self._filled = kept


class WorkingSet:
    """A copy of the columns that matter. A vector is confirmed if its next step needs no column outside."""

    most_steps = 10**6
    """An iteration may run to its end."""
    most_candidates = 8

    def __init__(self, op: OperatorMixin, features: Array) -> None:
        self.source = op
        self._cover(features)

    def _cover(self, features: Array) -> None:
        m, n = self.source.shape
        self.features = features
        self._columns = self.source if len(features) == n else self.source.restrict(features)
        self.operator = self._columns
        if len(features) <= min(self.source.small_gram, m - 1, n - 1):
            self.operator = SmallGram(self._columns.gram_block(np.arange(len(features))))

    def confirm(self, x: Array, next_support: NextSupport, tol: float) -> Confirmed:
        """Multiply X' by the scores of x; take in the columns that the next step would use."""
        n = self.source.shape[1]
        gradient = self.source.gradient(self._columns, self.features, x)
        variance = float(x @ gradient[self.features])
        if len(self.features) == n or np.isin(next_support(gradient), self.features, assume_unique=True).all():
            return Confirmed(gradient, variance, True)
        size = np.abs(gradient)
        level = np.partition(size, n - len(self.features))[n - len(self.features)]
        features = np.union1d(self.features, np.flatnonzero(size >= level))
        self._cover(features if len(features) <= WORKING_SHARE * n else np.arange(n))
        return Confirmed(gradient, variance, False)


StandIn = Sketch | WorkingSet
