"""A core of features with good bounds, and what supports can gain by features outside of it.

Let K be any features, the core, E the others, and S a support with s features in K and t = k - s in E. Let y and z be
the parts of a unit x on S in K and in E, f_s >= Z_s(A_KK), and h_i^2 = T_s(a_ij^2, j in K) for i in E. Because
|sum_j a_ij y_j| <= h_i |y|, x'Ax <= f_s |y|^2 + 2 |y| sum_i h_i |z_i| + z'A_EE z. The last term has two bounds.

- z'A_EE z <= sum_i d_i z_i^2 + c |z|^2, d the diagonal, c^2 = (t-1)/t T_t(T_{t-1}(a_ij^2, j != i)), as in
  `gram.remainder`. The sum is then a quadratic form in |y| and the |z_i| whose matrix is an arrow: f_s and d_i + c on
  the diagonal, and h_i beside f_s. By its Schur complement it is at most l if l > d_i + c for all i and
  f_s + sum_i h_i^2 / (l - d_i - c) <= l, where the sum over the t features of S in E is at most T_t.
- z'A_EE z <= e |z|^2, e `gram.frobenius` of t features of E. The form is then one in |y| and |z|, and it is at most l
  if l > e and f_s + T_t(h_i^2) / (l - e) <= l.

So Z_k <= max(f_k, l) for every l that passes one of the two tests for each t from 1 to k. No x'Ax is split into two
matrices, so nothing is paid for a level, as by the soft threshold; a block of features that entries above a level
connect is one choice of K. If l is at most a known variance, no feature of E is in a better support.

Rounding. h_i^2, c and T_t are sums of at most 2 k terms, none negative. l - d_i - c is used only where it is at least
CORE_CLEAR l, so its relative error is at most 4 eps / CORE_CLEAR. `_rounding` covers both, in every comparison. Where
entries of A are off by at most e r_i r_j, x'Ax is by at most e T_k(r^2), whatever the bounds do with it: with f_s and
the other terms computed from entries as they are, the caller adds that to l.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import EPS, frobenius, spectral_fill, spectrum, top_sum


def largest_squares(rows: Array, count: int) -> Array:
    """Return the `count` largest squares of each row, the largest first; fewer if a row has no more entries."""
    squares = rows**2
    n = squares.shape[1]
    count = min(max(count, 0), n)
    chosen = np.partition(squares, n - count, axis=1)[:, n - count :] if 0 < count < n else squares[:, :count]
    return np.asarray(-np.sort(-chosen, axis=1))


def largest_in_columns(blocks: Iterable[Array], count: int) -> Array:
    """Return the `count` largest squares of each column of a matrix that comes a block of rows at a time, as rows."""
    largest: Array | None = None
    for block in blocks:
        found = largest_squares(np.ascontiguousarray(block.T), count)
        largest = found if largest is None else -np.sort(-np.concatenate([largest, found], axis=1), axis=1)[:, :count]
    if largest is None:
        raise ValueError("no rows were given")
    return largest


def sums_from_none(largest: Array, count: int) -> Array:
    """Return T_0, ..., T_count of each row, given its largest entries in order."""
    sums = np.zeros((len(largest), count + 1))
    width = min(count, largest.shape[1])
    np.cumsum(largest[:, :width], axis=1, out=sums[:, 1 : width + 1])
    sums[:, width + 1 :] = sums[:, width : width + 1]
    return sums


def frobenius_bounds(diagonal: Array, largest: Array, k: int) -> Array:
    """Return `gram.frobenius` for 0, 1, ..., k features, given the largest squares of each row off the diagonal."""
    sums = sums_from_none(largest, max(k - 1, 0))
    bounds = [frobenius(diagonal, sums[:, count - 1], count) for count in range(1, k + 1)]
    return np.array([0.0, *bounds]) * (1.0 + _rounding(k))


def split_bounds(A: Array, S: Array, k: int) -> Array:
    """Return for 0, 1, ..., k features the spectral fill of S plus the `gram.remainder` of A - S."""
    pairs, largest = spectrum(S), largest_squares(A - S, k - 1)
    sums, energies = sums_from_none(np.sqrt(largest), k - 1), sums_from_none(largest, k - 1)
    bounds = [0.0]
    for count in range(1, k + 1):
        rest = np.sqrt((count - 1) / count * float(top_sum(energies[:, count - 1], count)))
        bounds.append(spectral_fill(pairs, count) + min(float(sums[:, count - 1].max()), rest))
    return np.array(bounds) * (1.0 + _rounding(k))


class Rest:
    """The features outside of a core: their variances, and the largest squares of their entries with both sides.

    `beside` are the squares with features of the core, `among` those with others (or with all, which is more).
    """

    def __init__(self, diagonal: Array, beside: Array, among: Array, k: int) -> None:
        self.diagonal, self.k = diagonal, k
        self._beside = np.ascontiguousarray(sums_from_none(beside, k).T)
        energies = sums_from_none(among, k - 1)
        most = min(k, len(diagonal))
        self._raised = np.zeros(k + 1)
        for count in range(2, most + 1):
            self._raised[count] = np.sqrt((count - 1) / count * float(top_sum(energies[:, count - 1], count)))
        self._alone = np.zeros(k + 1)
        self._alone[1 : most + 1] = frobenius_bounds(diagonal, among, most)[1:]

    def allows(self, count: int, core: float, value: float) -> bool:
        """Return whether `count` of these features and others of the core, bounded by `core`, surely stay at `value`.

        These are the two tests, `value` being l and `core` f_s.
        """
        rounding = _rounding(self.k)
        links, least = self._beside[self.k - count], budgets.CORE_CLEAR * value
        room = value - self.diagonal - (1.0 + rounding) * self._raised[count]
        if room.min() >= least and core + (1.0 + rounding) * float(top_sum(links / room, count)) <= value:
            return True
        left = value - self._alone[count]
        return bool(left >= least and core + (1.0 + rounding) * float(top_sum(links, count)) / left <= value)

    def excluded(self, core: Array, value: float) -> bool:
        """Return whether no support with one of these features has more than `value`."""
        counts = range(1, min(self.k, len(self.diagonal)) + 1)
        return all(self.allows(count, float(core[self.k - count]), value) for count in counts)

    def least(self, core: Array, start: float, refined: Callable[[int], float]) -> tuple[float, int]:
        """Return the least value from `start` on that passes for every count, and the last count that raised it, or 0.

        `core` are the bounds f_s on the core for s = 0, 1, ..., k; one that matters is replaced by what `refined` says.
        """
        value, raised_by = start, 0
        for count in range(1, min(self.k, len(self.diagonal)) + 1):
            size = self.k - count
            if not self.allows(count, float(core[size]), value):
                core[size] = min(core[size], refined(size))
                if not self.allows(count, float(core[size]), value):
                    value, raised_by = self._passed(count, float(core[size]), value), count
        return value, raised_by

    def _passed(self, count: int, core: float, failed: float) -> float:
        """Return a value that passes, nearly the least, above one that does not."""
        if not np.isfinite(core):
            return np.inf
        step = budgets.CORE_STEP * max(failed, core, float(self.diagonal.max()), float(np.finfo(np.float64).tiny))
        passed = failed + step
        while not self.allows(count, core, passed):
            failed, step = passed, 2.0 * step
            passed = failed + step
        for _ in range(budgets.CORE_BISECTIONS):
            middle = 0.5 * (failed + passed)
            if self.allows(count, core, middle):
                passed = middle
            else:
                failed = middle
        return passed


def _rounding(k: int) -> float:
    """Return a bound on the relative error of the sums, roots and quotients here; see the top of this file."""
    return (8.0 * k + 64.0 + 8.0 / budgets.CORE_CLEAR) * EPS
