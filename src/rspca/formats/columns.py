"""Columns of a table: which are features, names of the rows, or labels of the samples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.formats.named import Named, plain

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
MOST_CHARACTERS = 15
"""Of a number that double precision keeps to the last digit."""
MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "?", ".", "-"))
"""What stands for a missing cell, in lower case."""
TRUTHS = frozenset(("true", "false", "yes", "no"))
DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)+(\.\d+)?([eE][+-]?\d+)?")
_DIGITS = r"(?:\d+(?:[ \u00a0\u2009\u202f'\u2019,.]\d{3})*(?:[.,]\d*)?|[.,]\d+)(?:[eE]\d+|[eEdD][+-]\d+)?"
_SIGN = r"[+\-\u2212]?"
_UNIT = r"(?:[$\u20ac\u00a3\u00a5\u20b9%\u2030]|USD|EUR|GBP|CHF|JPY)?"
_DRESSED = re.compile(rf"[<>\u2264\u2265~\u2248]?=? ?{_SIGN} ?{_UNIT} ?{_SIGN}{_DIGITS} ?{_UNIT}")
"""A number with a currency, a percent sign, a comparison, or digits in groups of three."""


def is_number(cell: str) -> bool:
    """Return whether a cell of text holds a number; NaN is none, infinity is."""
    try:
        number = float(cell)
    except ValueError:
        return False
    return number == number and "_" not in cell  # Python reads 1_000, other programs do not


def is_missing_cell(cell: str) -> bool:
    """Return whether a cell of text stands for a missing value."""
    return cell.strip().lower() in MISSING


def plainly_numeric(cell: str) -> bool:
    """Return whether a cell holds a number, with a decimal point or comma."""
    return is_number(cell) or DECIMAL_COMMA.fullmatch(cell.strip()) is not None


def looks_numeric(cell: str) -> bool:
    """Return whether a cell holds a number as people write it: 5, 1,5, $1, 10%, 1 234, <0.1, (3)."""
    text = cell.strip()
    bare = text[1:-1] if text.startswith("(") and text.endswith(")") else text  # accountants write -3 as (3)
    return plainly_numeric(text) or _DRESSED.fullmatch(bare) is not None


def is_truth(cell: str) -> bool:
    """Return whether a cell holds a truth value."""
    return cell.strip().lower() in TRUTHS


def not_text(cells: Sequence[str], *, first: bool) -> int | None:
    """Return the first cell of a column of text that speaks against text, None if none does.

    Columns of numbers as people write them are no text, and neither are those that mix numbers and text. Truth values
    are none in the first column, where they would be taken for names of rows.
    """
    there = [i for i, cell in enumerate(cells) if not is_missing_cell(cell)]
    text = next((i for i in there if not is_number(cells[i])), None)
    if text is None:
        return None
    mixed = any(map(is_number, cells))
    dressed = all(looks_numeric(cells[i]) for i in there)
    return text if mixed or dressed or (first and all(is_truth(cells[i]) for i in there)) else None


def advice_for_text(cell: str, name: str, *, first: bool) -> str:
    """Return what to do with a column of text that may be numbers."""
    if DECIMAL_COMMA.fullmatch(cell.strip()):
        return "Numbers need a decimal point and no comma: write the table with points."
    how = "Write it as a plain number" if looks_numeric(cell) or is_truth(cell) else "Fix it"
    advice = f"{how}, or keep the column, text and numbers, with {argument('labels', [name])}"
    return (
        f"{advice}, or, if it names the rows, call it id or give {argument('row_names', name)}."
        if first
        else f"{advice}."
    )


def row_column(path: Path, row_names: str | bool | None, names: Sequence[str], labels: Sequence[str]) -> str | None:
    """Return the column that the user says names the rows; None if nothing is said, or that there is none."""
    if row_names is None or row_names is False:
        return None
    name = names[0] if row_names is True else row_names
    if name not in names:
        raise ValueError(
            f"{path} has no column {name!r} for {argument('row_names')}; its columns are {listed(names, 10)}."
        )
    if name in labels:
        raise ValueError(
            f"{path}: column {name!r} cannot be in {argument('labels')} and in {argument('row_names')}; leave it out "
            "of one."
        )
    return name


def check_row_names(row_names: object) -> None:
    """Raise unless `row_names` names a column, or says whether the first names the rows."""
    if not (row_names is None or isinstance(row_names, str | bool)):
        raise TypeError(f"{argument('row_names', row_names)} must be the name of a column, True, False or None.")


def listed(names: Sequence[str], most: int) -> str:
    """Return the first few names in one line, whatever they hold."""
    shown = [" ".join(str(name).split())[:60] for name in names[:most]]
    return ", ".join(shown) + (", ..." if len(names) > most else "")


def check_labels(path: Path, labels: Sequence[str], names: Sequence[str]) -> None:
    """Raise unless every label is a column, and no column has the name of another."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        shown = listed(twice, 3)
        raise ValueError(f"{path}: {len(twice)} feature name(s) occur more than once: {shown}; give each its own.")
    unknown = next((label for label in labels if label not in names), None)
    if unknown is not None:
        raise ValueError(f"{path} has no column {unknown!r} for labels; its columns are {listed(names, 10)}.")


def arrange_columns(
    path: Path,
    X: Any,
    names: Sequence[str] | None,
    text: Mapping[str, Sequence[Any]],
    *,
    labels: Sequence[str],
    first: str | None,
    transpose: bool,
    given: bool = False,
) -> Named:
    """Return numbers with their names, and columns of text as the names of the rows and the labels of the samples.

    `first` is a column of `text` that names the rows if its entries differ; they must if the user gave it.
    """
    others = dict(text)
    rows = None
    repeated = [] if first is None else [name for name, count in Counter(map(str, text[first])).items() if count > 1]
    if given and repeated:
        raise ValueError(
            f"{path}, column {first}: {len(repeated)} row name(s) occur more than once: {listed(repeated, 3)}. Give "
            f"each row its own, or keep the column with {argument('labels', [first])}."
        )
    if first is not None and not repeated:
        rows = [str(cell) for cell in others.pop(first)]
    if X.shape[1] == 0:
        raise ValueError(f"{path} has no column of numbers; its columns are {listed([*text], 10)}.")
    unnamed = [name for name in others if name not in labels]
    notes: tuple[str, ...] = ()
    if unnamed:
        notes = (
            f"{path}: {len(unnamed)} column(s) without numbers ({listed(unnamed, 5)}) are used as labels of samples, "
            f"not as features. Name them with {argument('labels', unnamed[:5])} to say so.",
        )
    named = Named(X, names, rows, samples={name: _label(cells) for name, cells in others.items()}, notes=notes)
    if not transpose:
        return named
    turned = named.transposed()
    return turned.with_matrix(np.ascontiguousarray(turned.X))


def _label(cells: Sequence[Any]) -> Any:
    """Return a column of labels: numbers if they say all that the text says (007 and long ids do not), else strings."""
    texts = isinstance(cells, list) and all(isinstance(cell, str) for cell in cells)
    if texts and cells and all(_WHOLE.fullmatch(cell) for cell in cells):
        return np.array(cells, dtype=np.int64)
    if texts and cells and all(_DECIMAL.fullmatch(cell) and len(cell) <= MOST_CHARACTERS for cell in cells):
        return np.array(cells, dtype=np.float64)
    return plain(np.asarray(cells))
