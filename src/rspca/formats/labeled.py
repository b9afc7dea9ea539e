"""xarray DataArrays as tables: the coordinates of their dims name features and samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.formats.table import Table
from rspca.genetics.selection import check_distinct
from rspca.operators.convert import as_operator
from rspca.operators.labeled import label_names


def table_of_labeled(X: Any) -> Table:
    """Return a DataArray, samples by features, as a table with its coordinates as names."""
    op = as_operator(X)
    features, samples = label_names(X)
    m, n = op.shape
    features = np.array([f"feature{j}" for j in range(n)]) if features is None else features
    samples = np.array([f"sample{i}" for i in range(m)]) if samples is None else samples
    check_distinct("X", features, "feature name", "give each its own")
    return Table(op, features, samples, {}, {"sample": samples})
