"""A model as the functions of this folder see it, and small facts of a fitted one."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse

from rspca.algorithm.results import Decomposition
from rspca.base.types import Array
from rspca.formats.table import Table
from rspca.genetics.alleles import are_snps
from rspca.linalg.structure import associates
from rspca.linalg.vectors import nonzeros

MOST_ASSOCIATES = 50
"""Features outside a support whose correlation with the score a model stores, at most."""
LEADING = 20
"""Features and associates of each component, largest first, whose correlation with every score a model stores."""
OPTIONAL = (
    "features_", "feature_names_in_", "term_weights_", "linked_share_", "inclusion_probability_", "missing_share_",
    "missing_fill_", "covariates_", "certificates_", "joint_certificate_", "joint_gain_", "stability_", "structure_",
    "associates_",
)  # fmt: skip
"""Attributes that some fits set and others do not."""


class Model(Protocol):
    """Options and attributes of an estimator; those that not every fit sets are asked for by `getattr`."""

    k: Any
    method: str
    deflation: str
    center: bool
    scale: bool | str
    groups: Any
    max_per_group: int
    missing: str
    certify: bool
    max_iter: int

    components_: Array
    supports_: list[Array]
    n_components_: int
    n_features_in_: int
    n_samples_: int
    n_iter_: int
    mean_: Array
    scale_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    reconstruction_ratio_: Array
    total_weight_: float
    preparation_: tuple[str, ...]
    structure_: scipy.sparse.csr_array
    associates_: list[Array]
    inclusion_probability_: scipy.sparse.csr_array
    certificates_: list[Any]
    joint_certificate_: Any
    joint_gain_: float
    missing_share_: Array
    missing_fill_: Array
    covariates_: Any
    features_: dict[str, Array]
    feature_names_in_: Array
    term_weights_: Any
    linked_share_: Array


def store(model: Model, found: Decomposition, dtype: np.dtype[Any]) -> None:
    """Set the attributes that a fit has, from what was found."""
    divisor = found.total_weight - 1.0 if found.has_samples and found.total_weight > 1.0 else 1.0
    model.components_ = found.loadings.astype(dtype)
    model.supports_ = [component.support for component in found.components]
    model.n_components_ = len(found)
    model.n_samples_ = found.n_samples
    model.mean_ = found.mean  # float64: rounded to single precision a mean may be off by more than the spread
    model.scale_ = found.scale.astype(dtype)
    model.n_iter_ = max(component.n_iter for component in found.components)
    model.explained_variance_ = found.explained_variance / divisor
    model.explained_variance_ratio_ = found.explained_variance / found.total_variance
    if found.joint_certificate is not None:
        model.joint_certificate_ = found.joint_certificate
    elif model.certify:
        model.certificates_ = [component.certificate for component in found.components]
    if found.joint_gain is not None:
        model.joint_gain_ = found.joint_gain
    model.total_weight_ = found.total_weight
    model.preparation_ = found.preparation
    if found.missing_share is not None:
        model.missing_share_, model.missing_fill_ = found.missing_share, np.asarray(found.fill)
    if found.taken_off is not None:
        model.covariates_ = found.taken_off
    drawn = [component.inclusion_probability for component in found.components]
    probabilities = [probability for probability in drawn if probability is not None]
    if probabilities:
        model.inclusion_probability_ = _sparse_rows(probabilities, [nonzeros(one) for one in probabilities])
    model.reconstruction_ratio_ = found.reconstruction / found.total_variance
    _store_structure(model, found.structure)


def _store_structure(model: Model, structure: Array) -> None:
    """Set the associates of each component, and the structure coefficients that reports show."""
    model.associates_ = [
        associates(coefficients, support, MOST_ASSOCIATES)
        for coefficients, support in zip(structure, model.supports_, strict=True)
    ]
    leading = [by_size(model, number)[:LEADING] for number in range(model.n_components_)]
    shown = np.unique(np.concatenate([*leading, *(others[:LEADING] for others in model.associates_)]))
    own = zip(model.supports_, model.associates_, strict=True)
    stored = [np.unique(np.concatenate([shown, support, others])) for support, others in own]
    model.structure_ = _sparse_rows(list(structure), stored)  # zeros are known too


def _sparse_rows(vectors: list[Array], places: list[Array]) -> scipy.sparse.csr_array:
    """Return vectors as the rows of a sparse array that stores what they have at these places."""
    values = [vector[used] for vector, used in zip(vectors, places, strict=True)]
    ends = np.cumsum([0, *(len(used) for used in places)])
    shape = (len(vectors), len(vectors[0]))
    return scipy.sparse.csr_array((np.concatenate(values), np.concatenate(places), ends), shape=shape)


def forget_earlier_fit(model: Model) -> None:
    """Remove what an earlier fit knew and this one may not."""
    for name in OPTIONAL:
        if hasattr(model, name):
            delattr(model, name)


def by_size(model: Model, component: int) -> Array:
    """Return the features of a component by decreasing |loading|."""
    support = model.supports_[component]
    return np.asarray(support[np.argsort(-np.abs(model.components_[component][support]), kind="stable")])


def used_features(model: Model) -> Array:
    """Return the features of all components, sorted."""
    return np.flatnonzero(np.any(model.components_ != 0.0, axis=0))


def weights_and_means(model: Model, features: Any = slice(None)) -> tuple[Array, Array]:
    """Return what turns some columns of X into scores."""
    return model.components_[:, features] / model.scale_[features], model.mean_[features]


def score_deviations(model: Model) -> Array:
    """Return the standard deviation of the scores of each component, as far as earlier ones do not explain it."""
    return np.sqrt(np.maximum(model.explained_variance_, 0.0))


def names_agree(model: Model, table: Table) -> bool:
    """Return whether a table has the features of fit, in their order, as far as their names are known."""
    known = getattr(model, "feature_names_in_", None)
    return known is None or not table.has_feature_names or np.array_equal(known, table.feature_names)


def both_have_snps(model: Model, X: Any) -> bool:
    """Return whether a model and X both know SNPs, so that alleles decide what is counted."""
    known = getattr(model, "features_", None)
    return isinstance(X, Table) and bool(known) and are_snps(known) and are_snps(X.features)
