"""The mixin that derives all methods of an operator from its five members."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from rspca.base.types import Array
from rspca.linalg.vectors import spread
from rspca.operators.blocks import as_float64, chunks
from rspca.operators.error_bounds import ErrorBounds
from rspca.operators.weighted_products import WeightedProducts

IMAGE_BYTES = 1 << 23
"""Bytes of an image of scores that is kept, at most, a million features: limit of memory."""

Kind = TypeVar("Kind", bound=type)

_RETURNED: dict[str, Callable[..., OperatorMixin]] = {}
"""Classes that methods of the mixin return and that are built on the mixin themselves, by the name of the method."""


def returned_by(method: str) -> Callable[[Kind], Kind]:
    """Register a class as the result of a method of :class:`OperatorMixin`; the package imports all of them."""

    def register(kind: Kind) -> Kind:
        _RETURNED[method] = kind
        return kind

    return register


def returned_class(method: str) -> Callable[..., OperatorMixin]:
    """Return the class that a method of the mixin returns."""
    return _RETURNED[method]


class OperatorMixin(WeightedProducts, ErrorBounds):
    """Everything that follows from ``shape``, ``dtype``, ``matmat``, ``rmatmat`` and ``columns``.

    Ready-made operators override these with something faster; the plain versions here are their specification.
    """

    _restriction: tuple[Array, OperatorMixin] | None = None
    """The last support and its columns."""
    _image: tuple[Array, Array] | None = None
    """The last vector u of scores, and X'u."""

    @property
    def taken_off(self) -> Array:
        """X'U of the orthonormal scores U that were taken off the undeflated X, a column for each."""
        return np.empty((self.shape[1], 0))

    @property
    def nearly_all_taken_off(self) -> bool:
        """Whether so little of the undeflated X is left that differences of Gram matrices have too few digits."""
        return False

    def deflated_gram(self, gram: Array, support: Array) -> Array | None:
        """Return X_S'X_S from that of the undeflated X, in place; None if too many of its digits would cancel."""
        return gram

    def deflated_product(self, product: Array, V: Array) -> Array:
        """Return X'X V from that of the undeflated X; as `gram`, but X is not read."""
        return product

    def deflated_rows(self, left: Array, rows: Array) -> tuple[Array, Array]:
        """Return orthonormal scores U and rows U'X from those of the undeflated X."""
        return left, rows

    def deflated_samples_gram(self, gram: Array) -> Array:
        """Return XX' from that of the undeflated X."""
        return gram

    def deflated_part(self, part: OperatorMixin, features: Array) -> OperatorMixin:
        """Return X[:, features] from `part`, these columns of the undeflated X."""
        return part

    def same_gram(self, other: OperatorMixin) -> bool:
        """Return whether the Gram matrix of another operator is surely the same, to the last bit."""
        return self is other

    def attained(self, support: Array, loadings: Array) -> float:
        """Return a proven lower bound on the variance of the loadings: |X_S loadings|^2 less its rounding error.

        A score is a sum of |S| terms, and centering or deflation subtracts sums over m of them.
        """
        scores = self.scores(support, loadings)
        sums = (self.shape[0] + len(support) + 64) * float(np.finfo(np.float64).eps) * self.rounding_lengths()[support]
        error = float(np.abs(loadings) @ (self.rounding()[support] + sums))
        length = max(float(np.linalg.norm(scores)) - error, 0.0)
        return max(length**2 - float(np.abs(loadings) @ self.gram_errors()[support]) ** 2, 0.0)

    def variances(self, V: Array) -> Array:
        """v'X'Xv for each column of V in one block product, with the columns of X that any of them uses."""
        if self.gram_in_memory:
            return np.einsum("ij,ij->j", V, self.gram(V))
        rows = np.flatnonzero(V.any(axis=1))
        few = len(rows) < self.shape[1] // 4
        scores = self.restrict(rows).matmat(V[rows]) if few else self.matmat(V)
        return np.einsum("ij,ij->j", scores, scores, dtype=np.float64)

    def gradient(self, part: OperatorMixin, support: Array, loadings: Array) -> Array:
        """X'(X_S loadings) in float64; `part` is restrict(support)."""
        if self.gram_in_memory:
            return self.gram(spread(loadings, support, self.shape[1]))
        return as_float64(self.rmatmat(part.matmat(loadings)))

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings, accumulated in float64 whatever the type of the data."""
        cached = self._last_restriction(support)
        if cached is not None:
            return cached.scores(np.arange(len(support)), loadings)
        out = np.zeros(self.shape[0])
        for part in chunks(len(support), self.shape[0] * 8):
            out += as_float64(self.columns(support[part])) @ loadings[part]
        return out

    @property
    def undeflated(self) -> OperatorMixin:
        """X before earlier components were taken off it."""
        return self

    @property
    def unformed(self) -> OperatorMixin:
        """X with samples, where a Gram matrix was formed of them; otherwise the operator itself."""
        return self

    def restrict(self, support: Array) -> OperatorMixin:
        """Return the operator of X[:, support]; the last one is cached, because refit and scores need the same."""
        part = self._last_restriction(support)
        if part is None:
            part = self._restricted(support)
            self._restriction = (np.array(support), part)
        return part

    def image_of(self, scores: Array) -> Array:
        """X'u of a vector of scores u, in float64; that of the last vector is kept until `forget_image`.

        The gradient at a component is its scores' image, and so is what deflation takes off: X is read once for both,
        unless it has so many features that keeping the image would take much memory.
        """
        last = self._image  # read once, because another thread may replace it
        if last is None or not np.array_equal(last[0], scores):
            last = (scores, as_float64(self.rmatmat(scores)))
            self._image = last if last[1].nbytes <= IMAGE_BYTES else None
        return last[1]

    def forget_image(self) -> None:
        """Free the memory of the image that was kept."""
        self._image = None

    def forget_restriction(self) -> None:
        """Free the columns that are cached, before many others are copied."""
        self._restriction = None

    def _restricted(self, support: Array) -> OperatorMixin:
        self._restriction = None  # frees its memory before the next is made
        share = self._share * len(support) / self.shape[1]
        return _RETURNED["restrict"](self.columns(support), meter=self.meter, share=share)

    def _last_restriction(self, support: Array) -> OperatorMixin | None:
        last = self._restriction  # read once, because another thread may replace it
        return last[1] if last is not None and np.array_equal(last[0], support) else None

    def restricted_bytes(self, k: int) -> int:
        """Bytes of restrict(support) for k features; by default they are copied, dense."""
        return self.shape[0] * k * self.dtype.itemsize

    def permuted(self, rng: np.random.Generator, labels: Array | None = None) -> OperatorMixin:
        """Return a copy in memory with the entries of each column permuted, among rows of equal label if any.

        Each column is permuted by itself, which keeps what every feature is alone and breaks what they share.
        """
        raise ValueError(
            f"The columns of this data ({type(self).__name__}) cannot be permuted one by one: give them as an array, a "
            "sparse matrix or PLINK files in memory."
        )

    def transposed(self) -> OperatorMixin:
        """Return the operator of X', for the sparse left vectors of Algorithm 2."""
        return _RETURNED["transposed"](self)

    def shifted(self, shift: Array) -> OperatorMixin:
        """Return the operator of X - 1 shift', subtracted before products, so that no digits cancel.

        `shift` holds numbers of the float type of the products, zero for columns that stay as they are.
        """
        return _RETURNED["shifted"](self, shift)

    def to_float64(self) -> OperatorMixin:
        """Return the operator of the same numbers with products in float64: what proofs are made on.

        Single-precision data are exact numbers. Means, spreads and deflations found in single precision are computed
        again.
        """
        return self if self.dtype == np.float64 else _RETURNED["to_float64"](self)
