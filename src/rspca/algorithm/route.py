"""The two routes of stage 1 and polishing, on X itself or on a sketch of it: the questions that both answer."""

from __future__ import annotations

from typing import Protocol

from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.polish import Polished
from rspca.algorithm.relax import StationaryPoint
from rspca.base.types import Array, Report
from rspca.operators.base import OperatorMixin


class Route(Protocol):
    """Where the steps for one component are taken."""

    @property
    def source(self) -> OperatorMixin:
        """X, as earlier components left it."""
        ...

    def directions(self, k: int) -> list[Array]:
        """Return the directions from which stage 1 starts for k features, that of largest variance first."""
        ...

    def near_leading(self, count: int) -> Array | None:
        """Return rough leading directions as columns, so many, if that many are known without a product with X."""
        ...

    def leading_rows(self, count: int) -> Array:
        """Return a row for each feature such that their products are those of the leading part of X'X, about."""
        ...

    def forget(self) -> None:
        """Free the memory of what is needed for directions and steps: none of them is asked for any more."""
        ...

    def relaxed(self, k: int, starts: list[Array], *, max_iter: int, tol: float, report: Report) -> StationaryPoint:
        """Return the best stationary point of stage 1 that is reached from these starts; X confirms it."""
        ...

    def ends_may_differ(self, k: int) -> bool:
        """Return whether polishing from several candidates may end at different supports."""
        ...

    def polished(self, V: Array, gradient: Array, choice: Choice, *, tol: float, report: Report) -> list[Polished]:
        """Return the supports that polishing the columns of V, vectors with k non-zeros, leads to, best first.

        `gradient` is X'X times the point of stage 1.
        """
        ...
