"""Ordinary principal components, dense: what every sparse method is measured against."""

from __future__ import annotations

import numpy as np

from rspca.algorithm.loop import Found
from rspca.base.types import Report
from rspca.linalg.eigen import leading_pairs
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin


def pca(op: OperatorMixin, k: int, report: Report) -> Found:
    """Return the leading principal component, of all features; no normalization changes it."""
    return Found(np.arange(op.shape[1]), leading_pairs(op, 1, tol=1e-9).vectors[:, 0])


PCA = Method("pca", pca, dense=True)
