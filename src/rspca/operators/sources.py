"""From what users hold (arrays, frames, sparse matrices, operators) to the operator that the core works on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from rspca.operators.matrix import DenseOperator, SparseOperator
from rspca.operators.protocol import Adapted, Array, Operator, OperatorMixin
from rspca.operators.wrappers import Centered, Scaled

LARGEST = 1e150
"""Largest column norm whose square is still a comfortable float64."""
SCALES = (False, True, "patterson")


def as_operator(X: Any) -> OperatorMixin:
    """Return `X` as an operator, without copying it.

    Parameters
    ----------
    X : array, memmap, SciPy sparse matrix or array, pandas or polars frame, operator
        An object with ``shape``, ``dtype``, ``matmat``, ``rmatmat`` and ``columns`` counts as an operator.

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
    if isinstance(X, OperatorMixin):
        return X
    if scipy.sparse.issparse(X):
        _check_matrix(X)
        return SparseOperator(X if X.format in ("csr", "csc") else X.tocsr())
    if not isinstance(X, np.ndarray):
        if isinstance(X, Operator):
            return Adapted(X)
        X = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    _check_matrix(X)
    return DenseOperator(X)


def feature_names_of(X: Any) -> list[str] | None:
    """Return the column names of a frame, if X is one and all its names are strings."""
    names = getattr(X, "columns", None)
    if names is None or callable(names):
        return None
    listed = list(names)
    return listed if all(isinstance(name, str) for name in listed) else None


def prepare(X: Any, *, center: bool = True, scale: bool | str = False) -> OperatorMixin:
    """Return X as an operator, centered and scaled implicitly, after refusing what cannot be worked on."""
    if not any(scale is s or scale == s for s in SCALES):
        raise ValueError(f"scale={scale!r} is not known; choose one of False, True, 'patterson'.")
    op = as_operator(X)
    m, n = op.shape
    if m == 0 or n == 0:
        raise ValueError(f"X has shape ({m}, {n}); at least one sample and one feature are needed.")
    if not op.has_samples:
        if scale is not False:
            raise ValueError("A Gram matrix is taken as given: scale the matrix itself (for example to correlations).")
        return op
    sums = op.column_sums()
    check_finite(sums)
    if scale == "patterson" and np.any((sums < 0) | (sums > 2 * m)):
        raise ValueError("scale='patterson' is for genotypes: every column mean must lie between 0 and 2.")
    if center:
        if m == 1:
            raise ValueError("X has one sample; centering leaves nothing of it. Give more samples or center=False.")
        op = Centered(op, None if isinstance(op, Centered) else sums / m)
    norms = op.sq_norms
    check_finite(norms)
    if norms.max() > LARGEST**2:
        raise ValueError(f"X has columns of norm above {LARGEST:g}; divide X by a constant first.")
    if scale is False:
        return op
    spread = np.sqrt(norms / m) if scale is True else np.sqrt(sums / m * (1.0 - sums / m / 2.0))
    spread[norms <= negligible(norms, m)] = 1.0  # a constant column stays as it is: never chosen, never divided by 0
    return Scaled(op, 1.0 / spread)


def negligible(norms: Array, m: int) -> float:
    """Squared norm below which a centered column is constant up to the rounding of its mean."""
    return float(norms.max(initial=0.0)) * (m * np.finfo(np.float64).eps) ** 2


def balanced(op: OperatorMixin) -> tuple[OperatorMixin, float]:
    """Return op in units of a power of two near its largest column norm, where squares would leave float range."""
    largest = float(np.sqrt(op.sq_norms.max(initial=0.0)))
    exponent = int(np.frexp(largest)[1])
    if abs(exponent) <= (30 if op.dtype == np.float32 else 200):
        return op, 1.0
    unit = float(np.ldexp(1.0, exponent))
    return Scaled(op, np.full(op.shape[1], 1.0 / unit)), unit


def _check_matrix(X: Any) -> None:
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension(s); a matrix of samples by features is needed. Reshape it.")
    if X.dtype.kind not in "biuf":
        raise TypeError(f"X has dtype {X.dtype}; only real numbers can be used. Convert it with X.astype(float).")


def check_finite(sums: Array, what: str = "column") -> None:
    """Raise if a sum over a column (or a row) shows that X holds values that are not finite."""
    if not np.isfinite(sums).all():
        bad = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise ValueError(
            f"X contains NaN or infinite values (first in {what} {bad}). Impute them first, for example with "
            "sklearn.impute.SimpleImputer, or drop the samples or features."
        )
