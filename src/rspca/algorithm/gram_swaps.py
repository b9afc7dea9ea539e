"""Single swaps of features inside a Gram matrix: all of them are examined by one small eigendecomposition."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.base.types import Array
from rspca.linalg.vectors import TIED
from rspca.operators.base import chunks


class SwappedSupport(NamedTuple):
    """A support, its best loadings and variance, the swaps it took, and whether no other swap gains."""

    support: Array
    loadings: Array
    variance: float
    n_swaps: int
    swap_optimal: bool


def swap_features(
    gram_rows: Callable[[Array], Array], diagonal: Array, support: Array, choice: Choice
) -> SwappedSupport:
    """Swap one feature for another while that gains variance; swap_optimal means that no swap gains any more."""
    end = swap_path(gram_rows, diagonal, support, choice, set())
    if end is None:
        raise RuntimeError("A path met an earlier one where there was none: please report this.")
    return end


def swap_path(
    gram_rows: Callable[[Array], Array], diagonal: Array, support: Array, choice: Choice, visited: set[bytes]
) -> SwappedSupport | None:
    """Swap as `swap_features` does; None at a support that an earlier path visited, where both go on alike.

    With A_SS = l vv' + (rest), R = sum over the rest of qq'/(l - l_q), and for a feature j outside: a = A_Sj,
    alpha = v'a, r = Ra, q = a'r + A_jj - l. Swapping i for j raises the largest eigenvalue above l exactly when
    R_ii alpha^2 + v_i^2 q - 2 alpha v_i r_i > 0: the Schur complement of S + j with i removed, as the shift tends to l.
    So one k x k eigendecomposition examines all k (n - k) swaps. `gram_rows` returns rows of A. Variances grow, so a
    support that comes twice shows that gains are only rounding: the path ends there.
    """
    support, n_swaps, swap_optimal, own = np.array(support), 0, False, set[bytes]()
    rows = np.array(gram_rows(support))
    while True:
        name = np.sort(support).tobytes()
        is_repeated = name in own
        if name in visited and not is_repeated:
            return None
        visited.add(name)
        own.add(name)
        values, vectors = np.linalg.eigh(symmetric(rows[:, support]))
        value, v = float(values[-1]), vectors[:, -1]
        if n_swaps == budgets.SWAPS_MAX or swap_optimal or is_repeated:
            break
        least = budgets.SWAP_MIN_GAIN * value
        gaps = np.maximum(value - values[:-1], least)
        rest = (vectors[:, :-1] / gaps) @ vectors[:, :-1].T
        promising = _promising_to_enter(rows, diagonal, value, v, rest, float(1.0 / gaps[-1]) if len(gaps) else 0.0)
        promising[support] = False
        entering = choice.features[promising[choice.features]]
        swaps = _promising_swaps(rows, diagonal, _Refit(support, value, v, rest), entering, choice)
        swap = _best_swap(rows, diagonal, support, swaps, value + least)
        if swap is None:
            swap_optimal = True
        else:
            leaving, joining = swap
            support[leaving] = joining
            rows[leaving] = gram_rows(np.array([joining]))[0]
            n_swaps += 1
    order = np.argsort(support)
    return SwappedSupport(support[order], v[order], value, n_swaps, swap_optimal)


def _promising_to_enter(rows: Array, diagonal: Array, value: float, v: Array, rest: Array, largest: float) -> Array:
    """Return which features may gain by a swap with any feature of the support: most are ruled out by two products.

    With the notation of `swap_features`, a swap with i gains only if R_ii alpha^2 / v_i^2 + q + 2 |alpha r_i / v_i| is
    positive. Here |r_i| <= |R_i| |a| and a'r <= |R| |a|^2, the spectral norm |R| given as `largest`.
    """
    sizes = np.maximum(np.abs(v), budgets.SWAP_MIN_LOADING)
    alpha, squares = np.abs(v @ rows), np.einsum("ij,ij->j", rows, rows)
    most = float(np.max(rest.diagonal() / sizes**2)) * alpha
    most += 2.0 * float(np.max(np.linalg.norm(rest, axis=1) / sizes)) * np.sqrt(squares)
    most *= alpha
    most += largest * squares
    most += diagonal
    return np.asarray(most > (1.0 - TIED) * value)


class _Refit(NamedTuple):
    """A support, its largest eigenvalue l and eigenvector, and the sum over the others of qq'/(l - l_q)."""

    support: Array
    value: float
    v: Array
    rest: Array


class _Swaps(NamedTuple):
    """Positions in a support that may leave it, the features that join it for them, and how promising that is."""

    leaving: Array
    joining: Array
    score: Array


def _promising_swaps(rows: Array, diagonal: Array, fit: _Refit, entering: Array, choice: Choice) -> _Swaps:
    """Return the swaps that raise the variance, some of the entering features at a time, so that they stay in cache."""
    support, value, v, rest = fit
    least, rest_ii, v_i = budgets.SWAP_MIN_GAIN * value, np.diagonal(rest)[:, None], v[:, None]
    found = [_Swaps(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))]
    for part in chunks(len(entering), 8 * len(support), budgets.SWAP_BYTES):
        some = entering[part]
        a = rows[:, some]
        alpha, r = v @ a, rest @ a
        q = np.einsum("ij,ij->j", a, r) + diagonal[some] - value
        curvature = r**2 - rest_ii * q
        gain = rest_ii * alpha**2 + v_i**2 * q - 2.0 * alpha * v_i * r - least * curvature
        leaving, joining = ((gain > 0.0) & choice.allowed_swaps(support, some)).nonzero()  # usually few
        score = gain[leaving, joining] / (np.abs(curvature[leaving, joining]) + v[leaving] ** 2 + least)
        found.append(_Swaps(leaving, some[joining], score))
    return _Swaps(*(np.concatenate(fields) for fields in zip(*found, strict=True)))


def _best_swap(rows: Array, diagonal: Array, support: Array, swaps: _Swaps, value: float) -> tuple[int, int] | None:
    """Return the best of the most promising swaps (position out, feature in) if it exceeds `value`, or None."""
    tries = budgets.SWAP_TRIES if len(support) <= budgets.SWAP_TRIES_MAX_K else budgets.SWAP_TRIES_LARGE_K
    best, swap = value, None
    for place in np.lexsort((swaps.joining, swaps.leaving, -swaps.score))[:tries]:
        i, j = int(swaps.leaving[place]), int(swaps.joining[place])
        inside = symmetric(rows[:, support])
        inside[i, :] = inside[:, i] = rows[:, j]
        inside[i, i] = diagonal[j]
        reached = float(np.linalg.eigvalsh(inside)[-1])
        if reached > best:
            best, swap = reached * (1.0 + TIED), (i, j)
    return swap


def symmetric(A: Array) -> Array:
    """Return the symmetric part of a matrix that is symmetric but for rounding."""
    return (A + A.T) / 2.0
