"""The dual in the space of scores for any vectors y: its statement, its proof, its rounding, and what it eliminates.

Let a_i be the columns, rho > 0, F a set of features that are in the support (none at the root), and y_i = 0 where
|a_i|^2 <= rho, otherwise any vector with (a_i'y_i)^2 >= (|a_i|^2 - rho)(rho + |y_i|^2). Then no support S of k features
that contains F has more variance than (k - |F|) rho + l_1(G), G = sum over F of a_i a_i' + sum over the others of
y_i y_i'.

Proof. By Sherman and Morrison a'(rho I + y y')^{-1} a = (|a|^2 - (a'y)^2 / (rho + |y|^2)) / rho, so the condition says
that this is at most 1, which is to say y y' >= a a' - rho I (for y = 0 as well). So for |w| = 1 the variance of S along
w, sum over S of (a_i'w)^2, is at most sum over F of (a_i'w)^2 + (k - |F|) rho + sum over S - F of (y_i'w)^2.

Penalties of groups. Each column may have a rho_i > 0 of its own in place of rho; sum over S - F of rho_i then takes the
place of (k - |F|) rho, and is at most the largest such sum over the supports that groups allow (`Room.top_sum`). The
relaxation proposes rho_i = max(rho, s_g) for the columns of group g, but any are valid. Where a column is in S for
certain, those of the others sum to at most the largest sum of one fewer.

Elimination. If i is not in F but in S, a_i stands for itself: the variance is at most (k - |F| - 1) rho +
l_1(G + a_i a_i' - y_i y_i'). If it is not in S, y_i is not needed: (k - |F|) rho + l_1(G - y_i y_i').

Rounding. a and y are numbers in memory, so only the check of the condition and G have errors. With u the rounding unit,
EPS = 2 u, and p the length of columns: |a|^2 is known to p u |a|^2, so e = |a|^2 - rho + (p + 64) EPS |a|^2 is at least
|a|^2 - rho. Stretching y by s gives the condition s^2 ((a'y)^2 - e |y|^2) >= e rho. The computed (a'y)^2 - e |y|^2 is
off by at most (4 p + 16) u |a|^2 |y|^2, rounding the entries of s y included. err = (4 p + 64) EPS ((a'y)^2 + (|a|^2 +
rho) |y|^2) is twice that and more; s^2 = e rho / (difference - err) has the rest of it for its own rounding. Where the
difference is not clearly above err, y = a sqrt(e / |a|^2) is used, which satisfies the condition exactly; rounding its
entries changes y y' by at most 2 EPS |a|^2 I, so k times that is added for the longest such column. A sum of n terms
y y' is off by at most n u sum |y_i|^2 in spectral norm. The sum of k penalties of groups is off by at most k u times
it, and (k + 8) EPS times it are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import EPS, largest_eigenvalue
from rspca.certificates.bounds.limits import GroupLimits, Room
from rspca.certificates.bounds.score_columns import ScoreColumns
from rspca.certificates.bounds.score_relaxation import Dual
from rspca.certificates.bounds.spectra import has_cholesky, power_value


class CheckedDual(NamedTuple):
    """A proven bound on all supports that contain the fixed features, and what it was computed from."""

    upper: float
    rho: float
    """What one feature less pays less in penalties, at least: rho without groups."""
    G: Array
    margin: float
    """What of `upper` is rounding."""
    each: Array
    """The penalty of each column."""
    paid: float
    """What the features that are not fixed pay at most."""


def checked_dual(
    columns: ScoreColumns, dual: Dual, k: int, fixed: Array | None = None, limits: GroupLimits | None = None
) -> CheckedDual:
    """Return the bound of a dual; `fixed` are numbers of columns. Columns that are left out are no longer than rho.

    With `limits` on the columns, supports are those that groups allow. Columns that are left out have the penalty rho,
    and for sums of penalties no group limits them.
    """
    rho = max(dual.rho, columns.longest_outside, float(np.finfo(np.float64).tiny))
    each = np.full(columns.count, rho) if dual.each is None else np.maximum(dual.each, rho)
    inside = np.zeros(columns.count, dtype=bool)
    inside[[] if fixed is None else fixed] = True
    G, squares, rough = np.zeros((columns.length, columns.length)), 0.0, 0.0
    for part, a, y, is_rough in _terms(columns, dual, each):
        terms = np.where(inside[part], a, y)
        G += terms @ terms.T
        squares += float(np.einsum("ij,ij->", terms, terms))
        rough = max(rough, float(np.einsum("ij,ij->j", a, a)[is_rough].max(initial=0.0)))
    picks = k - int(inside.sum())
    largest = largest_above(G)
    margin = (columns.count + 64) * EPS * squares + picks * 4.0 * EPS * rough
    paid, paid_less = picks * rho, (picks - 1) * rho
    if dual.each is not None:
        paid, paid_less = _penalties(each[~inside], inside, rho, picks, limits)
        margin += (picks + 8) * EPS * paid
    value = paid + largest + margin
    if not np.isfinite(value):
        return CheckedDual(np.inf, rho, G, np.inf, each, paid)
    value = value * (1.0 + 8.0 * EPS)
    less = rho if dual.each is None else paid - paid_less
    return CheckedDual(value + columns.margin(k, value), less, G, margin + columns.margin(k, value), each, paid)


def _penalties(each: Array, inside: Array, rho: float, picks: int, limits: GroupLimits | None) -> tuple[float, float]:
    """Return the most that `picks` columns pay, and one fewer; columns that are left out may be any of them."""
    values = np.append(each, np.full(picks, rho))
    if limits is None:
        room = Room(np.arange(len(values)), np.ones(len(values), dtype=np.intp))
    else:
        labels, left = limits.left(np.flatnonzero(inside), np.flatnonzero(~inside))
        others = len(left) + np.arange(picks)
        room = Room(np.append(labels, others), np.append(left, np.ones(picks, dtype=np.intp)))
    return room.top_sum(values, picks), room.top_sum(values, picks - 1)


def _terms(columns: ScoreColumns, dual: Dual, each: Array) -> Iterator[tuple[slice, Array, Array, Array]]:
    """Yield columns a, their y, and whether y is a multiple of a, a block at a time."""
    for part in columns.parts():
        a = columns.block(part)
        yield part, a, *_condition_met(a, _proposed(columns, dual, a, each[part], dual.mu[part]), each[part])


def _proposed(columns: ScoreColumns, dual: Dual, a: Array, rho: Array, mu: Array) -> Array:
    """Return y up to its length: c_j / (mu + rho x_j) in the eigenvectors of M, and alike in all other directions."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factors = 1.0 / (mu + rho * dual.weights[:, None])
        rest = 1.0 / (mu + rho * dual.other_weight) if dual.other_weight else np.zeros(len(mu))
        rotated = dual.directions.T @ columns.head(a)
        y = columns.from_head(dual.directions @ (rotated * (factors - rest))) + a * rest
        return np.asarray(y / np.linalg.norm(y, axis=0))


