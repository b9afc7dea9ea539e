"""A covariance or correlation matrix A as an operator: its symmetric square root stands in for the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from rspca.operators.matrix import DenseOperator
from rspca.operators.protocol import Array, Meter, OperatorMixin

ROUNDING = 1e-8
"""Eigenvalues above -ROUNDING * max|eigenvalue| are taken as zeros written with rounding errors."""


class SmallGram(OperatorMixin):
    """X'X itself in place of X, for a few columns: all that iterations on a working set need."""

    has_samples = False

    def __init__(self, A: Array, meter: Meter | None = None) -> None:
        self.matrix = A
        self._meter = meter or Meter()

    @property
    def shape(self) -> tuple[int, int]:
        """Features by features."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always float64."""
        return np.dtype(np.float64)

    @property
    def meter(self) -> Meter:
        """Counter of products with this matrix: they are not passes over data."""
        return self._meter

    def gram(self, V: Array, shift: Array | float = 0.0) -> Array:
        """A V."""
        if np.any(shift):
            raise ValueError("A Gram matrix cannot be centered: it has no samples.")
        return np.asarray(self.matrix @ V)

    def variances(self, V: Array) -> Array:
        """v'Av for each column of V."""
        return np.einsum("ij,ij->j", V, self.gram(V))

    def gradient(self, part: OperatorMixin, support: Array, loadings: Array) -> Array:
        """A[:, S] loadings."""
        return np.asarray(loadings @ self.matrix[support])

    def gram_block(self, support: Array) -> Array:
        """A[S, S]."""
        return self.matrix[np.ix_(support, support)]

    def gram_rows(self, support: Array) -> Array:
        """A[S, :]."""
        return self.matrix[support]

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Diagonal of A."""
        return np.maximum(np.diagonal(self.matrix), 0.0)

    def restrict(self, support: Array) -> OperatorMixin:
        """Return the same for fewer features."""
        return SmallGram(self.gram_block(support), self._meter)


class GramOperator(SmallGram):
    """The operator with X'X = A, for users who have a covariance matrix but no samples.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric and positive semidefinite; eigenvalues that are negative only by rounding are set to zero.

    Examples
    --------
    >>> import rspca
    >>> op = rspca.GramOperator([[2.0, 1.0], [1.0, 2.0]])
    >>> rspca.decompose(op, 1, k=2).components[0].variance
    3.0
    """

    def __init__(self, A: Any, *, offset: float = 0.0) -> None:
        A = _checked(np.array(A, dtype=np.float64))
        values, vectors = scipy.linalg.eigh(A)
        worst = float(values[0])
        if worst < -ROUNDING * float(np.abs(values).max()):
            raise ValueError(
                f"A is not positive semidefinite: its smallest eigenvalue is {worst:.3g}. "
                "Give a covariance or correlation matrix, or clip its eigenvalues first."
            )
        values = np.maximum(values, 0.0)
        root = (vectors * np.sqrt(values)) @ vectors.T
        super().__init__(A if worst >= 0.0 else (vectors * values) @ vectors.T)
        self.offset = offset
        self._factor = DenseOperator((root + root.T) / 2.0, meter=self._meter)

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
        """Return the operator of a few columns of A^(1/2): unlike their Gram matrix it can be deflated."""
        return self._factor.restrict(support)

    def gram(self, V: Array, shift: Array | float = 0.0) -> Array:
        """A V, from the matrix itself; one pass."""
        self._meter.add(1.0)
        return super().gram(np.asarray(V, dtype=np.float64), shift)


def _checked(A: Array) -> Array:
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.size == 0:
        raise ValueError(f"A has shape {A.shape}; a Gram matrix must be square, (n, n), with n >= 1.")
    if not np.isfinite(A).all():
        raise ValueError(
            "A contains NaN or infinite values; a correlation with a constant column is undefined: "
            "drop such columns or set these entries to 0."
        )
    asymmetry = float(np.abs(A - A.T).max())
    if asymmetry > ROUNDING * max(float(np.abs(A).max()), np.finfo(float).tiny):
        raise ValueError(f"A is not symmetric: max|A - A'| = {asymmetry:.3g}. Give (A + A') / 2 if that is meant.")
    return (A + A.T) / 2.0
