"""What rounding can hide of products in float64: bounds on the errors that are left."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import EPS
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.rank_one import GRAM_CANCELLATION_MAX

_norms: WeakKeyDictionary[OperatorMixin, Array] = WeakKeyDictionary()


def reach(op: OperatorMixin) -> Array:
    """Return the lengths to which rounding is relative: of columns before the mean, or a deflation, is taken off."""
    return op.reach()


def sum_error(op: OperatorMixin) -> float:
    """Return e such that an inner product of two columns, or with a unit vector, is off by e times the reach."""
    return (op.shape[0] + 64) * EPS


def sq_norms(op: OperatorMixin) -> Array:
    """Return squared column norms that are not below the true ones, and above them by at most 2 sum_error reach^2."""
    if op not in _norms:
        norms, lengths = op.sq_norms, reach(op) ** 2
        anew = np.flatnonzero(lengths > budgets.CANCELED_NORM * norms)
        if op.has_samples and len(anew):
            norms = norms.copy()
            for part in chunks(len(anew), op.shape[0] * 8):
                block = op.columns(anew[part])
                norms[anew[part]] = np.einsum("ij,ij->j", block, block)
            lengths[anew] = norms[anew]
        _norms[op] = norms + sum_error(op) * lengths
    return _norms[op]


def gram_error(op: OperatorMixin, weights: Array | None = None) -> float:
    """Return a bound on the error, in spectral norm, of X W X' as computed: an entry is an inner product of length n.

    Operators take differences of such products only as far as GRAM_CANCELLATION_MAX goes.
    """
    weights = np.ones(op.shape[1]) if weights is None else weights
    terms = min(float(weights @ reach(op) ** 2), GRAM_CANCELLATION_MAX * float(weights @ op.sq_norms))
    return (max(op.shape) + 64) * EPS * terms
