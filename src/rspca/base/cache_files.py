"""Arrays in a file without a name, for what does not fit into memory: few of its pages are in the process at a time."""

from __future__ import annotations

import mmap
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.base.memory import readable
from rspca.base.types import Array

BYTES_AT_ONCE = 1 << 25
"""Bytes of a cache file that are written or multiplied before its pages are let go: limit of memory."""


def cache_file(shape: tuple[int, int], folder: Path | None, where: str) -> Array:
    """Return bytes to be filled, mapped from a new file that is gone when the process ends.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    folder : path
        Where the file is, in the folder of the system if None; it has no name there.
    where : str
        What an error calls the data.
    """
    size = shape[0] * shape[1]
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            for start in range(0, size, BYTES_AT_ONCE):  # a mapped file without room on disk would end the process
                file.write(bytes(min(BYTES_AT_ONCE, size - start)))
            file.flush()
            return np.memmap(file, dtype=np.uint8, mode="r+", shape=shape)
    except OSError as error:
        raise OSError(
            f"{where} takes {readable(size)}, packed, which cannot be written to {folder or tempfile.gettempdir()}: "
            f"{error.strerror or error}. Name a folder with room as {argument('cache')}, or raise "
            f"{argument('max_memory')}."
        ) from error


def is_cached(array: Array) -> bool:
    """Return whether an array, or what it is a view of, is a cache file."""
    return _mapping(array) is not None


def let_go(array: Array) -> None:
    """Let the pages of a cache file go, where the system can: they stay in its own cache, and come back when needed."""
    mapping = _mapping(array)
    if mapping is not None and hasattr(mapping, "madvise"):
        mapping.madvise(mmap.MADV_DONTNEED)


def _mapping(array: Any) -> Any:
    """Return the mapping of a cache file, which unlike a file of data can be written to; None for any other array."""
    while isinstance(array, np.ndarray):
        base: Any = array.base
        if isinstance(array, np.memmap) and isinstance(base, mmap.mmap):
            return base if array.mode == "r+" else None
        array = base
    return None
