"""MaxComp (Cadima and Jolliffe 1995): the k largest entries of the leading principal component."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from rspca.algorithm.ascent import Tell
from rspca.algorithm.loop import Found, eligible_features, one_after_another
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.algorithm.results import Component, Loop
from rspca.base.checks import check_sparsity
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import top_k
from rspca.operators.base import OperatorMixin


def maxcomp(
    op: OperatorMixin,
    n_components: int,
    k: Any,
    *,
    normalization: str = "svd",
    deflation: str = "schur",
    rng: np.random.Generator | None = None,
    **loop: Unpack[Loop],
) -> list[Component]:
    """Return the k largest entries of each leading component, normalized; `rng` is not used."""

    def find(op: OperatorMixin, k: int, tell: Tell) -> Found:
        v = leading_pairs(op, 1, tol=1e-9).vectors[:, 0]
        support = top_k(np.abs(v), min(k, len(eligible_features(op))))
        return Found(support, NORMALIZATIONS[normalization](op, support, v[support]))

    return one_after_another(find, op, check_sparsity(k, n_components, op.shape[1]), deflation=deflation, **loop)
