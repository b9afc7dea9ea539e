"""Loadings of several components on fixed supports under a constraint, by sequential quadratic programming.

Many support sets of the same sizes are refitted at once. The Lagrangian of sum v_j'Av_j with |v_j| = 1 and
v_i'Bv_j = 0 (B = I: orthogonal loadings, B = A: uncorrelated scores) has the Hessian blocks 2 (A - mu_j I) and
-2 lambda_ij B, so one step solves a small KKT system per support set. A damping sigma, raised after a step that gains
nothing and lowered after one that gains, makes the steps monotone; Newton steps on the constraints alone restore them.
"""

from __future__ import annotations

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

    @property
    def starts(self) -> Array:
        """First position of each component, and the number of positions."""
        return np.concatenate([[0], np.cumsum(self.onehot.sum(axis=0).astype(np.intp))])


def layout_of(ks: list[int]) -> Layout:
    """Return the layout of components with these numbers of features."""
    owners = np.repeat(np.arange(len(ks)), ks)
    return Layout(owners, np.eye(len(ks))[owners], *np.triu_indices(len(ks), 1))


class Fits(NamedTuple):
    """Loadings of several support sets, one a row; positions follow a layout."""

    supports: Array
    loadings: Array
    values: Array
    """sum v'Av; -inf where the constraints could not be met."""
    violations: Array
    """Largest |v_i'Bv_j| and | |v_j|^2 - 1 |."""

    def chosen(self, rows: Array) -> Fits:
        """Return some of them."""
        return Fits(*(field[rows] for field in self))


