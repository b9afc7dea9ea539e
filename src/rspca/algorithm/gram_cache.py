"""The Gram matrix of features that several components ask for, computed once and corrected by what was taken off."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin


def gram_of(op: OperatorMixin, features: Array) -> Array:
    """Return X_S'X_S in float64, for a search, as earlier components left it."""
    whole = op.undeflated
    if whole.gram_in_memory or len(features) > budgets.POOL_CACHE_FEATURES:
        return op.gram_matrix(features)
    cache: GramCache = whole.shared_work.setdefault("gram", GramCache(whole.shape[1]))
    gram = op.deflated_gram(cache.matrix(whole, features), features)
    return op.gram_matrix(features) if gram is None else gram


class GramCache:
    """X_S'X_S for a set S that grows by the features that are asked for, and begins anew when it is full."""

    def __init__(self, n_features: int) -> None:
        self._place = np.full(n_features, -1)
        self._features = np.empty(0, dtype=np.intp)
        self._gram = np.empty((0, 0))

    def matrix(self, op: OperatorMixin, features: Array) -> Array:
        """Return X_S'X_S of these features, a copy."""
        missing = features[self._place[features] < 0]
        if len(missing):
            if len(self._features) + len(missing) > budgets.POOL_CACHE_FEATURES:
                self._place[:], self._features, missing = -1, np.empty(0, dtype=np.intp), features
            self._extend(op, missing)
        place = self._place[features]
        return np.array(self._gram[np.ix_(place, place)])

    def _extend(self, op: OperatorMixin, missing: Array) -> None:
        known, count = len(self._features), len(self._features) + len(missing)
        if len(self._gram) < count:
            larger = np.empty((size := min(2 * count, budgets.POOL_CACHE_FEATURES), size))
            larger[:known, :known] = self._gram[:known, :known]
            self._gram = larger
        if known:
            across = op.gram_between(missing, self._features)
            self._gram[known:count, :known], self._gram[:known, known:count] = across, across.T
        self._gram[known:count, known:count] = op.gram_matrix(missing)
        self._place[missing] = np.arange(known, count)
        self._features = np.concatenate([self._features, missing])
