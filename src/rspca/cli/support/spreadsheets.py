"""CSV that is safe to open in a spreadsheet, and can be read back unchanged.

A spreadsheet takes a text that begins with = + - @, a tab or a line break for a formula. Such a text gets an apostrophe
before it; so does one that begins with an apostrophe, so that taking one away always gives the text back. Numbers are
left alone.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rspca.base.atomic import written_atomically
from rspca.base.checks import reason

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")  # noqa: RUF001  # wide signs count too
_QUOTED = frozenset(',;"\t\r\n')
"""A cell with one of these is quoted; the semicolon and the tab separate cells in some countries and programs."""


def write_csv(path: Path | None, head: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table to a file, whole or not at all, or to stdout."""
    lines = (",".join(map(_cell, row)) + "\n" for row in (head, *rows))
    if path is None:
        sys.stdout.writelines(lines)
        return
    with written_atomically(path) as file:
        file.writelines(line.encode("utf-8", "backslashreplace") for line in lines)


def read_csv(path: str | os.PathLike[str]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of a table that `write_csv` wrote, its texts as they were before."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = [[cell[1:] if cell.startswith("'") else cell for cell in row] for row in csv.reader(file)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a table that rspca wrote: {reason(error)}.") from error
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"{path} is not a table that rspca wrote: its lines differ in length, or it is empty.")
    return rows[0], rows[1:]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):  # numbers; numpy's texts are str
        return str(value)
    text = f"'{value}" if value.startswith(_FORMULA) else value
    return '"' + text.replace('"', '""') + '"' if _QUOTED.intersection(text) else text
