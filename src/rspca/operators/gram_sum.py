"""A Gram matrix added up over blocks of rows, in float64."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk

from rspca.base.types import Array
from rspca.operators.base import chunks


class GramSum:
    """X'X of n features, one triangle of it, added up by BLAS in place: no matrix is made for each block of rows."""

    def __init__(self, n: int) -> None:
        self.triangle = np.zeros((n, n), order="F")
        """The lower triangle of this matrix counts."""

    def add(self, rows: Array) -> None:
        """Add the products of a block of rows in float64, by rows."""
        self.triangle = dsyrk(1.0, rows.T, beta=1.0, c=self.triangle, overwrite_c=1, lower=1)

    def add_product(self, product: Array) -> None:
        """Add the products of rows that were multiplied before: a symmetric matrix, by rows."""
        np.add(self.triangle, product.T, out=self.triangle)

    def matrix(self) -> Array:
        """Return the whole matrix; nothing can be added afterwards."""
        return with_upper_triangle(self.triangle).T


def with_upper_triangle(gram: Array) -> Array:
    """Fill the upper triangle of a symmetric matrix from the lower one, in place."""
    for part in chunks(len(gram), 8 * len(gram), 1 << 20):
        diagonal = np.tril(gram[part, part])
        gram[part, part] = diagonal + np.tril(diagonal, -1).T
        gram[part, part.stop :] = gram[part.stop :, part].T
    return gram
