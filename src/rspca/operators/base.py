"""The operator protocol: a shape, a float type and three products; the mixin that derives all other methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from rspca.base.types import Array
from rspca.linalg.vectors import spread

GRAM_COLUMNS_BYTES = 1 << 23
"""Bytes of a block of columns, in float64, from which a Gram matrix is computed block by block: benchmarks/speed.py."""
BLOCK_BYTES = 1 << 23
"""Bytes of a block that is copied when data are converted; it stays in cache: benchmarks/speed.py."""

Kind = TypeVar("Kind", bound=type)


@runtime_checkable
class Operator(Protocol):
    """A data matrix X (m samples by n features) seen only through its products.

    These five members are all that a new kind of data must supply; :class:`OperatorMixin` derives the rest.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features, ``(m, n)``."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float type of the products, float32 or float64."""
        ...

    def matmat(self, V: Array, /) -> Array:
        """X V, for a vector of length n or an n x b block."""
        ...

    def rmatmat(self, U: Array, /) -> Array:
        """X'U, for a vector of length m or an m x b block."""
        ...

    def columns(self, support: Array, /) -> Array:
        """X[:, support] as a dense array."""
        ...


_RETURNED: dict[str, Callable[..., OperatorMixin]] = {}
"""Classes that methods of the mixin return and that are built on the mixin themselves, by the name of the method."""


def returned_by(method: str) -> Callable[[Kind], Kind]:
    """Register a class as the result of a method of :class:`OperatorMixin`; the package imports all of them."""

    def register(kind: Kind) -> Kind:
        _RETURNED[method] = kind
        return kind

    return register


class Meter:
    """Counter of passes: one pass is one read of all m n entries by one block product."""

    def __init__(self) -> None:
        self.passes = 0.0

    def add(self, share: float) -> None:
        """Record a product that read `share` of the entries."""
        self.passes += share


class Moments(NamedTuple):
    """Column sums and Gram matrix of X - 1 shift', both in float64, and the lengths of the terms of both."""

    shift: Array
    sums: Array
    gram: Array
    lengths: Array
    """Entries of the Gram matrix of m rows are off by at most (m + 64) eps times two of them."""

    def about(self, shift: Array, m: int) -> Moments:
        """Return the moments of m rows about another shift."""
        move, gram = self.shift - shift, self.gram.copy()
        if move.any():
            half = self.sums + 0.5 * m * move
            for part in chunks(len(move), 8 * len(move)):
                gram[part] += np.multiply.outer(half[part], move)
                gram[part] += np.multiply.outer(move[part], half)
        return Moments(shift, self.sums + m * move, gram, self.lengths + np.sqrt(m) * np.abs(move))


