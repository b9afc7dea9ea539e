"""Linked SNPs among the features of a component, and what to say of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rspca.base.arguments import argument
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin

NEAR = 10**6
"""Base pairs within which two SNPs of a support are looked at."""
STRONG = 0.5
"""Squared correlation from which they count as linked."""
MUCH = 0.2
"""Share of linked neighbors from which a component is said to show linkage."""
MOST_PAIRS = 128
"""Pairs that are looked at."""


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
