"""Genotypes multiplied in the format of PLINK 1 files: two bits each, mapped from disk, never unpacked as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from rspca.base.cache_files import BYTES_AT_ONCE, is_cached, let_go
from rspca.base.memory import check_room
from rspca.base.types import Array
from rspca.operators.base import DataOperator, Meter, chunks
from rspca.operators.permutations import permuted_calls, strata_of

Rows = tuple[Array, Array, int, int]
"""First arguments of every kernel: bytes, the rows of them that are columns of X, the first and the last of these."""


class Part(NamedTuple):
    """SNPs of one file: all its rows of bytes, and which of them are columns of X, in order."""

    packed: Array
    rows: Array


class Calls(NamedTuple):
    """Number of missing calls of each SNP, of calls with one copy, and with two copies."""

    missing: Array
    one: Array
    two: Array

    def mean(self, n_people: int) -> Array:
        """Return the mean over observed calls; 0 where there is none."""
        return (self.one + 2.0 * self.two) / np.maximum(n_people - self.missing, 1)

    def weighted_mean(self, total: float) -> Array:
        """Return the mean over observed calls, if these are weights of people that add up to `total`."""
        observed = total - self.missing
        some = observed > 64 * total * float(np.finfo(float).eps)
        return np.where(some, (self.one + 2.0 * self.two) / np.where(some, observed, 1.0), 0.0)


class PackedOperator(DataOperator):
    """Copies of allele 1 (0, 1, 2), people by SNPs, read from packed bytes; a missing call is the mean of its SNP.

    Products are float32 or float64, as the kernels state; sums over columns come from counts and are exact. X'(Xv) is
    two reads, because files list SNP by SNP; a product with a sparse vector reads only the SNPs that it uses.

    Parameters
    ----------
    parts : sequence of Part
        Rows of bytes, one file after another.
    n_people : int
        People in the files.
    people : array of int, optional
        The rows of X among them; all by default.
    fill : array, optional
        Replacement for missing calls of each SNP; the mean over observed calls by default.
    dtype : data-type
        float64, or float32, which is a little faster.
    """

    own_threads = True
    selects_columns = True
    columns_are_copies = True

    def __init__(
        self,
        parts: Sequence[Part],
        n_people: int,
        people: Array | None = None,
        *,
        fill: Array | None = None,
        dtype: Any = np.float64,
        calls: Calls | None = None,
        meter: Meter | None = None,
        share: float = 1.0,
    ) -> None:
        ends = np.cumsum([len(part.rows) for part in parts])
        super().__init__((n_people if people is None else len(people), ends[-1]), dtype, meter, share)
        self._sources = [part.packed for part in parts]
        self.parts = [Part(_read_only(part.packed), np.asarray(part.rows, dtype=np.int64)) for part in parts]
        self.n_people = n_people
        self.people = people
        self._ends = ends
        self._width = (n_people + 3) // 4
        if calls is not None:
            self.calls = calls
        self._fill = np.asarray(self.mean if fill is None else fill, dtype=self._dtype)
        self._incomplete = self.calls.missing > 0
        self._last_weighted: tuple[Array, Calls] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with names of mapped files, not their contents."""
        return self.__dict__ | {
            "parts": [part.rows for part in self.parts],
            "_sources": [_Mapped.of(source) for source in self._sources],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        self._sources = [source.opened() for source in state["_sources"]]
        self.parts = [
            Part(_read_only(source), rows) for source, rows in zip(self._sources, state["parts"], strict=True)
        ]

    def __sizeof__(self) -> int:
        """Bytes in memory, without mapped files; a Dask cluster decides by them what to move."""
        copied = sum(source.nbytes for source in self._sources if not isinstance(source, np.memmap))
        return object.__sizeof__(self) + copied + 40 * self.shape[1]

    @property
    def _kernels(self) -> ModuleType:
        """The compiled kernels; only products with packed genotypes need numba."""
        from rspca.operators import kernels

        return kernels

    @cached_property
    def calls(self) -> Calls:
        """Counts of missing calls, of one copy and of two copies, by SNP: one read."""
        self._meter.add(self._share)
        counts = np.zeros((self.shape[1], 3), dtype=np.int64)
        mask, count = self._mask(), self._kernels.count_rows
        for part, columns in self._columns_of_parts():
            self._blocks(part, partial(_call, count, (mask,)), counts[columns])
        return Calls(*counts.T)

    @property
    def mean(self) -> Array:
        """Mean over observed calls of each SNP: twice the frequency of allele 1."""
        return self.calls.mean(self.shape[0])

    # --- people that count differently ------------------------------------------------------------------------------

    def weighted_calls(self, weights: Array) -> Calls:
        """Return the weights of people with a missing call, one copy and two copies of each SNP; the last is cached."""
        cached = self._last_weighted
        if cached is not None and cached[0] is weights:
            return cached[1]
        self._meter.add(self._share)
        totals = np.zeros((self.shape[1], 3))
        planes, weigh = self._planes(weights, np.float64), self._kernels.weigh_rows
        for part, columns in self._columns_of_parts():
            self._blocks(part, partial(_call, weigh, (planes,)), totals[columns])
        calls = Calls(*totals.T)
        self._last_weighted = (weights, calls)
        return calls

    def weighted_sums(self, weights: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Weighted sums of the columns, and of their squares about a shift, from weighted counts."""
        missing, one, two = self.weighted_calls(weights)
        shift, fill = np.zeros(self.shape[1]) if shift is None else shift, self._fill64(weights)
        none = np.maximum(weights.sum() - missing - one - two, 0.0)
        none[self.calls.missing + self.calls.one + self.calls.two == self.shape[0]] = 0.0
        squares = none * shift**2 + one * (1.0 - shift) ** 2 + two * (2.0 - shift) ** 2
        return one + 2.0 * two + missing * fill, squares + missing * (fill - shift) ** 2

    def observed_sums(self, weights: Array | None) -> tuple[Array, Array]:
        """Sums over observed calls, and weights of missing ones."""
        calls = self.calls if weights is None else self.weighted_calls(weights)
        return calls.one + 2.0 * calls.two, np.asarray(calls.missing, dtype=np.float64)

    def with_missing_as(self, fill: Array) -> PackedOperator:
        """Return the same genotypes with these values for missing calls."""
        return self.filled_with(fill)

    def filled_for(self, weights: Array) -> PackedOperator:
        """Return the same genotypes with missing calls filled by weighted means, unless other values were given."""
        if not self._incomplete.any() or not self._filled_by_means():
            return self
        return self.filled_with(self.weighted_calls(weights).weighted_mean(float(weights.sum())))

    def _filled_by_means(self) -> bool:
        """Return whether missing calls count as the mean of their SNP."""
        return bool(np.array_equal(self._fill, self.mean.astype(self._dtype)))

    def rows_at(self, rows: Array) -> PackedOperator:
        """Return the operator of some people; missing calls count as their mean, unless other values were given."""
        people = rows if self.people is None else self.people[rows]
        parts = [Part(source, part.rows) for source, part in zip(self._sources, self.parts, strict=True)]
        fill = None if self._filled_by_means() else self._fill
        return PackedOperator(
            parts, self.n_people, people, fill=fill, dtype=self._dtype, meter=self._meter, share=self._share
        )

    @property
    def missing(self) -> Array:
        """Missing calls of each SNP."""
        return self.calls.missing

    # --- products ---------------------------------------------------------------------------------------------------

    def matmat(self, V: Array, /) -> Array:
        """X V, reading the SNPs on which V is not zero."""
        V = np.asarray(V)
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        self._meter.add(self._part(used))
        width = int(np.prod(V.shape[1:], dtype=np.intp))
        weights = np.ascontiguousarray(V[used].reshape(len(used), width), dtype=self._dtype)
        sums = np.zeros((weights.shape[1], 4, self._width))
        for part, columns, chosen in self._parts_of(used):
            sums += self._weighted(part, weights[chosen], columns)
        scores = sums.transpose(2, 1, 0).reshape(4 * self._width, -1)
        scores = scores[: self.n_people] if self.people is None else scores[self.people]
        return scores.reshape(self.shape[0], *V.shape[1:]).astype(self._dtype)

    def _weighted(self, part: Part, weights: Array, columns: Array) -> Array:
        """Return the weighted sum of the rows of one file, in planes: partial sums, added in a fixed order."""
        fill, incomplete, n = self._fill[columns], self._incomplete[columns], len(part.rows)
        step = self._kernels.block_rows(n, self._width, weights.shape[1], 32 * weights.shape[1] * self._width)
        sums = np.zeros((-(-n // step), weights.shape[1], 4, self._width))

        def add(rows: Rows, sums: Array) -> None:
            self._kernels.add_rows(*rows, weights, fill, incomplete, sums[rows[2] // step])

        self._blocks(part, add, sums, step)
        return np.asarray(sums.sum(axis=0))

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        return self._products(np.asarray(U)).astype(self._dtype, copy=False)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T in float64, and T = X V - 1 shift'."""
        scores = self.matmat(V) - np.asarray(shift, dtype=self._dtype)
        return self._products(scores), scores

    def _products(self, U: Array) -> Array:
        self._meter.add(self._share)
        planes, dot = self._planes(U), self._kernels.dot_rows
        out = np.empty((self.shape[1], planes.shape[1]))
        for part, columns in self._columns_of_parts():
            rest = (planes, self._fill[columns], self._incomplete[columns])
            step = self._kernels.block_rows(len(part.rows), self._width, planes.shape[1])
            self._blocks(part, partial(_call, dot, rest), out[columns], step)
        return out.reshape(self.shape[1], *U.shape[1:])

    def columns(self, support: Array, /) -> Array:
        """X[:, support], unpacked."""
        support = np.asarray(support, dtype=np.intp)
        self._meter.add(self._part(support))
        part = Part(self._gathered(support), np.arange(len(support)))
        rest = (self._fill[support], self._incomplete[support])
        out = np.empty((len(support), 4 * self._width), dtype=self._dtype)
        self._blocks(part, partial(_call, self._kernels.unpack_rows, rest), out)
        return (out[:, : self.n_people] if self.people is None else out[:, self.people]).T

    # --- sums over columns, from counts -----------------------------------------------------------------------------

    def column_sums(self) -> Array:
        """Sum of each column, missing calls filled."""
        return self.calls.one + 2.0 * self.calls.two + self.calls.missing * self._fill64()

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over people of (x_ij - shift_j)^2, missing calls filled."""
        shift = np.zeros(self.shape[1]) if shift is None else shift
        none = self.shape[0] - sum(self.calls)
        observed = none * shift**2 + self.calls.one * (1.0 - shift) ** 2 + self.calls.two * (2.0 - shift) ** 2
        return observed + self.calls.missing * (self._fill64() - shift) ** 2

    def _fill64(self, weights: Array | None = None) -> Array:
        """Return the fill values in float64: the unrounded mean if the fill value is the rounded mean."""
        mean = self.mean if weights is None else self.weighted_calls(weights).weighted_mean(float(weights.sum()))
        return np.where(self._fill == mean.astype(self._dtype), mean, self._fill)

    # --- fewer SNPs -------------------------------------------------------------------------------------------------

    def select(self, support: Array) -> PackedOperator:
        """Return the operator of some SNPs, in increasing order, on the same files: nothing is copied."""
        starts = np.concatenate([[0], self._ends])
        parts = []
        for number, (source, part) in enumerate(zip(self._sources, self.parts, strict=True)):
            first, last = np.searchsorted(support, starts[number : number + 2])
            if last > first:
                parts.append(Part(source, part.rows[support[first:last] - starts[number]]))
        return self._with(parts, support, share=1.0)

    def permuted(self, rng: np.random.Generator, labels: Array | None = None) -> PackedOperator:
        """Return a packed copy in memory with the calls of each SNP permuted, missing ones too."""
        m, n = self.shape
        width = -(-m // 4)
        check_room(2 * n * width, "a permuted copy of the genotypes", "Choose fewer SNPs.")
        packed, strata = np.empty((n, width), dtype=np.uint8), strata_of(labels, m)
        people = np.arange(self.n_people) if self.people is None else self.people
        for part, columns in self._columns_of_parts():
            for some in chunks(len(part.rows), self._width):
                target = packed[columns][some]
                target[:] = permuted_calls(part.packed[part.rows[some]], people, rng, strata)
        parts, fill = [Part(packed, np.arange(n))], self._fill
        return PackedOperator(parts, m, fill=fill, dtype=self._dtype, calls=self.calls)

    def restricted_bytes(self, k: int) -> int:
        """Bytes of k SNPs, packed."""
        return k * self._width

    def restrict(self, support: Array) -> PackedOperator:
        """Return the operator of a packed copy of some SNPs: a sixteenth of what they take in float32."""
        support = np.asarray(support, dtype=np.intp)
        part = Part(self._gathered(support), np.arange(len(support)))
        return self._with([part], support, share=self._part(support))

    def to_float64(self) -> PackedOperator:
        """Return the same genotypes, and the same values for missing calls, with products in float64."""
        if self._dtype == np.float64:
            return self
        return self._like(self._fill.astype(np.float64), np.float64)

    def filled_with(self, fill: Array) -> PackedOperator:
        """Return the same genotypes with other values for missing calls."""
        return self._like(fill, self._dtype)

    def _like(self, fill: Array, dtype: Any) -> PackedOperator:
        parts = [Part(source, part.rows) for source, part in zip(self._sources, self.parts, strict=True)]
        return self._made(parts, fill=fill, dtype=dtype, calls=self.calls, share=self._share)

    def _with(self, parts: Sequence[Part], support: Array, share: float) -> PackedOperator:
        calls = Calls(*(count[support] for count in self.calls))
        return self._made(parts, fill=self._fill[support], dtype=self._dtype, calls=calls, share=share)

    def _made(self, parts: Sequence[Part], **options: Any) -> PackedOperator:
        """Return an operator of other parts for the same people, with the same counter of passes."""
        return PackedOperator(parts, self.n_people, self.people, meter=self._meter, **options)

    def _gathered(self, support: Array) -> Array:
        """Return the rows of bytes of some SNPs, in the given order."""
        gathered = np.empty((len(support), self._width), dtype=np.uint8)
        starts = np.concatenate([[0], self._ends[:-1]])
        for number, part in enumerate(self.parts):
            chosen = (support >= starts[number]) & (support < self._ends[number])
            gathered[chosen] = part.packed[part.rows[support[chosen] - starts[number]]]
            let_go(part.packed)
        return _read_only(gathered)

    # --- layout of people, parts and threads ------------------------------------------------------------------------

    def _columns_of_parts(self) -> list[tuple[Part, slice]]:
        starts = [0, *self._ends[:-1]]
        return [(part, slice(int(a), int(b))) for part, a, b in zip(self.parts, starts, self._ends, strict=True)]

    def _parts_of(self, support: Array) -> list[tuple[Part, Array, slice]]:
        """Return the SNPs of a sorted support for each file: rows of the file, columns of X, positions in support."""
        chosen_parts = []
        for part, columns in self._columns_of_parts():
            first, last = np.searchsorted(support, [columns.start, columns.stop])
            chosen = support[first:last]
            if len(chosen):
                rows = Part(part.packed, part.rows[chosen - columns.start])
                chosen_parts.append((rows, chosen, slice(first, last)))
        return chosen_parts

    def _planes(self, U: Array, dtype: Any = None) -> Array:
        """Return the columns of U in the planar layout of the kernels, with zeros for people who are not in X."""
        dtype = self._dtype if dtype is None else dtype
        U = U.reshape(self.shape[0], -1).astype(dtype, copy=False)
        if self.people is not None:
            everyone = np.zeros((self.n_people, U.shape[1]), dtype=dtype)
            everyone[self.people] = U
            U = everyone
        return np.asarray(self._kernels.planar(U, self._width))

    def _mask(self) -> Array:
        """Return a byte for every four people, with the low bit of each person in X set."""
        chosen = np.zeros(4 * self._width, dtype=np.uint8)
        chosen[slice(self.n_people) if self.people is None else self.people] = 1
        return np.asarray((chosen.reshape(-1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(1), dtype=np.uint8)

    def _blocks(self, part: Part, work: Callable[[Rows, Array], None], out: Array, step: int | None = None) -> None:
        """Call work((packed, rows, first, last), out) for blocks of the rows of one file, in several threads.

        The pages of a cache file are let go after some blocks, so that its limit of memory holds.
        """
        n = len(part.rows)
        size = step or self._kernels.block_rows(n, self._width)
        cached = is_cached(part.packed)
        run = max(1, BYTES_AT_ONCE // (size * self._width)) * size if cached else n
        for start in range(0, n, run):
            stop = min(start + run, n)
            in_run = partial(_in_block, part, work, out, start, stop, size)
            self._kernels.in_blocks(in_run, -(-(stop - start) // size))
            if cached and run < n:
                let_go(part.packed)


def _in_block(
    part: Part, work: Callable[[Rows, Array], None], out: Array, start: int, stop: int, size: int, block: int
) -> None:
    first = start + block * size
    work((*part, first, min(first + size, stop)), out)


def _call(kernel: Callable[..., None], rest: tuple[Array, ...], rows: Rows, out: Array) -> None:
    kernel(*rows, *rest, out)


class _Mapped(NamedTuple):
    """Pickled rows of bytes: the file that they are mapped from, or the bytes themselves."""

    filename: str | None
    offset: int
    rows: Array | tuple[int, ...]

    @classmethod
    def of(cls, packed: Array) -> _Mapped:
        """Return file and offset of a whole mapping; other rows, such as slices of a mapping, are sent themselves."""
        if isinstance(packed, np.memmap) and packed.filename is not None and packed.flags.c_contiguous:
            name = str(packed.filename)
            if packed.offset + packed.nbytes == os.path.getsize(name):
                return cls(name, packed.offset, packed.shape)
        return cls(None, 0, packed)

    def opened(self) -> Array:
        """Return the rows."""
        if self.filename is None:
            return np.asarray(self.rows)
        return np.memmap(self.filename, np.uint8, "r", self.offset, tuple(self.rows))


def _read_only(array: Array) -> Array:
    """Return a read-only view; kernels are compiled only for read-only arrays."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view
