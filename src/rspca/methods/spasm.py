"""Spasm (Sjöstrand, Clemmensen, Larsen, Einarsson and Ersbøll 2018), soft-threshold mode: SPCA for a large ridge."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rspca.algorithm.loop import Found, eligible_features, numerical_rank
from rspca.base.types import Array, Report
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import soft, spread, top_k
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin

ROUNDING = 1e-14
"""Share of X'Xb that, orthogonal to the earlier auxiliary vectors, is nothing but rounding."""


def spasm(
    op: OperatorMixin,
    ks: list[int],
    report: Report,
    *,
    strict: bool = False,
    tol: float = 1e-9,
    max_iter: int = 300,
) -> Iterator[Found]:
    """Yield what ``spca(X, [], n_components, inf, -k)`` of the Matlab toolbox finds ("naive"); "svd" refits it.

    The problem is that of Zou, Hastie and Tibshirani (2006) as the ridge grows: b_j = soft(A a_j), with auxiliary
    vectors a_j that are orthogonal to each other. X is not deflated. Each component starts from a right singular vector
    of X itself. Ties at the threshold leave fewer than k features. `strict` repeats what the toolbox does for k = n: it
    adds k to all magnitudes instead of thresholding at zero.
    """
    eligible = eligible_features(op)
    starts = leading_pairs(op, len(ks), tol=1e-9)
    auxiliaries = np.empty((op.shape[1], 0))
    for k, a in zip(ks[: numerical_rank(starts.values, op)], starts.vectors.T, strict=False):
        b, converged, iteration = np.zeros(len(a)), False, 0
        while not converged and iteration < max_iter:
            iteration += 1
            before, b = b, sparse_step(op.gram(a), k, eligible, strict=strict)
            converged = float(np.sum((before - b) ** 2)) < tol
            image = op.gram(b)
            report("spasm", iteration, float(b @ image))
            rest = image - auxiliaries @ (auxiliaries.T @ image)
            length = float(np.linalg.norm(rest))
            if length <= ROUNDING * float(np.linalg.norm(image)):  # no direction is left but that of rounding
                break
            a = rest / length
        auxiliaries = np.column_stack([auxiliaries, a])
        support = np.flatnonzero(b)
        yield Found(support, b[support], iteration, converged)


def sparse_step(c: Array, k: int, eligible: Array, *, strict: bool) -> Array:
    """Return c, soft-thresholded at its (k + 1)-th largest magnitude and scaled to unit length."""
    size = np.abs(c[eligible])
    if k < len(eligible):
        level = float(np.partition(size, len(size) - k - 1)[len(size) - k - 1])
    else:
        level = -float(k) if strict and k == len(c) else 0.0
    b = spread(soft(c[eligible], level), eligible, len(c))
    if not b.any():  # all of the largest tie, and the toolbox returns zero: we keep the first k of them
        kept = eligible[top_k(size, k)]
        b = spread(c[kept], kept, len(c))
    return np.asarray(b / np.linalg.norm(b))


SPASM = Method("spasm", spasm, joint=True)
