"""Which features are worth a search among few of very many: those that leading directions choose, and alike ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.alike import take_leading_off
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.neighborhoods import Neighborhoods, alike_pairs, neighborhoods, no_neighborhoods
from rspca.algorithm.sketch import Rows, first_scores, longest_columns
from rspca.base.types import Array
from rspca.linalg.vectors import coarse, decreasing_order, top_k
from rspca.operators.base import OperatorMixin, chunks


def pool_size(m: int, n: int) -> int:
    """Return the number of features in a pool, of n features with m samples."""
    if n <= budgets.POOL_COMPLETE_FEATURES and m * n**2 <= budgets.POOL_COMPLETE_PRODUCTS:
        return n
    return int(min(n, np.clip(np.sqrt(budgets.POOL_PRODUCTS / m), budgets.POOL_MIN_FEATURES, budgets.POOL_FEATURES)))


class Alike(NamedTuple):
    """Neighborhoods of features in X, and in X without its leading directions."""

    whole: Neighborhoods
    beyond_leading: Neighborhoods


class Lasting(NamedTuple):
    """What the pools of all components share."""

    features: Array
    """Features that are part of every pool, sorted."""
    alike: Alike
    """Neighborhoods of features, as far as projections show them."""


def lasting_features(
    op: OperatorMixin, projections: Projections | None, energies: RowEnergies, leading: Rows, sets: int
) -> Lasting:
    """Return features for the pools of all components: of large variance, of long rows of X'X, and much alike.

    What features have to do with each other changes little by taking a component off, so they are chosen once. A few
    features that nearly repeat each other, as linked SNPs do, may have more variance than any spread over all; their
    projections, which are overwritten, are alike. None are given where they would tell nothing.
    """
    size = pool_size(*op.shape)
    size -= size // budgets.POOL_DIRECTION_SHARE
    linked, alike = linkage(op, projections, leading, sets)
    free, worth = Choice(np.flatnonzero(op.sq_norms)), (coarse(op.sq_norms), *energies, linked)
    pool = [free.largest(values, max(1, size // len(worth))) for values in worth]
    pool[-1] = pool[-1][linked[pool[-1]] > 0.0]
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


class Projections(NamedTuple):
    """Columns of X projected on a few random directions, which preserves how much alike they are."""

    directions: Array
    """Directions as columns, divided by the length of the longest column of X."""
    rows: Array
    """Projections of each column of X, as rows, in float32; products with X'X where that is in memory."""


