"""Branch and bound over features with the optimized dual in the scores: best bound first, valid at any time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.checked_dual import checked_dual, excluded
from rspca.certificates.bounds.gram import EPS
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.bounds.score_columns import ScoreColumns
from rspca.certificates.bounds.score_relaxation import Coordinates, Newton, Relaxation, maximized
from rspca.linalg.vectors import top_k


class Node(NamedTuple):
    """Columns that are in the support, columns from which the others come, and what the next dual starts from."""

    fixed: Array
    free: Array
    factor: Array
    rho: float
    branch: int
    """The column on which the node is split."""


class ScoreSearch:
    """The search; columns are in memory, the longest first; other features are in no support that reaches `lower`.

    At a node, columns much shorter than sqrt(rho) take no part in the dual, whose rho is then at least their length.
    """

    def __init__(
        self,
        columns: ScoreColumns,
        k: int,
        support: Array,
        *,
        tol: float,
        newton: Newton,
        limits: GroupLimits | None = None,
    ) -> None:
        self.limits = limits
        self.columns, self.k, self.tol, self.newton = columns, k, tol, newton
        self.every = columns.block(slice(0, columns.count))
        self.at = columns.coordinates()
        lengths = np.einsum("ij,ij->j", self.every, self.every) * (1.0 + (columns.length + 64) * EPS)
        self.sq_lengths = np.maximum.accumulate(lengths[::-1])[::-1]  # in order, should rounding have changed it
        self.out_of_time: Callable[[], bool] = lambda: False
        self.support, self.lower = support, self.variance(support)
        self.heap: list[tuple[float, int, Node]] = []
        self.numbers, self.nodes, self.root = itertools.count(), 0, np.inf

    def begin(self, factor: Array, rho: float, upper: float) -> None:
        """Set the dual of the root, which has this bound."""
        self.root, self._first = upper, (factor, rho)

    def run(self, out_of_time: Callable[[], bool]) -> None:
        """Split nodes until all are closed or time is up; another call goes on from there."""
        self.out_of_time = out_of_time
        if self.root > 0.0:
            every, opened = np.arange(self.columns.count), list[tuple[float, int, Node]]()
            self.enter(np.empty(0, dtype=np.intp), every, *self._first, self.root, opened)
            self.heap, self.root = opened, 0.0
        while self.heap and not out_of_time() and -self.heap[0][0] >= self.least:
            entry = self.heap[0]
            node, bound = entry[2], -entry[0]
            others = node.free[node.free != node.branch]
            children: list[tuple[float, int, Node]] = []
            self.enter(np.append(node.fixed, node.branch), others, node.factor, node.rho, bound, children)
            self.enter(node.fixed, others, node.factor, node.rho, bound, children)
            for child in children:
                heapq.heappush(self.heap, child)
            self.heap.remove(entry)  # not before its children are there: an interrupt must lose nothing
            heapq.heapify(self.heap)

    def upper(self) -> float:
        """Return a bound on all supports, at any time; those that are in no open node are below `least`."""
        open_bounds = [-entry[0] for entry in self.heap]
        return max([self.least + self.columns.margin(self.k, self.least), self.root, *open_bounds])

    def start(self) -> Array:
        """Return a start for the dual of the root."""
        return Relaxation(self.at, self.k, 1.0).start()

    @property
    def least(self) -> float:
        """Variance from which a support is of interest."""
        return (1.0 + self.tol) * self.lower

    def variance(self, support: Array) -> float:
        """Return l_1 of the products of these columns."""
        part = self.every[:, support]
        return float(np.linalg.eigvalsh(part.T @ part)[-1])

    def reached(self, support: Array) -> None:
        """Keep a support if it is better, and groups allow it."""
        if self.limits is not None and not self.limits.allow(support):
            return
        value = self.variance(support)
        if value > self.lower:
            self.support, self.lower = np.sort(support), value

    def enter(
        self,
        fixed: Array,
        free: Array,
        factor: Array,
        rho: float,
        bound: float,
        opened: list[tuple[float, int, Node]],
    ) -> None:
        """Bound a node, leave out and take in what its dual decides, and add it to `opened` unless it is closed."""
        self.nodes += 1
        for level in budgets.NODE_LEVELS:
            picks = self.k - len(fixed)
            if self.limits is not None:
                if not self.limits.allow(fixed) or self.limits.most_beside(fixed, free) < picks:
                    return
                free = self.limits.beside(fixed, free)
            if len(free) < picks:
                return
            if picks in (0, len(free)):
                self.reached(np.concatenate([fixed, free[:picks]]))
                return
            long = free[: max(int(np.searchsorted(-self.sq_lengths[free], -budgets.NODE_SHORT * rho)), picks)]
            inner = self.rows(fixed) if len(fixed) else None
            room = None if self.limits is None else self.limits.left(fixed, long)
            relaxation = Relaxation(self.rows(long), picks, rho, self.newton, inner, room)
            eps = level * self.lower / self.columns.length
            factor = maximized(relaxation, factor, eps, steps=budgets.NODE_STEPS, tol=1e-4, stop=self.out_of_time)
            dual, _ = relaxation.point(factor)
            if dual is None:
                opened.append((-bound, next(self.numbers), Node(fixed, free, factor, rho, int(free[0]))))
                return
            rho = dual.rho
            self.reached(self.most_taken(fixed, long, dual.taken, picks))
            order, short = np.concatenate([fixed, long]), free[len(long) :]
            part = self.columns.only(order, float(self.sq_lengths[short].max(initial=0.0)))
            inside = np.arange(len(fixed))
            padded = dual._replace(mu=np.concatenate([np.zeros(len(fixed)), dual.mu]))
            if dual.each is not None:
                padded = padded._replace(each=np.concatenate([np.full(len(fixed), dual.rho), dual.each]))
            limits = None if self.limits is None else self.limits.among(order)
            checked = checked_dual(part, padded, self.k, inside, limits)
            bound = min(bound, checked.upper)
            if bound < self.least:
                return
            left = excluded(part, padded, checked, self.k, self.least, inside)
            shares = np.concatenate([np.ones(len(fixed)), dual.taken])
            is_possible, is_needed = (np.isin(np.arange(len(order)), which) for which in left)
            # l_1(G + a a') <= l_1(G) + |a|^2
            short = short[checked.upper - checked.rho + self.sq_lengths[short] >= self.least]
            is_free = is_possible & ~is_needed
            fixed, free = order[is_needed], np.concatenate([order[is_free], short])
            shares = np.concatenate([shares[is_free], np.zeros(len(short))])
            if len(fixed) > self.k:
                return
        if len(free) <= self.k - len(fixed) or len(fixed) == self.k:
            self.enter(fixed, free, factor, rho, bound, opened)
            return
        node = Node(fixed, free, factor, rho, int(free[np.argmax(shares)]))
        opened.append((-bound, next(self.numbers), node))

    def most_taken(self, fixed: Array, free: Array, taken: Array, picks: int) -> Array:
        """Return the support that a dual points at."""
        if self.limits is None:
            return np.concatenate([fixed, free[top_k(taken, picks)]])
        return self.limits.first_of(fixed, free[np.argsort(-taken, kind="stable")], picks)

    def rows(self, numbers: Array) -> Coordinates:
        """Return the coordinates of some columns."""
        return Coordinates(self.at.head[numbers], self.at.tail[numbers], self.at.others)
