"""Fits of one X under many weights of its samples, climbed together: one block product serves all of them.

A half-sample, the training part of a fold and a bootstrap are weights. With roots h = sqrt(w), the data of one fit are
diag(h) X less what its own mean, covariates and earlier scores explain of them: (I - QQ') diag(h) X with Q an
orthonormal basis of these, each times h. Scores are removed as by Schur deflation. So X'X v of every fit is a product
of the same X with other vectors of scores, X'(h (I - QQ') h X v), and these are multiplied as a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.polish import refit
from rspca.base.types import Array
from rspca.linalg.vectors import largest_values
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.dense import DenseOperator


class Start(NamedTuple):
    """Where a climb starts: the number of the fit, features, and loadings of any length."""

    fit: int
    support: Array
    loadings: Array


class End(NamedTuple):
    """Where a climb ended: features, loadings, variance, and scores (rows times roots, deflated)."""

    support: Array
    loadings: Array
    variance: float
    scores: Array


class ManyFits:
    """The data of several fits: X, the roots of the weights of its rows (m x fits), and what is taken off each."""

    def __init__(self, op: OperatorMixin, roots: Array, basis: Array | None, factors: Array | None = None) -> None:
        """Take X, roots of weights, what is taken off the rows (m x q), and factors of the columns (n x fits)."""
        self.op, self.roots, self.factors = op, roots, factors
        self._bases = list[Array]()
        for column in () if basis is None else basis.T:
            self.take_off(roots * column[:, None])
        self.diagonal = op.sq_norms
        self._used = [np.flatnonzero(column) for column in roots.T]
        own = [column[used] for column, used in zip(roots.T, self._used, strict=True)]
        self._used_roots = [None if np.all(values == 1.0) else values for values in own]

    @property
    def count(self) -> int:
        """Number of fits."""
        return self.roots.shape[1]

    def take_off(self, scores: Array) -> None:
        """Take scores, a column for each fit, off the data: Schur deflation."""
        left = self._remaining(self._remaining(scores))
        before, lengths = np.linalg.norm(scores, axis=0), np.linalg.norm(left, axis=0)
        new = lengths > budgets.NO_LENGTH * before
        self._bases.append(np.where(new, left / np.where(new, lengths, 1.0), 0.0))

    def _remaining(self, scores: Array, fits: Array | slice = slice(None)) -> Array:
        for basis in self._bases:
            own = basis[:, fits]
            scores = scores - own * np.einsum("ij,ij->j", own, scores)
        return scores

    def products(self, scores: Array, fits: Array) -> Array:
        """Return X'X v from the scores of v, a column for each of some fits, in float64."""
        out = np.asarray(self.op.rmatmat(self.roots[:, fits] * scores), dtype=np.float64)
        return out if self.factors is None else out * self.factors[:, fits]

    def dense_scores(self, V: Array, fits: Array) -> Array:
        """Return the scores of dense vectors, a column for each of some fits."""
        V = V if self.factors is None else V * self.factors[:, fits]
        return self._remaining(self.roots[:, fits] * np.asarray(self.op.matmat(V), dtype=np.float64), fits)

    def refitted(self, tasks: Sequence[Start]) -> list[End]:
        """Return the best loadings of each (fit, support, start), with variance and scores."""
        ends = list[End]()
        m = self.op.shape[0]
        widest = max((len(task.support) for task in tasks), default=1)
        for part in chunks(len(tasks), 8 * m * widest, budgets.MANY_FITS_BYTES):
            some = tasks[part]
            union = np.unique(np.concatenate([task.support for task in some]))
            raw = np.ascontiguousarray(self.op.columns(union).T, dtype=np.float64)  # a row for each feature
            ends += [self._refitted(task, raw, np.searchsorted(union, task.support)) for task in some]
        return ends

    def _refitted(self, task: Start, raw: Array, places: Array) -> End:
        """Return the end of one task from columns of X, given as rows; samples of weight 0 are left out."""
        fit, support, start = task
        used, roots = self._used[fit], self._used_roots[fit]
        block = np.take(np.take(raw, places, axis=0), used, axis=1)
        if roots is not None:
            block *= roots
        if self.factors is not None:
            block *= self.factors[support, fit, None]
        if self._bases:
            basis = np.stack([basis[used, fit] for basis in self._bases])
            block -= (block @ basis.T) @ basis
        value, loadings = leading_vector(block.T, start)
        scores = np.zeros(len(self.roots))
        scores[used] = loadings @ block
        return End(support, loadings, value, scores)


def leading_vector(block: Array, start: Array) -> tuple[float, Array]:
    """Return the leading eigenvalue and eigenvector of block' block."""
    m, k = block.shape
    if k <= budgets.MANY_FITS_DENSE or m <= budgets.MANY_FITS_DENSE:
        if k <= m:
            values, vectors = np.linalg.eigh(block.T @ block)
            return max(float(values[-1]), 0.0), vectors[:, -1]
        values, left = np.linalg.eigh(block @ block.T)
        loadings = block.T @ left[:, -1]
        length = float(np.linalg.norm(loadings))
        return max(float(values[-1]), 0.0), loadings / (length or 1.0)
    return refit(DenseOperator(block), start, budgets.CLIMB_REFIT_TOL)


