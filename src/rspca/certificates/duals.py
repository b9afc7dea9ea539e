"""Upper bounds from the space of scores: T_k(a) = min over rho of k rho + sum (a_i - rho)_+, relaxed to matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rspca.certificates.bounds import largest_eigenvalue
from rspca.certificates.spectra import largest_below
from rspca.operators.protocol import OperatorMixin

Array = NDArray[Any]

DENSE = 1200
"""Size up to which an eigenvalue is computed, beyond which it is bounded by a Cholesky factorization."""


def variance_dual(op: OperatorMixin, k: int, rho: float) -> float:
    """Return k rho + l_1(X W X'), W = diag((1 - rho / a_ii)_+); between l_1 (rho = 0) and the trace.

    Z = max over unit u of T_k((x_i'u)^2) <= k rho + max of u' sum (x_i x_i' - rho I)_+ u, and the positive part of
    x_i x_i' - rho I is (1 - rho / a_ii)_+ x_i x_i'.
    """
    norms = op.sq_norms
    weights = np.maximum(1.0 - rho / np.where(norms > 0.0, norms, 1.0), 0.0) * (norms > 0.0)
    return k * rho + _largest(op.samples_gram(weights))


def scores_dual(op: OperatorMixin, u: Array, k: int, rho: float) -> float:
    """Return an upper bound on the variance of every k features of X; tight if u is the scores of the best k.

    Proof. Let B_i = x_i x_i' - rho I, and Y_i = B_i q q'B_i / q'B_i q for any q with q'B_i q > 0. Then Y_i >= 0, and
    Y_i >= B_i, because B_i has one positive eigenvalue and B_i - Y_i, which vanishes at q, has none. So for |S| = k and
    |w| = 1: sum_S (x_i'w)^2 = k rho + sum_S w'B_i w <= k rho + sum_S w'Y_i w <= k rho + l_1(sum of all Y_i).
    (Y_i = 0 where |x_i|^2 <= rho: there B_i <= 0.) The q of d'Aspremont, Bach and El Ghaoui make u an eigenvector.
    Each Y_i is y y' with y = alpha_i x_i + beta_i u, so the sum is a weighted Gram matrix and terms of rank two.
    """
    inner = np.asarray(op.rmatmat(u), dtype=np.float64)
    lengths = np.maximum(op.sq_norms, inner**2)
    taken = inner**2 > rho
    near = ~taken & (rho - inner**2 <= 1e-9 * lengths) & (lengths > rho)  # there q would be u alone: q = x_i instead
    rest = ~taken & ~near & (lengths > rho)
    alpha, beta = np.zeros(len(inner)), np.zeros(len(inner))
    scale = np.sqrt(inner[taken] ** 2 - rho)  # q = u
    alpha[taken], beta[taken] = inner[taken] / scale, -rho / scale
    alpha[near] = np.sqrt(1.0 - rho / lengths[near])
    apart = np.maximum((rho - inner[rest] ** 2) * (lengths[rest] - inner[rest] ** 2), 1e-300)
    alpha[rest] = np.sqrt(rho * (lengths[rest] - rho) / apart)
    beta[rest] = -alpha[rest] * inner[rest]
    along = np.asarray(op.matmat(alpha * beta), dtype=np.float64)
    Y = op.samples_gram(alpha**2) + np.outer(along, u) + np.outer(u, along) + float(beta @ beta) * np.outer(u, u)
    return k * rho + _largest(Y)


def separating_penalties(squares: Array, support: Array, count: int) -> Array:
    """Return values of rho between the largest (x_i'u)^2 outside the support and the smallest inside; maybe none."""
    inside = np.zeros(len(squares), dtype=bool)
    inside[support] = True
    low, high = float(squares[~inside].max(initial=0.0)), float(squares[inside].min())
    if low >= high and not inside.all():
        return np.empty(0)
    return low + (np.arange(count) + 0.5) / count * (high - low)


def _largest(M: Array) -> float:
    return largest_eigenvalue(M) if len(M) <= DENSE else largest_below((M + M.T) / 2.0)
