"""Data on the workers of a Dask cluster: blocks stay on the workers, and only vectors are sent.

A block is an operator, held by a worker as a future. The scheduler knows how each block was made, so a lost worker
costs only time: its blocks are made again, and its unfinished products are repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.arguments import argument
from rspca.base.checks import without_mask
from rspca.base.types import Array
from rspca.operators.base import DataOperator, Meter, Moments, OperatorMixin
from rspca.operators.column_cache import ColumnCache
from rspca.operators.dense import DenseOperator
from rspca.operators.in_memory import float_type
from rspca.operators.plink import Calls, PackedOperator, Part
from rspca.operators.sparse import SparseOperator, each_entry_once
from rspca.operators.streamed import BlockOperator

BLOCKS_PER_THREAD = 2
"""Blocks for each thread of a worker: enough to finish together, few enough for cheap messages: benchmarks/scale.py."""
MAX_BLOCK_BYTES = 1 << 28
"""Bytes of the largest block; it limits what is computed again if a worker is lost."""
FETCHED_BYTES = 1 << 26
"""Bytes up to which columns are fetched to this process and cached, so that work on them needs no messages."""
SMALL_FETCH_BYTES = 1 << 22
"""Bytes of columns that take no longer to fetch than the answer to a request; products with few columns are computed
here: benchmarks/scale.py."""
CONNECT_SECONDS = 5
"""Seconds to wait for a scheduler before an error."""


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
        with _losses_reported(self.client):
            return self.client.gather(futures)

    def _submit(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Return the futures of this method of each block, without those whose arguments are None. One message."""
        called = [(block, values) for block, values in zip(self.blocks, arguments, strict=True) if values is not None]
        blocks, rest = [block for block, _ in called], [values for _, values in called]
        return self._map(_call, blocks, [method] * len(blocks), rest) if blocks else []

    def _map(self, function: Any, *arguments: Sequence[Any]) -> list[Any]:
        """Return futures of a function of each of the arguments, in one message to the scheduler."""
        with _losses_reported(self.client):
            return list(self.client.map(function, *arguments, pure=False))

    def _reduced(self, method: str, arguments: tuple[Any, ...], add: Any) -> Any:
        """Return the results of this method of all blocks, added up by the workers in a fixed order. One request."""
        futures = self._submit(method, [arguments] * len(self.blocks))
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
        """X'T and T = X V - 1 shift', in one read if blocks are whole rows."""
        if self.axis == 1:
            return super().gram_and_scores(V, shift)
        self._meter.add(self._share)
        V, shift = np.asarray(V, dtype=self._dtype), np.asarray(shift, dtype=self._dtype)
        answers = self._call_blocks("gram_and_scores", [(V, shift)] * len(self.blocks))
        products, scores = zip(*answers, strict=True)
        return self._sum(products, (self.shape[1], *V.shape[1:])), np.concatenate(scores)

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
        for (i, j), product in zip(pairs, self._gather(self._map(_product, left, right)), strict=True):
            out[np.ix_(places[i], places[j])] = product
            out[np.ix_(places[j], places[i])] = product.T
        return out

    def moments(self) -> Moments:
        """Sums and Gram matrix in one read, each block about a shift of its own, added up by the workers."""
        if self.axis == 1:
            return super().moments()
        self._meter.add(self._share)
        moments: Moments = self._reduced("counted_moments", (), _added_moments)[0]
        return moments

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


class PackedCluster(ClusterOperator):
    """Packed genotypes on workers, each with its own range of SNPs."""

    @cached_property
    def calls(self) -> Calls:
        """Counts of missing calls, of one copy and of two copies, by SNP."""
        self._meter.add(self._share)
        with _losses_reported(self.client):
            counted = self.client.gather([self.client.submit(_calls, block, pure=False) for block in self.blocks])
        return Calls(*(np.concatenate(column) for column in zip(*counted, strict=True)))

    @property
    def mean(self) -> Array:
        """Mean over observed calls of each SNP."""
        return self.calls.mean(self.shape[0])

    def select(self, support: Array) -> ClusterOperator:
        """Return the operator of some SNPs, in increasing order, on the same files."""
        return self._fewer(np.asarray(support, dtype=np.intp), "select", 1.0)

    def filled_with(self, fill: Array) -> PackedCluster:
        """Return the same genotypes with other values for missing calls."""
        blocks = self._submit("filled_with", [(fill[part],) for part in self._slices])
        ends = np.array([part.stop for part in self._slices])
        filled = PackedCluster(
            self.client, blocks, ends, self.axis, self.shape, self._dtype, meter=self._meter, share=self._share
        )
        filled.calls = self.calls
        return filled


# --- from user data to blocks on workers ------------------------------------------------------------------------------


def dask_operator(X: Any) -> OperatorMixin:
    """Return the operator of a Dask array: on the workers of the current client, or streamed where there is none."""
    if len(X.shape) != 2 or np.isnan(np.asarray(X.shape, dtype=float)).any():
        raise ValueError(f"X is a Dask array of shape {X.shape}; a matrix of known shape is needed.")
    if np.dtype(X.dtype).kind not in "biuf":
        raise TypeError(f"X has dtype {X.dtype}; only real numbers can be used. Convert it with X.astype(float).")
    if scipy.sparse.issparse(X._meta) and X._meta.format != "csr":  # others cannot be cut into rows, or only slowly
        X = X.map_blocks(_by_rows, meta=X._meta.tocsr())
    client = current_client()
    if client is None:
        return BlockOperator(X)
    from dask.delayed import delayed

    axis = int(X.shape[1] > X.shape[0])
    step = _step(client, X.shape[axis], X.nbytes)
    X = X.rechunk({axis: step, 1 - axis: -1})
    blocks = client.compute([delayed(_block)(chunk) for chunk in X.to_delayed().ravel()])
    return ClusterOperator(client, blocks, np.cumsum(X.chunks[axis]), axis, X.shape, float_type(X.dtype))


