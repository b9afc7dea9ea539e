"""Data to try things on: the paper's synthetic family, simulated genotypes, and the pitprops correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special
from numpy.typing import DTypeLike, NDArray

from rspca.checks import as_generator as _as_generator
from rspca.checks import check_integer, check_real

Array = NDArray[Any]

PITPROPS_FEATURES = (
    "topdiam", "length", "moist", "testsg", "ovensg", "ringtop", "ringbut", "bowmax", "bowdist", "whorls", "clear",
    "knots", "diaknot",
)  # fmt: skip

# Jeffers (1967), Two case studies in the application of principal component analysis; lower triangle by rows.
# fmt: off
_PITPROPS = (
    1,
    0.954, 1,
    0.364, 0.297, 1,
    0.342, 0.284, 0.882, 1,
    -0.129, -0.118, -0.148, 0.22, 1,
    0.313, 0.291, 0.153, 0.381, 0.364, 1,
    0.496, 0.503, -0.029, 0.174, 0.296, 0.813, 1,
    0.424, 0.419, -0.054, -0.059, 0.004, 0.09, 0.372, 1,
    0.592, 0.648, 0.125, 0.137, -0.039, 0.211, 0.465, 0.482, 1,
    0.545, 0.569, -0.081, -0.014, 0.037, 0.274, 0.679, 0.557, 0.526, 1,
    0.084, 0.076, 0.162, 0.097, -0.091, -0.036, -0.113, 0.061, 0.085, -0.319, 1,
    -0.019, -0.036, 0.22, 0.169, -0.145, 0.024, -0.232, -0.357, -0.127, -0.368, 0.029, 1,
    0.134, 0.144, 0.126, 0.015, -0.208, -0.329, -0.424, -0.202, -0.076, -0.291, 0.007, 0.184, 1,
)
# fmt: on


def load_pitprops() -> Array:
    """Return the 13 x 13 correlation matrix of Jeffers' pit props, the classic example of sparse PCA.

    The names of its rows are in ``PITPROPS_FEATURES``.

    Examples
    --------
    >>> import rspca
    >>> rspca.datasets.load_pitprops().shape
    (13, 13)
    """
    A = np.zeros((13, 13))
    A[np.tril_indices(13)] = _PITPROPS
    return A + np.tril(A, -1).T


def make_hadamard(
    m: int = 128,
    n: int = 4096,
    theta: float = 0.27 * np.pi,
    noise: float = 1e-3,
    signal_column: int = 0,
    random_state: int | np.random.Generator | None = 0,
) -> Array:
    """Return the synthetic matrix of the paper's appendix, U S V' + E.

    U and V are Hadamard matrices with unit columns, the lower half of the rows of V rotated pairwise by theta;
    S = diag(100, e^-2, e^-3, ...); E is Gaussian of standard deviation `noise`. Only the m columns of V that matter
    are made: memory is of the order of the result.

    Parameters
    ----------
    m, n : int
        Powers of two, m <= n and n >= 4.
    theta : float
        Angle of the rotations; near pi/4 a quarter of the entries of each column of V is close to zero.
    noise : float
        Standard deviation of the noise.
    signal_column : int
        Column of U that carries the singular value 100. Column 0, the paper's, is constant, so centering deletes it.
    random_state : int, Generator or None
        Seed of the noise.

    Examples
    --------
    >>> import numpy as np, rspca
    >>> X = rspca.datasets.make_hadamard(8, 16)
    >>> X.shape, round(np.linalg.norm(X, 2))
    ((8, 16), 100)
    """
    for name, value in (("m", m), ("n", n)):
        check_integer(name, value, 1)
        if value & (value - 1):
            raise ValueError(f"{name}={value} must be a power of two: a Hadamard matrix of that size is built.")
    if m > n or n < 4:
        raise ValueError(f"m={m}, n={n}: m must not exceed n, and n must be at least 4.")
    check_integer("signal_column", signal_column, 0, m - 1)
    check_real("noise", noise, 0.0)
    check_real("theta", theta, -np.inf)
    rng = _as_generator(random_state)
    U = _hadamard(m, m) / np.sqrt(m)
    U[:, [0, signal_column]] = U[:, [signal_column, 0]]
    V = _hadamard(n, m) / np.sqrt(n)
    first, second = V[n // 2 :: 2].copy(), V[n // 2 + 1 :: 2].copy()
    V[n // 2 :: 2] = np.cos(theta) * first - np.sin(theta) * second
    V[n // 2 + 1 :: 2] = np.sin(theta) * first + np.cos(theta) * second
    singular = np.exp(-np.arange(1.0, m + 1.0))
    singular[0] = 100.0
    return np.asarray((U * singular) @ V.T + noise * rng.standard_normal((m, n)))


def _hadamard(rows: int, columns: int) -> Array:
    """Return the first columns of Sylvester's Hadamard matrix: (-1)^popcount(i & j)."""
    H = np.ones((1, 1))
    while H.shape[0] < rows:
        H = np.vstack([H, H]) if H.shape[1] >= columns else np.block([[H, H], [H, -H]])
    return H


