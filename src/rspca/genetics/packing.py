"""Calls packed once to two bits, as PLINK 1 files have them, in memory or in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rspca.base.arguments import argument
from rspca.base.memory import check_room, readable
from rspca.base.types import Array

BLOCK_BYTES = 1 << 21
"""Bytes of calls that are decoded at a time, one a call: limit of memory."""


def pack_calls(calls: Array) -> NDArray[np.uint8]:
    """Return calls, variants by people in int8 (0, 1, 2; -9 or -1 missing), as rows of a .bed.

    The lowest two bits c of a call, 3 if it is missing, become 3 xor c xor (c >> 1): 0, 1, 2 and 3 are 11, 10, 00, 01.
    """
    n_variants, n_people = calls.shape
    codes = np.zeros((n_variants, -(-n_people // 4) * 4), dtype=np.uint8)
    counts = calls.view(np.uint8) & np.uint8(3)
    np.bitwise_xor(counts, counts >> np.uint8(1), out=codes[:, :n_people])
    codes[:, :n_people] ^= np.uint8(3)
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
    limit, cache, where
        As for `room_for_rows`.
    """
    rows = room_for_rows(len(variants), n_people, limit, cache, where)
    step = max(1, BLOCK_BYTES // max(1, n_people))
    for start in range(0, len(variants), step):
        rows[start : start + step] = pack_calls(read(variants[start : start + step]))
    return rows


def room_for_rows(n_variants: int, n_people: int, limit: int, cache: Path | None, where: str) -> Array:
    """Return rows of a .bed to be filled: in memory up to `limit` bytes, else mapped from a temporary file.

    Parameters
    ----------
    n_variants, n_people : int
        How many there are.
    limit : int
        Bytes up to which the rows are held in memory.
    cache : path
        Folder of the temporary file, that of the system if None. It has no name and is gone when the process ends.
    where : str
        What an error calls the data.
    """
    shape = (n_variants, (n_people + 3) // 4)
    size = shape[0] * shape[1]
    if size <= limit:
        check_room(size, f"{where}, packed,", "Choose fewer variants or people.")
        return np.empty(shape, dtype=np.uint8)
    try:
        with tempfile.TemporaryFile(dir=cache) as file:
            for start in range(0, size, BLOCK_BYTES):  # a mapped file without room on disk would end the process
                file.write(bytes(min(BLOCK_BYTES, size - start)))
            file.flush()
            return np.memmap(file, dtype=np.uint8, mode="r+", shape=shape)
    except OSError as error:
        raise OSError(
            f"{where} takes {readable(size)}, packed, which cannot be written to {cache or tempfile.gettempdir()}: "
            f"{error.strerror or error}. Name a folder with room as {argument('cache')}, or raise "
            f"{argument('max_memory')}."
        ) from error
