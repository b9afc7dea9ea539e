"""Number of BLAS threads, one for small products and for kernels, and lanes in which large products are shared."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from rspca.base.types import Array

Part = TypeVar("Part")
Result = TypeVar("Result")

WORTH_SHARING = 2**20
"""Entries of a matrix from which on its products are shared among lanes. BLAS shares far smaller ones: there the
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
        self._wanted = 0
        self._callers = dict[int, int]()
        """How often each Python thread asks for the limit now."""
        self._usual = list[tuple[Any, int]]()

    @contextmanager
    def single_thread(self, *, looks_again: bool) -> Iterator[None]:
        with self._lock:
            if self._wanted == 0:  # libraries may have been loaded since the last look
                libraries = _loaded.__wrapped__() if looks_again else _loaded()
                counted = [(library, library.get_num_threads()) for library in libraries]
                self._usual = [(library, threads) for library, threads in counted if threads and threads > 1]
                self._set(single=True)
            self._wanted += 1
            caller = threading.get_ident()
            self._callers[caller] = self._callers.get(caller, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._wanted -= 1
                self._callers[caller] -= 1
                if not self._callers[caller]:
                    del self._callers[caller]
                if self._wanted == 0:
                    self._set(single=False)

    def lanes(self) -> int:
        """Return the threads that one of the Python threads with the limit may use instead of those of BLAS."""
        with self._lock:
            usual = max((threads for _, threads in self._usual), default=1)
            return max(1, usual // max(1, len(self._callers)))

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
    """Leave the cores to the kernels of `op`, if it has any: BLAS threads spin for a while after every small call.

    Lanes take turns with the kernels, which wait for each other.
    """
    return _blas.single_thread(looks_again=True) if op.own_threads else _as_they_are


def small_products_in_one_thread() -> AbstractContextManager[None]:
    """Let BLAS use several threads for large products only."""
    return _blas.single_thread(looks_again=False)


# --- lanes ------------------------------------------------------------------------------------------------------------


class _Helpers:
    """The thread pool of all lanes but the first, which is the caller; a forked child makes its own."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._size = 0
        self._pool: ThreadPoolExecutor | None = None

    def pool(self, count: int) -> ThreadPoolExecutor:
        """Return a pool of at least `count` threads."""
        with self._lock:
            if self._pool is None or self._size < count:
                self._pool, self._size = ThreadPoolExecutor(count, "rspca-lane", _enter_lane), count
            return self._pool


def _enter_lane() -> None:
    _this_thread.is_lane = True


_this_thread = threading.local()
_helpers = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.reset)


class _Queue(Generic[Part, Result]):
    """Parts of the work, handed out to lanes in their order, and their results, passed on in the same order.

    A result that comes early is kept, so that a lane need not wait for a slower one: a thread of another library may
    have the core of that one for some time.
    """

    def __init__(self, parts: Iterable[Part], then: Callable[[Result], Any] | None, most: int) -> None:
        self._parts, self._handing_out, self._n_handed_out = enumerate(parts), threading.Lock(), 0
        self._then, self._most = then, most
        """Parts at a time, at most, that are handed out and whose results were not passed on yet."""
        self._kept, self._n_passed_on, self._is_passing = dict[int, Result](), 0, False
        self._changed, self._failed = threading.Condition(), False

    def __iter__(self) -> Iterator[tuple[int, Part]]:
        while not self._failed:
            with self._handing_out:
                following = next(self._parts, None) if self._may_hand_out() else None
                self._n_handed_out += 1
            if following is None:
                return
            yield following

    def _may_hand_out(self) -> bool:
        """Wait until another part may be handed out; False if one failed."""
        if self._then is None:
            return True
        with self._changed:
            self._changed.wait_for(lambda: self._failed or self._n_handed_out < self._n_passed_on + self._most)
        return not self._failed

    def done(self, number: int, result: Result) -> None:
        """Pass on this result and those that waited for it, unless another lane is passing on just now."""
        if self._then is None:
            return
        with self._changed:
            self._kept[number] = result
            if self._is_passing:
                return
            self._is_passing = True
        while (following := self._following()) is not None:
            self._then(following[0])
            with self._changed:
                self._n_passed_on += 1
                self._changed.notify_all()

    def _following(self) -> tuple[Result] | None:
        """Return the next result, in a tuple, if it is there; otherwise passing on ends."""
        with self._changed:
            if self._failed or self._n_passed_on not in self._kept:
                self._is_passing = False
                return None
            return (self._kept.pop(self._n_passed_on),)

    def fail(self) -> None:
        with self._changed:
            self._failed = True
            self._changed.notify_all()


def lane_count(most: int | None = None) -> int:
    """Return in how many threads `in_lanes` would work now: as many as BLAS may use; one in a lane."""
    with small_products_in_one_thread():
        return _allowed_lanes(most)


def _allowed_lanes(most: int | None) -> int:
    if getattr(_this_thread, "is_lane", False):
        return 1
    return _blas.lanes() if most is None else min(most, _blas.lanes())


def in_lanes(
    task: Callable[[Part], Result],
    parts: Iterable[Part],
    then: Callable[[Result], Any] | None = None,
    *,
    most: int | None = None,
    in_step: bool = False,
) -> None:
    """Call task(part) for all parts in as many threads as BLAS may use, at most `most`, each with one thread of BLAS.

    Parts are taken one after another, in their order. `then(result)` is called in the same order, so that sums have the
    same bits for any number of threads. There are at most two results for each lane at a time; one, if lanes go
    `in_step` because the memory of a part is used again. Threads of BLAS share one product at a time, wait for each
    other, and spin after every call.
    """
    with small_products_in_one_thread():
        helpers = 0 if isinstance(parts, Sized) and len(parts) < 2 else _allowed_lanes(most) - 1
        if helpers < 1:
            for part in parts:
                result = task(part)
                if then is not None:
                    then(result)
            return
        queue, errors = _Queue(parts, then, (helpers + 1) * (1 if in_step else 2)), np.geterr()

        def work() -> None:
            try:
                with np.errstate(**errors):  # of the caller, which other threads do not know
                    for number, part in queue:
                        queue.done(number, task(part))
            except BaseException:
                queue.fail()
                raise

        pool = _helpers.pool(helpers)
        others = [pool.submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            failures = [other.exception() for other in others if not other.cancel()]
        for failure in failures:
            if failure is not None:
                raise failure


def sum_in_lanes(product: Callable[[Part], Array], parts: Iterable[Part]) -> Array:
    """Return the sum of the products of parts, in their type, added up in their order."""
    sums = list[Array]()

    def add(product: Array) -> None:
        if sums:
            np.add(sums[0], product, out=sums[0])
        else:
            sums.append(np.asarray(product))

    in_lanes(product, parts, add)
    return sums[0]
