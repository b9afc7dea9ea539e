"""Which exchanges of features are promising, with all loadings refitted: a quadratic model of the Lagrangian.

At a solution with KKT matrix K (Hessian of the Lagrangian bordered by the constraints), feature f enters component j
with loading t and the feature at position i leaves it. With u the derivatives of the Lagrangian's gradient and of the
constraints by t, r = K^-1 u, g the gradient and h the curvature along f, all other loadings follow t, and the gain is
    2 max over t of  g t + (h - u'r) t^2 / 2 + (t r_i - x_i)^2 / (2 R_ii),   R = K^-1, R_ii < 0.
So one inverse examines all exchanges. Moves are proposals only: the refit decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.sqp import Fits, Layout, blocks_of, kkt_matrices
from rspca.base.types import Array


class Problem(NamedTuple):
    """Components of a Gram matrix under a constraint on pairs."""

    A: Array
    """Gram matrix of the pool, its largest eigenvalue about one."""
    ks: list[int]
    choice: Choice
    """Features of the pool that may be chosen, by their places in it."""
    layout: Layout
    uncorrelated: bool
    """Whether scores are uncorrelated; otherwise loadings are orthogonal."""
    nonnegative: bool = False


class Moves(NamedTuple):
    """Proposed support sets with loadings to start from, and the solutions that they come from."""

    supports: Array
    loadings: Array
    parents: Array


class _Gains(NamedTuple):
    """Predicted gains of exchanges of one component: positions that leave by features that enter."""

    gains: Array
    entering: Array
    sizes: Array
    """Loading with which the feature enters."""
    responses: Array
    """K^-1 u of each entering feature."""


class _Model:
    """The quadratic model at one solution."""

    def __init__(self, problem: Problem, support: Array, x: Array, inverse: Array, multipliers: Array) -> None:
        layout, A = problem.layout, problem.A
        self.problem, self.support, self.x, self.inverse = problem, support, x, inverse
        self.ends = layout.starts
        r = len(problem.ks)
        V = np.zeros((len(A), r))
        V[support, layout.owners] = x
        used = np.unique(support)
        images = A[:, used] @ V[used]
        self.images = images if problem.uncorrelated else V
        pairs = len(layout.first)
        self.between = np.zeros((r, r))
        self.between[layout.first, layout.second] = multipliers[:pairs]
        self.between += self.between.T
        self.lengths = multipliers[pairs:]
        self.slopes = images - self.images @ self.between
        self.plain_slopes = images
        self.diagonal = A.diagonal()

    def positions(self, j: int) -> Array:
        return np.arange(self.ends[j], self.ends[j + 1])

    def entering(self, j: int) -> Array:
        """Return the features outside component j that may enter: those of the largest slopes."""
        features = self.problem.choice.features
        outside = np.ones(len(self.problem.A), dtype=bool)
        outside[self.support[self.positions(j)]] = False
        features = features[outside[features]]
        if len(features) > budgets.EXCHANGE_ENTERING:
            size = np.abs(self.slopes[features, j])
            features = np.sort(features[np.argpartition(-size, budgets.EXCHANGE_ENTERING)[: budgets.EXCHANGE_ENTERING]])
        return features

    def gains(self, j: int, features: Array, *, released: bool = False) -> _Gains:
        """Return the gains of exchanges of component j; `released`: as if no other component used these features."""
        problem, layout, size = self.problem, self.problem.layout, len(self.x)
        places = self.positions(j)
        u = np.zeros((len(self.inverse), len(features)))
        if problem.uncorrelated:
            rows = problem.A[np.ix_(self.support, features)]
            u[:size] = -self.between[layout.owners, j][:, None] * rows
            u[places] = rows[places]
        else:
            u[places] = problem.A[np.ix_(self.support[places], features)]
            if not released:
                shared = self.support[:, None] == features
                shared[places] = False
                u[:size] -= np.where(shared, self.between[layout.owners, j][:, None], 0.0)
        if not released:
            here, there = layout.first == j, layout.second == j
            u[size:][: len(layout.first)][here] = self.images[features][:, layout.second[here]].T
            u[size:][: len(layout.first)][there] = self.images[features][:, layout.first[there]].T
        responses = self.inverse @ u
        curvature = self.diagonal[features] - self.lengths[j] - np.einsum("ij,ij->j", u, responses)
        slope = (self.plain_slopes if released else self.slopes)[features, j]
        follow, x = responses[places], self.x[places][:, None]
        rest = np.minimum(np.diagonal(self.inverse)[places], -budgets.EXCHANGE_LEAST_REST)[:, None]
        bend = curvature + follow**2 / rest
        sizes = np.clip((x * follow / rest - slope) / np.where(bend < -budgets.EXCHANGE_LEAST_REST, bend, -budgets.EXCHANGE_LEAST_REST), -1.0, 1.0)
        gains = slope * sizes + 0.5 * curvature * sizes**2 + 0.5 * (sizes * follow - x) ** 2 / rest
        allowed = problem.choice.allowed_swaps(self.support[places], features)
        return _Gains(np.where(allowed, gains, -np.inf), features, sizes, responses[:size])

    def exchanged(self, j: int, gains: _Gains, leaving: int, column: int) -> tuple[Array, Array]:
        """Return support set and predicted loadings after one exchange."""
        place = self.positions(j)[leaving]
        support, size = self.support.copy(), gains.sizes[leaving, column]
        step = -size * gains.responses[:, column]
        rest = min(self.inverse[place, place], -budgets.EXCHANGE_LEAST_REST)
        step = step + self.inverse[: len(step), place] * ((-self.x[place] - step[place]) / rest)
        x = self.x + step if step @ step < 1.0 else self.x.copy()
        support[place], x[place] = gains.entering[column], size
        return support, x


def promising_moves(problem: Problem, fits: Fits, count: int) -> Moves:
    """Return the `count` most promising exchanges of each solution; for orthogonal loadings also those of owned features."""
    blocks = blocks_of(problem.A, fits.supports, problem.layout, uncorrelated=problem.uncorrelated)
    kkt, _, multipliers = kkt_matrices(blocks, fits.loadings, problem.layout)
    inverses = np.linalg.inv(kkt)
    supports, loadings, parents = [], [], []
    for number in range(len(fits.values)):
        model = _Model(problem, fits.supports[number], fits.loadings[number], inverses[number], multipliers[number])
        tables = [model.gains(j, model.entering(j)) for j in range(len(problem.ks))]
        found = _best_exchanges(model, tables, count)
        if not problem.uncorrelated:
            found += _best_transfers(model, tables, count)
        for support, x in found:
            supports.append(support)
            loadings.append(x)
            parents.append(number)
    size = fits.supports.shape[1]
    return Moves(np.array(supports, dtype=np.intp).reshape(-1, size), np.array(loadings).reshape(-1, size), np.array(parents, dtype=np.intp))


def _best_exchanges(model: _Model, tables: list[_Gains], count: int) -> list[tuple[Array, Array]]:
    best = []
    for j, table in enumerate(tables):
        flat = table.gains.ravel()
        if len(flat) > count:
            top = np.argpartition(-flat, count)[:count]
        else:
            top = np.arange(len(flat))
        best += [(flat[place], j, place) for place in top.tolist() if flat[place] > -np.inf]
    best.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    return [
        model.exchanged(j, tables[j], *np.unravel_index(place, tables[j].gains.shape))  # type: ignore[arg-type]
        for _, j, place in best[:count]
    ]


def _best_transfers(model: _Model, tables: list[_Gains], count: int) -> list[tuple[Array, Array]]:
    """Return moves in which a feature goes from one component to another, which gets one in its place.

    Orthogonal components cannot share a single feature, so an exchange alone cannot bring it over. Its former owner
    takes the best feature that none uses, or the one that it displaced.
    """
    problem, owners = model.problem, model.problem.layout.owners
    r = len(problem.ks)
    features, counts = np.unique(model.support, return_counts=True)
    owned = features[counts == 1]
    owner = np.full(len(problem.A), -1)
    owner[model.support] = owners
    place_of = np.zeros(len(problem.A), dtype=np.intp)
    place_of[model.support] = np.arange(len(model.support))
    free = np.ones(len(problem.A), dtype=bool)
    free[model.support] = False
    replaced: list[tuple[Array, Array]] = []  # best replacement of each position by a feature that none uses
    for j, table in enumerate(tables):
        gains = np.where(free[table.entering], table.gains, -np.inf)
        column = gains.argmax(axis=1) if gains.shape[1] else np.zeros(len(gains), dtype=np.intp)
        replaced.append((column, gains[np.arange(len(gains)), column] if gains.shape[1] else np.full(len(gains), -np.inf)))
        del j
    proposals = []
    arrivals: list[_Gains] = []
    for j in range(r):
        arrivals.append(model.gains(j, owned[owner[owned] != j], released=True))
    column_in = np.full((r, len(problem.A)), -1)
    for j, table in enumerate(arrivals):
        column_in[j, table.entering] = np.arange(len(table.entering))
    for j, table in enumerate(arrivals):
        if not table.gains.size:
            continue
        best = table.gains.argmax(axis=0)
        for column, feature in enumerate(table.entering.tolist()):
            former = int(owner[feature])
            row = int(place_of[feature] - model.ends[former])
            column_of, gain_of = replaced[former]
            gain = table.gains[best[column], column] + gain_of[row]
            proposals.append((gain, j, int(best[column]), column, former, row, int(column_of[row]), False))
            if former > j:
                displaced = model.support[model.positions(j)]
                for leaving, other in enumerate(displaced.tolist()):
                    back = column_in[former, other]
                    if back >= 0:
                        gain = table.gains[leaving, column] + arrivals[former].gains[row, back]
                        proposals.append((gain, j, leaving, column, former, row, int(back), True))
    proposals.sort(key=lambda entry: (-entry[0], *entry[1:]))
    moves = []
    for gain, j, leaving, column, former, row, replacement, swapped in proposals[:count]:
        if gain == -np.inf:
            break
        support, x = model.support.copy(), model.x.copy()
        here, there = model.positions(j)[leaving], model.positions(former)[row]
        source = arrivals[former] if swapped else tables[former]
        support[here], x[here] = arrivals[j].entering[column], arrivals[j].sizes[leaving, column]
        support[there], x[there] = source.entering[replacement], source.sizes[row, replacement]
        moves.append((support, x))
    return moves
