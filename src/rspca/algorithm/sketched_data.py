"""The route on a sketch of X, where X is large: steps run on the sketch, and products with X confirm their results."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.polish import Polished, exchange, polish
from rspca.algorithm.relax import StationaryPoint, linearized
from rspca.algorithm.sketch import Rows, Sketch, learned_sketch, most_rows, sketch_of_few_samples
from rspca.base.types import Array, Report
from rspca.linalg.vectors import l1_l2_maximizer, nonzeros, spread
from rspca.operators.base import OperatorMixin


class Effort(NamedTuple):
    """How far stage 1 and polishing are carried on a sketch: until a product with X gains less, or after so many."""

    gain: float
    """Of stage 1, relative to the variance."""
    products: float = np.inf
    residual: float | None = None
    """Of the leading direction from which stage 1 starts, relative to its variance; SKETCH_RESIDUAL if not given."""
    polish_gain: float = 0.0
    """Of polishing, relative to the variance."""
    several_starts: float = 1.0
    """Share of the features, as k, up to which polishing starts from several candidates."""
    near: int = 0
    """Features of largest gradients on whose columns stage 1 and polishing go on; 0 if all of X is read each time."""

    def should_stop(self, gain: float, variance: float) -> bool:
        """Return whether so little gain of this variance ends stage 1."""
        return gain <= self.gain * variance


def stage1_effort(op: OperatorMixin, k: int, tol: float, *, polished: bool) -> Effort:
    """Return how far stage 1 is carried: less far if polishing follows, or the search of a pool."""
    if not polished:
        return Effort(tol * budgets.SKETCH_GAIN_TOL)
    is_first, several = op.undeflated is op, budgets.SEVERAL_STARTS_SHARE
    polish_gain = tol * (budgets.POLISH_TOL if is_first else budgets.POLISH_TOL_LATER)
    if k <= budgets.POOL_MAX_K:
        gain, products = tol * budgets.SKETCH_GAIN_TOL_FEW, budgets.SKETCH_PRODUCTS_FEW
        return Effort(gain, products, polish_gain=polish_gain, several_starts=several)
    if is_first:
        gain, residual = tol * budgets.SKETCH_GAIN_TOL, budgets.SKETCH_RESIDUAL_FIRST
        return Effort(gain, residual=residual, polish_gain=polish_gain, several_starts=several)
    gain, several = tol * budgets.SKETCH_GAIN_TOL_LATER, budgets.SEVERAL_STARTS_SHARE_LATER
    return Effort(gain, polish_gain=polish_gain, several_starts=several, near=near_features(op, k))


def near_features(op: OperatorMixin, k: int) -> int:
    """Return on the columns of how many features later components of k are improved; 0 if that saves no time.

    It is the entries that cost time, packed or not: the same data in any form have the same components.
    """
    n, bytes_of_X = op.shape[1], op.restricted_bytes(op.shape[1])
    fitting = n * max(budgets.NEAR_BYTES / max(bytes_of_X, 1), budgets.NEAR_BYTES_SHARE)
    count = int(min(budgets.NEAR_FEATURES_PER_K * k, budgets.NEAR_MAX_SHARE * n, fitting))
    return count if op.entries > budgets.NEAR_ENTRIES and count >= budgets.NEAR_MIN_FEATURES_PER_K * k else 0


class Round(NamedTuple):
    """Where some steps lead, and the features on which they were taken."""

    end: StationaryPoint
    features: Array
    scores: Array | None = None
    """Xx of the end, if these steps were confirmed with the columns of these features until they gained little."""


class SketchedData:
    """A sketch in place of X: the same questions, answered as well as the effort allows."""

    def __init__(self, op: OperatorMixin, sketch: Sketch, effort: Effort) -> None:
        self.source, self.sketch, self.effort = op, sketch, effort
        self._near: NearData | None = None

    @classmethod
    def of_few_samples(cls, op: OperatorMixin, samples_gram: Array, effort: Effort) -> SketchedData:
        """Return the route on the leading directions of XX', which is given."""
        return cls(op, sketch_of_few_samples(op, samples_gram, _more_rows(op, effort)), effort)

    @classmethod
    def learned(cls, op: OperatorMixin, first: Rows | None, effort: Effort) -> SketchedData:
        """Return the route on a sketch that is learned from X, beginning with these rows."""
        products, residual, more_rows = effort.products, effort.residual, _more_rows(op, effort)
        return cls(op, learned_sketch(op, first, products=products, residual=residual, more_rows=more_rows), effort)

    def directions(self, k: int) -> list[Array]:
        """Return the directions of large variance on the sketch, the largest first, and the most promising for k."""
        return self.sketch.directions(k)

    def near_leading(self, count: int) -> Array | None:
        """Return leading directions of the sketch as columns, so many, if it has them."""
        return self.sketch.near_leading(count)

    def leading_rows(self, count: int) -> Array:
        """Return a row for each feature such that their products are those of the leading part of X'X, about."""
        return self.sketch.leading_rows(count)

    def forget(self) -> None:
        """Free the memory of the sketch."""
        self.sketch.forget_rows()

    def relaxed(self, k: int, starts: list[Array], *, max_iter: int, tol: float, report: Report) -> StationaryPoint:
        """Run stage 1 on the sketch, confirm each result by one product with X, and stop when X confirms no gain.

        The result is stationary for X itself: stage 1 stops when a round of steps gains as little as the effort wants,
        and when the next step needs no feature that was left out of the last round; or after as many products as the
        effort allows.
        """
        first_tol = max(tol * budgets.SKETCH_STEP_TOL, budgets.SKETCH_FIRST_TOL)
        # starts are eigenvectors on the sketch: their gradients point along them
        tried = [self._climb(k, l1_l2_maximizer(start, k), start, max_iter, first_tol, report) for start in starts]
        best = max(tried, key=lambda result: result.end.variance)
        return self._confirmed(k, best, max_iter, tol * budgets.SKETCH_STEP_TOL, report)

    def _confirmed(self, k: int, first: Round, max_iter: int, tol: float, report: Report) -> StationaryPoint:
        """Return where steps lead, each end of which is confirmed by a product with X."""
        effort, n, climb = self.effort, self.source.shape[1], self._climb_near if self.effort.near else self._climb
        end, features, scores = first
        variance, n_iter, products, before, n_lost = -np.inf, end.n_iter, 0, None, 0
        while True:
            x = spread(end.x, features, n)
            confirmed = self.sketch.confirm(x, scores, end.variance)
            gain = confirmed.variance - variance
            if confirmed.refuted and gain < 0.0 and before is not None:  # go on from the best that X has confirmed
                x, gain, n_lost = before, np.inf, n_lost + 1
                confirmed = self.sketch.confirm(x)
            before, variance = x, confirmed.variance
            step = l1_l2_maximizer(confirmed.gradient, k, expected=nonzeros(x))
            inside = len(nonzeros(step[features])) == len(nonzeros(step))
            products += 1
            settled = scores is not None or effort.should_stop(gain, variance)
            converged = (inside and settled) or products >= effort.products or n_lost == budgets.SKETCHES_LOST
            if converged or n_iter >= max_iter:
                return StationaryPoint(x, confirmed.gradient, variance, n_iter, converged)
            end, features, scores = climb(k, step, confirmed.gradient, max_iter - n_iter, tol, report)
            n_iter += end.n_iter
            if effort.should_stop(end.variance - variance, variance):  # of the sketch, which is exact at x
                return StationaryPoint(x, confirmed.gradient, variance, n_iter, True)

    def _climb_near(self, k: int, step: Array, gradient: Array, max_steps: int, tol: float, report: Report) -> Round:
        """Take steps on the features of largest gradients, confirmed with their columns only, until these gain little.

        It is stage 1 of these features: a few of them take a small part of the time that a product with X takes.
        """
        self._near = None
        self.source.forget_restriction()  # the columns of the last time, before others are copied
        features = self.sketch.features(gradient, self.effort.near)
        part = self.source.deflated_part(self.source.undeflated.restrict(features), features)
        route = SketchedData(part, self.sketch.restricted_to(features, part), self.effort._replace(near=0))
        self._near = NearData(features, route)
        first = route._climb(k, step[features], gradient[features], max_steps, tol, report)
        end = route._confirmed(k, first, max_steps, tol, report)
        return Round(end, features, part.matmat(end.x))

    def _climb(self, k: int, step: Array, gradient: Array, max_steps: int, tol: float, report: Report) -> Round:
        """Take a few steps on the sketch of the features of largest gradients."""
        within = (1.0 - budgets.L1_ROUNDING) * np.sqrt(k)
        if np.abs(step).sum() < within:  # the leading direction itself may satisfy the constraint
            leading = self.sketch.leading_direction()
            if np.abs(leading).sum() <= within:
                image = self.sketch.gradient(leading)
                report("relax", 1, float(leading @ image))
                return Round(StationaryPoint(leading, image, float(leading @ image), 1, True), np.arange(len(step)))
        used = len(nonzeros(step))
        spare = used // budgets.SKETCH_SPARE_FEATURES
        features = self.sketch.features(gradient, max(budgets.SKETCH_FEATURES_PER_K * k, used + spare))
        part, steps = self.sketch.operator(features), min(max_steps, budgets.SKETCH_STEPS)
        on_iteration = partial(report, "relax")
        return Round(linearized(part, k, step[features], max_iter=steps, tol=tol, on_iteration=on_iteration), features)

    def ends_may_differ(self, k: int) -> bool:
        """Return whether k is a small part of the features; others are chosen by the sketch, whatever the start."""
        return k <= self.effort.several_starts * self.source.shape[1]

    def polished(self, V: Array, gradient: Array, choice: Choice, *, tol: float, report: Report) -> list[Polished]:
        """Polish on the sketch, then exchange several features at once, on X itself."""
        near, self._near = self._near, None
        if near is not None and np.isin(nonzeros(V[:, 0]), near.features, assume_unique=True).all():
            return [self._polished_near(near, V, gradient, choice, tol=tol, report=report)]
        best, gradient = self._polished_on_sketch(V, gradient, choice, tol=tol, report=report)
        self.sketch.forget_rows()  # the columns of k features may take as much memory
        return [exchange(self.source, best, gradient, choice=choice, rounds=budgets.EXCHANGE_ROUNDS)]

    def _polished_on_sketch(
        self, V: Array, gradient: Array, choice: Choice, *, tol: float, report: Report
    ) -> tuple[Polished, Array]:
        """Polish on the sketch, confirm each result by one product with X, and stop when X confirms no gain."""
        n, k, variance, min_gain = len(V), len(nonzeros(V[:, 0])), -np.inf, self.effort.polish_gain
        best = Polished(np.empty(0, dtype=np.intp), np.empty(0), variance, 0, None)
        for _ in range(budgets.POLISH_ROUNDS):
            features = self.promising_features(V[:, 0], gradient, budgets.POLISH_FEATURES_PER_K * k, choice)
            part, starts, allowed = self.sketch.operator(features), V[features], choice.among(features)
            starts = starts[:, starts.any(axis=0)]
            end = polish(part, starts, k, choice=allowed, finalists=budgets.POLISH_FINALISTS, tol=tol)[0]
            support = features[end.support]
            if np.array_equal(support, best.support):  # the sketch is exact at the last vector: it gains by the refit
                if end.variance > variance:
                    best, variance = end._replace(support=support), end.variance
                    gradient = self.sketch.gradient(spread(end.loadings, support, n))
                break
            if end.variance - variance <= min_gain * variance:
                break
            V = spread(end.loadings, support, n)[:, None]
            confirmed = self.sketch.confirm(V[:, 0], claimed=end.variance)
            gain = confirmed.variance - variance
            if gain > 0.0:
                best, gradient, variance = end._replace(support=support), confirmed.gradient, confirmed.variance
                report("polish", best.n_iter, variance)
            if gain <= min_gain * variance:
                break
        return best._replace(variance=variance), gradient

    def _polished_near(
        self, near: NearData, V: Array, gradient: Array, choice: Choice, *, tol: float, report: Report
    ) -> Polished:
        """Polish and exchange on the columns of some features, then exchange a few more times on X itself."""
        op, features, among = self.source, near.features, choice.among(near.features)
        self.sketch.forget_rows()
        starts = V[features]
        starts = starts[:, starts.any(axis=0)]
        best, own = near.route._polished_on_sketch(starts, gradient[features], among, tol=tol, report=report)
        near.route.sketch.forget_rows()
        best = exchange(near.route.source, best, own, choice=among, rounds=budgets.NEAR_EXCHANGE_ROUNDS)
        best = best._replace(support=features[best.support])
        gradient, scores = op.gram_and_scores(spread(best.loadings, best.support, len(V)))
        best = best._replace(variance=float(np.sum(np.square(scores, dtype=np.float64))))
        return exchange(op, best, gradient, choice=choice, rounds=budgets.NEAR_LAST_EXCHANGES)

    def promising_features(self, v: Array, gradient: Array, count: int, choice: Choice) -> Array:
        """Return the features in use and those of the largest gradients; of groups, the best of each before others."""
        used = v != 0.0
        if choice.groups is not None:
            used[choice.largest(gradient, count)] = True
        else:
            used[self.sketch.features(np.where(used, 0.0, gradient), count - int(np.count_nonzero(used)))] = True
        return used.nonzero()[0]


def _more_rows(op: OperatorMixin, effort: Effort) -> int:
    """Return how many rows the sketch may add; products with columns of some features add none."""
    return budgets.SKETCH_MIN_ROWS if effort.near else most_rows(op.shape[1])


class NearData(NamedTuple):
    """Features of the largest gradients, and the route on their columns."""

    features: Array
    route: SketchedData
