"""xarray DataArrays: samples by features if their dims say so; the package is not imported."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rspca.base.checks import shown
from rspca.base.types import Array

SAMPLE_DIMS = ("sample", "obs", "observation", "cell", "person", "people", "individual", "document", "row", "time")
"""Names of dims, in the singular, that only samples have."""
FEATURE_DIMS = ("feature", "var", "variable", "gene", "snp", "variant", "term", "word", "column")
"""Names of dims, in the singular, that only features have."""
_UNNAMED = re.compile(r"dim_\d+")


def is_labeled(X: Any) -> bool:
    """Return whether X is a DataArray or a Dataset of xarray."""
    return type(X).__module__.partition(".")[0] == "xarray" and hasattr(X, "dims")


def unlabeled(X: Any) -> Any:
    """Return the array of a DataArray, samples by features; raise, with the names of its dims, if they are not."""
    if not hasattr(X, "data"):
        names = ", ".join(shown(name) for name in list(X)[:8]) or "none"
        raise TypeError(f"X is an xarray {type(X).__name__}; give one of its arrays, X[name]. They are: {names}.")
    dims = [str(dim) for dim in X.dims]
    described = f"X is a DataArray with dims ({', '.join(shown(dim) for dim in dims)})"
    if len(dims) != 2:
        raise ValueError(
            f"{described}; two are needed, samples and features. Combine dims with X.stack(feature=[...])."
        )
    rows, columns = dims
    if _is_named_as(rows, FEATURE_DIMS) or _is_named_as(columns, SAMPLE_DIMS):
        raise ValueError(f"{described}, features before samples; give X.transpose({columns!r}, {rows!r}).")
    if all(map(_UNNAMED.fullmatch, dims)):
        raise ValueError(
            f"{described}, which do not say what the samples are; name them, samples first, with "
            f'X.rename({rows}="sample", {columns}="feature"), or give X.values.'
        )
    return X.data


def label_names(X: Any) -> tuple[Array | None, Array | None]:
    """Return the names of features and of samples of a DataArray: the coordinates of its dims, where it has them."""
    rows, columns = X.dims
    return _coordinate(X, columns), _coordinate(X, rows)


def _coordinate(X: Any, dim: Any) -> Array | None:
    return np.array([str(name) for name in X[dim].values]) if dim in X.coords else None


def _is_named_as(dim: str, words: tuple[str, ...]) -> bool:
    name = dim.lower()
    return name in words or name.removesuffix("s") in words
