"""PathSPCA (d'Aspremont, Bach and El Ghaoui 2008): add the feature that promises most, and a test of optimality."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rspca.algorithm.loop import Found, eligible_features, longest_column
from rspca.base.arguments import argument
from rspca.base.checks import TooLarge, check_integer
from rspca.base.types import Array, Report
from rspca.certificates.bounds.duals import scores_dual, separating_penalties
from rspca.certificates.certify import rounding_margin
from rspca.linalg.eigen import leading_pairs
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin
from rspca.operators.dense import DenseOperator

MOST_READ = 10**11
"""Entries of X that k products may read: a feature more is a product more."""
ROWS_KEPT = 2**25
"""Entries of the k rows of X'X up to which they are kept."""
MOST_CERTIFIED = 1000
"""Samples or features, whichever are fewer, up to which the test of optimality is made: it is dense."""
PENALTIES = 32
"""Values of rho at which the bound is evaluated."""

Step = Callable[[list[int], Array], tuple[Array, Array]]
"""(features so far, guess) -> leading eigenvector v of A[I, I], and A[:, I] v."""


def greedy(op: OperatorMixin, k: int, report: Report, *, start: int | None = None) -> Found:
    """Return a support grown one feature at a time: I <- I + argmax (x_i'u)^2, u the unit scores of the best on I.

    This is the approximate greedy path; (x_i'u)^2 is a lower bound on what feature i adds. It starts from the feature
    of largest variance (the first, if all are equal), or from `start` while it varies. One product for each feature:
    more than 10^11 entries read are refused. Both normalizations agree. See `certainly_optimal`.
    """
    n, eligible = op.shape[1], eligible_features(op)
    k = min(k, len(eligible))
    step = kept_rows(op, k) if k * n <= ROWS_KEPT else products(op)
    chosen = [start if start is not None and start in eligible else longest_column(op)]
    outside = np.zeros(n, dtype=bool)
    outside[eligible] = True
    v = np.ones(1)
    while True:
        v, gradient = step(chosen, v)
        report("greedy", len(chosen), float(v @ gradient[chosen]))
        if len(chosen) == k:
            break
        outside[chosen[-1]] = False
        joining = int(np.argmax(np.where(outside, np.abs(gradient), -1.0)))
        chosen.append(joining)
        v = np.append(v, gradient[joining] / float(v @ gradient[chosen[:-1]]))  # one power step as the next guess
    order = np.argsort(chosen)
    support = np.array(chosen)[order]
    return Found(support, v[order], len(chosen))


def check_greedy(op: OperatorMixin, ks: list[int], options: dict[str, Any]) -> dict[str, Any]:
    """Refuse a start that is no column, and more products than are worth waiting for."""
    if options["start"] is not None:
        check_integer("start", options["start"], 0, op.shape[1] - 1, " (a column of X)")
    if sum(ks) * op.shape[0] * op.shape[1] > MOST_READ:
        raise TooLarge(
            f"{argument('method', 'greedy')} multiplies by X once for each feature it takes: {sum(ks)} products with a "
            f"matrix of {op.shape[0]} x {op.shape[1]} read more than {MOST_READ:.0e} entries. Lower {argument('k')}, "
            "or choose another method."
        )
    return options


def kept_rows(op: OperatorMixin, k: int) -> Step:
    """Return a step that keeps A[I, :]: one product for the feature that joined, the rest in memory."""
    rows, filled = np.empty((k, op.shape[1])), 0

    def step(chosen: list[int], guess: Array) -> tuple[Array, Array]:
        nonlocal filled
        rows[filled : len(chosen)] = op.gram_rows(np.array(chosen[filled:]))
        filled = len(chosen)
        inside = rows[:filled, chosen]
        # The leading eigenvector of the positive semidefinite A[I, I] is that of its square.
        v = leading_pairs(DenseOperator((inside + inside.T) / 2.0), 1, guess).vectors[:, 0]
        return v, v @ rows[:filled]

    return step


def products(op: OperatorMixin) -> Step:
    """Return a step that keeps nothing: products with the chosen columns, then one with all."""

    def step(chosen: list[int], guess: Array) -> tuple[Array, Array]:
        support = np.array(chosen)
        part = op.restrict(support)
        v = leading_pairs(part, 1, guess).vectors[:, 0]
        return v, op.gradient(part, support, v)

    return step


def certainly_optimal(op: OperatorMixin, support: Array, tol: float = 1e-9) -> bool:
    """Return True only if no support of the same size has more variance, by more than tol, relatively.

    Rounding counts against it, and single-precision data are taken as the exact numbers they are. False says nothing.
    The test succeeds where the support stands out: on data with planted features, or large k.
    """
    if min(op.shape) > MOST_CERTIFIED:
        raise TooLarge(
            f"The test of optimality is dense: {min(op.shape)} samples or features are more than {MOST_CERTIFIED}."
        )
    op = op.to_float64()
    X = _factor(op)
    left, singular, _ = np.linalg.svd(X[:, support], full_matrices=False)
    factor, squares = DenseOperator(X), (X.T @ left[:, 0]) ** 2
    penalties = separating_penalties(squares, support, PENALTIES)
    bounds = [scores_dual(factor, left[:, 0], len(support), rho) for rho in penalties]
    upper = min(bounds, default=np.inf)
    margin = rounding_margin(op, len(support), upper, eligible_features(op))
    return bool(upper + margin <= (1.0 + tol) * singular[0] ** 2)


def _factor(op: OperatorMixin) -> Array:
    """Return a dense X with the X'X of op, of at most as many rows as columns."""
    m, n = op.shape
    if m <= n:
        return np.asarray(op.columns(np.arange(n)), dtype=np.float64)
    values, vectors = np.linalg.eigh(op.gram_block(np.arange(n)))
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


GREEDY = Method("greedy", greedy, check_greedy)
