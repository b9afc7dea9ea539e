"""Directions from which stage 1 starts: those of largest variance, and the one that promises most with k features."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rspca.algorithm import budgets
from rspca.base.types import Array
from rspca.linalg.vectors import top_k


def most_directions(n: int) -> int:
    """Return among how many directions of n features stage 1 chooses its starts; fewer if there are very many."""
    return int(np.clip(budgets.SKETCH_ENTRIES // n, budgets.SKETCH_MAX_DIRECTIONS, budgets.PROMISING_DIRECTIONS))


def starting_directions(
    variances: Array, directions: list[Array], k: int, variance_of: Callable[[Array, Array], float]
) -> list[Array]:
    """Return the directions of largest variance, the first of them first, and the one that promises most.

    Directions are unit vectors in the order of their variances, the largest first. One that few features follow closely
    may have less variance than one that all follow a little, and yet more of it in k features: in scaled genotypes of
    one population these are blocks of linked SNPs. So a direction promises the variance of its k largest entries, which
    `variance_of(support, loadings)` returns for loadings of any length.
    """
    n_close = int(np.count_nonzero(variances >= budgets.SKETCH_CLOSE_VARIANCE * variances[0]))
    supports = [top_k(np.abs(v), k) for v in directions]
    promised = [
        variance_of(support, v[support]) / float(v[support] @ v[support])
        for v, support in zip(directions, supports, strict=True)
    ]
    starts = [*range(min(n_close, budgets.SKETCH_MAX_DIRECTIONS)), int(np.argmax(promised))]
    return [directions[place] for place in dict.fromkeys(starts)]
