"""Upper bounds on the variance of every vector of k features, from a Gram matrix in memory; each with its proof.

Z = max x'Ax over unit vectors x with at most k non-zeros = max of l_1(A_SS) over |S| = k. T_k is the sum of the k
largest entries, or, with `limits`, the largest sum over the entries of a support that groups allow. A is positive
semidefinite; `frobenius`, `gershgorin`, `spectral_fill` and the soft threshold hold for every symmetric A, and so for
one whose entries between features that exclude each other are zero (`limits.apart`): on allowed supports it is the
same matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.limits import GroupLimits, sums_beside

EPS = float(np.finfo(np.float64).eps)


class Spectrum(NamedTuple):
    """Eigenvalues (decreasing) and eigenvectors (columns) of A; what is not listed is at most `rest`."""

    values: Array
    vectors: Array
    rest: float = 0.0


def top_sum(values: Array, k: int, axis: int = -1, limits: GroupLimits | None = None) -> Array:
    """Return T_k along an axis; with limits, the values must not be negative."""
    values = values if limits is None else limits.candidates(values, axis)
    n = values.shape[axis]
    if k <= 0:
        return np.zeros(np.delete(values.shape, axis))
    if k >= n:
        return np.asarray(values.sum(axis=axis))
    return np.asarray(np.partition(values, n - k, axis=axis).take(range(n - k, n), axis=axis).sum(axis=axis))


def spectrum(A: Array) -> Spectrum:
    """Return all eigenpairs by a dense decomposition, whose values are raised by its own rounding error.

    A backward stable method returns the eigenvalues of A + E with |E|_2 <= c n eps |A|_2, and c = 4 is generous.
    """
    values, vectors = np.linalg.eigh(A)
    margin = 4.0 * len(A) * EPS * float(np.abs(values).max(initial=0.0))
    return Spectrum(values[::-1] + margin, vectors[:, ::-1], float(values[0]) + margin)


def largest_eigenvalue(A: Array) -> float:
    """Return l_1(A), raised by the rounding error of its computation. Z <= l_1: x'Ax <= l_1 |x|^2."""
    values = np.linalg.eigvalsh(A)
    return float(values[-1] + 4.0 * len(A) * EPS * np.abs(values).max(initial=0.0))


def trace(diagonal: Array, k: int, limits: GroupLimits | None = None) -> float:
    """Return T_k of the diagonal. A_SS is positive semidefinite, so its largest eigenvalue is at most its trace."""
    return float(top_sum(diagonal if limits is None else np.maximum(diagonal, 0.0), k, limits=limits))


def gershgorin(A: Array, k: int, limits: GroupLimits | None = None) -> float:
    """Return max_i [a_ii + T_{k-1}(|a_ij|)]: no eigenvalue of A_SS exceeds its largest absolute row sum.

    With limits, T_{k-1} is over the features that may stand beside i.
    """
    size = np.abs(A)
    diagonal = np.diagonal(A)
    np.fill_diagonal(size, 0.0)
    return float((diagonal + sums_beside(size, np.arange(len(A)), k, limits)).max())


def frobenius(diagonal: Array, row_energy: Array, k: int, limits: GroupLimits | None = None) -> float:
    """Return min over c of c + sqrt(T_k((a_ii - c)^2 + r_i)), with r_i = T_{k-1}(a_ij^2, j != i) as `row_energy`.

    l_1(A_SS) - c <= |A_SS - c I|_F, and row i of that norm is at most (a_ii - c)^2 + r_i. And if the diagonal is raised
    to its maximum d, the other k - 1 eigenvalues of A_SS sum to k d - l_1, so by Cauchy and Schwarz |A_SS - d I|_F^2 is
    at least (l_1 - d)^2 (1 + 1/(k-1)): l_1 <= d + sqrt((k-1)/k T_k(r)).
    """
    largest = float(diagonal.max())
    shifts = np.linspace(0.0, largest, budgets.FROBENIUS_SHIFTS)
    bounds = [c + float(np.sqrt(top_sum((diagonal - c) ** 2 + row_energy, k, limits=limits))) for c in shifts]
    return min(*bounds, largest + float(np.sqrt((k - 1) / k * top_sum(row_energy, k, limits=limits))))


