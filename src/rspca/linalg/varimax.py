"""Varimax: the rotation of loadings that makes each of them simple."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from rspca.base.types import Array


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
