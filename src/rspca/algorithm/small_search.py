"""Search for k of a few features inside their Gram matrix: growth from every feature, then swaps in the best supports.

For so few features arithmetic costs little and every call much: all supports take each step together, as dense rows.
"""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_search import best_of_distinct, ranked, with_leading_loadings, with_lowest_copies
from rspca.algorithm.gram_swaps import SwappedSupport
from rspca.base.types import Array
from rspca.linalg.vectors import TIED


def is_small(k: int, choice: Choice) -> bool:
    """Return whether k and the features that may be chosen are so few that each of them is a start."""
    return k <= budgets.SMALL_MAX_K and len(choice.features) <= budgets.SMALL_FEATURES and choice.groups is None


def search_small(A: Array, k: int, *, known: list[Array]) -> list[SwappedSupport]:
    """Return the best supports of k features of A, best first; ties go to the lowest features.

    Supports grow from every feature, and `known` ones join them. Single features of the best ones are swapped.
    """
    A = (A + A.T) / 2.0
    inside, gradients = grown(A, k)
    supports, variances = inside.nonzero()[1].reshape(len(inside), k), refitted_variances(A, inside, gradients)
    if known:
        others = with_leading_loadings(A, known)
        supports, variances = np.vstack([supports, others.supports]), np.concatenate([variances, others.variances])
    best = best_of_distinct(supports, variances, finalists_of(len(A)))
    ends, choice = ranked(swapped(A, supports[best])), Choice(np.arange(len(A)))
    least = (1.0 - budgets.SMALL_NEAR_BEST) * ends[0].variance
    return ranked([with_lowest_copies(A, end, choice) for end in ends if end.variance >= least])


def finalists_of(p: int) -> int:
    """Return how many supports of p features are improved by swaps."""
    share = p // budgets.SMALL_FEATURES_A_FINALIST
    return min(max(share, budgets.SMALL_MIN_FINALISTS), budgets.SMALL_FINALISTS)


def grown(A: Array, k: int) -> tuple[Array, Array]:
    """Return supports of k features as rows of a mask, grown from every feature by that of largest predicted gain.

    It is that of `gram_search.grow`. After each feature power steps within the support refit the loadings; the second
    result are the products of A with them.
    """
    p, diagonal = len(A), A.diagonal()
    each, inside = np.arange(p), np.eye(p, dtype=bool)
    gradients, variances = A, diagonal
    for _ in range(k - 1):
        denominators = variances[:, None] - diagonal
        np.maximum(denominators, budgets.GROWTH_MIN_DENOMINATOR * variances[:, None], out=denominators)
        promised = gradients * gradients
        promised /= denominators
        promised[inside] = -np.inf
        least = promised.max(axis=1) - TIED * variances
        inside[each, np.argmax(promised >= least[:, None], axis=1)] = True  # ties: the lowest feature
        for _ in range(budgets.SMALL_GROWTH_STEPS):
            vectors = _power_step(gradients, inside)
            gradients = vectors @ A
        variances = np.einsum("ij,ij->i", vectors, gradients)
    return inside, gradients


def refitted_variances(A: Array, inside: Array, gradients: Array) -> Array:
    """Return the variances that a few power steps within each support reach, the first along the gradients.

    These know the signs of the features: loadings of one sign may have no variance where features are opposite.
    """
    for _ in range(budgets.SMALL_REFIT_STEPS):
        vectors = _power_step(gradients, inside)
        gradients = vectors @ A
    return np.einsum("ij,ij->i", vectors, gradients)


def _power_step(gradients: Array, inside: Array) -> Array:
    """Return gradients within supports, as rows of unit length."""
    vectors = gradients * inside
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    vectors /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return vectors


def swapped(A: Array, supports: Array) -> list[SwappedSupport]:
    """Swap one feature of each support for another while that gains variance, all supports at once.

    The formulas are those of `gram_swaps.swap_features`: they tell which swaps gain. The most promising one is made.
    """
    diagonal, ends = A.diagonal(), list[SwappedSupport]()
    moves, before = np.zeros(len(supports), dtype=np.intp), np.full(len(supports), -np.inf)
    while len(supports):
        each = np.arange(len(supports))
        values, vectors = np.linalg.eigh(A[supports[:, :, None], supports[:, None, :]])
        value, v, others = values[:, -1:], vectors[:, :, -1], vectors[:, :, :-1]
        least = budgets.SWAP_MIN_GAIN * value
        rest = (others / np.maximum(value - values[:, :-1], least)[:, None, :]) @ others.transpose(0, 2, 1)
        rows = A[supports]
        alpha, r = v[:, None, :] @ rows, rest @ rows
        q = (np.einsum("bij,bij->bj", rows, r) + (diagonal - value))[:, None, :]
        rest_ii, v_i, least_i = np.einsum("bii->bi", rest)[:, :, None], v[:, :, None], least[:, :, None]
        curvature = r * r - rest_ii * q
        score = rest_ii * alpha**2 + v_i**2 * q - 2.0 * v_i * alpha * r - least_i * curvature
        score /= np.abs(curvature) + v_i**2 + least_i
        score[each[:, None], :, supports] = 0.0
        flat = score.reshape(len(supports), -1)
        place = flat.argmax(axis=1)
        optimal = flat[each, place] <= 0.0
        ended = optimal | (moves == budgets.SWAPS_MAX) | (value[:, 0] <= before)
        ends += [
            SwappedSupport(supports[i], v[i], float(value[i, 0]), int(moves[i]), bool(optimal[i]))
            for i in ended.nonzero()[0]
        ]
        supports = supports.copy()
        supports[each, place // len(A)] = place % len(A)
        supports, moves, before = np.sort(supports[~ended], axis=1), moves[~ended] + 1, value[~ended, 0]
    return ends
