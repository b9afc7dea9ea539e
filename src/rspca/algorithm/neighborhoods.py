"""Neighborhoods of features that are much alike, found by hashing the signs of random projections of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.linalg.vectors import coarse, decreasing_order, top_k, top_k_in_rows
from rspca.operators.base import chunks

SQUARED_COSINES = np.cos(np.pi / budgets.HASH_SIGNS * np.arange(budgets.HASH_SIGNS)) ** 2
"""Of two columns, about, by the number of their signs that differ."""


class Pairs(NamedTuple):
    """Pairs of features that are alike, each once, and the squared cosines of their columns, about."""

    first: Array
    second: Array
    squares: Array


class Neighborhoods(NamedTuple):
    """Features and those most like them, as rows that begin with the most alike."""

    features: Array
    worth: Array
    """a_ij^2 / a_jj of each feature i with the feature j in the middle, about."""

    def best(self, k: int, count: int) -> Array:
        """Return the features of the best neighborhoods for supports of k features, at most `count`, none twice.

        If S has the k features of largest worth, X_S has at least their sum as variance: |A_Sj|^2 <= |A_SS| a_jj.
        """
        chosen = list[int]()
        for place in np.argsort(-self.worth[:, :k].sum(axis=1), kind="stable"):
            if len(chosen) < count and not np.any(self.features[chosen, :k] == self.features[place, 0]):
                chosen.append(int(place))
        return self.features[chosen]


def no_neighborhoods() -> Neighborhoods:
    """Return none."""
    return Neighborhoods(np.empty((0, 0), dtype=np.intp), np.empty((0, 0)))


class Signs(NamedTuple):
    """Signs of the projections of features."""

    of_directions: Array
    """A row for each direction."""
    words: Array
    """The same as the bits of one number for each feature."""


def alike_pairs(rows: Array) -> Pairs:
    """Return pairs of rows that are much alike, up to their sign: most of them, and hardly any others.

    Two columns with the angle t have different signs on a random direction with probability t / pi (Charikar 2002). In
    each of many orders, features with the same signs on some directions are neighbors; the signs on all directions then
    show how much alike these are. The time grows with n log n, not with the number of pairs.
    """
    n, rng = len(rows), np.random.default_rng(budgets.HASH_SEED)
    most, codes = max(budgets.HASH_PAIRS, n // budgets.HASH_FEATURES_A_PAIR), [np.empty(0, dtype=np.int64)]
    variances, signs = coarse(np.einsum("ij,ij->i", rows, rows)), projected_signs(rows, rng)
    for order in alike_orders(signs, variances, rng):
        words = signs.words[order]
        for reach in range(1, budgets.HASH_REACH + 1):
            differing = np.bitwise_count(words[reach:] ^ words[:-reach])
            differing = np.minimum(differing, budgets.HASH_SIGNS - differing)
            near = (differing <= budgets.HASH_DIFFERING).nonzero()[0]
            first, second, differing = order[near], order[near + reach], differing[near]
            if len(near) > most:
                best = top_k(SQUARED_COSINES[differing] * variances[first] * variances[second], most)
                first, second, differing = first[best], second[best], differing[best]
            codes.append((np.minimum(first, second) * n + np.maximum(first, second)) * budgets.HASH_SIGNS + differing)
    found = np.sort(np.concatenate(codes))
    found = found[np.append(True, found[1:] != found[:-1])[: len(found)]]
    pairs, differing = found // budgets.HASH_SIGNS, found % budgets.HASH_SIGNS
    first, second = (pairs // n).astype(np.int32), (pairs % n).astype(np.int32)
    return Pairs(first, second, SQUARED_COSINES.astype(np.float32)[differing])


def projected_signs(rows: Array, rng: np.random.Generator) -> Signs:
    """Return the signs of rows of projections; of projections of these if they are not as many as there are signs."""
    if rows.shape[1] != budgets.HASH_SIGNS:
        rows = rows @ rng.standard_normal((rows.shape[1], budgets.HASH_SIGNS)).astype(rows.dtype)
    positive = rows > 0.0
    return Signs(np.ascontiguousarray(positive.T), np.packbits(positive, axis=1).view(np.uint64)[:, 0])


def alike_orders(signs: Signs, variances: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Yield orders of the features that vary, each by the signs on some directions; opposite columns are equal.

    Equal ones come in some random order, so that others are neighbors each time.
    """
    n = len(variances)
    used = int(np.clip(np.ceil(np.log2(max(n, 2))), 1, budgets.HASH_MAX_BITS))
    by_size = decreasing_order(variances)  # so that the order of the features does not matter
    by_size = by_size[: np.count_nonzero(variances)]
    shuffled = [rng.permutation(by_size) for _ in range(budgets.HASH_SHUFFLES)]
    for table in range(budgets.HASH_TABLES):
        keys, directions = np.zeros(n, dtype=np.uint16), rng.permutation(budgets.HASH_SIGNS)[:used]
        for direction in directions:
            keys <<= 1
            keys |= signs.of_directions[direction] ^ signs.of_directions[directions[0]]
        some_order = shuffled[table % len(shuffled)]
        yield some_order[np.argsort(keys[some_order], kind="stable")]


