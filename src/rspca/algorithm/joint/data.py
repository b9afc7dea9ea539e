"""What block steps need of the data: products, and X without what other components explain of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rspca.algorithm.joint.task import SparseVector
from rspca.base.types import Array
from rspca.linalg.vectors import spread_columns
from rspca.operators.base import OperatorMixin
from rspca.operators.deflated import ScoreDeflated


class JointData(Protocol):
    """Data on which several components are improved together."""

    @property
    def features(self) -> int:
        """Number of features."""

    @property
    def examines_swaps(self) -> bool:
        """Whether rows of X'X cost so little that single swaps are examined."""

    def image(self, vector: SparseVector) -> Array:
        """X'Xv."""

    def images(self, vectors: list[SparseVector]) -> list[Array]:
        """X'Xv of several vectors, in one block product where that reads X once."""

    def without(self, vectors: list[SparseVector], images: list[Array], weights: Array) -> OperatorMixin:
        """X without the part that scores XVW explain, where XVW is orthonormal."""

    def products_within(self, features: Array) -> Callable[[Array], Array]:
        """V -> X_S'X_S V for some features S."""

    def part(self, features: Array) -> OperatorMixin:
        """X restricted to some features."""


class GramData:
    """The Gram matrix A of some features, in memory."""

    examines_swaps = True

    def __init__(self, A: Array) -> None:
        self.A = A

    @property
    def features(self) -> int:
        """Rows of A."""
        return len(self.A)

    def image(self, vector: SparseVector) -> Array:
        """A v, from the rows of its support."""
        return vector.loadings @ self.A[vector.support]

    def images(self, vectors: list[SparseVector]) -> list[Array]:
        """A v of each vector."""
        return [self.image(vector) for vector in vectors]

    def without(self, vectors: list[SparseVector], images: list[Array], weights: Array) -> OperatorMixin:
        """A - LL' with L = AVW."""
        return DeflatedGram(self.A, np.column_stack(images) @ weights if images else np.empty((len(self.A), 0)))

    def products_within(self, features: Array) -> Callable[[Array], Array]:
        """Products with A[S, S]."""
        return self.A[np.ix_(features, features)].__matmul__

    def part(self, features: Array) -> OperatorMixin:
        """Return A[S, S] as an operator."""
        return DeflatedGram(self.A[np.ix_(features, features)], np.empty((len(features), 0)))


class OperatorData:
    """X through its products."""

    examines_swaps = False

    def __init__(self, op: OperatorMixin) -> None:
        self.op = op

    @property
    def features(self) -> int:
        """Columns of X."""
        return self.op.shape[1]

    def image(self, vector: SparseVector) -> Array:
        """X'(X_S v): a few columns and one read of X."""
        return self.op.gradient(self.op.restrict(vector.support), vector.support, vector.loadings)

    def images(self, vectors: list[SparseVector]) -> list[Array]:
        """X'XV in one block product."""
        V = spread_columns([(vector.loadings, vector.support) for vector in vectors], self.features)
        return list(self.op.gram(V).T)

    def without(self, vectors: list[SparseVector], images: list[Array], weights: Array) -> OperatorMixin:
        """(I - UU')X with U = XVW and X'U from the images, so that X is not read."""
        if not vectors:
            return self.op
        scores = np.column_stack([self.op.scores(vector.support, vector.loadings) for vector in vectors])
        return ScoreDeflated(self.op, scores @ weights, loadings=np.column_stack(images) @ weights)

    def products_within(self, features: Array) -> Callable[[Array], Array]:
        """Products with X_S, or with its Gram matrix where that is smaller."""
        if len(features) <= self.op.shape[0]:
            return self.op.gram_block(features).__matmul__
        return self.op.restrict(features).gram

    def part(self, features: Array) -> OperatorMixin:
        """X_S."""
        return self.op.restrict(features)


class DeflatedGram(OperatorMixin):
    """A - LL' for a matrix A in memory, never formed."""

    gram_in_memory = True

    def __init__(self, A: Array, L: Array) -> None:
        self.A, self.L = A, L

    @property
    def shape(self) -> tuple[int, int]:
        """That of A."""
        return len(self.A), len(self.A)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always float64."""
        return np.dtype(np.float64)

    @cached_property
    def sq_norms(self) -> Array:
        """Diagonal, without negative rounding errors."""
        return np.maximum(self.A.diagonal() - np.einsum("ij,ij->i", self.L, self.L), 0.0)

    def gram(self, V: Array) -> Array:
        """(A - LL')V."""
        return np.asarray(self.A @ V - self.L @ (self.L.T @ V))

    def gram_rows(self, support: Array) -> Array:
        """Rows of A - LL'."""
        return self.A[support] - self.L[support] @ self.L.T

    def gram_matrix(self, support: Array) -> Array:
        """The same as the block: all of it is in memory."""
        return self.gram_block(support)

    def gram_block(self, support: Array) -> Array:
        """(A - LL')[S, S], symmetric to the last bit."""
        block = self.A[np.ix_(support, support)] - self.L[support] @ self.L[support].T
        return (block + block.T) / 2.0

    def gradient(self, part: OperatorMixin, support: Array, loadings: Array) -> Array:
        """(A - LL')v."""
        return np.asarray(loadings @ self.A[support] - self.L @ (loadings @ self.L[support]))

    def restrict(self, support: Array) -> OperatorMixin:
        """Return a few features, with their Gram matrix formed."""
        return DeflatedGram(self.gram_block(support), np.empty((len(support), 0)))
