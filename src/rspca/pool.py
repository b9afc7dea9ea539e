"""The pool: features whose Gram matrix is searched, all of them where there are few, else those that promise most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.choice import Choice
from rspca.operators.double import in_double
from rspca.operators.protocol import Array, OperatorMixin, chunks
from rspca.vectors import decreasing

POOL_MAX_K = 64
"""Features up to which a component is also sought in a pool. Beyond, what leads all features leads the best k as well,
and steps in a Gram matrix, which take time in proportion to k, gain nothing over products with X."""
MOST_FEATURES, FEWEST_FEATURES = 2048, 512
"""Features in a pool: at most these (32 MB as a Gram matrix), and as few as these where there are many samples."""
GRAM_BUDGET = 4 * 10**9
"""Products of two numbers that the Gram matrix of a pool may take, m p^2: a tenth of a second in one thread."""
COLUMNS_BYTES = 2**26
"""Size of the columns that are multiplied at a time where they are many."""
PROBES = 32
"""Random vectors from which it is estimated how much a feature correlates with others."""
PROBE_ENTRIES = 2**25
"""Entries that these vectors have at most together: fewer of them where features are very many."""
LEADING = 8
"""Directions that are taken off to see correlations which they hide."""
NEIGHBORHOODS = 32
"""Features, those of largest variance and of largest energy, whose most correlated features join the pool."""


class Pool(NamedTuple):
    """Some features, sorted, their Gram matrix in float64, and whether they are all that may be chosen."""

    features: Array
    gram: Array
    complete: bool


def make_pool(op: OperatorMixin, k: int, choice: Choice, known: list[Array]) -> Pool:
    """Return the pool for supports of k features; `known` supports are part of it."""
    size = min(len(choice.features), pool_size(op.shape[0]))
    complete = size == len(choice.features)
    features = choice.features if complete else promising_features(op, k, choice, known, size)
    return Pool(features, gram_of(op, features), complete)


def pool_size(m: int) -> int:
    """Return how many features a pool may have for m samples."""
    return int(np.clip(np.sqrt(GRAM_BUDGET / m), FEWEST_FEATURES, MOST_FEATURES))


def promising_features(op: OperatorMixin, k: int, choice: Choice, known: list[Array], size: int) -> Array:
    """Return about `size` features: of large variance, of large energy, and the neighborhoods of the first of both.

    A few features that nearly repeat each other, as linked SNPs do, may have more variance than any spread over all.
    Their rows of X'X are long, but no longer than those of features that follow the leading directions; without these
    directions they are.
    """
    free = Choice(choice.features)
    energies, beyond_leading = estimate_row_energies(op)
    third = size // 3
    pool = [choice.largest(op.sq_norms, k)]  # enough for k features whatever the groups
    pool += [free.largest(values, third) for values in (op.sq_norms, energies, beyond_leading)]
    leaders = np.union1d(
        free.largest(op.sq_norms, NEIGHBORHOODS // 2), free.largest(beyond_leading, NEIGHBORHOODS // 2)
    )
    few = leaders[: max(1, PROBE_ENTRIES // op.shape[1])]
    pool += [free.largest(row, k) for row in op.gram_rows(few)]
    return np.unique(np.concatenate([*pool, *known]))


def estimate_row_energies(op: OperatorMixin) -> tuple[Array, Array]:
    """Return the squared length of each row of X'X, and of what leading directions leave of it, both estimated.

    The products of X'X with random signs have these lengths on average (Hutchinson); their leading singular vectors are
    those of X'X, about, as in randomized singular value decompositions.
    """
    n = op.shape[1]
    signs = np.empty((n, int(np.clip(PROBE_ENTRIES // n, 4, PROBES))))
    # signs go to features by variance, as the first numbers of a sketch do: the order of the features does not matter
    signs[decreasing(op.sq_norms)] = np.random.default_rng(PROBES).choice([-1.0, 1.0], signs.shape)
    images = op.gram(signs)
    energies = np.einsum("ij,ij->i", images, images)
    _, weights = np.linalg.eigh(images.T @ images)
    rest = images @ weights[:, : max(1, weights.shape[1] - LEADING)]
    return energies, np.einsum("ij,ij->i", rest, rest)


def gram_of(op: OperatorMixin, features: Array) -> Array:
    """Return the Gram matrix of some features in float64, exact to its rounding; of many columns only to that of X."""
    if 8 * op.shape[0] * len(features) <= COLUMNS_BYTES:
        return exact_gram(op, features)
    part = op if len(features) == op.shape[1] else op.restrict(features)
    gram = np.empty((len(features), len(features)))
    for block in chunks(len(features), 8 * op.shape[0], COLUMNS_BYTES):
        gram[block] = part.gram_rows(np.arange(block.start, block.stop))
    return (gram + gram.T) / 2.0


def exact_gram(op: OperatorMixin, features: Array) -> Array:
    """Return the Gram matrix of some features, computed in float64 from the numbers as they are, whatever their type.

    Supports of single-precision data are compared by it: products in their own precision would decide by rounding.
    """
    if op.dtype == np.float64:
        return op.gram_block(features)
    return in_double(op.restrict(features)).gram_block(np.arange(len(features)))


def exact_variance(op: OperatorMixin, support: Array) -> float:
    """Return the largest variance of a vector with this support."""
    return float(np.linalg.eigvalsh(exact_gram(op, support))[-1])
