"""The soft threshold for many features: entries of the Gram matrix above a level, bounded by connected components.

Let A = S + C, S being A with its entries off the diagonal moved toward zero by rho, so |c_ij| <= rho and c_ii = 0. For
unit x with k non-zeros x'Cx <= rho ((sum |x_i|)^2 - 1) <= (k - 1) rho, and x'Sx <= l_1(S). S has an entry only where
|a_ij| > rho, so l_1(S) is the largest l_1 of the blocks of connected features, and a feature that is alone is its a_ii.
In one block c may be any matrix with |c_ij| <= rho off the diagonal: that of the semidefinite relaxation is better than
the soft threshold, and entries between blocks are below rho anyway.

Rounding. Entries are off by at most e r_i r_j (`precision.sum_error`), which is at most e T_k(r^2) in spectral norm on
k features; twice that is added, for subtracting rho as well. Eigenvalues of blocks are raised by `largest_eigenvalue`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds.gram import largest_eigenvalue, top_sum
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.bounds.semidefinite import dual_part, semidefinite
from rspca.operators.base import OperatorMixin


class KeptEntries:
    """Entries i < j of a Gram matrix whose size is above a level, collected a block of rows at a time.

    Where there are too many, the level rises.
    """

    def __init__(self, level: float) -> None:
        self.level = level
        self._parts: list[tuple[Array, Array, Array]] = []
        self._count = 0

    def add(self, first: int, rows: Array) -> None:
        """Keep what is above the level of rows `first`, `first` + 1, ... of the matrix."""
        i, j = np.nonzero(np.abs(rows) > self.level)
        above = j > i + first
        i, j = i[above], j[above]
        self._parts.append((i + first, j, rows[i, j]))
        self._count += len(i)
        if self._count > budgets.KEPT_ENTRIES:
            whole, column, values = self.entries()
            self.level = float(np.partition(np.abs(values), len(values) // 2)[len(values) // 2])
            above = np.abs(values) > self.level
            self._parts = [(whole[above], column[above], values[above])]
            self._count = int(above.sum())

    def entries(self) -> tuple[Array, Array, Array]:
        """Return rows, columns and values of all entries that are kept."""
        if not self._parts:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
        i, j, values = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        return i, j, values


class Blocks(NamedTuple):
    """The largest eigenvalue of the thresholded matrix, the features of the block with it, and that of all others."""

    largest: float
    features: Array
    others: float


def best_threshold(
    op: OperatorMixin,
    k: int,
    kept: KeptEntries,
    *,
    out_of_time: Callable[[], bool],
    limits: GroupLimits | None = None,
) -> float:
    """Return the least bound over some levels; infinity where even the highest leaves too large a block.

    With `limits`, entries between features that exclude each other count as zero, which changes no x'Ax in question.
    """
    i, j, values = kept.entries()
    diagonal = precision.sq_norms(op)
    slack = 2.0 * precision.sum_error(op) * float(top_sum(op.rounding_lengths() ** 2, k))
    top = max(float(np.abs(values).max(initial=kept.level)), 1e-300)
    best, best_level, blocks = np.inf, top, None

    def at(level: float) -> float:
        nonlocal best, best_level, blocks
        found = blocks_above(diagonal, i, j, values, level)
        if found is None:
            return np.inf
        bound = found.largest + (k - 1) * level + slack
        if bound < best:
            best, best_level, blocks = bound, level, found
        return bound

    # from the highest level, whose blocks are small, down
    levels = np.geomspace(max(top, kept.level), max(kept.level, 1e-300), budgets.THRESHOLD_LEVELS)
    for level in levels:
        value = at(float(level))
        if out_of_time() or value > budgets.HOPELESS_RATIO * best or not np.isfinite(value):
            break
    width = float(levels[0] / levels[1]) if levels[1] > 0.0 else 1.0
    for _ in range(budgets.THRESHOLD_REFINEMENTS):
        width = np.sqrt(width)
        for level in (best_level * width, best_level / width):
            if kept.level <= level and not out_of_time():
                at(float(level))
    if blocks is not None and len(blocks.features) > 1 and not out_of_time():
        best = min(best, relaxed_block(op, k, blocks, best_level, slack, out_of_time, limits))
    return best


def blocks_above(diagonal: Array, i: Array, j: Array, values: Array, level: float) -> Blocks | None:
    """Return the eigenvalues of the blocks of the matrix thresholded at a level; None if a block is too large."""
    n, above = len(diagonal), np.abs(values) > level
    i, j = i[above], j[above]
    moved = np.sign(values[above]) * (np.abs(values[above]) - level)
    graph = scipy.sparse.coo_array((np.ones(len(i), dtype=np.int8), (i, j)), shape=(n, n))
    labels = connected_components(graph, directed=False)[1]
    sizes = np.bincount(labels)
    if sizes.max() > budgets.BLOCK_FEATURES:
        return None
    alone = sizes[labels] == 1
    # two largest of the features that are alone
    single = np.where(alone, diagonal, 0.0)
    features = np.array([int(np.argmax(single))])
    best, others = float(single[features[0]]), float(np.delete(single, features[0]).max(initial=0.0))
    # no eigenvalue of a block exceeds its largest row sum
    sums = diagonal + np.bincount(i, np.abs(moved), n) + np.bincount(j, np.abs(moved), n)
    limits = np.zeros(len(sizes))
    np.maximum.at(limits, labels, sums)
    edge_order = np.argsort(labels[i], kind="stable")
    starts = np.searchsorted(labels[i][edge_order], np.arange(len(sizes) + 1))
    for label in np.argsort(-np.where(sizes > 1, limits, 0.0), kind="stable"):
        if sizes[label] == 1 or limits[label] <= others:
            break
        members = np.flatnonzero(labels == label)
        edges = edge_order[starts[label] : starts[label + 1]]
        S = np.diag(diagonal[members])
        rows, columns = np.searchsorted(members, i[edges]), np.searchsorted(members, j[edges])
        S[rows, columns] = S[columns, rows] = moved[edges]
        value = largest_eigenvalue(S)
        if value > best:
            best, others, features = value, best, members
        else:
            others = max(others, value)
    return Blocks(best, features, others)


def relaxed_block(
    op: OperatorMixin,
    k: int,
    blocks: Blocks,
    level: float,
    slack: float,
    out_of_time: Callable[[], bool],
    limits: GroupLimits | None = None,
) -> float:
    """Return the bound with the semidefinite relaxation in the leading block in place of the soft threshold."""
    if len(blocks.features) > budgets.SEMIDEFINITE_FEATURES:
        return np.inf
    A = op.gram_block(blocks.features)
    A = A if limits is None else limits.among(blocks.features).apart(A)
    np.fill_diagonal(A, precision.sq_norms(op)[blocks.features])
    tol, steps = budgets.SEMIDEFINITE_TOL, budgets.SEMIDEFINITE_STEPS
    part = dual_part(A, semidefinite(A, k, tol=tol, max_iter=steps, out_of_time=out_of_time).multiplier)
    largest = max(largest_eigenvalue(part), blocks.others)
    return largest + (k - 1) * max(level, float(np.abs(A - part).max())) + slack
