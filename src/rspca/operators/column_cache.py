"""Columns that cost a read of everything, each kept once: those not asked for the longest make room for others."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np

from rspca.base.types import Array


class KeptColumns:
    """Columns by their index, each of so many bytes, and all of them within a limit."""

    def __init__(self, column_bytes: int, most_bytes: int) -> None:
        self.column_bytes, self.most_bytes = column_bytes, most_bytes
        self._columns: dict[int, Array] = {}  # in the order in which they were asked for
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Memory that is taken."""
        return len(self._columns) * self.column_bytes

    def take(self, support: Array, read: Callable[[Array], list[Array]]) -> Array:
        """Return a copy of X[:, support], by rows; `read` is asked once, for all the columns that are not here."""
        names = support.tolist()
        with self._lock:
            here = {j: self._columns[j] for j in names if j in self._columns}
            missing = sorted(set(names) - set(here))
            self._keep(here)
            self._let_go(len(missing) * self.column_bytes)  # before others take their place
        if missing:
            here.update(zip(missing, read(np.array(missing, dtype=np.intp)), strict=True))
            with self._lock:
                self._keep(here)
                self._let_go(0)
        return np.stack([here[j] for j in names], axis=1)

    def _keep(self, columns: dict[int, Array]) -> None:
        """Keep these, as the last that were asked for."""
        for j, column in columns.items():
            self._columns.pop(j, None)
            self._columns[j] = column

    def _let_go(self, room: int) -> None:
        """Drop columns until there is room for so many bytes more, those not asked for the longest first."""
        while self._columns and self.nbytes + room > self.most_bytes:
            del self._columns[next(iter(self._columns))]
