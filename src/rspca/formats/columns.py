"""Columns of a table, told apart: features, the names of the rows, and labels of the samples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rspca.arguments import argument
from rspca.formats.named import Named, plain

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
MOST_CHARACTERS = 15
"""Of a number that double precision keeps to the last digit."""


def is_number(cell: str) -> bool:
    """Tell whether a cell of text holds a number; NaN is none, infinity is."""
    try:
        number = float(cell)
    except ValueError:
        return False
    return number == number and "_" not in cell  # Python reads 1_000, other programs do not


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


def arranged(
    path: Path,
    X: Any,
    names: Sequence[str] | None,
    text: Mapping[str, Sequence[Any]],
    *,
    labels: Sequence[str],
    first: str | None,
    transpose: bool,
) -> Named:
    """Return numbers with their names, and columns of text as the names of the rows and the labels of the samples.

    `first` is a column of `text` that names the rows if its entries differ.
    """
    others = dict(text)
    rows = None
    if first is not None and len({str(cell) for cell in text[first]}) == len(text[first]):
        rows = [str(cell) for cell in others.pop(first)]
    if X.shape[1] == 0:
        raise ValueError(f"{path} has no column of numbers; its columns are {listed([*text], 10)}.")
    kept = [name for name in others if name not in labels]
    notes: tuple[str, ...] = ()
    if kept:
        notes = (
            f"{path}: {len(kept)} column(s) without numbers ({listed(kept, 5)}) are kept as labels of the samples, not "
            f"as features. Name them with {argument('labels', kept[:5])} to say so.",
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
