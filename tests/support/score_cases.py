"""The new duals on the hard families of `exact_cases`: every bound on its own, against exact enumeration."""

from __future__ import annotations

import warnings

import numpy as np

from rspca.algorithm.loop import eligible_features
from rspca.certificates import budgets
from rspca.certificates.bounds.checked_dual import checked_dual
from rspca.certificates.bounds.elimination import streamed_rows
from rspca.certificates.bounds.score_columns import columns_of_data, columns_of_gram
from rspca.certificates.bounds.score_relaxation import Dual, Relaxation, maximized
from rspca.certificates.bounds.thresholds import KeptEntries, best_threshold
from rspca.certificates.certify import _components, _left_by, rounding_margin
from rspca.certificates.core_stage import Core, of_data
from rspca.certificates.score_stage import missing_from_products
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import as_operator, balanced
from rspca.operators.prepared import NOTHING_GIVEN
from support.exact_cases import ENUMERATION_ERROR, exact_case, optimum


def check_duals(seed: int, *, tall: bool = False) -> list[str]:
    """Return what is wrong with each bound for each k of the case of a seed; empty words where nothing is."""
    case, rng = exact_case(seed, tall=tall), np.random.default_rng([18, seed])
    options = dict(case.options)
    given = as_operator(case.given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            before = _components(options.pop("after", None), given.shape[1])
            deflation = options.pop("deflation", "schur")
            center, scale = options.pop("center", True), options.pop("scale", False)
            data = _left_by(before, given, deflation, center, scale, NOTHING_GIVEN)
            op, unit = balanced(data.operator)
            op = op.to_float64()
        except ValueError:
            return []
    eligible = eligible_features(op)
    if not len(eligible):
        return []
    results = []
    for k in range(1, len(case.A) + 1):
        best = optimum(case.A, k)
        for name, value in _bounds(op, min(k, op.shape[1]), rng) + _with_few_directions(op, min(k, op.shape[1]), rng):
            upper = (value + rounding_margin(op, k, value, eligible)) * unit**2 if np.isfinite(value) else np.inf
            is_false = upper < best * (1.0 - ENUMERATION_ERROR)
            results.append(f"k={k}, {name}: {upper!r} is below the optimum {best!r}" if is_false else "")
    return results


def _with_few_directions(op: OperatorMixin, k: int, rng: np.random.Generator) -> list[tuple[str, float]]:
    """Return bounds as of large matrices: two directions, triangular factors, eigenvalues confirmed by Cholesky."""
    sizes = budgets.EIGENVALUE_SIDE, budgets.SCORE_DIRECTIONS
    budgets.EIGENVALUE_SIDE, budgets.SCORE_DIRECTIONS = 1, 2
    try:
        return [(f"{name}, few directions", value) for name, value in _bounds(op, k, rng)[:-1]]
    finally:
        budgets.EIGENVALUE_SIDE, budgets.SCORE_DIRECTIONS = sizes


def _bounds(op: OperatorMixin, k: int, rng: np.random.Generator) -> list[tuple[str, float]]:
    """Return the bounds that are checked: optimized and arbitrary duals, of columns and of a factor, and blocks."""
    n = op.shape[1]
    every, norms = np.arange(n), op.sq_norms
    found = []
    scale = float(norms.max())
    level = scale * 10.0 ** rng.uniform(-3, 0)
    kinds = {"factor": columns_of_gram(op.gram_block(every), every, missing_from_products(op), 0.0)}
    if op.has_samples:
        kinds["columns"] = columns_of_data(op, every, 0.0, np.ones(n))
    for name, columns in kinds.items():
        relaxation = Relaxation(columns.coordinates(), k, level)
        eps = 10.0 ** rng.uniform(-4, -1) * scale / columns.d
        with np.errstate(all="ignore"):
            factor = maximized(relaxation, relaxation.start(), eps, steps=int(rng.integers(1, 12)), tol=1e-9, stop=bool)
            dual = relaxation.point(factor)[0]
        if dual is not None:
            found.append((f"optimized, {name}", checked_dual(columns, dual, k).upper))
        V = np.linalg.qr(rng.standard_normal((columns.d, columns.d)))[0]
        weights = 10.0 ** rng.uniform(-14, 0, columns.d)
        mu = level * 10.0 ** rng.uniform(-14, 1, n) * (rng.random(n) < 0.8)
        other = float(10.0 ** rng.uniform(-14, 0)) if columns.d < columns.length else 0.0
        drawn = Dual(level, mu, V, weights, other, np.zeros(n), 0.0)
        found.append((f"arbitrary, {name}", checked_dual(columns, drawn, k).upper))
    kept = KeptEntries(float(rng.choice([0.0, 0.3, 1.0])) * scale / k)
    rows = streamed_rows(op, k, out_of_time=bool, keep=kept.add, with_largest=True)
    if rows is not None and rows.largest is not None and 1 < k < n:
        found += _of_core(op, k, rows.largest, rng)
    found.append(("blocks", best_threshold(op, k, kept, out_of_time=bool)))
    return found


def _of_core(op: OperatorMixin, k: int, largest: np.ndarray, rng: np.random.Generator) -> list[tuple[str, float]]:
    """Return the bounds by a core of any features: by its rows, its semidefinite dual, and row duals."""
    every, left = np.arange(op.shape[1]), iter(range(40))
    core = Core(of_data(op, k, largest, None), k, np.sort(rng.permutation(every)[: int(rng.integers(k, len(every)))]))
    known = 0.5 * float(op.sq_norms.max())

    def clock() -> bool:
        return next(left, None) is None

    found = [("core, rows", core.upper(known, bool)[0])]
    core.relax(clock)
    found.append(("core, semidefinite dual", core.upper(known, bool)[0]))
    for size in (k, int(rng.integers(1, k))):
        core.improve(size, 0.0, clock)
        found.append((f"core, row dual of {size}", core.upper(known, bool)[0]))
    return found
