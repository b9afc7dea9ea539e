"""Scores of new data, their shares and correlations, as a fitted model gives them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import real_array
from rspca.base.types import Array
from rspca.base.user_warnings import warn_caller
from rspca.formats.matching import scores_about, scores_by_name
from rspca.formats.table import Table
from rspca.genetics.alleles import (
    Matched,
    Projected,
    are_snps,
    counted_as_in,
    match_snps,
    matched_scores,
    projected,
)
from rspca.linalg.explained_variance import scores_of
from rspca.linalg.structure import structure_of
from rspca.models.fitted import (
    Model,
    both_have_snps,
    names_agree,
    score_deviations,
    used_features,
    weights_and_means,
)
from rspca.models.inputs import checked_data, filled_data, weighted_data
from rspca.operators.convert import balanced
from rspca.operators.covariates import design_as
from rspca.operators.held_out import Explained, held_out_share
from rspca.operators.prepared import (
    SampleArguments,
    TakenOff,
    checked_samples,
    data_operator,
    operator_of,
    prepared,
)
from rspca.operators.sample_weights import checked_weights


def model_scores(model: Model, X: Any, covariates: Any) -> Array:
    """Return X, centered and scaled as in fit, projected on the components.

    SNPs are found by name and alleles, other features of a table by their names where these differ from those of fit.
    """
    X = weighted_data(model, X)
    if both_have_snps(model, X):
        matched = match_table(model, X)
        if matched.unused():
            warn_caller(f"{matched.unused()}; they count as their mean. match(table) lists them.")
        scores = matched_scores(X.operator, matched, *weights_and_means(model, used_features(model)))
    elif isinstance(X, Table) and not names_agree(model, X):
        used, deviations = used_features(model), score_deviations(model)
        scores = scores_by_name(X, model.feature_names_in_[used], *weights_and_means(model, used), deviations)
    else:
        op = filled_data(model, data_operator(checked_data(model, X, reset=False), model.missing))
        if not op.has_samples:
            raise ValueError("A Gram matrix has no samples, so it has no scores; give the data matrix.")
        _warn_without_means(model)
        scores = scores_about(op, *weights_and_means(model), score_deviations(model))
    explained = _explained_rows(model, covariates, len(scores))
    if explained is None:
        return scores
    along = explained.coefficients @ model.components_.T.astype(float)
    return np.asarray(scores - explained.rows @ along, dtype=scores.dtype)


def _warn_without_means(model: Model) -> None:
    """Warn that scores are not centered if the model was fitted to a Gram matrix, which has no means."""
    if model.center and model.n_samples_ == 0:
        warn_caller("The model was fitted to a Gram matrix, which has no means: X is taken as it is. Center it first.")


def _explained_rows(model: Model, covariates: Any, n_samples: int) -> Explained | None:
    """Return what covariates explain of new samples; refuse them where the fit had none, or the other way."""
    known: TakenOff | None = getattr(model, "covariates_", None)
    if known is None and covariates is not None:
        raise ValueError(f"{argument('covariates')} are given, but the model was fitted without any. Leave them out.")
    if known is None:
        return None
    if covariates is None:
        names = ", ".join(covariate.name for covariate in known.covariates)
        raise ValueError(
            f"The model was fitted with {argument('covariates')} ({names}); give those of these samples too, or "
            "nothing is known of what they explain."
        )
    return Explained(design_as(covariates, known.covariates, n_samples) - known.means, known.coefficients)


def match_table(model: Model, table: Table) -> Matched:
    """Return where the SNPs of the components are in a table of genotypes, and which of them can be used."""
    if not are_snps(getattr(model, "features_", None)) or not are_snps(table.features):
        raise ValueError("SNPs are matched by name and alleles: fit on, and give, a table of genotypes.")
    return match_snps(model.features_, table.features, used_features(model))


def projected_table(model: Model, table: Table, scores: Array | None) -> list[Projected]:
    """Return how many SNPs of each component a table has, and how its scores shrink without the others."""
    matched = match_table(model, table)
    if scores is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what is not used is in the result
            scores = model_scores(model, table, None)
    return projected(matched, model.components_[:, used_features(model)], scores, score_deviations(model))


def rebuilt_data(model: Model, scores: Any) -> Array:
    """Return the least-squares reconstruction from scores T: T pinv(V') in the units of X, plus the mean."""
    T = np.asarray(scores) if getattr(scores, "dtype", None) == np.float32 else real_array("T", scores)
    if not np.isfinite(T).all():
        raise ValueError("T contains NaN or infinite values; scores as transform returns them are needed.")
    if T.ndim != 2 or T.shape[1] != model.n_components_:
        raise ValueError(f"T has shape {T.shape}; scores of {model.n_components_} component(s) are needed.")
    scaled = (T @ np.linalg.pinv(model.components_).T) * model.scale_
    return np.asarray(scaled + model.mean_.astype(model.scale_.dtype))


def share_in_span(model: Model, X: Any, sample_weight: Any, covariates: Any) -> float:
    """Return the share of the variance of X, about the mean of fit, in the span of the components."""
    X = weighted_data(model, X)
    mean, scale = np.asarray(model.mean_, dtype=float), np.asarray(model.scale_, dtype=float)
    if both_have_snps(model, X):
        matched = match_snps(model.features_, X.features, np.arange(model.n_features_in_))
        op, mean, signs = counted_as_in(matched, X.operator, mean)
    else:
        op, signs = data_operator(checked_data(model, X, reset=False), model.missing), np.ones(model.n_features_in_)
        if not op.has_samples:
            raise ValueError("A Gram matrix has no samples, so it cannot be scored; give the data matrix.")
        _warn_without_means(model)
        op = filled_data(model, op)
    return held_out_share(
        op,
        model.components_,
        mean,
        scale,
        signs=signs,
        sample_weight=None if sample_weight is None else checked_weights(sample_weight, op.shape[0], least=0.0),
        explained=_explained_rows(model, covariates, op.shape[0]),
    )


def correlations_with_scores(model: Model, X: Any, sample_weight: Any, covariates: Any) -> Array:
    """Return the correlation of every feature of X with each score, as rows."""
    op = operator_of(checked_data(model, weighted_data(model, X), reset=False), model.missing)
    samples = checked_samples(op, SampleArguments(sample_weight, covariates, model.missing), model.center)
    data = prepared(op, center=model.center, scale=model.scale, n_components=0, **samples._asdict())
    measured, _ = balanced(data.operator)
    scores = scores_of(measured, model.components_.astype(np.float64))
    return structure_of(scores, np.asarray(measured.rmatmat(scores), dtype=np.float64), measured.sq_norms)[0]
