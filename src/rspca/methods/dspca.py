"""DSPCA (d'Aspremont, El Ghaoui, Jordan and Lanckriet 2007): a semidefinite relaxation, rounded; few features only."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

import numpy as np

from rspca.algorithm.ascent import Tell
from rspca.algorithm.loop import Found, eligible_features, one_after_another
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.results import Component, Loop
from rspca.base.arguments import argument
from rspca.base.checks import TooLarge, check_sparsity
from rspca.certificates.bounds.semidefinite import semidefinite
from rspca.linalg.vectors import top_k
from rspca.operators.base import OperatorMixin

MOST_FEATURES = 500
"""A step is an eigendecomposition of an n x n matrix, and there are hundreds."""


def dspca(
    op: OperatorMixin,
    n_components: int,
    k: Any,
    *,
    normalization: str = "svd",
    deflation: str = "schur",
    rng: np.random.Generator | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    **loop: Unpack[Loop],
) -> list[Component]:
    """Return the k largest entries of the leading eigenvector of the relaxed solution; at most 500 features.

    The relaxation replaces xx' by a positive semidefinite matrix of trace one whose magnitudes sum to at most k.
    `semidefinite` solves it and has its upper bound. `rng` is not used.
    """
    ks = check_sparsity(k, n_components, op.shape[1])
    if op.shape[1] > MOST_FEATURES:
        raise TooLarge(
            f"{argument('method', 'dspca')} works with dense n x n matrices: X has {op.shape[1]} features, at most "
            f"{MOST_FEATURES} are allowed. Choose fewer features first, or another method."
        )
    find = partial(dspca_component, normalization=normalization, tol=tol, max_iter=max_iter)
    return one_after_another(find, op, ks, deflation=deflation, **loop)


def dspca_component(op: OperatorMixin, k: int, tell: Tell, *, normalization: str, tol: float, max_iter: int) -> Found:
    """Return one component: relax, round, normalize."""
    eligible = eligible_features(op)
    k = min(k, len(eligible))
    relaxed = semidefinite(op.gram_block(eligible), k, tol=tol, max_iter=max_iter)
    tell("dspca", relaxed.n_iter, relaxed.upper)
    x = np.linalg.eigh(relaxed.X)[1][:, -1]
    kept = top_k(np.abs(x), k)
    support = eligible[kept]
    return Found(support, NORMALIZATIONS[normalization](op, support, x[kept]), relaxed.n_iter, relaxed.converged)
