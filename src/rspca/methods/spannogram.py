"""The spannogram (Papailiopoulos, Dimakis and Korokythakis 2013): the best k features of the leading rank-two part."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from rspca.algorithm.loop import Found, eligible_features
from rspca.algorithm.normalize import NORMALIZATIONS
from rspca.base.checks import check_choice
from rspca.base.types import Array, Report
from rspca.linalg.eigen import leading_pairs
from rspca.linalg.vectors import top_k
from rspca.methods.registry import Method
from rspca.operators.base import OperatorMixin

ARCS = 16
"""Arcs into which the half circle is cut at first."""
EXACT = 1e-10
"""Relative difference in variance below which an arc is not searched further."""
FINALISTS = 5
"""Supports that are refitted on X itself, the best on the rank-two part."""


def spannogram(op: OperatorMixin, k: int, report: Report, *, rank: int = 2) -> Found:
    """Return the best support for A_2 = l_1 v_1 v_1' + l_2 v_2 v_2', exactly, or the best on X of its closest rivals.

    rank=1 is MaxComp. If l_3 = 0 the result is the optimum; in general its variance on A_2 plus l_3 bounds every
    vector of k features. The loadings are those on A_2 ("naive"), or refitted on X.
    """
    eligible = eligible_features(op)
    k = min(k, len(eligible))
    pairs = leading_pairs(op, rank, tol=1e-9)
    V = pairs.vectors[eligible] * np.sqrt(pairs.values)
    supports, evaluated = best_supports(V, k, FINALISTS) if V.shape[1] == 2 else ([top_k(np.abs(V[:, 0]), k)], 1)
    candidates = np.zeros((op.shape[1], len(supports)))
    for column, rows in enumerate(supports):
        c = np.linalg.svd(V[rows], full_matrices=False)[2][0]
        candidates[eligible[rows], column] = V[rows] @ c / np.linalg.norm(V[rows] @ c)
    best = 0
    if len(supports) > 1:
        refits = np.zeros_like(candidates)
        for column, rows in enumerate(supports):
            support = eligible[rows]
            refits[support, column] = NORMALIZATIONS["svd"](op, support, candidates[support, column])
        best = int(np.argmax(op.variances(refits)))
    support = eligible[supports[best]]
    report("spannogram", evaluated, float(np.linalg.norm(V[supports[best]], 2)) ** 2)
    return Found(support, candidates[support, best], evaluated)


def check_spannogram(op: OperatorMixin, ks: list[int], options: dict[str, Any]) -> dict[str, Any]:
    """Refuse ranks for which the search is not made."""
    check_choice("rank", options["rank"], (1, 2))
    return options


def best_supports(V: Array, k: int, count: int) -> tuple[list[Array], int]:
    """Return the best k rows of the n x 2 matrix V by |V_S|_2, some good rivals, and how many angles were tried.

    The maximum of h(c) = sqrt(sum of the k largest (V_i'c)^2) over unit c is max |V_S|_2: the supports in question are
    the k largest |V_i'c|, and there are O(n^2) of them as c turns. But h is a norm, so on an arc between c_1 and c_2
    it is below the linear function through its values there: arcs that cannot hold the maximum are dropped, the
    others halved. That function overestimates by the square of the arc, so dozens of angles do, whatever n is.
    """
    found: dict[bytes, tuple[float, Array]] = {}

    def evaluate(angle: float) -> tuple[float, float]:
        """Return h at this angle, and |V_S|_2 for the support S that it chooses."""
        along = (V @ np.array([np.cos(angle), np.sin(angle)])) ** 2
        support = top_k(along, k)
        value, _ = found.setdefault(support.tobytes(), (float(np.linalg.norm(V[support], 2)), support))
        return float(np.sqrt(along[support].sum())), value

    angles = np.linspace(0.0, np.pi, ARCS + 1)
    heights = [evaluate(angle)[0] for angle in angles[:-1]]
    heights.append(heights[0])  # c and -c choose alike
    arcs = [
        (-_highest(heights[i], heights[i + 1], angles[1]), angles[i], angles[i + 1], heights[i], heights[i + 1])
        for i in range(ARCS)
    ]
    heapq.heapify(arcs)
    evaluated, best = ARCS, max(value for value, _ in found.values())
    largest = float(np.linalg.norm(V, 2))  # no rows have more than all; where all angles are alike, this ends it
    while arcs:
        bound, first, last, at_first, at_last = heapq.heappop(arcs)
        if min(-bound, largest) <= best * (1.0 + EXACT / 2.0):
            break
        middle = 0.5 * (first + last)
        height, value = evaluate(middle)
        evaluated, best = evaluated + 1, max(best, value)
        half = middle - first
        heapq.heappush(arcs, (-_highest(at_first, height, half), first, middle, at_first, height))
        heapq.heappush(arcs, (-_highest(height, at_last, half), middle, last, height, at_last))
    ranked = sorted(found.values(), key=lambda pair: -pair[0])[:count]
    return [support for _, support in ranked], evaluated


def _highest(first: float, second: float, angle: float) -> float:
    """Return the most that a norm can reach on an arc, from its values at the ends.

    c = a c_1 + b c_2 has h(c) <= a h_1 + b h_2, a linear function of c, whose maximum over unit c is at an end of the
    arc or is the distance from 0 to the point in between.
    """
    cosine = np.cos(angle)
    if first <= second * cosine or second <= first * cosine:
        return max(first, second)
    return float(np.sqrt((first - second) ** 2 + 4.0 * first * second * np.sin(angle / 2.0) ** 2) / np.sin(angle))


SPANNOGRAM = Method("spannogram", spannogram, check_spannogram)
