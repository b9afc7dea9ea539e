"""Kinds of data that samples may be held in, and dense references for weights, covariates and missing values."""

from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp

import rspca
from rspca.operators.streamed import BlockOperator
from support.operators import FiveMembers, RowSlices, in_small_blocks


def _packed(X):
    from rspca.genetics.plink import pack
    from rspca.operators.plink import PackedOperator, Part

    return PackedOperator([Part(pack(np.asarray(X, dtype=float)), np.arange(X.shape[1]))], X.shape[0])


def _dask(X):
    import dask.array

    return dask.array.from_array(X, chunks=(max(1, len(X) // 3), 3))


CONTAINERS = {
    "dense": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "streamed": lambda X: in_small_blocks(RowSlices(X)),
    "streamed sparse": lambda X: in_small_blocks(RowSlices(sp.csr_array(X))),
    "streamed array": lambda X: BlockOperator(np.ascontiguousarray(X)),
    "five members": FiveMembers,
}
"""Kinds of data that hold any numbers, in float64."""
if find_spec("dask") is not None:
    CONTAINERS["dask"] = _dask
GENOTYPES = {"packed": _packed} if find_spec("numba") is not None else {}
"""Kinds of data that hold genotypes."""


def genotypes(rng, m, n):
    X = rng.binomial(2, rng.uniform(0.2, 0.8, n), (m, n)).astype(float)
    X[:, : n // 2] = np.clip(X[:, : n // 2] + rng.integers(-1, 2, (m, 1)), 0, 2)
    return X


def factors(rng, m, n):
    X = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)) + 0.7 * rng.standard_normal((m, n))
    return X * np.linspace(1.0, 1.5, n) + rng.normal(0.0, 2.0, n)


def repeated(X, weights):
    """Return the rows of X, each as often as its weight says."""
    return np.repeat(X, np.asarray(weights, dtype=int), axis=0)


def filled(X, weights=None):
    """Return X with NaN replaced by the weighted mean of its column over what is observed."""
    w = np.ones(len(X)) if weights is None else weights
    there = ~np.isnan(X)
    means = (w @ np.where(there, X, 0.0)) / (w @ there)
    return np.where(there, X, means)


def residual(X, covariates, weights=None, scale=False):
    """Return sqrt(w) (X - fit), X scaled first, fit by weighted least squares on the covariates and an intercept."""
    w = np.ones(len(X)) if weights is None else weights
    root = np.sqrt(w)[:, None]
    Z = X - w @ X / w.sum()
    if scale:
        Z = Z / np.sqrt(w @ Z**2 / w.sum())
    D = root * np.column_stack([np.ones(len(X)), covariates])
    return root * Z - D @ np.linalg.lstsq(D, root * Z, rcond=None)[0]


def decomposed(X, **options):
    return rspca.decompose(X, options.pop("n_components", 2), random_state=0, **options)
