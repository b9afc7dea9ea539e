"""Ordinary principal components, dense: what every sparse method is measured against."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from rspca.algorithm.ascent import Tell
from rspca.algorithm.loop import Found, one_after_another
from rspca.algorithm.results import Component, Loop
from rspca.linalg.eigen import leading_pairs
from rspca.operators.base import OperatorMixin


def pca(
    op: OperatorMixin,
    n_components: int,
    k: Any = None,
    *,
    normalization: str = "svd",
    deflation: str = "schur",
    rng: np.random.Generator | None = None,
    **loop: Unpack[Loop],
) -> list[Component]:
    """Return dense principal components; `k` and `rng` are not used, and every normalization leaves them alone."""
    n = op.shape[1]

    def find(op: OperatorMixin, k: int, tell: Tell) -> Found:
        return Found(np.arange(n), leading_pairs(op, 1, tol=1e-9).vectors[:, 0])

    return one_after_another(find, op, [n] * n_components, deflation=deflation, **loop)
