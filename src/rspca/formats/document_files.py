"""Texts with their names: from a list, from the files of a folder, or from the lines of a file."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rspca.base.arguments import argument
from rspca.base.files import lines, read_bytes


class NamedTexts(NamedTuple):
    """Texts that are in memory, and a name for each."""

    names: list[str]
    texts: list[str]


def read_texts(documents: Any, encoding: str, pattern: str) -> tuple[list[str], list[str]]:
    """Return names and texts of a list, a folder, or a file of lines."""
    if isinstance(documents, NamedTexts):
        return documents
    if isinstance(documents, str | os.PathLike):
        path = Path(documents)
        if not _exists(path):
            raise ValueError(
                f"documents={str(documents)[:60]!r} is neither a file nor a folder; put a single text into a list."
            )
        found = list(_folder(path, encoding, pattern) if path.is_dir() else _lines(path, encoding))
    elif isinstance(documents, Iterable) and not isinstance(documents, bytes):
        found = [(str(position), text) for position, text in enumerate(documents)]
    else:
        raise TypeError(f"documents is a {type(documents).__name__}; give a list of strings, a folder, or a file.")
    for name, text in found:
        if not isinstance(text, str):
            raise TypeError(f"document {name} is a {type(text).__name__}, not a string.")
    if not found:
        which = "" if pattern == "*" else f" named {pattern}; {argument('pattern', '*')} reads all files of a folder"
        raise ValueError(f"{str(documents)[:200]} has no documents{which}.")
    return [name for name, _ in found], [text for _, text in found]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a text can be too long for a name, or hold what no name may
        return False


def _folder(folder: Path, encoding: str, pattern: str) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        matches = fnmatch.fnmatch(path.name, pattern) or fnmatch.fnmatch(path.name.removesuffix(".gz"), pattern)
        if matches and path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield name.as_posix(), _text(path, encoding)


def _lines(path: Path, encoding: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines(path, encoding), 1):
        if "\0" in line:
            raise ValueError(f"{path}, line {number} is not text: it has zero bytes.")
        if line.strip():
            yield f"line {number}", line


def _text(path: Path, encoding: str) -> str:
    content = read_bytes(path)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not {encoding} text (byte {error.start}); give its encoding, for example "
            f"{argument('encoding', 'latin-1')}, or keep files that are no text out of the folder."
        ) from error
    if "\0" in text:
        raise ValueError(f"{path} is not text: it has zero bytes; keep it out of the folder.")
    return text
