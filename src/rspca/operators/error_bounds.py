"""How far products with X may be off: rounding, and errors of the data that are known; what proofs subtract."""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array
from rspca.operators.products import Products


class ErrorBounds(Products):
    """Bounds on errors, as lengths of columns."""

    def rounding_lengths(self) -> Array:
        """Lengths to which the rounding of products is relative: of columns before centering and deflation."""
        return np.sqrt(self.sq_norms)

    def gram_lengths(self, mean: Array | float = 0.0) -> Array:
        """Lengths g of the terms of `gram_about`: entries are off by at most (m + 64) eps g_i g_j, in float64."""
        return self.rounding_lengths() + np.sqrt(self.total_weight) * np.abs(mean)

    def data_errors(self) -> Array:
        """Bound on the length of the errors of each column that are not of products, such as those of a scale."""
        return np.zeros(self.shape[1])

    def root_errors(self) -> Array:
        """Part of `data_errors` that the rounding of the roots of weights has: relative, so centering makes it less."""
        return np.broadcast_to(0.0, (self.shape[1],))

    def gram_errors(self) -> Array:
        """Lengths e with |v'(X'X - A)v| <= (|v|'e)^2 for all v, A the Gram matrix that X stands for; beyond `rounding`.

        On k features the spectral norm of the difference is at most the sum of their e^2.
        """
        return np.broadcast_to(0.0, (self.shape[1],))

    def rounding(self) -> Array:
        """Bound on the Euclidean norm of the rounding errors in each column of X, as products see it; float64."""
        return float(np.finfo(self.dtype).eps) * self.rounding_lengths() + self.data_errors()
