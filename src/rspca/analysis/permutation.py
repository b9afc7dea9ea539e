"""The permutation test: how many components have more variance than those of independently permuted columns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rspca.algorithm.component import check_memory
from rspca.algorithm.deflate import schur
from rspca.algorithm.feature_limits import Choice, Groups, binding_limits
from rspca.algorithm.loop import eligible_features, longest_column
from rspca.algorithm.many_fits import ManyFits, Start, best_climbs, rough_directions
from rspca.base.arguments import argument
from rspca.base.checks import (
    as_generator,
    check_integer,
    check_listener,
    check_n_components,
    check_real,
    check_sparsity,
)
from rspca.base.memory import check_room
from rspca.base.threads import WORTH_SHARING
from rspca.base.types import Array, OnStep, Step
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import balanced
from rspca.operators.dense import DenseOperator
from rspca.operators.prepared import (
    SampleArguments,
    Samples,
    check_has_samples,
    checked_samples,
    operator_of,
    prepared,
)

LEVEL = (
    "The level is exact for the first component if samples are exchangeable, and approximate for later ones, whose "
    "null is that of permuted data less their own earlier components (Buja and Eyuboglu 1992)."
)
"""What a p-value means."""
TIED = 1e-9
"""Arithmetic: relative difference of variances up to which they count as equal, against the suggestion of structure."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PermutationTest:
    """Which components are more than chance: variances of the data and of permuted data."""

    statistic: Array
    """Variance of each component at its k, in what the earlier ones leave; no divisor."""
    null: Array
    """Variances of the components of permuted data, a row for each permutation."""
    k: list[int]
    """Features of each component."""
    alpha: float
    seed: int
    """What the permutations are drawn from; with it a test can be continued."""
    assumption: str = LEVEL

    @property
    def p(self) -> Array:
        """p-value of each component, (1 + number of permutations with at least its variance) / (permutations + 1)."""
        reached = np.count_nonzero(self.null >= (1.0 - TIED) * self.statistic, axis=0)
        return np.asarray((1.0 + reached) / (len(self.null) + 1.0))

    @property
    def suggested(self) -> int:
        """Number of components before the first p-value above alpha, those that are more than chance."""
        above = np.flatnonzero(self.p > self.alpha)
        return int(above[0]) if len(above) else len(self.p)

    @property
    def n_permutations(self) -> int:
        """Permutations that were made."""
        return len(self.null)

    def band(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the limits between which this share of permuted variances lies, for each component."""
        check_real("level", level, 0.0, strict=True)
        rest = 50.0 * (1.0 - min(level, 1.0))
        low, high = np.percentile(self.null, [rest, 100.0 - rest], axis=0)
        return low, high

    def words(self, component: int) -> str:
        """Return in words what the test says of one component."""
        p = float(self.p[component])
        if component < self.suggested:
            return f"more than chance (p = {p:.2g})"
        if p > self.alpha:
            return f"not distinguishable from chance (p = {p:.2g})"
        return f"p = {p:.2g}, but an earlier component is not distinguishable from chance"

    def __str__(self) -> str:
        """Return the components as a table, the suggestion, and what it takes for granted."""
        low, high = self.band()
        lines = [f"{'component':>9}{'k':>7}{'variance':>14}{'null 95 % band':>28}{'p':>9}"]
        for j, p in enumerate(self.p):
            band = f"{low[j]:.6g} to {high[j]:.6g}"
            lines.append(f"{j + 1:>9}{self.k[j]:>7}{self.statistic[j]:>14.6g}{band:>28}{p:>9.3g}")
        count = "1 component is" if self.suggested == 1 else f"{self.suggested} components are"
        lines.append(f"{count} more than chance at level {self.alpha:g}; {self.n_permutations} permutations.")
        return "\n".join([*lines, self.assumption])

    def __repr__(self) -> str:
        """Return a summary in one line."""
        values = ", ".join(f"{p:.3g}" for p in self.p)
        return f"PermutationTest(suggested={self.suggested}, p=[{values}], {self.n_permutations} permutations)"


def permutation_test(
    X: Any,
    n_components: int = 1,
    k: Any = 10,
    *,
    n_permutations: int = 100,
    alpha: float = 0.05,
    center: bool = True,
    scale: bool | str = False,
    sample_weight: Any = None,
    covariates: Any = None,
    missing: str = "error",
    groups: Any = None,
    max_per_group: int = 1,
    random_state: Any = 0,
    earlier: PermutationTest | None = None,
    on_step: OnStep | None = None,
    on_rows: Callable[[PermutationTest], None] | None = None,
) -> PermutationTest:
    """Test how many sparse components have more variance than chance gives them.

    Every column is permuted by itself, which keeps what each feature is alone and breaks what they share. The data and
    the permuted data get the same fit, a short one: climbs from a few starts. A component's variance is compared with
    that of the component of the same number in each permutation, after earlier ones are taken off both.

    Parameters
    ----------
    X : array, sparse matrix, frame, table or operator
        Samples by features, in memory: sparse data and genotypes stay sparse and packed. Data on a cluster, or streamed
        from a file, are refused.
    n_components : int
        How many components are tested.
    k : int, float or sequence
        Features of each component, as in :class:`SparsePCA`.
    n_permutations : int
        The smallest possible p-value is 1 / (n_permutations + 1).
    alpha : float
        Components count up to the first whose p-value is above it.
    sample_weight, covariates, missing, groups, max_per_group, center, scale
        As in :func:`decompose`. Samples change places only with samples of the same weight. With covariates, what
        they leave of the data is permuted, as a dense array.
    random_state : int
        Seed of the permutations. The same seed gives the same result, however many threads there are.
    earlier : PermutationTest, optional
        A test of the same data, with the same arguments, that was stopped: it is continued.
    on_step, on_rows : callable, optional
        Called after each permutation, with a Step, and with the test so far: it can be kept if this is stopped.

    Returns
    -------
    PermutationTest
        Its ``statistic``, ``null``, ``p`` and ``suggested``; ``band()`` and ``words(component)``.

    Examples
    --------
    >>> import rspca
    >>> X, _ = rspca.datasets.make_planted_spikes(100, 200, 10, 2, strength=20.0)
    >>> rspca.permutation_test(X, 4, 10, n_permutations=39).suggested
    2
    """
    check_listener("on_step", on_step)
    check_listener("on_rows", on_rows)
    check_integer("n_permutations", n_permutations, 1)
    if not 0.0 < check_real("alpha", alpha, 0.0, strict=True) < 1.0:
        raise ValueError(f"{argument('alpha', alpha)} is a probability: give one between 0 and 1.")
    if alpha * (n_permutations + 1) < 1.0:
        least = int(np.ceil(1.0 / alpha)) - 1
        raise ValueError(
            f"{argument('n_permutations', n_permutations)} gives no p-value of {argument('alpha', alpha)} or less; "
            f"make at least {least}."
        )
    given = operator_of(X, missing)
    check_has_samples(given, "permutation_test")
    samples = checked_samples(given, SampleArguments(sample_weight, covariates, missing), center)
    check_n_components(n_components, given.shape)
    ks = check_sparsity(k, n_components, given.shape[1])
    limits = binding_limits(groups, max_per_group, X, given.shape[1], max(ks))
    seed = int(as_generator(random_state).integers(2**62))
    check_memory(given, max(ks), n_components=n_components)
    statistic_of = _Statistic(ks, limits, samples, center, scale, n_components)
    test = PermutationTest(
        statistic=statistic_of(given, np.random.default_rng([seed, 0])),
        null=_earlier_null(earlier, ks, seed, n_permutations),
        k=ks,
        alpha=float(alpha),
        seed=seed,
    )
    source = given if samples.design is None else _residuals(given, samples)
    started, rows = time.perf_counter(), list(test.null)

    def permuted(number: int) -> Array:
        rng = np.random.default_rng([seed, number + 1])
        return statistic_of(source.permuted(rng, samples.weights), rng)

    for row in _in_order(permuted, range(len(rows), n_permutations), _idle_threads(source)):
        rows.append(row)
        test = PermutationTest(statistic=test.statistic, null=np.array(rows), k=ks, alpha=test.alpha, seed=seed)
        if on_rows is not None:
            on_rows(test)
        if on_step is not None:
            on_step(Step("permutation", 0, len(rows), float(row[0]), None, time.perf_counter() - started))
    return test


def _residuals(given: OperatorMixin, samples: Samples) -> OperatorMixin:
    """Return what covariates leave of the data, dense: these are the columns that are permuted."""
    m, n = given.shape
    check_room(24 * m * n, "what covariates leave of the data, which is dense,", "Choose fewer features.")
    data = prepared(given, center=True, scale=False, n_components=0, **samples._asdict())
    left, weights = np.asarray(data.operator.all_columns(), dtype=np.float64), samples.weights
    if weights is None:
        return DenseOperator(np.array(left))
    used = np.flatnonzero(weights)
    out = np.zeros((m, n))
    out[used] = (left if len(left) == len(used) else left[used]) / np.sqrt(weights[used])[:, None]
    return DenseOperator(out)


def _earlier_null(earlier: PermutationTest | None, ks: list[int], seed: int, most: int) -> Array:
    """Return the permutations of a test that was stopped, or none."""
    if earlier is None:
        return np.empty((0, len(ks)))
    if not isinstance(earlier, PermutationTest):
        raise TypeError(f"{argument('earlier', earlier)} must be what permutation_test returned.")
    if earlier.seed != seed or earlier.k != ks:
        raise ValueError(
            f"{argument('earlier')} is a test with another seed or another {argument('k')}, so it cannot be continued."
        )
    return earlier.null[:most]


STARTS = 3
"""Rough directions from which the short fit starts: tools/is_it_real.py."""


class _Statistic:
    """Variances of the components of some data, by a short fit that is the same for all of them."""

    def __init__(
        self,
        ks: list[int],
        limits: Groups | None,
        samples: Samples,
        center: bool,
        scale: bool | str,
        n_components: int,
    ) -> None:
        self._ks, self._limits, self._samples = ks, limits, samples
        self._center, self._scale, self._n_components = center, scale, n_components

    def __call__(self, given: OperatorMixin, rng: np.random.Generator) -> Array:
        """Return the variance of each component; 0 where nothing is left."""
        data = prepared(given, center=self._center, scale=self._scale, n_components=0, **self._samples._asdict())
        op, unit = balanced(data.operator)
        choice, out = Choice(eligible_features(op), self._limits), np.zeros(len(self._ks))
        if not len(choice.features):
            raise ValueError("X has no variance: every column is constant. There is nothing to test.")
        left = op
        for number, k in enumerate(self._ks):
            starts = self._starts(left, min(k, choice.most), choice, rng)
            fits = ManyFits(left, np.ones((left.shape[0], 1)), None)
            end = best_climbs(fits, starts, [k], choice)[0]
            out[number] = unit**2 * end.variance
            if end.variance <= 0.0 or number + 1 == len(self._ks):
                break
            vector = np.zeros(left.shape[1])
            vector[end.support] = end.loadings
            left = schur(left, vector, left.scores(end.support, end.loadings), [])
        return out

    def _starts(self, op: OperatorMixin, k: int, choice: Choice, rng: np.random.Generator) -> list[Start]:
        """Return the largest entries of a few rough leading directions, and the longest column."""
        block = ManyFits(op, np.ones((op.shape[0], 1)), None)
        directions = rough_directions(block, np.zeros(STARTS, dtype=np.intp), rng, together=True)
        starts = [Start(0, np.array([longest_column(op)]), np.ones(1))]
        for direction in directions.T:
            support = choice.largest(direction, k)
            starts.append(Start(0, support, direction[support]))
        return starts


def _idle_threads(op: OperatorMixin) -> int:
    """Return how many permutations run at a time: as many as products leave threads idle, or as joblib is told."""
    from joblib import effective_n_jobs
    from threadpoolctl import threadpool_info

    told = int(effective_n_jobs())
    if op.own_threads or op.entries >= WORTH_SHARING:  # products use them
        return told
    allowed = max((int(library["num_threads"]) for library in threadpool_info()), default=1)
    return max(told, min(allowed, os.cpu_count() or 1))


def _in_order(task: Callable[[int], Array], numbers: Sequence[int], threads: int) -> Iterator[Array]:
    """Yield the results of the task for each number, in order, several at a time."""
    if threads <= 1 or len(numbers) <= 1:
        yield from map(task, numbers)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=threads, prefer="threads", return_as="generator")
    yield from parallel(delayed(task)(number) for number in numbers)
