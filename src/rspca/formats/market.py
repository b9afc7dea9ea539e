"""Matrix Market files: held against their header and spelled out before SciPy parses them.

SciPy 1.17 ends the process at a number that something follows up to the end of a file without a line end, and reads
1d5 as 1 without a word; so its parser sees only numbers, and a line end after the last one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, Any

import scipy.io

from rspca.formats.archives import MOST_INFLATED
from rspca.formats.files import is_gzipped, opened

EMPTY_SIDES = 10**6
"""Rows or columns that a sparse matrix may announce whatever the size of its file; they may be empty."""
_OF_NUMBERS = b"0123456789+-.eE \t\r\n"
_MISSPELLED = re.compile(rb"\.[0-9]*\.|[eE][0-9+-]*[.eE]|[0-9.][+-]|[eE](?![0-9+-])|[+-](?![0-9.])|\r(?!\n)")
_BLOCK = 1 << 20


def parsed(path: Path) -> Any:
    """Return the matrix of a file, sparse if it is, or raise a ValueError that says what is wrong with it."""
    _check_header(path)
    with opened(path) as file:
        return scipy.io.mmread(_Spelled(file))


class _Spelled:
    """A file of which every piece that is read ends with a line, is spelled right, and has a line end at its end."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.rest, self.head = file, b"", True

    def read(self, size: int = -1) -> bytes:
        """Return the next piece, which may be shorter than asked for, or nothing at the end."""
        if not self.rest:
            self.rest = self._next()
        piece, self.rest = (self.rest, b"") if size < 0 else (self.rest[:size], self.rest[size:])
        return piece

    def _next(self) -> bytes:
        if self.head:
            line = self.file.readline(_BLOCK)
            self.head = line.startswith(b"%") or not line.strip()
            if self.head and line:
                return line if line.endswith(b"\n") else line + b"\n"
            self.head = False
        else:
            line = b""
        block = line + self.file.read(_BLOCK)
        if block and not block.endswith(b"\n"):
            block += self.file.readline(_BLOCK)
            block += b"" if block.endswith(b"\n") else b"\n"
        if strange := block.translate(None, _OF_NUMBERS):
            raise ValueError(f"among its numbers is the character {chr(strange[0])!r}")
        if wrong := _MISSPELLED.search(block):
            start = block.rfind(b"\n", 0, wrong.start()) + 1
            line = block[start : block.find(b"\n", wrong.start())][:40]
            raise ValueError(f"the line {line.decode('ascii')!r} is not of numbers")
        return block


def _check_header(path: Path) -> None:
    """Raise where a file is too short for what it announces."""
    there = path.stat().st_size * (MOST_INFLATED if is_gzipped(path) else 1)
    with opened(path) as file:
        banner = file.readline(1024).decode("latin-1").lower().split()
        if len(banner) < 5 or banner[0] != "%%matrixmarket" or banner[1] != "matrix":
            raise ValueError("it does not begin with %%MatrixMarket matrix ...")
        line = file.readline(1 << 16)
        while line and (line.startswith(b"%") or not line.strip()):
            line = file.readline(1 << 16)
    sizes = [int(word) for word in line.split()]
    dense = banner[2] == "array"
    if len(sizes) != (2 if dense else 3) or min(sizes) < 0:
        raise ValueError(f"its line of sizes is {line[:60]!r}")
    m, n = sizes[:2]
    if m == 0 or n == 0:  # SciPy 1.17 divides by the number of rows of an array, which ends the process
        raise ValueError(f"it has {m} rows and {n} columns")
    entries, shortest = (m * n // (1 if banner[4] == "general" else 2), 2) if dense else (sizes[2], 4)
    if entries * shortest - 1 > there:
        raise ValueError(f"it announces {entries} entries, for which it is too short")
    check_sides([m, n], there)


def check_sides(sides: list[int], there: int) -> None:
    """Raise if a sparse matrix announces far more rows or columns than its bytes can fill."""
    if max(sides, default=0) > max(EMPTY_SIDES, there):
        raise ValueError(f"it announces {' by '.join(map(str, sides))} rows and columns, far more than it can fill")
