"""Single-precision data as the exact numbers they are, with products in float64: what proofs are made on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rspca.operators.deflated import Deflated, ScoreDeflated
from rspca.operators.matrix import DenseOperator, SparseOperator
from rspca.operators.protocol import Meter, OperatorMixin, Wrapper, chunks
from rspca.operators.standardized import Centered, Standardized

Array = NDArray[Any]

CONVERTED_BYTES = 1 << 26
DOUBLE = np.dtype(np.float64)


def in_double(op: OperatorMixin) -> OperatorMixin:
    """Return the operator of the same numbers with products in float64: single-precision data are exact numbers.

    The data are converted a block at a time; means, spreads and deflations found in single precision are found anew.
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
    elif isinstance(out, Standardized):
        out.weights = out.weights_of(out.inner)
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
