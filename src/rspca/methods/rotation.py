"""Rotation (Jolliffe 1995): varimax of a few leading components, then the k largest loadings of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rspca.algorithm.loop import Found, eligible_features, largest_varying, numerical_rank
from rspca.base.checks import check_choice, check_integer
from rspca.base.types import Report
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.varimax import varimax
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


ROTATION = Method("rotation", rotation, check_rotation, joint=True)
