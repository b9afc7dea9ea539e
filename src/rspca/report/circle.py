"""The correlation circle on the page: features and associates, placed by their correlations with the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rspca.analysis.circle import circle_of
from rspca.report.columns import names, numbers
from rspca.report.kinds import Kind

if TYPE_CHECKING:
    from rspca.estimator import SparsePCA


def circle(model: SparsePCA, called: Any, kind: Kind) -> dict[str, Any] | None:
    """Return the circle with names; None for one component, which has no plane, or without correlations."""
    found = circle_of(model) if model.n_components_ > 1 else None
    if found is None:
        return None
    return {
        "names": [f"x{i}" for i in found.features] if called is None else names(called, found.features, kind.feature),
        "leading": found.leading,
        "associates": found.associates,
        "correlations": [numbers(row, 3) for row in found.correlations],
    }
