"""Calls packed once to two bits, as PLINK 1 files have them, in memory or in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rspca.base.memory import check_room, readable
from rspca.base.types import Array

BLOCK_BYTES = 1 << 23
"""Bytes of calls that are decoded at a time, one a call: limit of memory."""
_CODE_OF_COUNT = np.array([3, 2, 0, 1], dtype=np.uint8)
"""Two bits of 0, 1 and 2 copies, and of a missing call, by the two lowest bits of the number: those of -9 are 3."""


def pack_calls(calls: Array) -> NDArray[np.uint8]:
    """Return calls, variants by people in int8 (0, 1, 2; -9 or -1 missing), as rows of a .bed."""
    n_variants, n_people = calls.shape
    codes = np.zeros((n_variants, -(-n_people // 4) * 4), dtype=np.uint8)
    np.take(_CODE_OF_COUNT, calls.view(np.uint8) & 3, out=codes[:, :n_people])
    packed = codes[:, 0::4].copy()
    for place in (1, 2, 3):
        packed |= codes[:, place::4] << np.uint8(2 * place)
    return packed


def packed_once(
    read: Callable[[Array], Array], variants: Array, n_people: int, limit: int, cache: Path | None, where: str
) -> Array:
    """Return variants as rows of a .bed: in memory up to `limit` bytes, else mapped from a temporary file.

    Parameters
    ----------
    read : callable
        Takes positions of variants and returns their calls, variants by people in int8.
    variants : array of int
        Positions of the variants.
    n_people : int
        People.
    limit : int
        Bytes up to which the packed calls are held in memory.
    cache : path
        Folder of the temporary file, that of the system if None. It has no name and is gone when the process ends.
    where : str
        What an error calls the data.
    """
    width = (n_people + 3) // 4
    size = len(variants) * width
    step = max(1, BLOCK_BYTES // max(1, n_people))
    if size <= limit:
        check_room(size, f"{where}, packed,", "Choose fewer variants or people.")
        rows = np.empty((len(variants), width), dtype=np.uint8)
        for start in range(0, len(variants), step):
            rows[start : start + step] = pack_calls(read(variants[start : start + step]))
        return rows
    try:
        with tempfile.TemporaryFile(dir=cache) as file:
            for start in range(0, len(variants), step):
                file.write(pack_calls(read(variants[start : start + step])).tobytes())
            file.flush()
            return np.memmap(file, dtype=np.uint8, mode="r", shape=(len(variants), width))
    except OSError as error:
        folder = cache or tempfile.gettempdir()
        raise OSError(
            f"{where} takes {readable(size)}, packed, which cannot be written to {folder}: {error.strerror or error}. "
            "Name a folder with room as cache, or raise max_memory."
        ) from error
