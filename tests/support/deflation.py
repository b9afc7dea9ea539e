"""Deflation of a dense matrix, written out."""

import numpy as np


def without(scheme, X, v, earlier):
    """Return what the deflation scheme leaves of X."""
    if scheme == "schur":
        u = X @ v / np.linalg.norm(X @ v)
        return X - np.outer(u, u @ X)
    Q = np.linalg.qr(np.column_stack([*(earlier if scheme == "orthogonal" else []), v]))[0]
    return X - X @ Q @ Q.T
