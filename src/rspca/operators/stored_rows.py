"""Sources of rows on disk, read by slices: a sparse matrix in three arrays, and a selection of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.types import Array

INDICES_AT_ONCE = 1 << 20
"""Column indices of a sparse matrix on disk that are checked at a time, 8 MB: limit of memory."""
AVERAGED_ROWS = 256
"""Rows over which the size of sparse rows is averaged; the largest average counts, so blocks fit into memory."""


class SomeColumns:
    """A selection of columns of another source of rows, taken from each block after it is read."""

    def __init__(self, source: Any, columns: Array) -> None:
        self.source, self.picked = source, np.asarray(columns, dtype=np.intp)
        self.shape = (int(source.shape[0]), len(self.picked))
        self.dtype = np.dtype(source.dtype)
        self.row_bytes = row_bytes_of(source)

    def __getitem__(self, part: slice) -> Any:
        return self.source[part][:, self.picked]


class StoredRows:
    """Rows of a sparse matrix whose three arrays are on disk; only the rows of a slice are read.

    Parameters
    ----------
    data, indices : arrays with slices, such as HDF5 datasets
        Entries and their columns, row after row.
    indptr : array
        Start of each row, and end of the last one.
    n : int
        Columns.
    """

    def __init__(self, data: Any, indices: Any, indptr: Any, n: int) -> None:
        self.data, self.indices, self.indptr = data, indices, np.asarray(indptr[...], dtype=np.int64)
        self.shape, self.dtype = (len(self.indptr) - 1, int(n)), np.dtype(data.dtype)
        entries = np.diff(self.indptr)
        ends = (int(self.indptr[0]), int(self.indptr[-1])) if len(self.indptr) else (0, 0)
        if ends != (0, data.shape[0]) or data.shape != indices.shape or entries.min(initial=0) < 0:
            raise ValueError("its row starts do not match its entries")
        for start in range(0, data.shape[0], INDICES_AT_ONCE):
            part = indices[start : start + INDICES_AT_ONCE]
            if part.min() < 0 or part.max() >= n:
                raise ValueError(f"a column index is not below {n}")
        starts = np.arange(0, self.shape[0], AVERAGED_ROWS)
        most = np.add.reduceat(entries, starts).max(initial=1) / min(AVERAGED_ROWS, max(1, self.shape[0]))
        self.row_bytes = int(np.ceil(most)) * (_entry_bytes(self.dtype) + np.dtype(indices.dtype).itemsize) + 8

    def __getitem__(self, part: slice) -> Any:
        first, last = self.indptr[part.start], self.indptr[part.stop]
        rows = (self.data[first:last], self.indices[first:last], self.indptr[part.start : part.stop + 1] - first)
        return scipy.sparse.csr_array(rows, shape=(part.stop - part.start, self.shape[1]))


def row_bytes_of(source: Any) -> int:
    """Return the bytes of a row in memory, as it is read and as floats."""
    return int(getattr(source, "row_bytes", _entry_bytes(np.dtype(source.dtype)) * int(source.shape[1])))


def _entry_bytes(stored: np.dtype[Any]) -> int:
    return max(stored.itemsize, 4 if stored in (np.float16, np.float32) else 8)
