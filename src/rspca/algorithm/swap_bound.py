"""A bound that rules out swaps with features from one gradient, without their products with the support."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.linalg.vectors import TIED


def may_enter(inside: Array, gradient: Array, variances: Array) -> Array:
    """Return which features may gain variance by a swap with any feature of a support; the others gain none.

    `inside` is A_SS, `gradient` is A v for the other features, v the leading eigenvector of A_SS, and `variances` is
    their A_jj. With the notation of `swap_features`, a swap of i for j gains only if
    R_ii alpha^2 / v_i^2 + q + 2 |alpha r_i / v_i| is positive. The gradient is alpha. What else depends on a = A_Sj is
    bounded: X'X has no negative eigenvalue, so a'A_SS^-1 a <= A_jj, and without its part along v, a has
    sum_q (a'q)^2 / l_q <= A_jj - alpha^2 / l =: s. So a'r <= s max_q l_q / (l - l_q) and
    r_i^2 <= s sum_q q_i^2 l_q / (l - l_q)^2.
    """
    values, vectors = np.linalg.eigh(inside)
    value, v, others = float(values[-1]), vectors[:, -1], np.maximum(values[:-1], 0.0)
    gaps = value - others
    if gaps.min(initial=np.inf) <= budgets.SWAP_MIN_GAIN * value:  # v is not determined
        return np.ones(len(gradient), dtype=bool)
    sizes, squares = np.maximum(np.abs(v), budgets.SWAP_MIN_LOADING), vectors[:, :-1] ** 2
    alpha, rest = np.abs(gradient), np.maximum(variances - gradient**2 / value, 0.0)
    along = float(np.max((squares @ (1.0 / gaps)) / sizes**2, initial=0.0))
    across = float(np.max(np.sqrt(squares @ (others / gaps**2)) / sizes, initial=0.0))
    most = along * alpha**2 + 2.0 * across * alpha * np.sqrt(rest) + float(np.max(others / gaps, initial=0.0)) * rest
    return np.asarray(most + variances > (1.0 - TIED) * value)
