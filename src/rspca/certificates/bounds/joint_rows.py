"""The row dual: an upper bound on sum v_t'Av_t of r orthonormal sparse vectors, optimized over a matrix Q."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import EPS, soft_thresholded, top_sum
from rspca.certificates.bounds.joint import ky_fan
from rspca.certificates.bounds.smoothed import descended, smooth_ky_fan, smooth_top_sums


class Sparsity(NamedTuple):
    """How sparse a set of r vectors is."""

    r: int
    width: int
    """Features of one vector, at most."""
    total: int
    """Features of all vectors, counted as often as they are used; of a shared support, counted once."""
    union: int
    """Different features of all vectors, at most."""

    @property
    def off_diagonal(self) -> float:
        """Largest sum of |Y_ij| off the diagonal, Y = VV'; see `soft_threshold_of_set`."""
        is_shared = self.total == self.width
        apart = self.r * (self.width - 1) if is_shared else self.total - self.r
        together = np.sqrt(self.r * (self.union - 1.0) * max(self.union - self.r, 0))
        return float(min(apart, together))


def sparsity_of(ks: Sequence[int], n: int, *, shared: bool) -> Sparsity:
    """Return how sparse vectors of so many features are, out of n; a shared support has the largest of ks."""
    most = max(ks)
    if shared:
        return Sparsity(len(ks), most, most, most)
    return Sparsity(len(ks), most, sum(ks), min(sum(ks), n))


class RowDual(NamedTuple):
    """The least bound, and the Q and theta that have it."""

    upper: float
    Q: Array
    theta: float


def soft_threshold_of_set(A: Array, sparsity: Sparsity, level: float) -> float:
    """Return KyFan_r(S) + c level, S the matrix A soft-thresholded off its diagonal by `level`.

    |A - S| is at most `level` off the diagonal and zero on it, so tr((A - S)Y) <= level times the sum of |Y_ij| off the
    diagonal, Y = sum v_t v_t'. That sum is at most sum(|v_t|_1^2 - 1) <= sum(k_t - 1). And if all vectors use s
    features, Y is a projection of rank r with |Y|_F^2 = r, so that its squares off the diagonal sum to
    r - sum Y_ii^2 <= r - r^2 / s, and by Cauchy and Schwarz the sum is at most sqrt(s (s - 1) (r - r^2 / s)).
    """
    return ky_fan(soft_thresholded(A, level), sparsity.r) + sparsity.off_diagonal * level


def best_soft_threshold_of_set(A: Array, sparsity: Sparsity, out_of_time: Callable[[], bool]) -> tuple[float, float]:
    """Return the least bound over a grid of levels, and its level; level 0 is Ky Fan's bound."""
    top = float(np.abs(A - np.diag(np.diagonal(A))).max(initial=0.0))
    tried = {0.0: ky_fan(A, sparsity.r)}
    for level in top * np.linspace(0.0, 1.0, budgets.SET_THRESHOLDS + 1)[1:]:
        if not out_of_time():
            tried[float(level)] = soft_threshold_of_set(A, sparsity, float(level))
    best = min(tried, key=lambda level: tried[level])
    return tried[best], best


