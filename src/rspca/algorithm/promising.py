"""Which features are worth a search among few of very many: those that leading directions choose, and alike ones."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.sketch import Sketch, Whole
from rspca.base.types import Array
from rspca.linalg.vectors import coarse, decreasing
from rspca.operators.base import OperatorMixin, chunks


def promising_features(data: Sketch | Whole, k: int, choice: Choice, known: list[Array], size: int) -> Array:
    """Return the known features, and those that the leading directions of what earlier components left choose."""
    rows = data.leading_rows(budgets.POOL_LEADING)[choice.features]
    along = chosen_by_directions(rows, k, choice.features, size // budgets.POOL_DIRECTION_SHARE)
    enough = choice.largest(coarse(data.source.sq_norms), k)  # for k features whatever the groups
    return np.unique(np.concatenate([enough, *known, along]))


def lasting_features(op: OperatorMixin, k: int, size: int) -> Array:
    """Return features for the pools of all components: of large variance, of long rows of X'X, and much alike.

    What features have to do with each other changes little by taking a component off, so they are chosen once.
    A few features that nearly repeat each other, as linked SNPs do, may have more variance than any spread over all.
    Their rows of X'X are long, but no longer than those of features that follow the leading directions; without these
    directions they are.
    """
    if "lasting" in op.shared_work:
        return op.shared_work["lasting"]
    size -= size // budgets.POOL_DIRECTION_SHARE
    variances, half = coarse(op.sq_norms), budgets.POOL_NEIGHBORHOODS // 2
    free = Choice(np.flatnonzero(op.sq_norms))
    energies, beyond_leading = row_energies_from(op.gram(random_signs(op)))
    leaders = np.union1d(free.largest(variances, half), free.largest(beyond_leading, half))
    few = leaders[: max(1, budgets.POOL_PROBE_ENTRIES // op.shape[1])]
    pool = [free.largest(row, min(k, size // (budgets.POOL_DIRECTION_SHARE * len(few)))) for row in op.gram_rows(few)]
    pool = [np.unique(np.concatenate(pool))]
    worth = (variances, energies, beyond_leading, linkage(op))
    pool += [free.largest(values, max(1, (size - len(pool[0])) // len(worth))) for values in worth]
    op.shared_work["lasting"] = np.unique(np.concatenate(pool))
    return op.shared_work["lasting"]


def random_signs(op: OperatorMixin) -> Array:
    """Return random signs as columns; fewer where features are very many."""
    n = op.shape[1]
    count = int(np.clip(budgets.POOL_PROBE_ENTRIES // n, budgets.POOL_MIN_PROBES, budgets.POOL_PROBES))
    signs, rng = np.empty((n, count)), np.random.default_rng(budgets.POOL_PROBE_SEED)
    # signs go to features by variance, as the first numbers of a sketch do: the order of the features does not matter
    signs[decreasing(coarse(op.sq_norms))] = rng.choice([-1.0, 1.0], signs.shape)
    return signs


def row_energies_from(images: Array) -> tuple[Array, Array]:
    """Return the squared length of each row of X'X, and of what leading directions leave of it, both estimated.

    The products of X'X with random signs have these lengths on average (Hutchinson); their leading singular vectors are
    those of X'X, about, as in randomized singular value decompositions.
    """
    energies = np.einsum("ij,ij->i", images, images)
    _, weights = np.linalg.eigh(images.T @ images)
    rest = images @ weights[:, : max(1, weights.shape[1] - budgets.POOL_LEADING)]
    return energies, np.einsum("ij,ij->i", rest, rest)


def linkage(op: OperatorMixin) -> Array:
    """Return the sum of the fourth powers of each row of X'X, estimated: large where a few features are much alike.

    Columns are projected on a few random directions, in which those that are alike stay so. Where features are too many
    to compare all of them, each is compared with some, and with those next to it, which is where linked SNPs are.
    """
    m, n = op.shape
    count = budgets.POOL_PROJECTIONS
    if n * count > budgets.POOL_PROBE_ENTRIES:
        return np.zeros(n)
    rng = np.random.default_rng(budgets.POOL_PROJECTION_SEED)
    directions = rng.standard_normal((m, count)) if m > count else np.eye(m)
    rows = np.asarray(op.rmatmat(directions), dtype=np.float64)
    lengths = np.sqrt(op.sq_norms / max(float(op.sq_norms.max()), 1e-300))  # of columns, exactly: projections vary
    rows *= (lengths / np.maximum(np.linalg.norm(rows, axis=1), 1e-300))[:, None]
    rows = rows.astype(np.float32)
    some = np.linspace(0, n - 1, min(n, budgets.POOL_LINKAGE_PAIRS // n)).astype(np.intp)
    sums = np.zeros(n)
    for part in chunks(n, 4 * len(some), budgets.POOL_LINKAGE_BYTES):
        products = rows[part] @ rows[some].T
        np.square(products, out=products)
        sums[part] = np.einsum("ij,ij->i", products, products)
    sums[some] -= lengths[some] ** 8  # each with itself
    for distance in range(1, budgets.POOL_LINKAGE_NEAREST if len(some) < n else 1):
        fourth = np.einsum("ij,ij->i", rows[distance:], rows[:-distance]) ** 4
        sums[distance:] += fourth
        sums[:-distance] += fourth
    return sums


def chosen_by_directions(rows: Array, k: int, features: Array, count: int) -> Array:
    """Return about `count` features: the k largest of many directions of the leading part, the best of these first.

    The directions are those of features themselves: the longest rows, and others at even distances by their lengths.
    Each support points to its own direction, which chooses again, as in truncated power steps.
    """
    tried = int(
        np.clip(budgets.POOL_DIRECTION_ENTRIES // len(rows), budgets.POOL_MIN_DIRECTIONS, budgets.POOL_DIRECTIONS)
    )
    order = decreasing(coarse(np.einsum("ij,ij->i", rows, rows)))
    if len(order) > budgets.POOL_DIRECTION_FEATURES:  # short rows are never among the largest
        longest = np.sort(order[: budgets.POOL_DIRECTION_FEATURES])
        return chosen_by_directions(rows[longest], k, features[longest], count)
    starts = np.unique(np.concatenate([order[: tried // 2], order[:: max(1, len(order) // (tried // 2))]]))
    directions, supports = rows[starts], np.empty((0, k), dtype=np.intp)
    for _ in range(budgets.POOL_DIRECTION_STEPS):
        blocks = np.array_split(directions, -(-len(directions) // budgets.POOL_DIRECTION_BLOCK))
        parts = [largest_along(rows, block, k) for block in blocks]
        supports, values = (np.concatenate(both) for both in zip(*parts, strict=True))
        best = decreasing(values)[: budgets.POOL_DIRECTION_SUPPORTS]
        supports, chosen = supports[best], rows[supports[best]]
        along = np.einsum("bij,bj->bi", chosen, directions[best])
        directions = np.einsum("bij,bi->bj", chosen, along)
    places = np.unique(supports.ravel(), return_index=True)[1]
    return features[supports.ravel()[np.sort(places)][:count]]


def largest_along(rows: Array, directions: Array, k: int) -> tuple[Array, Array]:
    """Return for each direction the k features that have most along it, and how much that is together."""
    lengths = np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300)
    along = (directions / lengths) @ rows.T
    np.square(along, out=along)
    supports = np.argpartition(along, along.shape[1] - k, axis=1)[:, along.shape[1] - k :]
    return supports, np.take_along_axis(along, supports, axis=1).sum(axis=1)
