"""Limits on the features of each group, where components are certified or searched for."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.algorithm.component import Options, rspca_component
from rspca.algorithm.feature_limits import Choice, Groups, limits
from rspca.algorithm.loop import eligible_features
from rspca.base.arguments import argument
from rspca.base.types import Array, no_report
from rspca.operators.base import OperatorMixin

GROUP_WORDS = "the bound is for supports without a limit on groups, so it holds with one"


def binding_limits(groups: Any, max_per_group: Any, X: Any, n: int, k: int) -> Groups | None:
    """Return how many features of each group a component may have, or None where that binds nowhere; refuse large k."""
    found = limits(groups, max_per_group, n, getattr(X, "features", None))
    if found is None:
        return None
    most = Choice(np.arange(n), found).most
    if k > most:
        raise ValueError(
            f"{argument('k', k)} features are asked for, but with {argument('max_per_group', max_per_group)} the "
            f"groups give {most} at most; lower {argument('k')}, or raise {argument('max_per_group')}."
        )
    return found if int(np.bincount(found.labels).max()) > found.most else None


def check_allowed(limits: Groups | None, support: Array | None) -> None:
    """Raise if a component that is to be certified has more features of a group than allowed."""
    if limits is not None and support is not None and not limits.allow(support):
        raise ValueError(
            f"loadings has more than {argument('max_per_group', limits.most)} feature(s) of one group; give a "
            f"component that keeps to {argument('groups')}, or leave them out."
        )


def allowed_support(op: OperatorMixin, k: int, limits: Groups) -> Array:
    """Return a good support of k features that keeps to the limits."""
    k = min(k, Choice(eligible_features(op), limits).most)
    rng = np.random.default_rng(0)
    return rspca_component(op, k, no_report, options=Options(groups=limits), normalization="svd", rng=rng).support
