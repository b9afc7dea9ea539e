"""Progress on stderr: a bar where it is a terminal, plain lines with --verbose, otherwise nothing."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from rspca.base.types import COMPILE
from rspca.cli.options import Talking

if TYPE_CHECKING:
    from rspca.base.types import OnStep, Step

_REFRESH = 0.05
"""Seconds between two changes of the bar; stages that end sooner are not worth a line."""
COMPILING = "compiling kernels, once on this machine"
Done = Callable[["Step"], int]


def components_done(step: Step) -> int:
    """Return how many components there are after this step."""
    return step.component + (step.stage == "component")


def rows_done(step: Step) -> int:
    """Return how many rows there are after this step: of a path or a comparison."""
    return step.iteration


@contextmanager
def shown(
    talking: Talking, total: int, done: Done = components_done, *, what: str = "component", start: int = 0
) -> Iterator[OnStep]:
    """Give a function that shows each step; what it shows is gone when the block ends.

    A proof takes an interrupt for the end of its time, as it should. Here the interrupt is for the command: the next
    step raises it again.
    """
    with _interruptible() as interrupted:
        if talking.verbose:
            show: Any = _lines(total, what)
            yield _guarded(show, interrupted)
        elif talking.quiet or talking.json or not sys.stderr.isatty():
            yield _guarded(lambda step: None, interrupted)
        else:
            with _bar(total, done, what, start) as show:
                yield _guarded(show, interrupted)


def _guarded(show: OnStep, interrupted: threading.Event) -> OnStep:
    def on_step(step: Step) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        show(step)

    return on_step


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Remember an interrupt as well as raise it."""
    interrupted = threading.Event()

    def remember(number: int, frame: Any) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _words(step: Step, total: int, what: str) -> str:
    """Return a step in words."""
    if step.stage == COMPILE:
        return COMPILING
    parts = [f"component {step.component + 1} of {total}"] if what == "component" and total > 1 else []
    parts.append("found" if step.stage == "component" else step.stage)
    if step.variance > 0.0:
        parts.append(f"variance {step.variance:.6g}")
        if step.upper is not None and step.upper < float("inf"):
            parts.append(f"gap {max(step.upper / step.variance - 1.0, 0.0):.2%}")
    return ", ".join(parts)


def _lines(total: int, what: str) -> OnStep:
    """Return what prints a line when a stage begins, and for each result."""
    began, last = time.perf_counter(), ("", -1)

    def show(step: Step) -> None:
        nonlocal last
        if (step.stage, step.component) != last:
            last = (step.stage, step.component)
            typer.echo(f"{time.perf_counter() - began:8.1f} s  {_words(step, total, what)}", err=True)

    return show


@contextmanager
def _bar(total: int, done: Done, what: str, start: int) -> Iterator[OnStep]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = [
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    ]
    # The time left is estimated from all components so far: one may take longer than the half minute that is usual.
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=1e9) as bar:
        task = bar.add_task("reading", total=total, completed=start)
        shown_at = 0.0

        def show(step: Step) -> None:
            nonlocal shown_at
            now = time.perf_counter()
            if now - shown_at >= _REFRESH or step.stage in ("component", COMPILE):
                shown_at = now
                completed = None if step.stage == COMPILE else max(done(step), start)  # None leaves it where it is
                bar.update(task, description=_words(step, total, what), completed=completed)

        yield show
