"""Features that come in groups: labels or windows of base pairs in, limits out; and a word on linked SNPs."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rspca.arguments import argument
from rspca.checks import check_integer, is_missing
from rspca.choice import Groups
from rspca.operators.protocol import OperatorMixin

Array = NDArray[Any]

NEAR = 10**6
"""Base pairs within which two SNPs of a support are looked at."""
STRONG = 0.5
"""Squared correlation from which they count as linked."""
MUCH = 0.2
"""Share of linked neighbors from which a component is said to show linkage."""
MOST_PAIRS = 128
"""Pairs that are looked at."""


def limits(groups: Any, max_per_group: Any, n: int, features: Mapping[str, Array] | None) -> Groups | None:
    """Return the groups of n features: labels as given, or windows of so many base pairs; None if there are none."""
    most = check_integer("max_per_group", max_per_group, 1)
    if groups is None:
        return None
    if isinstance(groups, numbers.Integral):
        labels = windows(check_integer("groups", groups, 1), features)
    else:
        labels = np.asarray(groups)
        if labels.shape != (n,):
            wanted = f"one label for each of the {n} features, or a width in base pairs"
            raise ValueError(f"groups has shape {labels.shape}; give {wanted}.")
        alone = np.array([is_missing(one) or one == "" for one in labels.tolist()], dtype=bool)
        if alone.any():  # a feature without a label is a group of its own: nothing limits it
            numbers_of = np.arange(n)
            numbers_of[~alone] = n + np.unique(labels[~alone].astype(str), return_inverse=True)[1].reshape(-1)
            labels = numbers_of
        elif labels.dtype == object:  # names mixed with numbers cannot be sorted
            labels = labels.astype(str)
    return Groups(np.unique(labels, return_inverse=True)[1].reshape(n), most)


def windows(width: int, features: Mapping[str, Array] | None) -> Array:
    """Return a label for each SNP: its chromosome, and which window of so many base pairs, side by side, it is in."""
    if features is None or "position" not in features or "chromosome" not in features:
        raise ValueError(
            f"{argument('groups', width)} is a window of base pairs, which needs positions: give a table of genotypes, "
            "or one label for each feature."
        )
    _, chromosome = np.unique(features["chromosome"], return_inverse=True)
    window = features["position"] // width
    window = window - window.min()  # a position may be negative: PLINK's sign for a variant to be left out
    return chromosome.reshape(-1) * (int(window.max()) + 1) + window


def linked_share(op: OperatorMixin, support: Array, features: Mapping[str, Array]) -> float:
    """Return the share of the SNPs of a support that are strongly correlated with the next one near them."""
    chromosome, position = features["chromosome"][support], features["position"][support]
    order = np.lexsort((position, chromosome))
    near = np.diff(position[order]) <= NEAR
    near &= chromosome[order][1:] == chromosome[order][:-1]
    pairs = np.flatnonzero(near)
    if len(support) < 2 or not len(pairs):
        return 0.0
    looked_at = pairs[np.linspace(0, len(pairs) - 1, min(len(pairs), MOST_PAIRS)).astype(int)]
    X = op.columns(support[order[np.concatenate([looked_at, looked_at + 1])]]).astype(np.float64)
    X = X - X.mean(axis=0)
    X /= np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    squared = np.einsum("ij,ij->j", X[:, : len(looked_at)], X[:, len(looked_at) :]) ** 2
    return float(np.mean(squared > STRONG)) * len(pairs) / (len(support) - 1)


def linkage_note(share: float) -> str | None:
    """Return what to say of a component with this share of linked SNPs; None if it is small."""
    if share <= MUCH:
        return None
    return (
        f"{share:.0%} of its SNPs are strongly correlated (r^2 > {STRONG}) with the next one within {NEAR:,} base "
        f"pairs, so it shows linkage as much as structure. Limit that with {argument('groups', 250_000)} (at most one "
        f"SNP in each window of so many base pairs), prune the SNPs, or read without some regions: "
        f"{argument('exclude', 'long-range-ld-hg19')}."
    )
