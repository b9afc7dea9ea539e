"""DSPCA (d'Aspremont, El Ghaoui, Jordan and Lanckriet 2007): a semidefinite relaxation, rounded; few features only."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rspca.ascent import Tell
from rspca.checks import TooLarge, check_sparsity
from rspca.components import Component, OnStep
from rspca.normalization import NORMALIZATIONS
from rspca.operators.protocol import Array, OperatorMixin
from rspca.sequence import Found, eligible_features, one_after_another
from rspca.vectors import l1_projection, top_k

MOST_FEATURES = 500
"""A step is an eigendecomposition of an n x n matrix, and there are hundreds."""
CHECKED_EVERY = 10
"""Steps between two evaluations of the bound, which costs as much as a step."""


def dspca(
    op: OperatorMixin,
    n_components: int,
    k: Any,
    *,
    normalization: str = "svd",
    deflation: str = "schur",
    rng: np.random.Generator | None = None,
    on_step: OnStep | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
) -> list[Component]:
    """Return the k largest entries of the leading eigenvector of the relaxed solution; at most 500 features.

    The relaxation replaces xx' by a positive semidefinite matrix of trace one whose magnitudes sum to at most k.
    `semidefinite` solves it and has its upper bound. `rng` is not used.
    """
    ks = check_sparsity(k, n_components, op.shape[1])
    if op.shape[1] > MOST_FEATURES:
        raise TooLarge(
            f"method='dspca' works with dense n x n matrices: X has {op.shape[1]} features, at most {MOST_FEATURES} "
            "are allowed. Choose fewer features first, or another method."
        )
    find = partial(dspca_component, normalization=normalization, tol=tol, max_iter=max_iter)
    return one_after_another(find, op, ks, deflation=deflation, on_step=on_step)


def dspca_component(op: OperatorMixin, k: int, tell: Tell, *, normalization: str, tol: float, max_iter: int) -> Found:
    """Return one component: relax, round, normalize."""
    eligible = eligible_features(op)
    k = min(k, len(eligible))
    relaxed = semidefinite(op.gram_block(eligible), k, tol=tol, max_iter=max_iter)
    tell("dspca", relaxed.n_iter, relaxed.upper)
    x = np.linalg.eigh(relaxed.X)[1][:, -1]
    kept = top_k(np.abs(x), k)
    support = eligible[kept]
    return Found(support, NORMALIZATIONS[normalization](op, support, x[kept]), relaxed.n_iter, relaxed.converged)


class Semidefinite(NamedTuple):
    """A nearly optimal matrix of the relaxation, and a bound on the variance of every vector of k features."""

    X: Array
    upper: float
    n_iter: int
    converged: bool


def semidefinite(A: Array, k: float, *, tol: float = 1e-4, max_iter: int = 1000) -> Semidefinite:
    """Solve max tr(AX) subject to X >= 0, tr X = 1, sum |X_ij| <= k by ADMM (X on one set, its copy on the other).

    Any symmetric U gives an upper bound, tr(AX) = tr((A - U)X) + tr(UX) <= l_1(A - U) + k max|U_ij|: the multiplier
    is a good U, and the least bound seen is returned. It stops when bound and value agree to tol, relatively.
    """
    unit = float(np.linalg.eigvalsh(A)[-1]) or 1.0
    A = A / unit
    n = len(A)
    copy, multiplier, weight, upper, converged = np.eye(n) / n, np.zeros((n, n)), 1.0, 1.0, False
    for iteration in range(1, max_iter + 1):
        X = _spectraplex(copy - multiplier + A / weight)
        before, copy = copy, l1_projection((X + multiplier).ravel(), k).reshape(n, n)
        multiplier = multiplier + X - copy
        apart, moved = float(np.linalg.norm(X - copy)), float(np.linalg.norm(copy - before))
        if iteration % CHECKED_EVERY == 0 or iteration == max_iter:
            U = weight * (multiplier + multiplier.T) / 2.0
            upper = min(upper, float(np.linalg.eigvalsh(A - U)[-1]) + k * float(np.abs(U).max()))
            value = float(np.sum(A * X))
            converged = abs(upper - value) <= tol * upper and apart <= tol * float(np.linalg.norm(X))
            if converged:
                break
            # Boyd et al. 2011, section 3.4.1: neither residual far ahead of the other
            factor = 2.0 if apart > 4.0 * moved else 0.5 if moved > 4.0 * apart else 1.0
            weight, multiplier = weight * factor, multiplier / factor
    return Semidefinite(X, unit * upper, iteration, converged)


def _spectraplex(M: Array) -> Array:
    """Return the nearest positive semidefinite matrix of trace one."""
    values, vectors = np.linalg.eigh((M + M.T) / 2.0)
    excess = (np.cumsum(values[::-1]) - 1.0) / np.arange(1, len(values) + 1)
    kept = np.maximum(values - excess[np.flatnonzero(values[::-1] > excess)[-1]], 0.0)
    used = kept > 0.0
    return np.asarray((vectors[:, used] * kept[used]) @ vectors[:, used].T)
