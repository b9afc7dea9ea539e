"""The relaxation in the space of scores, maximized over matrices M: where the best dual of `checked_dual` comes from.

For M > 0 of trace one let F(M) = min over rho >= 0 of k rho + sum_i mu_i(M, rho), mu_i the positive eigenvalue of
M^{1/2} (a_i a_i' - rho I) M^{1/2}, which is the least <M, Y> over Y >= 0, Y >= a_i a_i' - rho I. F is concave, its
gradient is G = sum y_i y_i', and its maximum is the least bound k rho + l_1(G): Li and Xie's relaxation (8). Features
that are in the support for certain have a_i a_i' in place of y_i y_i', and count in k. With eps log det M added, G +
eps M^{-1} is a multiple of the identity at the maximum, so k rho + l_1(G) is at most F(M) + m eps there, and eps falls
in steps.

M is V diag(x) V' on d leading directions and a multiple of the identity on the others, in which a column enters by its
length only, and whose trace enters the barrier as one more eigenvalue; with d = m nothing is left out.

With limits on groups, F(M) is the minimum over rho and s_g >= 0 of k rho + sum_g room_g (s_g - rho)_+ + sum_i mu_i(M,
rho_i), rho_i = max(rho, s_g): the dual of the largest sum that groups allow (`penalties`). The best s_g is where the
z_i of group g sum to the room of the group. It does not depend on rho, so s_g come first, all at once, and rho after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.limits import Room
from rspca.certificates.bounds.score_roots import newton_plain
from rspca.linalg.lbfgs import lbfgs_steps


class Coordinates(NamedTuple):
    """Columns in d leading directions, one a row, the squared lengths of what is left, and in how many directions."""

    head: Array
    tail: Array
    others: int

    @property
    def sq_lengths(self) -> Array:
        """Squared lengths of the columns."""
        return np.asarray(np.einsum("ij,ij->i", self.head, self.head) + self.tail)


class Dual(NamedTuple):
    """A point of the relaxation: what `checked_dual` needs, and how much of each feature is taken."""

    rho: float
    mu: Array
    """One number a feature; zero where the column is no longer than sqrt(rho)."""
    directions: Array
    """V, d x d: the eigenvectors of M in the leading directions."""
    weights: Array
    """x: the eigenvalues of M, one a direction."""
    other_weight: float
    """The eigenvalue of M on all other directions."""
    taken: Array
    """z_i, between 0 and 1, with sum k: the share of feature i."""
    value: float
    """F(M), which is no bound."""
    each: Array | None = None
    """The penalty of each feature where groups have their own, at least rho."""


Newton = Callable[..., tuple[Array, Array]]


class Relaxation:
    """F(M) + eps log det M as a function of a factor R of M, for L-BFGS; remembers rho and mu as a start for the next.

    `at` are the features to choose k from, `fixed` those that are taken besides.
    """

    def __init__(
        self,
        at: Coordinates,
        k: int,
        rho: float,
        newton: Newton = newton_plain,
        fixed: Coordinates | None = None,
        room: Room | None = None,
    ) -> None:
        self.room = room if room is not None and room.full().any() else None
        self.levels = np.zeros(0 if room is None else len(room.room))
        self.at, self.k, self.newton = at, k, newton
        self.d = at.head.shape[1]
        self.fixed = None if fixed is None else fixed.head.T @ fixed.head
        self.fixed_tail = 0.0 if fixed is None else float(fixed.tail.sum())
        self.sq_lengths = at.sq_lengths
        self.rho, self.mu = rho, np.zeros(len(at.tail))
        self.evaluations = 0

    @property
    def eigenvalues(self) -> int:
        """Eigenvalues in the barrier: those in the leading directions, and one for all others."""
        return self.d + bool(self.at.others)

    def start(self) -> Array:
        """Return the factor of a matrix that is larger where the columns are longer."""
        sums = np.einsum("ij,ij->j", self.at.head, self.at.head)
        weights = 0.5 / self.d + 0.5 * sums / max(float(sums.sum()), 1e-300)
        return np.append(np.diag(np.sqrt(weights)).ravel(), np.sqrt(0.1))

    def objective(self, factor: Array, eps: float) -> tuple[float, Array]:
        """Return -F(M) - eps log det M and its gradient in the factor (R, r).

        M is R R' in the leading directions and (r^2 / others) I in the others, divided by the trace.
        """
        R, r, others = factor[:-1].reshape(self.d, self.d), float(factor[-1]), self.at.others
        total = float(factor[:-1] @ factor[:-1]) + (r**2 if others else 0.0)
        dual, rotated = self.point(factor)
        if dual is None:
            return np.inf, np.zeros_like(factor)
        scaled, tail_scale = scaled_terms(dual, rotated)
        inner = scaled.T @ scaled
        G = dual.directions @ inner @ dual.directions.T
        tail = float(self.at.tail @ tail_scale**2) + self.fixed_tail  # trace of G in the other directions
        if self.fixed is not None:
            G += self.fixed
        mean = float(np.sum(G * ((dual.directions * dual.weights) @ dual.directions.T))) + dual.other_weight * tail
        count = self.eigenvalues
        inverse = (dual.directions / dual.weights) @ dual.directions.T  # of M; R^{-T} = M^{-1} R / total
        gradient = (2.0 / total) * ((G + eps * inverse) @ R - (mean + eps * count) * R)
        gradient_r = 0.0
        if others:  # the trace of M there is r^2 / total, along which the value grows by tail / others
            along = tail / others + eps / (others * dual.other_weight)
            gradient_r = (2.0 * r / total) * (along - mean - eps * count)
        log_det = float(np.log(dual.weights).sum()) + (np.log(others * dual.other_weight) if others else 0.0)
        return -dual.value - eps * log_det, -np.append(gradient.ravel(), gradient_r)

    def point(self, factor: Array) -> tuple[Dual | None, Array]:
        """Return the dual that belongs to a factor, and the columns in the eigenvectors of M; None if M is singular."""
        R, r, others = factor[:-1].reshape(self.d, self.d), float(factor[-1]), self.at.others
        total = float(factor[:-1] @ factor[:-1]) + (r**2 if others else 0.0)
        values, V = np.linalg.eigh(R @ R.T)
        weights, other = values / total, (r**2 / (total * others) if others else 0.0)
        rotated = self.at.head @ V
        if not (np.isfinite(weights).all() and weights.min() > 1e-15 and (others == 0 or other > 1e-15)):
            return None, rotated
        squares = rotated**2
        if others:
            squares, every = np.column_stack([squares, self.at.tail]), np.append(weights, other)
        else:
            every = weights
        self.evaluations += 1
        if self.room is not None:
            self._find_levels(squares, every, self.room)
        rho, mu, z = self._solved(squares, every)
        value = self.k * rho + float(mu.sum()) + other * self.fixed_tail
        each = None
        if self.room is not None:
            value += float(self.room.room @ np.maximum(self.levels - rho, 0.0))
            each = self._penalties(rho)
        if self.fixed is not None:
            value += float(np.einsum("ij,ij,j->", V, self.fixed @ V, weights))
        return Dual(rho, mu, V, weights, other, z, value, each), rotated

    def _solved(self, squares: Array, weights: Array) -> tuple[float, Array, Array]:
        """Return the best rho, the mu_i there, and the z_i: k rho + sum mu_i is convex in rho, with slope k - sum z_i.

        It has kinks where |a_i|^2 = rho, so it stops where the bounds on rho leave nothing to gain.
        """
        top = float(self.sq_lengths.max())
        low, high, slopes = 0.0, top, [np.nan, float(self.k)]
        rho = min(max(self.rho, 1e-9 * top), 0.999999 * top)
        mu_all, steps = self.mu, budgets.RELAXATION_NEWTON_STEPS
        for number in range(budgets.RELAXATION_PENALTY_STEPS):
            mu_all, z = self._roots(squares, weights, rho, self._penalties(rho), mu_all, steps)
            slope = self.k - self._taken(z, rho)
            if slope < 0.0:
                low, slopes[0] = rho, slope
                gain = -slope * (high - rho)
            else:
                high, slopes[1] = rho, slope
                gain = slope * (rho - low)
            here = (rho, mu_all, z)
            if gain <= budgets.RELAXATION_PENALTY_TOL * (self.k * rho + float(mu_all.sum())) or high <= 1e-9 * top:
                break
            # in turn where the line between the known slopes is zero, and the middle; a step of a tenth before
            if np.isnan(slopes[0]):
                rho = 0.9 * high if number < 3 else 0.25 * high
            elif high == top and number < 3:
                rho = min(1.1 * low, 0.5 * (low + top))
            elif number % 3 == 2:
                rho = 0.5 * (low + high)
            else:
                share = slopes[0] / (slopes[0] - slopes[1])
                rho = low + min(max(share, 0.02), 0.98) * (high - low)
        self.rho, self.mu = here[0], here[1]
        return here

    def _roots(
        self, squares: Array, weights: Array, rho: float, each: Array | None, start: Array, steps: int
    ) -> tuple[Array, Array]:
        """Return mu and z; with a penalty for each column, by columns shortened to the same penalty.

        x c^2 / (mu + rho_i x) is x c'^2 / (mu' + rho x) for c'^2 = c^2 rho / rho_i and mu' = mu rho / rho_i, and z is
        the same for both.
        """
        long = self.sq_lengths > (rho if each is None else each) * (1.0 + 1e-12)
        if each is not None:
            shorter = rho / each
            squares, start = squares * shorter[:, None], start * shorter
        mu, D = self.newton(squares, weights, rho, np.where(long, start, -1.0), steps, 1e-10)
        with np.errstate(divide="ignore", invalid="ignore"):  # D vanishes with columns of zeros
            z = np.where(long & (D > 0.0), np.clip((1.0 / D - mu) / rho, 0.0, 1.0), 0.0)
        return np.where(long, mu if each is None else mu / shorter, 0.0), z

    def _penalties(self, rho: float) -> Array | None:
        """Return rho_i, or None where they are all rho."""
        return None if self.room is None else np.maximum(rho, self.levels)[self.room.labels]

    def _taken(self, z: Array, rho: float) -> float:
        """Return the sum of all z: a group whose s_g is above rho counts with its room, where z is only near it."""
        if self.room is None:
            return float(z.sum())
        above = self.levels > rho
        return float(self.room.room[above].sum() + z[~above[self.room.labels]].sum())

    def _find_levels(self, squares: Array, weights: Array, room: Room) -> None:
        """Find s_g such that the z of group g sum to its room, for all groups at once, from those of the last M."""
        full = room.full()
        top = np.zeros(len(full))
        np.maximum.at(top, room.labels, self.sq_lengths)
        rows = np.flatnonzero(full[room.labels])
        inside = Relaxation(Coordinates(self.at.head[rows], self.at.tail[rows], 0), 1, 1.0, self.newton)
        labels, squares = room.labels[rows], squares[rows]
        low, high = np.zeros(len(full)), np.where(full, top, 0.0)
        over, under = np.full(len(full), np.nan), np.where(full, room.room, 0).astype(float)
        level = np.where(self.levels > 0.0, self.levels, 0.3 * top)
        mu, largest = np.zeros(len(rows)), float(top.max())
        for number in range(budgets.RELAXATION_LEVEL_STEPS):
            level = np.clip(level, 1e-9 * top, 0.999999 * top)
            each = np.maximum(level[labels], 1e-300)
            mu, z = inside._roots(squares, weights, largest, each, mu, budgets.RELAXATION_NEWTON_STEPS)
            slope = room.room - np.bincount(labels, z, len(full))  # negative where more is taken than there is room
            is_low = slope < 0.0
            low, over = np.where(is_low, level, low), np.where(is_low, slope, over)
            high, under = np.where(is_low, high, level), np.where(is_low, under, slope)
            gains = np.where(full, np.abs(slope) * np.where(is_low, high - level, level - low), 0.0)
            self.levels = np.where(full, level, 0.0)
            if gains.sum() <= budgets.RELAXATION_PENALTY_TOL * float(room.room @ level):
                break
            with np.errstate(invalid="ignore", divide="ignore"):
                share = np.clip(np.where(np.isnan(over), 0.5, over / (over - under)), 0.05, 0.95)
            level = low + (0.5 if number % 3 == 2 else share) * (high - low)


def scaled_terms(dual: Dual, rotated: Array) -> tuple[Array, Array]:
    """Return y_i in the eigenvectors of M, one a row, and the factor of what is left of the column in y_i.

    y_ij = sqrt(mu_i / D_i) c_ij / (mu_i + rho x_j), and 1 / D_i = mu_i + rho z_i.
    """
    rho = dual.rho if dual.each is None else dual.each
    lengths = np.sqrt(dual.mu * (dual.mu + rho * dual.taken))
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = lengths[:, None] / (dual.mu[:, None] + np.multiply.outer(rho, dual.weights))
        tail = lengths / (dual.mu + rho * dual.other_weight)
    return rotated * inverse, tail if dual.other_weight else np.zeros(len(rotated))


def maximized(
    relaxation: Relaxation, factor: Array, eps: float, *, steps: int, tol: float, stop: Callable[[], bool]
) -> Array:
    """Return a better factor for one eps: L-BFGS until a step gains little, or `stop`."""
    before = np.inf
    for number, point in enumerate(lbfgs_steps(lambda x: relaxation.objective(x, eps), factor, 0.1)):
        factor = point.x
        if number >= steps or stop() or (number > 3 and before - point.value <= tol * abs(point.value)):
            break
        before = point.value
    return factor / np.linalg.norm(factor)


def factor_of(dual: Dual) -> Array:
    """Return a factor of the matrix M of a dual, as a start for the next."""
    others = max(1.0 - float(dual.weights.sum()), 0.0)
    return np.append((dual.directions * np.sqrt(dual.weights)).ravel(), np.sqrt(others))
