"""Leading eigenpairs of X'X from products alone: warm-started, restarted Rayleigh-Ritz; exact where it is small."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from rspca.operators.protocol import Array, OperatorMixin

DENSE = 128
"""Up to this many features (or samples) a dense eigendecomposition is quicker than products."""
BASIS = 20
"""Size at which the search space is cut back to its best directions."""
KEPT = 5
"""Directions kept by a restart, beyond those wanted."""


class Pairs(NamedTuple):
    """Leading eigenvalues (decreasing) and unit eigenvectors (columns) of X'X."""

    values: Array
    vectors: Array


def leading_pairs(
    op: OperatorMixin, count: int = 1, start: Array | None = None, *, tol: float = 1e-8, max_iter: int = 500
) -> Pairs:
    """Return the `count` leading eigenpairs of X'X, to residual |A v - l v| <= tol l_1.

    `start` (a vector, or a block) is improved, not replaced: its Rayleigh quotient is never lost. The error of an
    eigenvalue is of the order of the square of its residual.
    """
    m, n = op.shape
    count = min(count, n)
    if n <= DENSE:
        return _top(op.gram_block(np.arange(n)), count)
    if m <= DENSE and count <= m:
        block = np.asarray(op.columns(np.arange(n)), dtype=np.float64)
        values, left = _top(block @ block.T, count)
        vectors = block.T @ left
        lengths = np.linalg.norm(vectors, axis=0)
        if lengths.min() > 1e-8 * lengths.max():
            return Pairs(values, vectors / lengths)
    return rayleigh_ritz(op, count, start, tol=tol, max_iter=max_iter)


def rayleigh_ritz(op: OperatorMixin, count: int, start: Array | None, *, tol: float, max_iter: int) -> Pairs:
    """Expand a subspace by the residual of the first unconverged pair until all wanted pairs are converged."""
    n = op.shape[1]
    first = np.random.default_rng(n).standard_normal(n) if start is None else start
    basis = _orthonormal(np.empty((n, 0)), first.reshape(n, -1))
    images = op.gram(basis)
    for _ in range(max_iter):
        values, coefficients = scipy.linalg.eigh(basis.T @ images)
        values, coefficients = values[::-1], coefficients[:, ::-1]
        wanted = coefficients[:, :count]
        residuals = images @ wanted - (basis @ wanted) * values[:count]
        sizes = np.linalg.norm(residuals, axis=0)
        open_pairs = np.flatnonzero(sizes > tol * max(values[0], np.finfo(float).tiny))
        short = basis.shape[1] < min(count, n)
        if not len(open_pairs) and not short:
            break
        if basis.shape[1] >= BASIS + count:
            keep = coefficients[:, : count + KEPT]
            basis, images = basis @ keep, images @ keep
        new = residuals[:, open_pairs[:1]] if len(open_pairs) else _fresh(n, basis.shape[1])
        new = _orthonormal(basis, new)
        if not new.shape[1]:  # the space is invariant; only a direction from outside can add to it
            new = _orthonormal(basis, _fresh(n, basis.shape[1]))
            if not new.shape[1] or not short:
                break
        basis, images = np.hstack([basis, new]), np.hstack([images, op.gram(new)])
    return Pairs(np.maximum(values[:count], 0.0), basis @ coefficients[:, :count])


def _top(A: Array, count: int) -> Pairs:
    n = len(A)
    values, vectors = scipy.linalg.eigh(A, subset_by_index=(n - count, n - 1))
    return Pairs(np.maximum(values[::-1], 0.0), vectors[:, ::-1])


def _fresh(n: int, seed: int) -> Array:
    return np.random.default_rng([n, seed]).standard_normal((n, 1))


def _orthonormal(basis: Array, new: Array) -> Array:
    """Return the part of `new` outside span(basis), orthonormal; directions that vanish are left out."""
    found: list[Array] = []
    for column in new.T:
        length = float(np.linalg.norm(column))
        if length == 0.0:
            continue
        v = column / length
        for _ in range(2):  # twice is enough (Kahan-Parlett)
            v = v - basis @ (basis.T @ v)
            for q in found:
                v = v - q * (q @ v)
        length = float(np.linalg.norm(v))
        if length > 1e-10:
            found.append(v / length)
    return np.column_stack(found) if found else np.empty((len(new), 0))
