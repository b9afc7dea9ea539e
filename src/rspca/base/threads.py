"""Number of BLAS threads: all for large products, one for small products and for kernels with their own threads."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

WORTH_SHARING = 2**20
"""Entries of a matrix from which on its products are shared among threads. BLAS shares far smaller ones: there the
threads wait for each other, and for the cores, if anything else wants them, longer than they save."""


class Threaded(Protocol):
    """The part of an operator that decides on threads."""

    @property
    def own_threads(self) -> bool:
        """Whether products run in threads of their own instead of those of BLAS."""


class _BlasThreads:
    """Limit BLAS to one thread while any fit of this process asks for it.

    The limit belongs to the process, and fits in threads overlap. If each fit restored the number that it found, the
    last to end could restore the limit of another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = self._wanted_for_all = 0
        self._usual = list[tuple[Any, int]]()

    @contextmanager
    def single_thread(self, *, large_products_too: bool) -> Iterator[None]:
        with self._lock:
            if self._wanted == 0:
                # a fit that needs all cores also looks for libraries that were loaded since the last look
                libraries = _loaded.__wrapped__() if large_products_too else _loaded()
                counted = [(library, library.get_num_threads()) for library in libraries]
                self._usual = [(library, threads) for library, threads in counted if threads and threads > 1]
                self._set(single=True)
            self._wanted += 1
            self._wanted_for_all += large_products_too
        try:
            yield
        finally:
            with self._lock:
                self._wanted -= 1
                self._wanted_for_all -= large_products_too
                if self._wanted == 0:
                    self._set(single=False)

    @contextmanager
    def all(self) -> Iterator[None]:
        """Give a large product all threads of BLAS, unless a fit needs the cores for other threads."""
        with self._lock:
            if self._wanted > self._wanted_for_all == 0:
                self._set(single=False)
        try:
            yield
        finally:
            with self._lock:
                if self._wanted:  # or all have ended meanwhile
                    self._set(single=True)

    def _set(self, *, single: bool) -> None:
        for library, usual in self._usual:
            library.set_num_threads(1 if single else usual)
            if hasattr(library, "clear_controlling_thread"):  # newer ones heed only the thread that set it first
                library.clear_controlling_thread()


@functools.cache
def _loaded() -> list[Any]:
    """Return the BLAS libraries of this process; finding them takes as long as some small fits."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


_blas = _BlasThreads()
_as_they_are = nullcontext()


def threads_for(op: Threaded) -> AbstractContextManager[None]:
    """Leave the cores to the kernels of `op`, if it has any: BLAS threads spin for a while after every small call."""
    return _blas.single_thread(large_products_too=True) if op.own_threads else _as_they_are


def small_products_in_one_thread() -> AbstractContextManager[None]:
    """Let BLAS use several threads for large products only."""
    return _blas.single_thread(large_products_too=False)


def shared_if_large(entries: int) -> AbstractContextManager[None]:
    """Let BLAS use all its threads for a product with a matrix of this many entries, if it is large enough."""
    return _blas.all() if entries >= WORTH_SHARING else _as_they_are
