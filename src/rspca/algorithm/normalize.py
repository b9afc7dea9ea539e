"""Unit length for a sparse vector: its own direction (naive), or the best direction on its support (svd)."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import oriented, unit
from rspca.operators.base import OperatorMixin


def naive(op: OperatorMixin, support: Array, loadings: Array) -> Array:
    """Return the loadings divided by their Euclidean norm."""
    return oriented(unit(loadings), op.dtype)


def svd(op: OperatorMixin, support: Array, loadings: Array) -> Array:
    """Return the leading right singular vector of X[:, support]: no vector with this support has more variance."""
    if len(support) == 1:
        return np.ones(1)
    # The loadings are a good start unless they are another eigenvector, so a little noise is added.
    direction = unit(loadings)
    noise = np.random.default_rng(len(support)).standard_normal(len(support)) / np.sqrt(len(support))
    tol = budgets.NORMALIZE_TOL[op.dtype]
    start = direction + budgets.NORMALIZE_NOISE * tol * noise
    return oriented(leading_pairs(op.restrict(support), 1, start, tol=tol).vectors[:, 0], op.dtype)


NORMALIZATIONS = {"svd": svd, "naive": naive}
