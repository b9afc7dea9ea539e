"""Generated data: the synthetic family of the paper, simulated genotypes, planted spikes."""

from __future__ import annotations

import numpy as np
import scipy.special
from numpy.typing import DTypeLike

from rspca.base.checks import as_generator, check_integer, check_real
from rspca.base.memory import check_room
from rspca.base.types import Array


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
    S = diag(100, e^-2, e^-3, ...); E is Gaussian of standard deviation `noise`. No matrix larger than the result is
    made.

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
    rng = as_generator(random_state)
    check_room(8.0 * m * (n + 2.0 * m), f"a matrix of {m} x {n}", "Lower m or n.")
    X = rng.standard_normal((m, n))
    X *= noise
    _add_hadamard_signal(X, theta, signal_column)
    return X


def _add_hadamard_signal(X: Array, theta: float, signal_column: int) -> None:
    """Add U S V' to X in place.

    Entry (i, j) of Sylvester's matrix is (-1)^popcount(i & j), so in its first m columns the rows repeat with period
    m, and so do the columns of U S V' within either half: a product of m x m matrices gives them all.
    """
    m, n = X.shape
    H = _hadamard(max(m, 2))  # two rows at least: rows are rotated in pairs
    U = H[:m, :m] / np.sqrt(m)
    U[:, [0, signal_column]] = U[:, [signal_column, 0]]
    singular = np.exp(-np.arange(1.0, m + 1.0))
    singular[0] = 100.0
    period = min(len(H), n // 2)
    upper, lower = H[:period, :m] / np.sqrt(n), H[-period:, :m] / np.sqrt(n)
    even, odd = lower[::2].copy(), lower[1::2].copy()
    lower[::2] = np.cos(theta) * even - np.sin(theta) * odd
    lower[1::2] = np.sin(theta) * even + np.cos(theta) * odd
    halves = X.reshape(m, 2, -1, period)
    for half, V in enumerate((upper, lower)):
        halves[:, half] += ((U * singular) @ V.T)[:, None, :]


def _hadamard(size: int) -> Array:
    """Return Sylvester's Hadamard matrix."""
    H = np.ones((1, 1))
    while H.shape[0] < size:
        H = np.block([[H, H], [H, -H]])
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
    rng = as_generator(random_state)
    size = 1.0 * m * n * np.dtype(dtype).itemsize + 16.0 * (m + n_populations) * min(block, n)
    check_room(size, f"{m} x {n} genotypes of {n_populations} populations", "Lower m, n or n_populations.")
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


def make_planted_spikes(
    m: int = 200,
    n: int = 500,
    k: int = 10,
    n_spikes: int = 2,
    *,
    overlap: float = 0.0,
    strength: float = 10.0,
    decay: float = 0.8,
    noise: float = 1.0,
    random_state: int | np.random.Generator | None = 0,
) -> tuple[Array, Array]:
    """Return Gaussian data whose covariance has sparse leading eigenvectors, and these eigenvectors as rows.

    The covariance is noise^2 (I + sum_j b_j v_j v_j') with b_j = strength * decay^j. The v_j are orthonormal, each has
    exactly k entries of size 1 / sqrt(k), and each shares features with the one before it.

    Parameters
    ----------
    m, n : int
        Samples and features.
    k : int
        Features of each spike.
    n_spikes : int
        Number of spikes; k + (n_spikes - 1) (k - shared) features must fit into n.
    overlap : float
        Part of a spike that it shares with the next, from 0 to 1/2. The number of shared features is rounded down to
        an even one: the signs of half of them differ, which keeps the spikes orthogonal.
    strength, decay : float
        Variance of the first spike in units of the noise, and the factor from each to the next, in (0, 1].
    noise : float
        Standard deviation of the noise, above 0.
    random_state : int, Generator or None
        Seed of the samples, of the positions and of the signs.

    Examples
    --------
    >>> import rspca
    >>> X, V = rspca.datasets.make_planted_spikes(300, 100, 6, overlap=0.4)
    >>> X.shape, (V != 0).sum(axis=1).tolist(), int(((V != 0).sum(axis=0) == 2).sum())
    ((300, 100), [6, 6], 2)
    """
    for name, value in (("m", m), ("n", n), ("k", k), ("n_spikes", n_spikes)):
        check_integer(name, value, 1)
    if check_real("overlap", overlap, 0.0) > 0.5:
        raise ValueError(f"overlap={overlap} must lie between 0 and 0.5: only neighbors share features.")
    check_real("strength", strength, 0.0, strict=True)
    if check_real("decay", decay, 0.0, strict=True) > 1.0:
        raise ValueError(f"decay={decay} must lie in (0, 1]: the first spike is the strongest.")
    check_real("noise", noise, 0.0, strict=True)
    shared = 2 * int(overlap * k / 2 + 1e-9)
    needed = k + (n_spikes - 1) * (k - shared)
    if needed > n:
        raise ValueError(
            f"{n_spikes} spikes of k={k} features with {shared} shared need {needed} features and n={n}; "
            "raise n or overlap, or lower k or n_spikes."
        )
    rng = as_generator(random_state)
    check_room(16.0 * m * n + 8.0 * (m + n) * n_spikes, f"a matrix of {m} x {n}", "Lower m or n.")
    V = np.zeros((n_spikes, n))
    for j, row in enumerate(V):
        start = j * (k - shared)
        row[start : start + k] = 1.0 / np.sqrt(k)
        if j:
            row[start : start + shared : 2] *= -1.0
    V = V[:, rng.permutation(n)] * rng.choice([-1.0, 1.0], n)
    scores = rng.standard_normal((m, n_spikes)) * np.sqrt(strength * decay ** np.arange(n_spikes))
    X = rng.standard_normal((m, n))
    X += scores @ V
    X *= noise
    return X, V
