"""How much of the variance of new samples the span of components has, about means and without covariates of a fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import check_finite
from rspca.operators.near_zero import about as near


class Explained(NamedTuple):
    """What covariates explain of new samples: rows (design - means), and coefficients of each feature."""

    rows: Array
    coefficients: Array


def held_out_share(
    op: OperatorMixin,
    components: Array,
    mean: Array,
    scale: Array,
    *,
    signs: Array | float = 1.0,
    sample_weight: Array | None = None,
    explained: Explained | None = None,
) -> float:
    """Return |P X|^2 / |X|^2 of X = signs * (data - mean) / scale, less what covariates explain.

    P projects on the span of the components. Samples may have weights; `signs` are -1 where data count the other
    allele.
    """
    check_finite(op.column_sums())
    w = np.ones(op.shape[0]) if sample_weight is None else sample_weight
    basis = np.linalg.qr(np.asarray(components, dtype=float).T)[0]
    directions = (signs / scale)[:, None] * basis
    op, left = near(op, mean)
    squares = op.column_sq_norms(left) if sample_weight is None else op.weighted_sums(w, left)[1]
    total = float((squares / scale**2).sum())
    scores = np.asarray(op.matmat(directions) - left @ directions, dtype=float)
    if explained is not None:
        rows, coefficients = explained
        weighted = w[:, None] * rows
        products = np.asarray(op.rmatmat(weighted), dtype=float) - np.outer(left, weighted.sum(axis=0))
        products = (signs / scale)[:, None] * products  # X' diag(w) rows
        total -= 2.0 * float(np.sum(products * coefficients.T))
        total += float(np.sum(coefficients * ((rows.T @ weighted) @ coefficients)))
        scores = scores - rows @ (coefficients @ basis)
    return float(w @ np.square(scores).sum(axis=1)) / total if total > 0.0 else 0.0
