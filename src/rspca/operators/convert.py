"""From what users hold (arrays, frames, sparse matrices, tables, files, operators) to what the core works on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.arguments import argument
from rspca.base.checks import check_is_data, rectangular, without_mask
from rspca.base.dataframes import sparse_matrix
from rspca.base.types import Array
from rspca.operators.base import Adapted, Operator, OperatorMixin
from rspca.operators.dense import DenseOperator
from rspca.operators.sparse import SparseOperator, each_entry_once
from rspca.operators.standardized import Centered, Scaled, Standardized
from rspca.operators.streamed import BlockOperator, is_large_file, is_sliced

LARGEST = {np.dtype(np.float32): 1e35, np.dtype(np.float64): 1e150}
"""Largest column norms: sums of a million such columns are single precision, their squares double precision."""
SMALLEST = {np.dtype(np.float32): 1e-35, np.dtype(np.float64): 1e-145}
"""Smallest spread that columns can be divided by: below it values, or their squares, lose digits."""


def as_operator(X: Any, *, max_memory: int | str | None = None) -> OperatorMixin:
    """Return `X` as an operator, without copying it (but for a sparse matrix with repeated or unsorted entries).

    Parameters
    ----------
    X : array, memmap, SciPy sparse matrix or array, pandas or polars frame, operator, table, Dask array, HDF5 dataset
        An object with ``shape``, ``dtype``, ``matmat``, ``rmatmat`` and ``columns`` counts as an operator, and one with
        ``shape``, ``dtype`` and row slices as data to stream.
    max_memory : int or str, optional
        Stream an array, mapped or not, in blocks for which so much memory is enough, for example "500MB".

    Returns
    -------
    operator
        With ``matmat``, ``rmatmat``, ``gram``, ``columns``, ``column_sq_norms``, ``passes``, ...

    Examples
    --------
    >>> import numpy as np, rspca
    >>> op = rspca.as_operator(np.eye(3))
    >>> op.matmat(np.ones(3)), op.passes
    (array([1., 1., 1.]), 1.0)
    """
    op = _wrapped(X) if max_memory is None else _streamed(X, max_memory)
    m, n = op.shape
    if m == 0 or n == 0:
        raise ValueError(f"X has shape ({m}, {n}); at least one sample and one feature are needed.")
    return op


def _wrapped(X: Any) -> OperatorMixin:
    if isinstance(X, OperatorMixin):
        return X
    if isinstance(getattr(X, "operator", None), OperatorMixin):  # a table
        return X.operator
    if is_dask(X):
        from rspca.operators.dask import dask_operator

        return dask_operator(X)
    if is_large_file(X) or (is_sliced(X) and not isinstance(X, Operator)):
        return _streamed(X, None)
    if scipy.sparse.issparse(X):
        _check_matrix(X)
        return SparseOperator(each_entry_once(X if X.format in ("csr", "csc") else X.tocsr()))
    X = without_mask(X)
    if not isinstance(X, np.ndarray):
        if isinstance(X, Operator):
            return Adapted(X)
        check_is_data("X", X)
        sparse = sparse_matrix(X)
        if sparse is not None:
            return _wrapped(sparse)
        X = rectangular("X", X)
    _check_matrix(X)
    return DenseOperator(X if isinstance(X, np.memmap) else np.asarray(X))


def is_beyond_arrays(X: Any) -> bool:
    """Tell whether X is something that operators know and scikit-learn's validation does not."""
    if isinstance(X, np.ndarray) or scipy.sparse.issparse(X):
        return False
    if isinstance(X, OperatorMixin) or isinstance(getattr(X, "operator", None), OperatorMixin):
        return True
    return is_dask(X) or is_sliced(X) or (isinstance(X, Operator) and not hasattr(X, "to_numpy"))


def is_dask(X: Any) -> bool:
    """Tell whether X is a Dask array, without importing Dask."""
    return type(X).__module__.startswith("dask.") and hasattr(X, "chunks")


def _streamed(X: Any, max_memory: int | str | None) -> OperatorMixin:
    if isinstance(X, OperatorMixin) or is_dask(X) or not hasattr(X, "dtype"):
        raise TypeError(f"{argument('max_memory')} is for arrays and files with row slices; X is a {type(X).__name__}.")
    X = X.tocsr() if scipy.sparse.issparse(X) and X.format not in ("csr", "csc") else without_mask(X)
    _check_matrix(X)
    return BlockOperator(X, max_memory)


