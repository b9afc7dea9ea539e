"""What a reader returns: a matrix, and names and properties of its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.formats.term_weights import DocumentTerms


@dataclass(frozen=True)
class Named:
    """A matrix of samples by features, with names and properties of both where the file has them."""

    X: Any  # anything that as_operator takes
    columns: Sequence[str] | None = None
    rows: Sequence[str] | None = None
    features: Mapping[str, Array] = field(default_factory=dict)
    samples: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # warnings for the user
    terms: DocumentTerms | None = None  # of documents: their words, and the weights of the words

    def transposed(self) -> Named:
        """Return the transposed matrix, with the names and properties of rows and columns exchanged."""
        return replace(
            self, X=self.X.T, columns=self.rows, rows=self.columns, features=self.samples, samples=self.features
        )

    def with_matrix(self, X: Any) -> Named:
        """Return the same names with another matrix."""
        return replace(self, X=X)


def plain(values: Any) -> Array:
    """Return a column of a frame or of a file as numbers, truth values or strings, never as Python objects.

    Only such arrays can be stored without pickle. Missing strings become empty.
    """
    array = np.asarray(values)  # of pandas' truth values with gaps, it is one of objects, whatever their kind says
    if array.dtype.kind in "biufU":
        return array
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace")
    listed = list(values)
    if listed and all(isinstance(value, bool | np.bool_) for value in listed):
        return np.array(listed, dtype=bool)
    return np.array(["" if _is_missing(value) else str(value) for value in listed], dtype=str)


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )
