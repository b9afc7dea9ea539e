"""The route on X itself, where X is small or its Gram matrix is in memory: every step is a product with X."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.polish import Polished, polish
from rspca.algorithm.relax import StationaryPoint, linearized
from rspca.base.types import Array, Report
from rspca.linalg.eigen import Pairs, leading_pairs, ritz_pairs
from rspca.linalg.vectors import l1_l2_maximizer, nonzeros
from rspca.operators.base import OperatorMixin


class FullData:
    """X in place of a sketch of it: the same questions, answered exactly."""

    def __init__(self, op: OperatorMixin, tol: float = budgets.LEADING_TOL, pairs: Pairs | None = None) -> None:
        self.source, self.tol, self._known = op, tol, pairs

    def directions(self, k: int) -> list[Array]:
        """Return the direction of largest variance: to residual tol, or rough if it was given so."""
        return [self._pairs.vectors[:, 0]]

    @cached_property
    def _pairs(self) -> Pairs:
        return ritz_pairs(self.source, 1, tol=self.tol) if self._known is None else self._known

    def near_leading(self, count: int) -> Array | None:
        """Return rough leading directions as columns, so many, if finding the first of them showed others."""
        vectors = self._pairs.vectors[:, :count]
        return vectors if vectors.shape[1] == count else None

    def leading_rows(self, count: int) -> Array:
        """Return a row for each feature such that their products are those of the leading part of X'X."""
        pairs = leading_pairs(self.source, count, tol=self.tol)
        return pairs.vectors * np.sqrt(pairs.values)

    def forget(self) -> None:
        """Free nothing: X itself is needed further."""

    def relaxed(self, k: int, starts: list[Array], *, max_iter: int, tol: float, report: Report) -> StationaryPoint:
        """Return the best stationary point that steps on X reach from these starts."""
        op, on_iteration = self.source, partial(report, "relax")
        points = [l1_l2_maximizer(start, k) for start in starts]
        ends = [linearized(op, k, x, max_iter=max_iter, tol=tol, on_iteration=on_iteration) for x in points]
        return max(ends, key=lambda end: end.variance)

    def ends_may_differ(self, k: int) -> bool:
        """Return True: single features are starts too."""
        return True

    def polished(self, V: Array, gradient: Array, choice: Choice, *, tol: float, report: Report) -> list[Polished]:
        """Return the supports that polishing the columns of V, and single features, leads to, best first."""
        k = len(nonzeros(V[:, 0]))
        starts = np.hstack([V, coordinate_starts(self.source, k, choice)])
        return polish(self.source, starts, k, choice=choice, finalists=budgets.POLISH_FINALISTS, tol=tol)


def coordinate_starts(op: OperatorMixin, k: int, choice: Choice) -> Array:
    """Return unit vectors of single features as columns: of all features, or of those of largest variance."""
    m, n = op.shape
    count = min(len(choice.features), budgets.START_ENTRIES // (n * max(m, k)))
    features = Choice(choice.features).largest(op.sq_norms, count)
    starts = np.zeros((n, count))
    starts[features, np.arange(count)] = 1.0
    return starts
