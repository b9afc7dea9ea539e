"""Arrays in .npy and .npz files: sizes in headers are checked against the file first, and nothing is unpickled."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.lib import format as npy

from rspca.base.memory import check_room
from rspca.base.types import Array

MOST_INFLATED = 1032
"""How many bytes deflate can make of one."""
MOST_HEADER = 1 << 16
"""Bytes of the header of an array, which takes some eighty; it can announce four billion."""
_LAST_CHARACTER = 0x10FFFF


class _Head:
    """The beginning of a file, of which no piece may be large."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def read(self, size: int) -> bytes:
        """Return the next bytes, or raise if these are no header."""
        if size > MOST_HEADER:
            raise ValueError(f"it announces {size} bytes")
        return self.file.read(size)


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type that a .npy header announces."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"its .npy version {version} has field names, which a matrix of numbers has not")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, _, dtype = read(cast(IO[bytes], _Head(file)))
    except Exception as error:  # NumPy parses it as Python, which fails in as many ways as Python has
        raise ValueError(f"its header cannot be read ({type(error).__name__})") from error
    if any(isinstance(side, bool) or side < 0 for side in shape):
        raise ValueError(f"its header announces the shape {shape}")
    return shape, dtype


def npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a .npz file, after its size was checked against the size of the file."""
    shapes, unpacked = {}, 0
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.compress_size > size or member.file_size > MOST_INFLATED * member.compress_size + 1024:
                raise ValueError(f"{member.filename[:80]} cannot hold the {member.file_size} bytes that are announced")
            unpacked += member.file_size
            if not member.filename.endswith(".npy"):
                continue
            with archive.open(member) as file:
                try:
                    shape, dtype = npy_header(file)
                except ValueError as error:
                    raise ValueError(f"{member.filename[:80]}: {error}") from error
                there = member.file_size - file.tell()
            name = member.filename.removesuffix(".npy")
            if dtype.hasobject:
                raise ValueError(
                    f"{name[:80]} holds Python objects, which are not unpickled; save {name[:80]}.astype(str)"
                )
            if math.prod(shape) * dtype.itemsize > there:
                raise ValueError(f"{member.filename[:80]} announces {shape} of {dtype}, and {there} bytes are there")
            shapes[name] = shape
    check_room(unpacked, f"{path}, unpacked,", "Store a dense matrix as .npy: then it is mapped.")
    return shapes


def npz_arrays(path: Path, names: Any = None) -> dict[str, Array]:
    """Return some arrays of a .npz file, or all, after the checks of `npz_shapes`."""
    known = npz_shapes(path)
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in (known if names is None else names)}
    for name, array in arrays.items():
        if array.dtype.kind == "U" and array.size and not _is_text(array):
            raise ValueError(f"{name[:80]} holds what is no text")
    return arrays


def checked_sparse(X: Any) -> Any:
    """Return a sparse matrix after a look at every index: products do not look, and what is wrong ends the process.

    SciPy's own check leaves out the order of the pointers where the last one is zero.
    """
    if hasattr(X, "indptr"):
        if np.any(np.diff(X.indptr.astype(np.int64)) < 0):
            raise ValueError("its index pointers do not rise")
        X.check_format(full_check=True)
    return X


def _is_text(array: Array) -> bool:
    """Return whether strings hold characters that exist: Python fails on others wherever they turn up."""
    codes = np.ascontiguousarray(array).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    return int(codes.max(initial=0)) <= _LAST_CHARACTER
