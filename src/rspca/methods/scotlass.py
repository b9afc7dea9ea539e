"""SCoTLASS (Jolliffe, Trendafilov and Uddin 2003): most variance under a bound t on the sum of the |loadings|."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rspca.algorithm.loop import Found, eligible_features, largest_varying
from rspca.algorithm.relax import linearized
from rspca.base.checks import check_real
from rspca.base.types import Report
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import spread
from rspca.methods.penalty import Solved, closest_from_above
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin

ROUNDING = 1e-12
"""Loadings below this share of the largest are zeros that rounding left over."""


def scotlass(
    op: OperatorMixin, k: int, report: Report, *, t: float | None = None, tol: float = 1e-9, max_iter: int = 1000
) -> Found:
    """Return a stationary point of max x'Ax subject to |x|_2 <= 1, |x|_1 <= t, reached from the leading component.

    t in [1, sqrt(n)] is searched by bisection for k non-zeros: the closest from above, of which the k largest are
    used. With `t` given, k is not used. The ascent is that of stage 1 of rspca, with sqrt(k) = t; its first component
    is that of SPC in the R package PMA with sumabsv = t. Components are separated by deflation, not by the
    orthogonality of the original, which destroys zeros.
    """
    eligible, n = eligible_features(op), op.shape[1]
    leading = leading_pairs(op, 1, tol=1e-9).vectors[:, 0]

    def solve(bound: float) -> Solved:
        end = linearized(op, bound**2, leading, max_iter=max_iter, tol=tol, on_iteration=partial(report, "scotlass"))
        size = np.abs(end.x)
        support = eligible[size[eligible] > ROUNDING * size.max()]
        return Solved(spread(end.x[support], support, n), end.n_iter, end.converged)

    if t is not None:
        end = solve(t)
        support = np.flatnonzero(end.x)
    else:
        k = min(k, len(eligible))
        end = solve(np.sqrt(n)) if k == len(eligible) else closest_from_above(solve, k, np.sqrt(n), 1.0)
        support = largest_varying(end.x, k, eligible)
    return Found(support, end.x[support], end.n_iter, end.converged)


def check_scotlass(op: OperatorMixin, ks: list[int], options: dict[str, Any]) -> dict[str, Any]:
    """Refuse a bound below that of a single feature."""
    if options["t"] is not None:
        check_real("t", options["t"], 1.0)
    return options


SCOTLASS = Method("scotlass", scotlass, check_scotlass)
