"""The numbers mu_i and rho of the relaxation in the scores, by Newton steps: vectorized NumPy, and loops for numba.

For weights x_j > 0 and squares c_ij^2, mu_i(rho) > 0 solves sum_j x_j c_ij^2 / (mu + rho x_j) = 1, where sum_j c_ij^2
is above rho, and is zero elsewhere. -d mu_i / d rho = z_i = (1 / D_i - mu_i) / rho, D_i = sum_j x_j c_ij^2 / (mu + rho
x_j)^2: it is between 0 and 1, and decreases in rho. No proof depends on these numbers: `checked_dual` allows any.
"""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array


def newton_plain(
    squares: Array, weights: Array, rho: float, start: Array, steps: int, tol: float
) -> tuple[Array, Array]:
    """Return mu and D for each row of squares, from a start; rows whose start is negative are left out.

    A step is that of Newton for 1 / S = 1, S the sum: it is concave in mu, so that steps from the left do not pass the
    root. Where they more than quadruple mu they are lengthened. (|a|^2 - rho) sum x_j c_j^2 / |a|^2 is above the root,
    because x / (mu + rho x) is concave in x.
    """
    found, slopes = start.copy(), np.ones(len(start))
    rows = np.flatnonzero(start >= 0.0)
    used = squares if len(rows) == len(start) else squares[rows]
    shares, penalties = used * weights, rho * weights
    lengths = used.sum(axis=1)
    low, high = np.zeros(len(rows)), (lengths - rho) * shares.sum(axis=1) / lengths
    mu = np.minimum(start[rows], high)
    for _ in range(steps):
        inverse = 1.0 / (mu[:, None] + penalties)
        terms = shares * inverse
        S = terms.sum(axis=1)
        D = np.einsum("ij,ij->i", terms, inverse)
        is_left = S >= 1.0
        low, high = np.where(is_left, mu, low), np.where(is_left, high, np.minimum(mu, high))
        after = mu + S * (S - 1.0) / D
        after = np.where(is_left & (after > 4.0 * mu) & (4.0 * after < high), 2.0 * after, after)
        after = np.where(after > low, after, np.where(low > 0.0, 0.5 * (low + high), 0.125 * high))
        after = np.where(is_left & (after <= mu), mu, after)
        moved = np.abs(after - mu) > tol * (after + rho)
        found[rows], slopes[rows] = after, D
        if not moved.any():
            break
        if np.count_nonzero(moved) < 0.5 * len(moved):
            rows, shares, mu = rows[moved], shares[moved], after[moved]
            low, high = low[moved], high[moved]
        else:
            mu = after
    return found, slopes


def newton_loop(
    squares: Array, weights: Array, rho: float, start: Array, steps: int, tol: float
) -> tuple[Array, Array]:
    """Return the same as `newton_plain`, compiled."""
    rows, columns = squares.shape
    found, slopes = start.copy(), np.ones(rows)
    for i in range(rows):
        if start[i] < 0.0:
            continue
        length, total = 0.0, 0.0
        for j in range(columns):
            length += squares[i, j]
            total += weights[j] * squares[i, j]
        low, high = 0.0, (length - rho) * total / length
        mu = min(start[i], high)
        for _ in range(steps):
            S, D = 0.0, 0.0
            for j in range(columns):
                inverse = 1.0 / (mu + rho * weights[j])
                term = weights[j] * squares[i, j] * inverse
                S += term
                D += term * inverse
            after = mu + S * (S - 1.0) / D
            if S >= 1.0:
                low = mu
                if after > 4.0 * mu and 4.0 * after < high:
                    after = 2.0 * after
                after = max(after, mu)
            else:
                high = min(mu, high)
                if after <= low:
                    after = 0.5 * (low + high) if low > 0.0 else 0.125 * high
            moved = abs(after - mu)
            mu = after
            slopes[i] = D
            if moved <= tol * (after + rho):
                break
        found[i] = mu
    return found, slopes


COMPILED = ("newton_loop",)
"""Functions that numba compiles."""
