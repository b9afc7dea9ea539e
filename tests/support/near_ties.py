"""Data in which several factors have nearly the same variance: a search that is weak ends at one or another of them."""

from __future__ import annotations

import numpy as np

VARIANCES = (1.0, 0.92, 0.91, 0.90)


def near_tied_factors(seed: int, m: int, n: int, *, noise: float, dtype: type = np.float32) -> np.ndarray:
    """Return m x n data with four factors spread over all features, and noise of this size."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((m, len(VARIANCES))))[0]
    V = np.linalg.qr(rng.standard_normal((n, len(VARIANCES))))[0]
    X = 0.5 * np.sqrt(m * n) * (U * np.sqrt(VARIANCES)) @ V.T + noise * rng.standard_normal((m, n))
    return X.astype(dtype)
