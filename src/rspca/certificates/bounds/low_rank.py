"""The best k features of a matrix of rank d: cones of directions, bounded by their corners, the worst split first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import EPS, Spectrum, frobenius, row_energies, top_sum, trace
from rspca.certificates.bounds.limits import GroupLimits
from rspca.linalg.vectors import top_k


class ConeBounds(NamedTuple):
    """An upper bound on Z(GG'), the largest value found, its support, and the number of directions tried."""

    upper: float
    lower: float
    support: Array
    directions: int


def shifted_low_rank(
    pairs: Spectrum,
    k: int,
    rank: int,
    *,
    tol: float,
    out_of_time: Callable[[], bool],
    known: float = np.inf,
    limits: GroupLimits | None = None,
) -> ConeBounds:
    """Bound by t + Z(GG') with t the eigenvalue after the first `rank`, and G = V diag(sqrt(l - t)).

    A <= t I + GG', eigenvalue by eigenvalue, and Z only grows with A. It stops when it cannot be below `known`.
    """
    values = pairs.values[: rank + 1]
    shift = float(values[rank]) if len(values) > rank else pairs.rest
    shift = max(shift, pairs.rest)
    G = pairs.vectors[:, :rank] * np.sqrt(np.maximum(pairs.values[:rank] - shift, 0.0))
    cones = best_of_cones(G, k, slack=shift, tol=tol, out_of_time=out_of_time, known=known, limits=limits)
    return cones._replace(upper=shift + cones.upper)


def split_low_rank(
    A: Array, pairs: Spectrum, k: int, out_of_time: Callable[[], bool], limits: GroupLimits | None = None
) -> float:
    """Bound by Z(sum of (l_j - t l_3) v_j v_j', j <= 2) + t l_3 + (1 - t) Z(R), R = A - A_2, for the best of some t.

    x'Rx <= t l_3 (1 - |V'x|^2) + (1 - t) x'Rx, the first because l_3 is the largest eigenvalue of R, which vanishes on
    the columns of V. Z(R) is bounded by its trace and its Frobenius norm: for small k much less than l_3.
    """
    rank = 2
    if len(pairs.values) <= rank:
        return float(pairs.values[0])
    V, following = pairs.vectors[:, :rank], float(pairs.values[rank])
    R = A - (V * pairs.values[:rank]) @ V.T
    R = (R + R.T) / 2.0
    diagonal = np.maximum(np.diagonal(R), 0.0)
    outside = min(trace(diagonal, k, limits), frobenius(diagonal, row_energies(R, k, limits), k, limits))
    # the eigenvalues are upper bounds, raised by rounding, so R is semidefinite up to twice that
    outside += 16.0 * len(A) * EPS * float(pairs.values[0])
    bounds = []
    for t in (0.0, 0.5):
        G = V * np.sqrt(np.maximum(pairs.values[:rank] - t * following, 0.0))
        slack = t * following + (1.0 - t) * outside
        cones = best_of_cones(G, k, slack=slack, tol=budgets.RANK_TOL, out_of_time=out_of_time, limits=limits)
        bounds.append(slack + cones.upper)
    return min(bounds)


def best_of_cones(
    G: Array,
    k: int,
    *,
    slack: float,
    tol: float,
    out_of_time: Callable[[], bool],
    known: float = np.inf,
    limits: GroupLimits | None = None,
) -> ConeBounds:
    """Return bounds on Z(GG') = max over unit u of h(u)^2, h(u) = sqrt(T_k((Gu)^2)).

    h is a norm, the largest of the seminorms |G_S u| over the supports S in question. In the cone of corners u_1 ...
    u_d with values h_j, u = sum of c_j u_j has h(u) <= h'c, and with M the products of the corners, |u| = 1 means c'Mc
    = 1: h(u)^2 <= h'M^{-1}h. The orthants cover all directions up to sign; the cone with the largest bound is split at
    its longest edge. It stops when the bound, with `slack` on both sides, is within tol of the best value found, or
    this value is above `known`.
    """
    d = G.shape[1]
    best, support, tried = 0.0, np.arange(k), 0

    def height(u: Array) -> float:
        nonlocal best, support, tried
        tried += 1
        squares = (G @ u) ** 2
        value = float(top_sum(squares, k, limits=limits))
        if value > best:
            best, support = value, top_k(squares, k) if limits is None else limits.top(squares, k)
        return float(np.sqrt(value))

    def bounded(corners: Array, heights: Array, parent: float) -> float:
        """Return the bound of a cone, at most that of its parent, and that of its parent if the cone is too narrow.

        The computed products are M + E, |E| <= 8 d^2 eps with the decomposition, so M^{-1} <= (M + E - |E| I)^{-1}.
        """
        values, vectors = np.linalg.eigh(corners @ corners.T)
        if values[0] < budgets.CONE_MIN_EIGENVALUE:
            return parent
        return min(parent, (1.0 + 1e-9) * float(np.sum((heights @ vectors) ** 2 / (values - 8.0 * d * d * EPS))))

    numbers = itertools.count()
    heap: list[tuple[float, int, Array, Array]] = []
    axes = np.array([height(u) for u in np.eye(d)])
    for signs in itertools.product((1.0, -1.0), repeat=d - 1):
        corners = np.diag(np.array([1.0, *signs]))
        heapq.heappush(heap, (-bounded(corners, axes, np.inf), next(numbers), corners, axes))
    while not out_of_time():
        if slack - heap[0][0] <= (1.0 + tol) * (slack + best) or slack + best >= known:
            break
        products = heap[0][2] @ heap[0][2].T
        np.fill_diagonal(products, 1.0)
        if products.min() > 1.0 - budgets.CONE_MIN_EIGENVALUE:
            break
        parent, _, corners, heights = heapq.heappop(heap)
        i, j = np.unravel_index(int(np.argmin(products)), products.shape)
        middle = corners[i] + corners[j]
        middle /= np.linalg.norm(middle)
        at_middle = height(middle)
        for replaced in (i, j):
            child, child_heights = corners.copy(), heights.copy()
            child[replaced], child_heights[replaced] = middle, at_middle
            heapq.heappush(heap, (-bounded(child, child_heights, -parent), next(numbers), child, child_heights))
    return ConeBounds(-heap[0][0] * (1.0 + 1e-12), best, support, tried)
