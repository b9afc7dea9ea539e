"""GPower (Journée, Nesterov, Richtárik and Sepulchre 2010), single unit, with the l1 and with the l0 penalty."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rspca.algorithm.deflate import projection
from rspca.algorithm.loop import Found, eligible_features, largest_varying, longest_column
from rspca.base.checks import check_integer, check_real
from rspca.base.types import Array, Report
from rspca.linalg.vectors import soft, spread
from rspca.methods.penalty import Solved, closest_from_above
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin
from rspca.operators.low_rank import LowRankUpdate


class Penalty(NamedTuple):
    """What tells the two apart: the level for a relative penalty, the shrunk products X'x, and the objective."""

    level: Callable[[float, float], float]
    shrink: Callable[[Array, float], Array]
    value: Callable[[Array, float], float]


L1 = Penalty(
    level=lambda rho, longest: rho * longest,
    shrink=soft,
    value=lambda c, level: float(np.sum(np.maximum(np.abs(c) - level, 0.0) ** 2)),
)
L0 = Penalty(
    level=lambda rho, longest: rho * longest**2,
    shrink=lambda c, level: np.where(c**2 > level, c, 0.0),
    value=lambda c, level: float(np.sum(np.maximum(c**2 - level, 0.0))),
)


def gpower(
    penalty: Penalty,
    op: OperatorMixin,
    k: int,
    report: Report,
    *,
    rho: float | None = None,
    start: int | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> Found:
    """Maximize a penalized sum of (x_i'u)^2 over unit u, x_i the columns of X; the loadings are the shrunk X'u.

    l1: sum_i max(|x_i'u| - g, 0)^2 with g = rho max|x_i|, loadings soft(X'u, g). l0: sum_i max((x_i'u)^2 - g, 0) with
    g = rho max|x_i|^2, loadings X'u where (x_i'u)^2 > g. rho in [0, 1) is searched by bisection for k non-zeros: the
    closest from above, of which the k largest are used. With `rho` given, k is not used. The ascent starts from the
    longest column, or from column `start` while it varies. normalization="svd" is the pattern filling of the original
    for l1; for l0 it does none ("naive"). deflation="own" is the original's: X - (Xz)z' for l1, `masked` for l0.
    """
    eligible = eligible_features(op)
    first = start if start is not None and start in eligible else longest_column(op)
    solve = partial(single_unit, op, penalty, start=first, eligible=eligible, tol=tol, max_iter=max_iter, report=report)
    if rho is not None:
        end = solve(rho)
        support = np.flatnonzero(end.x)
    else:
        k = min(k, len(eligible))
        end = solve(0.0) if k == len(eligible) else closest_from_above(solve, k, 0.0, 1.0)
        support = largest_varying(end.x, k, eligible)
    return Found(support, end.x[support], end.n_iter, end.converged)


def check_gpower(op: OperatorMixin, ks: list[int], options: dict[str, Any]) -> dict[str, Any]:
    """Refuse a penalty that leaves nothing, and a start that is no column."""
    rho, start = options["rho"], options["start"]
    if rho is not None and check_real("rho", rho, 0.0) >= 1.0:
        raise ValueError(f"rho={rho!r} must be below 1: from there on no column survives the penalty.")
    if start is not None:
        check_integer("start", start, 0, op.shape[1] - 1, " (a column of X)")
    return options


def masked(op: OperatorMixin, v: Array, scores: Array, earlier: list[Array]) -> OperatorMixin:
    """X - u b', u the unit scores (at a fixed point the u of the ascent), b = X'u on the support of v: the l0 way."""
    u = scores / np.linalg.norm(scores)
    return LowRankUpdate(op, u, np.where(v != 0.0, op.rmatmat(u), 0.0))


def single_unit(
    op: OperatorMixin,
    penalty: Penalty,
    rho: float,
    *,
    start: int,
    eligible: Array,
    tol: float,
    max_iter: int,
    report: Report,
) -> Solved:
    """Climb from one column: z = shrunk X'u, u = Xz / |Xz|, until the objective gains less than tol, relatively.

    u is never formed: X'u = X'Xz / |Xz|, one fused product. As in the original, u is updated once more before the
    test ends the ascent.
    """
    lengths = np.sqrt(op.sq_norms)
    level = penalty.level(rho, float(lengths.max()))
    c, before = _only(op.gram_rows(np.array([start]))[0], eligible) / lengths[start], np.inf
    for iteration in range(1, max_iter + 1):
        value = penalty.value(c, level)
        report("gpower", iteration, value)
        if value == 0.0:
            return Solved(np.zeros(len(c)), iteration, True)
        z = penalty.shrink(c, level)
        product = op.gram(z)
        c = _only(product, eligible) / np.sqrt(z @ product)
        converged = iteration > 2 and value - before < tol * before
        if converged:
            break
        before = value
    z = penalty.shrink(c, level)
    return Solved(z / (np.linalg.norm(z) or 1.0), iteration, converged)


def _only(values: Array, eligible: Array) -> Array:
    return spread(values[eligible], eligible, len(values))


GPOWER_L1 = Method("gpower-l1", partial(gpower, L1), check_gpower, own_deflation=projection)
GPOWER_L0 = Method("gpower-l0", partial(gpower, L0), check_gpower, own_deflation=masked)
