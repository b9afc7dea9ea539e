"""LRU cache of columns that are expensive to read."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np

from rspca.base.types import Array


class ColumnCache:
    """Columns by their index, each of `column_bytes` bytes, with at most `most_bytes` bytes in all."""

    def __init__(self, column_bytes: int, most_bytes: int) -> None:
        self.column_bytes, self.most_bytes = column_bytes, most_bytes
        self._columns: dict[int, Array] = {}  # least recently used first
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of the cached columns."""
        return len(self._columns) * self.column_bytes

    def missing(self, support: Array) -> Array:
        """Return the columns of a support that are not cached, sorted."""
        with self._lock:
            return np.array(sorted(set(support.tolist()) - self._columns.keys()), dtype=np.intp)

    def take(self, support: Array, read: Callable[[Array], list[Array]]) -> Array:
        """Return a copy of X[:, support], by rows; `read` is called once for all columns that are not cached."""
        names = support.tolist()
        with self._lock:
            cached = {j: self._columns[j] for j in names if j in self._columns}
            missing = sorted(set(names) - set(cached))
            self._store(cached)
            self._evict(len(missing) * self.column_bytes)  # before the missing columns are read
        if missing:
            cached.update(zip(missing, read(np.array(missing, dtype=np.intp)), strict=True))
            with self._lock:
                self._store(cached)
                self._evict(0)
        return np.stack([cached[j] for j in names], axis=1)

    def _store(self, columns: dict[int, Array]) -> None:
        """Store these columns as the most recently used."""
        for j, column in columns.items():
            self._columns.pop(j, None)
            self._columns[j] = column

    def _evict(self, room: int) -> None:
        """Drop the least recently used columns until there is room for `room` more bytes."""
        while self._columns and self.nbytes + room > self.most_bytes:
            del self._columns[next(iter(self._columns))]
