"""Constraints hold on every kind of data: dense, sparse, packed, streamed, on a cluster, and in wrappers."""

import numpy as np
import pytest
from support.joint import little_search, random_start, task_of
from support.operators import OPERATORS

from rspca.algorithm.joint.constrained import CONSTRAINTS, constrained

KINDS = [name for name in OPERATORS if "," not in name or name.endswith("standardized_and_score_deflated")]


# issue 17, item 2
@pytest.mark.parametrize("name", KINDS)
def test_constraints_hold_on_every_kind_of_data(name, tmp_path):
    op, X = OPERATORS[name](tmp_path)
    A = X.T @ X
    features = np.flatnonzero(np.diag(A) > 1e-9)
    start = [vector._replace(support=features[vector.support]) for vector in random_start([3, 3], len(features), 1)]
    for constraint in CONSTRAINTS:
        with little_search():
            found = constrained(task_of(op, [3, 3]), start, constraint)
        V = np.zeros((X.shape[1], 2))
        for number, vector in enumerate(found.vectors):
            V[vector.support, number] = vector.loadings
            assert np.linalg.norm(vector.loadings) == pytest.approx(1.0, abs=1e-12)
            assert len(vector.support) == 3
            assert set(vector.support) <= set(features)
        if constraint == "uncorrelated":  # in the data as the operator holds them
            left, right = (op.scores(vector.support, vector.loadings) for vector in found.vectors)
            lengths = np.linalg.norm(left) * np.linalg.norm(right)
            assert abs(left @ right) <= (1e-10 if op.dtype == np.float64 else 1e-5) * lengths
        else:
            assert abs(V[:, 0] @ V[:, 1]) <= 1e-10
        assert found.violation <= 1e-10
