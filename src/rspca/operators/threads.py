"""Who may use the cores: products that bring threads of their own, or BLAS, not both at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rspca.operators.protocol import OperatorMixin


class _OneBlasThread:
    """BLAS in one thread as long as anyone wants it so: the limit is the process's, and fits in threads overlap.

    Had each its own, the one that ended last would put back what it found when it began: the limit of another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._wanted == 0:
                self._limit = threadpool_limits(1, user_api="blas")
            self._wanted += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._wanted -= 1
            if self._wanted == 0:
                self._limit.restore_original_limits()


_one_blas_thread = _OneBlasThread()


@contextmanager
def threads_for(op: OperatorMixin) -> Iterator[None]:
    """Leave the cores to the kernels of `op`, if it has any: BLAS threads spin for a while after every small call."""
    if not op.own_threads:
        yield
        return
    with _one_blas_thread:
        yield
