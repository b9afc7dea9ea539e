"""The correlation circle: features and associates, placed by their correlations with the scores."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from rspca.report.columns import names, numbers

if TYPE_CHECKING:
    from rspca.estimator import SparsePCA

MOST_IN_CIRCLE = 10
"""Features, and associates, of each component that the circle shows."""


def circle(model: SparsePCA, called: Any) -> dict[str, Any] | None:
    """Return the leading features and associates of each component, with their correlations with every score.

    None for one component, which has no plane, and for models that know no correlations.
    """
    if model.n_components_ < 2 or not hasattr(model, "structure_"):
        return None
    every = range(model.n_features_in_)
    leading = [
        [feature.name for feature in model.top_features(j, MOST_IN_CIRCLE, names=every)]
        for j in range(model.n_components_)
    ]
    others = [indices[:MOST_IN_CIRCLE].tolist() for indices in model.associates_]
    used = sorted({index for indices in [*leading, *others] for index in indices})
    if not _known(model.structure_, used):  # a model of an earlier version has only its own features in a row
        return None
    place = {index: number for number, index in enumerate(used)}
    correlations = model.structure_[:, np.array(used)].toarray()
    return {
        "names": [f"x{index}" for index in used] if called is None else names(called, used, "feature"),
        "leading": [[place[index] for index in indices] for indices in leading],
        "associates": [[place[index] for index in indices] for indices in others],
        "correlations": [numbers(row, 3) for row in correlations],
        "centered": bool(model.center),
    }


def _known(rows: Any, used: list[int]) -> bool:
    """Return whether a sparse array stores something at these places of every row."""
    stored = [set(rows.indices[begin:end].tolist()) for begin, end in itertools.pairwise(rows.indptr.tolist())]
    return all(there.issuperset(used) for there in stored)
