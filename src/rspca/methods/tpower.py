"""The truncated power method (Yuan and Zhang 2013): multiply by X'X, keep the k largest entries, repeat."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.algorithm.loop import Found, eligible_features, largest_varying, longest_column
from rspca.base.checks import check_vector
from rspca.base.types import Array, Report
from rspca.linalg.vectors import spread
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin


def tpower(
    op: OperatorMixin,
    k: int,
    report: Report,
    *,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 50,
) -> Found:
    """Return the end point of x <- top-k(Ax) / |.|; as A is positive semidefinite, x'Ax never decreases.

    The start is `start`, a vector, or the feature of largest variance, as in the authors' program: one gets a local
    optimum near it. The end is where x'A x_before changes by less than tol max A_ii (for correlations that is the
    authors' absolute tolerance), or after max_iter steps. The original keeps the loadings, normalization="naive".
    """
    eligible, diagonal = eligible_features(op), op.sq_norms
    if start is None:
        start = spread(np.ones(1), np.array([longest_column(op)]), len(diagonal))
    x, value, enough = start / np.linalg.norm(start), -np.inf, tol * float(diagonal.max())
    for iteration in range(1, max_iter + 1):
        gradient = op.gram(x)
        support = largest_varying(gradient, k, eligible)
        length = float(np.linalg.norm(gradient[support]))
        if length == 0.0:
            raise ValueError("start is a direction in which X has no variance; give another vector, or leave it out.")
        x = spread(gradient[support] / length, support, len(x))
        change, value = abs(length - value), length  # x'A x_before is the length of what was kept
        report("tpower", iteration, value)
        if change < enough:
            break
    return Found(support, x[support], iteration, change < enough)


def check_tpower(op: OperatorMixin, ks: list[int], options: dict[str, Any]) -> dict[str, Any]:
    """Refuse a start that is no vector of this length."""
    start = options["start"]
    return options if start is None else options | {"start": check_vector("start", start, op.shape[1])}


TPOWER = Method("tpower", tpower, check_tpower)
