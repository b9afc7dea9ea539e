"""Leading eigenpairs of X'X from products: restarted Lanczos, or a dense decomposition where that is faster."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dsyevr

from rspca.base.types import Array
from rspca.linalg.vectors import unit

DENSE_FEATURES = 64
"""Features, or samples, up to which a dense eigendecomposition is faster than products: benchmarks/budgets.py."""
DENSE_ENTRIES = 2**20
"""Entries of X up to which few samples are decomposed through XX': benchmarks/budgets.py."""
RESTART_SPARE = 5
"""Ritz vectors beyond those wanted with which Lanczos restarts: benchmarks/budgets.py."""
ONE_PAIR_SIZE = 256
"""Rows of a symmetric matrix up to which its leading eigenpair is computed alone: not tuned, larger ones are rare."""
TINY = float(np.finfo(float).tiny)
"""Arithmetic: what a largest eigenvalue of zero counts as in relative residuals."""
LANCZOS_VECTORS = 40
"""Vectors of the Lanczos basis before it restarts; longer ones cost orthogonalization: benchmarks/budgets.py."""


class GramProducts(Protocol):
    """What eigenpairs of X'X need of X; every operator has it."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""

    @property
    def gram_in_memory(self) -> bool:
        """Whether X'X is in memory."""

    def all_columns(self) -> Array:
        """X, dense."""

    def gram(self, V: Array) -> Array:
        """X'(X V) in float64."""

    def gram_block(self, support: Array) -> Array:
        """X_S'X_S in float64."""

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S in float64, from X'X where that is in memory."""


class Pairs(NamedTuple):
    """Leading eigenvalues (decreasing) and unit eigenvectors (columns) of X'X."""

    values: Array
    vectors: Array


def leading_pairs(
    op: GramProducts, count: int = 1, start: Array | None = None, *, tol: float = 1e-8, max_iter: int = 2000
) -> Pairs:
    """Return the `count` leading eigenpairs of X'X, to residual |A v - l v| <= tol l_1.

    A `start` that is already good saves products; it must not be orthogonal to what is sought. The error of an
    eigenvalue is of the order of the square of its residual over its distance to the others.
    """
    values, vectors = ritz_pairs(op, count, start, tol=tol, max_iter=max_iter)
    return Pairs(values[:count], vectors[:, :count])


def ritz_pairs(
    op: GramProducts, count: int = 1, start: Array | None = None, *, tol: float = 1e-8, max_iter: int = 2000
) -> Pairs:
    """Return the leading eigenpairs as `leading_pairs` does, and what came with them: rough ones, if any."""
    m, n = op.shape
    count = min(count, n)
    if count <= m <= DENSE_FEATURES < n and m * n <= DENSE_ENTRIES:
        block = np.asarray(op.all_columns(), dtype=np.float64)
        values, left = _top(block @ block.T, count)
        vectors = block.T @ left
        lengths = np.linalg.norm(vectors, axis=0)
        if lengths[-1] > 1e-8 * lengths[0] > 0.0:
            return Pairs(values, vectors / lengths)
    # Without a start, or for many pairs of a small problem, the dense decomposition is faster for longer.
    if n <= DENSE_FEATURES or (start is None and n <= 4 * DENSE_FEATURES) or count > n // 4:
        gram = op.gram_matrix if op.gram_in_memory else op.gram_block
        return _top(gram(np.arange(n)), count)
    return lanczos(op, count, start, tol=tol, max_iter=max_iter)


def lanczos(op: GramProducts, count: int, start: Array | None, *, tol: float, max_iter: int = 2000) -> Pairs:
    """Lanczos with full orthogonalization, restarted from the wanted Ritz vectors when the basis is full.

    Returns every Ritz pair of the last basis; the `count` leading ones are converged, the others are approximate.
    """
    n = op.shape[1]
    size = min(n, LANCZOS_VECTORS + 2 * count)
    basis = np.empty((n, size), order="F")
    projected = np.zeros((size, size))
    basis[:, 0] = unit(_random_vector(n, 0) if start is None else np.asarray(start, dtype=np.float64))
    filled = 1  # vectors in the basis; the last of them has not been multiplied yet
    for iteration in range(1, max_iter + 1):
        image = op.gram(basis[:, filled - 1])
        rest, coefficients = _orthogonalized(image, basis[:, :filled])
        projected[:filled, filled - 1] = projected[filled - 1, :filled] = coefficients
        beta = math.sqrt(rest @ rest)
        values, weights = np.linalg.eigh(projected[:filled, :filled])
        values, weights = values[::-1], weights[:, ::-1]
        scale = max(float(values[0]), TINY)
        residual = beta * max(abs(float(weight)) for weight in weights[-1, :count])
        converged = filled >= count and residual <= tol * scale
        if converged or filled == n or iteration == max_iter:
            break
        if filled == size:  # restart: the wanted vectors, in which A is diagonal, and the residual they share
            retained = min(filled - 1, count + RESTART_SPARE)
            basis[:, :retained] = basis @ weights[:, :retained]
            projected[:] = 0.0
            np.fill_diagonal(projected[:retained, :retained], values[:retained])
            filled = retained
        if beta <= 1e-14 * scale:  # the space is invariant: continue outside it
            rest, _ = _orthogonalized(_random_vector(n, filled), basis[:, :filled])
            beta = math.sqrt(rest @ rest)
        basis[:, filled] = rest / beta
        filled += 1
    return Pairs(np.maximum(values, 0.0), basis[:, :filled] @ weights)


def pairs_within(basis: Array, images: Array) -> Pairs:
    """Return approximate eigenpairs of X'X from one block product: the best in span(basis), after a power step.

    The basis is orthonormal, and `images` are X'X times it. Vectors have unit length, but are orthogonal only if they
    are eigenvectors.
    """
    values, weights = np.linalg.eigh(basis.T @ images)
    vectors = images @ weights[:, ::-1]
    lengths = np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
    return Pairs(np.maximum(values[::-1], 0.0), vectors / np.where(lengths > 0.0, lengths, 1.0))


def _top(A: Array, count: int) -> Pairs:
    """Return leading eigenpairs of a symmetric matrix; computing one of them takes a third of the time of all."""
    if count == 1 and 1 < len(A) <= ONE_PAIR_SIZE and math.isfinite(float(A.sum())):
        values, vectors, found, _, failed = dsyevr(A, range="I", il=len(A), iu=len(A))
        if found == 1 and not failed:  # where many eigenvalues are equal up to rounding, LAPACK may find none
            return Pairs(np.maximum(values[:1], 0.0), vectors)
    values, vectors = np.linalg.eigh(A)
    return Pairs(np.maximum(values[::-1][:count], 0.0), vectors[:, ::-1][:, :count])


def _orthogonalized(v: Array, basis: Array) -> tuple[Array, Array]:
    """Return v less its part in span(basis), and the coefficients of that part; twice is enough (Kahan, Parlett)."""
    coefficients = basis.T @ v
    v = v - basis @ coefficients
    again = basis.T @ v
    return v - basis @ again, coefficients + again


def _random_vector(n: int, seed: int) -> Array:
    return np.random.default_rng([n, seed]).standard_normal(n)
