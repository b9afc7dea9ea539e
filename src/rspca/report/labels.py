"""What components separate: the table of components and labels, and a phrase for each component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rspca.analysis.label_association import label_associations
from rspca.base.types import Array
from rspca.report.columns import decoded, plain_text, sample_column

LEVEL = 0.05
"""Corrected p-value below which an association counts as more than chance."""
NOTEWORTHY = 0.1
"""Share of the variance of the scores from which the overview names a label."""
CLOSE = 0.8
"""Part of the greatest strength from which the overview names the column that colors the scatter instead."""
MOST_LABELS = 12
"""Properties of samples that are tested; a sheet of a hundred measurements is not a set of labels."""


def label_table(scores: Array, columns: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how each component goes with each property of the samples; None if none can be tested."""
    categories, numbers = {}, {}
    for name, values in list(columns.items())[:MOST_LABELS]:
        shown = sample_column(str(name), values)
        if shown["color"] == "category":
            categories[shown["name"]] = [None if word is None else str(word) for word in decoded(shown)]
        elif shown["color"] == "number":
            numbers[shown["name"]] = np.array([np.nan if v is None else v for v in decoded(shown)], dtype=np.float64)
    found = label_associations(scores, categories, numbers)
    if not found:
        return None
    tested = list(dict.fromkeys(association.label for association in found))
    cells: list[list[dict[str, Any] | None]] = [[None] * len(tested) for _ in range(scores.shape[1])]
    for association in found:
        cells[association.component][tested.index(association.label)] = {
            "strength": float(f"{association.strength:.3g}"),
            "p": float(f"{association.adjusted_p:.2g}"),
            "real": association.adjusted_p < LEVEL,
            "extreme": association.extreme,
            "above": association.above,
        }
    return {"names": tested, "rows": cells, "tests": len(found)}


def separated(labels: dict[str, Any] | None, component: int, preferred: str | None) -> str | None:
    """Return in words which label a component separates most, and how much.

    The preferred column is named if it is about as strong as the strongest; another column is named with its label.
    """
    if labels is None:
        return None
    pairs = zip(labels["names"], labels["rows"][component], strict=True)
    counted = [(name, cell) for name, cell in pairs if cell and cell["real"] and cell["strength"] >= NOTEWORTHY]
    if not counted:
        return None
    enough = CLOSE * max(cell["strength"] for _, cell in counted)
    own = None if preferred is None else plain_text(preferred)
    name, cell = max(counted, key=lambda pair: (pair[0] == own and pair[1]["strength"] >= enough, pair[1]["strength"]))
    strength = f"²\N{NO-BREAK SPACE}{cell['strength']:.2f}"
    if cell["extreme"] is None:
        return f"{'rises' if cell['above'] else 'falls'} with {name}, r{strength}"
    column = "" if name == own or len(labels["names"]) == 1 else f" ({name})"
    return f"{'highest' if cell['above'] else 'lowest'} in {cell['extreme']}{column}, eta{strength}"
