"""Matrices known only by products with vectors, such as a SciPy LinearOperator: entries come from unit vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import BLOCK_BYTES, DataOperator, chunks
from rspca.operators.blocks import as_float64
from rspca.operators.column_cache import ColumnCache
from rspca.operators.in_memory import float_type

CACHE_BYTES = 1 << 26
"""Bytes of cached columns: a column costs a product with all of X, and fits ask for the same ones again."""
ADJOINT_TOL = {np.dtype(np.float32): 3e-4, np.dtype(np.float64): 1e-8}
"""Arithmetic: relative difference of u'(Xv) and (X'u)'v, the root of the rounding unit: more is a wrong rmatvec."""


def is_multiplied(X: Any) -> bool:
    """Return whether X is a matrix known by products: it has ``shape``, ``matvec`` and ``rmatvec``."""
    return all(hasattr(X, name) for name in ("shape", "matvec", "rmatvec"))


class MultipliedOperator(DataOperator):
    """X through ``matvec`` and ``rmatvec``; its columns and rows are products with unit vectors.

    Column norms take min(m, n) products, in blocks; columns that were computed are cached. Products must be exact up
    to the rounding of their type, float64 where the object has no ``dtype``: proofs rely on it.

    Parameters
    ----------
    source : object with ``shape``, ``matvec`` and ``rmatvec``
        Such as :class:`scipy.sparse.linalg.LinearOperator`. ``matmat`` and ``rmatmat`` are used where it has them.
    """

    def __init__(self, source: Any) -> None:
        super().__init__(_matrix_shape(source), _products_type(source))
        self.source = source
        self._cache = ColumnCache(self.restricted_bytes(1), CACHE_BYTES)
        if not hasattr(source, "matmat"):
            self.first_block = 1
        _check_adjoint(self)

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        return self._product("matvec", "matmat", V, self.shape[0])

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        return self._product("rmatvec", "rmatmat", U, self.shape[1])

    def _product(self, of_vector: str, of_block: str, values: Array, length: int) -> Array:
        """Return a product with a vector or a block, after a look at its shape and type."""
        values = np.asarray(values, dtype=self._dtype)
        if 0 in values.shape:
            return np.zeros((length, *values.shape[1:]), dtype=self._dtype)
        together = values.ndim == 1 or hasattr(self.source, of_block)
        self._meter.add(1.0 if together else float(values.shape[1]))
        name = of_vector if values.ndim == 1 or not together else of_block
        function: Callable[[Array], Any] = getattr(self.source, name)
        try:
            product = function(values) if together else np.stack([_flat(function(v)) for v in values.T], axis=1)
        except NotImplementedError as error:
            raise TypeError(
                f"X is a {type(self.source).__name__} without {of_vector}; components need X v and X'u. Define matvec "
                "and rmatvec."
            ) from error
        product = np.asarray(product)
        product = _flat(product) if values.ndim == 1 else product
        if product.shape != (length, *values.shape[1:]) or product.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} of X, a {type(self.source).__name__} of shape {self.shape}, returned shape {product.shape} "
                f"and dtype {product.dtype}; real numbers of shape {(length, *values.shape[1:])} are needed."
            )
        return product.astype(self._dtype, copy=False)

    def columns(self, support: Array, /) -> Array:
        """X[:, support]: a product with unit vectors for those that are not cached."""
        support = np.asarray(support, dtype=np.intp)
        if not 0 < self.restricted_bytes(len(support)) <= CACHE_BYTES:
            return self._by_unit_vectors(support)
        return self._cache.take(support, lambda missing: list(np.ascontiguousarray(self._by_unit_vectors(missing).T)))

    def _by_unit_vectors(self, support: Array) -> Array:
        out = np.empty((self.shape[0], len(support)), dtype=self._dtype)
        for part in chunks(len(support), self.shape[1] * 8, 4 * BLOCK_BYTES):
            out[:, part] = self.matmat(_unit_vectors(self.shape[1], support[part], self._dtype))
        return out

    def _rows(self) -> Iterator[tuple[slice, Array]]:
        """Yield X' in blocks, features by some of the samples: products with the unit vectors of the samples."""
        m, n = self.shape
        for part in chunks(m, (m + n) * 8, 4 * BLOCK_BYTES):
            yield part, self.rmatmat(_unit_vectors(m, np.arange(part.start, part.stop), self._dtype))

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of (x_ij - shift_j)^2 in float64, from the rows of X or from its columns, the fewer."""
        if self.shape[1] <= self.shape[0]:
            return super().column_sq_norms(shift)
        out = np.zeros(self.shape[1])
        for _, block in self._rows():
            rows = as_float64(block) if shift is None else as_float64(block) - shift[:, None]
            out += np.einsum("ij,ij->i", rows, rows)
        return out

    def samples_gram(self, weights: Array | None = None) -> Array:
        """X diag(weights) X' in float64, from the rows of X where these are fewer than its columns."""
        if self.shape[1] <= self.shape[0] or self._dtype != np.float64:
            return super().samples_gram(weights)
        out = np.empty((self.shape[0], self.shape[0]))
        for part, block in self._rows():
            out[:, part] = self.matmat(block if weights is None else block * weights[:, None])
        return (out + out.T) / 2.0

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S in float64: two block products for each block of features."""
        support = np.asarray(support, dtype=np.intp)
        if self.restricted_bytes(len(support)) <= CACHE_BYTES or self._dtype != np.float64:
            return super().gram_matrix(support)
        out = np.empty((len(support), len(support)))
        for part in chunks(len(support), sum(self.shape) * 8, 4 * BLOCK_BYTES):
            out[:, part] = self.rmatmat(self.columns(support[part]))[support]
        return (out + out.T) / 2.0


def _matrix_shape(source: Any) -> tuple[int, int]:
    shape = tuple(source.shape)
    if len(shape) != 2:
        raise ValueError(f"X has {len(shape)} dimension(s); a matrix of samples by features is needed.")
    return int(shape[0]), int(shape[1])


def _products_type(source: Any) -> np.dtype[Any]:
    """Return the float type of the products: float32 if the object says so, else float64; raise if they are complex."""
    declared = np.dtype(np.float64 if getattr(source, "dtype", None) is None else source.dtype)
    if declared.kind not in "biuf":
        raise TypeError(f"X has dtype {declared}; only real numbers can be used.")
    return float_type(declared)


def _check_adjoint(op: MultipliedOperator) -> None:
    """Raise unless u'(Xv) = (X'u)'v for random vectors: X'u of another matrix would make every result wrong."""
    m, n = op.shape
    if m == 0 or n == 0:
        return
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(m).astype(op.dtype), rng.standard_normal(n).astype(op.dtype)
    right, left = as_float64(op.matmat(v)), as_float64(op.rmatmat(u))
    if not (np.isfinite(right).all() and np.isfinite(left).all()):
        return  # `check_finite` names the column
    forward, back = float(as_float64(u) @ right), float(left @ as_float64(v))
    size = float(np.linalg.norm(u) * np.linalg.norm(right) + np.linalg.norm(left) * np.linalg.norm(v))
    if abs(forward - back) > ADJOINT_TOL[op.dtype] * size:
        raise ValueError(
            f"matvec and rmatvec of X, a {type(op.source).__name__}, belong to different matrices: u'(X v) is "
            f"{forward:.6g} and (X'u)'v is {back:.6g} for random u and v. Make rmatvec the product with the transpose."
        )


def _unit_vectors(length: int, positions: Array, dtype: np.dtype[Any]) -> Array:
    units = np.zeros((length, len(positions)), dtype=dtype)
    units[positions, np.arange(len(positions))] = 1.0
    return units


def _flat(product: Any) -> Array:
    """Return a product with a vector as a vector; some objects return it as a column."""
    product = np.asarray(product)
    return product[:, 0] if product.ndim == 2 and product.shape[1] == 1 else product
