"""Loadings of several components on fixed supports under a constraint, by sequential quadratic programming.

Many support sets of the same sizes are refitted at once. The Lagrangian of sum v_j'Av_j with |v_j| = 1 and
v_i'Bv_j = 0 (B = I: orthogonal loadings, B = A: uncorrelated scores) has the Hessian blocks 2 (A - mu_j I) and
-2 lambda_ij B, so one step solves a small KKT system per support set. A damping sigma, raised after a step that gains
nothing and lowered after one that gains, makes the steps monotone; Newton steps on the constraints alone restore them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array


class Layout(NamedTuple):
    """Which loading of a flat vector belongs to which component."""

    owners: Array
    """Component of each position, increasing."""
    onehot: Array
    """The same as a matrix, positions by components."""
    first: Array
    """First components of all pairs."""
    second: Array
    ends: Array
    """First position of each component, and the number of positions."""


def layout_of(ks: list[int]) -> Layout:
    """Return the layout of components with these numbers of features."""
    owners = np.repeat(np.arange(len(ks)), ks)
    return Layout(owners, np.eye(len(ks))[owners], *np.triu_indices(len(ks), 1), np.cumsum([0, *ks]))


class Fits(NamedTuple):
    """Loadings of several support sets, one a row; positions follow a layout."""

    supports: Array
    loadings: Array
    values: Array
    """sum v'Av; -inf where the constraints could not be met."""
    violations: Array
    """Largest |v_i'Bv_j| and | |v_j|^2 - 1 | / 2."""

    def chosen(self, rows: Array) -> Fits:
        """Return some of them."""
        return Fits(*(field[rows] for field in self))


