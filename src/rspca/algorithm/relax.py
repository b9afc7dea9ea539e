"""Stage 1: stationary points of max x'X'Xx subject to |x|_2 <= 1 and |x|_1 <= sqrt(k)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, NotRequired, TypedDict, Unpack

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import l1_l2_maximizer, l1_projection, nonzeros
from rspca.operators.base import OperatorMixin

OnIteration = Callable[[int, float], None]


class SolverOptions(TypedDict):
    """What every solver of stage 1 takes by name."""

    max_iter: int
    tol: float
    on_iteration: NotRequired[OnIteration | None]


class Relaxed(NamedTuple):
    """A point of the relaxed problem and how it was reached."""

    x: Array
    variance: float
    n_iter: int
    converged: bool


class StationaryPoint(NamedTuple):
    """A point of the relaxed problem, its gradient X'Xx, which the next steps need, and how it was reached."""

    x: Array
    gradient: Array
    variance: float
    n_iter: int
    converged: bool


def linearized(
    op: OperatorMixin, k: float, start: Array, *, max_iter: int, tol: float, on_iteration: OnIteration | None = None
) -> StationaryPoint:
    """Maximize by steps x <- argmax of <Ay, .> over the constraints; the variance never decreases.

    With y = x this is the ascent of Journee, Nesterov, Richtarik and Sepulchre (2010), which cannot lose variance
    because x'Ax is convex. Here y = x + beta (x - x_before) extrapolates, and a step that loses variance is
    repeated with beta = 0. y needs no product, because Ay is a combination of known gradients. It stops when a step
    with beta = 0 gains less than tol, relatively.
    """
    x, gradient, variance = start, op.gram(start), -np.inf  # the start need not satisfy the constraints
    before, beta, last_gain = gradient, 0.0, np.inf
    for iteration in range(1, max_iter + 1):
        ahead = gradient + beta * (gradient - before) if beta > 0.0 else gradient
        y = l1_l2_maximizer(ahead, k, expected=nonzeros(x))
        y_gradient = op.gram(y)
        y_variance = float(y @ y_gradient)
        if beta > 0.0 and y_variance < variance:
            beta, before = 0.0, gradient
            continue
        gain = y_variance - variance
        x, variance, before, gradient = y, y_variance, gradient, y_gradient
        if on_iteration is not None:
            on_iteration(iteration, variance)
        small = gain <= tol * variance
        if small and beta == 0.0:
            return StationaryPoint(x, gradient, variance, iteration, True)
        beta, last_gain = 0.0 if small else _extrapolation(gain, last_gain), gain
    return StationaryPoint(x, gradient, variance, max_iter, False)


def _extrapolation(gain: float, last_gain: float) -> float:
    """Return half of the step that would end a geometric sequence with gains that shrink at this rate (Aitken)."""
    rate = np.sqrt(min(gain / last_gain, 1.0)) if np.isfinite(last_gain) and last_gain > 0.0 else 0.0
    step = budgets.EXTRAPOLATION_SHARE * rate / max(1.0 - rate, budgets.EXTRAPOLATION_MIN_RATE)
    return float(min(step, budgets.EXTRAPOLATION_MAX))


def projected(
    op: OperatorMixin, k: float, start: Array, *, max_iter: int, tol: float, on_iteration: OnIteration | None = None
) -> StationaryPoint:
    """Iterate z = P(x + Ax / l_1) on the l1 ball, x = z / max(1, |z|_2), which reproduces the paper's table.

    `start` must be the leading eigenvector of A. This is not the projection on the intersection of the two balls,
    and its fixed point is not stationary for the relaxed problem. It stops when x changes by less than tol, relatively,
    or by no more than the rounding of products in the precision of the data.
    """
    tol = max(tol, 4.0 * float(np.finfo(op.dtype).eps))
    x = start / np.linalg.norm(start)
    gradient = op.gram(x)
    largest = float(x @ gradient)
    for iteration in range(1, max_iter + 1):
        z = l1_projection(x + gradient / largest, float(np.sqrt(k)))
        z /= max(1.0, float(np.linalg.norm(z)))
        change = float(np.linalg.norm(z - x))
        x = z
        gradient = op.gram(x)
        if on_iteration is not None:
            on_iteration(iteration, float(x @ gradient))
        if change <= tol * float(np.linalg.norm(x)):
            return StationaryPoint(x, gradient, float(x @ gradient), iteration, True)
    return StationaryPoint(x, gradient, float(x @ gradient), max_iter, False)


SOLVERS = {"linearized": linearized, "projected": projected}


def starting_points(op: OperatorMixin, solver: str) -> list[Array]:
    """Return the leading direction (exactly, for the paper's solver) and the feature of largest variance."""
    paper = solver == "projected"
    leading = leading_pairs(op, 1, tol=budgets.PROJECTED_TOL if paper else budgets.LEADING_TOL).vectors[:, 0]
    largest = np.zeros(op.shape[1])
    largest[int(np.argmax(op.sq_norms))] = 1.0
    return [leading] if paper else [leading, largest]


def best_relaxation(
    op: OperatorMixin, k: float, starts: list[Array], *, solver: str, **options: Unpack[SolverOptions]
) -> Relaxed:
    """Return the best end point of a solver over these starts."""
    ends = [SOLVERS[solver](op, k, x, **options) for x in starts]
    best = max(ends, key=lambda end: end.variance)
    return Relaxed(best.x, best.variance, best.n_iter, best.converged)