def row_energies(A: Array, k: int, limits: GroupLimits | None = None) -> Array:
    """Return T_{k-1}(a_ij^2, j != i) for each row; with limits, over the features that may stand beside i."""
    squares = A**2
    np.fill_diagonal(squares, 0.0)
    return sums_beside(squares, np.arange(len(A)), k, limits)


def spectral_fill(pairs: Spectrum, k: int, limits: GroupLimits | None = None) -> float:
    """Return the sum of l_j a_j, a_j = min(T_k(v_j^2), 1 - a_1 - ... - a_{j-1}).

    p_j = (v_j'x)^2 is at most T_k(v_j^2) by Cauchy and Schwarz on the support, and the p_j sum to one (with the
    remainder on `rest`). Maximizing the sum of l_j p_j is a fractional knapsack, which filling in order solves.
    """
    return float(filled(pairs.values, top_sum(pairs.vectors**2, k, axis=0, limits=limits), pairs.rest))


def filled(values: Array, shares: Array, rest: float | Array) -> Array:
    """Return the value of the knapsack for one row of shares, or for each of several."""
    used = np.minimum(np.cumsum(shares, axis=-1), 1.0)
    parts = np.diff(used, axis=-1, prepend=0.0)
    return np.asarray(parts @ values + (1.0 - used[..., -1]) * rest)


def soft_thresholded(A: Array, level: float | Array) -> Array:
    """Return A with its entries off the diagonal moved toward zero by `level`, a number or one per entry."""
    out = np.sign(A) * np.maximum(np.abs(A) - level, 0.0)
    np.fill_diagonal(out, np.diagonal(A))
    return out


def remainder(C: Array, k: int, limits: GroupLimits | None = None) -> float:
    """Return a bound on x'Cx for a symmetric C with zero diagonal and unit x with k non-zeros: the lesser of two.

    They are the largest absolute row sum, and, since C_SS has trace zero, Cauchy and Schwarz as in `frobenius`.
    """
    size = np.abs(C)
    return float(
        min(
            top_sum(size, k - 1, limits=limits).max(initial=0.0),
            np.sqrt((k - 1) / k * top_sum(top_sum(size**2, k - 1, limits=limits), k, limits=limits)),
        )
    )


def soft_threshold(A: Array, k: int, level: float, limits: GroupLimits | None = None) -> float:
    """Return the spectral fill of S, A soft-thresholded off its diagonal, plus the `remainder` of A - S."""
    S = soft_thresholded(A, level)
    return spectral_fill(spectrum(S), k, limits) + remainder(A - S, k, limits)


def best_soft_threshold(
    A: Array, k: int, out_of_time: Callable[[], bool] = lambda: False, limits: GroupLimits | None = None
) -> tuple[float, float]:
    """Return the least bound over the level, by a coarse grid and golden sections, and the level."""
    top = float(np.abs(A - np.diag(np.diagonal(A))).max(initial=0.0))
    grid = top * np.linspace(0.0, 1.0, budgets.THRESHOLD_GRID) ** 2
    tried: dict[float, float] = {}

    def at(level: float) -> float:
        """Return the bound at a level; after the time limit only the first is computed."""
        tried[level] = np.inf if tried and out_of_time() else soft_threshold(A, k, level, limits)
        return tried[level]

    middle = len(grid) // 2
    for level in (*grid[middle:], *grid[:middle][::-1]):
        at(float(level))
    best = int(np.argmin([tried[float(level)] for level in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    left, right = high - golden * (high - low), low + golden * (high - low)
    f_left, f_right = at(left), at(right)
    for _ in range(budgets.THRESHOLD_STEPS):
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - golden * (high - low)
            f_left = at(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + golden * (high - low)
            f_right = at(right)
    least = min(tried, key=lambda level: tried[level])
    return tried[least], least