def _condition_met(a: Array, y: Array, rho: Array) -> tuple[Array, Array]:
    """Return y stretched until the condition surely holds, and where y is a multiple of a instead."""
    p = len(a)
    lengths = np.einsum("ij,ij->j", a, a)
    e = lengths * (1.0 + (p + 64) * EPS) - rho
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inner, size = np.einsum("ij,ij->j", a, y), np.einsum("ij,ij->j", y, y)
        difference = inner**2 - e * size
        err = (4 * p + 64) * EPS * (inner**2 + (lengths + rho) * size)
        stretched = y * np.sqrt(rho * e / (difference - err))
        along = a * np.sqrt(np.maximum(e, 0.0) / np.where(lengths > 0.0, lengths, 1.0))
        usable = (difference > budgets.DUAL_CLEAR * err) & np.isfinite(stretched).all(axis=0)
    long = e > 0.0
    return np.where(long & usable, stretched, np.where(long, along, 0.0)), long & ~usable


def largest_above(G: Array) -> float:
    """Return an upper bound on l_1(G): computed where G is small, else confirmed by a Cholesky factorization."""
    if len(G) <= budgets.EIGENVALUE_SIDE:
        return largest_eigenvalue(G)
    n, start = len(G), power_value(G)
    for excess in budgets.DUAL_CHOLESKY_FACTORS:
        t = start * (1.0 + excess)
        if has_cholesky(t, G):
            return float(t + 2.0 * (n + 2) * EPS * (n * t))
    return float(np.linalg.norm(G))


class Excluded(NamedTuple):
    """Which columns may still be in a support that reaches a variance, and which of them must be."""

    possible: Array
    needed: Array


