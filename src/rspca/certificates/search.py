"""Exact search: branch and bound over supports, best bound first, with a valid bound at any time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import EPS, remainder, spectral_fill, spectrum
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.engines import Examiner


class SearchResult(NamedTuple):
    """The best support found, its variance, a bound on all others, and the number of nodes examined."""

    support: Array
    lower: float
    upper: float
    nodes: int


def search(
    A: Array,
    k: int,
    support: Array,
    parts: list[Array],
    *,
    tol: float,
    out_of_time: Callable[[], bool],
    examine: Examiner | None = None,
    limits: GroupLimits | None = None,
) -> SearchResult:
    """Return the best support of k features, starting from `support`, and a bound on all others.

    A node is a set F that is in the support and a set C from which the rest comes. Its children take or leave the
    feature that leads in the node's eigenvector. A node whose bound is below (1 + tol) times the best known variance
    is closed. `parts` are matrices S for `examine`; A itself is always one of them. The bound that is returned covers
    the nodes that are still open, so a search that is stopped has a valid one.

    With `limits`, supports that groups do not allow are no supports: F leaves only features to C whose group has room,
    features are exchanged only where groups always allow it, and entries of A between features that exclude each other
    are zero for `examine`, as `limits.apart` explains.
    """
    n, examine = len(A), examine or Examiner()
    examined = A if limits is None else limits.apart(A)
    lower = variance_of(A, support)
    stacked = promising_parts(examined, k, [*parts, examined], lower, limits)
    dominated = dominance(A) if limits is None else dominance(A) & limits.exchangeable()
    numbers, nodes = itertools.count(), 0
    heap: list[tuple[float, int, Array, Array]] = []

    def reached(tried: Array) -> None:
        """Keep a support that is better."""
        nonlocal lower, support
        tried = np.sort(tried)
        value = variance_of(A, tried)
        if value > lower:
            lower, support = value, tried

    def enter(fixed: Array, free: Array, bound: float) -> None:
        """Examine a node and put it on the heap, unless it is closed at once."""
        nonlocal nodes
        nodes += 1
        picks = k - len(fixed)
        if limits is not None:
            free = limits.beside(fixed, free)
        if _most(fixed, free, limits) < picks:  # supports here have a feature that can be exchanged for a better one
            return
        if picks in (0, len(free)):
            reached(np.concatenate([fixed, free[:picks]]))
            return
        least = (1.0 + tol) * lower
        node_bound, free, ranking = examine(
            examined, stacked, fixed, free, k, least, open_nodes=len(heap), limits=limits
        )
        bound = min(bound, node_bound)
        free = free[np.argsort(-ranking[len(fixed) :], kind="stable")]
        enough = _most(fixed, free, limits) >= picks
        if enough:
            tried = np.concatenate([fixed, free[:picks]]) if limits is None else limits.first_of(fixed, free, picks)
            reached(tried)
        if bound < least or not enough:
            return
        heapq.heappush(heap, (-bound, next(numbers), fixed, free))

    enter(np.empty(0, dtype=np.intp), np.arange(n), np.inf)
    while heap and not out_of_time():
        if -heap[0][0] < (1.0 + tol) * lower:
            break
        negative, _, fixed, free = heapq.heappop(heap)
        first = free[0]
        enter(np.append(fixed, first), free[1:], -negative)
        enter(fixed, free[1:][~dominated[first, free[1:]]], -negative)
    # closed nodes, and features left out of nodes, reach less than (1 + tol) times the best variance
    upper = max([(1.0 + tol) * lower, *(-node[0] for node in heap)])
    return SearchResult(support, lower, upper + rounding_slack(A, stacked, dominated, k), nodes)


def rounding_slack(A: Array, parts: Array, dominated: Array, k: int) -> float:
    """Return the rounding margin of node bounds: errors of eigendecompositions (see `bounds.spectrum`) and exchanges.

    A chain of exchanges meets each of k features at most as often as there are multiples of it.
    """
    largest = max(float(np.linalg.norm(part)) for part in (A, *parts))
    exchanges = k * int(dominated.sum(axis=0).max(initial=0))
    return 8.0 * len(A) * EPS * largest + exchanges * budgets.EXCHANGE_LOSS * float(np.diagonal(A).max())


def _most(fixed: Array, free: Array, limits: GroupLimits | None) -> int:
    """Return how many of the free features may join the fixed ones, at most."""
    return len(free) if limits is None else limits.most_beside(fixed, free)


def promising_parts(A: Array, k: int, parts: list[Array], lower: float, limits: GroupLimits | None = None) -> Array:
    """Return the parts whose bound at the root is nearly the best; each costs an eigendecomposition at every node."""
    bounds = np.array([spectral_fill(spectrum(S), k, limits) + remainder(A - S, k, limits) for S in parts])
    order = np.argsort(bounds, kind="stable")
    promising = [i for i in order if bounds[i] - lower <= budgets.PART_MAX_GAP * (bounds[order[0]] - lower)]
    return np.stack([parts[i] for i in promising])


def variance_of(A: Array, support: Array) -> float:
    """Return l_1(A_SS)."""
    return float(np.linalg.eigvalsh(A[np.ix_(support, support)])[-1])


def dominance(A: Array) -> Array:
    """Return D with D[j, i]: feature i is a multiple of j with |i| <= |j|, so no support needs i without j.

    With c = a_ij / a_jj, |c| <= 1, replace the loading x_i by a loading c x_i of j: the vector gets no longer, and its
    variance differs by at most 2 |c A_j - A_i| + |c^2 a_jj - a_ii|, which must be negligible. An angle that is merely
    small would not do: the loss is of the order of its sine. Of equals, the first dominates.
    """
    d = np.diagonal(A)
    along = (1.0 - budgets.COLLINEAR) * np.outer(d, d) <= A**2
    earlier = np.arange(len(A))[:, None] < np.arange(len(A))
    longer = (d[:, None] > d) | ((d[:, None] == d) & earlier)
    dominated = np.asarray(along & longer & (d[:, None] > 0.0))
    for j in np.flatnonzero(dominated.any(axis=1)):
        others = np.flatnonzero(dominated[j])
        c = A[j, others] / d[j]
        loss = 2.0 * np.linalg.norm(c[:, None] * A[j] - A[others], axis=1) + np.abs(c**2 * d[j] - d[others])
        dominated[j, others] = (np.abs(c) <= 1.0) & (loss <= budgets.EXCHANGE_LOSS * d.max())
    return dominated
