"""Arrays of a Zarr store as sources of rows and entries: read in whole chunks, damage reported by the store's name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import RefusedFile, reason
from rspca.base.memory import readable
from rspca.base.types import Array

BAND_SHARE = 1 / 6
"""Share of `max_memory` that a band of chunks may take in memory besides the blocks: limit of memory."""

CHUNKS_AT_ONCE = 1
"""Chunks that are unpacked at the same time: limit of memory (benchmarks/readers.py)."""


class InThisThread(ThreadPoolExecutor):
    """Does work at once, in the thread that asks for it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a future that is done."""
        done = Future[Any]()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        return done


def is_zarr_array(X: Any) -> bool:
    """Return whether X is an array of a Zarr store; zarr is not imported."""
    return type(X).__module__.partition(".")[0] == "zarr" and hasattr(X, "chunks")


def chunk_bytes(array: Any) -> int:
    """Return the bytes of a chunk in memory."""
    return prod(array.chunks) * array.dtype.itemsize


class ZarrRows:
    """Rows of a two-dimensional array, read a band of chunks at a time; the last band is cached if it is small enough.

    A chunk is unpacked as a whole, so slices that cut through chunks would unpack them again and again.
    """

    def __init__(self, array: Any, limit: int, where: str) -> None:
        self.array, self.where = array, where
        self.shape, self.dtype = (int(array.shape[0]), int(array.shape[1])), np.dtype(array.dtype)
        check_chunks_fit(array, limit, where)
        self.band = max(1, int(array.chunks[0]))
        self.cached = self.band * self.shape[1] * self.dtype.itemsize <= BAND_SHARE * limit
        self._last: tuple[int, Array] | None = None

    def __getitem__(self, part: slice) -> Array:
        if not self.cached:
            return read_slice(self.array, part, self.where)
        pieces = []
        for number in range(part.start // self.band, (part.stop - 1) // self.band + 1):
            start = number * self.band
            rows = self._rows_of_band(number)
            pieces.append(rows[max(part.start - start, 0) : part.stop - start])
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _rows_of_band(self, number: int) -> Array:
        last = self._last  # read once: another thread may replace it
        if last is None or last[0] != number:
            self._last = None
            rows = slice(number * self.band, min((number + 1) * self.band, self.shape[0]))
            self._last = last = (number, read_slice(self.array, rows, self.where))
        return last[1]


class ZarrVector:
    """A vector of a Zarr store, read by slices."""

    def __init__(self, array: Any, limit: int, where: str) -> None:
        check_chunks_fit(array, limit, where)
        self.array, self.where = array, where
        self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)

    def __getitem__(self, part: Any) -> Array:
        return read_slice(self.array, part, self.where)


def with_bands(array: Any, limit: int, where: str) -> ZarrRows:
    """Return the rows of a Zarr array."""
    return ZarrRows(array, limit, where)


def vector_of(stored: Any, limit: int, where: str) -> Any:
    """Return a stored vector with damage reported in one line, if it is of Zarr; any other as it is."""
    return ZarrVector(stored, limit, where) if is_zarr_array(stored) else stored


def read_slice(array: Any, part: Any, where: str) -> Array:
    """Return a part of an array; whatever zarr and its codecs make of damage becomes one line."""
    try:
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # as it should be: none is running in this thread
            return _unpacked(array, part)
        with ThreadPoolExecutor(1, "rspca-unpack") as elsewhere:  # in a notebook
            return elsewhere.submit(_unpacked, array, part).result()
    except Exception as error:  # codecs raise RuntimeError, ValueError, OSError and their own
        if isinstance(error, MemoryError) and array.dtype.kind in "biuf":  # a chunk of text has its own count of texts
            raise
        raise ValueError(f"{where} is damaged: {array.path} cannot be unpacked ({reason(error)}).") from error


def _unpacked(array: Any, part: Any) -> Array:
    """Return a part of an array, one chunk after another, in this thread.

    zarr unpacks ten chunks at a time in several threads, and the system keeps the memory of each thread apart.
    """
    import zarr

    loop = asyncio.new_event_loop()  # asyncio.Runner would write out the array, in a message about signals
    try:
        loop.set_default_executor(InThisThread(1))
        with zarr.config.set({"async.concurrency": CHUNKS_AT_ONCE}):
            return np.asarray(loop.run_until_complete(array._async_array.getitem(part)))  # zarr 3.1.0 has no other name
    finally:
        interrupted = asyncio.all_tasks(loop)
        for task in interrupted:
            task.cancel()
        if interrupted:
            loop.run_until_complete(asyncio.gather(*interrupted, return_exceptions=True))
        loop.close()


def check_chunks_fit(array: Any, limit: int, where: str) -> None:
    """Raise if a chunk, which is unpacked as a whole, takes more than `limit` bytes."""
    size = chunk_bytes(array)
    if size > limit:
        raise RefusedFile(
            f"{where}: a chunk of {array.path} takes {readable(size)} in memory, and {argument('max_memory')} is "
            f"{readable(limit)}. Raise it, or write the store with smaller chunks."
        )
