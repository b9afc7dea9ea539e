"""MaxComp (Cadima and Jolliffe 1995): the k largest entries of the leading principal component."""

from __future__ import annotations

import numpy as np

from rspca.algorithm.loop import Found, eligible_features
from rspca.base.types import Report
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import top_k
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin


def maxcomp(op: OperatorMixin, k: int, report: Report) -> Found:
    """Return the k largest entries of the leading component."""
    v = leading_pairs(op, 1, tol=1e-9).vectors[:, 0]
    support = top_k(np.abs(v), min(k, len(eligible_features(op))))
    return Found(support, v[support])


MAXCOMP = Method("maxcomp", maxcomp)
