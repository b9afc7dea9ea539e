"""Entries of stored certificates, read strictly: a file may come from anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rspca.base.types import Array

MOST_CHARACTERS, MOST_BOUNDS = 300, 10_000
"""Length of a text, and number of bounds or assumptions, beyond which a file is not one of ours."""


class Bound(NamedTuple):
    """One upper bound that was tried: its name, its value, and the seconds it took."""

    name: str
    value: float
    seconds: float


def value_of(name: str, kind: str, value: Any, conversions: Mapping[str, Callable[[Any], Any]]) -> Any:
    """Return an entry of a stored certificate as its field has it, or raise if it is of another kind."""
    convert = conversions[name if name in conversions else kind]
    try:
        return convert(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name} is not what it should be") from error


def whole(value: Any) -> int:
    """Return a whole number that is not negative."""
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def finite(value: Any) -> float:
    """Return a finite number."""
    if type(value) not in (int, float) or not math.isfinite(float(value)):
        raise ValueError
    return float(value)


def word(value: Any) -> str:
    """Return a short printable text: names are shown on terminals and pages."""
    if not isinstance(value, str):
        raise TypeError
    if not value.isprintable() or len(value) > MOST_CHARACTERS:
        raise ValueError
    return value


def at_least_zero(value: Any) -> float:
    """Return a finite number that is not negative."""
    if finite(value) < 0.0:
        raise ValueError
    return float(value)


def reason_of(value: Any) -> str:
    """Return why a proof ended; version 0.2.0 said "exhausted"."""
    return "nothing left to try" if value == "exhausted" else word(value)


def truth(value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise TypeError
    return value


def scale_of(value: Any) -> bool | str:
    """Return how columns are scaled."""
    return "patterson" if value == "patterson" else truth(value)


def bounds_of(value: Any) -> tuple[Bound, ...]:
    """Return the bounds that were tried; one that proved nothing is infinite."""
    if len(value) > MOST_BOUNDS:
        raise ValueError
    return tuple(
        Bound(word(name), math.inf if bound == math.inf else at_least_zero(bound), at_least_zero(seconds))
        for name, bound, seconds in value
    )


def features_of(value: Any) -> Array:
    """Return indices of features."""
    return np.array([whole(entry) for entry in value], dtype=np.intp)


def loadings_of(value: Any) -> Array:
    """Return loadings."""
    return np.array([finite(entry) for entry in value], dtype=np.float64)


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "int": whole,
    "float": at_least_zero,
    "str": word,
    "bool": truth,
    "scale": scale_of,
    "stopped_by": reason_of,
    "bounds": bounds_of,
    "support": features_of,
    "loadings": loadings_of,
    "assumptions": lambda value: tuple(word(words) for words in value),
}
"""How entries are read: by the name of a field, else by its type."""
