"""What features mean in a component: correlations with its scores, and what the scores explain of X."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rspca.base.types import Array
from rspca.linalg.explained_variance import gram_schmidt


class Structure(NamedTuple):
    """Correlation of every feature with each score, and what each score adds to the explained part of X."""

    coefficients: Array
    """r(feature, score), (n_components, n_features); 0 for constant features. Cosines if X is not centered."""
    reconstruction: Array
    """What each component adds to |P X|^2, P the projection on the scores; no divisor."""


def structure_of(scores: Array, products: Array, sq_norms: Array) -> Structure:
    """Return both from the scores T, the products X'T and the squared lengths of the columns of X: one pass."""
    lengths, sizes = np.sqrt(np.maximum(sq_norms, 0.0)), np.linalg.norm(scores, axis=0)
    outer = np.multiply.outer(sizes, lengths)
    coefficients = np.divide(products.T, outer, out=np.zeros_like(outer), where=outer > 0.0)
    directions, _ = gram_schmidt(scores)
    weights = np.linalg.lstsq(scores, directions, rcond=None)[0]  # directions = scores @ weights
    explained = np.sum(np.square(products @ weights), axis=0)
    return Structure(np.clip(coefficients, -1.0, 1.0), explained)


def associates(coefficients: Array, support: Array, most: int) -> Array:
    """Return the features outside the support that correlate with the score as much as one inside, largest first."""
    size = np.abs(coefficients)
    least = float(size[support].min(initial=np.inf))
    size = size.copy()
    size[support] = -1.0
    order = np.argsort(-size, kind="stable")[:most]
    return np.asarray(order[size[order] >= least])
