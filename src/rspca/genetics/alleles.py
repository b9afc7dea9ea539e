"""Match the SNPs of a model with those of another study by name, allele and strand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin

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
        why = Counter(status for status in self.status.tolist() if status not in USED)
        if not why:
            return ""
        reasons = ", ".join(f"{count} {status}" for status, count in sorted(why.items()))
        return f"{sum(why.values())} of the {len(self.snps)} SNPs of the model are not used: {reasons}"


def are_snps(features: Mapping[str, Array] | None) -> bool:
    """Return whether these features can be matched by name and alleles."""
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
    for pair in (mine, (_other_strand(mine[0]), _other_strand(mine[1]))):
        straight, swapped = _agree(pair, theirs), _agree(pair, theirs[::-1])
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


class Counted(NamedTuple):
    """SNPs of a model in another study: copies of the model's allele less the mean are signs * (data - mean)."""

    operator: OperatorMixin
    mean: Array
    signs: Array


def counted_as_in(matched: Matched, op: OperatorMixin, mean: Array) -> Counted:
    """Return the SNPs of a model, all of which must be used, in another study."""
    if matched.unused():
        raise ValueError(f"{matched.unused()}. Give data with all of them, on a strand that is known.")
    swapped = matched.status == "swapped"
    about = np.where(swapped, 2.0 - mean, mean)
    return Counted(_matched_columns(op, matched.columns, about), about, np.where(swapped, -1.0, 1.0))


def _matched_columns(op: Any, columns: Array, fill: Array) -> OperatorMixin:
    """Return some columns of a study, with values for its missing calls."""
    if hasattr(op, "filled_with"):
        everywhere = np.array(op.mean)
        everywhere[columns] = fill
        op = op.filled_with(everywhere)
    return op if np.array_equal(columns, np.arange(op.shape[1])) else op.restrict(columns)
