"""Columns as compact JSON: escaped text, numbers with a shared exponent, codes for repeated words."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from rspca.base.types import Array

LONGEST = 200
"""Characters of a name or a document that a page shows."""
FEW = 12
"""Different whole numbers up to which they count as categories."""
_EXACT = 2**53
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain_text(value: object, longest: int = LONGEST) -> str:
    """Return a value as text on one line: what would be invisible, or turn round what follows, is spelled out."""
    text = str(value)
    shown = "".join(_spelled(character) for character in text[: longest + 1])
    return shown if len(text) <= longest else shown[:longest].rstrip() + "…"


def _spelled(character: str) -> str:
    if character in _DIRECTIONS or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
        return character.encode("unicode_escape").decode()
    return character


def names(given: Any, places: Iterable[int], what: str) -> list[str]:
    """Return the names at these places as text; an empty one says where it stands."""
    shown = [(place, plain_text(given[place])) for place in places]
    return [name if name.strip() else f"({what} {place}, no name)" for place, name in shown]


def numbers(values: Any, digits: int) -> dict[str, Any]:
    """Return numbers as whole ones times a power of ten, with so many digits of the largest; None where not finite."""
    array = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(array)
    largest = float(np.abs(array[finite]).max(initial=0.0))
    exponent = max(math.floor(math.log10(largest)) - digits + 1, -300) if largest > 0.0 else 0
    whole = np.rint(np.where(finite, array, 0.0) / 10.0**exponent).astype(np.int64).tolist()
    kept = [value if known else None for value, known in zip(whole, finite.tolist(), strict=True)]
    return {"kind": "number", "exponent": exponent, "values": kept}


def column(values: Any) -> dict[str, Any]:
    """Return a column as what it holds: numbers, or text, with codes in place of words that repeat."""
    array = _array(values)
    if array.dtype.kind == "f":
        return numbers(array, 5)
    if array.dtype.kind in "iu" and np.abs(array.astype(np.float64)).max(initial=0.0) < _EXACT:
        return {"kind": "number", "exponent": 0, "values": array.tolist()}
    words = [None if _missing(value) else plain_text(value) for value in array.tolist()]
    levels = list(dict.fromkeys(word for word in words if word is not None))
    if 2 * len(levels) > len(words):
        return {"kind": "text", "values": words}
    code = {level: number for number, level in enumerate(levels)}
    return {"kind": "text", "levels": levels, "values": [None if word is None else code[word] for word in words]}


def decoded(kept: dict[str, Any]) -> list[Any]:
    """Return the values of a column that was made compact; None where they are missing."""
    if "levels" in kept:
        return [None if code is None else kept["levels"][code] for code in kept["values"]]
    if kept["kind"] != "number":
        return list(kept["values"])
    unit = 10.0 ** kept["exponent"]
    return [None if value is None else value * unit for value in kept["values"]]


def sample_column(name: str, values: Any, wanted: bool = False) -> dict[str, Any]:
    """Return a column with how it colors points: by category, by number, or, for identifiers, not unless wanted."""
    array = _array(values)
    kept = column(array)
    known = {value for value in kept["values"] if value is not None}
    few = len(known) <= FEW and (array.dtype.kind != "f" or not np.any(np.mod(array[np.isfinite(array)], 1.0)))
    if kept["kind"] == "number" and not few:
        color = "number"
    elif len(known) == len(kept["values"]) > FEW and not wanted:
        color = "none"
    else:
        color = "category"
    return {"name": plain_text(name), "color": color, **kept}


def _array(values: Any) -> Array:
    """Return values as an array of one kind: times as text, and numbers among which some are missing as floats."""
    array = np.asarray(values)
    if array.dtype.kind in "Mm":
        return np.array([None if text == "NaT" else text for text in array.astype(str).tolist()], dtype=object)
    if array.dtype == object:
        known = [value for value in array.tolist() if not _missing(value)]
        if known and all(isinstance(value, Real) and not isinstance(value, bool) for value in known):
            return np.array([np.nan if _missing(value) else float(value) for value in array.tolist()])
    return array


def _missing(value: object) -> bool:
    """Return whether a value is missing: empty, or a marker; packages have their own, and not all can be compared."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or str(value) in ("nan", "NaT", "<NA>")
