"""Data with more samples than features as their Gram matrix: one pass forms it, and no product reads X again."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any, Self

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin
from rspca.operators.growing_factor import EPS, GrowingFactor
from rspca.operators.wrapper import Wrapper

MOST_FEATURES = 5500
"""Features up to which the Gram matrix is formed: 240 MB."""
FEATURES_A_COMPONENT = 700
"""Features, for each component sought, up to which forming the Gram matrix is quicker than products with X. One costs
m n^2 operations in the cache, 15 passes cost 30 m n operations that wait for memory (benchmarks/users.py)."""

FEW_ROWS_SHARE = 0.25
"""Share of the rows of A up to which copying them is quicker than a product with all of A (benchmarks/users.py)."""


def gram_is_cheaper(shape: tuple[int, int], n_components: int) -> bool:
    """Return whether m x n data are worked on as an n x n Gram matrix."""
    m, n = shape
    return n <= m and n <= min(MOST_FEATURES, FEATURES_A_COMPONENT * n_components)


class FormedGram(Wrapper):
    """X seen through A = X'X in memory: R with R'R = A takes the place of the samples.

    R has n rows. Variances, angles between scores and deflations are those of X, because R V = Q'X V for a Q with
    orthonormal columns. Means and scales are taken off before.
    """

    gram_in_memory = True
    has_gram_errors = True

    def __init__(self, inner: OperatorMixin, matrix: Array | None = None) -> None:
        super().__init__(inner)
        if matrix is None:
            matrix = inner.gram_matrix(np.arange(inner.shape[1]))
            zero = inner.sq_norms == 0.0  # what is left of a constant column is rounding
            matrix[zero], matrix[:, zero] = 0.0, 0.0
            inner.forget_gram()
        self.matrix = matrix

    def apart(self) -> Self:
        """Return the same Gram matrix with an R of its own, which goes on from the columns that there are."""
        other = copy.copy(self)
        if "_factor" in vars(self):
            vars(other)["_factor"] = self._factor.copy()
        return other

    @property
    def factor(self) -> Array:
        """R, n x n."""
        return self.columns(np.arange(len(self.matrix)))

    @cached_property
    def _factor(self) -> GrowingFactor:
        """R, as far as it was needed."""
        noise = (len(self.matrix) + np.sqrt(self.inner.shape[0])) * EPS * self._amplified()
        return GrowingFactor(self.matrix, np.sqrt(self.sq_norms), noise)

    def _amplified(self) -> float:
        """Largest ratio of the terms of a squared norm to the squared norm."""
        norms = self.sq_norms
        terms = self.inner.gram_lengths() ** 2
        return float(np.max(np.divide(terms, norms, out=np.ones(len(norms)), where=norms > 0.0), initial=1.0))

    @property
    def shape(self) -> tuple[int, int]:
        """n x n."""
        return self.matrix.shape

    @property
    def row_weights(self) -> Array | None:
        """None: weights are in A."""
        return None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always float64."""
        return np.dtype(np.float64)

    @property
    def own_threads(self) -> bool:  # type: ignore[override]
        """Products are those of BLAS."""
        return False

    @cached_property
    def _gram_errors(self) -> Array:
        """Errors of m products added up for each entry of A, and of R, both relative to the columns."""
        sums = (self.inner.shape[0] + 64) * EPS * self.inner.gram_lengths() ** 2
        return np.sqrt(self.inner.gram_errors() ** 2 + sums + self._factor.error() * self.sq_norms)

    def gram_errors(self) -> Array:
        """Lengths e with |v'(X'X - A)v| <= (|v|'e)^2 and |v'(R'R - A)v| <= (|v|'e)^2."""
        return self._gram_errors

    @property
    def unformed(self) -> OperatorMixin:
        """X."""
        return self.inner

    def matmat(self, V: Array, /) -> Array:
        """R V."""
        return self._factor.times(np.asarray(V, dtype=np.float64))

    def rmatmat(self, U: Array, /) -> Array:
        """R'U."""
        return self._factor.transposed_times(np.asarray(U, dtype=np.float64))

    def columns(self, support: Array, /) -> Array:
        """R[:, support]."""
        return self._factor.columns(support)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """A V and R V."""
        if np.any(shift):
            raise ValueError("A Gram matrix cannot be centered: that is done before it is formed.")
        return self.gram(V), self.matmat(V)

    def gram(self, V: Array) -> Array:
        """A V, with the rows of A for which V is not zero if these are few."""
        V = np.asarray(V, dtype=np.float64)
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        if len(used) <= FEW_ROWS_SHARE * len(V):
            return self.matrix[used].T @ V[used]
        return np.asarray((V.T @ self.matrix).T)  # for a block of columns a third less time than A V

    def gradient(self, part: OperatorMixin, support: Array, loadings: Array) -> Array:
        """A_S' loadings."""
        return loadings @ self.matrix[support]

    def gram_block(self, support: Array) -> Array:
        """A[S, S]."""
        return self.matrix[support[:, None], support]

    def gram_matrix(self, support: Array) -> Array:
        """A[S, S]."""
        return self.matrix.copy() if len(support) == len(self.matrix) else self.gram_block(support)

    def gram_to_read(self, support: Array) -> Array:
        """A itself if these are all features."""
        return self.matrix if len(support) == len(self.matrix) else self.gram_block(support)

    def gram_rows(self, support: Array) -> Array:
        """A[S, :]."""
        return self.matrix[support]

    def column_sums(self) -> Array:
        """Not known: the samples are not there."""
        raise NotImplementedError("R has no column sums; ask the data that it was formed from.")

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Diagonal of A."""
        return np.maximum(np.diagonal(self.matrix), 0.0)

    def rounding_lengths(self) -> Array:
        """Lengths of the columns of R; what products with X itself lost is in `gram_errors`."""
        return np.sqrt(self.sq_norms)

    def restrict(self, support: Array) -> OperatorMixin:
        """Return the operator of a few columns."""
        return _Part(self, support)

    def restricted_bytes(self, k: int) -> int:
        """Memory of k columns of R."""
        return 8 * k * len(self.matrix)

    def transposed(self) -> OperatorMixin:
        """X'."""
        return self.inner.transposed()

    def to_float64(self) -> OperatorMixin:
        """Return the same for data whose means and scales are float64."""
        inner = self.inner.to_float64()
        if inner is self.inner:
            return self
        return FormedGram(inner, self.matrix if inner.same_gram(self.inner) else None)


class _Part(FormedGram):
    """A few columns of a formed Gram matrix."""

    def __init__(self, whole: FormedGram, support: Array) -> None:
        super().__init__(whole.inner, whole.gram_block(support))
        self._whole, self._support = whole, support

    def matmat(self, V: Array, /) -> Array:
        """R_S V."""
        return self._columns @ np.asarray(V, dtype=np.float64)

    def rmatmat(self, U: Array, /) -> Array:
        """R_S'U."""
        return self._columns.T @ np.asarray(U, dtype=np.float64)

    def columns(self, support: Array, /) -> Array:
        """Columns of R."""
        return self._columns[:, support]

    @cached_property
    def _columns(self) -> Array:
        return self._whole.columns(self._support)

    def gram_errors(self) -> Array:
        """Errors of these features."""
        return self._whole.gram_errors()[self._support]

    def data_errors(self) -> Array:
        """Errors of these columns."""
        return self._whole.data_errors()[self._support]

    @property
    def shape(self) -> tuple[int, int]:
        """n x |S|."""
        return self._whole.shape[0], len(self._support)

    def to_float64(self) -> OperatorMixin:
        """Return the same columns for data whose means and scales are float64."""
        return self._whole.to_float64().restrict(self._support)