def packed_on_cluster(
    client: Any, files: Sequence[Path], rows: Sequence[Array], n_people: int, people: Array | None, dtype: Any
) -> PackedCluster:
    """Return packed genotypes that each worker reads from its own range of the files."""
    client = connected(client)
    which = np.repeat(np.arange(len(files)), [len(chosen) for chosen in rows])
    row = np.concatenate(list(rows))
    step = _step(client, len(row), len(row) * n_people // 4)
    blocks, ends = [], []
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        pieces = [(str(files[i]), row[part][which[part] == i]) for i in np.unique(which[part])]
        blocks.append(client.submit(_open_packed, pieces, n_people, people, np.dtype(dtype).str, pure=False))
        ends.append(min(start + step, len(row)))
    shape = (n_people if people is None else len(people), len(row))
    return PackedCluster(client, blocks, np.array(ends), 1, shape, np.dtype(dtype))


def current_client() -> Any:
    """Return the client that the user has connected, or None."""
    try:
        import distributed
    except ImportError:
        return None
    try:
        client = distributed.get_client()
    except ValueError:
        return None
    return connected(client)


def connected(client: Any) -> Any:
    """Return a connected client, given a client or the address of a scheduler; raise if it does not answer."""
    try:
        import distributed
    except ImportError as error:  # pragma: no cover - the development environment has it
        raise ImportError("A cluster needs Dask, which is not installed: pip install 'rspca[cluster]'.") from error
    if isinstance(client, str):
        try:
            connect: Any = distributed.Client
            client = connect(client, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise ConnectionError(
                f"No scheduler answers at {client!r}; start one, or leave out {argument('client')}."
            ) from error
    status = getattr(client, "status", "not connected")
    if status != "running":
        raise ConnectionError(f"The Dask client is {status}; connect it to a scheduler.")
    if not client.scheduler_info()["workers"]:
        raise ConnectionError(f"The Dask scheduler has no workers; start some, or leave out {argument('client')}.")
    return client


@contextmanager
def _losses_reported(client: Any) -> Iterator[None]:
    """Raise ConnectionError if the scheduler or all of its workers are lost; Dask waits half a minute for a scheduler.

    The loss of a single worker is not an error: its blocks are made again.
    """
    from distributed.client import ClosedClientError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (CancelledError, ClosedClientError, CommClosedError) as error:
        raise ConnectionError(
            f"The Dask scheduler{_address(client)} was lost during the fit, and with it the blocks of X. "
            "Restart it and its workers, then the fit."
        ) from error
    except KilledWorker as error:
        raise ConnectionError(
            "Several Dask workers died while working on the same block of X, probably because memory ran out. Give "
            "them more memory or fewer threads."
        ) from error


def _address(client: Any) -> str:
    address = getattr(getattr(client, "scheduler", None), "address", None)
    return f" at {address}" if address else ""


def _step(client: Any, length: int, nbytes: int) -> int:
    """Return the length of a block along the longer axis."""
    threads = sum(client.nthreads().values())
    count = max(BLOCKS_PER_THREAD * threads, -(-int(nbytes) // MAX_BLOCK_BYTES))
    return max(1, -(-length // count))


# --- functions that workers run; they must be importable to be sent ---------------------------------------------------


def _call(block: OperatorMixin, method: str, arguments: tuple[Any, ...]) -> Any:
    if isinstance(block, PackedOperator):
        import numba

        numba.set_num_threads(1)  # the worker already runs a thread for each task
    if method in _COMPUTED:
        return _COMPUTED[method](block)
    return getattr(block, method)(*arguments)


def _sums_and_sq_norms(block: OperatorMixin) -> tuple[Array, Array]:
    return block.column_sums(), block.column_sq_norms()


CountedMoments = tuple[Moments, int]
"""Moments, and number of rows."""


def _counted_moments(block: OperatorMixin) -> CountedMoments:
    return block.moments(), block.shape[0]


_COMPUTED = {"sums_and_sq_norms": _sums_and_sq_norms, "counted_moments": _counted_moments}
"""What workers compute of a block beyond its methods, by name."""


def _added_moments(first: CountedMoments, second: CountedMoments) -> CountedMoments:
    """Return the moments of the rows of both about the shift of the first.

    Shifts are near the means of rows, so they differ by no more than the rows themselves do: no digits are lost.
    """
    (known, m), (other, other_m) = first, second
    other = other.about(known.shift, other_m)
    lengths = np.hypot(known.lengths, other.lengths)
    return Moments(known.shift, known.sums + other.sums, known.gram + other.gram, lengths), m + other_m


def _product(left: Array, right: Array) -> Array:
    return np.asarray(left, dtype=np.float64).T @ np.asarray(right, dtype=np.float64)


def _calls(block: PackedOperator) -> Calls:
    return block.calls


def _by_rows(data: Any) -> Any:
    return data.tocsr()


def _block(data: Any) -> OperatorMixin:
    if scipy.sparse.issparse(data):
        return SparseOperator(each_entry_once(data.tocsr()))
    return DenseOperator(np.require(without_mask(data), requirements=["C_CONTIGUOUS", "ALIGNED"]))


def _open_packed(pieces: list[tuple[str, Array]], n_people: int, people: Array | None, dtype: str) -> PackedOperator:
    import numba

    numba.set_num_threads(1)
    width = (n_people + 3) // 4
    parts = [Part(np.memmap(path, np.uint8, "r", offset=3).reshape(-1, width), rows) for path, rows in pieces]
    return PackedOperator(parts, n_people, people, dtype=np.dtype(dtype))
