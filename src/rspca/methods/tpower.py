"""The truncated power method (Yuan and Zhang 2013): multiply by X'X, keep the k largest entries, repeat."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

import numpy as np

from rspca.algorithm.ascent import Tell
from rspca.algorithm.loop import Found, eligible_features, largest_varying, longest_column, one_after_another
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.results import Component, Loop
from rspca.base.checks import check_sparsity, check_vector
from rspca.base.types import Array
from rspca.linalg.vectors import spread
from rspca.operators.base import OperatorMixin


def tpower(
    op: OperatorMixin,
    n_components: int,
    k: Any,
    *,
    normalization: str = "svd",
    deflation: str = "schur",
    rng: np.random.Generator | None = None,
    start: Any = None,
    tol: float = 1e-6,
    max_iter: int = 50,
    **loop: Unpack[Loop],
) -> list[Component]:
    """Return end points of x <- top-k(Ax) / |.|, the loadings as they are ("naive", the original) or refitted.

    The start is `start`, a vector, or the feature of largest variance, as in the authors' program: one gets a local
    optimum near it. The end is where x'A x_before changes by less than tol max A_ii (for correlations that is the
    authors' absolute tolerance), or after max_iter steps. `rng` is not used.
    """
    ks = check_sparsity(k, n_components, op.shape[1])
    vector = None if start is None else check_vector("start", start, op.shape[1])
    find = partial(tpower_component, normalization=normalization, start=vector, tol=tol, max_iter=max_iter)
    return one_after_another(find, op, ks, deflation=deflation, **loop)


def tpower_component(
    op: OperatorMixin, k: int, tell: Tell, *, normalization: str, start: Array | None, tol: float, max_iter: int
) -> Found:
    """Return where the ascent ends; as A is positive semidefinite, x'Ax never decreases."""
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
        tell("tpower", iteration, value)
        if change < enough:
            break
    loadings = NORMALIZATIONS[normalization](op, support, x[support])
    return Found(support, loadings, iteration, change < enough)
