"""A model of one study applied to another: features found by name, alleles brought to the same side and strand."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rspca.formats.term_weights import TermWeights, document_counts, weigh
from rspca.operators.protocol import OperatorMixin
from rspca.operators.sources import as_operator, check_finite
from rspca.operators.standardized import FAR_FROM_ZERO, shifted_to
from rspca.tables import Table

Array = NDArray[Any]

_COMPLEMENT = {"A": "T", "T": "A", "C": "G", "G": "C"}
_UNKNOWN = ("0", ".", "N", "")
"""How files write an allele that no one carries."""
USED = ("same", "swapped")
COLUMNS = ("snp", "allele_1", "allele_2")
"""What must be known of features for them to be matched as SNPs."""


class Matched(NamedTuple):
    """Where the SNPs of a model are in another study.

    `status` is "same", "swapped" (the study counts the other allele; its counts are turned round), "ambiguous" (A/T or
    C/G, which look alike on both strands), "different" (other alleles) or "missing" (no such SNP). Only the first two
    are used.
    """

    snps: Array
    status: Array
    columns: Array
    """Column in the other study, -1 where there is none."""

    @property
    def used(self) -> Array:
        """Which SNPs have a part in scores."""
        return np.isin(self.status, USED)

    def unused(self) -> str:
        """Return in words what is left out and why; empty if nothing is."""
        why = Counter(one for one in self.status.tolist() if one not in USED)
        if not why:
            return ""
        reasons = ", ".join(f"{count} {status}" for status, count in sorted(why.items()))
        return f"{sum(why.values())} of the {len(self.snps)} SNPs of the model are not used: {reasons}"


def are_snps(features: Mapping[str, Array] | None) -> bool:
    """Tell whether these features can be matched by name and alleles."""
    return features is not None and all(name in features for name in COLUMNS)


def match_snps(model: Mapping[str, Array], other: Mapping[str, Array], wanted: Array) -> Matched:
    """Return where the wanted SNPs of the model are in the other study, and on which side their alleles are."""
    if all(np.array_equal(model[name], other[name]) for name in COLUMNS):  # one panel: nothing to settle
        return Matched(model["snp"][wanted], np.full(len(wanted), "same", dtype="U9"), wanted)
    places = {name: i for i, name in enumerate(other["snp"].tolist())}
    columns = np.array([places.get(name, -1) for name in model["snp"][wanted].tolist()], dtype=np.intp)
    status = []
    for i, column in zip(wanted, columns, strict=True):
        mine = (str(model["allele_1"][i]), str(model["allele_2"][i]))
        theirs = (str(other["allele_1"][column]), str(other["allele_2"][column]))
        status.append("missing" if column < 0 else _status(mine, theirs))
    return Matched(model["snp"][wanted], np.array(status, dtype="U9"), columns)


def _status(mine: tuple[str, str], theirs: tuple[str, str]) -> str:
    mine, theirs = (mine[0].upper(), mine[1].upper()), (theirs[0].upper(), theirs[1].upper())
    if mine[1] == _other_strand(mine[0]):  # A/T, C/G, AC/GT
        return "ambiguous"
    for one in (mine, (_other_strand(mine[0]), _other_strand(mine[1]))):
        straight, swapped = _agree(one, theirs), _agree(one, theirs[::-1])
        if straight and swapped:
            return "ambiguous"
        if straight or swapped:
            return "same" if straight else "swapped"
    return "different"


def _other_strand(allele: str) -> str:
    return "".join(_COMPLEMENT.get(base, base) for base in reversed(allele))


def _agree(a: tuple[str, str], b: tuple[str, str]) -> bool:
    return all(x == y or x in _UNKNOWN or y in _UNKNOWN for x, y in zip(a, b, strict=True))


def matched_scores(op: OperatorMixin, matched: Matched, weights: Array, mean: Array) -> Array:
    """Return scores of another study: sum over SNPs used of weight times (copies of the model's allele - mean).

    Missing calls, and SNPs that are not used, count as the mean of the model: they add nothing.
    """
    used = matched.used
    weights, mean, swapped = weights[:, used], mean[used], matched.status[used] == "swapped"
    if not used.any():
        raise ValueError("None of the SNPs of the model can be used in this study: " + matched.unused() + ".")
    part = _matched_columns(op, matched.columns[used], np.where(swapped, 2.0 - mean, mean))
    constant = weights @ np.where(swapped, 2.0 - mean, -mean)
    return np.asarray(part.matmat(np.where(swapped, -weights, weights).T) + constant.astype(part.dtype))


def matched_squares(op: OperatorMixin, matched: Matched, mean: Array) -> Array:
    """Return the sum over people of (copies of the model's allele - mean)^2, of SNPs that are all used."""
    if matched.unused():
        raise ValueError(f"{matched.unused()}. Give data with all of them, on a strand that can be told.")
    about = np.where(matched.status == "swapped", 2.0 - mean, mean)
    return _matched_columns(op, matched.columns, about).column_sq_norms(about)


def _matched_columns(op: Any, columns: Array, fill: Array) -> OperatorMixin:
    """Return some columns of a study, with values for its missing calls."""
    if hasattr(op, "filled_with"):
        everywhere = np.array(op.mean)
        everywhere[columns] = fill
        op = op.filled_with(everywhere)
    return op if np.array_equal(columns, np.arange(op.shape[1])) else op.restrict(columns)


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
        table, operator=as_operator(rows), feature_names=np.array(weights.vocabulary),
        features={"documents": document_counts(counts)}, terms=replace(terms, weights=weights, coverage=coverage),
        notes=coverage.notes(),
    )  # fmt: skip


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
            f"The table has not the features of the model: {len(others)} are in one of the two, such as {others[0]}. "
            "Give the data that the model was fitted to."
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
