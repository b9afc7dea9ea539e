"""Search for k features inside a Gram matrix: growth and exchanges of many candidates at once, then single swaps.

Everything here works on an array A = X'X of a few thousand features at most, so a step costs no product with X. `pool`
chooses the features if there are more; `ascent` compares the result with that of polishing on X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_swaps import SwappedSupport, swap_path, symmetric
from rspca.base.types import Array
from rspca.linalg.vectors import (
    TIED,
    at_least_in_rows,
    coarse,
    decreasing_order,
    kth_largest_in_rows,
    largest_of_rows,
    places_in_rows,
    row_maxima,
    spread_in_rows,
    sums_of_largest_in_rows,
    top_k,
)
from rspca.operators.base import chunks

Multiply = Callable[[Array], Array]
"""V -> A V."""


class Candidates(NamedTuple):
    """Supports of the same size as sorted rows, unit loadings, and the variance of these loadings."""

    supports: Array
    loadings: Array
    variances: Array

    def chosen(self, rows: Array | slice) -> Candidates:
        """Return some of them."""
        return Candidates(self.supports[rows], self.loadings[rows], self.variances[rows])


def search(
    A: Array,
    k: int,
    choice: Choice,
    *,
    known: list[Array],
    rng: np.random.Generator,
    multiply: Multiply | None = None,
    leading: Array | None = None,
) -> list[SwappedSupport]:
    """Return the best supports of k features of A, best first; ties go to the lowest features.

    Three families of starts complement each other. Supports that grow from single features, and small ones from pairs,
    find a few strongly correlated ones, wherever the leading directions point. Combinations of leading eigenvectors
    find components that are spread over many features. `known` supports, found by other means, are improved as well.
    The groups of `choice` limit which features may be chosen together. `multiply` returns A V, if there is a faster way
    than A itself, and `leading` are rough leading eigenvectors of A, if they are known.
    """
    unit = _unit_of(A)
    if unit != 1.0:
        found = search(A / unit, k, choice, known=known, rng=rng, leading=leading)
        return [end._replace(variance=unit * end.variance) for end in found]
    count, others = growth_starts(len(A)), [with_leading_loadings(A, known)] if known else []
    core = np.union1d(core_features(A, k), np.array(known, dtype=np.intp))
    if choice.groups is not None or budgets.CORE_PAYS * len(core) > len(A):
        starts = _starts(A, k, choice, count, rng, multiply or A.__matmul__, leading)
        candidates = best_distinct(joined([*starts, *others]), count // budgets.GROWTH_NARROWING)
        return _swapped(A, candidates, others, choice, budgets.SEARCH_FINALISTS)
    inner, among, leading = submatrix(A, core), choice.among(core), None if leading is None else leading[core]
    begun = joined(_starts(inner, k, among, count, rng, inner.__matmul__, leading))
    ends = exchanged(inner, best_distinct(begun, count // budgets.GROWTH_NARROWING), among)
    ends = best_distinct(ends, budgets.EXCHANGE_LEAST)
    ends = ends._replace(supports=core[ends.supports])
    candidates = best_distinct(joined([ends, *others]), len(ends.supports) + len(known))
    return _swapped(A, candidates, others, choice, budgets.SEARCH_FINALISTS)


def core_features(A: Array, k: int) -> Array:
    """Return the features among which supports of A begin, sorted: all, or those that have most to do with others.

    These have large fourth powers in their rows of A, without the diagonal, or large variances. A support is exchanged
    and swapped with all features afterwards.
    """
    p, diagonal = len(A), A.diagonal()
    count = max(budgets.CORE_FEATURES, p // budgets.CORE_SHARE)
    if k <= budgets.GROWTH_PAIRS_MAX_K or count >= p:
        return np.arange(p)
    related = coarse(np.maximum(fourth_powers_of_rows(A) - diagonal**4, 0.0))
    return np.union1d(top_k(related, count), top_k(coarse(diagonal), 2 * k))


def submatrix(A: Array, features: Array) -> Array:
    """Return A_SS, some rows at a time, in half the time that indexing by both takes."""
    out = np.empty((len(features), len(features)))
    for part in chunks(len(features), 8 * len(A), 8 * budgets.SEARCH_BLOCK_ENTRIES):
        out[part] = A[features[part]].take(features, axis=1)
    return out


def _starts(
    A: Array, k: int, choice: Choice, count: int, rng: np.random.Generator, multiply: Multiply, leading: Array | None
) -> list[Candidates]:
    """Return supports that grow from so many features, and from pairs if k is small, and those along directions."""
    starts = [grow(A, k, single_features(A, starting_features(A, k, count)), choice, count)]
    if 2 <= k <= budgets.GROWTH_PAIRS_MAX_K and choice.groups is None:
        starts.append(grow(A, k, best_pairs(A, count), choice, count))
    return [*starts, supports_along_directions(A, k, choice, rng, multiply, leading)]


def improved(A: Array, choice: Choice, known: list[Array]) -> list[SwappedSupport]:
    """Return what exchanges and single swaps in A make of known supports, best first."""
    unit = _unit_of(A)
    if unit != 1.0:
        return [end._replace(variance=unit * end.variance) for end in improved(A / unit, choice, known)]
    starts = with_leading_loadings(A, known)
    return _swapped(A, starts, [starts], choice, budgets.IMPROVED_FINALISTS)


def _swapped(
    A: Array,
    candidates: Candidates,
    known: list[Candidates],
    choice: Choice,
    finalists: int,
    before: Sequence[SwappedSupport] = (),
) -> list[SwappedSupport]:
    """Return the best ends of exchanges from candidates, and known supports, after swaps of single features.

    Ends that were found `before` are not found again.
    """
    ends = best_distinct(joined([exchanged(A, candidates, choice), *known]), finalists)
    diagonal, visited = A.diagonal(), {end.support.tobytes() for end in before}
    found = [swap_path(A.__getitem__, diagonal, support, choice, visited) for support in ends.supports]
    return ranked([with_lowest_copies(A, end, choice) for end in found if end is not None])


def perturbed(
    A: Array, ends: list[SwappedSupport], choice: Choice, rng: np.random.Generator, finalists: int
) -> list[SwappedSupport]:
    """Return the ends, and those that exchanges and swaps lead to after random features were removed; best first.

    Where many supports have nearly the same variance, searches from anywhere end at different ones; close to good ones
    there are better ones (iterated local search). A single end leaves nothing to doubt.
    """
    unit, k = _unit_of(A), len(ends[0].support)
    count = int(budgets.PERTURB_SHARE * k)
    if len(ends) == 1 or not count:
        return ends
    if unit != 1.0:
        scaled = [end._replace(variance=end.variance / unit) for end in ends]
        found = perturbed(A / unit, scaled, choice, rng, finalists)
        return [end._replace(variance=unit * end.variance) for end in found]
    best = ends[: budgets.PERTURBED_SUPPORTS]
    whole = np.repeat([end.support for end in best], budgets.PERTURB_COPIES, axis=0)
    left = np.sort(rng.permuted(np.tile(np.arange(k), (len(whole), 1)), axis=1)[:, count:], axis=1)
    loadings = np.repeat([end.loadings for end in best], budgets.PERTURB_COPIES, axis=0)
    parts = refitted(A, np.take_along_axis(whole, left, axis=1), np.take_along_axis(loadings, left, axis=1))
    gradients = gradients_of(A, parts.supports, parts.loadings)
    gradients[np.arange(len(whole))[:, None], whole] = 0.0  # what was removed does not return at once
    candidates = refitted(A, *largest_worth(A, parts, gradients, np.inf, k, choice))
    found = _swapped(A, best_distinct(candidates, len(whole)), [], choice, finalists, ends)
    return ranked([*ends, *found])


def _unit_of(A: Array) -> float:
    """Return the power of two by which variances are divided so that their fourth powers are far inside float range."""
    largest, (low, high) = float(A.diagonal().max()), budgets.SEARCH_SAFE_VARIANCES
    return 1.0 if low < largest < high else float(np.ldexp(1.0, int(np.frexp(largest)[1])))


def with_lowest_copies(A: Array, end: SwappedSupport, choice: Choice) -> SwappedSupport:
    """Return the support with each feature replaced by the lowest one that is a copy of it, up to its sign.

    A single feature is replaced by the lowest one of the same variance. Otherwise rounding would decide between them.
    """
    diagonal, support, loadings = A.diagonal(), end.support.copy(), end.loadings.copy()
    sizes = diagonal[support, None]
    equal = np.abs(diagonal - sizes) <= TIED * sizes
    equal[:, support] = False
    if len(support) > 1 and equal.any():
        equal &= np.abs(A[support]) >= (1.0 - TIED) * sizes
    if not equal.any():
        return end
    if choice.groups is not None:
        equal &= choice.groups.labels == choice.groups.labels[support, None]
    allowed = np.zeros(len(A), dtype=bool)
    allowed[choice.features] = True
    for place, feature in enumerate(end.support):
        copies = np.flatnonzero(equal[place, :feature] & allowed[:feature])
        for lower in copies[~np.isin(copies, support)][:1]:
            replaced = support.copy()
            replaced[place] = lower
            if np.linalg.eigvalsh(symmetric(A[np.ix_(replaced, replaced)]))[-1] >= (1.0 - TIED) * end.variance:
                support, loadings[place] = replaced, np.copysign(1.0, A[feature, lower]) * loadings[place]
    order = np.argsort(support)
    return end._replace(support=support[order], loadings=loadings[order])


def ranked(ends: list[SwappedSupport]) -> list[SwappedSupport]:
    """Return distinct supports, the largest variance first; variances equal up to rounding go by their features."""
    distinct = {end.support.tobytes(): end for end in ends}
    ends = sorted(distinct.values(), key=lambda end: -end.variance)
    tied = [end for end in ends if end.variance >= (1.0 - TIED) * ends[0].variance]
    return [*sorted(tied, key=lambda end: end.support.tolist()), *ends[len(tied) :]]


def growth_starts(p: int) -> int:
    """Return how many features of a Gram matrix of p features supports grow from."""
    return int(np.clip(p // budgets.GROWTH_FEATURES_A_START, budgets.GROWTH_MIN_STARTS, budgets.GROWTH_STARTS))


def starting_features(A: Array, k: int, count: int) -> Array:
    """Return so many features from which supports grow: half by the energy of their rows, half to cover all of A.

    The energy is that of the k largest entries of a row, which a support with this feature could use; it is computed
    where the fourth powers of the row are large. Features of one strongly correlated region would take all places, so
    half of them go to features that are neither strongly correlated with one chosen before nor among its k closest.
    """
    p = len(A)
    if p <= count:
        return np.arange(p)
    order, lengths = decreasing_order(fourth_powers_of_rows(A)), np.sqrt(A.diagonal())
    first = np.sort(order[: 2 * count])
    order[: 2 * count] = first[decreasing_order(energies_of_largest(A, first, k))]
    covering, covered = [], np.zeros(p, dtype=bool)
    for feature in order:
        if not covered[feature]:
            covering.append(feature)
            size = np.abs(A[feature])
            covered |= size >= budgets.GROWTH_SAME_REGION * lengths[feature] * lengths
            covered[top_k(size, k)] = True
            if len(covering) == count // 2:
                break
    energetic = order[~np.isin(order, covering)][: count - len(covering)]
    return np.concatenate([energetic, np.array(covering)])


def fourth_powers_of_rows(A: Array) -> Array:
    """Return the sum of the fourth powers of each row, a fast and rough measure of its largest entries."""
    sums, step = np.empty(len(A)), max(1, budgets.SEARCH_BLOCK_ENTRIES // len(A))
    for first in range(0, len(A), step):
        squares = A[first : first + step] ** 2
        sums[first : first + step] = np.vecdot(squares, squares)
    return sums


def energies_of_largest(A: Array, rows: Array, k: int) -> Array:
    """Return the sum of the k largest squared entries of some rows."""
    sums = np.empty(len(rows))
    for part in chunks(len(rows), 8 * len(A), 8 * budgets.SEARCH_BLOCK_ENTRIES):
        sums[part] = sums_of_largest_in_rows(A[rows[part]] ** 2, k)
    return sums


def grow(A: Array, k: int, grown: Candidates, choice: Choice, count: int) -> Candidates:
    """Return supports of k features that grow from smaller ones, each time by the features of largest worth.

    Small supports grow by one feature, larger ones double: exchanges later replace those that came too early. Equal
    supports are merged, and only the best of those from `count` starts continue.
    """
    for size in growth_sizes(k, grown.supports.shape[1]):
        gradients = A[grown.supports[:, 0]] if size == 2 else gradients_of(A, grown.supports, grown.loadings)
        S, v = largest_worth(A, grown, gradients, np.inf, size, choice)
        beam = max(count // budgets.GROWTH_NARROWING, 2 * count // size)
        distinct = distinct_rows(S)
        grown = refitted(A, S[distinct], v[distinct])
        grown = grown.chosen(best_of_distinct(grown.supports, grown.variances, beam))
    return grown


def best_pairs(A: Array, count: int) -> Candidates:
    """Return the pairs of largest variance, at most `count`, one for each feature: the best partner that it has.

    Two features have the variance (a_ii + a_jj) / 2 + sqrt((a_ii - a_jj)^2 / 4 + a_ij^2).
    """
    p, half = len(A), A.diagonal() / 2.0
    partners, variances = np.empty(p, dtype=np.intp), np.empty(p)
    for part in chunks(p, 8 * p, 8 * budgets.SEARCH_BLOCK_ENTRIES):
        own, each = half[part, None], np.arange(part.stop - part.start)
        of_pairs = A[part] ** 2
        of_pairs += (own - half) ** 2
        np.sqrt(of_pairs, out=of_pairs)
        of_pairs += own + half
        of_pairs[each, part.start + each] = -np.inf
        partners[part] = of_pairs.argmax(axis=1)
        variances[part] = of_pairs[each, partners[part]]
    best = top_k(variances, min(count, p))
    return with_leading_loadings(A, list(np.sort(np.column_stack([best, partners[best]]), axis=1)))


def growth_sizes(k: int, first: int = 1) -> list[int]:
    """Return the sizes of growing supports after the first one, up to k."""
    sizes = [*range(2, min(k, budgets.GROWTH_SINGLE_SIZE) + 1)]
    while sizes and sizes[-1] < k:
        sizes.append(min(k, budgets.GROWTH_RATIO * sizes[-1]))
    return [size for size in sizes if size > first]


def single_features(A: Array, features: Array) -> Candidates:
    """Return supports of one feature."""
    return Candidates(features[:, None], np.ones((len(features), 1)), A.diagonal()[features])


def exchanged(A: Array, candidates: Candidates, choice: Choice) -> Candidates:
    """Exchange features of each candidate for others of larger worth while that gains variance; return the ends.

    A candidate stops at a support that another one visited: both would continue identically. The better half continues
    after each step, and at least a few.
    """
    k, ends, moving = candidates.supports.shape[1], list[Candidates](), candidates
    visited = {support.tobytes() for support in candidates.supports}
    for _ in range(budgets.EXCHANGE_STEPS):
        gradients = gradients_of(A, moving.supports, moving.loadings)
        S, v = largest_worth(A, moving, gradients, 1.0, k, choice)
        proposed = refitted(A, S, v)
        better = proposed.variances > (1.0 + TIED) * moving.variances
        new = np.array([support.tobytes() not in visited for support in S])
        ends += [moving.chosen(~better), proposed.chosen(better & ~new)]
        count = max(len(S) // 2, budgets.EXCHANGE_LEAST)
        moving = best_distinct(proposed.chosen(better & new), count)
        visited.update(support.tobytes() for support in moving.supports)
        if not len(moving.supports):
            break
    return joined([*ends, moving])


def largest_worth(
    A: Array, candidates: Candidates, gradients: Array, favor: float, size: int, choice: Choice
) -> tuple[Array, Array]:
    """Return for each candidate its support of so many features that are worth the most, and loadings to refit.

    With l = v'Av and g = Av, to second order a feature j outside adds g_j^2 / (l - a_jj) to l, and one inside is worth
    v_i^2 (l - a_ii), here times `favor`: if that is infinite, all of them stay. For small supports features of large
    variance that are unrelated to v would be worth much, so the denominator is at least l / 2. Loadings follow to first
    order: v_i, and g_j / (l - a_jj).
    """
    S, loadings = np.empty((len(gradients), size), dtype=np.intp), np.empty((len(gradients), size))
    choose = _worth_all if choice.groups is not None else _worth_few
    for part in chunks(len(S), 8 * len(A), budgets.WORTH_BYTES):
        S[part], loadings[part] = choose(A, candidates.chosen(part), gradients[part], favor, size, choice)
    return S, loadings


def _worth_all(
    A: Array, candidates: Candidates, gradients: Array, favor: float, size: int, choice: Choice
) -> tuple[Array, Array]:
    """Choose as `largest_worth` does, by the worth of every feature."""
    diagonal, old, variances = A.diagonal(), candidates.supports, candidates.variances[:, None]
    each = np.arange(len(old))[:, None]
    ahead = gradients / np.maximum(variances - diagonal, _least_denominators(variances))
    worth = ahead * gradients
    worth[each, old], ahead[each, old] = _worth_inside(A, candidates, favor), candidates.loadings
    S = choice.largest_in_rows(worth, size)
    return S, np.take_along_axis(ahead, S, axis=1)


def _worth_few(
    A: Array, candidates: Candidates, gradients: Array, favor: float, size: int, choice: Choice
) -> tuple[Array, Array]:
    """Choose as `_worth_all` does, by the worth of features that their squared gradients do not rule out.

    All denominators of a candidate are between those of the largest and of the least variance, so its squared gradients
    bound what features are worth from both sides.
    """
    diagonal, old, variances = A.diagonal(), candidates.supports, candidates.variances[:, None]
    each, inside = np.arange(len(old))[:, None], _worth_inside(A, candidates, favor)
    least = _least_denominators(variances)
    squares = gradients * gradients
    squares[each, old] = 0.0
    at_least = row_maxima(squares, size) / np.maximum(variances - diagonal.min(), least)
    low = kth_largest_in_rows(np.concatenate([inside, at_least], axis=1), size)
    squares[each, old] = np.inf  # those inside are compared in any case
    low = low * np.maximum(variances - diagonal.max(), least)
    rows, columns = at_least_in_rows(squares, (1.0 - 4.0 * TIED) * low)
    is_inside, slopes = np.isinf(squares[rows, columns]), gradients[rows, columns]
    ahead = slopes / np.maximum(variances[rows, 0] - diagonal[columns], least[rows, 0])
    worth = ahead * slopes
    worth[is_inside], ahead[is_inside] = inside.ravel(), candidates.loadings.ravel()  # both by rows, then by features
    place = places_in_rows(rows, len(old))
    chosen = largest_of_rows(spread_in_rows(worth, place, -np.inf), size)[place.rows, place.order]
    return columns[chosen].reshape(len(old), size), ahead[chosen].reshape(len(old), size)


def _least_denominators(variances: Array) -> Array:
    return np.maximum(budgets.GROWTH_MIN_DENOMINATOR * variances, budgets.EXCHANGE_MIN_WORTH)


def _worth_inside(A: Array, candidates: Candidates, favor: float) -> Array:
    """Return what the features of each candidate are worth to it."""
    left = candidates.variances[:, None] - A.diagonal()[candidates.supports]
    return np.asarray(favor * np.maximum(candidates.loadings**2 * left, budgets.EXCHANGE_MIN_WORTH))


def supports_along_directions(
    A: Array, k: int, choice: Choice, rng: np.random.Generator, multiply: Multiply, leading: Array | None = None
) -> Candidates:
    """Return the k largest entries of leading eigenvectors, of their sums and differences, and of random combinations.

    The spannogram of Papailiopoulos et al. (2013) would try every combination, which takes too long for more than two.
    """
    values, vectors = leading_vectors(multiply, A.diagonal(), budgets.SEARCH_DIRECTIONS, rng, leading)
    d = len(values)
    first, second = np.triu_indices(d, 1)
    unit = np.eye(d)
    random = rng.standard_normal((budgets.SEARCH_COMBINATIONS, d))
    weights = np.vstack([unit, unit[first] + unit[second], unit[first] - unit[second], random])
    along = (weights * np.sqrt(values)) @ vectors.T
    S = choice.largest_in_rows(along, k)
    distinct = distinct_rows(S)
    S, along = S[distinct], along[distinct]
    return refitted(A, S, np.take_along_axis(along, S, axis=1))


def leading_vectors(
    multiply: Multiply, diagonal: Array, count: int, rng: np.random.Generator, known: Array | None = None
) -> tuple[Array, Array]:
    """Return approximate largest eigenvalues of A and their vectors, by block power steps, or from `known` ones."""
    p = len(diagonal)
    V = np.empty((p, min(count, p)))
    # random numbers are assigned by variance, not by index, so that the order of the features does not matter
    V[decreasing_order(coarse(diagonal))] = rng.standard_normal(V.shape)
    for _ in range(budgets.SEARCH_SUBSPACE_STEPS if known is None else 0):
        V = np.linalg.qr(multiply(V))[0]
    V = V if known is None else np.linalg.qr(known)[0]
    image = multiply(V)
    values, weights = np.linalg.eigh(V.T @ image)
    return np.maximum(values[::-1], 0.0), image @ weights[:, ::-1]


def power_steps(A: Array, candidates: Candidates, choice: Choice) -> Candidates:
    """Refit, take the k largest entries of Av, and repeat with all candidates until no variance grows.

    A candidate stops at a support that another one visited: both would continue identically.
    """
    k, ends = candidates.supports.shape[1], []
    visited = {support.tobytes() for support in candidates.supports}
    moving = candidates
    for _ in range(budgets.SEARCH_POWER_STEPS):
        gradients = gradients_of(A, moving.supports, moving.loadings)
        S = choice.largest_in_rows(gradients, k)
        proposed = refitted(A, S, np.take_along_axis(gradients, S, axis=1))
        better = proposed.variances > (1.0 + TIED) * moving.variances
        new = np.array([support.tobytes() not in visited for support in S])
        ends += [moving.chosen(~better), proposed.chosen(better & ~new)]
        moving = best_distinct(proposed.chosen(better & new), len(S))
        visited.update(support.tobytes() for support in moving.supports)
        if not len(moving.supports):
            break
    return joined([*ends, moving])


def refitted(A: Array, S: Array, v: Array) -> Candidates:
    """Return the supports with loadings after a few power steps within each support."""
    inside = inside_of(A, S)
    v = v[:, :, None]
    for _ in range(budgets.SEARCH_REFIT_STEPS):
        v = inside @ v
        length = np.sqrt(np.sum(v * v, axis=1, keepdims=True))
        v = np.divide(v, length, out=np.full_like(v, S.shape[1] ** -0.5), where=length > 0.0)
    return Candidates(S, v[:, :, 0], np.sum(v * (inside @ v), axis=(1, 2)))


def inside_of(A: Array, S: Array) -> Array:
    """Return A_SS for each support S."""
    if not A.flags.c_contiguous:
        return A[S[:, :, None], S[:, None, :]]
    return A.ravel().take(S[:, :, None] * len(A) + S[:, None, :])  # in half the time


def with_leading_loadings(A: Array, supports: list[Array]) -> Candidates:
    """Return supports of one size with their best loadings: power steps from given signs could miss other signs."""
    S = np.array(supports)
    values, vectors = np.linalg.eigh(inside_of(A, S))
    return Candidates(S, vectors[:, :, -1], values[:, -1])


def gradients_of(A: Array, S: Array, v: Array) -> Array:
    """Return Av for each candidate, as rows."""
    b, k = S.shape
    if len(A) <= budgets.SEARCH_DENSE_FEATURES:
        V = np.zeros((b, len(A)))
        V[np.arange(b)[:, None], S] = v
        return V @ A
    return np.asarray(scipy.sparse.csr_array((v.ravel(), S.ravel(), np.arange(0, b * k + 1, k)), (b, len(A))) @ A)


def joined(parts: list[Candidates]) -> Candidates:
    """Return the candidates of all parts."""
    return Candidates(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


def best_distinct(candidates: Candidates, count: int) -> Candidates:
    """Return the best of the candidates, each support once, by decreasing variance."""
    rows = best_of_distinct(candidates.supports, candidates.variances, count)
    return candidates.chosen(rows[np.argsort(-candidates.variances[rows], kind="stable")])


def best_of_distinct(S: Array, variances: Array, count: int) -> Array:
    """Return the rows that are the first with their support, and of these at most `count` of largest variance."""
    first = distinct_rows(S)
    return first if len(first) <= count else first[top_k(variances[first], count)]


@lru_cache(maxsize=4)
def _feature_keys(count: int) -> Array:
    return np.random.default_rng(budgets.SEARCH_SEED).integers(2**63, size=count)


def distinct_rows(S: Array) -> Array:
    """Return the first row of each of the supports, in any order of its features, in the order of rows.

    A support is recognized by the sum of random numbers of 63 bits, one for each feature.
    """
    keys = _feature_keys(1 << int(S.max(initial=0)).bit_length())[S].sum(axis=1)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return np.sort(order[first])
