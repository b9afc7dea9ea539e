"""Types that every layer shares: arrays, one step of progress, and who receives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any shape and type."""


COMPILE = "compile"
"""Stage of the steps before (iteration 0) and after (1) the first compilation on a machine."""


class Step(NamedTuple):
    """Progress as users receive it, in the units of their data."""

    stage: str
    component: int
    iteration: int
    variance: float
    upper: float | None
    seconds: float


OnStep = Callable[[Step], None]


class Report(Protocol):
    """Receives the progress of a computation, in the units of the operator that it works on."""

    def __call__(self, stage: str, iteration: int, variance: float, upper: float | None = None) -> None:
        """Receive one step: the variance reached, and an upper bound where one is proven."""


def no_report(stage: str, iteration: int, variance: float, upper: float | None = None) -> None:
    """Receive progress and drop it."""
