"""Unit length for a sparse vector: its own direction (naive), or the best direction on its support (svd)."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.linalg.eigen import DENSE_FEATURES, leading_pairs
from rspca.linalg.vectors import oriented, unit
from rspca.operators.base import OperatorMixin


def naive(op: OperatorMixin, support: Array, loadings: Array) -> Array:
    """Return the loadings divided by their Euclidean norm."""
    return oriented(unit(loadings), op.dtype)


def svd(op: OperatorMixin, support: Array, loadings: Array) -> Array:
    """Return the leading right singular vector of X[:, support]: no vector with this support has more variance."""
    if len(support) == 1:
        return np.ones(1)
    tol = budgets.NORMALIZE_TOL[op.dtype]
    start = _near(loadings, tol) if len(support) > DENSE_FEATURES else None  # few are decomposed without a start
    return oriented(leading_pairs(op.restrict(support), 1, start, tol=tol).vectors[:, 0], op.dtype)


def _near(loadings: Array, tol: float) -> Array:
    """Return the loadings with a little noise: they are a good start unless they are another eigenvector."""
    noise = np.random.default_rng(len(loadings)).standard_normal(len(loadings)) / np.sqrt(len(loadings))
    return unit(loadings) + budgets.NORMALIZE_NOISE * tol * noise


NORMALIZATIONS = {"svd": svd, "naive": naive}
