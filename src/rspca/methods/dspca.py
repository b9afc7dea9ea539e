"""DSPCA (d'Aspremont, El Ghaoui, Jordan and Lanckriet 2007): a semidefinite relaxation, rounded; few features only."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.algorithm.loop import Found, eligible_features
from rspca.base.arguments import argument
from rspca.base.checks import TooLarge
from rspca.base.types import Report
from rspca.certificates.bounds.semidefinite import semidefinite
from rspca.linalg.vectors import top_k
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin

MOST_FEATURES = 500
"""A step is an eigendecomposition of an n x n matrix, and there are hundreds."""


def dspca(op: OperatorMixin, k: int, report: Report, *, tol: float = 1e-3, max_iter: int = 1000) -> Found:
    """Return the k largest entries of the leading eigenvector of the relaxed solution; at most 500 features.

    The relaxation replaces xx' by a positive semidefinite matrix of trace one whose magnitudes sum to at most k.
    `semidefinite` solves it and has its upper bound.
    """
    eligible = eligible_features(op)
    k = min(k, len(eligible))
    relaxed = semidefinite(op.gram_block(eligible), k, tol=tol, max_iter=max_iter)
    report("dspca", relaxed.n_iter, relaxed.upper)
    x = np.linalg.eigh(relaxed.X)[1][:, -1]
    largest = top_k(np.abs(x), k)
    return Found(eligible[largest], x[largest], relaxed.n_iter, relaxed.converged)


def check_dspca(op: OperatorMixin, ks: list[int], options: dict[str, Any]) -> dict[str, Any]:
    """Refuse more features than a dense matrix is made for."""
    if op.shape[1] > MOST_FEATURES:
        raise TooLarge(
            f"{argument('method', 'dspca')} works with dense n x n matrices: X has {op.shape[1]} features, at most "
            f"{MOST_FEATURES} are allowed. Choose fewer features first, or another method."
        )
    return options


DSPCA = Method("dspca", dspca, check_dspca)
