"""Bounds on the rounding errors of products in float64."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from rspca.base.types import Array
from rspca.certificates import budgets
from rspca.certificates.bounds.gram import EPS
from rspca.operators.base import OperatorMixin, chunks
from rspca.operators.low_rank import GRAM_CANCELLATION_MAX

_norms: WeakKeyDictionary[OperatorMixin, Array] = WeakKeyDictionary()


def sum_error(op: OperatorMixin) -> float:
    """Return e such that the error of an inner product with a column is at most e times its `rounding_lengths`."""
    return (op.shape[0] + 64) * EPS


def sq_norms(op: OperatorMixin) -> Array:
    """Return upper bounds on the squared column norms, too large by at most 2 sum_error rounding_lengths^2."""
    if op not in _norms:
        norms, lengths = op.sq_norms, op.rounding_lengths() ** 2
        canceled = np.flatnonzero(lengths > budgets.CANCELED_NORM * norms)
        if op.has_samples and len(canceled):
            norms = norms.copy()
            for part in chunks(len(canceled), op.shape[0] * 8):
                block = op.columns(canceled[part])
                norms[canceled[part]] = np.einsum("ij,ij->j", block, block)
            lengths[canceled] = norms[canceled]
        _norms[op] = norms + sum_error(op) * lengths
    return _norms[op]


def gram_error(op: OperatorMixin, weights: Array | None = None) -> float:
    """Return a bound on the error, in spectral norm, of X W X' as computed: an entry is an inner product of length n.

    Operators take differences of such products only as far as GRAM_CANCELLATION_MAX goes.
    """
    weights = np.ones(op.shape[1]) if weights is None else weights
    terms = min(float(weights @ op.rounding_lengths() ** 2), GRAM_CANCELLATION_MAX * float(weights @ op.sq_norms))
    return (max(op.shape) + 64) * EPS * terms
