"""Dosages read variant by variant: people by variants, streamed in blocks of columns, never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import DataOperator, Meter

BLOCKS_IN_MEMORY = 6
"""Blocks that exist at once: as read, the next one, as floats, and products of them. Counted."""
MAX_BLOCK_BYTES = 1 << 24
"""Bytes of the largest block in float64, multiplied while it is in the last-level cache: benchmarks/readers.py."""


class VariantSource(Protocol):
    """What dosages are read from."""

    n_people: int

    def dosages(self, variants: Array) -> Array:
        """Return dosages of variants by people, NaN where missing."""
        ...


class VariantPart(NamedTuple):
    """Variants of one source, in the order of columns of X."""

    source: VariantSource
    rows: Array


class DosageMoments(NamedTuple):
    """Of each variant over observed dosages: how many are missing, their sum, and that of squares about the mean."""

    missing: Array
    total: Array
    about_mean: Array


class DosageOperator(DataOperator):
    """Dosages of allele 1 (0 to 2), people by variants, read from disk; a missing one is the mean of its variant.

    X'(Xv) is two reads. A product with a sparse vector, and columns, read only the variants that they use.

    Parameters
    ----------
    parts : sequence of VariantPart
        Variants, one file after another.
    max_memory : int
        Bytes for the blocks in memory.
    fill : array, optional
        Replacement for missing dosages of each variant; the mean over those observed by default.
    dtype : data-type
        Of the products: float64 or float32.
    """

    def __init__(
        self,
        parts: list[VariantPart],
        max_memory: int,
        *,
        fill: Array | None = None,
        dtype: Any = np.float64,
        moments: DosageMoments | None = None,
        meter: Meter | None = None,
        share: float = 1.0,
    ) -> None:
        n = sum(len(part.rows) for part in parts)
        super().__init__((parts[0].source.n_people, n), dtype, meter, share)
        self.parts, self.max_memory = parts, max_memory
        self._starts = np.cumsum([0, *(len(part.rows) for part in parts)])
        self._lock = Lock()
        if moments is not None:
            self.counted = moments
        self._fill = None if fill is None else np.asarray(fill, dtype=np.float64)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the lock."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state | {"_lock": Lock()}

    # --- reading ----------------------------------------------------------------------------------------------------

    def _blocks(self, support: Array) -> list[tuple[VariantPart, Array, slice]]:
        """Return the blocks of a support: source, rows in it, and positions in the support, all in increasing order."""
        step = max(1, min(self.max_memory // BLOCKS_IN_MEMORY, MAX_BLOCK_BYTES) // (8 * self.shape[0]))
        blocks = []
        for number, part in enumerate(self.parts):
            first, last = np.searchsorted(support, self._starts[number : number + 2])
            for start in range(int(first), int(last), step):
                places = slice(start, min(start + step, int(last)))
                blocks.append((part, part.rows[support[places] - self._starts[number]], places))
        return blocks

    def _stream(self, support: Array) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of variants by people as read, NaN where missing, while a thread reads the next one."""
        blocks = self._blocks(support)
        with ThreadPoolExecutor(1, "rspca-read") as reader:
            coming = None
            for number, (_, _, places) in enumerate(blocks):
                coming = coming or reader.submit(self._read, *blocks[number][:2])
                block = coming.result()
                coming = reader.submit(self._read, *blocks[number + 1][:2]) if number + 1 < len(blocks) else None
                yield places, block

    def _read(self, part: VariantPart, rows: Array) -> Array:
        with self._lock:  # a source has one place in its file
            return part.source.dosages(rows)

    def _filled(self, block: Array, columns: Array) -> Array:
        """Return a block in the type of the products, with the fill values."""
        block = block.astype(self._dtype)
        holes = np.isnan(block)
        if holes.any():
            fill = self.fill[columns].astype(self._dtype)
            block[holes] = np.broadcast_to(fill[:, None], block.shape)[holes]
        return block

    @cached_property
    def counted(self) -> DosageMoments:
        """Missing dosages, sums and sums of squares about the mean, by variant: one read."""
        self._meter.add(self._share)
        m, n = self.shape
        missing, total, about = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
        for places, block in self._stream(np.arange(n)):
            holes = np.isnan(block)
            values = np.where(holes, 0.0, block.astype(np.float64))
            missing[places], total[places] = holes.sum(axis=1), values.sum(axis=1)
            mean = total[places] / np.maximum(m - missing[places], 1)
            about[places] = np.square(np.where(holes, 0.0, values - mean[:, None])).sum(axis=1)
        return DosageMoments(missing, total, about)

    @property
    def missing(self) -> Array:
        """Missing dosages of each variant."""
        return self.counted.missing

    @property
    def mean(self) -> Array:
        """Mean over observed dosages of each variant: twice the frequency of allele 1."""
        return self.counted.total / np.maximum(self.shape[0] - self.counted.missing, 1)

    @property
    def fill(self) -> Array:
        """What stands for a missing dosage of each variant."""
        return self.mean if self._fill is None else self._fill

    # --- products ---------------------------------------------------------------------------------------------------

    def matmat(self, V: Array, /) -> Array:
        """X V, reading the variants on which V is not zero."""
        V = np.asarray(V, dtype=self._dtype)
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        self._meter.add(self._part(used))
        out = np.zeros((self.shape[0], *V.shape[1:]))
        for places, block in self._stream(used):
            out += self._filled(block, used[places]).T @ V[used[places]]
        return out.astype(self._dtype)

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        self._meter.add(self._share)
        U = np.asarray(U, dtype=self._dtype)
        out = np.empty((self.shape[1], *U.shape[1:]), dtype=self._dtype)
        everything = np.arange(self.shape[1])
        for places, block in self._stream(everything):
            out[places] = self._filled(block, everything[places]) @ U
        return out

    def columns(self, support: Array, /) -> Array:
        """X[:, support], dense."""
        support = np.asarray(support, dtype=np.intp)
        self._meter.add(self._part(support))
        order = np.argsort(support, kind="stable")
        out = np.empty((self.shape[0], len(support)), dtype=self._dtype)
        for places, block in self._stream(support[order]):
            out[:, order[places]] = self._filled(block, support[order[places]]).T
        return out

    # --- sums over columns ------------------------------------------------------------------------------------------

    def column_sums(self) -> Array:
        """Sum of each column, missing dosages filled."""
        return self.counted.total + self.counted.missing * self.fill

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over people of (x_ij - shift_j)^2, missing dosages filled."""
        shift = np.zeros(self.shape[1]) if shift is None else shift
        observed = self.shape[0] - self.counted.missing
        known = self.counted.about_mean + observed * (self.mean - shift) ** 2
        return known + self.counted.missing * (self.fill - shift) ** 2

    # --- fewer variants, other values for missing ones --------------------------------------------------------------

    def select(self, support: Array) -> DosageOperator:
        """Return the operator of some variants, in increasing order, on the same files."""
        parts = []
        for number, part in enumerate(self.parts):
            first, last = np.searchsorted(support, self._starts[number : number + 2])
            if last > first:
                parts.append(VariantPart(part.source, part.rows[support[first:last] - self._starts[number]]))
        counted = DosageMoments(*(values[support] for values in self.counted))
        fill = None if self._fill is None else self._fill[support]
        return self._made(parts, fill=fill, moments=counted, dtype=self._dtype)

    def filled_with(self, fill: Array) -> DosageOperator:
        """Return the same dosages with other values for missing ones."""
        return self._made(self.parts, fill=fill, moments=self.counted, dtype=self._dtype)

    def to_float64(self) -> DosageOperator:
        """Return the same dosages with products in float64."""
        if self._dtype == np.float64:
            return self
        fill = self.fill.astype(self._dtype)
        return self._made(self.parts, fill=fill, moments=self.counted, dtype=np.float64)

    def _made(self, parts: list[VariantPart], **options: Any) -> DosageOperator:
        return DosageOperator(parts, self.max_memory, meter=self._meter, share=self._share, **options)
