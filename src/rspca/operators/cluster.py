"""X on the workers of a Dask cluster: blocks stay on the workers, and only vectors are sent.

A block is an operator, held by a worker as a future. The scheduler knows how each block was made, so a lost worker
costs only time: its blocks are made again, and its unfinished products are repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.operators.base import DataOperator, Meter, Moments, OperatorMixin
from rspca.operators.cluster_blocks import added_moments, call_method, call_transposed, product_of_columns, shifted_sum
from rspca.operators.cluster_client import losses_reported
from rspca.operators.column_cache import ColumnCache
from rspca.operators.dense import DenseOperator

FETCHED_BYTES = 1 << 26
"""Bytes up to which columns are fetched to this process and cached, so that work on them needs no messages."""
SMALL_FETCH_BYTES = 1 << 22
"""Bytes of columns that take no longer to fetch than the answer to a request; products with few columns are computed
here: benchmarks/scale.py."""


class ClusterOperator(DataOperator):
    """X cut along its longer axis into blocks that live on workers.

    A product sends each block its part of a vector and returns its part of the result: m + n numbers in all. Every
    request costs the latency of the scheduler, so columns that were fetched are cached, and products with few columns
    are computed in this process.
    """

    def __init__(
        self,
        client: Any,
        blocks: Sequence[Any],
        ends: Array,
        axis: int,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        *,
        meter: Meter | None = None,
        share: float = 1.0,
    ) -> None:
        super().__init__(shape, dtype, meter, share)
        self.client = client
        self.blocks = list(blocks)
        self.axis = axis
        self._slices = [slice(int(a), int(b)) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        self._cache = ColumnCache(self._column_bytes(1), FETCHED_BYTES)

    def _column_bytes(self, count: int) -> int:
        return self.shape[0] * count * self._dtype.itemsize

    def _fetch_is_small(self, support: Array) -> bool:
        """Return whether fetching what is not cached of these columns takes no longer than a request."""
        if self._column_bytes(len(support)) > FETCHED_BYTES:
            return False
        return self._column_bytes(len(self._cache.missing(support))) <= SMALL_FETCH_BYTES

    def _call_blocks(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Return the results of this method of each block; None for blocks whose arguments are None. One request."""
        results = iter(self._gather(self._submit(method, arguments)))
        return [None if values is None else next(results) for values in arguments]

    def _gather(self, futures: Any) -> Any:
        """Return the results of futures: every answer of the workers comes this way."""
        with losses_reported(self.client):
            return self.client.gather(futures)

    def _submit(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Return the futures of this method of each block, without those whose arguments are None. One message."""
        called = [(block, values) for block, values in zip(self.blocks, arguments, strict=True) if values is not None]
        blocks, rest = [block for block, _ in called], [values for _, values in called]
        return self._map(call_method, blocks, [method] * len(blocks), rest) if blocks else []

    def _map(self, function: Any, *arguments: Sequence[Any]) -> list[Any]:
        """Return futures of a function of each of the arguments, in one message to the scheduler."""
        with losses_reported(self.client):
            return list(self.client.map(function, *arguments, pure=False))

    def _one(self, function: Any, *arguments: Any) -> Any:
        """Return the future of a function of futures and values."""
        with losses_reported(self.client):
            return self.client.submit(function, *arguments, pure=False)

    def _reduced(self, method: str, arguments: tuple[Any, ...], add: Any, weights: Array | None = None) -> Any:
        """Return the results of this method of all blocks, added up by the workers in a fixed order. One request.

        With weights each block gets those of its rows as another argument.
        """
        each = [arguments if weights is None else (*arguments, weights[part]) for part in self._slices]
        futures = self._submit(method, each)
        while len(futures) > 1:
            pairs = self._map(add, futures[:-1:2], futures[1::2])
            futures = [*pairs, *futures[len(futures) - len(futures) % 2 :]]
        return self._gather(futures[0])

    def _sum(self, answers: Sequence[Any], shape: tuple[int, ...]) -> Array:
        """Return the sum in float64, in the order of the blocks, whichever finished first."""
        total = np.zeros(shape)
        for answer in answers:
            if answer is not None:
                total += answer
        return total

    def matmat(self, V: Array, /) -> Array:
        """X V; in this process if V has few rows that are not zero, otherwise by the blocks on which it is not zero."""
        V = np.asarray(V, dtype=self._dtype)
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        if self._fetch_is_small(used):
            return self.columns(used) @ V[used]
        if self.axis == 0:
            self._meter.add(self._share)
            return np.concatenate(self._call_blocks("matmat", [(V,)] * len(self.blocks)))
        pieces = [V[part] for part in self._slices]
        self._meter.add(self._part(used))
        answers = self._call_blocks("matmat", [(piece,) if piece.any() else None for piece in pieces])
        return self._sum(answers, (self.shape[0], *V.shape[1:])).astype(self._dtype)

    def rmatmat(self, U: Array, /) -> Array:
        """X'U."""
        if U.ndim == 2 and U.shape[1] == 0:
            return np.zeros((self.shape[1], 0), dtype=self._dtype)
        self._meter.add(self._share)
        U = np.asarray(U, dtype=self._dtype)
        if self.axis == 1:
            return np.concatenate(self._call_blocks("rmatmat", [(U,)] * len(self.blocks)))
        answers = self._call_blocks("rmatmat", [(U[part],) for part in self._slices])
        return self._sum(answers, (self.shape[1], *U.shape[1:])).astype(self._dtype)

    def gram_and_scores(self, V: Array, shift: Array | float = 0.0) -> tuple[Array, Array]:
        """X'T and T = X V - 1 shift', in one request; one read if blocks are whole rows."""
        V, shift = np.asarray(V, dtype=self._dtype), np.asarray(shift, dtype=self._dtype)
        if self.axis == 1:
            return self._gram_of_column_blocks(V, shift)
        self._meter.add(self._share)
        answers = self._call_blocks("gram_and_scores", [(V, shift)] * len(self.blocks))
        products, scores = zip(*answers, strict=True)
        return self._sum(products, (self.shape[1], *V.shape[1:])), np.concatenate(scores)

    def _gram_of_column_blocks(self, V: Array, shift: Array) -> tuple[Array, Array]:
        """Return X'T and T of blocks of columns: workers exchange their parts of the scores, and multiply again."""
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        if self._column_bytes(len(used)) <= FETCHED_BYTES and not len(self._cache.missing(used)):
            return super().gram_and_scores(V, shift)
        self._meter.add(self._part(used) + self._share)
        pieces = [V[part] for part in self._slices]
        parts = self._submit("matmat", [(piece,) if piece.any() else None for piece in pieces])
        scores = self._one(shifted_sum, parts, shift)
        products = self._map(call_transposed, self.blocks, [scores] * len(self.blocks))
        *answers, total = self._gather([*products, scores])
        return np.concatenate(answers).astype(np.float64, copy=False), total

    def columns(self, support: Array, /) -> Array:
        """X[:, support], fetched; columns that fit the cache are fetched once."""
        support = np.asarray(support, dtype=np.intp)
        if 0 < self._column_bytes(len(support)) <= FETCHED_BYTES:
            return self._cache.take(support, lambda missing: list(np.ascontiguousarray(self._fetched(missing).T)))
        return self._fetched(support)

    def _fetched(self, support: Array) -> Array:
        if len(support) == 0:
            return np.empty((self.shape[0], 0), dtype=self._dtype)
        self._meter.add(self._part(support))
        if self.axis == 0:
            return np.concatenate(self._call_blocks("columns", [(support,)] * len(self.blocks)))
        out = np.empty((self.shape[0], len(support)), dtype=self._dtype, order="F")
        places = self._places(support)
        for chosen, answer in zip(places, self._call_blocks("columns", self._local(support, places)), strict=True):
            if answer is not None:
                out[:, chosen] = answer
        return out

    def scores(self, support: Array, loadings: Array) -> Array:
        """X_S loadings in float64."""
        support = np.asarray(support, dtype=np.intp)
        if self._fetch_is_small(support):
            return np.asarray(self.columns(support), dtype=np.float64) @ loadings
        self._meter.add(self._part(support))
        if self.axis == 0:
            return np.concatenate(self._call_blocks("scores", [(support, loadings)] * len(self.blocks)))
        places = self._places(support)
        local = self._local(support, places)
        arguments = [None if part is None else (*part, loadings[at]) for part, at in zip(local, places, strict=True)]
        return self._sum(self._call_blocks("scores", arguments), (self.shape[0],))

    def gram_block(self, support: Array) -> Array:
        """X_S'X_S in float64."""
        support = np.asarray(support, dtype=np.intp)
        if self.axis == 1 or self._fetch_is_small(support):
            return super().gram_block(support)
        self._meter.add(self._part(support))
        return np.asarray(self._reduced("gram_block", (support,), np.add))

    def gram_matrix(self, support: Array) -> Array:
        """X_S'X_S in float64, in one request: of columns in this process, or of blocks of rows added by the workers."""
        support = np.asarray(support, dtype=np.intp)
        if self._computed_here(support):
            return super().gram_matrix(support)
        self._meter.add(self._part(support))
        if self.axis == 0:
            return np.asarray(self._reduced("gram_matrix", (support,), np.add))
        return self._gram_of_blocks(support)

    def gram_between(self, rows: Array, columns: Array) -> Array:
        """X_R'X_C in float64, in one request."""
        rows, columns = np.asarray(rows, dtype=np.intp), np.asarray(columns, dtype=np.intp)
        both = np.union1d(rows, columns)
        if self._computed_here(both):
            return super().gram_between(rows, columns)
        if self.axis == 0:
            self._meter.add(self._part(both))
            return np.asarray(self._reduced("gram_between", (rows, columns), np.add))
        return self.gram_matrix(both)[np.ix_(np.searchsorted(both, rows), np.searchsorted(both, columns))]

    def _computed_here(self, support: Array) -> bool:
        """Return whether a Gram matrix is computed from columns in this process, and fetch them all at once if so."""
        fits = 0 < self._column_bytes(len(support)) <= FETCHED_BYTES
        here = fits and (self.axis == 1 or self._fetch_is_small(support))
        if here:
            self.columns(self._cache.missing(support))
        return here

    def _gram_of_blocks(self, support: Array) -> Array:
        """Return X_S'X_S of blocks of columns: workers exchange columns, and only products are sent here."""
        places = [at for at in self._places(support) if len(at)]
        futures = self._submit("columns", self._local(support, self._places(support)))
        pairs = [(i, j) for i in range(len(futures)) for j in range(i + 1)]
        left, right = [futures[i] for i, _ in pairs], [futures[j] for _, j in pairs]
        out = np.empty((len(support), len(support)))
        for (i, j), product in zip(pairs, self._gather(self._map(product_of_columns, left, right)), strict=True):
            out[np.ix_(places[i], places[j])] = product
            out[np.ix_(places[j], places[i])] = product.T
        return out

    def moments(self) -> Moments:
        """Sums and Gram matrix in one read, each block about a shift of its own, added up by the workers."""
        if self.axis == 1:
            return super().moments()
        self._meter.add(self._share)
        moments: Moments = self._reduced("counted_moments", (), added_moments)[0]
        return moments

    # --- samples that count differently, and missing values ---------------------------------------------------------

    def weighted_sums(self, weights: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Weighted sums of the columns, and of their squares about a shift."""
        self._meter.add(self._share)
        if self.axis == 0:
            each = [(weights[part], shift) for part in self._slices]
        else:
            each = [(weights, None if shift is None else shift[part]) for part in self._slices]
        sums, squares = zip(*self._call_blocks("weighted_sums", each), strict=True)
        return self._joined(sums), self._joined(squares)

    def weighted_gram_and_scores(self, V: Array, shift: Array | float, weights: Array) -> tuple[Array, Array]:
        """X' diag(w) T and T = X V - 1 shift'; one request if blocks are whole rows."""
        if self.axis == 1:
            return super().weighted_gram_and_scores(V, shift, weights)
        self._meter.add(self._share)
        V, shift = np.asarray(V, dtype=self._dtype), np.asarray(shift, dtype=self._dtype)
        answers = self._call_blocks("weighted_gram_and_scores", [(V, shift, weights[part]) for part in self._slices])
        products, scores = zip(*answers, strict=True)
        return self._sum(products, (self.shape[1], *V.shape[1:])), np.concatenate(scores)

    def weighted_gram_matrix(self, support: Array, weights: Array) -> Array:
        """X_S' diag(w) X_S in float64, of columns in this process, or of blocks of rows added by the workers."""
        support = np.asarray(support, dtype=np.intp)
        if self.axis == 1 or self._computed_here(support):
            return super().weighted_gram_matrix(support, weights)
        self._meter.add(self._part(support))
        return np.asarray(self._reduced("weighted_gram_matrix", (support,), np.add, weights))

    def weighted_gram_between(self, rows: Array, columns: Array, weights: Array) -> Array:
        """X_R' diag(w) X_C in float64."""
        rows, columns = np.asarray(rows, dtype=np.intp), np.asarray(columns, dtype=np.intp)
        both = np.union1d(rows, columns)
        if self.axis == 1 or self._computed_here(both):
            return super().weighted_gram_between(rows, columns, weights)
        self._meter.add(self._part(both))
        return np.asarray(self._reduced("weighted_gram_between", (rows, columns), np.add, weights))

    def weighted_moments(self, weights: Array) -> Moments:
        """Weighted sums and Gram matrix in one read, added up by the workers."""
        if self.axis == 1:
            return super().weighted_moments(weights)
        self._meter.add(self._share)
        moments: Moments = self._reduced("weighed_moments", (), added_moments, weights)[0]
        return moments

    def observed_sums(self, weights: Array | None) -> tuple[Array, Array] | None:
        """Sums over what is not missing, and weights of what is."""
        self._meter.add(self._share)
        each = [(weights if weights is None or self.axis == 1 else weights[part],) for part in self._slices]
        answers = self._call_blocks("observed_sums", each)
        if any(answer is None for answer in answers):
            return None
        sums, missing = zip(*answers, strict=True)
        return self._joined(sums), self._joined(missing)

    def with_missing_as(self, fill: Array) -> OperatorMixin:
        """Return the data with missing values replaced by the workers."""
        return self._changed("with_missing_as", [(fill[part] if self.axis == 1 else fill,) for part in self._slices])

    def column_sums(self) -> Array:
        """Sum of each column in float64."""
        return self._moments[0].copy()

    def column_sq_norms(self, shift: Array | None = None) -> Array:
        """Sum over samples of (x_ij - shift_j)^2 in float64."""
        if shift is None:
            return self._moments[1].copy()
        self._meter.add(self._share)
        arguments = [(shift[part] if self.axis == 1 else shift,) for part in self._slices]
        return self._joined(self._call_blocks("column_sq_norms", arguments))

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Sums and sums of squares of the columns: one read, because each block caches both."""
        self._meter.add(self._share)
        sums, squares = zip(*self._call_blocks("sums_and_sq_norms", [()] * len(self.blocks)), strict=True)
        return self._joined(sums), self._joined(squares)

    def _joined(self, answers: Sequence[Any]) -> Array:
        """Return sums over columns from those of the blocks."""
        return np.concatenate(answers) if self.axis == 1 else self._sum(answers, (self.shape[1],))

    def restricted_bytes(self, k: int) -> int:
        """Bytes of k columns in this process; more columns stay on the workers."""
        return min(super().restricted_bytes(k), FETCHED_BYTES)

    def restrict(self, support: Array) -> OperatorMixin:
        """Return the operator of some columns: in this process if they are few, otherwise on the workers."""
        support = np.asarray(support, dtype=np.intp)
        share = self._part(support)
        in_order = bool(np.all(np.diff(support) > 0))
        if not in_order or self._column_bytes(len(support)) <= FETCHED_BYTES:
            return DenseOperator(np.ascontiguousarray(self.columns(support)), meter=self._meter, share=share)
        return self._fewer(support, "restrict", share)

    def _fewer(self, support: Array, method: str, share: float) -> ClusterOperator:
        """Return the operator of some columns, in increasing order, made by the workers."""
        shape = (self.shape[0], len(support))
        if self.axis == 0:
            blocks = self._submit(method, [(support,)] * len(self.blocks))
            ends = np.array([part.stop for part in self._slices])
        else:
            places = self._places(support)
            local = self._local(support, places)
            blocks = self._submit(method, local)
            ends = np.cumsum([len(at) for at in places if len(at)])
        return type(self)(self.client, blocks, ends, self.axis, shape, self._dtype, meter=self._meter, share=share)

    def shifted(self, shift: Array) -> OperatorMixin:
        """X - 1 shift', by the workers."""
        return self._changed("shifted", [(shift[part] if self.axis == 1 else shift,) for part in self._slices])

    def permuted(self, rng: np.random.Generator, labels: Array | None = None) -> OperatorMixin:
        """Refuse: every column would have to be moved as a whole, again and again."""
        raise ValueError(
            "Data on a cluster cannot be permuted column by column: every column would be moved as a "
            "whole. Load them into memory, or fewer samples or features of them."
        )

    def to_float64(self) -> OperatorMixin:
        """X with products in float64, by the workers."""
        return self if self._dtype == np.float64 else self._changed("to_float64", [()] * len(self.blocks), np.float64)

    def _changed(self, method: str, arguments: Sequence[tuple[Any, ...]], dtype: Any = None) -> ClusterOperator:
        """Return the operator of the results of this method of each block, which stay on the workers."""
        blocks = self._submit(method, arguments)
        ends = np.array([part.stop for part in self._slices])
        dtype = self._dtype if dtype is None else np.dtype(dtype)
        return ClusterOperator(
            self.client, blocks, ends, self.axis, self.shape, dtype, meter=self._meter, share=self._share
        )

    def _places(self, support: Array) -> list[Array]:
        """Return for each block of columns which entries of the support are in it."""
        return [np.flatnonzero((support >= part.start) & (support < part.stop)) for part in self._slices]

    def _local(self, support: Array, places: list[Array]) -> list[tuple[Any, ...] | None]:
        return [(support[at] - part.start,) if len(at) else None for at, part in zip(places, self._slices, strict=True)]
