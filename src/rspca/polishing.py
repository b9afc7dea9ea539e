"""Monotone ascent at fixed k: truncated power steps with refit, then single swaps until none can gain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rspca.operators.protocol import Array, OperatorMixin
from rspca.spectral import leading_pairs
from rspca.vectors import top_k

SWAP_BUDGET = 10**6
"""Pairs (feature out, feature in) up to which single swaps are searched exhaustively."""
MOST_SWAPS = 500
SMALLEST_GAIN = 1e-10
"""Relative gain below which a swap or a power step counts as none."""
ROUGH, FINE = 1e-3, 1e-7
"""Residuals to which refits are carried out on the way and at the end."""


class Polished(NamedTuple):
    """A support, its best loadings, and whether any single swap could improve it (None: not examined)."""

    support: Array
    loadings: Array
    variance: float
    n_iter: int
    swap_optimal: bool | None


def refit(op: OperatorMixin, support: Array, start: Array | None = None, tol: float = FINE) -> tuple[float, Array]:
    """Return the largest v'X'Xv over unit vectors with this support, and that vector's loadings."""
    values, vectors = leading_pairs(op.restrict(support), 1, start, tol=tol)
    return float(values[0]), vectors[:, 0]


def polish(
    op: OperatorMixin, supports: Iterable[Array], *, eligible: Array, swap_starts: int = 1, max_iter: int = 100
) -> Polished:
    """Improve each support by truncated power steps, the best `swap_starts` of them by swaps; return the best."""
    climbed = truncated_power(op, list(supports), eligible=eligible, max_iter=max_iter)
    k = len(climbed[0].support)
    if k * (len(eligible) - k) > SWAP_BUDGET:
        return climbed[0]
    if k == len(eligible):
        return climbed[0]._replace(swap_optimal=True)
    swapped = [swap(op, one, eligible=eligible) for one in climbed[:swap_starts]]
    return max(swapped, key=lambda one: one.variance)


def truncated_power(op: OperatorMixin, supports: list[Array], *, eligible: Array, max_iter: int) -> list[Polished]:
    """Repeat for each support: refit, then take the k largest entries of X'Xv, until the support stays.

    All candidates share one block product an iteration. Returns the different end points, best first.
    """
    k = len(supports[0])
    allowed = np.zeros(op.shape[1], dtype=bool)
    allowed[eligible] = True
    done: dict[bytes, Polished] = {}
    active = {s.tobytes(): (s, *refit(op, s, tol=ROUGH)) for s in supports}
    for iteration in range(1, max_iter + 1):
        V = np.zeros((op.shape[1], len(active)))
        for column, (support, _, loadings) in enumerate(active.values()):
            V[support, column] = loadings
        following: dict[bytes, tuple[Array, float, Array]] = {}
        gradients = np.where(allowed[:, None], np.abs(_gram(op, V)), -1.0)
        for column, (key, (support, value, loadings)) in enumerate(active.items()):
            proposed = top_k(gradients[:, column], k)
            name = proposed.tobytes()
            if name == key:
                done[key] = Polished(support, loadings, value, iteration, None)
            elif name not in done and name not in following:
                better, vector = refit(op, proposed, gradients[proposed, column], tol=ROUGH)
                if better > value * (1.0 + SMALLEST_GAIN):
                    following[name] = (proposed, better, vector)
                else:
                    done[key] = Polished(support, loadings, value, iteration, None)
        active = following
        if not active:
            break
    for key, (support, value, loadings) in active.items():
        done[key] = Polished(support, loadings, value, max_iter, None)
    return sorted(done.values(), key=lambda one: -one.variance)


def _gram(op: OperatorMixin, V: Array) -> Array:
    """X'XV, reading only the columns that V uses for the first product where they are few."""
    rows = np.flatnonzero(V.any(axis=1))
    if len(rows) > op.shape[1] // 4 or not op.has_samples:
        return op.gram(V)
    return np.asarray(op.rmatmat(op.restrict(rows).matmat(V[rows])), dtype=np.float64)


def swap(op: OperatorMixin, start: Polished, *, eligible: Array) -> Polished:
    """Exchange one feature for another while that gains variance; swap_optimal tells that no exchange is left.

    With A_SS = l vv' + (rest), R = sum over the rest of qq'/(l - l_q), and for a feature j outside: a = A_Sj,
    alpha = v'a, r = Ra, q = a'r + A_jj - l. Exchanging i for j raises the largest eigenvalue above l exactly when
    R_ii alpha^2 + v_i^2 q - 2 alpha v_i r_i > 0: the Schur complement of S + j with i removed, as the shift tends to l.
    So one k x k eigendecomposition examines all k (n - k) exchanges.
    """
    support = start.support.copy()
    diagonal = op.sq_norms
    rows = op.gram_rows(support)
    swap_optimal = False
    n_swaps = 0
    while n_swaps < MOST_SWAPS:
        inside = rows[:, support]
        values, vectors = scipy.linalg.eigh((inside + inside.T) / 2.0)
        value, v = float(values[-1]), vectors[:, -1]
        gaps = np.maximum(value - values[:-1], SMALLEST_GAIN * value)
        rest = (vectors[:, :-1] / gaps) @ vectors[:, :-1].T
        entering = np.setdiff1d(eligible, support, assume_unique=True)
        a = rows[:, entering]
        alpha, r = v @ a, rest @ a
        q = np.einsum("ij,ij->j", a, r) + diagonal[entering] - value
        least = SMALLEST_GAIN * value
        rest_ii, v_i = np.diagonal(rest)[:, None], v[:, None]
        curvature = r**2 - rest_ii * q
        gain = rest_ii * alpha**2 + v_i**2 * q - 2.0 * alpha * v_i * r - least * curvature
        if not np.any(gain > 0.0):
            swap_optimal = True
            break
        score = np.where(gain > 0.0, gain / (np.abs(curvature) + v_i**2 + least), 0.0)
        found = _best_exchange(op, rows, support, entering, score, value * (1.0 + SMALLEST_GAIN))
        if found is None:
            swap_optimal = True
            break
        support, rows = found
        n_swaps += 1
    order = np.argsort(support)
    value, loadings = refit(op, support[order], v[order], tol=FINE)
    return Polished(support[order], loadings, value, start.n_iter + n_swaps, swap_optimal)


def _best_exchange(
    op: OperatorMixin, rows: Array, support: Array, entering: Array, score: Array, value: float
) -> tuple[Array, Array] | None:
    """Try the most promising exchanges in turn; return the new support and its Gram rows, or None."""
    tries = 8 if len(support) <= 200 else 2
    for flat in np.argsort(score, axis=None)[::-1][:tries]:
        i, j = np.unravel_index(flat, score.shape)
        if score[i, j] <= 0.0:
            return None
        new_support, new_rows = support.copy(), rows.copy()
        new_support[i] = entering[j]
        new_rows[i] = op.gram_rows(entering[j : j + 1])[0]
        inside = new_rows[:, new_support]
        if scipy.linalg.eigvalsh((inside + inside.T) / 2.0)[-1] > value:
            return new_support, new_rows
    return None
