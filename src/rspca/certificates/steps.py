"""One step of a proof feature by feature: k features, from a bound for k - 1."""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.elimination import by_blocks, by_variance
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.in_memory import in_memory
from rspca.certificates.progress import Progress
from rspca.certificates.proof_state import Certified
from rspca.certificates.search import variance_of
from rspca.operators.base import OperatorMixin


def step_by_step(
    op: OperatorMixin,
    k: int,
    support: Array,
    lower: float,
    before: Certified | None,
    run: Progress,
    limits: GroupLimits | None = None,
) -> Certified | None:
    """Certify k features from a bound for k - 1, on the features that elimination leaves; None if these are too many.

    The result holds for all features: eliminated features are in no support above `lower`, which is the variance of a
    support that `limits` allow.
    """
    diagonal = precision.sq_norms(op)
    if k == 1 or before is None:
        best = int(np.argmax(diagonal))
        return Certified(1, np.array([best]), float(diagonal[best]), float(diagonal[best]), 1) if k == 1 else None
    # rounding error of a variance, in the products and in the tests
    hidden = 2.0 * precision.sum_error(op) * float(B.top_sum(op.rounding_lengths() ** 2, k))
    least = lower * (1.0 - budgets.LOWER_SLACK) - hidden
    alive = by_variance(diagonal, least, before.upper)
    alive = np.union1d(alive, support)
    if len(alive) > budgets.SURVIVORS:
        return None
    A = op.gram_block(alive)
    left = None if limits is None else limits.among(alive)
    passed = np.union1d(by_blocks(A, k, least, before.upper, limits=left), np.searchsorted(alive, support))
    if len(passed) > budgets.GRAM_FEATURES:
        return None
    A, alive = A[np.ix_(passed, passed)], alive[passed]
    start = np.searchsorted(alive, support)
    inner = Progress(
        start,
        variance_of(A, start),
        tol=run.tol,
        deadline=run.deadline,
        parent=run,
        limits=None if left is None else left.among(passed),
    )
    if len(alive) > k:
        in_memory(inner, A, k)
    else:
        inner.proven("all that is left", inner.lower, 0.0)
    run.nodes += inner.nodes
    return Certified(k, alive[inner.support], inner.lower, max(inner.upper, inner.lower), len(alive))
