"""Which features are worth a search among few of very many: those that leading directions choose, and alike ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.alike import nearest_features, take_leading_off
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.sketch import Rows, first_scores, longest_columns
from rspca.base.types import Array
from rspca.linalg.vectors import coarse, decreasing_order, top_k, top_k_in_rows
from rspca.operators.base import OperatorMixin, chunks


def pool_size(m: int, n: int) -> int:
    """Return the number of features in a pool, of n features with m samples."""
    if n <= budgets.POOL_COMPLETE_FEATURES and m * n**2 <= budgets.POOL_COMPLETE_PRODUCTS:
        return n
    return int(min(n, np.clip(np.sqrt(budgets.POOL_PRODUCTS / m), budgets.POOL_MIN_FEATURES, budgets.POOL_FEATURES)))


class Lasting(NamedTuple):
    """What the pools of all components share."""

    features: Array
    """Features that are part of every pool, sorted."""
    alike: Array
    """Sets of features, as rows, that are alike besides the leading directions, as far as projections show."""


def lasting_features(
    op: OperatorMixin, energies: Array, beyond_leading: Array, leading: Rows | None, sets: int
) -> Lasting:
    """Return features for the pools of all components: of large variance, of long rows of X'X, and much alike.

    What features have to do with each other changes little by taking a component off, so they are chosen once.
    A few features that nearly repeat each other, as linked SNPs do, may have more variance than any spread over all.
    Their rows of X'X are long, but no longer than those of features that follow the leading directions; without these
    directions they are.
    """
    size = pool_size(*op.shape)
    size -= size // budgets.POOL_DIRECTION_SHARE
    variances, half = coarse(op.sq_norms), budgets.POOL_NEIGHBORHOODS // 2
    free = Choice(np.flatnonzero(op.sq_norms))
    leaders = np.union1d(free.largest(variances, half), free.largest(beyond_leading, half))
    few = leaders[: max(1, budgets.POOL_PROBE_ENTRIES // op.shape[1])]
    rows, linked, alike = rows_and_linkage(op, few, leading, sets)
    pool = [free.largest(row, size // (budgets.POOL_DIRECTION_SHARE * len(few))) for row in rows]
    pool = [np.unique(np.concatenate(pool))]
    worth = (variances, energies, beyond_leading, linked)
    pool += [free.largest(values, max(1, (size - len(pool[0])) // len(worth))) for values in worth]
    return Lasting(np.unique(np.concatenate(pool)), alike)


def leading_features(op: OperatorMixin, size: int, n_components: int) -> Array:
    """Return the features of largest variance and those with most variance in the leading directions, half of each.

    Both orders ignore rounding, and ties go to the lowest index. If features are scaled, all have the same variance,
    and the directions decide. They are learned from the longest columns and from columns at equal steps.
    """
    longest = longest_columns(op)
    sampled = np.zeros(op.shape[1], dtype=bool)
    sampled[longest] = sampled[:: max(1, op.shape[1] // len(longest))] = True
    sampled &= op.sq_norms > 0.0
    along = np.zeros(op.shape[1])
    for score in first_scores(op, np.flatnonzero(sampled), budgets.POOL_LEADING + n_components).T:
        along += np.square(op.rmatmat(score))
    half = top_k(coarse(op.sq_norms), size // 2)
    along = coarse(along)
    along[half] = -1.0
    return np.sort(np.concatenate([half, top_k(along, size - len(half))]))


def random_signs(op: OperatorMixin) -> Array:
    """Return vectors of random signs as columns; fewer vectors if there are very many features."""
    n = op.shape[1]
    count = int(np.clip(budgets.POOL_PROBE_ENTRIES // n, budgets.POOL_MIN_PROBES, budgets.POOL_PROBES))
    signs, rng = np.empty((n, count), dtype=op.dtype), np.random.default_rng(budgets.POOL_PROBE_SEED)
    # signs are assigned by variance, not by index, so that the order of the features does not matter
    order = decreasing_order(coarse(op.sq_norms))
    for part in chunks(n, 8 * count, budgets.POOL_COPIED_BYTES):
        signs[order[part]] = 2.0 * rng.integers(2, size=(part.stop - part.start, count)) - 1.0
    return signs


class RowEnergies(NamedTuple):
    """Squared lengths of the rows of X'X, and of these rows without the leading directions."""

    whole: Array
    beyond_leading: Array
    along: Array
    """Directions as columns, the leading one last, as long as the images are along them."""


