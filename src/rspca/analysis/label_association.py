"""How well each component separates the labels of samples: eta squared, a test, and the category that stands out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array

MOST_CATEGORIES = 40
"""Categories up to which a column is tested as labels; more are names rather than labels."""

FEW_SAMPLES = 3
"""Samples below which a category is not named as the one that stands out, unless all are that small."""


class Association(NamedTuple):
    """How a property of the samples goes with the scores of a component."""

    component: int
    """Counted from 0."""
    label: str
    """Name of the property."""
    strength: float
    """Share of the variance of the scores between the categories (eta squared), or squared correlation of numbers."""
    p: float
    """Of the F test that there is no difference, for scores with normal errors of equal spread."""
    adjusted_p: float
    """The same after Holm's correction for all components and properties that were tested."""
    extreme: str | None
    """The category of three samples or more whose mean score is farthest from the mean of all; None for numbers."""
    above: bool
    """Whether that category is above the others, or scores rise with a number."""


def label_associations(
    scores: Array, categories: Mapping[str, Sequence[str | None]], numbers: Mapping[str, Array]
) -> list[Association]:
    """Return the association of each component with each property that can be tested, component by component.

    Categories are tested if there are at least two and at most 40 of them, some with several samples; numbers if they
    differ. Samples whose value is missing, None or NaN, are left out of the tests of a property.
    """
    found = list[Association]()
    for component, score in enumerate(np.asarray(scores, dtype=np.float64).T):
        tested = [_with_categories(score, name, words) for name, words in categories.items()]
        tested += [_with_numbers(score, name, values) for name, values in numbers.items()]
        found += [association._replace(component=component) for association in tested if association is not None]
    corrected = holm([association.p for association in found])
    return [association._replace(adjusted_p=p) for association, p in zip(found, corrected, strict=True)]


def _with_numbers(score: Array, name: str, values: Array) -> Association | None:
    from scipy.stats import pearsonr

    known = np.isfinite(values)
    numbers, own = np.asarray(values, dtype=np.float64)[known], score[known]
    if len(numbers) < 3 or np.ptp(numbers) == 0.0 or np.ptp(own) == 0.0:
        return None
    correlation, p = pearsonr(numbers, own)
    return Association(0, name, float(correlation**2), float(p), float(p), None, bool(correlation > 0.0))


def _with_categories(score: Array, name: str, values: Sequence[str | None]) -> Association | None:
    from scipy.stats import f as f_distribution

    known = np.array([value is not None for value in values])
    words, codes = np.unique([value for value in values if value is not None], return_inverse=True)
    own = score[known]
    if not 2 <= len(words) <= MOST_CATEGORIES or len(words) >= len(own):
        return None
    counts = np.bincount(codes)
    means = np.bincount(codes, own) / counts
    mean = float(own.mean())
    between = float(counts @ (means - mean) ** 2)
    within = float(np.sum((own - means[codes]) ** 2))
    if between + within <= 0.0:
        return None
    degrees = len(words) - 1, len(own) - len(words)
    ratio = np.inf if within == 0.0 else (between / degrees[0]) / (within / degrees[1])
    p = float(f_distribution.sf(ratio, *degrees))
    far = int(np.argmax(np.abs(means - mean) * (counts >= min(FEW_SAMPLES, counts.max()))))
    return Association(0, name, between / (between + within), p, p, str(words[far]), bool(means[far] > mean))


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's method: any of them below a level errs with at most that probability."""
    order = np.argsort(ps, kind="stable")
    stepped = np.maximum.accumulate(np.asarray(ps, dtype=np.float64)[order] * np.arange(len(ps), 0, -1))
    adjusted = np.empty(len(ps))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted.tolist()