class OperatorMixin:
    """Everything that follows from ``shape``, ``dtype``, ``matmat``, ``rmatmat`` and ``columns``.

    Ready-made operators override these with something faster; the plain versions here are their specification.
    """

    has_samples: bool = True
    """Whether rows are samples, so that scores exist. A Gram matrix has none."""
    own_threads: bool = False
    """Whether products run in threads of their own instead of those of BLAS."""
    first_block: int = 8
    """Vectors that are multiplied at once while nothing is known of X; where one read serves all of them, they cost
    little more than one: benchmarks/speed.py."""
    gram_in_memory: bool = False
    """Whether X'X is in memory as a matrix, so that products with it cost no pass over X."""
    has_gram_errors: bool = False
    """Whether X'X stands for a Gram matrix that differs from it, as `gram_errors` bounds."""
    offset: float = 0.0
    """Multiple of the identity contained in X'X that is not variance (Hotelling deflation needs one)."""
    moments_in_float64: bool = False
    """Whether `moments` are those of the numbers that X holds, up to the rounding of float64, whatever the type."""
    _share: float = 1.0
    """Share of all columns of the data whose passes are counted."""
    _restriction: tuple[Array, OperatorMixin] | None = None
    """The last support and its columns."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float type of the products."""
        raise NotImplementedError

    @property
    def meter(self) -> Meter:
        """The counter of passes that this operator shares with everything derived from it."""
        raise NotImplementedError

    @property
    def passes(self) -> float:
        """Passes over X so far, by this operator and all that were derived from the same data."""
        return self.meter.passes

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        raise NotImplementedError

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        raise NotImplementedError

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        raise NotImplementedError

    def all_columns(self) -> Array:
        """X, dense: for small X only, and read-only."""
        return self.columns(np.arange(self.shape[1]))

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T in float64, and T = X V - 1 shift'; `shift` is what a centering wrapper subtracts from scores."""
        scores = self.matmat(V) - _as(shift, self.dtype)
        return _as_float64(self.rmatmat(scores)), scores

    def gram(self, V: Array) -> Array:
        """X'(X V) in float64."""
        return self.gram_and_scores(V)[0]

    def gram_block(self, support: Array) -> Array:
        """X_S'X_S in float64."""
        block = _as_float64(self.columns(support))
        return block.T @ block

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S in float64 of many features, without their columns all at once: for a search, not for a proof.

        Wrappers subtract means and deflations from the result, so errors are relative to the data before that.
        """
        out = np.empty((len(support), len(support)))
        parts = list(chunks(len(support), self.shape[0] * 8, GRAM_COLUMNS_BYTES))
        for number, rows in enumerate(parts):
            left = _as_float64(self.columns(support[rows]))
            for columns in parts[: number + 1]:
                right = left if columns is rows else _as_float64(self.columns(support[columns]))
                out[rows, columns] = left.T @ right
                out[columns, rows] = out[rows, columns].T
        return out

    def gram_to_read(self, support: Array) -> Array:
        """X_S'X_S as in `gram_matrix`, never to be written to: it may be in memory for other uses."""
        return self.gram_matrix(support)

    def gram_about(self, support: Array, mean: Array) -> Array:
        """(X_S - 1 mean_S')'(X_S - 1 mean_S') in float64, for a search."""
        gram, mean = self.gram_matrix(support), mean[support]
        for part in chunks(len(mean), 8 * len(mean)):
            gram[part] -= np.multiply.outer(self.shape[0] * mean[part], mean)
        return gram

    def deflated_gram(self, gram: Array, support: Array) -> Array | None:
        """Return X_S'X_S from that of the undeflated X, in place; None if too many of its digits would cancel."""
        return gram

    def deflated_rows(self, left: Array, rows: Array) -> tuple[Array, Array]:
        """Return orthonormal scores U and rows U'X from those of the undeflated X."""
        return left, rows

    def deflated_part(self, part: OperatorMixin, features: Array) -> OperatorMixin:
        """Return X[:, features] from `part`, these columns of the undeflated X."""
        return part

    def gram_between(self, rows: Array, columns: Array) -> Array:
        """X_R'X_C in float64 for two sets of features, without the columns of either all at once: for a search."""
        out = np.empty((len(rows), len(columns)))
        for down in chunks(len(rows), self.shape[0] * 8, GRAM_COLUMNS_BYTES):
            left = _as_float64(self.columns(rows[down])).T
            for across in chunks(len(columns), self.shape[0] * 8, GRAM_COLUMNS_BYTES):
                out[down, across] = left @ _as_float64(self.columns(columns[across]))
        return out

    def moments(self) -> Moments:
        """Column sums and the whole Gram matrix; about a shift near the means where one pass can make it so.

        Sums are those of float64: what is taken off the Gram matrix must belong to it.
        """
        m, n = self.shape
        parts = (self.columns(np.arange(part.start, part.stop)) for part in chunks(n, m * 8))
        sums = np.concatenate([block.sum(axis=0, dtype=np.float64) for block in parts])
        return moments_about_zero(sums, self.gram_matrix(np.arange(n)))

    def gram_lengths(self, mean: Array | float = 0.0) -> Array:
        """Lengths g of the terms of `gram_about`: entries are off by at most (m + 64) eps g_i g_j, in float64."""
        return self.rounding_lengths() + np.sqrt(self.shape[0]) * np.abs(mean)

    def gram_rows(self, support: Array) -> Array:
        """X_S'X in float64: the rows of the Gram matrix that belong to the support, one block product."""
        return _as_float64(self.rmatmat(self.columns(support))).T

    def samples_gram(self, weights: Array | None = None) -> Array:
        """X diag(weights) X' in float64, m x m; weights are not negative."""
        out = np.zeros((self.shape[0], self.shape[0]))
        for part in chunks(self.shape[1], self.shape[0] * 8, 4 * BLOCK_BYTES):
            block = _as_float64(self.columns(np.arange(part.start, part.stop)))
            if weights is not None:
                block = block * np.sqrt(weights[part])
            out += block @ block.T
        return out

    def rounding_lengths(self) -> Array:
        """Lengths to which the rounding of products is relative: of columns before centering and deflation."""
        return np.sqrt(self.sq_norms)

    def data_errors(self) -> Array:
        """Bound on the length of the errors of each column that are not of products, such as those of a scale."""
        return np.zeros(self.shape[1])

    def gram_errors(self) -> Array:
        """Lengths e with |v'(X'X - A)v| <= (|v|'e)^2 for all v, A the Gram matrix that X stands for; beyond `rounding`.

        On k features the spectral norm of the difference is at most the sum of their e^2.
        """
        return np.broadcast_to(0.0, (self.shape[1],))

    def rounding(self) -> Array:
        """Bound on the Euclidean norm of the rounding errors in each column of X, as products see it; float64."""
        return float(np.finfo(self.dtype).eps) * self.rounding_lengths() + self.data_errors()

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
        return _as_float64(self.rmatmat(part.matmat(loadings)))

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings, accumulated in float64 whatever the type of the data."""
        cached = self._last_restriction(support)
        if cached is not None:
            return cached.scores(np.arange(len(support)), loadings)
        out = np.zeros(self.shape[0])
        for part in chunks(len(support), self.shape[0] * 8):
            out += _as_float64(self.columns(support[part])) @ loadings[part]
        return out

    def column_sums(self) -> Array:
        """Sum of each column, float64."""
        return _as_float64(self.rmatmat(np.ones(self.shape[0], dtype=self.dtype)))

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of (x_ij - shift_j)^2, float64."""
        out = np.empty(self.shape[1])
        for part in chunks(self.shape[1], self.shape[0] * 8):
            block = _as_float64(self.columns(np.arange(part.start, part.stop)))
            if shift is not None:
                block = block - shift[part]
            out[part] = np.einsum("ij,ij->j", block, block)
        return out

    @property
    def entries(self) -> int:
        """Numbers that one product reads: all m n, or those that are stored."""
        m, n = self.shape
        return m * n

    @property
    def undeflated(self) -> OperatorMixin:
        """X before earlier components were taken off it."""
        return self

    @property
    def unformed(self) -> OperatorMixin:
        """X with samples, where a Gram matrix was formed of them; otherwise the operator itself."""
        return self

    @cached_property
    def sums(self) -> Array:
        """``column_sums()``, computed once."""
        return self.column_sums()

    def forget_sums(self) -> None:
        """Free the memory of `sums` and `sq_norms`, where it matters: the means and the norms about them suffice."""

    def same_gram(self, other: OperatorMixin) -> bool:
        """Return whether the Gram matrix of another operator is surely the same, to the last bit."""
        return self is other

    def forget_gram(self) -> None:
        """Free the memory of a Gram matrix that has been used; another pass makes it again."""

    @cached_property
    def sq_norms(self) -> Array:
        """``column_sq_norms()``, computed once."""
        return self.column_sq_norms()

    def restrict(self, support: Array) -> OperatorMixin:
        """Return the operator of X[:, support]; the last one is cached, because refit and scores need the same."""
        part = self._last_restriction(support)
        if part is None:
            part = self._restricted(support)
            self._restriction = (np.array(support), part)
        return part

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


