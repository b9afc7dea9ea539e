"""Which bounds of a set of components are tried, and in which order: for a Gram matrix in memory, and from products."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets, precision
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.joint import capped_eigenvalues, filled_by_union, frobenius_of_set, ky_fan
from rspca.certificates.bounds.joint_ratio import best_ratio_bound
from rspca.certificates.bounds.joint_rows import Sparsity, best_row_dual, best_soft_threshold_of_set, sparsity_of
from rspca.certificates.progress import Progress
from rspca.certificates.proof_state import ProofState

OneComponent = Callable[[int, float], float]
"""(k, seconds) -> an upper bound on the variance of one component of k features."""


class SetKind(NamedTuple):
    """Which sets of components are bounded."""

    ks: tuple[int, ...]
    constraint: str | None
    shared: bool

    @property
    def is_orthonormal(self) -> bool:
        """Whether loadings are orthonormal, so that tr(A VV') bounds what the set has."""
        return self.shared or self.constraint in ("orthogonal", "disjoint")

    @property
    def is_adjusted(self) -> bool:
        """Whether the set is measured by its adjusted variance, or by a sum that equals it."""
        return not self.shared and self.constraint in (None, "uncorrelated", "disjoint")

    def sparsity(self, n: int) -> Sparsity:
        """Return how sparse such a set is, out of n features."""
        return sparsity_of([min(k, n) for k in self.ks], n, shared=self.shared)


class Reached(NamedTuple):
    """What the set at hand has: it shows which bounds cannot help."""

    variances: Array
    """v'Av of each component."""
    union: float
    """Largest variance of one component on the features of all."""


def prove_set(
    run: Progress, known: ProofState, kind: SetKind, eligible: Array, reached: Reached, one: OneComponent
) -> None:
    """Try the bounds of a set, until the gap is closed or the time is up."""
    pairs, margin = (
        in_memory(run, known, kind, eligible)
        if len(eligible) <= budgets.GRAM_FEATURES
        else by_products(run, known, kind)
    )
    r, n = len(kind.ks), len(eligible)
    if not kind.shared and sum(_best_of_each(kind.ks, reached.variances)) < run.upper:
        _bound_one_by_one(run, kind, one)
    if not run.finished() and capped_eigenvalues(pairs.values, pairs.rest, r, reached.union) < run.upper:
        began, s = time.perf_counter(), kind.sparsity(n).union
        largest = one(s, run.seconds_left())
        value = capped_eigenvalues(pairs.values, pairs.rest, r, largest) + r * margin
        run.proven("features of all", value, time.perf_counter() - began)


def in_memory(run: Progress, known: ProofState, kind: SetKind, eligible: Array) -> tuple[B.Spectrum, float]:
    """Try the bounds from a Gram matrix of moderate size; return its spectrum, which needs no margin."""
    A = known.op.gram_block(eligible)
    A = (A + A.T) / 2.0
    r, sparsity, diagonal = len(kind.ks), kind.sparsity(len(A)), np.diagonal(A).copy()
    pairs = B.spectrum(A)
    run.bound("largest eigenvalues", lambda: float(np.maximum(pairs.values[:r], 0.0).sum()))
    run.bound("trace", lambda: B.trace(diagonal, sparsity.union))
    run.bound("spectral fill", lambda: filled_by_union(pairs, r, sparsity.union))
    energies = B.row_energies(A, sparsity.union)
    run.bound("frobenius", lambda: frobenius_of_set(diagonal, energies, r, sparsity.union))
    if kind.is_orthonormal:
        level = [0.0]

        def soft() -> float:
            value, level[0] = best_soft_threshold_of_set(A, sparsity, run.until(budgets.SET_DUAL_TIME))
            return value

        run.bound("soft threshold", soft)
        if len(A) <= budgets.JOINT_FEATURES:
            clock, enough = run.until(budgets.SET_DUAL_TIME), (1.0 + run.tol) * run.lower
            run.bound("row dual", lambda: best_row_dual(A, sparsity, level[0], enough, clock).upper)
    if kind.is_adjusted and len(A) <= budgets.JOINT_FEATURES:
        clock, enough = run.until(budgets.SET_DUAL_TIME), (1.0 + run.tol) * run.lower
        ks, slack = [min(k, len(A)) for k in kind.ks], gram_slack(known, sparsity.union)
        run.bound("ratio", lambda: best_ratio_bound(A, ks, slack, enough, clock))
    return pairs, 0.0


def by_products(run: Progress, known: ProofState, kind: SetKind) -> tuple[B.Spectrum, float]:
    """Try the bounds from products with X; return the spectrum, without pairs if that is not affordable."""
    op, r = known.op, len(kind.ks)
    m, n = op.shape
    s = kind.sparsity(n).union
    run.bound("trace", lambda: float(B.top_sum(precision.sq_norms(op), s)))
    nothing = B.Spectrum(np.empty(0), np.empty((n, 0)), np.inf), 0.0
    if run.finished() or not known.affordable(run.seconds_left()):
        return nothing
    began = time.perf_counter()
    pairs, margin = known.spectrum()
    if not (np.isfinite(margin) and np.isfinite(pairs.vectors).all()):  # products are only rounding
        return nothing
    value = capped_eigenvalues(pairs.values, pairs.rest, r, np.inf) + r * margin
    run.proven("largest eigenvalues", value, time.perf_counter() - began)
    run.bound("spectral fill", lambda: filled_by_union(pairs, r, s) + r * margin)
    if kind.is_adjusted and m <= min(n, budgets.EIGENVALUE_SIDE) and not op.gram_errors().any():
        k, norms = max(kind.ks), precision.sq_norms(op)
        penalty = budgets.VARIANCE_DUAL_PENALTY * float(np.partition(norms, n - k)[n - k])
        run.bound("variance dual", lambda: variance_dual_of_set(known, kind.ks, penalty))
    return pairs, margin


def variance_dual_of_set(known: ProofState, ks: tuple[int, ...], rho: float) -> float:
    """Return rho sum k_t + KyFan_r(X W X'), W = diag((1 - rho / a_ii)_+), a bound on the adjusted variance.

    R_tt^2 = (q_t'Xv_t)^2 <= T_k((x_i'q_t)^2) for the orthonormal q_t of the QR of the scores, which is at most
    k rho + q_t'(sum of (x_i x_i' - rho I)_+) q_t, and the positive part is (1 - rho / a_ii)_+ x_i x_i'; then Ky Fan.
    """
    op = known.op
    norms = precision.sq_norms(op)
    weights = np.maximum(1.0 - rho / np.where(norms > 0.0, norms, 1.0), 0.0) * (norms > 0.0)
    leading = ky_fan(op.samples_gram(weights), len(ks))
    return sum(ks) * rho + leading + len(ks) * precision.gram_error(op, weights)


def gram_slack(known: ProofState, s: int) -> float:
    """Return how far a Gram matrix in memory may be off on s features, in spectral norm: products, and forming it."""
    op = known.op
    products = (op.shape[0] + 16) * B.EPS * float(B.top_sum(precision.sq_norms(op), s))
    return products + float(B.top_sum(op.gram_errors() ** 2, s))


def set_margin(known: ProofState, kind: SetKind, eligible: Array) -> float:
    """Return what rounding may hide: of the data as products see them, of products, and features taken for constant.

    Whatever is measured is a sum of (q'Xv)^2 with unit q and v, for each component. If X is off by E, a term grows by
    at most 2 |X_S| |E_S| + |E_S|^2, S the k features of v; |X_S|^2 is at most its trace. Columns taken for constant
    count as errors. The Gram matrix may be off by `gram_slack`, which adds that many times r.
    """
    op, n = known.op, len(eligible)
    norms = precision.sq_norms(op)
    constant = np.ones(len(norms), dtype=bool)
    constant[eligible] = False
    margin = 0.0
    for k in kind.ks:
        error = float(np.sqrt(B.top_sum(op.rounding() ** 2, k)) + np.sqrt(B.top_sum(norms[constant], k)))
        margin += 2.0 * float(np.sqrt(B.top_sum(norms, k))) * error + error**2
    return margin + len(kind.ks) * gram_slack(known, kind.sparsity(max(n, 1)).union)


def _best_of_each(ks: tuple[int, ...], variances: Array) -> list[float]:
    """Return for each k the largest variance among components of no more features: the bound for k is no less."""
    return [max(float(v) for other, v in zip(ks, variances, strict=True) if other <= k) for k in ks]


def _bound_one_by_one(run: Progress, kind: SetKind, one: OneComponent) -> None:
    """Add up bounds of one component each: no component has more, whatever the others are."""
    if run.finished():
        return
    began, sizes = time.perf_counter(), sorted(set(kind.ks))
    uppers = {k: one(k, run.seconds_left() / (len(sizes) - place + 1)) for place, k in enumerate(sizes)}
    run.proven("one by one", float(sum(uppers[k] for k in kind.ks)), time.perf_counter() - began)
