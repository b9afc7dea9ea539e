"""How messages write arguments and values: name=value for functions, or as the command line asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MOST_BITS = 256
"""From here on a message says how long a number is; Python refuses to write out those of thousands of digits."""


class NoValue:
    """Marks the absence of a value, since None is a value that an argument may have."""


NO_VALUE = NoValue()
Writer = Callable[[str, object], str | None]
"""Returns an argument as its users write it, or None where they have no such argument."""
_writer: ContextVar[Writer | None] = ContextVar("writer", default=None)


def argument(name: str, value: object = NO_VALUE) -> str:
    """Return an argument, or an argument with a value, as the user of this run writes it."""
    writer = _writer.get()
    written = None if writer is None else writer(name, value)
    if written is not None:
        return written
    return name if isinstance(value, NoValue) else f"{name}={spelled(value)}"


def where_known(name: str, text: str) -> str:
    """Return `text` if the user of this run has this argument, else an empty string."""
    writer = _writer.get()
    return text if writer is None or writer(name, NO_VALUE) is not None else ""


@contextmanager
def arguments_written_by(writer: Writer) -> Iterator[None]:
    """Let messages within the block write arguments as `writer` does."""
    token = _writer.set(writer)
    try:
        yield
    finally:
        _writer.reset(token)


def shown(text: object, longest: int = 40) -> str:
    """Return text as one printable line, cut off if it is long."""
    text = str(text)
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= longest else f"{text[:longest]}..."


def spelled(value: object) -> str:
    """Return how a value is written, in one short line."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"<integer of {value.bit_length()} bits>"
    return shown(" ".join(repr(value).split()), 80)
