"""The Gram matrix of a pool of features: those that belong to the pools of all components are multiplied only once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin


class LastingGram(NamedTuple):
    """Features, sorted, that all components share, and their Gram matrix in the undeflated X."""

    features: Array
    gram: Array


def gram_of(op: OperatorMixin, features: Array, lasting: Array | None = None) -> Array:
    """Return X_S'X_S in float64, for a search, as earlier components left it; `lasting` are features of every pool."""
    whole = op.undeflated
    if lasting is None or whole.gram_in_memory or len(lasting) > budgets.POOL_SHARED_FEATURES:
        return op.gram_matrix(features)
    if "gram" not in whole.shared_work:
        whole.shared_work["gram"] = LastingGram(lasting, whole.gram_matrix(lasting))
    gram = op.deflated_gram(_extended(whole, whole.shared_work["gram"], features), features)
    return op.gram_matrix(features) if gram is None else gram


def _extended(whole: OperatorMixin, known: LastingGram, features: Array) -> Array:
    """Return the Gram matrix of features in the undeflated X: what is known of it, and products for the others."""
    place = np.minimum(np.searchsorted(known.features, features), len(known.features) - 1)
    old = known.features[place] == features
    gram, new = np.empty((len(features), len(features))), features[~old]
    gram[np.ix_(old, old)] = known.gram[np.ix_(place[old], place[old])]
    if len(new):
        across = whole.gram_between(new, features[old])
        gram[np.ix_(~old, old)], gram[np.ix_(old, ~old)] = across, across.T
        gram[np.ix_(~old, ~old)] = whole.gram_matrix(new)
    return gram
