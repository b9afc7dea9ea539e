"""Frames and series of pandas and polars as arrays of numbers; neither package is imported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rspca.base.types import Array

NUMBERS = "biuf"
"""Kinds of NumPy types that hold real numbers."""


def is_dataframe_like(x: object) -> bool:
    """Return whether x is a frame or a series, which have more kinds of columns than arrays have."""
    return hasattr(x, "to_numpy") and not isinstance(x, np.ndarray)


def numeric_array(name: str, x: Any) -> Array:
    """Return a frame or a series as an array of numbers, with NaN where a value is missing.

    Nullable and Arrow-backed columns of pandas would otherwise become Python objects. A column that does not hold
    numbers is an error that names it.
    """
    if not hasattr(x, "columns"):
        return _numbers(name, x)
    if _is_plain(x):
        return np.asarray(x.to_numpy())
    columns = [_numbers(f"column {label!s:.40} of {name}", column) for label, column in named_columns(x)]
    dtype = np.result_type(*columns) if columns else np.dtype(float)
    out = np.empty((len(x), len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        out[:, j] = column
    return out


def with_plain_columns(x: Any) -> Any:
    """Return a frame of numbers with columns as NumPy has them, under the same names; anything else as it is."""
    if not (is_dataframe_like(x) and hasattr(x, "columns")) or _is_plain(x) or _is_sparse(x):
        return x
    try:
        array = numeric_array("X", x)
    except TypeError:  # scikit-learn may still find numbers in it
        return x
    names: dict[str, Any] = {"index": x.index, "columns": x.columns} if hasattr(x, "index") else {"schema": x.columns}
    return type(x)(array, **names)


def sparse_matrix(x: Any) -> Any:
    """Return a pandas frame whose columns are all sparse, with zeros left out, as a SciPy matrix; None for others."""
    return x.sparse.to_coo().tocsr() if _is_sparse(x) else None


def _is_plain(x: Any) -> bool:
    return all(isinstance(dtype, np.dtype) and dtype.kind in NUMBERS for dtype in x.dtypes)


def _is_sparse(x: Any) -> bool:
    dtypes = list(x.dtypes) if hasattr(x, "dtypes") and hasattr(x, "sparse") else []
    return bool(dtypes) and all(getattr(dtype, "fill_value", None) == 0 for dtype in dtypes)


def named_columns(x: Any) -> Iterable[tuple[Any, Any]]:
    """Return the columns of a frame with their names."""
    if hasattr(x, "items"):  # pandas
        return x.items()
    return zip(x.columns, x.iter_columns(), strict=True)  # polars


def _numbers(name: str, column: Any) -> Array:
    """Return one column as numbers, or raise."""
    convert = _from_polars if hasattr(column, "null_count") else _from_pandas
    array = convert(column)
    if array is None or array.dtype.kind not in NUMBERS:
        raise TypeError(
            f"{name} has dtype {column.dtype}; only real numbers can be used. Leave it out, or convert it with "
            "astype(float)."
        )
    return array


def _from_polars(column: Any) -> Array | None:
    dtype = column.dtype
    if not (dtype.is_numeric() or str(dtype) == "Boolean"):
        return None
    as_float = column.null_count() or dtype.is_decimal()  # they would be Python objects
    return np.asarray((column.cast(float) if as_float else column).to_numpy())


def _from_pandas(column: Any) -> Array | None:
    dtype: Any = column.dtype
    if isinstance(dtype, np.dtype):
        return np.asarray(column.to_numpy())
    plain = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", None))  # nullable and Arrow-backed, or sparse
    if getattr(dtype, "_is_numeric", False) and "decimal" in str(dtype):
        plain = np.dtype(float)
    if not isinstance(plain, np.dtype) or plain.kind not in NUMBERS:
        return None
    if bool(column.isna().any()):
        plain = plain if plain.kind == "f" else np.dtype(float)
        return np.asarray(column.to_numpy(dtype=plain, na_value=np.nan))
    return np.asarray(column.to_numpy(dtype=plain))
