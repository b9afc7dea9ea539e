"""Rotation (Jolliffe 1995): varimax of a few leading components, then the k largest loadings of each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from rspca.algorithm.ascent import Tell
from rspca.algorithm.loop import Found, all_at_once, eligible_features, largest_varying, numerical_rank
from rspca.algorithm.results import Component
from rspca.base.checks import check_choice, check_integer, check_sparsity
from rspca.base.types import Array, OnStep
from rspca.linalg.eigen import leading_pairs
from rspca.operators.base import OperatorMixin

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
    check_choice("kaiser", kaiser, (True, False))
    if rank is not None:
        check_integer("rank", rank, n_components, op.shape[1])
    find = partial(rotated_components, rank=rank or max(2, n_components), lengths=lengths, kaiser=kaiser)
    return all_at_once(find, op, ks, normalization=normalization, on_step=on_step)


def rotated_components(
    op: OperatorMixin, ks: list[int], tell: Tell, *, rank: int, lengths: str, kaiser: bool
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
        tell("rotation", n_iter, float(variances[column]))
        support = largest_varying(x, k, eligible)
        yield Found(support, x[support] / np.linalg.norm(x[support]), n_iter, converged)


def varimax(
    loadings: Array, *, kaiser: bool = False, tol: float = 1e-6, max_iter: int = 1000
) -> tuple[Array, int, bool]:
    """Return the rotation R that makes the squares of each column of loadings @ R vary most (Kaiser 1958).

    Pairs of columns are turned, each by the best angle, in sweeps until no angle exceeds tol: no turn loses. (The usual
    iteration by singular value decompositions can go round in a circle.) Also returns the number of sweeps and
    whether they sufficed.
    """
    scale = np.linalg.norm(loadings)  # fourth powers: not in the units of the data
    if kaiser:
        lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
        rotated = loadings / np.where(lengths > 1e-12 * scale, lengths, np.inf)
    else:
        rotated = loadings / scale
    turn = np.eye(loadings.shape[1])
    for sweep in range(1, max_iter + 1):
        widest = 0.0
        for pair in combinations(range(len(turn)), 2):
            angle = _best_angle(*rotated[:, pair].T)
            c, s = np.cos(angle), np.sin(angle)
            plane = np.array([[c, -s], [s, c]])
            rotated[:, pair], turn[:, pair] = rotated[:, pair] @ plane, turn[:, pair] @ plane
            widest = max(widest, abs(angle))
        if widest <= tol:
            return turn, sweep, True
    return turn, max_iter, False


def _best_angle(x: Array, y: Array) -> float:
    """Return the angle at which the variances of x^2 and y^2 have the largest sum: of period pi/2, in closed form."""
    squares = (x + 1j * y) ** 2
    fourth = np.sum(squares**2) - np.sum(squares) ** 2 / len(x)
    return float(np.angle(fourth) / 4.0) if abs(fourth) > 1e-14 * np.sum(np.abs(squares) ** 2) else 0.0
