"""Column sums and Gram matrix about a shift, and how they move to another one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.operators.blocks import chunks


class Moments(NamedTuple):
    """Column sums and Gram matrix of X - 1 shift', both in float64, and the lengths of the terms of both."""

    shift: Array
    sums: Array
    gram: Array
    lengths: Array
    """Entries of the Gram matrix of m rows are off by at most (m + 64) eps times two of them."""

    def about(self, shift: Array, m: float) -> Moments:
        """Return the moments of m rows, or rows of total weight m, about another shift."""
        move, gram = self.shift - shift, self.gram.copy()
        if move.any():
            half = self.sums + 0.5 * m * move
            for part in chunks(len(move), 8 * len(move)):
                gram[part] += np.multiply.outer(half[part], move)
                gram[part] += np.multiply.outer(move[part], half)
        return Moments(shift, self.sums + m * move, gram, self.lengths + np.sqrt(m) * np.abs(move))


def moments_about_zero(sums: Array, gram: Array) -> Moments:
    """Return the moments of columns that were not shifted."""
    return Moments(np.zeros(len(sums)), sums, gram, np.sqrt(np.diagonal(gram)))
