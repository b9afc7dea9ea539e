"""The route on a sketch of X, where X is large: steps run on the sketch, and products with X confirm their results."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.polish import Polished, exchange, polish
from rspca.algorithm.relax import StationaryPoint, linearized
from rspca.algorithm.sketch import Rows, Sketch
from rspca.base.types import Array, Report
from rspca.linalg.vectors import l1_l2_maximizer, nonzeros, spread
from rspca.operators.base import OperatorMixin


class Effort(NamedTuple):
    """How far stage 1 is carried on a sketch: until a product with X gains less than `gain`, or after so many."""

    gain: float
    products: float = np.inf
    residual: float | None = None
    """Of the leading direction from which it starts, relative to its variance; SKETCH_RESIDUAL if not given."""

    def should_stop(self, gain: float, variance: float) -> bool:
        """Return whether so little gain of this variance ends stage 1."""
        return gain <= self.gain * variance


def stage1_effort(op: OperatorMixin, k: int, tol: float, *, polished: bool) -> Effort:
    """Return how far stage 1 is carried: less far if polishing follows, or the search of a pool."""
    if not polished:
        return Effort(tol * budgets.SKETCH_GAIN_TOL)
    if k <= budgets.POOL_MAX_K:
        return Effort(tol * budgets.SKETCH_GAIN_TOL_FEW, budgets.SKETCH_PRODUCTS_FEW)
    if op.undeflated is op:
        return Effort(tol * budgets.SKETCH_GAIN_TOL, residual=budgets.SKETCH_RESIDUAL_FIRST)
    return Effort(tol * budgets.SKETCH_GAIN_TOL_LATER)


class Round(NamedTuple):
    """Where a few steps on the sketch lead, and the features on which they were taken."""

    end: StationaryPoint
    features: Array


class SketchedData:
    """A sketch in place of X: the same questions, answered as well as the effort allows."""

    def __init__(self, op: OperatorMixin, first: Rows | None, effort: Effort) -> None:
        self.source, self.effort = op, effort
        self.sketch = Sketch(op, first, products=effort.products, residual=effort.residual)

    def directions(self) -> list[Array]:
        """Return the directions of large variance on the sketch, the largest first."""
        return self.sketch.directions()

    def near_leading(self, count: int) -> Array | None:
        """Return leading directions of the sketch as columns, so many, if it has them."""
        return self.sketch.near_leading(count)

    def leading_rows(self, count: int) -> Array:
        """Return a row for each feature such that their products are those of the leading part of X'X, about."""
        return self.sketch.leading_rows(count)

    def relaxed(self, k: int, starts: list[Array], *, max_iter: int, tol: float, report: Report) -> StationaryPoint:
        """Run stage 1 on the sketch, confirm each result by one product with X, and stop when X confirms no gain.

        The result is stationary for X itself: stage 1 stops when a round of steps gains as little as the effort wants,
        and when the next step needs no feature that was left out of the last round; or after as many products as the
        effort allows.
        """
        effort, n = self.effort, len(starts[0])
        step_tol = tol * budgets.SKETCH_STEP_TOL
        first_tol = max(step_tol, budgets.SKETCH_FIRST_TOL)
        gradients = [self.sketch.gradient(start) for start in starts]
        steps = [l1_l2_maximizer(gradient, k) for gradient in gradients]
        tried = [self._climb(k, *both, max_iter, first_tol, report) for both in zip(steps, gradients, strict=True)]
        end, features = max(tried, key=lambda result: result.end.variance)
        variance, n_iter, products = -np.inf, end.n_iter, 0
        while True:
            x = spread(end.x, features, n)
            confirmed = self.sketch.confirm(x)
            gain, variance = confirmed.variance - variance, confirmed.variance
            step = l1_l2_maximizer(confirmed.gradient, k, expected=nonzeros(x))
            inside = len(nonzeros(step[features])) == len(nonzeros(step))
            products += 1
            converged = (effort.should_stop(gain, variance) and inside) or products >= effort.products
            if converged or n_iter >= max_iter:
                return StationaryPoint(x, confirmed.gradient, variance, n_iter, converged)
            end, features = self._climb(k, step, confirmed.gradient, max_iter - n_iter, step_tol, report)
            n_iter += end.n_iter
            if effort.should_stop(end.variance - variance, variance):  # of the sketch, which is exact at x
                return StationaryPoint(x, confirmed.gradient, variance, n_iter, True)

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
        first = self.source.undeflated is self.source
        several = (
            budgets.SEVERAL_STARTS_SHARE if first or k <= budgets.POOL_MAX_K else budgets.SEVERAL_STARTS_SHARE_LATER
        )
        return k <= several * self.source.shape[1]

    def polished(self, V: Array, gradient: Array, choice: Choice, *, tol: float, report: Report) -> list[Polished]:
        """Polish on the sketch, then exchange several features at once, on X itself."""
        best, gradient = self._polished_on_sketch(V, gradient, choice, tol=tol, report=report)
        self.sketch.forget_rows()  # the columns of k features may take as much memory
        return [exchange(self.source, best, gradient, choice=choice, rounds=budgets.EXCHANGE_ROUNDS)]

    def _polished_on_sketch(
        self, V: Array, gradient: Array, choice: Choice, *, tol: float, report: Report
    ) -> tuple[Polished, Array]:
        """Polish on the sketch, confirm each result by one product with X, and stop when X confirms no gain."""
        n, k, variance = len(V), len(nonzeros(V[:, 0])), -np.inf
        first = self.source.undeflated is self.source
        min_gain = tol * (budgets.POLISH_TOL if first else budgets.POLISH_TOL_LATER)
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
            confirmed = self.sketch.confirm(V[:, 0])
            gain = confirmed.variance - variance
            if gain > 0.0:
                best, gradient, variance = end._replace(support=support), confirmed.gradient, confirmed.variance
                report("polish", best.n_iter, variance)
            if gain <= min_gain * variance:
                break
        return best._replace(variance=variance), gradient

    def promising_features(self, v: Array, gradient: Array, count: int, choice: Choice) -> Array:
        """Return the features in use and those of the largest gradients; of groups, the best of each before others."""
        used = v != 0.0
        if choice.groups is not None:
            used[choice.largest(gradient, count)] = True
        else:
            used[self.sketch.features(np.where(used, 0.0, gradient), count - int(np.count_nonzero(used)))] = True
        return used.nonzero()[0]