def row_energies_from(images: Array) -> RowEnergies:
    """Return estimated squared lengths of the rows of X'X, and of these rows without the leading directions.

    The products of X'X with random signs have these lengths on average (Hutchinson). Their leading singular vectors
    approximate those of X'X, as in randomized singular value decompositions.
    """
    energies = np.einsum("ij,ij->i", images, images)
    along = images @ np.linalg.eigh(images.T @ images)[1]
    rest = along[:, : max(1, along.shape[1] - budgets.POOL_LEADING)]
    return RowEnergies(energies, np.einsum("ij,ij->i", rest, rest), along)


def rows_and_linkage(op: OperatorMixin, features: Array, leading: Rows | None, sets: int) -> tuple[Array, Array, Array]:
    """Return the rows of X'X of some features, the linkage of all, and sets of features that are alike.

    Rows and projections are one product where that takes little memory. Columns are projected on a few random
    directions, which preserves their similarity.
    """
    m, n = op.shape
    if op.gram_in_memory:
        return op.gram_rows(features), _fourth_powers(op), np.empty((0, 0), dtype=np.intp)
    count = budgets.POOL_PROJECTIONS
    if n * count > budgets.POOL_PROBE_ENTRIES:
        return op.gram_rows(features), np.zeros(n), np.empty((0, 0), dtype=np.intp)
    rng = np.random.default_rng(budgets.POOL_PROJECTION_SEED)
    directions = rng.standard_normal((m, count)) if m > count else np.eye(m)
    longest = np.sqrt(max(float(op.sq_norms.max()), 1e-300))
    directions /= longest  # so that projections are in the range of float32
    if op.first_block > 1 and len(features) + count <= budgets.POOL_JOINED_SHARE * m:
        images = op.rmatmat(np.hstack([op.columns(features), directions], dtype=op.dtype, casting="same_kind"))
        rows = np.array(images[:, : len(features)].T, dtype=np.float64)
        projected = np.array(images[:, len(features) :], dtype=np.float32, order="C")
        del images  # larger than all the rest
        return rows, *linkage(op, projected, directions, longest, leading, sets)
    # sparse products cost as much one by one
    at_once = count if op.first_block > 1 else max(8, budgets.POOL_PROJECTION_ENTRIES // n)
    projected = np.array(op.rmatmat(directions[:, :at_once]), dtype=np.float32, order="C")
    if at_once < directions.shape[1]:
        others = np.empty((n, directions.shape[1] - at_once), dtype=np.float32)
        projected = np.concatenate([projected, others], axis=1)
    for first in range(at_once, projected.shape[1], at_once):
        part = slice(first, first + at_once)
        projected[:, part] = op.rmatmat(directions[:, part])
    linked, alike = linkage(op, projected, directions, longest, leading, sets)
    del projected, directions  # before the rows are computed
    return op.gram_rows(features), linked, alike


def linkage(
    op: OperatorMixin, rows: Array, directions: Array, longest: float, leading: Rows | None, sets: int
) -> tuple[Array, Array]:
    """Return estimated sums of the fourth powers of the rows of X'X, large if a few features are nearly equal.

    `rows` has the projection of each column on the directions, divided by the length of the `longest`; it is
    overwritten. The second result are sets of features that are alike, so many, without the leading directions.
    """
    lengths = np.sqrt(op.sq_norms) / longest  # of columns, exactly: projections vary
    sizes = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    scale = np.divide(lengths, sizes, out=np.zeros(len(rows)), where=sizes > 1e-30).astype(np.float32)[:, None]
    rows *= scale
    linked = fourth_powers(op, rows)
    if leading is None or not sets:
        return linked, np.empty((0, 0), dtype=np.intp)
    np.divide(rows, scale, out=rows, where=scale > 0.0)
    take_leading_off(op, rows, directions, leading, longest)
    return linked, nearest_features(rows, fourth_powers(op, rows), sets)


def fourth_powers(op: OperatorMixin, rows: Array) -> Array:
    """Return for each row the sum of the fourth powers of its products with other rows.

    If there are too many features to compare all pairs, each is compared with some others and with its neighbors, where
    linked SNPs are.
    """
    n = len(rows)
    pairs = min(budgets.POOL_LINKAGE_PAIRS, budgets.POOL_LINKAGE_PER_ENTRY * op.entries)
    compared = np.linspace(0, n - 1, min(n, max(1, pairs // n))).astype(np.intp)
    sums = np.zeros(n)
    for part in chunks(n, 4 * len(compared), budgets.POOL_LINKAGE_BYTES):
        products = rows[part] @ rows[compared].T
        np.square(products, out=products)
        sums[part] = np.einsum("ij,ij->i", products, products)
    own = np.einsum("ij,ij->i", rows[compared], rows[compared], dtype=np.float64)
    sums[compared] -= own**4  # each with itself
    if len(compared) < n:
        sums += fourth_powers_of_neighbors(rows, budgets.POOL_LINKAGE_NEAREST)
    return sums


def fourth_powers_of_neighbors(rows: Array, reach: int) -> Array:
    """Return for each row the sum of the fourth powers of its products with those nearer than `reach`, without itself.

    Blocks of `reach` rows are multiplied by themselves and the next block.
    """
    n, width = rows.shape
    count = -(-n // reach)
    sums = np.zeros((count + 1, reach))
    distance = np.arange(2 * reach) - np.arange(reach)[:, None]
    near = ((distance > 0) & (distance < reach)).astype(rows.dtype)
    for part in chunks(count, 4 * 2 * reach * (width + reach), budgets.POOL_LINKAGE_BYTES):
        some = rows[part.start * reach : (part.stop + 1) * reach]
        blocks = np.zeros((part.stop + 1 - part.start, reach, width), dtype=rows.dtype)  # the last one ends in zeros
        blocks.reshape(-1, width)[: len(some)] = some
        powers = blocks[:-1] @ np.concatenate([blocks[:-1], blocks[1:]], axis=1).transpose(0, 2, 1)
        for _ in range(2):
            np.square(powers, out=powers)
        powers *= near
        onto = powers.sum(axis=1, dtype=np.float64)
        sums[part] += powers.sum(axis=2, dtype=np.float64) + onto[:, :reach]
        sums[part.start + 1 : part.stop + 1] += onto[:, reach:]
    return sums.ravel()[:n]


def _fourth_powers(op: OperatorMixin) -> Array:
    """Return the sums of the fourth powers of the rows of X'X, in memory, without the diagonal; the largest is one."""
    sums, largest = np.empty(op.shape[1]), max(float(op.sq_norms.max()), 1e-300)
    for part in chunks(len(sums), 8 * len(sums)):
        squares = (op.gram_rows(np.arange(part.start, part.stop)) / largest) ** 2
        sums[part] = np.einsum("ij,ij->i", squares, squares)
    return sums - (op.sq_norms / largest) ** 4


def chosen_by_directions(rows: Array, k: int, features: Array, count: int) -> Array:
    """Return at most `count` features: the k largest along many directions of the leading part, best directions first.

    The directions are rows of features: the longest ones, and others at equal steps in the order of their lengths. The
    direction of each support then chooses again, as in truncated power steps.
    """
    tried = int(
        np.clip(budgets.POOL_DIRECTION_ENTRIES // len(rows), budgets.POOL_MIN_DIRECTIONS, budgets.POOL_DIRECTIONS)
    )
    lengths = coarse(np.einsum("ij,ij->i", rows, rows))
    if len(lengths) > budgets.POOL_DIRECTION_FEATURES:  # short rows are never among the largest
        longest = top_k(lengths, budgets.POOL_DIRECTION_FEATURES)
        return chosen_by_directions(rows[longest], k, features[longest], count)
    order = decreasing_order(lengths)
    starts = np.unique(np.concatenate([order[: tried // 2], order[:: max(1, len(order) // (tried // 2))]]))
    directions, supports = rows[starts], np.empty((0, k), dtype=np.intp)
    for _ in range(budgets.POOL_DIRECTION_STEPS):
        blocks = np.array_split(directions, -(-len(directions) // budgets.POOL_DIRECTION_BLOCK))
        parts = [largest_along(rows, block, k) for block in blocks]
        supports, values = (np.concatenate(both) for both in zip(*parts, strict=True))
        best = decreasing_order(values)[: budgets.POOL_DIRECTION_SUPPORTS]
        supports, chosen = supports[best], rows[supports[best]]
        along = np.einsum("bij,bj->bi", chosen, directions[best])
        directions = np.einsum("bij,bi->bj", chosen, along)
    first = np.unique(supports.ravel(), return_index=True)[1]
    return features[supports.ravel()[np.sort(first)][:count]]


def largest_along(rows: Array, directions: Array, k: int) -> tuple[Array, Array]:
    """Return for each direction its k features of largest projection, and the sum of these squared projections."""
    lengths = np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300)
    along = (directions / lengths) @ rows.T
    np.square(along, out=along)
    supports = top_k_in_rows(along, k)
    return supports, np.take_along_axis(along, supports, axis=1).sum(axis=1)
