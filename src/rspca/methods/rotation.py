"""Rotation (Jolliffe 1995): varimax of a few leading components, then the k largest loadings of each."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

from rspca.algorithm.loop import Found, eligible_features, largest_varying, numerical_rank
from rspca.base.checks import check_choice, check_integer
from rspca.base.types import Array, Report
from rspca.linalg.eigen import leading_pairs
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin

LENGTHS = {"unit": 0.0, "sqrt": 0.5, "inverse": -0.5}
"""Jolliffe's three lengths of a component before rotation, as powers of its eigenvalue."""


def rotation(
    op: OperatorMixin,
    ks: list[int],
    report: Report,
    *,
    rank: int | None = None,
    lengths: str = "unit",
    kaiser: bool = False,
) -> Iterable[Found]:
    """Yield the k largest entries of each of `rank` rotated components, those of most variance first.

    `rank` is max(2, n_components) by default: one component alone cannot be rotated. `lengths` says how long each is
    before rotation: "unit" keeps the rotated loadings orthogonal, "inverse" (1 / sqrt(eigenvalue)) keeps their scores
    uncorrelated, "sqrt" neither; truncation loses both. `kaiser` rotates rows of unit length. All components come
    from one rotation, without deflation.
    """
    eligible = eligible_features(op)
    pairs = leading_pairs(op, rank or max(2, len(ks)), tol=1e-9)
    rank = numerical_rank(pairs.values, op)
    values, loadings = pairs.values[:rank], pairs.vectors[:, :rank] * pairs.values[:rank] ** LENGTHS[lengths]
    turn, n_iter, converged = varimax(loadings, kaiser=kaiser)
    weights = values[:, None] ** LENGTHS[lengths] * turn  # coordinates of the rotated components in the leading ones
    variances = values @ weights**2 / np.sum(weights**2, axis=0)
    order = np.argsort(-variances, kind="stable")
    for k, column in zip(ks, order, strict=False):
        x = loadings @ turn[:, column]
        report("rotation", n_iter, float(variances[column]))
        support = largest_varying(x, k, eligible)
        yield Found(support, x[support] / np.linalg.norm(x[support]), n_iter, converged)


def check_rotation(op: OperatorMixin, ks: list[int], options: dict[str, Any]) -> dict[str, Any]:
    """Refuse unknown lengths, and a rank below the number of components."""
    check_choice("lengths", options["lengths"], LENGTHS)
    check_choice("kaiser", options["kaiser"], (True, False))
    if options["rank"] is not None:
        check_integer("rank", options["rank"], len(ks), op.shape[1])
    return options


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


ROTATION = Method("rotation", rotation, check_rotation, joint=True)