def climb_together(
    fits: ManyFits, starts: Sequence[Start], ks: Sequence[int], choice: Choice, *, exchanges: bool
) -> list[End]:
    """Climb from each start to a support of its k that steps do not improve; one block product per round serves all.

    A step takes the k largest entries of X'Xv and refits. Where that gains nothing, and with `exchanges`, features are
    exchanged by their second-order worth, as in `polish.exchange`: all promising pairs, then the clearest half, ...
    """
    climbs = fits.refitted(starts)
    owner = np.array([start.fit for start in starts])
    active = np.arange(len(climbs))
    for _ in range(budgets.MANY_FITS_ROUNDS):
        if not len(active):
            break
        moved = list[int]()
        for part in chunks(len(active), 8 * fits.op.shape[1], budgets.MANY_FITS_BYTES):
            some = active[part]
            gradients = fits.products(np.column_stack([climbs[i].scores for i in some]), owner[some])
            proposals = {
                i: _proposals(fits, climbs[i], int(owner[i]), ks[i], gradients[:, place], choice, exchanges)
                for place, i in enumerate(some.tolist())
            }
            moved += _improved(fits, climbs, owner, proposals)
        active = np.array(moved, dtype=np.intp)
    return climbs


def _improved(fits: ManyFits, climbs: list[End], owner: Array, proposals: dict[int, Iterator[Start]]) -> list[int]:
    """Replace climbs by better ones where a proposal gains variance; return which."""
    moved, waiting = list[int](), list(proposals)
    while waiting:
        tried = {i: start for i in waiting if (start := next(proposals[i], None)) is not None}
        waiting = []
        for (i, start), end in zip(tried.items(), fits.refitted(list(tried.values())), strict=True):
            grown = len(start.support) > len(climbs[i].support)
            if grown or end.variance > (1.0 + budgets.MANY_FITS_MIN_GAIN) * climbs[i].variance:
                climbs[i] = end
                moved.append(i)
            else:
                waiting.append(i)
    return sorted(moved)


def _proposals(
    fits: ManyFits, climb: End, fit: int, k: int, gradient: Array, choice: Choice, exchanges: bool
) -> Iterator[Start]:
    """Yield supports that may have more variance, the boldest first."""
    k = min(k, choice.most)
    support, value = climb.support, climb.variance
    proposed = choice.largest(gradient, k)
    if not np.array_equal(proposed, support):
        yield Start(fit, proposed, gradient[proposed])
    if not exchanges or len(support) < k or k == len(choice.features):
        return
    diagonal = fits.diagonal * float(np.mean(np.square(fits.roots[:, fit])))  # about: a refit decides
    if fits.factors is not None:
        diagonal = diagonal * fits.factors[:, fit] ** 2
    worth = gradient**2 / np.maximum(value - diagonal, budgets.SWAP_MIN_GAIN * value)
    inside = climb.loadings**2 * np.maximum(value - diagonal[support], 0.0)
    outside = worth[choice.features]
    outside[np.searchsorted(choice.features, support)] = 0.0
    pairs = min(len(support), len(outside) - len(support))
    joining, leaving = largest_values(outside, pairs), np.sort(inside)[:pairs]
    count, before = int(np.count_nonzero(joining > leaving)), proposed
    while count:
        least = max(leaving[count - 1], budgets.EXCHANGE_MIN_WORTH * joining[count - 1])
        worth[support] = (1.0 - budgets.EXCHANGE_ROUNDING) * joining[count - 1] / least * inside
        exchanged = choice.largest(worth, k)
        if np.array_equal(exchanged, support):
            return
        if not np.array_equal(exchanged, before):
            yield Start(fit, exchanged, gradient[exchanged])
        before, count = exchanged, count // 2


def best_climbs(fits: ManyFits, starts: Sequence[Start], ks: Sequence[int], choice: Choice) -> list[End]:
    """Return the best end of each fit: all starts climb, and the best end of each fit climbs on by exchanges.

    `ks` has a k for each fit.
    """
    ends = climb_together(fits, starts, [ks[start.fit] for start in starts], choice, exchanges=False)
    best: dict[int, End] = {}
    for start, end in zip(starts, ends, strict=True):
        if start.fit not in best or end.variance > best[start.fit].variance:
            best[start.fit] = end
    again = [Start(fit, best[fit].support, best[fit].loadings) for fit in range(fits.count)]
    return climb_together(fits, again, ks, choice, exchanges=True)


def rough_directions(fits: ManyFits, which: Array, rng: np.random.Generator, *, together: bool = False) -> Array:
    """Return a direction of large variance for each of some fits, from power steps that begin with random signs.

    `together` makes them orthogonal after each step: several directions of one fit.
    """
    V = rng.integers(0, 2, (fits.op.shape[1], len(which))) * 2.0 - 1.0
    for _ in range(budgets.MANY_FITS_POWER_STEPS):
        V = fits.products(fits.dense_scores(V, which), which)
        lengths = np.linalg.norm(V, axis=0)
        V = np.linalg.qr(V)[0] if together else V / np.where(lengths > 0.0, lengths, 1.0)
    return V
