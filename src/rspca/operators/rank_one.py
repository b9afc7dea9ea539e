"""Rank-one updates X - a b', which centering and deflation apply to a few columns, and their rounding."""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.wrapper import Wrapper

GRAM_CANCELLATION_MAX = 1e3
"""Arithmetic: ratio of the terms of XX' to XX' itself. Above it three digits would be lost, so means and deflations
are subtracted from the columns before these are multiplied."""


class RankOneUpdate(Wrapper):
    """X - a b'."""

    def __init__(self, inner: OperatorMixin, a: Array, b: Array) -> None:
        super().__init__(inner)
        self.a = np.asarray(a, dtype=np.float64)
        self.b = np.asarray(b, dtype=np.float64)

    def matmat(self, V: Array, /) -> Array:
        """X V - a (b'V)."""
        return minus_outer(self.inner.matmat(V), self.a, self.b @ V)

    def rmatmat(self, U: Array, /) -> Array:
        """X'U - b (a'U)."""
        return minus_outer(self.inner.rmatmat(U), self.b, self.a @ U)

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings - a (b_S'loadings), in float64."""
        return self.inner.scores(support, loadings) - self.a * (self.b[support] @ loadings)

    def columns(self, support: Array, /) -> Array:
        """X_S - a b_S'."""
        return minus_outer(self.inner.columns(support), self.a, self.b[support])

    def rounding_lengths(self) -> Array:
        """Lengths of the data plus those of the update."""
        return self.inner.rounding_lengths() + float(np.linalg.norm(self.a)) * np.abs(self.b)

    def to_float64(self) -> OperatorMixin:
        """X - a b' with products in float64."""
        return self if self.dtype == np.float64 else RankOneUpdate(self.inner.to_float64(), self.a, self.b)

    def restrict(self, support: Array) -> RankOneUpdate:
        """Restrict both terms."""
        return RankOneUpdate(self.inner.restrict(support), self.a, self.b[support])


def minus_outer(product: Array, a: Array, b: Array) -> Array:
    """Return product - a b' in the type and memory order of the product; mixed orders take three times as long."""
    by_columns = product.ndim == 2 and product.flags.f_contiguous
    outer = np.asarray(np.multiply.outer(b, a).T if by_columns else np.multiply.outer(a, b), dtype=product.dtype)
    return np.subtract(product, outer, out=outer)


def loses_digits(op: Wrapper, weights: Array | None) -> bool:
    """Return whether X W X' is much smaller than the terms of which it is the difference, so that digits are lost."""
    terms = op.rounding_lengths() ** 2
    each = np.ones(len(terms)) if weights is None else weights
    return float(each @ terms) > GRAM_CANCELLATION_MAX * float(each @ op.sq_norms)


def subtract_outer(product: Array, a: Array, b: Array) -> None:
    """Subtract a b' from a matrix in place, some rows at a time."""
    for part in chunks(len(a), 8 * len(b)):
        product[part] -= np.multiply.outer(a[part], b)
