"""Clumps of linked SNPs: each SNP belongs to the most common one near it that it is correlated with in the sample."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from rspca.base.arguments import argument
from rspca.base.types import Array
from rspca.operators.base import OperatorMixin

WINDOW = 500_000
"""Base pairs on either side within which correlations are looked at, as in bigsnpr for r^2 = 0.2."""
BLOCK = 512
"""SNPs that are unpacked at a time, and as many after them as the window has."""
_R2 = re.compile(r"r2:([01]?\.?[0-9]{0,6})", re.IGNORECASE)


def r2_limit(groups: object) -> float | None:
    """Return the limit in groups="r2:0.2"; None for groups of another kind."""
    if not isinstance(groups, str) or not groups.lower().startswith("r2:"):
        return None
    found = _R2.fullmatch(groups.strip())
    if found is None or not any(map(str.isdigit, found[1])) or not 0.0 < float(found[1]) < 1.0:
        raise ValueError(
            f"{argument('groups', groups)}: r2: is followed by a squared correlation between 0 and 1, as in r2:0.2."
        )
    return float(found[1])


def clumps(op: OperatorMixin, features: Mapping[str, Array] | None, r2: float) -> Array:
    """Return the number of the clump of each SNP.

    SNPs are taken by decreasing variance, which is by decreasing frequency of the rarer allele in equilibrium. Each
    that is in no clump yet begins one, with all SNPs within the window that are in none yet and whose squared
    correlation with it is above the limit. Data are read once, a block of SNPs and the window after it at a time.
    """
    if features is None or "position" not in features or "chromosome" not in features:
        raise ValueError(
            f"{argument('groups', f'r2:{r2:g}')} looks at SNPs near each other, which needs positions: give a table of "
            "genotypes, or one label for each feature."
        )
    _, chromosome = np.unique(features["chromosome"], return_inverse=True)
    order = np.lexsort((features["position"], chromosome.reshape(-1)))
    near: list[list[Array]] = [[] for _ in order]
    variances = np.zeros(len(order))
    edges = np.flatnonzero(np.diff(chromosome.reshape(-1)[order])) + 1
    for places in np.split(order, edges):
        _add_correlated(op, places, features["position"][places], r2, near, variances)
    labels = np.full(len(order), -1, dtype=np.intp)
    for place in np.argsort(-variances, kind="stable"):
        if labels[place] < 0:
            labels[place] = place
            for others in near[place]:
                labels[others[labels[others] < 0]] = place
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def _add_correlated(
    op: OperatorMixin, places: Array, positions: Array, r2: float, near: list[list[Array]], variances: Array
) -> None:
    """Add to `near` the correlated SNPs of each SNP of a chromosome; `places` are its columns by position."""
    start, columns, first = 0, np.empty((op.shape[0], 0)), 0  # columns: unit columns of places[first:]
    while start < len(places):
        stop = min(start + BLOCK, len(places))
        last = int(np.searchsorted(positions, positions[stop - 1] + WINDOW, side="right"))
        columns, first = columns[:, start - first :], start
        if last > start + columns.shape[1]:
            more = np.asarray(op.columns(places[start + columns.shape[1] : last]), dtype=np.float64)
            more = more - more.mean(axis=0)
            lengths = np.linalg.norm(more, axis=0)
            variances[places[start + columns.shape[1] : last]] = lengths**2
            columns = np.hstack([columns, more / np.where(lengths > 0.0, lengths, 1.0)])
        squared = (columns[:, : stop - start].T @ columns[:, : last - start]) ** 2
        apart = positions[None, start:last] - positions[start:stop, None]
        rows, others = np.nonzero((squared > r2) & (apart <= WINDOW))
        later = others > rows
        rows, others = places[start + rows[later]], places[start + others[later]]
        for one, other in ((rows, others), (others, rows)) if len(rows) else ():
            by_one = np.argsort(one, kind="stable")
            found, begins = np.unique(one[by_one], return_index=True)
            for place, some in zip(found, np.split(other[by_one], begins[1:]), strict=True):
                near[place].append(some)
        start = stop
