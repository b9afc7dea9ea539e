"""Data as the algorithm works on them, with what was done to them in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rspca.base.arguments import argument
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import as_operator, check_center, standardize
from rspca.operators.covariates import Covariate, Design, basis_of, design_of
from rspca.operators.missing import check_missing, filled_by_means, with_nan
from rspca.operators.moments import WithMoments
from rspca.operators.projected import Projected
from rspca.operators.sample_weights import checked_weights
from rspca.operators.standardized import Centered, Scaled
from rspca.operators.tall import FormedGram, gram_is_cheaper
from rspca.operators.weighted import weighted, without_unused
from rspca.operators.wrapper import Wrapper


class TakenOff(NamedTuple):
    """What covariates explain of each feature: (design - 1 means') coefficients, in the units of centered, scaled X."""

    covariates: tuple[Covariate, ...]
    means: Array
    coefficients: Array
    """Columns of the design by features."""


class SampleArguments(NamedTuple):
    """What a caller gives for samples beside X, as it was given."""

    sample_weight: Any = None
    covariates: Any = None
    missing: Any = "error"


NOTHING_GIVEN = SampleArguments()


class Samples(NamedTuple):
    """What is known of samples beside X, checked: weights, covariates, and what counts for missing values."""

    weights: Array | None = None
    design: Design | None = None
    missing: str = "error"


def operator_of(X: Any, missing: Any = "error") -> OperatorMixin:
    """Return X as an operator; with missing="mean" values that are masked are missing ones."""
    return as_operator(with_nan(X) if check_missing(missing) == "mean" else X)


def checked_samples(op: OperatorMixin, given: SampleArguments, center: Any) -> Samples:
    """Return what is known of the samples of X, or raise if it does not fit them."""
    sample_weight, covariates, missing = given
    check_missing(missing)
    for name, values in (("sample_weight", sample_weight), ("covariates", covariates)):
        if values is not None:
            check_has_samples(op, name)
    if covariates is not None and not check_center(center):
        raise ValueError(
            f"{argument('covariates')} need {argument('center', True)}: an intercept is one of them, so what is left "
            "has no mean."
        )
    weights = None if sample_weight is None else checked_weights(sample_weight, op.shape[0])
    return Samples(weights, None if covariates is None else design_of(covariates, op.shape[0]), missing)


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
    fill: Array | None = None
    """What missing values of each column count as, with missing="mean"."""
    missing_share: Array | None = None
    """Share of each column that is missing, with missing="mean"."""
    taken_off: TakenOff | None = None
    """What covariates explain, where there are any."""

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
    design: Design | None = None,
    missing: str = "error",
) -> Prepared:
    """Return data filled, weighted, centered, scaled and without covariates, after refusing what cannot be worked on.

    `weights` has how often each sample counts, as `checked_weights` returns it; None if all count once. `design` has
    the covariates. Nothing is copied but arrays with missing values. Tall data are worked on as their Gram matrix, if
    that takes less time for so many components; never for 0 of them.
    """
    rows, words, fill, share = op.shape[0], list[str](), None, None
    if weights is not None:
        words.append(_weight_words(weights))
        op, weights, used = without_unused(op, weights)
        design = design if design is None or used is None else design._replace(matrix=design.matrix[used])
    if missing == "mean" and op.has_samples:
        op, fill, share = filled_by_means(op, weights)
        words = [*_missing_words(share), *words]
    if weights is not None:
        op = weighted(op, weights)
    tall = op.has_samples and gram_is_cheaper(op.shape, n_components)
    if tall and not isinstance(op, Wrapper):
        op = WithMoments(op)
    op = standardize(op, center=center, scale=scale)
    mean, divisor = _affine(op)
    scale, n_samples = scale if isinstance(scale, str) else bool(scale), rows if op.has_samples else 0
    described, total = _description(op, center, scale), op.total_weight if op.has_samples else 0.0
    taken_off = None
    if design is not None:
        words.append(design.in_words())
        basis = basis_of(design, weights)
        op = op.to_float64() if tall else op  # a Gram matrix is in float64, and so must be what is taken off it
        op = Projected(op, basis.Q, basis.errors)
        taken_off = TakenOff(design.covariates, basis.means, basis.combination @ op.loadings.T)
    return Prepared(
        operator=FormedGram(op) if tall else op,
        center=bool(center),
        scale=scale,
        mean=mean,
        divisor=divisor,
        n_samples=n_samples,
        total_weight=total,
        description=(*described, *words),
        fill=fill,
        missing_share=share,
        taken_off=taken_off,
    )


def check_has_samples(op: OperatorMixin, name: str) -> None:
    """Raise if something is given for samples, and the data are a Gram matrix, which has none."""
    if not op.has_samples:
        raise ValueError(f"{argument(name)} is for samples, and a Gram matrix has none; give the data matrix.")


def _weight_words(weights: Array) -> str:
    """Return in words that samples have weights."""
    used = int(np.count_nonzero(weights))
    return f"samples weighted ({used} of {len(weights)} samples, total weight {float(weights.sum()):.10g})"


def _missing_words(share: Array) -> tuple[str, ...]:
    """Return in words that missing values count as means, where there are any."""
    some = int(np.count_nonzero(share))
    return (f"missing values count as the mean of their column ({some} columns have some)",) if some else ()


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


_OF_SAMPLES = ("samples weighted", "covariates projected out")
"""How words about weights and covariates begin."""


def check_said(assumptions: Iterable[str], X: Any, given: SampleArguments, center: bool) -> None:
    """Raise if a certificate is of other weights or covariates of samples than those given."""
    said = [words for words in assumptions if words.startswith(_OF_SAMPLES)]
    samples = checked_samples(operator_of(X, given.missing), given, center)
    words = [] if samples.weights is None else [_weight_words(samples.weights)]
    words += [] if samples.design is None else [samples.design.in_words()]
    if said != words:
        raise ValueError(
            f"The certificate says of samples: {'; '.join(said) or 'nothing'}. What is given says: "
            f"{'; '.join(words) or 'nothing'}. Give the same sample_weight and covariates."
        )


def _description(op: OperatorMixin, center: bool, scale: bool | str) -> tuple[str, ...]:
    """Return in words what a certificate of this data takes for granted."""
    if not op.has_samples:
        return ("the Gram matrix is taken as given",)
    scaled = f"columns scaled ({scale})" if scale is not False else "columns not scaled"
    return ("columns centered" if center else "columns not centered", scaled)
