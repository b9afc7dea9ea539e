"""Leading eigenpairs of X'X from products, with a proven bound on the rest; never an n x n matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds.gram import EPS, Spectrum
from rspca.linalg.eigen import leading_pairs
from rspca.operators.base import OperatorMixin
from rspca.operators.dense import DenseOperator


class ProvenSpectrum(NamedTuple):
    """Eigenpairs with a proven `rest`, and the margin for their approximation errors."""

    pairs: Spectrum
    margin: float


def small_gram(op: OperatorMixin) -> Array:
    """Return the smaller of XX' and X'X: both have the same nonzero eigenvalues."""
    m, n = op.shape
    return op.samples_gram() if m <= n else op.gram_block(np.arange(n))


def proven_spectrum(op: OperatorMixin, count: int, gram: Array) -> ProvenSpectrum:
    """Return `count` leading pairs (l_j, v_j) of X'X, and a proven bound on x'X'Xx for x orthogonal to all v_j.

    Let K be `small_gram`, U its approximate eigenvectors, E = KU - UL, and rest I - (I - UU')K(I - UU') have a Cholesky
    factorization. For K = XX', V = X'U L^{-1/2}: with x = Va + w, w orthogonal to V, x'Ax = |U'Xx|^2 + |(I - UU')Xx|^2,
    the first is a'La, the second at most (sqrt(rest) |w| + |E L^{-1/2}| |a|)^2. For K = X'X take V = U, and
    x'Ax <= a'La + 2 |E| |a| |w| + rest |w|^2. The margin covers E, and V being orthonormal only up to rounding.
    """
    count = max(1, min(count, len(gram) - 1))
    U = leading_pairs(DenseOperator(gram), count, tol=budgets.SPECTRUM_TOL).vectors  # of K'K: the same vectors
    U = np.linalg.qr(U)[0]
    images = gram @ U
    values = np.einsum("ij,ij->j", U, images)
    count = max(
        1, int(np.count_nonzero(values > budgets.SPECTRUM_MIN_VALUE * values[0]))
    )  # U is in decreasing order; V of smaller values would be noise
    U, images, values = U[:, :count], images[:, :count], values[:count]
    error = float(np.linalg.norm(images - U * values))
    inner = U.T @ images
    rest = largest_below(gram - U @ images.T - images @ U.T + U @ inner @ U.T)
    by_samples = op.shape[0] <= op.shape[1]
    if by_samples and values[-1] <= 0.0:  # no direction differs from rounding
        return ProvenSpectrum(Spectrum(values, np.zeros((op.shape[1], count)), rest), np.inf)
    V = op.rmatmat(U) / np.sqrt(values) if by_samples else U
    apart = float(np.linalg.norm(V.T @ V - np.eye(count)))
    leak = 2.0 * error * np.sqrt(rest / values[-1]) + error**2 / values[-1] if by_samples else error
    margin = leak + apart * (float(values.sum()) + rest) + precision.gram_error(op)
    if by_samples:  # errors of V = X'U L^{-1/2}, times sqrt(l) twice
        lengths = float(np.linalg.norm(op.rounding_lengths()))
        margin += 2.0 * np.sqrt(count * values[0]) * precision.sum_error(op) * lengths
    return ProvenSpectrum(Spectrum(values, V, rest), margin)


def largest_below(M: Array) -> float:
    """Return an upper bound on l_1(M), close to it: the least of a sequence at which a Cholesky factorization exists.

    If the factorization of t I - M runs through in floating point, t I - M + E is positive semidefinite for an E with
    |E| <= c n eps trace (Higham 2002, theorem 10.7), which is added.
    """
    n = len(M)
    start = power_value(M)
    for factor in budgets.CHOLESKY_FACTORS:
        t = start * (1.0 + factor) + 1e-300
        if has_cholesky(t, M):
            return t + 2.0 * (n + 2) * EPS * (n * t)
    return float(np.linalg.norm(M))


def has_cholesky(t: float, M: Array) -> bool:
    """Return whether t I - M has a Cholesky factorization in floating point."""
    shifted = -M
    shifted[np.diag_indices_from(shifted)] += t
    try:
        np.linalg.cholesky(shifted)  # SciPy's holds the GIL, so that no other thread could handle an interrupt
    except np.linalg.LinAlgError:
        return False
    return True


def power_value(M: Array) -> float:
    """Return a lower estimate of l_1(M), a start for `largest_below`; it is not a bound."""
    pairs = leading_pairs(DenseOperator((M + M.T) / 2.0), 1, tol=budgets.CHOLESKY_START_TOL)
    return float(np.sqrt(pairs.values[0]))