def joined_fits(parts: list[Fits]) -> Fits:
    """Return the fits of all parts."""
    return Fits(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


class SupportSets(NamedTuple):
    """Support sets with the parts of A and B that their refit needs."""

    n: int
    supports: Array
    layout: Layout
    used: Array | None
    """Positions that are not used are as if they were not there."""
    within: list[Array]
    """A within each component."""
    between: Array | None
    """A between components, positions by positions; None if loadings are orthogonal."""

    def chosen(self, rows: Array) -> SupportSets:
        """Return some of them."""
        return self._replace(
            supports=self.supports[rows],
            used=None if self.used is None else self.used[rows],
            within=[block[rows] for block in self.within],
            between=None if self.between is None else self.between[rows],
        )

    def images(self, x: Array) -> Array:
        """Return (B v_i) at each position of another component, positions by components."""
        layout = self.layout
        if self.between is not None:
            return np.asarray(self.between @ (x[:, :, None] * layout.onehot))
        rows = np.arange(len(x))[:, None]
        V = np.zeros((len(x), self.n, layout.onehot.shape[1]))
        V[rows, self.supports, layout.owners] = x
        images = V[rows, self.supports] * (1.0 - layout.onehot)
        return images if self.used is None else images * self.used[:, :, None]

    def slopes(self, x: Array) -> Array:
        """Return A v_j at each position of component j."""
        ends = self.layout.ends
        parts = [np.einsum("bij,bj->bi", block, x[:, ends[j] : ends[j + 1]]) for j, block in enumerate(self.within)]
        return np.concatenate(parts, axis=1)

    def values(self, x: Array) -> Array:
        """Return sum v'Av."""
        return np.asarray(np.einsum("bp,bp->b", x, self.slopes(x)))


def support_sets(
    A: Array, supports: Array, layout: Layout, *, uncorrelated: bool, used: Array | None = None
) -> SupportSets:
    """Return the support sets with their parts of A."""
    within = []
    for begin, end in pairwise(layout.ends):
        support = supports[:, begin:end]
        block = A[support[:, :, None], support[:, None, :]]
        if used is not None:
            block = block * (used[:, begin:end, None] & used[:, None, begin:end])
        within.append(block)
    between = None
    if uncorrelated:
        between = A[supports[:, :, None], supports[:, None, :]]
        between[:, layout.owners[:, None] == layout.owners] = 0.0
        if used is not None:
            between *= used[:, :, None] & used[:, None, :]
    return SupportSets(len(A), supports, layout, used, within, between)


class _Constraints(NamedTuple):
    """Values and Jacobian of the constraints: first those of pairs, then the lengths."""

    values: Array
    jacobian: Array


def constraints_at(sets: SupportSets, x: Array) -> _Constraints:
    """Return v_i'Bv_j of all pairs and (|v_j|^2 - 1) / 2, and their gradients."""
    layout = sets.layout
    images, masks = sets.images(x).transpose(0, 2, 1), layout.onehot.T
    pairs = images[:, layout.second] * masks[layout.first]
    values = np.einsum("bqp,bp->bq", pairs, x)
    pairs += images[:, layout.first] * masks[layout.second]
    lengths = x[:, None, :] * masks
    squares = np.einsum("brp,bp->br", lengths, x)
    return _Constraints(np.hstack([values, 0.5 * (squares - 1.0)]), np.concatenate([pairs, lengths], axis=1))


def restored(sets: SupportSets, x: Array, steps: int) -> tuple[Array, Array]:
    """Return loadings after Newton steps of least length on the constraints, and their largest violation.

    Where the violation does not fall, the loadings of the least violation are returned.
    """
    x = x.copy()
    best, least = x.copy(), np.full(len(x), np.inf)
    active, part = np.arange(len(x)), sets
    for step in range(steps + 1):
        at = constraints_at(part, x[active])
        violation = np.abs(at.values).max(axis=1)
        better = violation < least[active]
        rows = active[better]
        best[rows], least[rows] = x[rows], violation[better]
        going = (violation > budgets.RESTORED) & (violation < budgets.RESTORE_HOPELESS)
        going &= better | (step < budgets.RESTORE_PATIENCE)
        if step == steps or not going.any():
            break
        values, jacobian = at.values[going], at.jacobian[going]
        if not going.all():
            active, part = active[going], part.chosen(going)
        newton = np.einsum("bqp,bq->bp", jacobian, _weights(jacobian, values))
        lengths = np.linalg.norm(newton, axis=1, keepdims=True)
        x[active] -= newton * np.minimum(1.0, budgets.RESTORE_LONGEST / np.maximum(lengths, budgets.RESTORE_LONGEST))
    return best, least


def _weights(jacobian: Array, values: Array) -> Array:
    """Return (JJ')^-1 values, JJ' with a small ridge, because constraints may be dependent."""
    normal = jacobian @ jacobian.transpose(0, 2, 1)
    corner = np.arange(normal.shape[1])
    normal[:, corner, corner] += budgets.RESTORE_RIDGE
    return np.asarray(np.linalg.solve(normal, values[:, :, None])[:, :, 0])


def refit(
    A: Array,
    supports: Array,
    loadings: Array,
    layout: Layout,
    *,
    uncorrelated: bool,
    steps: int,
    damping: float,
    used: Array | None = None,
) -> Fits:
    """Return the support sets with loadings that meet the constraints and are locally best, after at most `steps`.

    `A` is scaled so that its largest eigenvalue is about one. Loadings to start from need not meet the constraints.
    """
    sets = support_sets(A, supports, layout, uncorrelated=uncorrelated, used=used)
    x, violations = restored(sets, loadings if used is None else np.where(used, loadings, 0.0), budgets.RESTORE_STEPS)
    values = np.where(violations <= budgets.FEASIBLE, sets.values(x), -np.inf)
    active, sigma = np.flatnonzero(np.isfinite(values)), np.full(len(x), damping)
    rejected, part = np.zeros(len(x), dtype=np.intp), sets
    for _ in range(steps):
        if not len(active):
            break
        if len(part.supports) != len(active):
            part = sets.chosen(active)
        trial = x[active] + _newton_steps(part, x[active], sigma[active])
        trial, violation = restored(part, trial, budgets.RESTORE_STEPS_AFTER)
        gain = part.values(trial) - values[active]
        good = (violation <= budgets.FEASIBLE) & (gain > 0.0)
        moved = active[good]
        x[moved], violations[moved] = trial[good], violation[good]
        values[moved] += gain[good]
        rejected[active] = np.where(good, 0, rejected[active] + 1)
        lower = sigma[active] * budgets.SQP_DAMPING_FALL
        higher = np.maximum(sigma[active], budgets.SQP_DAMPING_LEAST) * budgets.SQP_DAMPING_RISE
        sigma[active] = np.where(good, lower, higher)
        done = np.where(good, gain <= budgets.SQP_TOL * values[active], rejected[active] >= budgets.SQP_REJECTED)
        active = active[~done]
    return Fits(supports, x, values, violations)


def kkt_matrices(sets: SupportSets, x: Array) -> tuple[Array, Array, Array]:
    """Return the KKT matrices of the Lagrangian at least-squares multipliers, the slopes A v, and these multipliers."""
    layout, size, at = sets.layout, x.shape[1], constraints_at(sets, x)
    slopes = sets.slopes(x)
    multipliers = _weights(at.jacobian, np.einsum("bqp,bp->bq", at.jacobian, slopes))
    pairs, count = len(layout.first), at.jacobian.shape[1]
    between = np.zeros((len(x), layout.onehot.shape[1], layout.onehot.shape[1]))
    between[:, layout.first, layout.second] = between[:, layout.second, layout.first] = multipliers[:, :pairs]
    kkt = np.zeros((len(x), size + count, size + count))
    if sets.between is not None:
        kkt[:, :size, :size] = -between[:, layout.owners[:, None], layout.owners] * sets.between
    else:
        row, here, there = np.nonzero(sets.supports[:, :, None] == sets.supports[:, None, :])
        weights = between[row, layout.owners[here], layout.owners[there]]  # zero within a component
        if sets.used is not None:
            weights = weights * (sets.used[row, here] & sets.used[row, there])
        kkt[row, here, there] = -weights
    for begin, end, block in zip(layout.ends[:-1], layout.ends[1:], sets.within, strict=True):
        kkt[:, begin:end, begin:end] += block
    diagonal = np.arange(size)
    kkt[:, diagonal, diagonal] -= multipliers[:, pairs + layout.owners]
    if sets.used is not None:
        row, place = np.nonzero(~sets.used)
        kkt[row, place, place] = -1.0
    kkt[:, :size, size:] = at.jacobian.transpose(0, 2, 1)
    kkt[:, size:, :size] = at.jacobian
    corner = np.arange(size, size + count)
    kkt[:, corner, corner] = budgets.RESTORE_RIDGE
    return kkt, slopes, multipliers


def _newton_steps(sets: SupportSets, x: Array, sigma: Array) -> Array:
    """Return the steps that maximize the damped quadratic model of the Lagrangian along the constraints."""
    kkt, slopes, _ = kkt_matrices(sets, x)
    size = x.shape[1]
    diagonal = np.arange(size)
    kkt[:, diagonal, diagonal] -= sigma[:, None]
    right = np.zeros((len(x), kkt.shape[1], 1))
    right[:, :size, 0] = -slopes
    return np.asarray(np.linalg.solve(kkt, right)[:, :size, 0])
