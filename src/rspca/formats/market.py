"""Matrix Market files, whose sizes and numbers are checked before SciPy parses them.

SciPy 1.17 ends the process at a number that something follows up to the end of a file without a line end, and reads
1d5 as 1 without a word; so its parser sees only numbers, and a line end after the last one.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.io

from rspca.base.checks import shown
from rspca.base.files import is_gzipped, opened
from rspca.base.memory import check_room
from rspca.formats.archives import MOST_INFLATED

EMPTY_SIDES = 10**6
"""Rows or columns that a sparse matrix may announce whatever the size of its file; they may be empty."""
_BLOCK = 1 << 20
_AS_ARRAY = {"spmatrix": False} if "spmatrix" in inspect.signature(scipy.io.mmread).parameters else {}
"""Sparse arrays, as of SciPy 1.20; versions before 1.15 know only sparse matrices, and those between warn."""
_DIGIT, _SIGN, _POINT, _EXPONENT, _SPACE, _RETURN, _LINE, _STRANGE = range(8)
_KINDS = np.full(256, _STRANGE, dtype=np.uint8)
for _kind, _characters in enumerate((b"0123456789", b"+-", b".", b"eE", b" \t", b"\r", b"\n")):
    _KINDS[list(_characters)] = _kind
# What may follow what: a sign begins a number or an exponent, an exponent has digits before and after it.
_FOLLOWS = np.zeros((8, 8), dtype=bool)
_FOLLOWS[_DIGIT, [_DIGIT, _POINT, _EXPONENT, _SPACE, _RETURN, _LINE]] = True
_FOLLOWS[_SIGN, [_DIGIT, _POINT]] = True
_FOLLOWS[_POINT, [_DIGIT, _EXPONENT, _SPACE, _RETURN, _LINE]] = True
_FOLLOWS[_EXPONENT, [_DIGIT, _SIGN]] = True
_FOLLOWS[_SPACE, [_DIGIT, _SIGN, _POINT, _SPACE, _RETURN, _LINE]] = True
_FOLLOWS[_RETURN, _LINE] = True
_FOLLOWS[_LINE, [_DIGIT, _SIGN, _POINT, _SPACE, _RETURN, _LINE]] = True
_RIGHT = _FOLLOWS.ravel()


def parse_matrix(path: Path) -> Any:
    """Return the matrix of a file, sparse if it is, or raise a ValueError that says what is wrong with it."""
    _check_header(path)
    with opened(path) as file:
        return scipy.io.mmread(_Spelled(file), **_AS_ARRAY)


class _Spelled:
    """A file of which every piece that is read ends with a line, is spelled right, and has a line end at its end."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.head = file, True
        self.piece, self.at = b"", 0

    def read(self, size: int = -1) -> bytes:
        """Return the next piece, which may be shorter than asked for, or nothing at the end."""
        if self.at >= len(self.piece):
            self.piece, self.at = self._next(), 0
        first, self.at = self.at, len(self.piece) if size < 0 else self.at + size
        return self.piece[first : self.at]

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
            rest = self.file.readline(_BLOCK)
            if len(rest) == _BLOCK:
                raise ValueError(f"it has a line of more than {_BLOCK:,} bytes")
            block += rest if rest.endswith(b"\n") else rest + b"\n"
        wrong = _misspelled(block)
        if wrong is not None:
            line = block[block.rfind(b"\n", 0, wrong) + 1 : block.find(b"\n", wrong)]
            raise ValueError(f"the line {shown(line.decode('latin-1'))!r} is not of numbers")
        return block


def _misspelled(block: bytes) -> int | None:
    """Return where the first thing stands that is no number, or None; the block ends with a line."""
    kinds = _KINDS[np.frombuffer(b"\n" + block, dtype=np.uint8)]  # what was a line end before it
    wrong = np.flatnonzero(~_RIGHT[8 * kinds[:-1] + kinds[1:]])
    if len(wrong):
        return int(wrong[0])
    marks = np.flatnonzero((kinds == _POINT) | (kinds == _EXPONENT))
    word = np.searchsorted(np.flatnonzero(kinds >= _SPACE), marks)
    pairs = (kinds[marks[:-1]] == _POINT) & (kinds[marks[1:]] == _EXPONENT)
    wrong = np.flatnonzero((word[:-1] == word[1:]) & ~pairs)  # of the marks in one number, a point and then an exponent
    return int(marks[wrong[0]]) - 1 if len(wrong) else None


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
    check_room(8 * (m * n if dense else 2 * entries), f"the matrix of {path}", "Choose fewer rows or columns first.")


def check_sides(sides: list[int], there: int) -> None:
    """Raise if a sparse matrix announces far more rows or columns than its bytes can fill."""
    if max(sides, default=0) > max(EMPTY_SIDES, there):
        raise ValueError(f"it announces {' by '.join(map(str, sides))} rows and columns, far more than it can fill")
