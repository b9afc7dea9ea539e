"""The SMART format of the old retrieval collections (CISI, Cranfield, MEDLINE): documents in lettered sections."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from rspca.base.files import PathLike, lines

_NUMBER = re.compile(r"\.I\s+([0-9]+)\s*")
MOST_DIGITS = 15
_SECTION = re.compile(r"\.([A-Z])\s*")


class SmartDocument(NamedTuple):
    """A document: its number, and the text of its sections by letter."""

    number: int
    sections: dict[str, str]

    def text(self, letters: str = "TW") -> str:
        """Return the text of some sections, in the order of `letters`; a section that is absent is empty."""
        return "\n".join(self.sections[letter] for letter in letters if letter in self.sections)


def read_smart(path: PathLike, *, n_documents: int | None = None, encoding: str = "utf-8") -> list[SmartDocument]:
    r"""Return the documents of a file in SMART format.

    A document begins with a line ``.I number``; a line of a dot and one capital letter begins a section: ``.T`` the
    title, ``.A`` an author, ``.B`` where it appeared, ``.W`` the abstract, ``.X`` references to it. A section that
    occurs again continues the first.

    Parameters
    ----------
    path : path
        The file, plain or gzipped.
    n_documents : int, optional
        How many documents the file must have. The format has no end mark: without this number, and without a
        checksum, a plain file that was cut off between two sections looks like a complete one.
    encoding : str
        Encoding of the text.

    Examples
    --------
    >>> import os, rspca.formats, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two.all")
    ...     with open(path, "w") as file:
    ...         print(".I 1", ".T", "On wings", ".W", "They lift.", ".I 2", ".W", "No title", sep="\n", file=file)
    ...     first, second = rspca.formats.read_smart(path)
    >>> first.text(), second.text()
    ('On wings\nThey lift.', 'No title')
    """
    found: list[tuple[int, dict[str, list[str]]]] = []
    section: list[str] | None = None
    for place, line in enumerate(lines(path, encoding), 1):
        where = f"{Path(path)}, line {place}"
        if number := _NUMBER.fullmatch(line):
            _check_complete(found, where)
            if len(number[1]) > MOST_DIGITS:
                raise ValueError(f"{where}: the number of a document has {len(number[1])} digits.")
            if found and int(number[1]) <= found[-1][0]:
                raise ValueError(f"{where}: document {number[1]} follows document {found[-1][0]}; numbers must rise.")
            found.append((int(number[1]), {}))
            section = None
        elif (letter := _SECTION.fullmatch(line)) and letter[1] != "I":
            if not found:
                raise ValueError(f"{where}: a section before the first '.I number'; this is not a SMART file.")
            section = found[-1][1].setdefault(letter[1], [])
        elif letter:
            raise ValueError(f"{where}: '.I' without a number.")
        elif section is not None:
            section.append(line)
        elif line.strip():
            raise ValueError(f"{where}: text outside of any section; a SMART file begins with '.I number'.")
    _check_complete(found, f"{Path(path)}, at its end")
    if not found:
        raise ValueError(f"{Path(path)} has no documents; a SMART file begins with '.I number'.")
    if n_documents is not None and len(found) != n_documents:
        raise ValueError(
            f"{Path(path)} has {len(found)} documents where {n_documents} are expected; download it again."
        )
    return [
        SmartDocument(number, {letter: "\n".join(text) for letter, text in sections.items()})
        for number, sections in found
    ]


def _check_complete(found: list[tuple[int, dict[str, list[str]]]], where: str) -> None:
    if found and not found[-1][1]:
        raise ValueError(f"{where}: document {found[-1][0]} has no section; the file may be cut off.")