def joined_fits(parts: list[Fits]) -> Fits:
    """Return the fits of all parts."""
    return Fits(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


class _Blocks(NamedTuple):
    """Parts of A and B on each support set, as positions by positions: A within components, B between them."""

    within: Array
    between: Array

    def chosen(self, rows: Array) -> _Blocks:
        return _Blocks(self.within[rows], self.between[rows])


def blocks_of(A: Array, supports: Array, layout: Layout, *, uncorrelated: bool, used: Array | None = None) -> _Blocks:
    """Return the blocks of the support sets; positions that are not `used` are as if they were not there."""
    gram = A[supports[:, :, None], supports[:, None, :]]
    same = layout.owners[:, None] == layout.owners
    within = np.where(same, gram, 0.0)
    if uncorrelated:
        between = np.where(same, 0.0, gram)
    else:
        between = ((supports[:, :, None] == supports[:, None, :]) & ~same).astype(np.float64)
    if used is not None:
        both = used[:, :, None] & used[:, None, :]
        within, between = np.where(both, within, 0.0), np.where(both, between, 0.0)
    return _Blocks(within, between)


class _Constraints(NamedTuple):
    """Values and Jacobian of the constraints: first those of pairs, then the lengths."""

    values: Array
    jacobian: Array


def constraints_at(blocks: _Blocks, x: Array, layout: Layout) -> _Constraints:
    """Return v_i'Bv_j of all pairs and (|v_j|^2 - 1) / 2, and their gradients."""
    apart = x[:, :, None] * layout.onehot
    images = blocks.between @ apart  # positions by components: (B v_i) at each position
    pairs = images.transpose(0, 2, 1)[:, layout.second] * layout.onehot.T[layout.first]
    values = np.einsum("bqp,bp->bq", pairs, x)
    pairs += images.transpose(0, 2, 1)[:, layout.first] * layout.onehot.T[layout.second]
    lengths = 0.5 * (np.einsum("bpr,bp->br", apart, x) - 1.0)
    return _Constraints(np.hstack([values, lengths]), np.concatenate([pairs, apart.transpose(0, 2, 1)], axis=1))


def restored(blocks: _Blocks, x: Array, layout: Layout, steps: int) -> tuple[Array, Array]:
    """Return loadings after Newton steps of least length on the constraints, and their largest violation.

    A set whose violation does not fall is left where it was least.
    """
    x = x.copy()
    best, least = x.copy(), np.full(len(x), np.inf)
    active = np.arange(len(x))
    for step in range(steps + 1):
        part = blocks if len(active) == len(x) else blocks.chosen(active)
        at = constraints_at(part, x[active], layout)
        violation = np.abs(at.values).max(axis=1)
        better = violation < least[active]
        best[active[better]], least[active[better]] = x[active[better]], violation[better]
        going = (violation > budgets.RESTORED) & (violation < budgets.RESTORE_HOPELESS) & (better | (step < 4))
        if step == steps or not going.any():
            break
        active, values, jacobian = active[going], at.values[going], at.jacobian[going]
        normal = jacobian @ jacobian.transpose(0, 2, 1)
        normal[:, np.arange(normal.shape[1]), np.arange(normal.shape[1])] += budgets.RESTORE_RIDGE
        weights = np.linalg.solve(normal, values[:, :, None])[:, :, 0]
        x[active] -= np.einsum("bqp,bq->bp", jacobian, weights)
    return best, least


def refit(
    A: Array,
    supports: Array,
    loadings: Array,
    layout: Layout,
    *,
    uncorrelated: bool,
    steps: int,
    used: Array | None = None,
    damping: float = budgets.SQP_DAMPING,
    tol: float = budgets.SQP_TOL,
) -> Fits:
    """Return the support sets with loadings that meet the constraints and are locally best, after at most `steps`.

    `A` is scaled so that its largest eigenvalue is about one. Loadings to start from need not meet the constraints.
    """
    blocks = blocks_of(A, supports, layout, uncorrelated=uncorrelated, used=used)
    x, violations = restored(blocks, loadings if used is None else np.where(used, loadings, 0.0), layout, budgets.RESTORE_STEPS)
    values = np.where(violations <= budgets.FEASIBLE, _sums(blocks, x), -np.inf)
    active = np.flatnonzero(np.isfinite(values))
    sigma = np.full(len(x), damping)
    rejected = np.zeros(len(x), dtype=np.intp)
    for _ in range(steps):
        if not len(active):
            break
        part = blocks if len(active) == len(x) else blocks.chosen(active)
        trial = x[active] + _newton_steps(part, x[active], layout, sigma[active], used if used is None else used[active])
        trial, violation = restored(part, trial, layout, budgets.RESTORE_STEPS_AFTER)
        gain = _sums(part, trial) - values[active]
        good = (violation <= budgets.FEASIBLE) & (gain > 0.0)
        moved = active[good]
        x[moved], violations[moved] = trial[good], violation[good]
        values[moved] += gain[good]
        rejected[active] = np.where(good, 0, rejected[active] + 1)
        sigma[active] = np.where(good, sigma[active] * budgets.SQP_DAMPING_FALL, np.maximum(sigma[active], budgets.SQP_DAMPING_LEAST) * budgets.SQP_DAMPING_RISE)
        done = np.where(good, gain <= tol * values[active], rejected[active] >= budgets.SQP_REJECTED)
        active = active[~done]
    return Fits(supports, x, values, violations)


def _sums(blocks: _Blocks, x: Array) -> Array:
    return np.asarray(np.einsum("bp,bpq,bq->b", x, blocks.within, x, optimize=True))


def kkt_matrices(blocks: _Blocks, x: Array, layout: Layout, used: Array | None = None) -> tuple[Array, Array, Array]:
    """Return the KKT matrices of the Lagrangian at the least-squares multipliers, its gradient A v, and these multipliers."""
    at = constraints_at(blocks, x, layout)
    jacobian, size = at.jacobian, x.shape[1]
    slope = np.einsum("bpq,bq->bp", blocks.within, x)
    normal = jacobian @ jacobian.transpose(0, 2, 1)
    count = normal.shape[1]
    normal[:, np.arange(count), np.arange(count)] += budgets.RESTORE_RIDGE
    multipliers = np.linalg.solve(normal, np.einsum("bqp,bp->bq", jacobian, slope)[:, :, None])[:, :, 0]
    pairs = len(layout.first)
    between = np.zeros((len(x), layout.onehot.shape[1], layout.onehot.shape[1]))
    between[:, layout.first, layout.second] = between[:, layout.second, layout.first] = multipliers[:, :pairs]
    kkt = np.zeros((len(x), size + count, size + count))
    spread = between[:, layout.owners[:, None], layout.owners]
    kkt[:, :size, :size] = blocks.within - spread * blocks.between
    kkt[:, np.arange(size), np.arange(size)] -= multipliers[:, pairs + layout.owners]
    if used is not None:
        row, place = np.nonzero(~used)
        kkt[row, place, place] = -1.0
    kkt[:, :size, size:] = jacobian.transpose(0, 2, 1)
    kkt[:, size:, :size] = jacobian
    corner = np.arange(size, size + count)
    kkt[:, corner, corner] = budgets.RESTORE_RIDGE
    return kkt, slope, multipliers


def _newton_steps(blocks: _Blocks, x: Array, layout: Layout, sigma: Array, used: Array | None) -> Array:
    """Return the steps that maximize the damped quadratic model of the Lagrangian along the constraints."""
    kkt, slope, _ = kkt_matrices(blocks, x, layout, used)
    size = x.shape[1]
    kkt[:, np.arange(size), np.arange(size)] -= sigma[:, None]
    right = np.zeros((len(x), kkt.shape[1], 1))
    right[:, :size, 0] = -slope
    return np.asarray(np.linalg.solve(kkt, right)[:, :size, 0])
