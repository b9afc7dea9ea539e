"""What a correlation circle shows: the leading features of components, their associates, and the correlations."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from rspca.base.types import Array

MOST_IN_CIRCLE = 10
"""Features, and associates, of each component that the circle shows."""


class Circle(NamedTuple):
    """Features to place by their correlations with the scores."""

    features: list[int]
    """Their numbers, rising."""
    leading: list[list[int]]
    """Largest features of each component, by their place in `features`."""
    associates: list[list[int]]
    """Features that a component does not have and that correlate with its score as much as one that it has."""
    correlations: Array
    """With the score of every component, (n_components, len(features))."""


def circle_of(model: Any) -> Circle | None:
    """Return the circle of a fitted SparsePCA; None if it does not know the correlations.

    A model of an earlier version knows those of each component with its own features only.
    """
    if not hasattr(model, "structure_"):
        return None
    every = range(model.n_features_in_)
    leading = [
        [feature.name for feature in model.top_features(j, MOST_IN_CIRCLE, names=every)]
        for j in range(model.n_components_)
    ]
    others = [indices[:MOST_IN_CIRCLE].tolist() for indices in model.associates_]
    used = sorted({index for indices in [*leading, *others] for index in indices})
    rows = model.structure_
    stored = [set(rows.indices[begin:end].tolist()) for begin, end in itertools.pairwise(rows.indptr.tolist())]
    if not all(there.issuperset(used) for there in stored):
        return None
    place = {index: number for number, index in enumerate(used)}
    return Circle(
        used,
        [[place[index] for index in indices] for indices in leading],
        [[place[index] for index in indices] for indices in others],
        rows[:, np.array(used)].toarray(),
    )