def neighborhoods(rows: Array, pairs: Pairs, linked: Array, count: int) -> Neighborhoods:
    """Return neighborhoods of large variance for supports of few and of more features, at least `count` if there are.

    Pairs tell the features in the middle, and how much features are `linked` to their neighbors in X; the products of
    their rows with all others tell what is near them. Each size, and what is linked, adds half of the count.
    """
    variances, width = np.einsum("ij,ij->i", rows, rows, dtype=np.float64), min(len(rows), budgets.HASH_NEAR)
    half = count // 2 + 1
    middles = np.union1d(middle_features(pairs, variances, half), linked_features(rows, linked, half))
    features, worth = np.empty((len(middles), width), dtype=np.intp), np.empty((len(middles), width))
    for part in chunks(len(middles), 8 * len(rows), budgets.ALIKE_BYTES):
        products = rows[middles[part]] @ rows.T
        own = np.take_along_axis(products, middles[part, None], axis=1)
        np.square(products, out=products)
        near = top_k_in_rows(products, width)
        of_near = np.take_along_axis(products, near, axis=1) / own
        order = np.argsort(-of_near, axis=1, kind="stable")
        features[part] = np.take_along_axis(near, order, axis=1)
        worth[part] = np.take_along_axis(of_near, order, axis=1)
    return Neighborhoods(features, worth)


def linked_features(rows: Array, linked: Array, count: int) -> Array:
    """Return the features that are most linked to others, at most `count`, none of them much like another."""
    best = top_k(coarse(linked), budgets.HASH_TRIED * count)
    best = best[decreasing_order(coarse(linked[best]))]
    best = best[linked[best] > 0.0]
    products, chosen, covered = np.abs(rows[best] @ rows[best].T), list[int](), np.zeros(len(best), dtype=bool)
    for place in range(len(best)):
        if len(chosen) < count and not covered[place]:
            chosen.append(place)
            covered |= products[place] > budgets.ALIKE_SHARE * products[place, place]
    return best[chosen]


def middle_features(pairs: Pairs, variances: Array, count: int) -> Array:
    """Return features with many others alike, sorted: the best for each of some sizes, none of them much alike."""
    source, other = np.concatenate([pairs.first, pairs.second]), np.concatenate([pairs.second, pairs.first])
    worth = np.tile(pairs.squares, 2) * variances[other].astype(np.float32)
    levels = 2**16 - 1  # so that one sort of integers orders by feature, then by worth
    keys = np.rint(worth * np.float32(-levels / max(float(worth.max(initial=0.0)), 1e-30))).astype(np.int64)
    keys += levels
    keys += source.astype(np.int64) * (levels + 1)
    order = np.argsort(keys)
    del keys
    source, other, worth = source[order], other[order], worth[order]
    del order
    starts = np.flatnonzero(np.append(True, source[1:] != source[:-1])[: len(source)])
    features, counts = source[starts], np.diff(np.append(starts, len(source)))
    rank = np.arange(len(source)) - np.repeat(starts, counts)
    chosen = set[int]()
    for size in budgets.HASH_SIZES:
        promised = variances[features] + np.add.reduceat(np.where(rank < size - 1, worth, 0.0), starts)
        best = top_k(coarse(promised), budgets.HASH_TRIED * count)
        best = best[decreasing_order(coarse(promised[best]))]
        covered, taken = np.zeros(len(variances), dtype=bool), 0
        for place in best:
            if covered[features[place]]:
                continue
            chosen.add(int(features[place]))
            covered[other[starts[place] : starts[place] + counts[place]]] = True
            taken += 1
            if taken == count:
                break
    return np.array(sorted(chosen), dtype=np.intp)
