"""Columns that cost a read of everything, each kept once: those not asked for the longest make room for others."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np

from rspca.operators.protocol import Array


class KeptColumns:
    """Columns by their index, within a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._columns: dict[int, Array] = {}  # in the order in which they were asked for
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Memory that is taken."""
        return sum(column.nbytes for column in list(self._columns.values()))

    def take(self, support: Array, read: Callable[[Array], list[Array]]) -> Array:
        """Return a copy of X[:, support], by rows; `read` is asked once, for all the columns that are not here."""
        here = dict(self._columns)
        missing = np.unique([j for j in support.tolist() if j not in here]).astype(np.intp)
        if len(missing):
            here.update(zip(missing.tolist(), read(missing), strict=True))
        wanted = {j: here[j] for j in support.tolist()}
        self._keep(wanted)
        return np.stack([wanted[j] for j in support.tolist()], axis=1)

    def _keep(self, wanted: dict[int, Array]) -> None:
        with self._lock:
            for j, column in wanted.items():
                self._columns.pop(j, None)
                self._columns[j] = column
            free = self.most_bytes - self.nbytes
            while free < 0:
                free += self._columns.pop(next(iter(self._columns))).nbytes
