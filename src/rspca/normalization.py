"""Unit length for a sparse vector: its own direction (naive), or the best direction on its support (svd)."""

from __future__ import annotations

import numpy as np

from rspca.operators.protocol import Array, OperatorMixin
from rspca.spectral import leading_pairs
from rspca.vectors import oriented

REFIT_TOL = 1e-7


def naive(op: OperatorMixin, support: Array, loadings: Array) -> Array:
    """Return the loadings divided by their Euclidean norm."""
    return oriented(loadings / np.linalg.norm(loadings))


def svd(op: OperatorMixin, support: Array, loadings: Array) -> Array:
    """Return the leading right singular vector of X[:, support]: no vector with this support has more variance."""
    if len(support) == 1:
        return np.ones(1)
    return oriented(leading_pairs(op.restrict(support), 1, loadings, tol=REFIT_TOL).vectors[:, 0])


NORMALIZATIONS = {"svd": svd, "naive": naive}
