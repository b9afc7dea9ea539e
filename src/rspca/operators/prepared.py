"""Data as the algorithm works on them, with what was done to them in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rspca.base.arguments import argument
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import standardize
from rspca.operators.moments import WithMoments
from rspca.operators.standardized import Centered, Scaled
from rspca.operators.tall import FormedGram, gram_is_cheaper
from rspca.operators.weighted import weighted
from rspca.operators.wrapper import Wrapper


@dataclass(frozen=True)
class Prepared:
    """An operator that is centered and scaled, and how: whatever is said of it goes into certificates and models."""

    operator: OperatorMixin
    center: bool
    scale: bool | str
    mean: Array
    """What was subtracted from each column."""
    divisor: Array
    """What each column was divided by."""
    n_samples: int
    """Rows of X, 0 for a Gram matrix; the operator has fewer if the Gram matrix was formed."""
    total_weight: float
    """Number of samples, or the sum of their weights: variances have the divisor total_weight - 1."""
    description: tuple[str, ...]
    """The same in words: what a certificate assumes."""

    def with_operator(self, operator: OperatorMixin, *words: str) -> Prepared:
        """Return the same preparation of what was made of the operator since, and what that was in words."""
        return replace(self, operator=operator, description=(*self.description, *words))


def prepared(
    op: OperatorMixin,
    *,
    center: bool,
    scale: bool | str,
    n_components: int = 1,
    weights: Array | None = None,
) -> Prepared:
    """Return data weighted, centered and scaled implicitly, after refusing values that cannot be worked on.

    `weights` has how often each sample counts, as `checked_weights` returns it; None if all count once. Tall data are
    worked on as their Gram matrix, if that takes less time for so many components; never for 0 of them.
    """
    rows = op.shape[0]
    if weights is not None:
        check_has_samples(op, "sample_weight")
        op = weighted(op, weights)
    tall = op.has_samples and gram_is_cheaper(op.shape, n_components)
    if tall and not isinstance(op, Wrapper):
        op = WithMoments(op)
    op = standardize(op, center=center, scale=scale)
    mean, divisor = _affine(op)
    scale, n_samples = scale if isinstance(scale, str) else bool(scale), rows if op.has_samples else 0
    words = _description(op, center, scale) + (() if weights is None else (_weight_words(weights),))
    total = op.total_weight if op.has_samples else 0.0
    return Prepared(FormedGram(op) if tall else op, bool(center), scale, mean, divisor, n_samples, total, words)


def check_has_samples(op: OperatorMixin, name: str) -> None:
    """Raise if something is given for samples, and the data are a Gram matrix, which has none."""
    if not op.has_samples:
        raise ValueError(f"{argument(name)} is for samples, and a Gram matrix has none; give the data matrix.")


def _weight_words(weights: Array) -> str:
    """Return in words that samples have weights."""
    used = int(np.count_nonzero(weights))
    return f"samples weighted ({used} of {len(weights)} samples, total weight {float(weights.sum()):.10g})"


def _affine(op: OperatorMixin) -> tuple[Array, Array]:
    """Return the mean and the divisor that `standardize` put round the data."""
    n = op.shape[1]
    mean, divisor = np.broadcast_to(0.0, n), np.broadcast_to(1.0, n)  # without memory of their own
    if isinstance(op, Scaled):
        constant = op.weights == 0.0  # such columns are left out; they count as not scaled
        divisor, op = 1.0 / np.where(constant, 1.0, op.weights), op.inner
    if isinstance(op, Centered):
        mean = op.mean
    return mean, divisor


def _description(op: OperatorMixin, center: bool, scale: bool | str) -> tuple[str, ...]:
    """Return in words what a certificate of this data takes for granted."""
    if not op.has_samples:
        return ("the Gram matrix is taken as given",)
    scaled = f"columns scaled ({scale})" if scale is not False else "columns not scaled"
    return ("columns centered" if center else "columns not centered", scaled)
