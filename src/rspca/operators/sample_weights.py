"""Checks of the weights of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import check_length, real_array
from rspca.base.types import Array

LARGEST_RATIO = 1e12
"""Arithmetic: ratio of the largest weight to the smallest that is not 0. Beyond it roots of weights, and products with
them, leave nothing of the samples that count least."""


def checked_weights(weights: Any, n_samples: int, name: str = "sample_weight", *, least: float = 1.0) -> Array:
    """Return weights of samples as float64, one for each, or raise; they are frequencies, which add up to > `least`."""
    if not hasattr(weights, "__len__") and hasattr(weights, "__array__"):
        weights = np.asarray(weights)
    if np.ndim(weights) == 0:
        raise TypeError(
            f"{argument(name, weights)} must have one entry for each of the {n_samples} samples; all of them count "
            "alike without it."
        )
    check_length(name, weights, n_samples, "samples")
    values = real_array(name, weights)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinite values; give 0 to samples that are to be left out.")
    if (values < 0.0).any():
        first = int(np.argmax(values < 0.0))
        raise ValueError(
            f"{name} is negative for sample {first}; weights say how often a sample counts, so they are 0 or more."
        )
    total = float(values.sum())
    if total <= least:
        what = "is zero for every sample" if total == 0.0 else f"adds up to {total:g}"
        raise ValueError(
            f"{name} {what}; weights are frequencies and must add up to more than {least:g}. Multiply normalized "
            "weights by the number of samples."
        )
    used = values[values > 0.0]
    if not np.isfinite(total) or float(used.max()) > LARGEST_RATIO * float(used.min()):
        raise ValueError(
            f"{name} ranges from {used.min():g} to {used.max():g}; at most a factor of {LARGEST_RATIO:g} can be "
            "resolved. Give 0 to samples that hardly count."
        )
    return values
