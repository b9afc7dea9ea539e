"""Ctrl-C during a long computation outside Python: the command ends in time even if it does not return."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer

from rspca.cli.options import INTERRUPTED, printable

PATIENCE = 1.5
"""Seconds that an interrupt may take on its usual way, before the process is ended without it."""
_CURSOR = "\x1b[?25h\r\x1b[K"
"""Shows the cursor that a progress bar hides, on an empty line."""


@contextmanager
def answered_soon(last_words: Callable[[], str]) -> Iterator[None]:
    """End the process with these words if an interrupt does not end the block in time.

    Python raises KeyboardInterrupt between two of its own instructions, and a product with large data, or an
    eigendecomposition, is a single one. A wakeup file descriptor passes the signal at once to a thread that waits.
    Files on disk are complete at any moment, so nothing is lost with the process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    if hasattr(os, "set_blocking"):  # Windows has it from Python 3.12 on, and does not need it
        os.set_blocking(writer, False)
    ended = threading.Event()

    def watch() -> None:
        while received := os.read(reader, 1):
            if received[0] == signal.SIGINT and not ended.wait(PATIENCE):
                cursor = _CURSOR if sys.stderr.isatty() else ""
                words = printable(f"rspca: interrupted; {last_words()}")
                os.write(2, f"{cursor}{words}\n".encode(errors="backslashreplace"))
                os._exit(INTERRUPTED)

    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, name="rspca-interrupt", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        os.close(writer)
        watcher.join()
        os.close(reader)


def until_stopped(work: Callable[[Callable[[Any], None]], Any]) -> tuple[Any, bool]:
    """Return what the work returns and False, or the rows it reported last and True if the user stops it."""
    last = deque[Any](maxlen=1)
    try:
        return work(last.append), False
    except KeyboardInterrupt:
        if not last:
            raise
        return last[0], True


def and_in(out: Path | None) -> str:
    """Return the words that name a file as a further place of the results; nothing without a file."""
    return "" if out is None else f", and in {out}"


def end_early(what_there_is: str) -> NoReturn:
    """End an interrupted command: say what there is, exit with the status of an interrupt."""
    typer.echo(f"rspca: interrupted; {what_there_is}", err=True)
    raise typer.Exit(INTERRUPTED)