def _n_projections(n: int) -> int:
    """Return on how many directions columns are projected; fewer if there are very many features."""
    return int(np.clip(budgets.POOL_PROBE_ENTRIES // n, budgets.POOL_MIN_PROBES, budgets.POOL_PROJECTIONS))


def projections_tell_what_is_alike(op: OperatorMixin) -> bool:
    """Return whether random projections are enough to tell alike features, and X'X itself is not there to tell them."""
    m, n = op.shape
    return not op.gram_in_memory and _n_projections(n) >= min(budgets.POOL_PROJECTIONS, m)


def random_projections(op: OperatorMixin) -> Projections:
    """Return the projections of columns on random directions."""
    (m, n), count = op.shape, _n_projections(op.shape[1])
    rng = np.random.default_rng(budgets.POOL_PROJECTION_SEED)
    longest = np.sqrt(max(float(op.sq_norms.max()), 1e-300))  # so that projections are in the range of float32
    if op.gram_in_memory:
        return Projections(np.empty((m, 0)), np.asarray(op.gram(rng.standard_normal((n, count)) / longest) / longest))
    directions = rng.standard_normal((m, count)) if m > count else np.eye(m)
    directions /= longest
    # sparse products cost as much one by one
    at_once = count if op.first_block > 1 else max(8, budgets.POOL_PROJECTION_ENTRIES // n)
    rows = np.array(op.rmatmat(directions[:, :at_once]), dtype=np.float32, order="C")
    if at_once < directions.shape[1]:
        others = np.empty((n, directions.shape[1] - at_once), dtype=np.float32)
        rows = np.concatenate([rows, others], axis=1)
    for first in range(at_once, rows.shape[1], at_once):
        part = slice(first, first + at_once)
        rows[:, part] = op.rmatmat(directions[:, part])
    return Projections(directions, rows)


def main_directions(rows: Array, count: int) -> Array:
    """Return about orthogonal unit vectors as columns, at most `count`, of what rows of random products vary in most.

    They approximate the leading singular vectors of X, as in randomized singular value decompositions.
    """
    along = rows @ np.linalg.eigh(rows.T @ rows)[1][:, -count:].astype(rows.dtype)
    lengths = np.sqrt(np.einsum("ij,ij->j", along, along, dtype=np.float64))
    along /= np.where(lengths > 0.0, lengths, 1.0).astype(along.dtype)
    return np.asarray(along)


class RowEnergies(NamedTuple):
    """Squared lengths of the rows of X'X, about, in any unit, and of these rows without the leading directions."""

    whole: Array
    beyond_leading: Array


def energies_of_leading_rows(rows: Array) -> RowEnergies:
    """Return the energies of X'X as far as leading rows R of X show them: of the columns of R'R."""
    values, weights = np.linalg.eigh(rows @ rows.T)
    whole, beyond_leading = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    n_rest = max(1, len(values) - budgets.POOL_LEADING)
    for part in chunks(rows.shape[1], 8 * len(rows), budgets.POOL_COPIED_BYTES):
        along = np.square(weights.T @ rows[:, part])
        whole[part], beyond_leading[part] = values @ along, values[:n_rest] @ along[:n_rest]
    return RowEnergies(whole, beyond_leading)


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


def energies_of_images(images: Array) -> RowEnergies:
    """Return the energies from products of X'X with random signs, which have these lengths on average (Hutchinson)."""
    whole = np.einsum("ij,ij->i", images, images)
    along = images @ np.linalg.eigh(images.T @ images)[1]
    rest = along[:, : max(1, along.shape[1] - budgets.POOL_LEADING)]
    return RowEnergies(whole, np.einsum("ij,ij->i", rest, rest))


def linkage(op: OperatorMixin, projections: Projections | None, leading: Rows, sets: int) -> tuple[Array, Alike]:
    """Return how much each feature is linked to others, and neighborhoods of features that are alike, about.

    The first are sums of fourth powers in rows of X'X, large if a few features are nearly equal.
    """
    if projections is None:
        linked = _fourth_powers(op) if op.gram_in_memory else np.zeros(op.shape[1])
        return linked, Alike(no_neighborhoods(), no_neighborhoods())
    rows = projections.rows
    longest = np.sqrt(max(float(op.sq_norms.max()), 1e-300))
    lengths = np.sqrt(op.sq_norms) / longest  # of columns, exactly: projections vary
    sizes = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    scale = np.divide(lengths, sizes, out=np.zeros(len(rows)), where=sizes > 1e-30).astype(np.float32)[:, None]
    rows *= scale
    linked, whole = linked_and_near(rows, sets)
    np.divide(rows, scale, out=rows, where=scale > 0.0)
    take_leading_off(op, rows, projections.directions, leading, longest)
    return linked, Alike(whole, linked_and_near(rows, sets)[1])


def linked_and_near(rows: Array, sets: int) -> tuple[Array, Neighborhoods]:
    """Return how much each feature is linked to others, and neighborhoods of features that are alike."""
    linked = fourth_powers(rows)
    return linked, neighborhoods(rows, alike_pairs(rows), linked, sets)


def fourth_powers(rows: Array) -> Array:
    """Return for each row the sum of the fourth powers of its products with others.

    If there are too many features to compare all pairs, each is compared with its neighbors, where linked SNPs are.
    """
    n = len(rows)
    if n**2 > budgets.POOL_LINKAGE_PAIRS:
        return fourth_powers_of_neighbors(rows, budgets.POOL_LINKAGE_NEAREST)
    sums = np.empty(n)
    for part in chunks(n, 4 * n, budgets.POOL_LINKAGE_BYTES):
        products = rows[part] @ rows.T
        np.square(products, out=products)
        sums[part] = np.einsum("ij,ij->i", products, products)
    return sums - np.einsum("ij,ij->i", rows, rows, dtype=np.float64) ** 4  # each with itself


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


def chosen_by_directions(rows: Array, k: int, choice: Choice, count: int) -> Array:
    """Return at most `count` features: the k largest along many directions of the leading part, best directions first.

    The directions are rows of features that may be chosen: the longest ones, and others at equal steps in the order of
    their lengths; with groups also the longest that may be chosen together, which one group cannot fill. The direction
    of each support then chooses again, as in truncated power steps.
    """
    features = choice.features
    tried = int(
        np.clip(budgets.POOL_DIRECTION_ENTRIES // len(rows), budgets.POOL_MIN_DIRECTIONS, budgets.POOL_DIRECTIONS)
    )
    lengths = coarse(np.einsum("ij,ij->i", rows, rows))
    if len(lengths) > budgets.POOL_DIRECTION_FEATURES:  # short rows are never among the largest
        longest = _longest_of_all_groups(lengths, choice, budgets.POOL_DIRECTION_FEATURES)
        some = Choice(features[longest], choice.groups)
        return chosen_by_directions(rows[longest], k, some, count)
    order, among = decreasing_order(lengths), choice.among(features)
    starts = [order[: tried // 2], order[:: max(1, len(order) // (tried // 2))]]
    starts += [] if choice.groups is None else [among.largest(lengths, tried // 2)]
    directions, supports = rows[np.unique(np.concatenate(starts))], np.empty((0, k), dtype=np.intp)
    for _ in range(budgets.POOL_DIRECTION_STEPS):
        blocks = np.array_split(directions, -(-len(directions) // budgets.POOL_DIRECTION_BLOCK))
        parts = [largest_along(rows, block, k, among) for block in blocks]
        supports, values = (np.concatenate(both) for both in zip(*parts, strict=True))
        best = decreasing_order(values)[: budgets.POOL_DIRECTION_SUPPORTS]
        supports, chosen = supports[best], rows[supports[best]]
        along = np.einsum("bij,bj->bi", chosen, directions[best])
        directions = np.einsum("bij,bi->bj", chosen, along)
    first = np.unique(supports.ravel(), return_index=True)[1]
    return features[supports.ravel()[np.sort(first)][:count]]


def _longest_of_all_groups(lengths: Array, choice: Choice, count: int) -> Array:
    """Return the places of so many of the largest lengths; with groups half of them may be chosen together."""
    if choice.groups is None:
        return top_k(lengths, count)
    together = choice.among(choice.features).largest(lengths, count // 2)
    others = np.delete(np.arange(len(lengths)), together)
    return np.union1d(together, others[top_k(lengths[others], count - len(together))])


def largest_along(rows: Array, directions: Array, k: int, choice: Choice) -> tuple[Array, Array]:
    """Return for each direction its k features of largest projection, and the sum of these squared projections."""
    lengths = np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300)
    along = (directions / lengths) @ rows.T
    np.square(along, out=along)
    supports = choice.largest_in_rows(along, k)
    return supports, np.take_along_axis(along, supports, axis=1).sum(axis=1)
