"""Loadings of several components on fixed supports that have the largest adjusted variance together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy  # its submodules are loaded when they are first used

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.linalg.component_order import eliminated


class Refitted(NamedTuple):
    """Unit loadings as columns, and their adjusted variance in this order."""

    V: Array
    variance: float


def refit_together(
    multiply: Callable[[Array], Array], V: Array, inside: Array, *, nonnegative: bool = False, tol: float
) -> Refitted:
    """Return loadings on the same supports with at least the adjusted variance of V, in the order of its columns.

    `multiply` returns AV, and `inside` masks the supports: both have rows only for the features that are used. The
    variance is the sum over j of min |X (v_j + sum_i<j y_i v_i)|^2, so its gradient is 2 A V YY', Y unit upper
    triangular with orthogonal XVY. Quasi-Newton steps with line searches follow it, on vectors of any length.
    """
    start = variance_and_gradient(multiply(V), V)[0]
    scale = max(start, np.finfo(float).tiny)

    def minus_variance(entries: Array) -> tuple[float, Array]:
        W = np.zeros(V.shape)
        W[inside] = entries
        lengths = np.linalg.norm(W, axis=0)
        lengths[lengths == 0.0] = 1.0
        W /= lengths
        variance, gradient = variance_and_gradient(multiply(W), W)
        gradient -= W * np.einsum("ij,ij->j", W, gradient)
        gradient /= lengths
        return -variance / scale, (-2.0 / scale) * gradient[inside]

    solution = scipy.optimize.minimize(
        minus_variance,
        V[inside],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * int(inside.sum()) if nonnegative else None,
        options={"maxiter": budgets.JOINT_REFIT_STEPS, "ftol": tol, "gtol": 0.0},
    )
    W = np.zeros(V.shape)
    W[inside] = solution.x
    lengths = np.linalg.norm(W, axis=0)
    if not (-solution.fun * scale > start and np.all(lengths > 0.0)):
        return Refitted(V, start)
    return Refitted(W / lengths, float(-solution.fun * scale))


def variance_and_gradient(image: Array, V: Array) -> tuple[float, Array]:
    """Return the adjusted variance of V, with image = AV, and half its gradient A V YY'."""
    added, upper = eliminated(V.T @ image)
    Y = np.linalg.inv(upper)
    return float(added.sum()), image @ (Y @ Y.T)
