"""Detect whether the first line of a table names its columns; refuse lines that could also be a sample."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.formats.columns import is_missing_cell, is_number, listed, looks_numeric, plainly_numeric

ROW_NAMES = frozenset(("", "id", "index", "name", "names", "row.names", "rownames", "sample", "sample_id", "samples"))
"""Heads of a first column that names the rows even if it holds numbers."""
_YEAR = re.compile("(1[89]|2[01])[0-9]{2}")
_LEAST_SPACED, _LEAST_SORTED = 3, 8
"""Numbers in a line from which even steps, or their order, are hardly those of a sample."""


def names_columns(path: Path, rows: Sequence[Sequence[str]]) -> tuple[bool, str]:
    """Return whether the first of these rows has the names of the columns, and what the user should know of it.

    Raise if it holds numbers that look like names: years, even steps such as wavelengths, or a long sorted list,
    where the rows below look otherwise.
    """
    head = rows[0]
    if len(rows) == 1:
        return not any(map(is_number, head)), ""
    body = rows[1]
    shorter = len(head) == len(body) - 1  # R leaves out the head of the row names
    if (shorter and not (all(map(is_number, head)) and is_number(body[0]))) or head[0].strip().lower() in ROW_NAMES:
        return True, ""
    pairs = zip(head, body, strict=False)
    if any(looks_numeric(b) and not plainly_numeric(a) and not is_missing_cell(a) for a, b in pairs):
        return True, ""
    first, *others = _numbers(rows)
    counted = len(head) > 2 and [cell.strip() for cell in head] == [str(j) for j in range(len(head))]
    if counted and not any(map(_is_spaced, others)):  # pandas numbers columns so
        return True, (
            f"{path}: the first line, {listed(head, 3)}, counts the columns and is taken as their names. Say "
            f"{argument('header', True)}, or {argument('header', False)} if it is a sample."
        )
    if counted or _looks_like_names([head[j].strip() for j in _numeric(rows)], first, others):
        raise ValueError(
            f"{path}: the first line, {listed(head, 5)}, could name the columns or be a sample. Say "
            f"{argument('header', True)} if it names them, {argument('header', False)} if it is a sample."
        )
    return False, ""


def _numeric(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns that hold numbers in the first two rows."""
    return [j for j, (a, b) in enumerate(zip(rows[0], rows[1], strict=False)) if is_number(a) and is_number(b)]


def _numbers(rows: Sequence[Sequence[str]]) -> list[list[float]]:
    """Return the numbers of each row; nothing for later rows that have none in these columns."""
    columns = _numeric(rows)
    whole = [row for row in rows if len(row) == len(rows[0]) and all(is_number(row[j]) for j in columns)]
    return [[float(row[j]) for j in columns] for row in whole]


def _looks_like_names(cells: Sequence[str], first: Sequence[float], others: Sequence[Sequence[float]]) -> bool:
    if len(first) > 1 and all(map(_YEAR.fullmatch, cells)) and _is_sorted(first):
        low, high = min(first), max(first)
        return not any(_is_sorted(row) and low <= min(row) and max(row) <= high for row in others)
    if len(first) >= _LEAST_SPACED and _is_spaced(first) and not any(map(_is_spaced, others)):
        return True
    return len(first) >= _LEAST_SORTED and _is_sorted(first) and not any(map(_is_sorted, others))


def _is_sorted(values: Sequence[float]) -> bool:
    """Return whether numbers only rise, or only fall."""
    steps = _steps(values)
    return bool((steps > 0).all() or (steps < 0).all())


def _is_spaced(values: Sequence[float]) -> bool:
    """Return whether numbers rise or fall in even steps."""
    steps = _steps(values)
    return len(steps) > 1 and _is_sorted(values) and bool(np.allclose(steps, steps[0], rtol=1e-6, atol=0.0))


def _steps(values: Sequence[float]) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):  # from -1e308 to 1e308
        return np.diff(values)