class DataOperator(OperatorMixin):
    """Base of the operators that hold data: shape, float type, counter of passes, and the share of X that they read."""

    def __init__(self, shape: tuple[int, int], dtype: Any, meter: Meter | None = None, share: float = 1.0) -> None:
        self._shape = (int(shape[0]), int(shape[1]))
        self._dtype = np.dtype(dtype)
        self._meter = meter or Meter()
        self._share = share

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float type of the products."""
        return self._dtype

    @property
    def meter(self) -> Meter:
        """Counter of passes."""
        return self._meter

    def _part(self, support: Array) -> float:
        """Return the share of X that these columns are."""
        return self._share * len(support) / max(1, self.shape[1])


class Adapted(DataOperator):
    """A user's object that has only the five members of :class:`Operator`."""

    def __init__(self, inner: Operator) -> None:
        super().__init__(inner.shape, inner.dtype)
        self._inner = inner

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        self._meter.add(1.0)
        return _as(self._inner.matmat(_as(V, self.dtype)), self.dtype)

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        self._meter.add(1.0)
        return _as(self._inner.rmatmat(_as(U, self.dtype)), self.dtype)

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        self._meter.add(self._part(support))
        return _as(self._inner.columns(support), self.dtype)


def moments_about_zero(sums: Array, gram: Array) -> Moments:
    """Return the moments of columns that were not shifted."""
    return Moments(np.zeros(len(sums)), sums, gram, np.sqrt(np.diagonal(gram)))


def chunks(length: int, bytes_each: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut range(length) into slices of about `budget` bytes."""
    step = max(1, budget // max(1, bytes_each))
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


def _as(values: Array | float, dtype: np.dtype[Any]) -> Array:
    return np.asarray(values, dtype=dtype)


def _as_float64(values: Array) -> Array:
    return np.asarray(values, dtype=np.float64)
