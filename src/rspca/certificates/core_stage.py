"""A core of features as a stage of a proof: which features it has, how its bounds improve, and what it excludes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds.core import (
    Rest,
    frobenius_bounds,
    largest_in_columns,
    largest_squares,
    split_bounds,
)
from rspca.certificates.bounds.elimination import by_blocks
from rspca.certificates.bounds.gram import top_sum
from rspca.certificates.bounds.joint_rows import RowDual
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.bounds.row_dual import best_row_dual_of_one, from_multiplier, growth, row_dual_of_one
from rspca.certificates.bounds.semidefinite import dual_part, semidefinite
from rspca.certificates.progress import Progress
from rspca.operators.base import OperatorMixin, chunks

NAME = "core of features"
Clock = Callable[[], bool]


class Entries(NamedTuple):
    """A Gram matrix as a core sees it."""

    diagonal: Array
    """Upper bounds on the variances."""
    rows: Callable[[Array], Array]
    """Whole rows of some features."""
    block: Callable[[Array], Array]
    """The entries between some features."""
    largest: Array
    """The k - 1 largest squares of each row off the diagonal, the largest first."""
    slack: float
    """What errors of entries may change in the variance of k features."""
    limits: GroupLimits | None = None


def of_data(op: OperatorMixin, k: int, largest: Array, limits: GroupLimits | None) -> Entries:
    """Return the Gram matrix of data, whose products have rounding errors."""
    slack = 2.0 * precision.sum_error(op) * float(top_sum(op.rounding_lengths() ** 2, k))
    return Entries(precision.sq_norms(op), op.gram_rows, op.gram_block, largest, slack, limits)


def of_gram(A: Array, k: int, limits: GroupLimits | None) -> Entries:
    """Return a Gram matrix in memory."""
    largest = largest_squares(A - np.diag(np.diagonal(A)), k - 1)
    return Entries(
        np.diagonal(A).copy(), lambda features: A[features], lambda some: A[np.ix_(some, some)], largest, 0.0, limits
    )


class Core:
    """Some features with bounds for every number of them up to k, and the rest; see `bounds.core`."""

    def __init__(self, entries: Entries, k: int, features: Array) -> None:
        self.k, self.features, self.slack = k, features, entries.slack
        self.gram = entries.block(features)
        np.fill_diagonal(self.gram, entries.diagonal[features])
        self.limits = None if entries.limits is None else entries.limits.among(features)
        self.allowed = self.gram if self.limits is None else self.limits.apart(self.gram)
        own = largest_squares(self.allowed - np.diag(np.diagonal(self.allowed)), k - 1)
        self.bounds = frobenius_bounds(np.diagonal(self.gram).copy(), own, k)
        others = np.setdiff1d(np.arange(len(entries.diagonal)), features)
        self.rest: Rest | None = None
        if len(others):
            self.rest = Rest(entries.diagonal[others], *_largest_outside(entries, features, others, k), k)
        self.duals: list[RowDual] = []
        """Row duals, the first from the semidefinite dual."""
        self._known: dict[tuple[int, int], tuple[float, float]] = {}
        """Bounds of row duals for some numbers of features, and their growth, by number of the dual."""

    def relax(self, clock: Clock) -> None:
        """Bound by the semidefinite dual, from which row duals start."""
        tol, steps = budgets.SEMIDEFINITE_TOL, budgets.CORE_RELAXATION_STEPS
        solved = semidefinite(self.allowed, self.k, tol=tol, max_iter=steps, out_of_time=clock)
        self._improved(split_bounds(self.allowed, dual_part(self.allowed, solved.multiplier), self.k))
        self.duals.append(from_multiplier(self.allowed, self.k, solved.multiplier))

    def improve(self, size: int, enough: float, clock: Clock) -> None:
        """Bound so many features by a row dual of their own, from the best that is known for another number."""
        start = min(self.duals, key=lambda dual: row_dual_of_one(self.allowed, size, dual.Q, dual.theta))
        smoothings = budgets.ROW_DUAL_SMOOTHINGS[min(len(self.duals) - 1, 1) :]
        found = best_row_dual_of_one(self.allowed, size, start, enough=enough, out_of_time=clock, smoothings=smoothings)
        self.duals.append(found)
        self.bounds[size] = min(self.bounds[size], found.upper)
        self._improved(self.bounds)

    def refined(self, size: int, clock: Clock) -> float:
        """Return the least bound on so many features that known row duals have, computed for some numbers alone."""
        step = -(-self.k // budgets.CORE_GRID)
        base, bounds = max(size // step * step, min(size, 1)), [np.inf]
        for number, dual in enumerate(self.duals[1:]):
            if (number, base) not in self._known and not clock() and base > 0 and np.isfinite(dual.upper):
                value = row_dual_of_one(self.allowed, base, dual.Q, dual.theta)
                self._known[number, base] = value, growth(base, dual.Q, dual.theta)
            if (number, base) in self._known:
                value, each = self._known[number, base]
                bounds.append(value + (size - base) * each)
        return min(bounds)

    def upper(self, lower: float, clock: Clock) -> tuple[float, int]:
        """Return a bound on all supports of k features, and the number of features of the core that it hinges on."""
        own = float(self.bounds[self.k])
        if self.rest is None:
            return own + self.slack, self.k
        value, outside = self.rest.least(self.bounds, max(own, lower), partial(self.refined, clock=clock))
        return value + self.slack, self.k - outside

    def excludes_rest(self, lower: float) -> bool:
        """Return whether no support with a feature outside of the core reaches a known variance."""
        return self.rest is None or self.rest.excluded(self.bounds, self._surely(lower))

    def possible(self, lower: float) -> Array:
        """Return the features of the core that may be in a better support, if all of it is in the core."""
        before = float(self.bounds[self.k - 1])
        return self.features[by_blocks(self.gram, self.k, self._surely(lower), before, self.limits)]

    def _surely(self, lower: float) -> float:
        return lower * (1.0 - budgets.LOWER_SLACK) - self.slack

    def _improved(self, bounds: Array) -> None:
        """Keep bounds that are less; one for more features holds for fewer."""
        self.bounds = np.minimum(self.bounds, bounds)
        self.bounds[1:] = np.minimum.accumulate(self.bounds[:0:-1])[::-1]


def _largest_outside(entries: Entries, features: Array, others: Array, k: int) -> tuple[Array, Array]:
    """Return the largest squares of the rows of `others` in columns of the core, and in those of `others`.

    For most of them, the largest of all columns take the place of the latter.
    """
    n, limits = len(entries.diagonal), entries.limits

    def rows(some: Array) -> Array:
        found = entries.rows(some)
        return found if limits is None else limits.apart(found, some)

    parts = list(chunks(len(features), n * 8, budgets.ROWS_BYTES))
    beside = largest_in_columns((rows(features[part])[:, others] for part in parts), k)
    among = entries.largest[others]
    longest = np.argsort(-among.sum(axis=1), kind="stable")[: budgets.CORE_ROWS]
    for part in chunks(len(longest), n * 8, budgets.ROWS_BYTES):
        some = longest[part]
        found = rows(others[some])
        found[np.arange(len(some)), others[some]] = 0.0
        largest = largest_squares(found[:, others], k - 1)
        among[some] = np.pad(largest, ((0, 0), (0, among.shape[1] - largest.shape[1])))
    return beside, among


class CoreProof:
    """Bounds by cores that grow, each better and better, until the clock runs out; it can be resumed."""

    def __init__(self, entries: Entries, k: int) -> None:
        self.entries, self.k = entries, k
        sums = entries.largest.sum(axis=1)
        self.order = np.argsort(-(entries.diagonal + np.sqrt((k - 1) * sums)), kind="stable")
        self.possible: Array | None = None
        """Features outside which no support is better, once a core excludes the rest."""
        self.is_done = False
        self._steps: Iterator[None] | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether there is more to improve than there was time for."""
        return self._steps is not None and not self.is_done

    def go_on(self, run: Progress, clock: Clock) -> None:
        """Improve until there is nothing to improve, all others are excluded, or the clock runs out."""
        while not (self.is_done or run.finished() or clock()):
            if self._steps is None:
                self._steps = self._all_steps()
            self._run, self._clock, self._began = run, clock, time.perf_counter()
            self.is_done = next(self._steps, self) is self

    def _all_steps(self) -> Iterator[None]:
        for size in core_sizes(self.k, len(self.order)):
            core = Core(self.entries, self.k, np.union1d(self.order[:size], self._run.support))
            core.relax(self._clock)
            hinge, upper = self.k, np.inf
            for _ in range(budgets.CORE_ROUNDS):
                enough = (1.0 + self._run.tol) * self._run.lower * hinge / self.k
                core.improve(hinge, enough, self._round_clock())
                before, (upper, hinge) = upper, core.upper(self._run.lower, self._run.out_of_time)
                self._tell(upper)
                if core.excludes_rest(self._run.lower):
                    self.possible = core.possible(self._run.lower)
                    return
                is_little = before - upper < budgets.CORE_LEAST_GAIN * (upper - self._run.lower)
                yield
                if hinge == 0 or is_little:
                    break
            if hinge == self.k or self._is_hopeless(upper):  # a larger core has no better bound of its own
                return

    def _is_hopeless(self, upper: float) -> bool:
        return upper - self._run.lower > budgets.HOPELESS_GAP * (self._run.upper - self._run.lower)

    def _round_clock(self) -> Clock:
        """Return a clock for one row dual, within that of the stage."""
        clock, share = self._clock, self._run.until(budgets.CORE_ROUND_TIME)
        return lambda: clock() or share()

    def _tell(self, upper: float) -> None:
        now = time.perf_counter()
        self._run.proven(NAME, max(upper, self._run.lower), now - self._began)
        self._began = now


def core_sizes(k: int, n: int) -> list[int]:
    """Return the sizes of cores to try, the least first; none if a core of k features would be too large."""
    most = min(budgets.CORE_MAX_FEATURES, n)
    first = max(budgets.CORE_FEATURES, int(np.ceil(budgets.CORE_SHARE * k)))
    growing = [int(first * budgets.CORE_GROWTH**step) for step in range(budgets.CORES)]
    return sorted({min(size, most) for size in growing}) if k < most else []
