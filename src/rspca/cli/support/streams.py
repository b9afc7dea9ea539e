"""The standard streams of a command: closed ones are refused, and errors of writing name the stream."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rspca.base.atomic import unwritten

OUTPUT, ERRORS = "The standard output", "The standard error stream"


def check_open() -> None:
    """Raise if the standard output or the standard error stream is closed.

    The next file that is opened would take its place, and what is printed would end up in that file.
    """
    for stream, name, redirection in ((sys.stdout, OUTPUT, ">"), (sys.stderr, ERRORS, "2>")):
        if stream is None or getattr(stream, "closed", False):
            raise OSError(f"{name} is closed; redirect it to a file, or with {redirection} /dev/null.")


class _Named:
    """A text stream whose errors of writing name it."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream, self._name = stream, name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._stream, attribute)

    def write(self, text: str) -> Any:
        """Write a text."""
        with self._failures():
            return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        with self._failures():
            self._stream.writelines(lines)

    def flush(self) -> None:
        """Write what is still in memory."""
        with self._failures():
            self._stream.flush()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # whoever read it has enough
            raise
        except OSError as error:
            if error.filename is not None or error.errno is None:  # of what is written, not of the stream
                raise
            raise unwritten(self._name, error, "Choose another place for it.") from error


@contextmanager
def named_output() -> Iterator[None]:
    """Let errors of writing to the standard output name it within the block."""
    before: Any = sys.stdout
    sys.stdout = _Named(before, OUTPUT)
    try:
        yield
    finally:
        sys.stdout = before


def last_words(text: str) -> None:
    """Print one line on the standard error stream, on the other one if that is closed, nowhere if it fails."""
    with suppress(OSError, ValueError, AttributeError):
        stream = sys.stdout if sys.stderr is None else sys.stderr
        stream.write(f"{text}\n")
        stream.flush()