def excluded(
    columns: ScoreColumns, dual: Dual, checked: CheckedDual, k: int, least: float, fixed: Array | None = None
) -> Excluded:
    """Return what a dual says of single columns: numbers of those that may be in a support that reaches `least`.

    With t = least - (k - |F| - 1) rho above l_1(G), l_1(G + a a' - y y') < t if and only if a'(t I - G + y y')^{-1} a
    < 1, which is a'Pa - (a'Py)^2 / (1 + y'Py), P = (t I - G)^{-1}. Only t that exceed l_1(G) by 1e-5 of it are used, so
    that rounding in P a is at most 1e5 p EPS, and the test asks for 1 - 1e-4, which allows for a thousand times that.
    Where G is large P is not computed: see `_possible_by_cholesky`.
    A column is needed if l_1(G - y y') < least - (k - |F|) rho =: t, here t <= l_1(G), which holds if t I - G has one
    negative eigenvalue and 1 + y'Py < 0, as the determinant of t I - G + y y' then is positive. Penalties of groups
    have their sums in place of (k - |F| - 1) rho and (k - |F|) rho.
    """
    inside = np.zeros(columns.count, dtype=bool)
    inside[[] if fixed is None else fixed] = True
    everything = np.arange(columns.count)
    if len(checked.G) > budgets.EIGENVALUE_SIDE:
        reach = least - (checked.paid - checked.rho) - checked.margin
        return Excluded(
            np.flatnonzero(_possible_by_cholesky(columns, dual, checked, reach) | inside), np.flatnonzero(inside)
        )
    values, vectors = np.linalg.eigh(checked.G)
    slack = checked.margin + 1e-9 * float(abs(values).max(initial=0.0))
    paid = checked.paid
    with_it = least - (paid - checked.rho) - slack
    without = least - paid - slack
    possible, needed = np.ones(columns.count, dtype=bool), inside.copy()
    apart = 1e-5 * float(values[-1])
    can_exclude = with_it - float(values[-1]) > apart
    gaps = without - values
    can_need = bool(gaps[-1] < -apart and (len(gaps) == 1 or gaps[-2] > apart))
    if not can_exclude and not can_need:
        return Excluded(everything, np.flatnonzero(needed))
    for part, a, y, _ in _terms(columns, dual, checked.each):
        a, y = vectors.T @ a, vectors.T @ y
        if can_exclude:
            P = 1.0 / (with_it - values)[:, None]
            test = (P * a**2).sum(axis=0) - (P * a * y).sum(axis=0) ** 2 / (1.0 + (P * y**2).sum(axis=0))
            possible[part] = ~(test < 1.0 - 1e-4)
        if can_need:
            needed[part] |= 1.0 + (y**2 / gaps[:, None]).sum(axis=0) < -1e-4
    possible |= inside
    return Excluded(np.flatnonzero(possible), np.flatnonzero(needed & possible))


def _possible_by_cholesky(columns: ScoreColumns, dual: Dual, checked: CheckedDual, t: float) -> Array:
    """Return for each column whether l_1(G + a a' - y y') may reach t, by a Cholesky factorization of t I - G.

    With t' = t - 4 (p + 2) p EPS t the computed factor has L L' <= t I - G (Higham 2002, theorem 10.3: the error is at
    most (p + 2) EPS trace(t I - G) / 2, and the trace at most p t), so a'(t I - G + y y')^{-1} a is at most a'(L L' +
    y y')^{-1} a = |w|^2 - (w'v)^2 / (1 + |v|^2), w = L^{-1} a, v = L^{-1} y. It is used only if (t' - 1e-5 t) I - G has
    a factorization as well: then L has condition at most 1e3, w and v are known to 1e3 p^{3/2} EPS, and the test asks
    for 1 - 1e-4, which allows for that up to p of 10,000.
    """
    p, possible = len(checked.G), np.ones(columns.count, dtype=bool)
    lowered = t * (1.0 - 4.0 * (p + 2) * p * EPS)
    if not (t > 0.0 and p <= 10_000 and has_cholesky(lowered - 1e-5 * t, checked.G)):
        return possible
    shifted = -checked.G
    shifted[np.diag_indices(p)] += lowered
    try:
        L = np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return possible
    for part, a, y, _ in _terms(columns, dual, checked.each):
        w, v = (scipy.linalg.solve_triangular(L, block, lower=True, check_finite=False) for block in (a, y))
        squares, inner, size = ((first * second).sum(axis=0) for first, second in ((w, w), (w, v), (v, v)))
        possible[part] = ~(squares - inner**2 / (1.0 + size) < 1.0 - 1e-4)
    return possible
