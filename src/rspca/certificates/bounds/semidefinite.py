"""The semidefinite relaxation DSPCA by ADMM, and the split of A by its multiplier."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.linalg.vectors import l1_projection


class Semidefinite(NamedTuple):
    """A nearly optimal matrix of the relaxation, and a bound on the variance of every vector of k features."""

    X: Array
    upper: float
    n_iter: int
    converged: bool
    multiplier: Array
    """The U of the least bound l_1(A - U) + k max|U_ij|."""


def semidefinite(
    A: Array, k: float, *, tol: float = 1e-4, max_iter: int = 1000, out_of_time: Callable[[], bool] = lambda: False
) -> Semidefinite:
    """Solve max tr(AX) subject to X >= 0, tr X = 1, sum |X_ij| <= k by ADMM (X on one set, its copy on the other).

    Any symmetric U gives an upper bound, tr(AX) = tr((A - U)X) + tr(UX) <= l_1(A - U) + k max|U_ij|: the multiplier
    is a good U, and the least bound seen is returned. It stops when bound and value agree to tol, relatively.
    """
    unit = float(np.linalg.eigvalsh(A)[-1]) or 1.0
    A = A / unit
    n = len(A)
    copy, multiplier, weight, upper, converged = np.eye(n) / n, np.zeros((n, n)), 1.0, 1.0, False
    best = multiplier
    for iteration in range(1, max_iter + 1):
        X = _spectraplex(copy - multiplier + A / weight)
        before, copy = copy, l1_projection((X + multiplier).ravel(), k).reshape(n, n)
        multiplier = multiplier + X - copy
        apart, moved = float(np.linalg.norm(X - copy)), float(np.linalg.norm(copy - before))
        last = iteration == max_iter or out_of_time()
        if iteration % budgets.SEMIDEFINITE_CHECK_STEPS == 0 or last:
            U = weight * (multiplier + multiplier.T) / 2.0
            bound = float(np.linalg.eigvalsh(A - U)[-1]) + k * float(np.abs(U).max())
            if bound < upper:
                upper, best = bound, U
            value = float(np.sum(A * X))
            converged = abs(upper - value) <= tol * upper and apart <= tol * float(np.linalg.norm(X))
            if converged or last:
                break
            # Boyd et al. 2011, section 3.4.1: neither residual far ahead of the other
            factor = 2.0 if apart > 4.0 * moved else 0.5 if moved > 4.0 * apart else 1.0
            weight, multiplier = weight * factor, multiplier / factor
    return Semidefinite(X, unit * upper, iteration, converged, unit * best)


def dual_part(A: Array, multiplier: Array) -> Array:
    """Return A - U with the diagonal of A: the part of A whose spectrum is bounded, for `bounds` and the search."""
    part = A - multiplier
    np.fill_diagonal(part, np.diagonal(A))
    return part


def _spectraplex(M: Array) -> Array:
    """Return the nearest positive semidefinite matrix of trace one."""
    values, vectors = np.linalg.eigh((M + M.T) / 2.0)
    excess = (np.cumsum(values[::-1]) - 1.0) / np.arange(1, len(values) + 1)
    projected = np.maximum(values - excess[np.flatnonzero(values[::-1] > excess)[-1]], 0.0)
    used = projected > 0.0
    return np.asarray((vectors[:, used] * projected[used]) @ vectors[:, used].T)