def make_genotypes(
    m: int = 500,
    n: int = 5000,
    n_populations: int = 6,
    *,
    fst: float = 0.1,
    block: int = 20,
    linkage: float = 0.8,
    dtype: DTypeLike = np.int8,
    random_state: int | np.random.Generator | None = 0,
) -> tuple[Array, Array]:
    """Return simulated genotypes (0, 1, 2) of m people at n SNPs, and the population of each person.

    Allele frequencies follow Balding and Nichols: an ancestral frequency in [0.05, 0.95], and in each population a
    beta variable about it with variance fst p (1 - p). SNPs are linked within blocks: each of the two haplotypes is
    a thresholded Gaussian sequence whose neighbours have correlation `linkage`.

    Parameters
    ----------
    m, n, n_populations : int
        People, SNPs, populations (of equal size, as far as m allows).
    fst : float
        Differentiation of the populations, in (0, 1).
    block : int
        SNPs per block of linkage.
    linkage : float
        Correlation of neighbours in a block, in [0, 1).
    dtype : data-type
        Type of the result.
    random_state : int, Generator or None
        Seed.

    Examples
    --------
    >>> import rspca
    >>> X, population = rspca.datasets.make_genotypes(60, 200, 3)
    >>> X.shape, sorted(set(population.tolist()))
    ((60, 200), [0, 1, 2])
    """
    for name, value in (("m", m), ("n", n), ("n_populations", n_populations), ("block", block)):
        check_integer(name, value, 1)
    if check_real("fst", fst, 0.0, strict=True) >= 1.0 or check_real("linkage", linkage, 0.0) >= 1.0:
        raise ValueError(f"fst={fst} must lie in (0, 1) and linkage={linkage} in [0, 1).")
    rng = _as_generator(random_state)
    population = np.arange(m) * n_populations // m
    X = np.empty((m, n), dtype=dtype)
    for start in range(0, n, block):
        width = min(block, n - start)
        ancestral = rng.uniform(0.05, 0.95, width)
        spread = (1.0 - fst) / fst
        frequency = rng.beta(ancestral * spread, (1.0 - ancestral) * spread, (n_populations, width))
        threshold = scipy.special.ndtri(np.clip(frequency, 1e-9, 1.0 - 1e-9)).astype(np.float32)[population]
        carried = np.zeros((m, width), dtype=np.int8)
        for _ in range(2):
            z = rng.standard_normal((m, width), dtype=np.float32)
            for j in range(1, width):
                z[:, j] = linkage * z[:, j - 1] + np.sqrt(1.0 - linkage**2) * z[:, j]
            carried += z < threshold
        X[:, start : start + width] = carried
    return X, population
