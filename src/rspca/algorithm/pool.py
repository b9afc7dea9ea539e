"""The pool: the features whose Gram matrix is searched, all of them if there are few, else the most promising."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_swaps import swap_features
from rspca.algorithm.promising import chosen_by_directions, pool_size
from rspca.algorithm.route import Route
from rspca.algorithm.shared_work import SharedWork
from rspca.algorithm.swap_bound import may_enter
from rspca.base.types import Array
from rspca.linalg.vectors import coarse, spread_columns
from rspca.operators.base import OperatorMixin


class Pool(NamedTuple):
    """Some features, sorted, their Gram matrix in float64, and whether they are all that may be chosen."""

    features: Array
    gram: Array
    complete: bool
    multiply: Callable[[Array], Array]
    """V -> A V, with the Gram matrix A or with the columns, whichever is smaller."""
    leading: Array | None = None
    """Rough leading eigenvectors of A, where they are known."""
    gradient: Array | None = None
    """X'Xv of all features for the first of the vectors around which the pool was made."""


def make_pool(route: Route, k: int, choice: Choice, known: list[Array], work: SharedWork) -> Pool:
    """Return the pool for supports of k features; it contains the `known` supports.

    If it cannot have all features, it has those that all pools share, and those that the leading directions choose.
    """
    op = route.source
    size = pool_size(op.shape[0], len(choice.features))
    if size == len(choice.features):
        pool = _pool_of(op, work.gram(op, choice.features, choice.features), choice.features, complete=True)
        leading = route.near_leading(budgets.SEARCH_DIRECTIONS)
        return pool._replace(leading=None if leading is None else leading[choice.features])
    lasting = work.lasting
    rows = route.leading_rows(budgets.POOL_LEADING)[choice.features]
    along = chosen_by_directions(rows, k, choice, size // budgets.POOL_DIRECTION_SHARE)
    del rows
    route.forget()  # before the Gram matrix is made
    enough = choice.largest(coarse(op.sq_norms), k)  # for k features whatever the groups
    features = np.unique(np.concatenate([enough, *known, along, choice.allowed(lasting)]))
    return _pool_of(op, work.gram(op, features, lasting), features, complete=False)


def pool_around(op: OperatorMixin, choice: Choice, vectors: list[tuple[Array, Array]], work: SharedWork) -> Pool:
    """Return the pool of these supports and of the features with the largest gradients at their loadings; one pass.

    Next to the supports it has no more features than a first pool, so that its Gram matrix takes no more memory.
    """
    free = Choice(choice.features)
    gradients = op.gram(spread_columns([(loadings, support) for support, loadings in vectors], op.shape[1]))
    count = max(budgets.NEXT_POOL_FEATURES, budgets.NEXT_POOL_PER_K * len(vectors[0][0]))
    count = min(count, pool_size(*op.shape) // len(vectors))
    near = [
        worth_entering(op, gradient, support, loadings, free, count, budgets.NEXT_POOL_WORTH)
        for gradient, (support, loadings) in zip(gradients.T, vectors, strict=True)
    ]
    features = np.unique(np.concatenate([*(support for support, _ in vectors), *near]))
    pool = _pool_of(op, work.gram(op, features, work.lasting), features, complete=False)
    return pool._replace(gradient=gradients[:, 0].copy())


def worth_entering(
    op: OperatorMixin,
    gradient: Array,
    support: Array,
    loadings: Array,
    choice: Choice,
    count: int,
    share: float,
) -> Array:
    """Return the features of largest gradient, at most `count`, that are worth a share of the least of the support.

    Their worth is that of `gram_search.largest_worth`.
    """
    near = choice.largest(gradient, count)
    variance, variances = float(loadings @ gradient[support]), op.sq_norms
    least = float(np.min(loadings**2 * (variance - variances[support])))
    slack = np.maximum(variance - variances[near], budgets.GROWTH_MIN_DENOMINATOR * variance)
    return np.asarray(near[gradient[near] ** 2 > share * least * slack])


def no_swap_outside_gains(pool: Pool, op: OperatorMixin, support: Array, choice: Choice) -> bool:
    """Return whether it is certain that no feature outside the pool gains variance by a swap.

    The support is the first of those around which the pool was made, whose gradient is known. A bound rules out most
    features without a product; the columns of those that are left are compared with the support, unless they are many.
    """
    if pool.gradient is None:
        return False
    places = np.searchsorted(pool.features, support)
    outside = np.setdiff1d(choice.features, pool.features, assume_unique=True)
    inside = pool.gram[np.ix_(places, places)]
    entering = outside[may_enter(inside, pool.gradient[outside], op.sq_norms[outside])]
    if not len(entering):
        return True
    features = np.union1d(support, entering)
    most = min(budgets.SWAP_LEFT_SHARE * op.shape[1], budgets.SWAP_MAX_ENTRIES / len(support))
    if len(features) > most or op.restricted_bytes(len(features)) > budgets.SWAP_LEFT_BYTES:
        return False
    part, places = op.restrict(features), np.searchsorted(features, support)
    end = swap_features(part.gram_rows, op.sq_norms[features], places, choice.among(features))
    return end.swap_optimal and end.n_swaps == 0


def _pool_of(op: OperatorMixin, gram: Array, features: Array, *, complete: bool) -> Pool:
    np.fill_diagonal(gram, op.sq_norms[features])  # computed with more care than differences of products
    if 2 * op.shape[0] >= len(features):
        return Pool(features, gram, complete, lambda V: (V.T @ gram).T)  # a third less time than gram @ V
    part = op if len(features) == op.shape[1] else op.restrict(features)
    return Pool(features, gram, complete, part.gram)


def exact_gram(op: OperatorMixin, features: Array) -> Array:
    """Return the Gram matrix of some features, computed in float64 whatever the type of the data.

    It compares supports of single-precision data, whose own products would decide by rounding.
    """
    if op.dtype == np.float64:
        return op.gram_block(features)
    return op.restrict(features).to_float64().gram_block(np.arange(len(features)))


def exact_variance(op: OperatorMixin, support: Array) -> float:
    """Return the largest variance of a vector with this support."""
    return float(np.linalg.eigvalsh(exact_gram(op, support))[-1])
