"""Match the features of a table with those of a model: by name, by word weights, in order."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rspca.base.types import Array
from rspca.formats.table import Table
from rspca.formats.term_weights import TermWeights, document_counts, weigh
from rspca.genetics.alleles import are_snps
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import as_operator, check_finite
from rspca.operators.near_zero import FAR_FROM_ZERO, shifted_to


def scores_by_name(table: Table, names: Array, weights: Array, mean: Array, spread: Array) -> Array:
    """Return scores of a table whose features are others than those of the model, or in another order."""
    where = {str(name): j for j, name in enumerate(table.feature_names)}
    absent = [str(name) for name in names if str(name) not in where]
    if absent:
        shown = ", ".join(absent[:3]) + (", ..." if len(absent) > 3 else "")
        advice = (
            "Give data with these names."
            if table.terms is None
            else "The model does not store the weights of its words (it was saved by an earlier version of rspca, or "
            "was not fitted to documents read by rspca): fit it again on its documents."
        )
        raise ValueError(
            f"The table does not have the features of the fit: {len(absent)} of the {len(names)} that the components "
            f"use are absent ({shown}). {advice}"
        )
    places = [where[str(name)] for name in names]
    widened, means = np.zeros((len(weights), table.shape[1]), weights.dtype), np.zeros(table.shape[1], mean.dtype)
    widened[:, places], means[places] = weights, mean
    return scores_about(table.operator, widened, means, spread)


def weighted_as_in_fit(table: Table, weights: TermWeights) -> Table:
    """Return a table of documents with the weights of a fit: its terms as features, an absent word as a zero.

    Words that the fit does not know are counted in a warning, and so are documents without a known word.
    """
    terms = table.terms
    if terms is None or terms.weights.equals(weights):
        return table
    lost = weights.not_counted_by(terms.weights)
    if lost:
        raise ValueError(
            f"The documents were read without {len(lost)} word(s) of the model, such as {lost[0]!r}: their stop_words, "
            "min_length or max_length are others. Read them with term_weights=model.term_weights_."
        )
    rows, counts, coverage = weigh(weights, terms.counts, terms.words, tuple(map(str, table.sample_names)))
    for note in coverage.notes():
        warnings.warn(note, UserWarning, stacklevel=4)
    return replace(
        table,
        operator=as_operator(rows),
        feature_names=np.array(weights.vocabulary),
        features={"documents": document_counts(counts)},
        terms=replace(terms, weights=weights, coverage=coverage),
        notes=coverage.notes(),
    )


def in_order_of(
    table: Table, components: Array, names: Array | None, features: Mapping[str, Array] | None = None
) -> Array:
    """Return components of named features with their entries in the order of a table, which must have the same ones."""
    if names is None or not table.has_feature_names:
        if table.shape[1] != components.shape[1]:
            have = f"{table.shape[1]} features, the model {components.shape[1]}"
            raise ValueError(f"The table has {have}; give the data that the model was fitted to.")
        return components
    mine, theirs = [str(name) for name in names], [str(name) for name in table.feature_names]
    where = {name: j for j, name in enumerate(mine)}
    others = sorted(set(mine) ^ set(theirs))
    if others:
        raise ValueError(
            f"The table and the model do not have the same features: {len(others)} are in only one of them, such as "
            f"{others[0]}. Give the data that the model was fitted to."
        )
    order = np.array([where[name] for name in theirs], dtype=np.intp)
    if features is not None and are_snps(features) and are_snps(table.features):
        swapped = np.flatnonzero(features["allele_1"][order] != table.features["allele_1"])
        if len(swapped):
            raise ValueError(
                f"The table counts another allele of {theirs[swapped[0]]} than the model; give its own data."
            )
    return components[:, order]


def scores_about(op: OperatorMixin, weights: Array, mean: Array, spread: Array) -> Array:
    """Return the scores (X - 1 mean') weights' of data whose features are those of the model, in order.

    `spread` is that of the scores of the model. Where weights times means are much larger, the means are taken off
    before anything is multiplied: digits of the scores would be lost.
    """
    dtype = np.result_type(op.dtype, weights.dtype)
    far = np.abs(weights * mean) > np.sqrt(FAR_FROM_ZERO[op.dtype]) * spread[:, None]
    op, left = shifted_to(op, mean, far.any(axis=0))
    scores = op.matmat(weights.T) - weights @ left
    check_finite(scores.sum(axis=1, dtype=np.float64), "row")
    return np.asarray(scores, dtype=dtype)
