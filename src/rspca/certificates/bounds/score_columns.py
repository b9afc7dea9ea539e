"""Columns of X, or of a factor of its Gram matrix, for the dual in the space of scores, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds.gram import EPS, spectrum, top_sum
from rspca.certificates.bounds.score_relaxation import Coordinates
from rspca.linalg.eigen import leading_pairs
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.dense import DenseOperator


class ScoreColumns:
    """Columns of length p of some features, and d leading directions in which most of their length is.

    `longest_outside` is the largest squared length of a feature that is left out, `errors` gives bounds on the length
    of the error of each column, and `added` what the Gram matrix of the columns may lack in spectral norm.
    `has_own_axes` says that coordinates are those of the samples, the same for all sets of features.
    """

    def __init__(
        self,
        block: Callable[[slice], Array],
        shape: tuple[int, int],
        features: Array,
        *,
        basis: Array | None,
        d: int,
        longest_outside: float = 0.0,
        errors: Array | None = None,
        added: Callable[[int], float] = lambda k: 0.0,
        has_own_axes: bool = False,
    ) -> None:
        self.block, self.features, self.basis, self.d = block, features, basis, d
        self.length, self.count = shape
        self.longest_outside, self.errors, self.added = longest_outside, errors, added
        self.has_own_axes = has_own_axes

    def parts(self) -> Iterator[slice]:
        """Yield the blocks in which columns are read."""
        return chunks(self.count, self.length * 8, budgets.ROWS_BYTES // 4)

    def head(self, a: Array) -> Array:
        """Return columns in the leading directions."""
        return a[: self.d] if self.basis is None else self.basis.T @ a

    def from_head(self, c: Array) -> Array:
        """Return the columns that have these leading coordinates and no others."""
        if self.basis is not None:
            return np.asarray(self.basis @ c)
        return c if self.d == self.length else np.vstack([c, np.zeros((self.length - self.d, c.shape[1]))])

    def coordinates(self) -> Coordinates:
        """Return all columns in the leading directions, one a row."""
        head, tail = np.empty((self.count, self.d)), np.empty(self.count)
        for part in self.parts():
            a = self.block(part)
            c = self.head(a)
            head[part] = c.T
            tail[part] = np.einsum("ij,ij->j", a, a) - np.einsum("ij,ij->j", c, c)
        others = self.length - self.d
        return Coordinates(head, np.maximum(tail, 0.0) if others else np.zeros(self.count), others)

    def margin(self, k: int, upper: float) -> float:
        """Return what errors of the columns can add to the variance of k of them: |X_S + E| <= |X_S| + |E_S|."""
        error = 0.0 if self.errors is None else float(np.sqrt(top_sum(self.errors**2, k)))
        return 2.0 * float(np.sqrt(max(upper, 0.0))) * error + error**2 + self.added(k)

    def in_memory(self) -> ScoreColumns:
        """Return the same columns in memory, all at once."""
        return self.only(np.arange(self.count))

    def only(self, numbers: Array, longest_outside: float | None = None) -> ScoreColumns:
        """Return a part of the columns, in memory; the others are known to be in no better support."""
        stored = np.empty((self.length, len(numbers)))
        for part in self.parts():
            here = np.flatnonzero((numbers >= part.start) & (numbers < part.stop))
            if len(here):
                stored[:, here] = self.block(part)[:, numbers[here] - part.start]
        return ScoreColumns(
            lambda part: stored[:, part],
            stored.shape,
            self.features[numbers],
            basis=self.basis,
            d=self.d,
            longest_outside=self.longest_outside if longest_outside is None else longest_outside,
            errors=None if self.errors is None else self.errors[numbers],
            added=self.added,
            has_own_axes=self.has_own_axes,
        )


def columns_of_gram(
    A: Array,
    features: Array,
    added: Callable[[int], float],
    outside: float,
    weights: Array | None = None,
    directions: int | None = None,
) -> ScoreColumns:
    """Return columns of a factor B of a Gram matrix, A <= B'B + `rest` I; a triangular one where A is large.

    `weights` say by which features leading directions are chosen.
    """
    directions = budgets.SCORE_DIRECTIONS if directions is None else directions
    factor, basis, rest = None, None, 0.0
    if len(A) > budgets.EIGENVALUE_SIDE:
        factor, rest = _triangular(A)
    if factor is None:
        factor, rest = _spectral(A)
    else:
        scaled = (factor * np.sqrt(np.ones(len(A)) if weights is None else weights)).T
        basis = _leading(scaled, min(len(A), directions))
    return ScoreColumns(
        lambda part: factor[:, part],
        factor.shape,
        features,
        basis=basis,
        d=min(len(factor), directions),
        longest_outside=outside,
        added=lambda k: added(k) + rest,
    )


def _spectral(A: Array) -> tuple[Array, float]:
    """Return L^{1/2} V' of the leading eigenpairs, and a bound on what its products lack: eigenvalues near zero.

    `spectrum` raises eigenvalues by the rounding of the decomposition, so with all of them A <= B'B. Each column of the
    factor is rounded once, and eigenvectors are orthonormal up to rounding.
    """
    pairs = spectrum(A)
    kept = max(int(np.count_nonzero(pairs.values > budgets.SCORE_MIN_VALUE * pairs.values[0])), 1)
    rest = float(max(pairs.values[kept], 0.0)) if kept < len(pairs.values) else 0.0
    factor = np.sqrt(np.maximum(pairs.values[:kept], 0.0))[:, None] * pairs.vectors[:, :kept].T
    return factor, rest + 8.0 * len(A) * EPS * float(pairs.values[0])


def _triangular(A: Array) -> tuple[Array | None, float]:
    """Return the Cholesky factor B of A + t I, and a bound on what B'B lacks; None if there is none.

    B'B = A + t I + E with |E| <= (n + 2) EPS trace(A + t I) (Higham 2002, theorem 10.3, in spectral norm by the trace;
    EPS is twice the rounding unit), so A <= B'B + |E| - t, and nothing is lacking as t = 4 n EPS trace(A) is more.
    |E| is returned all the same.
    """
    n, total = len(A), float(np.trace(A))
    shifted = A.copy()
    shifted[np.diag_indices(n)] += 4.0 * n * EPS * total
    try:
        return np.linalg.cholesky(shifted).T, 2.0 * (n + 2) * EPS * total
    except np.linalg.LinAlgError:  # A is indefinite by more than rounding of its trace
        return None, 0.0


def _leading(rows: Array, count: int) -> Array:
    """Return leading directions of these rows, orthonormal columns."""
    return np.linalg.qr(leading_pairs(DenseOperator(rows), count, tol=budgets.SCORE_DIRECTIONS_TOL).vectors)[0]


def columns_of_data(
    op: OperatorMixin, features: Array, outside: float, weights: Array, directions: int | None = None
) -> ScoreColumns:
    """Return columns of X itself, read from the data as they are needed."""
    m = op.shape[0]
    d = min(m, budgets.SCORE_DIRECTIONS if directions is None else directions)
    basis = None
    if d < m:
        every = np.zeros(op.shape[1])
        every[features] = weights
        gram = op.samples_gram(every)
        basis = _leading(gram, d)
    return ScoreColumns(
        lambda part: np.ascontiguousarray(op.columns(features[part]), dtype=np.float64),
        (m, len(features)),
        features,
        basis=basis,
        d=d,
        longest_outside=outside,
        errors=precision.sum_error(op) * op.rounding_lengths()[features],
        has_own_axes=basis is None,
    )
