"""Blocks of features that are much alike, such as linked SNPs: found once, and starts of the search of each component."""

from __future__ import annotations

import numpy as np

from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.polish import Polished
from rspca.base.types import Array
from rspca.linalg.vectors import top_k
from rspca.operators.base import OperatorMixin


def without_leading(rows: Array, count: int) -> Array:
    """Return projections of columns without the directions in which all of them vary most.

    Features that follow the leading directions are alike too; what is sought are those that are alike besides.
    """
    _, vectors = np.linalg.eigh(np.asarray(rows.T @ rows, dtype=np.float64))
    kept = vectors[:, : max(1, rows.shape[1] - count)].astype(rows.dtype)
    return rows @ kept


def alike_blocks(rows: Array, linked: Array, count: int) -> list[Array]:
    """Return blocks of features, those most like a feature first, around the most linked features, each in one block.

    `rows` are projections of the columns, `linked` how much each is like others.
    """
    worth, blocks = linked.copy(), list[Array]()
    size = min(len(rows), 2 * budgets.POOL_MAX_K)
    while len(blocks) < count:
        leader = int(np.argmax(worth))
        if worth[leader] <= 0.0:
            break
        products = np.abs(rows @ rows[leader])
        near = top_k(products, size)
        near = near[np.argsort(-products[near], kind="stable")]
        blocks.append(near)
        worth[near[products[near] > budgets.ALIKE_SHARE * products[leader]]] = 0.0
        worth[leader] = 0.0
    return blocks


def block_ends(op: OperatorMixin, k: int, choice: Choice, blocks: list[Array]) -> list[Polished]:
    """Return the best supports of k features, each inside of a block, in what earlier components leave."""
    found = list[Polished]()
    for block in blocks:
        features = choice.allowed(np.sort(block[: 2 * k]))
        within = choice.among(features)
        if within.most < k:
            continue
        gram = op.gram_matrix(features)
        inside = within.largest(np.linalg.eigh(gram)[1][:, -1], k)
        values, vectors = np.linalg.eigh(gram[np.ix_(inside, inside)])
        found.append(Polished(features[inside], vectors[:, -1], float(values[-1]), 0, None))
    return sorted(found, key=lambda end: -end.variance)[: budgets.ALIKE_STARTS]
