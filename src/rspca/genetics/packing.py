"""Calls packed once to two bits, as PLINK 1 files have them, in memory or in a cache file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rspca.base.cache_files import BYTES_AT_ONCE, cache_file, let_go
from rspca.base.memory import check_room
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
    sources: Sequence[tuple[Callable[[Array], Array], Array]], n_people: int, limit: int, cache: Path | None, where: str
) -> Array:
    """Return the variants of one file after another as rows of a .bed.

    Parameters
    ----------
    sources : sequence of (callable, array of int)
        What takes positions of variants and returns their calls, variants by people in int8; and the positions.
    n_people : int
        People.
    limit, cache, where
        As for `room_for_rows`.
    """
    rows = room_for_rows(sum(len(variants) for _, variants in sources), n_people, limit, cache, where)
    step, first, written = max(1, BLOCK_BYTES // max(1, n_people)), 0, 0
    for read, variants in sources:
        for start in range(0, len(variants), step):
            some = variants[start : start + step]
            rows[first : first + len(some)] = pack_calls(read(some))
            first += len(some)
            written = let_go_of_many(rows, written + len(some) * rows.shape[1])
    return rows


def room_for_rows(n_variants: int, n_people: int, limit: int, cache: Path | None, where: str) -> Array:
    """Return rows of a .bed to be filled: in memory up to `limit` bytes, else mapped from a cache file.

    Parameters
    ----------
    n_variants, n_people : int
        How many there are.
    limit : int
        Bytes up to which the rows are held in memory.
    cache : path
        Folder of the cache file, that of the system if None. The file has no name and is gone when the process ends.
    where : str
        What an error calls the data.
    """
    shape = (n_variants, (n_people + 3) // 4)
    size = shape[0] * shape[1]
    if size > limit:
        return cache_file(shape, cache, where)
    check_room(size, f"{where}, packed,", "Choose fewer variants or people.")
    return np.empty(shape, dtype=np.uint8)


def let_go_of_many(rows: Array, written: int) -> int:
    """Let the pages of a cache file go when so many bytes were written; return the bytes since."""
    if written < BYTES_AT_ONCE:
        return written
    let_go(rows)
    return 0