def row_dual(A: Array, sparsity: Sparsity, Q: Array, theta: float) -> float:
    """Return KyFan_r(A - Q - Q' + diag(T_width(q_i^2)) / theta) + total theta, a bound for every Q and theta > 0.

    Proof. Let v be a unit vector of k <= width features and a_i = T_width(q_i^2), q_i row i of Q. Then
    (q_i'v)^2 <= a_i, so that 2 v_i q_i'v <= v_i^2 a_i / theta + theta (q_i'v)^2 / a_i <= v_i^2 a_i / theta + theta if
    v_i is not zero, and 0 if it is. Summed over i and over the vectors, sum v_t'(Q + Q')v_t <= sum v_t'D v_t +
    theta sum k_t, D = diag(a) / theta. So sum v_t'Av_t <= tr((A - Q - Q' + D) VV') + theta sum k_t; Ky Fan bounds the
    first term. If all share a support of K features, use Y = VV' at once: 2 sum_i q_i'Y_i with |Y_i|^2 = Y_ii is at
    most sum_i Y_ii a_i / theta + theta over the K features, with width = total = K.

    It contains Ky Fan's bound (Q = 0) and the semidefinite dual KyFan_r(A - W) + max|W| sum k_t.
    """
    squares = top_sum(Q**2, sparsity.width)
    part = A - Q - Q.T
    part[np.diag_indices_from(part)] += squares / theta
    sizes = float(np.linalg.norm(A) + 2.0 * np.linalg.norm(Q) + squares.max(initial=0.0) / theta)
    rounding = (len(A) + 64) * EPS * sizes
    return ky_fan((part + part.T) / 2.0, sparsity.r) + sparsity.total * theta + sparsity.r * rounding


def best_row_dual(A: Array, sparsity: Sparsity, level: float, lower: float, out_of_time: Callable[[], bool]) -> RowDual:
    """Return the least row dual that L-BFGS finds from a soft threshold, at smoothings that get finer.

    The bound is convex in Q and theta. Largest entries and eigenvalues are smoothed to find Q; the bound itself is not.
    """
    n, size = len(A), float(np.linalg.eigvalsh(A)[-1])
    top = float(np.abs(A - np.diag(np.diagonal(A))).max(initial=0.0))
    level = max(level, budgets.LEAST_START_LEVEL * top, budgets.LEAST_START_LEVEL * size / n)
    Q, theta = (A - soft_thresholded(A, level)) / 2.0, level / 2.0
    best = RowDual(row_dual(A, sparsity, Q, theta), Q, theta)
    for smoothing in budgets.SMOOTHINGS:
        if out_of_time() or best.upper <= lower:
            break
        widths = (smoothing * size, smoothing * max(float(np.abs(Q).max()) ** 2, EPS * size**2))
        log_theta, outside = float(np.log(theta)), 10.0 * best.upper

        def objective(
            point: Array, widths: tuple[float, float] = widths, middle: float = log_theta, outside: float = outside
        ) -> tuple[float, Array]:
            if abs(point[-1] - middle) > budgets.SMOOTHED_RANGE:
                return outside, np.zeros_like(point)
            return smooth_row_dual(A, sparsity, point, widths)

        point = np.append(Q.ravel(), log_theta)
        point = descended(objective, point, budgets.SMOOTHED_STEPS, out_of_time)
        Q, theta = point[:-1].reshape(n, n), float(np.exp(point[-1]))
        value = row_dual(A, sparsity, Q, theta)
        if value < best.upper:
            best = RowDual(value, Q, theta)
    return best


def smooth_row_dual(A: Array, sparsity: Sparsity, point: Array, widths: tuple[float, float]) -> tuple[float, Array]:
    """Return the smoothed bound and its gradient in Q and log theta."""
    Q, theta = point[:-1].reshape(A.shape), float(np.exp(point[-1]))
    tops = smooth_top_sums(Q**2, sparsity.width, widths[1])
    part = A - Q - Q.T
    part[np.diag_indices_from(part)] += tops.values / theta
    eigenvalues, vectors = np.linalg.eigh(part)
    value, weights = smooth_ky_fan(eigenvalues, sparsity.r, widths[0])
    used = weights > 0.0
    Y = (vectors[:, used] * weights[used]) @ vectors[:, used].T
    diagonal = np.diagonal(Y)
    of_Q = -2.0 * Y + 2.0 * (diagonal / theta)[:, None] * Q * tops.weights
    of_log_theta = sparsity.total * theta - float(diagonal @ tops.values) / theta
    return value + sparsity.total * theta, np.append(of_Q.ravel(), of_log_theta)
