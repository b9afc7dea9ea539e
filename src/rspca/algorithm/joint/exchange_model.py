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
from rspca.algorithm.joint.sqp import Fits, Layout, kkt_matrices, support_sets
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
        self.ends = layout.ends
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
        sizes = np.clip(
            (x * follow / rest - slope)
            / np.where(bend < -budgets.EXCHANGE_LEAST_REST, bend, -budgets.EXCHANGE_LEAST_REST),
            -1.0,
            1.0,
        )
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
    """Return the `count` most promising exchanges of each solution, and transfers if loadings are orthogonal."""
    sets = support_sets(problem.A, fits.supports, problem.layout, uncorrelated=problem.uncorrelated)
    kkt, _, multipliers = kkt_matrices(sets, fits.loadings)
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
    return Moves(
        np.array(supports, dtype=np.intp).reshape(-1, size),
        np.array(loadings).reshape(-1, size),
        np.array(parents, dtype=np.intp),
    )


def _top(gains: Array, count: int) -> Array:
    """Return the flat places of the `count` largest finite gains, in no order."""
    flat = gains.ravel()
    top = np.argpartition(-flat, count)[:count] if len(flat) > count else np.arange(len(flat))
    return np.asarray(top[flat[top] > -np.inf])


def _best_exchanges(model: _Model, tables: list[_Gains], count: int) -> list[tuple[Array, Array]]:
    """Return the best single exchanges, and the best of all components at once."""
    best, each = [], []
    for j, table in enumerate(tables):
        top = _top(table.gains, count)
        gains = table.gains.ravel()[top]
        best += list(zip(gains.tolist(), [j] * len(top), top.tolist(), strict=True))
        if len(top) and gains.max() > 0.0:
            each.append((j, int(top[gains.argmax()])))
    best.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    shapes = [table.gains.shape for table in tables]
    moves = [model.exchanged(j, tables[j], *_place(shapes[j], place)) for _, j, place in best[:count]]
    if len(each) > 1:
        supports, loadings = model.support.copy(), model.x.copy()
        for j, place in each:
            support, x = model.exchanged(j, tables[j], *_place(shapes[j], place))
            supports = np.where(support != model.support, support, supports)
            loadings = loadings + (x - model.x)
        moves.append((supports, loadings))
    return moves


def _place(shape: tuple[int, ...], flat: int) -> tuple[int, int]:
    return flat // shape[1], flat % shape[1]


class _Transfer(NamedTuple):
    """A feature enters component j; its former owner takes another in its place."""

    gain: float
    j: int
    leaving: int
    column: int
    former: int
    row: int
    replacement: int
    swapped: bool
    """Whether the former owner takes the feature that was displaced, rather than one that none uses."""


def _best_transfers(model: _Model, tables: list[_Gains], count: int) -> list[tuple[Array, Array]]:
    """Return moves in which a feature goes from one component to another, which gives it one in its place.

    Orthogonal components cannot share a single feature, so an exchange alone cannot bring it over. Its former owner
    takes the best feature that none uses, or the one that was displaced.
    """
    r, n = len(model.problem.ks), len(model.problem.A)
    features, counts = np.unique(model.support, return_counts=True)
    owner, place_of = np.full(n, -1), np.zeros(n, dtype=np.intp)
    owner[model.support] = model.problem.layout.owners
    place_of[model.support] = np.arange(len(model.support))
    unused = owner < 0
    owned = features[counts == 1]
    arrivals = [model.gains(j, owned[owner[owned] != j], released=True) for j in range(r)]
    rows_of = [place_of[owned[owner[owned] == j]] - model.ends[j] for j in range(r)]
    replacements = [_best_columns(np.where(unused[table.entering], table.gains, -np.inf)) for table in tables]
    found: list[_Transfer] = []
    for j, table in enumerate(arrivals):
        for former in range(r):
            columns, rows = np.flatnonzero(owner[table.entering] == former), rows_of[former]
            if not len(columns):
                continue
            incoming = table.gains[:, columns]  # positions of j by features of the former owner
            best = incoming.argmax(axis=0)
            chosen, outgoing = replacements[former]
            gains = incoming[best, np.arange(len(columns))] + outgoing[rows]
            for at in _top(gains, count).tolist():
                found.append(_Transfer(gains[at], j, best[at], columns[at], former, rows[at], chosen[rows[at]], False))
            back = np.flatnonzero(owner[arrivals[former].entering] == j)
            if former > j and len(back):
                both = incoming[rows_of[j]].T + arrivals[former].gains[np.ix_(rows, back)]
                for flat in _top(both, count).tolist():
                    here, there = divmod(flat, len(back))
                    leaving = rows_of[j][there]
                    found.append(
                        _Transfer(both[here, there], j, leaving, columns[here], former, rows[here], back[there], True)
                    )
    found.sort(key=lambda transfer: (-transfer.gain, *transfer[1:]))
    return [_transferred(model, tables, arrivals, transfer) for transfer in found[:count]]


def _best_columns(gains: Array) -> tuple[Array, Array]:
    """Return the column of the largest gain of each row, and this gain."""
    if not gains.shape[1]:
        return np.zeros(len(gains), dtype=np.intp), np.full(len(gains), -np.inf)
    columns = gains.argmax(axis=1)
    return columns, gains[np.arange(len(gains)), columns]


def _transferred(
    model: _Model, tables: list[_Gains], arrivals: list[_Gains], transfer: _Transfer
) -> tuple[Array, Array]:
    """Return support set and loadings after a transfer."""
    support, x = model.support.copy(), model.x.copy()
    here = model.ends[transfer.j] + transfer.leaving
    there = model.ends[transfer.former] + transfer.row
    arrival, source = arrivals[transfer.j], (arrivals if transfer.swapped else tables)[transfer.former]
    support[here], x[here] = arrival.entering[transfer.column], arrival.sizes[transfer.leaving, transfer.column]
    support[there], x[there] = source.entering[transfer.replacement], source.sizes[transfer.row, transfer.replacement]
    return support, x
