"""The results: one sparse component, and the components of one decomposition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rspca.base.types import Array


@dataclass(frozen=True, kw_only=True, repr=False)
class Component:
    """One sparse component: which features, how strongly, how good, how it was found."""

    support: Array
    """Sorted indices of the features with a loading."""
    loadings: Array
    """Their loadings, of unit Euclidean norm; the largest is positive."""
    variance: float
    """v'X'Xv in the data as they were when this component was found: centered, scaled, deflated. No divisor. Of
    components found together: in the data that those before it leave where adjusted variance was maximized, in X itself
    under the constraints "orthogonal" and "uncorrelated" and on a shared support."""
    n_features: int
    n_iter: int = 1
    converged: bool = True
    """Whether stage 1 ended before `max_iter` steps: at a stationary point or, where a search of a pool of features
    follows, after the few products with X that it is given."""
    passes: float = 0.0
    """Passes over X that it took."""
    relaxed_variance: float | None = None
    inclusion_probability: Array | None = None
    """Rounding probability of each feature: p_i of the relaxed vector that was rounded. Where polishing left that for
    features which it does not use: of the relaxed vector one step of stage 1 from the loadings."""
    swap_optimal: bool | None = None
    """Whether no exchange of one feature for another gains; None if that was not examined."""
    certificate: Any = None
    """A Certificate of this component on the data that the earlier ones left, where that was asked for."""

    def __repr__(self) -> str:
        """Return a summary in one line."""
        return f"Component({len(self.support)} of {self.n_features} features, variance={self.variance:.6g})"

    def dense(self) -> Array:
        """Return the component as a vector with one entry per feature."""
        x = np.zeros(self.n_features)
        x[self.support] = self.loadings
        return x


OnComponent = Callable[[Component], None]
"""Called with each component as it is found, before the search for the next one."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Decomposition:
    """Sparse components of one matrix, in the order in which they were found."""

    components: list[Component]
    method: str
    mean: Array
    scale: Array
    explained_variance: Array
    """Adjusted variance, R_jj^2 of the QR of the scores; no divisor."""
    total_variance: float
    """Trace of X'X, centered and scaled."""
    orthogonality: float
    """Largest |cosine| between two components."""
    score_correlation: float
    """Largest |cosine| between the scores of two components, their correlation for centered data."""
    passes: float
    """Passes over X for the whole decomposition; one more, after it, is for `structure`."""
    structure: Array
    """Correlation of every feature with each score, (n_components, n_features)."""
    reconstruction: Array
    """What each component adds to what the scores explain of X by least squares, |P X|^2; no divisor."""
    has_samples: bool = True
    n_samples: int = 0
    total_weight: float = 0.0
    """Number of samples, or the sum of their weights."""
    fill: Array | None = None
    """What missing values of each feature count as, with missing='mean'."""
    missing_share: Array | None = None
    """Share of each feature that is missing, with missing='mean'."""
    preparation: tuple[str, ...] = ()
    """What was done to the data, in words."""
    taken_off: Any = None
    """What covariates explain of each feature, where there are any."""
    sample_components: list[Component] = field(default_factory=list)
    """The sparse u's of Algorithm 2, with side='both'."""
    joint_gain: float | None = None
    """Adjusted variance over that of the components found one by one, less 1; with joint=True only."""
    joint_certificate: Any = None
    """A JointCertificate of all components, where they were found together and that was asked for."""

    @property
    def loadings(self) -> Array:
        """Components as rows, (n_components, n_features)."""
        return np.vstack([c.dense() for c in self.components])

    def __repr__(self) -> str:
        """Return a summary in one line for each component."""
        ratios = self.explained_variance / self.total_variance
        pairs = zip(self.components, ratios, strict=True)
        lines = [f"  {component!r}, {ratio:.2%} of the variance" for component, ratio in pairs]
        left = f", {len(self.sample_components)} of samples" if self.sample_components else ""
        return "\n".join([f"Decomposition by {self.method!r}, {len(self)} component(s){left}:", *lines])

    def __len__(self) -> int:
        """Return the number of components."""
        return len(self.components)
