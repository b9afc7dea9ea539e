"""Limits on groups in bounds: sums of the largest entries over supports with at most so many features of each group.

The supports that disjoint groups allow are the independent sets of a partition matroid, on which taking the largest
first is optimal: the largest sum of k values is that of the k largest among the `most` largest of each group. A bound
that uses the sum of the k largest of any values is valid with this sum in its place, because its proof needs no more
than that the sum is at least that of every support in question.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.algorithm.feature_limits import Choice, Groups
from rspca.base.types import Array

EPS = float(np.finfo(np.float64).eps)


class GroupLimits:
    """The groups of some features, numbered from 0, and how many features of one group a support may have."""

    def __init__(self, groups: Groups) -> None:
        self.labels, self.most = np.unique(groups.labels, return_inverse=True)[1].reshape(-1), groups.most
        self.sizes = np.bincount(self.labels)
        order = np.argsort(self.labels, kind="stable")
        starts = np.cumsum(self.sizes) - self.sizes
        self._whole = order[self.sizes[self.labels[order]] <= self.most]
        """Features of groups that cannot have too many."""
        larger = self.sizes[self.sizes > self.most]
        self._classes = [
            order[starts[self.sizes == size][:, None] + np.arange(size)] for size in np.unique(larger).tolist()
        ]
        """The other groups, those of one size together, a group a row."""

    @property
    def rank(self) -> int:
        """Largest number of features of a support."""
        return int(np.minimum(self.sizes, self.most).sum())

    @property
    def forbids_pairs(self) -> bool:
        """Whether no two features of one group are ever in one support."""
        return self.most == 1

    def candidates(self, values: Array, axis: int = -1) -> Array:
        """Return the `most` largest values of each group along an axis: no other can be among the best."""
        last = np.moveaxis(values, axis, -1)
        parts = [last[..., self._whole]]
        for members in self._classes:
            size = members.shape[1]
            largest = np.partition(last[..., members], size - self.most, axis=-1)[..., size - self.most :]
            parts.append(largest.reshape(*last.shape[:-1], -1))
        return np.moveaxis(np.concatenate(parts, axis=-1), -1, axis)

    def top(self, values: Array, k: int) -> Array:
        """Return the sorted positions of the support of k features with the largest sum."""
        return Choice(np.arange(len(self.labels)), Groups(self.labels, self.most)).largest(values, k)

    def allow(self, support: Array) -> bool:
        """Return whether no group has more of these features than allowed."""
        return len(support) == 0 or int(np.bincount(self.labels[support]).max()) <= self.most

    def among(self, features: Array) -> GroupLimits:
        """Return the limits for some of the features, renumbered in their order."""
        return GroupLimits(Groups(self.labels[features], self.most))

    def apart(self, rows: Array, own: Array | None = None) -> Array:
        """Return the rows `own` of A, by default all, zero where i and j are two features that exclude each other.

        x_i x_j = 0 there for every x in question, so x'Ax is the same. Nothing changes if a group may have several.
        """
        if not self.forbids_pairs:
            return rows
        own = np.arange(len(rows)) if own is None else own
        same = self.labels[own][:, None] == self.labels
        same[np.arange(len(rows)), own] = False
        return np.where(same, 0.0, rows)

    def room(self, fixed: Array) -> Array:
        """Return how many more features of each group may stand beside these."""
        return np.asarray(self.most - np.bincount(self.labels[fixed], minlength=len(self.sizes)))

    def left(self, fixed: Array, free: Array) -> Room:
        """Return the groups of the free features with the room that the fixed ones leave."""
        return Room(self.labels[free], np.maximum(self.room(fixed), 0))

    def beside(self, fixed: Array, free: Array) -> Array:
        """Return those of `free` whose group has room beside the fixed features."""
        return free[self.room(fixed)[self.labels[free]] > 0]

    def most_beside(self, fixed: Array, free: Array) -> int:
        """Return how many of `free` may stand beside the fixed features together, at most."""
        counts = np.bincount(self.labels[free], minlength=len(self.sizes))
        return int(np.minimum(counts, np.maximum(self.room(fixed), 0)).sum())

    def first_of(self, fixed: Array, ranked: Array, picks: int) -> Array:
        """Return the fixed features with the first of `ranked` that may join them, one after another, up to `picks`."""
        left, labels = self.room(fixed), self.labels[ranked]
        order = np.argsort(labels, kind="stable")
        grouped = labels[order]
        rank = np.empty(len(ranked), dtype=np.intp)
        rank[order] = np.arange(len(ranked)) - np.searchsorted(grouped, grouped)
        return np.concatenate([fixed, ranked[rank < left[labels]][:picks]])

    def exchangeable(self) -> Array:
        """Return E with E[j, i]: j may take the place of i in every support that has i and not j."""
        same = self.labels[:, None] == self.labels
        return np.asarray(same | (self.sizes[self.labels] <= self.most)[:, None])


class Room(NamedTuple):
    """The group of each of some columns that are not in the support yet, and how many of each group may still join."""

    labels: Array
    room: Array

    def top_sum(self, values: Array, k: int) -> float:
        """Return the largest sum of k values, none of them negative, for whose groups there is room."""
        order = np.lexsort((-values, self.labels))
        grouped = self.labels[order]
        rank = np.arange(len(order)) - np.searchsorted(grouped, grouped)
        return float(_largest_sum(values[order[rank < self.room[grouped]]], k))

    def full(self) -> Array:
        """Return for each group whether it has more columns than there is room for."""
        return np.asarray(np.bincount(self.labels, minlength=len(self.room)) > self.room)


def sums_beside(rows: Array, own: Array, k: int, limits: GroupLimits | None) -> Array:
    """Return for each row the largest sum of k - 1 entries that may stand beside its own feature.

    Entries are not negative, and the row's own (column `own`) is zero. Where a group may have several features, its own
    entry is raised to the largest of the row, so that the best k include it, and taken off again; (k + 8) EPS of the
    sum is added, for its rounding.
    """
    if limits is None:
        return _largest_sum(rows, k - 1)
    if limits.forbids_pairs:
        free = np.where(limits.labels[own][:, None] == limits.labels, 0.0, rows)
        return _largest_sum(limits.candidates(free), k - 1)
    raised, peaks = rows.copy(), rows.max(axis=1, initial=0.0)
    raised[np.arange(len(rows)), own] = peaks
    sums = _largest_sum(limits.candidates(raised), k)
    return np.asarray(np.maximum(sums - peaks, 0.0) + (k + 8) * EPS * sums)


def _largest_sum(rows: Array, k: int) -> Array:
    n = rows.shape[-1]
    if k <= 0:
        return np.zeros(rows.shape[:-1])
    return np.asarray((rows if k >= n else np.partition(rows, n - k, axis=-1)[..., n - k :]).sum(axis=-1))


def words_of(groups: Groups | None) -> tuple[str, ...]:
    """Return in words what groups allow; nothing without groups."""
    if groups is None:
        return ()
    features = "1 feature" if groups.most == 1 else f"{groups.most} features"
    return (f"at most {features} of each of {len(np.unique(groups.labels))} group(s)",)
