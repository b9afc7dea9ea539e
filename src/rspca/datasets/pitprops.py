"""The pit props of Jeffers: thirteen measurements of timber, as a correlation matrix that ships with rspca."""

from __future__ import annotations

import numpy as np

from rspca.base.types import Array

PITPROPS_FEATURES = (
    "topdiam",
    "length",
    "moist",
    "testsg",
    "ovensg",
    "ringtop",
    "ringbut",
    "bowmax",
    "bowdist",
    "whorls",
    "clear",
    "knots",
    "diaknot",
)

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
