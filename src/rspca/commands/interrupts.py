"""Ctrl-C in the middle of a long computation outside Python: answered in time, whether that comes back or not."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rspca.commands.shared import INTERRUPTED, printable

PATIENCE = 1.5
"""Seconds that an interrupt may take on its usual way, before the process is ended without it."""
_CURSOR = "\x1b[?25h\r\x1b[K"
"""Shows the cursor that a progress bar hides, on an empty line."""


@contextmanager
def answered_soon(last_words: Callable[[], str]) -> Iterator[None]:
    """End the process with these words if an interrupt does not end the block in time.

    Python raises KeyboardInterrupt between two of its own instructions, and a product with large data, or an
    eigendecomposition, is a single one. The system's part of the signal is told at once to a thread that waits for it.
    What is on disk is whole at any moment, so nothing is lost with the process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    ended = threading.Event()

    def watch() -> None:
        while told := os.read(reader, 1):
            if told[0] == signal.SIGINT and not ended.wait(PATIENCE):
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
