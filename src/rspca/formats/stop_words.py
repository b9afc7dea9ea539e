"""Words to leave out of documents: the list that ships with rspca, a file, or some words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from rspca.base.arguments import argument
from rspca.base.files import lines


def resolve_stop_words(stop_words: Any, pattern: str) -> list[str]:
    """Return the words to leave out that could be terms at all."""
    if stop_words is None:
        words: Iterable[str] = ()
    elif isinstance(stop_words, str) and stop_words == "default":
        words = _default_stop_words()
    elif isinstance(stop_words, str | os.PathLike):
        if not Path(stop_words).is_file():
            raise ValueError(
                f"{argument('stop_words', str(stop_words))} is not a file; give one with the words to leave out."
            )
        words = _words_of(lines(stop_words))
    else:
        words = list(_checked_words(stop_words))
    return sorted({word.lower() for word in words if re.fullmatch(pattern, word.lower())})


def _checked_words(words: Any) -> Iterator[str]:
    if not isinstance(words, Iterable):
        raise TypeError(f"stop_words={words!r} must be 'default', a path, words, or None.")
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words has {word!r}, which is not a string.")
        yield word


@cache
def _default_stop_words() -> tuple[str, ...]:
    return tuple(_words_of(resources.files("rspca.formats").joinpath("stop_words.txt").read_text("utf-8").splitlines()))


def _words_of(text: Iterable[str]) -> Iterator[str]:
    """Yield the words of a stop list: separated by white space, a number sign begins a comment."""
    for line in text:
        yield from line.partition("#")[0].split()
