"""A change of low rank, X - a b': what centering and deflation take off a few columns, and the rounding of it."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dger

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.wrapper import Wrapper

GRAM_CANCELLATION_MAX = 1e3
"""Arithmetic: ratio of the terms of XX' to XX' itself. Above it three digits would be lost, so means and deflations
are subtracted from the columns before these are multiplied."""
OUTER_ENTRIES = 2**17
"""Arithmetic: entries of an outer product that exist at a time, 1 MB, so that they stay in cache."""


class LowRankUpdate(Wrapper):
    """X - a b', a and b with a column for each term: what deflation leaves of a few columns."""

    def __init__(self, inner: OperatorMixin, a: Array, b: Array) -> None:
        super().__init__(inner)
        self.a = as_columns(a)
        self.b = as_columns(b)

    def matmat(self, V: Array, /) -> Array:
        """X V - a (b'V)."""
        return minus_outer(self.inner.matmat(V), self.a, self.b.T @ V)

    def rmatmat(self, U: Array, /) -> Array:
        """X'U - b (a'U)."""
        return minus_outer(self.inner.rmatmat(U), self.b, self.a.T @ U)

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings - a (b_S'loadings), in float64."""
        return self.inner.scores(support, loadings) - self.a @ (self.b[support].T @ loadings)

    def columns(self, support: Array, /) -> Array:
        """X_S - a b_S'."""
        return minus_outer(self.inner.columns(support), self.a, self.b[support].T)

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Squared norms: those of X, and from the columns themselves where something is taken off."""
        changed = np.flatnonzero(self.b.any(axis=1))
        if shift is not None or 2 * len(changed) > len(self.b):
            return super().column_sq_norms(shift)
        norms = self.inner.sq_norms.copy()
        norms[changed] = OperatorMixin.column_sq_norms(self.restrict(changed))
        return norms

    def rounding_lengths(self) -> Array:
        """Lengths of the data and of what is taken off."""
        return self.inner.rounding_lengths() + np.abs(self.b) @ np.linalg.norm(self.a, axis=0)

    def to_float64(self) -> OperatorMixin:
        """X - a b' with products in float64."""
        return self if self.dtype == np.float64 else LowRankUpdate(self.inner.to_float64(), self.a, self.b)

    def restrict(self, support: Array) -> LowRankUpdate:
        """Restrict both terms."""
        return LowRankUpdate(self.inner.restrict(support), self.a, self.b[support])


class GramPart(Wrapper):
    """A few columns of what is left of data whose Gram matrix is in memory: products with the Gram matrix need no R."""

    gram_in_memory = True

    def __init__(self, inner: OperatorMixin, gram: Array) -> None:
        super().__init__(inner)
        self.matrix = gram

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        return self.inner.matmat(V)

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        return self.inner.rmatmat(U)

    def columns(self, support: Array, /) -> Array:
        """X[:, support]."""
        return self.inner.columns(support)

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings."""
        return self.inner.scores(support, loadings)

    def gram(self, V: Array) -> Array:
        """X'X V."""
        return np.asarray(self.matrix @ np.asarray(V, dtype=np.float64))

    def gram_block(self, support: Array) -> Array:
        """X_S'X_S."""
        return self.matrix[np.ix_(support, support)]

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S."""
        return self.gram_block(support)

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Diagonal of X'X."""
        return super().column_sq_norms(shift) if shift is not None else np.maximum(np.diagonal(self.matrix), 0.0)

    def rounding_lengths(self) -> Array:
        """Lengths of the data and of what is taken off."""
        return self.inner.rounding_lengths()

    def to_float64(self) -> OperatorMixin:
        """Return the operator itself: Gram matrices are in float64."""
        return self

    def restrict(self, support: Array) -> GramPart:
        """Restrict both."""
        return GramPart(self.inner.restrict(support), self.gram_block(support))


def as_columns(vectors: Array) -> Array:
    """Return a vector as a matrix of one column, and a matrix as it is; float64."""
    vectors = np.asarray(vectors, dtype=np.float64)
    return vectors[:, None] if vectors.ndim == 1 else vectors


def minus_outer(product: Array, a: Array, b: Array) -> Array:
    """Return product - a b in the type and the memory order of the product: mixed orders take three times as long.

    `a` is a vector or has a column for each term; `b` has a row for each.
    """
    if (
        product.ndim == 2 and product.size > OUTER_ENTRIES and product.dtype != np.float64
    ):  # no converted copy of it all
        out, tall = np.empty_like(product), len(product) > product.shape[1]
        for part in chunks(max(product.shape), 1, OUTER_ENTRIES // min(product.shape)):
            some = (part, slice(None)) if tall else (slice(None), part)
            out[some] = minus_outer(product[some], a[part] if tall else a, b if tall else b[..., part])
        return out
    by_columns = product.ndim == 2 and product.flags.f_contiguous
    if a.ndim == 1:
        outer = np.multiply.outer(b, a).T if by_columns else np.multiply.outer(a, b)
    else:
        outer = (b.T @ a.T).T if by_columns else a @ b
    outer = np.asarray(outer, dtype=product.dtype)
    return np.subtract(product, outer, out=outer)


def loses_digits(op: Wrapper, weights: Array | None) -> bool:
    """Return whether X W X' is much smaller than the terms of which it is the difference, so that digits are lost."""
    terms = op.rounding_lengths() ** 2
    each = np.ones(len(terms)) if weights is None else weights
    return float(each @ terms) > GRAM_CANCELLATION_MAX * float(each @ op.sq_norms)


def subtract_outer(product: Array, a: Array, b: Array) -> None:
    """Subtract a b' from a matrix in place, some rows at a time; a and b have a column for each term."""
    a, b = as_columns(a), as_columns(b)
    for part in chunks(len(a), 8 * len(b), 8 * OUTER_ENTRIES):
        product[part] -= a[part] @ b.T


def subtract_square(gram: Array, along: Array) -> Array:
    """Return a matrix less the outer product of a vector with itself, in place of the matrix if it is stored by rows.

    Each entry has one product subtracted: the result does not depend on the number of threads.
    """
    return np.asarray(dger(-1.0, along, along, a=gram.T, overwrite_a=1).T)