def prepare(X: Any, *, center: bool = True, scale: bool | str = False) -> OperatorMixin:
    """Return X as an operator, centered and scaled implicitly, after refusing what cannot be worked on."""
    return standardize(as_operator(X), center=center, scale=scale)


def standardize(op: OperatorMixin, *, center: bool, scale: bool | str) -> OperatorMixin:
    """Return an operator centered and scaled implicitly, after refusing values that cannot be worked on."""
    center, scale = check_center(center), check_scale(scale)
    m = op.total_weight
    if not op.has_samples:
        if scale is not False:
            raise ValueError(
                f"{argument('scale', scale)} cannot be applied: a Gram matrix is taken as given. Scale the matrix "
                "itself, for example to correlations."
            )
        return op
    if center and np.count_nonzero(op.intercept) == 1:
        raise ValueError(
            f"X has one sample; centering leaves nothing of it. Give more samples or {argument('center', False)}."
        )
    check_finite(op.means)
    mean = np.broadcast_to(0.0, op.shape[1]) if center else op.means
    if center:
        op = Centered(op)
        mean = op.mean
    norms = op.sq_norms
    largest = LARGEST[op.dtype]
    if not norms.max() <= largest**2:
        raise ValueError(
            f"X has columns of norm above {largest:g}, too long for {op.dtype}; divide X by a constant first."
        )
    if scale is False:
        return op
    if scale == "patterson":
        # numbers between 0 and 2 with this mean have at most this variance
        about_mean = norms if center else norms - m * mean**2
        if np.any((mean < 0.0) | (mean > 2.0) | (about_mean > m * mean * (2.0 - mean) * (1.0 + 1e-6) + 1e-9)):
            raise ValueError(
                f"{argument('scale', 'patterson')} is for genotypes: every value of X must lie between 0 and 2."
            )
    smallest = SMALLEST[op.dtype]
    short = ((norms > 0.0) & (norms < m * smallest**2)) | ((norms == 0.0) & (mean != 0.0) & (np.abs(mean) < smallest))
    if short.any():
        column = int(np.argmax(short))
        raise ValueError(
            f"Column {column} of X has a spread below {smallest:g}, too small to be scaled in {op.dtype}; multiply it "
            "by a constant first."
        )
    return Standardized(op, scale)


def check_center(center: Any) -> bool:
    """Return `center` as a bool, or raise."""
    if not isinstance(center, bool | np.bool_):
        raise ValueError(f"{argument('center', center)} is not known; choose one of False, True.")
    return bool(center)


def check_scale(scale: Any) -> bool | str:
    """Return `scale` as False, True or "patterson", or raise."""
    if isinstance(scale, bool | np.bool_) or (isinstance(scale, int) and scale in (0, 1)):
        return bool(scale)
    if not isinstance(scale, str) or scale != "patterson":
        raise ValueError(f"{argument('scale', scale)} is not known; choose one of False, True, 'patterson'.")
    return scale


def balanced(op: OperatorMixin) -> tuple[OperatorMixin, float]:
    """Return op in units of a power of two near its largest column norm, where squares would leave float range."""
    largest = float(np.sqrt(op.sq_norms.max(initial=0.0)))
    exponent = int(np.frexp(largest)[1])
    if abs(exponent) <= (30 if op.dtype == np.float32 else 200):
        return op, 1.0
    unit = float(np.ldexp(1.0, exponent))
    return Scaled(op, np.full(op.shape[1], 1.0 / unit)), unit


def _check_matrix(X: Any) -> None:
    if len(X.shape) != 2:
        raise ValueError(f"X has {len(X.shape)} dimension(s); a matrix of samples by features is needed. Reshape it.")
    if np.dtype(X.dtype).kind not in "biuf":
        raise TypeError(f"X has dtype {X.dtype}; only real numbers can be used. Convert it with X.astype(float).")


def check_finite(sums: Array, what: str = "column") -> None:
    """Raise if a sum over a column (or a row) shows that X holds values that are not finite."""
    if not np.isfinite(sums).all():
        bad = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise ValueError(
            f"X contains NaN or infinite values (first in {what} {bad}). Impute them first, for example with "
            "sklearn.impute.SimpleImputer, or drop the samples or features."
        )
