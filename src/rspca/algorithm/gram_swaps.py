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
    if np.sort(support).tobytes() in visited:
        return None
    rows = np.array(gram_rows(support))
    values, vectors = np.linalg.eigh(symmetric(rows[:, support]))
    while True:
        value, v, name = float(values[-1]), vectors[:, -1], np.sort(support).tobytes()
        is_repeated = name in own
        if name in visited and not is_repeated:
            return None
        visited.add(name)
        own.add(name)
        if n_swaps == budgets.SWAPS_MAX or is_repeated:
            break
        gaps = np.maximum(value - values[:-1], budgets.SWAP_MIN_GAIN * value)
        rest = (vectors[:, :-1] / gaps) @ vectors[:, :-1].T
        promising = _promising_to_enter(rows, diagonal, value, v, rest, float(1.0 / gaps[-1]) if len(gaps) else 0.0)
        promising[support] = False
        entering = choice.features[promising[choice.features]]
        fit = _Refit(support, value, v, rest)
        swap = _first_that_gains(rows, diagonal, fit, _promising_swaps(rows, diagonal, fit, entering, choice))
        if swap is None:
            swap_optimal = True
            break
        support[swap.leaving], values, vectors = swap.joining, swap.values, swap.vectors
        rows[swap.leaving] = gram_rows(np.array([swap.joining]))[0]
        n_swaps += 1
    order = np.argsort(support)
    return SwappedSupport(support[order], v[order], value, n_swaps, swap_optimal)


def _promising_to_enter(rows: Array, diagonal: Array, value: float, v: Array, rest: Array, largest: float) -> Array:
    """Return which features may gain by a swap with any feature of the support: most are ruled out by two products.

    With the notation of `swap_features`, a swap with i gains only if R_ii alpha^2 / v_i^2 + q + 2 |alpha r_i / v_i| is
    positive. Here |r_i| <= |R_i| |b| and a'r <= |R| |b|^2, the spectral norm |R| given as `largest`, and b what a is
    without its part along v, because Rv = 0.
    """
    sizes = np.maximum(np.abs(v), budgets.SWAP_MIN_LOADING)
    alpha = np.abs(v @ rows)
    squares = np.einsum("ij,ij->j", rows, rows) - (1.0 - TIED) * alpha**2  # |b|^2, and more than its rounding
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
    """Positions in a support that may leave it, the features that join it for them, and about how much that gains."""

    leaving: Array
    joining: Array
    gain: Array


def _promising_swaps(rows: Array, diagonal: Array, fit: _Refit, entering: Array, choice: Choice) -> _Swaps:
    """Return the swaps that raise the variance, some of the entering features at a time, so that they stay in cache.

    With R(d) = sum over the rest of qq'/(l + d - l_q), g = R_ii, r = (Ra)_i and c = l + d - A_jj - a'Ra, a swap gains
    the only positive root of (v_i^2 + d g) c - g alpha^2 + 2 v_i alpha r + d r^2: the characteristic polynomial after
    the swap over that before it, times d. With the R of d = 0 it is quadratic, and its root close to the gain.
    """
    support, value, v, rest = fit
    least, rest_ii, v_i = budgets.SWAP_MIN_GAIN * value, np.diagonal(rest)[:, None], v[:, None]
    found = [_Swaps(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))]
    for part in chunks(len(entering), 8 * len(support), budgets.SWAP_BYTES):
        some = entering[part]
        a = rows[:, some]
        alpha, r = v @ a, rest @ a
        q = np.einsum("ij,ij->j", a, r) + diagonal[some] - value
        curvature = r**2 - rest_ii * q
        at_zero = rest_ii * alpha**2 + v_i**2 * q - 2.0 * alpha * v_i * r
        leaving, joining = ((at_zero > least * curvature) & choice.allowed_swaps(support, some)).nonzero()  # few
        at_zero, slope = at_zero[leaving, joining], curvature[leaving, joining] + v[leaving] ** 2
        at_zero, bend = np.maximum(at_zero, 0.0), rest_ii[leaving, 0]
        root = np.sqrt(slope**2 + 4.0 * bend * at_zero)
        lower, upper = np.maximum(root + slope, 1e-300), np.maximum(2.0 * bend, 1e-300)
        gain = np.where(slope > 0.0, 2.0 * at_zero / lower, (root - slope) / upper)
        found.append(_Swaps(leaving, some[joining], gain))
    return _Swaps(*(np.concatenate(fields) for fields in zip(*found, strict=True)))


class _Swap(NamedTuple):
    """A position in a support, the feature that takes it, and the eigendecomposition after that."""

    leaving: int
    joining: int
    values: Array
    vectors: Array


def _first_that_gains(rows: Array, diagonal: Array, fit: _Refit, swaps: _Swaps) -> _Swap | None:
    """Return the most promising swap that gains more than rounding; None if none of a few does."""
    for place in np.lexsort((swaps.joining, swaps.leaving, -swaps.gain))[: budgets.SWAP_TRIES]:
        i, j = int(swaps.leaving[place]), int(swaps.joining[place])
        inside = symmetric(rows[:, fit.support])
        inside[i, :] = inside[:, i] = rows[:, j]
        inside[i, i] = diagonal[j]
        values, vectors = np.linalg.eigh(inside)
        if float(values[-1]) > (1.0 + budgets.SWAP_MIN_GAIN) * fit.value:
            return _Swap(i, j, values, vectors)
    return None


def symmetric(A: Array) -> Array:
    """Return the symmetric part of a matrix that is symmetric but for rounding."""
    return (A + A.T) / 2.0
