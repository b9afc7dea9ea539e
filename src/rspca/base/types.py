"""Types that every layer shares: arrays, and one step of progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any shape and type."""


COMPILE = "compile"
"""Stage of the steps before (iteration 0) and after (1) the first compilation on a machine."""


class Step(NamedTuple):
    """What a caller who asked for progress is told."""

    stage: str
    component: int
    iteration: int
    variance: float
    upper: float | None
    seconds: float


OnStep = Callable[[Step], None]
