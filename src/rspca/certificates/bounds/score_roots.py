"""The numbers mu_i and rho of the relaxation in the scores, by Newton steps: vectorized NumPy, and loops for numba.

For weights x_j > 0 and squares c_ij^2, mu_i(rho) > 0 solves sum_j x_j c_ij^2 / (mu + rho x_j) = 1, where sum_j c_ij^2 is
above rho, and is zero elsewhere. -d mu_i / d rho = z_i = (1 / D_i - mu_i) / rho, D_i = sum_j x_j c_ij^2 / (mu + rho
x_j)^2: it is between 0 and 1, and decreases in rho. No proof depends on these numbers: `checked_dual` allows any.
"""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array


def newton_plain(squares: Array, weights: Array, rho: float, start: Array, steps: int, tol: float) -> tuple[Array, Array]:
    """Return mu and D for each row of squares, from a start; rows whose start is negative are left out."""
    rows = np.flatnonzero(start >= 0.0)
    found, slopes = start.copy(), np.ones(len(start))
    used = squares if len(rows) == len(start) else squares[rows]
    shares, penalties = used * weights, rho * weights
    mu, least = start[rows], rho * float(weights.min())
    for _ in range(steps):
        inverse = 1.0 / (mu[:, None] + penalties)
        terms = shares * inverse
        S = terms.sum(axis=1)
        D = np.einsum("ij,ij->i", terms, inverse)
        # the step of Newton for 1 / S = 1, which is concave in mu: from the left it never passes the root
        after = np.maximum(mu + S * (S - 1.0) / D, 0.0)
        moved = np.abs(after - mu) > tol * (after + least)
        mu, slopes[rows] = after, D
        if not moved.any():
            break
    found[rows] = mu
    return found, slopes


def newton_loop(squares: Array, weights: Array, rho: float, start: Array, steps: int, tol: float) -> tuple[Array, Array]:
    """Return the same as `newton_plain`, compiled."""
    rows, columns = squares.shape
    found, slopes = start.copy(), np.ones(rows)
    least = rho * weights.min()
    for i in range(rows):
        at = start[i]
        if at < 0.0:
            continue
        for _ in range(steps):
            S, D = 0.0, 0.0
            for j in range(columns):
                inverse = 1.0 / (at + rho * weights[j])
                term = weights[j] * squares[i, j] * inverse
                S += term
                D += term * inverse
            after = max(at + S * (S - 1.0) / D, 0.0)
            moved = abs(after - at)
            at = after
            slopes[i] = D
            if moved <= tol * (after + least):
                break
        found[i] = at
    return found, slopes


COMPILED = ("newton_loop",)
"""Functions that numba compiles."""
