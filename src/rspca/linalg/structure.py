"""What features mean in a component: correlations with its scores, and what the scores explain of X."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.linalg.explained_variance import gram_schmidt

BLOCK_FEATURES = 2**16
"""Features whose coefficients are computed at a time; half a megabyte for each component: limit of memory."""


class Structure(NamedTuple):
    """Correlation of every feature with each score, and what each score adds to the explained part of X."""

    coefficients: Array
    """r(feature, score), (n_components, n_features); 0 for constant features. Cosines if X is not centered."""
    reconstruction: Array
    """What each component adds to |P X|^2, P the projection on the scores; no divisor."""


def structure_of(scores: Array, products: Array, sq_norms: Array) -> Structure:
    """Return both from the scores T, the products X'T and the squared lengths of the columns of X: one pass.

    Features are worked on in blocks: where there are millions, each array of a number for every feature counts.
    """
    sizes, (directions, _) = np.linalg.norm(scores, axis=0), gram_schmidt(scores)
    weights = np.linalg.lstsq(scores, directions, rcond=None)[0]  # directions = scores @ weights
    coefficients, explained = np.zeros(products.shape[::-1]), np.zeros(weights.shape[1])
    for start in range(0, len(products), BLOCK_FEATURES):
        part = slice(start, start + BLOCK_FEATURES)
        outer = np.multiply.outer(sizes, np.sqrt(np.maximum(sq_norms[part], 0.0)))
        block = coefficients[:, part]
        np.divide(products[part].T, outer, out=block, where=outer > 0.0)
        np.clip(block, -1.0, 1.0, out=block)
        explained += np.sum(np.square(products[part] @ weights), axis=0)
    return Structure(coefficients, explained)


def associates(coefficients: Array, support: Array, most: int) -> Array:
    """Return the features outside the support that correlate with the score as much as one inside, largest first."""
    size = np.abs(coefficients)
    least = float(size[support].min(initial=np.inf))
    size = size.copy()
    size[support] = -1.0
    order = np.argsort(-size, kind="stable")[:most]
    return np.asarray(order[size[order] >= least])
