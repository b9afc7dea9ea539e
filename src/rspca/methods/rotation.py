"""Rotation (Jolliffe 1995): varimax of a few leading components, then the k largest loadings of each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from rspca.ascent import Tell
from rspca.checks import check_choice, check_integer, check_sparsity
from rspca.components import Component, OnStep
from rspca.decomposition import Found, all_at_once, eligible_features, largest_varying, numerical_rank
from rspca.normalization import NORMALIZATIONS
from rspca.operators.protocol import Array, OperatorMixin
from rspca.spectral import leading_pairs

LENGTHS = {"unit": 0.0, "sqrt": 0.5, "inverse": -0.5}
"""Jolliffe's three lengths of a component before rotation, as powers of its eigenvalue."""


def rotation(
    op: OperatorMixin,
    n_components: int,
    k: Any,
    *,
    normalization: str = "svd",
    deflation: str = "schur",
    rng: np.random.Generator | None = None,
    on_step: OnStep | None = None,
    rank: int | None = None,
    lengths: str = "unit",
    kaiser: bool = False,
) -> list[Component]:
    """Return the k largest entries of each of `rank` rotated components, those of most variance first.

    `rank` is max(2, n_components) by default: one component alone cannot be rotated. `lengths` says how long each is
    before rotation: "unit" keeps the rotated loadings orthogonal, "inverse" (1 / sqrt(eigenvalue)) keeps their scores
    uncorrelated, "sqrt" neither; truncation loses both. `kaiser` rotates rows of unit length. All components come
    from one rotation, so `deflation` is not used, nor is `rng`.
    """
    ks = check_sparsity(k, n_components, op.shape[1])
    check_choice("lengths", lengths, LENGTHS)
    if rank is not None:
        check_integer("rank", rank, n_components, op.shape[1])
    find = partial(
        rotated_components, normalization=normalization, rank=rank or max(2, n_components), lengths=lengths,
        kaiser=kaiser,
    )  # fmt: skip
    return all_at_once(find, op, ks, on_step=on_step)


def rotated_components(
    op: OperatorMixin, ks: list[int], tell: Tell, *, normalization: str, rank: int, lengths: str, kaiser: bool
) -> Iterable[Found]:
    """Return one finding for each k, all from the same rotation."""
    eligible = eligible_features(op)
    pairs = leading_pairs(op, rank, tol=1e-9)
    rank = numerical_rank(pairs.values, op)
    values, loadings = pairs.values[:rank], pairs.vectors[:, :rank] * pairs.values[:rank] ** LENGTHS[lengths]
    turn, n_iter, converged = varimax(loadings, kaiser=kaiser)
    weights = values[:, None] ** LENGTHS[lengths] * turn  # coordinates of the rotated components in the leading ones
    variances = values @ weights**2 / np.sum(weights**2, axis=0)
    order = np.argsort(-variances, kind="stable")
    for k, column in zip(ks, order, strict=False):
        x = loadings @ turn[:, column]
        support = largest_varying(x, k, eligible)
        yield Found(support, NORMALIZATIONS[normalization](op, support, x[support]), n_iter, converged)


def varimax(
    loadings: Array, *, kaiser: bool = False, tol: float = 1e-5, max_iter: int = 1000
) -> tuple[Array, int, bool]:
    """Return the rotation R that maximizes the variance of the squares of each column of loadings @ R (Kaiser 1958).

    R <- polar(L'(M^3 - M diag(mean of M^2))), M = L R: the ascent of a function that is convex in R, until the sum
    of the singular values grows by less than tol, relatively. Also returns the iterations, and whether they sufficed.
    """
    scale = np.linalg.norm(loadings)  # squares of squares: not in the units of the data
    if kaiser:
        lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
        loadings = loadings / np.where(lengths > 1e-12 * scale, lengths, np.inf)
    else:
        loadings = loadings / scale
    turn, reached = np.eye(loadings.shape[1]), 0.0
    for iteration in range(1, max_iter + 1):
        rotated = loadings @ turn
        left, singular, right = np.linalg.svd(loadings.T @ (rotated**3 - rotated * np.mean(rotated**2, axis=0)))
        turn, before, reached = left @ right, reached, float(singular.sum())
        if reached <= before * (1.0 + tol):
            return turn, iteration, True
    return turn, max_iter, False
