"""The state of one certification: the clock, the best support, the least bound, and everything that was tried."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rspca.base.types import COMPILE, Array, OnStep, Step
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.stored import Bound


class Progress:
    """Keeps the largest variance reached and the least bound proven; never forgets either."""

    def __init__(
        self,
        support: Array,
        lower: float,
        *,
        tol: float,
        deadline: float,
        on_step: OnStep | None = None,
        parent: Progress | None = None,
        limits: GroupLimits | None = None,
    ) -> None:
        self.limits = limits
        """What groups allow of the features of this run; supports that are reached must keep to it."""
        self.support, self.lower, self.upper = support, lower, np.inf
        self.tol, self.deadline, self.on_step = tol, deadline, on_step
        self.parent, self.engine = parent, "numpy"
        self.bounds: list[Bound] = []
        self.survivors, self.nodes, self.started = 0, 0, time.perf_counter()
        self.compiled = 0.0
        """Seconds that were spent compiling, on top of the time for the proof."""

    def out_of_time(self) -> bool:
        """Return whether the time is up."""
        return time.perf_counter() >= self.deadline

    def seconds_left(self) -> float:
        """Return the seconds that are left."""
        return max(self.deadline - time.perf_counter(), 0.0)

    def until(self, share: float) -> Callable[[], bool]:
        """Return a clock that runs out after this share of the time that is left; compiling stops it."""
        end, compiled = time.perf_counter() + share * self.seconds_left(), self.compiled
        return lambda: time.perf_counter() >= end + self.compiled - compiled

    def finished(self) -> bool:
        """Return whether there is nothing more to prove, or no time."""
        return self.upper <= (1.0 + self.tol) * self.lower or self.out_of_time()

    def bound(self, name: str, compute: Callable[..., float], *arguments: Any) -> float:
        """Compute one bound, unless all is done, and keep it; return the least so far."""
        if not self.finished():
            began = time.perf_counter()
            self.proven(name, float(compute(*arguments)), time.perf_counter() - began)
        return self.upper

    def proven(self, name: str, value: float, seconds: float) -> None:
        """Keep a bound; one that is not a number proves nothing."""
        value = np.inf if np.isnan(value) else value
        self.bounds.append(Bound(name, value, seconds))
        self.upper = min(self.upper, value)
        if self.on_step is not None:
            elapsed = time.perf_counter() - self.started
            self.on_step(Step(f"certify: {name}", 0, len(self.bounds), self.lower, self.upper, elapsed))

    def reached(self, support: Array, value: float) -> None:
        """Keep a better support."""
        if value > self.lower:
            self.support, self.lower = support, value

    def spend_compiling(self, compile_all: Callable[[], None], *, is_new: bool) -> None:
        """Compile the search, on top of the time for the proof; report it where no earlier run has done it."""
        began = time.perf_counter()
        if is_new:
            self._report_compiling(0, 0.0)
        compile_all()
        seconds = time.perf_counter() - began
        for run in self._with_parents():
            run.deadline += seconds
            run.compiled += seconds
        if is_new:
            self._report_compiling(1, seconds)

    def ran_with(self, engine: str) -> None:
        """Keep the name of the engine that examines nodes from here on."""
        for run in self._with_parents():
            run.engine = engine

    def _with_parents(self) -> Iterator[Progress]:
        run: Progress | None = self
        while run is not None:
            yield run
            run = run.parent

    def _report_compiling(self, iteration: int, seconds: float) -> None:
        on_step = next((run.on_step for run in self._with_parents() if run.on_step is not None), None)
        if on_step is not None:
            on_step(Step(COMPILE, 0, iteration, 0.0, None, seconds))


def only_compiling(on_step: OnStep | None) -> OnStep | None:
    """Return what passes on that something is compiled and nothing else, for callers with steps of their own."""
    return None if on_step is None else lambda step: on_step(step) if step.stage == COMPILE else None
