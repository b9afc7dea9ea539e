"""The ratio bound: what r sparse components, orthogonal or not, have as adjusted variance, at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, eigh, solve_triangular

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import EPS, soft_thresholded, top_sum
from rspca.certificates.bounds.smoothed import descended, smooth_ky_fan, smooth_top_sums


class Comparison(NamedTuple):
    """The matrix B = beta I + Q + Q' - diag(T_k(q_i^2)) / theta; v'Bv <= beta + k theta for v of k features."""

    Q: Array
    theta: float
    beta: float

    def matrix(self, k: int) -> tuple[Array, float]:
        """Return B and a bound on the spectral norm of its rounding errors."""
        squares = top_sum(self.Q**2, k)
        B = self.Q + self.Q.T
        B[np.diag_indices_from(B)] += self.beta - squares / self.theta
        sizes = float(2.0 * np.linalg.norm(self.Q) + self.beta + squares.max(initial=0.0) / self.theta)
        return B, (len(B) + 64) * EPS * sizes


def ratio_bound(A: Array, ks: Sequence[int], comparison: Comparison, slack: float) -> float:
    """Return the sum of b_t mu_t, mu the r largest eigenvalues of B^-1 A and b_t = beta + k_t theta, both decreasing.

    Proof. R_tt = q_t'A^{1/2}v_t with orthonormal q_t. For every B > 0, by Cauchy and Schwarz,
    R_tt^2 <= (q_t'A^{1/2}B^{-1}A^{1/2}q_t) (v_t'B v_t). The second factor is at most b_t: with a_i = T_k(q_i^2), k the
    largest k_t, 2 v_i q_i'v <= v_i^2 a_i / theta + theta if v_i is not zero (see `row_dual`), so
    v'(Q + Q' - diag(a) / theta)v <= k_t theta. The first factors, weighted by b_t, sum to at most sum b_t mu_t by Ky
    Fan, mu being the eigenvalues of A^{1/2}B^{-1}A^{1/2}, which are those of B^{-1}A.

    It contains Ky Fan's bound (B = I) and r times the bound of one component (B >= A). `slack` is how far A may be off,
    in spectral norm on the features of all components: it counts as slack times the identity.
    Rounding: with L L' = B + E, |E| <= (n + 2) eps tr B (Higham 2002, theorem 10.3), B^{-1} grows by at most the factor
    1 / (1 - |E| |B^{-1}|); the triangular solves are backward stable column by column (theorem 8.5).
    """
    r, n = len(ks), len(A)
    B, error = comparison.matrix(max(ks))
    values = np.linalg.eigvalsh(B)
    least = float(values[0]) - error - 4.0 * n * EPS * float(np.abs(values).max())
    off = 2.0 * (n + 2) * EPS * float(np.trace(B))
    if least <= 2.0 * (off + error):
        return np.inf
    try:
        L = np.linalg.cholesky(B)
    except np.linalg.LinAlgError:
        return np.inf
    half = solve_triangular(L, A, lower=True)
    M = solve_triangular(L, half.T, lower=True)
    condition = np.sqrt(float(np.trace(B)) / least)
    solves = 4.0 * n * EPS * condition * (float(np.linalg.norm(M)) + float(np.linalg.norm(A)) / least)
    mu = np.linalg.eigvalsh((M + M.T) / 2.0)[::-1]
    mu = np.maximum(mu[:r] + 4.0 * n * EPS * float(np.abs(mu).max()) + solves + slack / least, 0.0)
    b = np.sort([comparison.beta + k * comparison.theta + error for k in ks])[::-1]
    grown = 1.0 / (1.0 - (off + error) / least)
    return float(b[: len(mu)] @ mu) * grown


def best_ratio_bound(A: Array, ks: Sequence[int], slack: float, lower: float, out_of_time: Callable[[], bool]) -> float:
    """Return the least ratio bound that L-BFGS finds from several soft thresholds, at smoothings that get finer.

    Q, theta and beta times a number give the same bound. A barrier keeps B positive definite; it gets weaker with the
    smoothing, and the bound that is reported has neither.
    """
    best, top = np.inf, float(np.abs(A - np.diag(np.diagonal(A))).max(initial=0.0))
    starts = [_start(A, max(ks), share * top) for share in budgets.RATIO_STARTS] if top > 0.0 else []
    starts = sorted(starts, key=lambda start: ratio_bound(A, ks, start, slack))
    for start in starts[: budgets.RATIO_DESCENTS]:
        comparison = start
        best = min(best, ratio_bound(A, ks, comparison, slack))
        for smoothing in budgets.SMOOTHINGS:
            if out_of_time() or best <= lower:
                return best
            comparison = _descended(A, ks, comparison, smoothing, out_of_time)
            best = min(best, ratio_bound(A, ks, comparison, slack))
    return best


def _start(A: Array, k: int, level: float) -> Comparison:
    """Return the comparison with a matrix of which A is a small part: RATIO_ROOM is how small."""
    Q, theta = (A - soft_thresholded(A, level)) / 2.0, level / 2.0
    rest = A - Q - Q.T
    rest[np.diag_indices_from(rest)] += top_sum(Q**2, k) / theta
    return Comparison(Q, theta, budgets.RATIO_ROOM * float(np.linalg.eigvalsh(rest)[-1]))


def _descended(
    A: Array, ks: Sequence[int], start: Comparison, smoothing: float, out_of_time: Callable[[], bool]
) -> Comparison:
    """Return where the smoothed bound leads from a comparison."""
    n, k, r = len(A), max(ks), len(ks)
    B, _ = start.matrix(k)
    largest = float(eigh(A, B, eigvals_only=True)[-1])
    size = (start.beta + k * start.theta) * r * largest
    widths = (smoothing * largest, smoothing * max(float(np.abs(start.Q).max()) ** 2, EPS * start.beta**2))
    barrier = budgets.RATIO_BARRIER * smoothing * size / n
    outside = 10.0 * size  # where B is not positive definite: more than any start, and not so much that steps vanish

    logs = np.log([start.theta, start.beta])

    def objective(point: Array) -> tuple[float, Array]:
        if np.abs(point[-2:] - logs).max() > budgets.SMOOTHED_RANGE:
            return outside, np.zeros_like(point)
        Q, (theta, beta) = point[:-2].reshape(n, n), np.exp(point[-2:])
        tops = smooth_top_sums(Q**2, k, widths[1])
        B = Q + Q.T
        B[np.diag_indices_from(B)] += beta - tops.values / theta
        try:
            L = np.linalg.cholesky(B)
        except np.linalg.LinAlgError:
            return outside, np.zeros_like(point)
        half = solve_triangular(L, A, lower=True)
        M = solve_triangular(L, half.T, lower=True)
        eigenvalues, vectors = np.linalg.eigh((M + M.T) / 2.0)
        value, weights = smooth_ky_fan(eigenvalues, r, widths[0])
        used = weights > 0.0
        images = solve_triangular(L.T, vectors[:, used], lower=False)
        b = beta + k * theta
        inverse = cho_solve((L, True), np.eye(n))
        # minus the derivative in B: M = L^-1 A L^-T has eigenvectors u, and B^-1 A w = mu w for w = L^-T u
        of_B = b * (images * (weights * eigenvalues)[used]) @ images.T + barrier * inverse
        total = b * value + barrier * (n * np.log(beta) - 2.0 * float(np.log(np.diagonal(L)).sum()))
        diagonal = np.diagonal(of_B)
        of_Q = -2.0 * of_B + 2.0 * (diagonal / theta)[:, None] * Q * tops.weights
        of_theta = k * theta * value - float(diagonal @ tops.values) / theta
        of_beta = beta * value - float(diagonal.sum()) * beta + barrier * n
        return total, np.concatenate([of_Q.ravel(), [of_theta, of_beta]])

    point = np.concatenate([start.Q.ravel(), logs])
    point = descended(objective, point, budgets.SMOOTHED_STEPS, out_of_time)
    theta, beta = np.exp(point[-2:])
    return Comparison(point[:-2].reshape(n, n), float(theta), float(beta))
