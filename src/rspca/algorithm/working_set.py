"""The working set: of very many features those that matter most are searched; all others are compared with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.deflate import gradient_at
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.loop import Found
from rspca.algorithm.polish import Polished, exchange
from rspca.algorithm.shared_work import SharedWork, WorkingSet
from rspca.base.types import Array
from rspca.linalg.vectors import nonzeros, spread, top_k
from rspca.operators.base import OperatorMixin, chunks


class Steps(NamedTuple):
    """How the algorithm proceeds, on all features or on some."""

    work: SharedWork
    """Of all features."""
    search: Callable[[OperatorMixin, Choice, SharedWork], Found]
    """(op, the features that may be chosen, shared work) -> one component."""
    moved: Callable[[Found, Array, Array], Found]
    """(component, another support, its loadings) -> the component there."""
    normalized: Callable[[Array, Array], Array]
    """(support, loadings) -> loadings, normalized in all of X."""


def working_set_size(op: OperatorMixin, k: int) -> int | None:
    """Return the number of features in a working set for k features; None if all features are searched.

    That is so if a working set would be a large part of them, or if its columns would take much memory, as dense ones
    of many samples do.
    """
    m, n = op.shape
    size = max(budgets.WORKING_SET_FEATURES, budgets.WORKING_SET_PER_K * k)
    if size * budgets.WORKING_SET_SHARE > n or op.undeflated.gram_in_memory:
        return None
    return size if op.restricted_bytes(size) <= 8 * budgets.WORKING_SET_VECTORS * (m + n) else None


def component_of_working_set(op: OperatorMixin, k: int, choice: Choice, steps: Steps) -> Found | None:
    """Return a component of k features found in a working set; None without one, or if groups do not allow k in it.

    To second order a feature j adds g_j^2 / (l - a_jj) to the variance l, where g = X'Xv is computed with all of X. The
    features outside that are worth more than the least of those found join the working set, and it is searched again.
    If there still are some after the last search, they are exchanged for those found as long as that gains variance.

    So to second order no exchange of single features, of all there are, gains variance, unless rounds run out. What is
    not guaranteed: that a search in all features would not have found a better support far from this one, and the point
    of stage 1 is stationary for the features of the working set only. Certificates never use the working set.
    """
    size = working_set_size(op, k)
    if size is None:
        return None
    current = steps.work.working_set(size)
    if choice.among(current.features).most < k:
        return None
    best = _search(op, choice, current, steps)
    for number in range(budgets.WORKING_SET_SEARCHES):
        joining = _worth_more(op, best, choice, current.features, size // budgets.WORKING_SET_JOINING)
        if not len(joining):
            return best.found
        if number + 1 < budgets.WORKING_SET_SEARCHES:
            current = steps.work.restricted_to(np.sort(np.append(current.features, joining)))
            best = max(best, _search(op, choice, current, steps), key=lambda place: place.variance)
    found = best.found
    start = Polished(found.support, found.loadings, best.variance, found.n_iter, None)
    end = exchange(op, start, best.gradient, choice=choice, rounds=budgets.EXCHANGE_ROUNDS)
    return found if end is start else steps.moved(found, end.support, end.loadings)


class _Place(NamedTuple):
    """A component, with the features of X as its support, X'Xv there, and its variance."""

    found: Found
    gradient: Array
    variance: float


def _search(op: OperatorMixin, choice: Choice, current: WorkingSet, steps: Steps) -> _Place:
    """Return what a search in a working set finds, and the gradient of all features at it."""
    features, work = current
    part = op.deflated_part(work.op, features)
    found = steps.search(part, choice.among(features), work)
    gradient = gradient_at(op, features[found.support], found.loadings)
    p = found.inclusion_probability
    if p is not None:
        used = nonzeros(p)
        p = spread(p[used], features[used], op.shape[1])
    found = found._replace(
        support=features[found.support],
        inclusion_probability=p,
        swap_optimal=None if found.swap_optimal else found.swap_optimal,  # no swap inside says nothing of all features
    )
    return _Place(found, gradient, float(found.loadings @ gradient[found.support]))


def _worth_more(op: OperatorMixin, place: _Place, choice: Choice, inside: Array, most: int) -> Array:
    """Return features outside the working set that are worth more than the least of the support, the best of them."""
    (found, gradient, variance), diagonal = place, op.sq_norms
    kept = found.loadings**2 * np.maximum(variance - diagonal[found.support], 0.0)
    least, joining, worth = float(kept.min()) * (1.0 + budgets.SWAP_MIN_GAIN), [], []
    outside = np.zeros(len(gradient), dtype=bool)
    outside[choice.features] = True
    outside[inside] = False
    for part in chunks(len(gradient), 64):  # a few vectors at once
        ratio = gradient[part] ** 2 / np.maximum(variance - diagonal[part], budgets.SWAP_MIN_GAIN * variance)
        above = ((ratio > least) & outside[part]).nonzero()[0]
        joining.append(above + part.start)
        worth.append(ratio[above])
    return np.concatenate(joining)[top_k(np.concatenate(worth), most)]
