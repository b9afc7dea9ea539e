"""Upper bounds from the space of scores: T_k(a) = min over rho of k rho + sum (a_i - rho)_+, relaxed to matrices."""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds.gram import EPS, largest_eigenvalue
from rspca.certificates.bounds.penalties import Penalty, penalty, separating_penalties
from rspca.certificates.bounds.spectra import largest_below
from rspca.operators.base import OperatorMixin


def variance_dual(op: OperatorMixin, k: int, given: float | Penalty) -> float:
    """Return k rho + l_1(X W X'), W = diag((1 - rho / a_ii)_+); between l_1 (rho = 0) and the trace.

    Z = max over unit u of T_k((x_i'u)^2) <= k rho + max of u' sum (x_i x_i' - rho I)_+ u, and the positive part of
    x_i x_i' - rho I is (1 - rho / a_ii)_+ x_i x_i'. With a `Penalty`, rho_i for each feature, as `penalties` proves.
    """
    norms = precision.sq_norms(op)
    rho = given if isinstance(given, Penalty) else penalty(given, len(norms), k)
    weights = np.maximum(1.0 - rho.each / np.where(norms > 0.0, norms, 1.0), 0.0) * (norms > 0.0)
    return rho.total + _largest(op.samples_gram(weights)) + precision.gram_error(op, weights)


def scores_dual(op: OperatorMixin, u: Array, k: int, given: float | Penalty) -> float:
    """Return an upper bound on the variance of every k features of X; tight if u is the scores of the best k.

    Proof. Let B_i = x_i x_i' - rho I, and Y_i = B_i q q'B_i / q'B_i q for any q with q'B_i q > 0. Then Y_i >= 0, and
    Y_i >= B_i, because B_i has one positive eigenvalue and B_i - Y_i, which vanishes at q, has none. So for |S| = k and
    |w| = 1: sum_S (x_i'w)^2 = k rho + sum_S w'B_i w <= k rho + sum_S w'Y_i w <= k rho + l_1(sum of all Y_i).
    (Y_i = 0 where |x_i|^2 <= rho: there B_i <= 0.) The q of d'Aspremont, Bach and El Ghaoui make u an eigenvector.
    Each Y_i is y y' with y = alpha_i x_i + beta_i u, so the sum is a weighted Gram matrix and terms of rank two.
    With a `Penalty` it is rho_i for each feature, as `penalties` proves.
    """
    rho, total = given if isinstance(given, Penalty) else penalty(given, op.shape[1], k)
    u = u / np.linalg.norm(u)
    inner = op.rmatmat(u)
    lengths = np.maximum(precision.sq_norms(op), inner**2)
    taken = inner**2 > rho
    near = ~taken & (rho - inner**2 <= 1e-9 * lengths) & (lengths > rho)  # q would be u alone: use q = x_i instead
    rest = ~taken & ~near & (lengths > rho)
    alpha, beta = np.zeros(len(inner)), np.zeros(len(inner))
    scale = np.sqrt(inner[taken] ** 2 - rho[taken])  # q = u
    alpha[taken], beta[taken] = inner[taken] / scale, -rho[taken] / scale
    alpha[near] = np.sqrt(1.0 - rho[near] / lengths[near])
    apart = np.maximum((rho[rest] - inner[rest] ** 2) * (lengths[rest] - inner[rest] ** 2), 1e-300)
    alpha[rest] = np.sqrt(rho[rest] * (lengths[rest] - rho[rest]) / apart)
    beta[rest] = -alpha[rest] * inner[rest]
    alpha, beta = stretched(op, alpha, beta, inner, lengths, rho)
    along = op.matmat(alpha * beta)
    Y = op.samples_gram(alpha**2) + np.outer(along, u) + np.outer(u, along) + float(beta @ beta) * np.outer(u, u)
    errors = precision.gram_error(op, alpha**2) + (max(op.shape) + 64) * EPS * float(beta @ beta)
    return total + _largest(Y) + 2.0 * errors


def stretched(
    op: OperatorMixin, alpha: Array, beta: Array, inner: Array, lengths: Array, rho: Array | float
) -> tuple[Array, Array]:
    """Return alpha and beta of the y = alpha x + beta u in `scores_dual`, stretched to hold despite rounding.

    Whatever alpha and beta are, y y' >= x x' - rho I if and only if x'(y y' + rho I)^{-1}x <= 1, which is
    D = beta^2 (g^2 - d + rho) + rho (alpha^2 d + 2 alpha beta g) >= rho (d - rho), g = x'u, d = |x|^2. So y is
    stretched until this holds for all g and d within the rounding errors of the computed ones; if that takes more than
    MAX_STRETCH, q = x_i is used, which depends on d only.
    """
    columns, rho = op.rounding_lengths(), np.broadcast_to(rho, lengths.shape)
    off_g, off_d = precision.sum_error(op) * columns, 2.0 * precision.sum_error(op) * columns**2
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        terms = beta**2 * (inner**2 - lengths + rho), rho * alpha**2 * lengths, 2.0 * rho * alpha * beta * inner
        off = beta**2 * ((2.0 * np.abs(inner) + off_g) * off_g + off_d) + rho * alpha**2 * off_d
        off += 2.0 * rho * np.abs(alpha * beta) * off_g
        off += 16.0 * EPS * (beta**2 * (inner**2 + lengths + rho) + terms[1] + np.abs(terms[2]))
        stretch = rho * (lengths - rho) / (sum(terms) - off)
    longer = lengths > rho
    safe = longer & (stretch > 0.0) & (stretch < budgets.MAX_STRETCH)
    alpha[safe], beta[safe] = (values[safe] * np.sqrt(np.maximum(stretch[safe], 1.0)) for values in (alpha, beta))
    alpha[longer & ~safe], beta[longer & ~safe] = np.sqrt(1.0 - rho[longer & ~safe] / lengths[longer & ~safe]), 0.0
    return alpha, beta


def _largest(M: Array) -> float:
    return largest_eigenvalue(M) if len(M) <= budgets.EIGENVALUE_SIDE else largest_below((M + M.T) / 2.0)


__all__ = ["scores_dual", "separating_penalties", "variance_dual"]
