"""Who may use the cores: BLAS in as many threads as a product is worth, or kernels that bring threads of their own."""

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
    """What is asked of an operator here."""

    @property
    def own_threads(self) -> bool:
        """Whether products run in threads of their own instead of those of BLAS."""


class _BlasThreads:
    """BLAS in one thread as long as anyone wants it so: the number is the process's, and fits in threads overlap.

    Had each its own, the one that ended last would put back what it found when it began: the limit of another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = self._wanted_for_all = 0
        self._usual = list[tuple[Any, int]]()

    @contextmanager
    def single_thread(self, *, large_products_too: bool) -> Iterator[None]:
        with self._lock:
            if self._wanted == 0:
                # who needs all the cores for long also looks for libraries that were loaded meanwhile
                libraries = _loaded.__wrapped__() if large_products_too else _loaded()
                self._usual = [(library, threads) for library in libraries if (threads := library.get_num_threads())]
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
        """Give a large product what BLAS had, unless someone wants the cores for other threads."""
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
    """Return the BLAS libraries of this process; to find them takes as long as some small fits."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


_blas = _BlasThreads()
_as_they_are = nullcontext()


def threads_for(op: Threaded) -> AbstractContextManager[None]:
    """Leave the cores to the kernels of `op`, if it has any: BLAS threads spin for a while after every small call."""
    return _blas.single_thread(large_products_too=True) if op.own_threads else _as_they_are


def small_products_in_one_thread() -> AbstractContextManager[None]:
    """Let BLAS share large products only, for work that has many small ones."""
    return _blas.single_thread(large_products_too=False)


def shared_if_large(entries: int) -> AbstractContextManager[None]:
    """Let BLAS use all its threads for a product with a matrix of so many entries, if it is worth it."""
    return _blas.all() if entries >= WORTH_SHARING else _as_they_are
