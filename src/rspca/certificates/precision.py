"""What rounding can hide: operators whose products are float64 throughout, and bounds on the errors that are left."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rspca.certificates.bounds import EPS
from rspca.operators.matrix import DenseOperator, SparseOperator
from rspca.operators.protocol import Meter, OperatorMixin, Wrapper, chunks
from rspca.operators.wrappers import MOST_CANCELED, Centered, Deflated, ScoreDeflated

Array = NDArray[Any]

CANCELED = 1e4
"""Share of a squared norm that may be lost by a difference (to the mean, to a deflation) before it is taken anew."""
CONVERTED_BYTES = 1 << 26
DOUBLE = np.dtype(np.float64)

_norms: WeakKeyDictionary[OperatorMixin, Array] = WeakKeyDictionary()


def in_double(op: OperatorMixin) -> OperatorMixin:
    """Return the operator of the same numbers with products in float64: single-precision data are exact numbers.

    The data are converted a block at a time; means and deflations that were found in single precision are found anew.
    """
    if op.dtype == DOUBLE:
        return op
    if not isinstance(op, Wrapper):
        if isinstance(op, SparseOperator):
            return SparseOperator(op.X.astype(DOUBLE), meter=op.meter)
        return _Doubled(op) if not isinstance(op, DenseOperator) else _DoubledArray(op.X, meter=op.meter)
    out = object.__new__(type(op))
    out.__dict__.update(op.__dict__)
    out.inner = in_double(op.inner)
    for cached in ("sq_norms", "_gram_v"):
        out.__dict__.pop(cached, None)
    if isinstance(out, Centered):
        out.mean = out.inner.column_sums() / op.shape[0]
    elif isinstance(out, Deflated):
        out.left = out.inner.matmat(out.v)
    elif isinstance(out, ScoreDeflated):
        out.loadings = out.inner.rmatmat(out.u)
    return out


class _DoubledArray(DenseOperator):
    """A single-precision array, converted block by block."""

    def __init__(self, X: Array, meter: Meter | None = None, share: float = 1.0) -> None:
        super().__init__(X, meter, share)
        self._dtype, self._direct = DOUBLE, False

    def _blocks(self) -> list[slice]:
        """Blocks so large that adding up what they give takes little of the time."""
        return list(chunks(self.shape[0], self.shape[1] * 8, CONVERTED_BYTES))


class _Doubled(OperatorMixin):
    """Any operator of which only the columns are exact."""

    def __init__(self, inner: OperatorMixin) -> None:
        self.inner = inner
        self.has_samples, self.offset = inner.has_samples, inner.offset

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        return self.inner.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Always float64."""
        return DOUBLE

    @property
    def meter(self) -> Meter:
        """Counter of passes."""
        return self.inner.meter

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        return np.asarray(self.inner.columns(support), dtype=DOUBLE)

    def matmat(self, V: Array, /) -> Array:
        """X V."""
        parts = chunks(self.shape[1], self.shape[0] * 8)
        return np.asarray(sum(self.columns(np.arange(part.start, part.stop)) @ V[part] for part in parts))

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        parts = chunks(self.shape[1], self.shape[0] * 8)
        return np.concatenate([self.columns(np.arange(part.start, part.stop)).T @ U for part in parts])


def reach(op: OperatorMixin) -> Array:
    """Return the lengths to which rounding is relative: of columns before the mean, or a deflation, is taken off."""
    return op.rounding() / float(np.finfo(op.dtype).eps)


def sum_error(op: OperatorMixin) -> float:
    """Return e such that an inner product of two columns, or with a unit vector, is off by e times the reach."""
    return (op.shape[0] + 64) * EPS


def sq_norms(op: OperatorMixin) -> Array:
    """Return squared column norms that are not below the true ones, and above them by at most 2 sum_error reach^2."""
    if op not in _norms:
        norms, lengths = op.sq_norms, reach(op) ** 2
        anew = np.flatnonzero(lengths > CANCELED * norms)
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

    Operators take differences of such products only as far as MOST_CANCELED goes.
    """
    weights = np.ones(op.shape[1]) if weights is None else weights
    terms = min(float(weights @ reach(op) ** 2), MOST_CANCELED * float(weights @ op.sq_norms))
    return (max(op.shape) + 64) * EPS * terms
