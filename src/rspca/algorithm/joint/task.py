"""What the joint part is given and returns: sparse loadings of several components of one matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm.feature_limits import Choice
from rspca.base.types import Array, Report, no_report
from rspca.operators.base import OperatorMixin


class SparseVector(NamedTuple):
    """The loadings of one component."""

    support: Array
    """Sorted indices of its features."""
    loadings: Array
    """Of unit Euclidean norm, in float64."""


class JointTask(NamedTuple):
    """What several components are computed from together."""

    op: OperatorMixin
    """The data: weighted, centered, scaled, balanced; not deflated."""
    ks: list[int]
    """Features of each component, at most."""
    choice: Choice
    """The features that may be chosen, and their groups."""
    rng: np.random.Generator
    nonnegative: bool = False
    """Whether every loading must be at least zero."""
    report: Report = no_report


class Together(NamedTuple):
    """Components that were found together, in their final order."""

    vectors: list[SparseVector]
    violation: float = 0.0
    """Largest |cosine| of two loadings or scores that the constraint wants to be zero."""
    n_iter: int = 1
    """Sweeps over all components."""
