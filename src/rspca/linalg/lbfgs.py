"""Minimization of a smooth function of many variables by L-BFGS, a step at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array

MEMORY = 12
"""Pairs of steps and changes of the gradient that are kept: the usual choice, not tuned."""
SUFFICIENT = 1e-4
"""Share of the decrease that the gradient promises which a step must reach: the usual choice, not tuned."""
HALVINGS = 12
"""Times that a step is shortened before the search gives up: 4,000 times shorter, not tuned."""


class Point(NamedTuple):
    """Where the search is, with the value and the gradient of the function there."""

    x: Array
    value: float
    gradient: Array


def lbfgs_steps(function: Callable[[Array], tuple[float, Array]], start: Array, first_length: float) -> Iterator[Point]:
    """Yield the start and then a better point after each step, until no step along the search direction is better.

    `function` returns value and gradient; `first_length` is the length of the first step.
    """
    here = Point(start, *function(start))
    yield here
    pairs: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
    while True:
        direction = -_times_inverse(here.gradient, pairs)
        slope = float(direction @ here.gradient)
        if slope >= 0.0:
            pairs.clear()
            direction, slope = -here.gradient, -float(here.gradient @ here.gradient)
        if slope == 0.0 or not np.isfinite(slope):
            return
        length = 1.0 if pairs else first_length / float(np.linalg.norm(direction))
        there = _next_point(function, here, direction, slope, length)
        if there is None:
            if not pairs:
                return
            pairs.clear()
            continue
        step, change = there.x - here.x, there.gradient - here.gradient
        product = float(step @ change)
        if product > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            pairs.append((step, change, product))
        here = there
        yield here


def _next_point(
    function: Callable[[Array], tuple[float, Array]], here: Point, direction: Array, slope: float, length: float
) -> Point | None:
    """Return the first of ever shorter steps that decreases the function enough; None if none does."""
    for _ in range(HALVINGS):
        x = here.x + length * direction
        value, gradient = function(x)
        if value <= here.value + SUFFICIENT * length * slope:
            return Point(x, value, gradient)
        # the least point of the parabola through what is known, within limits
        bend = value - here.value - length * slope
        shorter = -0.5 * slope * length / bend if np.isfinite(bend) and bend > 0.0 else 0.5
        length *= min(max(shorter, 0.1), 0.5)
    return None


def _times_inverse(gradient: Array, pairs: deque[tuple[Array, Array, float]]) -> Array:
    """Return the approximate inverse of the second derivatives times the gradient (Nocedal 1980)."""
    out, factors = gradient.copy(), []
    for step, change, product in reversed(pairs):
        factors.append(float(step @ out) / product)
        out -= factors[-1] * change
    if pairs:
        _, change, product = pairs[-1]
        out *= product / float(change @ change)
    for (step, change, product), factor in zip(pairs, reversed(factors), strict=True):
        out += (factor - float(change @ out) / product) * step
    return out
