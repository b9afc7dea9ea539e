"""A covariance or correlation matrix A as an operator: its symmetric square root replaces the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from rspca.base.checks import check_is_data, rectangular
from rspca.base.memory import check_room
from rspca.base.types import Array
from rspca.operators.base import Meter, OperatorMixin
from rspca.operators.dense import DenseOperator

NEGATIVE_TOL = 1e-8
"""Relative size of negative eigenvalues that count as rounding, as in matrices printed with eight digits."""
SQUARE_ROOT_COPIES = 5
"""Matrices of the size of A that exist at once while its square root is computed: counted."""


class GramOperator(OperatorMixin):
    """The operator with X'X = A, for users who have a covariance matrix but no samples.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric and positive semidefinite; eigenvalues that are negative only by rounding are set to zero.

    Examples
    --------
    >>> import rspca
    >>> op = rspca.GramOperator([[2.0, 1.0], [1.0, 2.0]])
    >>> round(rspca.decompose(op, 1, k=2).components[0].variance, 10)
    3.0
    """

    has_samples = False
    gram_in_memory = True
    has_gram_errors = True

    def __init__(self, A: Any, *, offset: float = 0.0) -> None:
        A = _checked(A)
        values, vectors = scipy.linalg.eigh(A)
        worst = float(values[0])
        if worst < -NEGATIVE_TOL * float(np.abs(values).max()):
            raise ValueError(
                f"A is not positive semidefinite: its smallest eigenvalue is {worst:.3g}. "
                "Give a covariance or correlation matrix, or clip its eigenvalues first."
            )
        values = np.maximum(values, 0.0)
        root = (vectors * np.sqrt(values)) @ vectors.T
        self.given = A
        """A as it was given, in which variances are stated."""
        self.matrix = A if worst >= 0.0 else (vectors * values) @ vectors.T
        """A without negative eigenvalues, which no bound may be below."""
        # rounding of a backward stable decomposition of A, and of the products that form A and its root
        self._error = 16.0 * len(A) * float(np.finfo(np.float64).eps) * float(values[-1])
        self.offset = offset
        self._factor = DenseOperator((root + root.T) / 2.0)

    @property
    def shape(self) -> tuple[int, int]:
        """The n by n shape of the symmetric factor, which replaces the samples."""
        return self._factor.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always float64."""
        return self._factor.dtype

    @property
    def meter(self) -> Meter:
        """Counter of passes."""
        return self._factor.meter

    def matmat(self, V: Array, /) -> Array:
        """A^(1/2) V."""
        return self._factor.matmat(V)

    def rmatmat(self, U: Array, /) -> Array:
        """A^(1/2) U."""
        return self._factor.rmatmat(U)

    def columns(self, support: Array, /) -> Array:
        """Columns of A^(1/2)."""
        return self._factor.columns(support)

    def restrict(self, support: Array) -> OperatorMixin:
        """Return the operator of a few columns of A^(1/2)."""
        return self._factor.restrict(support)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """A V and A^(1/2) V."""
        if np.any(shift):
            raise ValueError("A Gram matrix cannot be centered: it has no samples.")
        return self.gram(V), self.matmat(V)

    def gram(self, V: Array) -> Array:
        """A V, from the matrix itself; one pass."""
        self.meter.add(1.0)
        return np.asarray(self.matrix @ np.asarray(V, dtype=np.float64))

    def gram_block(self, support: Array) -> Array:
        """A[S, S]."""
        self.meter.add(len(support) / self.shape[1])
        return self.matrix[np.ix_(support, support)]

    def gram_matrix(self, support: Array) -> Array:
        """A[S, S]."""
        return self.gram_block(support)

    def gram_rows(self, support: Array) -> Array:
        """A[S, :]."""
        self.meter.add(len(support) / self.shape[1])
        return self.matrix[support]

    def attained(self, support: Array, loadings: Array) -> float:
        """Return v'Av of the matrix as it was given, less its rounding error."""
        block = self.given[np.ix_(support, support)]
        size = np.abs(loadings)
        error = (2 * len(support) + 8) * float(np.finfo(np.float64).eps) * float(size @ np.abs(block) @ size)
        return max(float(loadings @ block @ loadings) - error, 0.0)

    def gram_errors(self) -> Array:
        """Rounding of the decomposition, in spectral norm, which is not relative to the columns."""
        return np.full(self.shape[1], np.sqrt(self._error))

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Diagonal of A."""
        self.meter.add(1.0 / self.shape[1])
        return np.maximum(np.diagonal(self.matrix), 0.0)


def _checked(A: Any) -> Array:
    if isinstance(A, OperatorMixin):
        raise TypeError(f"A is a {type(A).__name__}; GramOperator takes a covariance matrix as an array, not data.")
    if hasattr(A, "toarray"):
        raise TypeError("A is a sparse matrix; GramOperator takes an array: give A.toarray().")
    check_is_data("A", A)
    A = rectangular("A", A)
    if A.dtype.kind not in "biuf":
        raise TypeError(f"A has dtype {A.dtype}; a Gram matrix has real numbers. Convert it with A.astype(float).")
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.size == 0:
        raise ValueError(f"A has shape {A.shape}; a Gram matrix must be square, (n, n), with n >= 1.")
    remedy = "Give the data themselves instead: they are never made into a square matrix."
    check_room(SQUARE_ROOT_COPIES * 8 * A.size, f"the square root of a {len(A)} x {len(A)} matrix", remedy)
    A = A.astype(np.float64)
    if not np.isfinite(A).all():
        raise ValueError(
            "A contains NaN or infinite values; a correlation with a constant column is undefined: "
            "drop such columns or set these entries to 0."
        )
    asymmetry = float(np.abs(A - A.T).max())
    if asymmetry > NEGATIVE_TOL * max(float(np.abs(A).max()), np.finfo(float).tiny):
        raise ValueError(f"A is not symmetric: max|A - A'| = {asymmetry:.3g}. Give (A + A') / 2 instead.")
    return (A + A.T) / 2.0
