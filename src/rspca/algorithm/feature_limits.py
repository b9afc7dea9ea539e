"""Which features a component may use: those that vary, and at most `most` of each group."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rspca.algorithm import budgets
from rspca.base.arguments import argument
from rspca.base.checks import check_integer, is_missing
from rspca.base.types import Array
from rspca.linalg.vectors import largest_in_columns, top_k, top_k_in_rows


class Groups(NamedTuple):
    """The group of each feature, numbered from 0, and the number of features of one group in a component, at most."""

    labels: Array
    most: int

    def allow(self, support: Array) -> bool:
        """Return whether no group has more of these features than allowed."""
        return len(support) == 0 or int(np.bincount(self.labels[support]).max()) <= self.most


class Choice(NamedTuple):
    """The features that may be chosen, sorted, and their groups, if there are any."""

    features: Array
    groups: Groups | None = None

    @property
    def most(self) -> int:
        """Largest number of features that can be chosen together."""
        if self.groups is None:
            return len(self.features)
        return int(np.minimum(np.bincount(self.groups.labels[self.features]), self.groups.most).sum())

    def largest(self, values: Array, k: int) -> Array:
        """Return the sorted features of the k largest magnitudes.

        With groups: the k largest among the largest of each group. No other choice within the limits has a larger sum,
        because the limits of disjoint groups form a matroid, on which taking the largest first is optimal.
        """
        size = np.abs(values if len(self.features) == len(values) else values[self.features])
        if self.groups is None:
            return np.asarray(self.features[top_k(size, k)])
        within = _largest_of_each(size, self.groups.labels[self.features], self.groups.most)
        return np.asarray(self.features[within[top_k(size[within], k)]])

    def largest_in_columns(self, values: Array, k: int) -> Array:
        """Return a mask of the k largest magnitudes of each column that may be chosen together."""
        chosen = np.zeros(values.shape, dtype=bool)
        if self.groups is None:
            chosen[self.features] = largest_in_columns(np.abs(values[self.features]), k)
        else:
            chosen[self.largest_in_rows(values.T, k).T, np.arange(values.shape[1])] = True
        return chosen

    def largest_in_rows(self, values: Array, k: int) -> Array:
        """Return for each row the sorted features of the k largest magnitudes; ties go to the lowest.

        With groups: as `largest`, but for all rows at once. Of the largest of a row those that their group allows are
        taken; where fewer than k of these are allowed, more of the row is looked at.
        """
        size = np.abs(values if len(self.features) == values.shape[1] else values[:, self.features])
        if self.groups is None:
            return np.asarray(self.features[top_k_in_rows(size, k)])
        labels, (n_rows, n) = self.groups.labels[self.features], size.shape
        out, rows, count = np.empty((n_rows, k), dtype=np.intp), np.arange(n_rows), min(budgets.LIMITED_LOOKS * k, n)
        while len(rows):
            near, values = _decreasing(size[rows], count)
            allowed = _rank_in_group(labels[near]) < self.groups.most
            number = np.cumsum(allowed, axis=1)
            last = np.argmax(number == k, axis=1)  # of a row with fewer than k allowed: 0
            sure = number[:, -1] >= k
            if count < n:  # values that tie for the last place may be beyond what was looked at
                sure &= np.take_along_axis(values, last[:, None], axis=1)[:, 0] > values[:, -1]
            chosen = near[sure][(allowed & (number <= k))[sure]].reshape(-1, k)
            out[rows[sure]] = np.sort(self.features[chosen], axis=1)
            rows, count = rows[~sure], min(2 * count, n)
        return out

    def restricted(self, x: Array) -> Array:
        """Return x with zeros at features that may not be chosen; rounding errors may make these nonzero."""
        if len(self.features) == len(x):
            return x
        out = np.zeros_like(x)
        out[self.features] = x[self.features]
        return out

    def completed(self, preferred: Array, x: Array, values: Array, k: int) -> Array:
        """Return k features: the preferred ones by |x|, as far as groups allow, then those of largest magnitude."""
        if self.groups is None and len(preferred) == k:
            return preferred
        size = np.abs(values)
        top = 2.0 * float(size.max(initial=0.0)) + 1.0
        size[preferred] = top * (1.0 + np.abs(x[preferred]) / max(float(np.abs(x).max(initial=0.0)), 1e-300))
        return self.largest(size, k)

    def allowed(self, some: Array) -> Array:
        """Return those of some features, sorted, that may be chosen."""
        return some[self._has(some)]

    def among(self, some: Array) -> Choice:
        """Return the choice restricted to some features, which are renumbered in their order."""
        allowed = np.flatnonzero(self._has(some))
        return Choice(allowed, None if self.groups is None else self.groups._replace(labels=self.groups.labels[some]))

    def _has(self, some: Array) -> Array:
        places = np.minimum(np.searchsorted(self.features, some), len(self.features) - 1)
        return self.features[places] == some

    def allowed_swaps(self, support: Array, entering: Array) -> Array | bool:
        """Return a mask: which features of the support (rows) may be swapped for which others (columns)."""
        if self.groups is None:
            return True
        inside, outside = self.groups.labels[support], self.groups.labels[entering]
        used = np.bincount(inside, minlength=int(self.groups.labels.max()) + 1)
        return (used[outside] < self.groups.most)[None, :] | (inside[:, None] == outside[None, :])


def _decreasing(sizes: Array, count: int) -> tuple[Array, Array]:
    """Return the places and values of the largest entries of each row, decreasing; of equal ones the first comes first.

    Which of those equal to the last are among them is not certain.
    """
    n = sizes.shape[1]
    places = (
        np.argpartition(sizes, n - count, axis=1)[:, n - count :]
        if count < n
        else np.tile(np.arange(n), (len(sizes), 1))
    )
    places = np.sort(places, axis=1)
    values = np.take_along_axis(sizes, places, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(values, order, axis=1)


def _rank_in_group(labels: Array) -> Array:
    """Return for each entry how many before it in its row have the same label."""
    count = labels.shape[1]
    order = np.argsort(labels, axis=1, kind="stable")
    grouped, places = np.take_along_axis(labels, order, axis=1), np.arange(count)
    begins = np.ones(labels.shape, dtype=bool)
    np.not_equal(grouped[:, 1:], grouped[:, :-1], out=begins[:, 1:])
    rank = np.empty_like(order)
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    np.put_along_axis(rank, order, places - first, axis=1)
    return rank


def _largest_of_each(size: Array, labels: Array, most: int) -> Array:
    """Return the sorted positions of the `most` largest values of each group; ties go to the lowest position."""
    order = np.lexsort((-size, labels))
    grouped = labels[order]
    rank = np.arange(len(order)) - np.searchsorted(grouped, grouped)
    return np.sort(order[rank < most])


def limits(groups: Any, max_per_group: Any, n: int, features: Mapping[str, Array] | None) -> Groups | None:
    """Return the groups of n features from labels, or from a window width in base pairs; None without groups."""
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
        alone = np.array([is_missing(label) or label == "" for label in labels.tolist()], dtype=bool)
        if alone.any():  # a feature without a label is a group of its own
            numbers_of = np.arange(n)
            numbers_of[~alone] = n + np.unique(labels[~alone].astype(str), return_inverse=True)[1].reshape(-1)
            labels = numbers_of
        elif labels.dtype == object:  # names mixed with numbers cannot be sorted
            labels = labels.astype(str)
    return Groups(np.unique(labels, return_inverse=True)[1].reshape(n), most)


def windows(width: int, features: Mapping[str, Array] | None) -> Array:
    """Return a label for each SNP: its chromosome and its window of `width` base pairs."""
    if features is None or "position" not in features or "chromosome" not in features:
        raise ValueError(
            f"{argument('groups', width)} is a window of base pairs, which needs positions: give a table of genotypes, "
            "or one label for each feature."
        )
    _, chromosome = np.unique(features["chromosome"], return_inverse=True)
    window = features["position"] // width
    window = window - window.min()  # negative positions mark variants that PLINK ignores
    return chromosome.reshape(-1) * (int(window.max()) + 1) + window


def binding_limits(groups: Any, max_per_group: Any, X: Any, n: int, k: int) -> Groups | None:
    """Return how many features of each group a component may have, or None where that binds nowhere; refuse large k."""
    found = limits(groups, max_per_group, n, getattr(X, "features", None))
    if found is None:
        return None
    check_enough(found, max_per_group, n, k)
    return found if int(np.bincount(found.labels).max()) > found.most else None


def check_enough(limits: Groups | None, max_per_group: Any, n: int, k: int) -> None:
    """Raise if more features are asked for than the groups give."""
    most = Choice(np.arange(n), limits).most
    if k > most:
        raise ValueError(
            f"{argument('k', k)} features are asked for, but with {argument('max_per_group', max_per_group)} the "
            f"groups give {most} at most; lower {argument('k')}, or raise {argument('max_per_group')}."
        )
