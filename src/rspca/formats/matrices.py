"""Matrices in files of NumPy, SciPy and Matrix Market; headers are held against the file before memory is taken."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.io
import scipy.sparse
from numpy.lib import format as npy
from numpy.typing import NDArray

from rspca.formats.files import is_gzipped, opened
from rspca.formats.named import Named
from rspca.formats.tenx import matrix_of_folder, named_by_neighbors
from rspca.memory import check_room

Array = NDArray[Any]

_DAMAGE = (ValueError, KeyError, EOFError, OSError, OverflowError, NotImplementedError, zipfile.BadZipFile)
FEATURE_NAMES = ("feature_names", "features", "columns", "vocabulary")
SAMPLE_NAMES = ("sample_names", "samples", "rows", "documents")
MOST_INFLATED = 1032
"""How many bytes deflate can make of one."""
EMPTY_SIDES = 10**7
"""Rows or columns that a Matrix Market file may announce whatever its size; they may be empty."""


def read_npy(path: Path, *, transpose: bool = False) -> Named:
    """Return an array, mapped from disk.

    Parameters
    ----------
    path : path
        A .npy file.
    transpose : bool
        Whether the file has features in rows.
    """
    try:
        with path.open("rb") as file:
            shape, dtype = _npy_header(file)
            there = path.stat().st_size - file.tell()
        if math.prod(shape) * dtype.itemsize > there:
            raise ValueError(f"its header announces {shape} of {dtype}, and {there} bytes are there")
        found = Named(np.load(path, mmap_mode="r", allow_pickle=False))
    except _DAMAGE as error:
        raise _damaged(path, "a .npy file of numbers, or it is cut off", error) from error
    _check_numbers(path, found.X)
    return found.transposed() if transpose else found


def read_npz(path: Path, *, transpose: bool = False) -> Named:
    """Return the sparse matrix that ``scipy.sparse.save_npz`` wrote, or the only matrix of ``numpy.savez``.

    Beside a dense matrix, arrays with one entry per feature or sample are kept: strings in ``feature_names`` and
    ``sample_names`` (or ``features``, ``samples``) name them, the others describe them.

    Parameters
    ----------
    path : path
        A .npz file.
    transpose : bool
        Whether the file has features in rows.
    """
    try:
        shapes = _npz_shapes(path)
        with np.load(path, allow_pickle=False) as stored:
            if {"format", "shape", "data"} <= set(shapes):
                found = Named(_checked_sparse(scipy.sparse.load_npz(path)))
            else:
                matrices = [name for name, shape in shapes.items() if len(shape) == 2]
                if len(matrices) != 1:
                    raise ValueError(f"it has {len(matrices)} matrices; one is needed")
                vectors = {name: stored[name] for name, shape in shapes.items() if len(shape) == 1}
                found = _with_vectors(stored[matrices[0]], vectors)
    except _DAMAGE as error:
        raise _damaged(path, "a .npz file of one matrix", error) from error
    _check_numbers(path, found.X)
    return found.transposed() if transpose else found


def read_mtx(path: Path, *, transpose: bool | None = None) -> Named:
    """Return a Matrix Market file, sparse if it is, with the names in the files beside it.

    Cell Ranger writes ``features.tsv`` (or ``genes.tsv``) and ``barcodes.tsv`` beside ``matrix.mtx``, all plain or
    gzipped, with features in rows. Where such files are there, their lengths decide which way round the matrix is; a
    square one is taken as Cell Ranger's.

    Parameters
    ----------
    path : path
        A .mtx file, plain or gzipped, or a folder with matrix.mtx.
    transpose : bool
        Whether the file has features in rows; None: as the files beside it say, otherwise no.
    """
    path = matrix_of_folder(path) or path
    try:
        _check_mtx_header(path)
        X = scipy.io.mmread(path)
    except _DAMAGE as error:
        raise _damaged(path, "a Matrix Market file, or it is cut off", error) from error
    _check_numbers(path, X)
    return named_by_neighbors(path, scipy.sparse.csr_array(X) if scipy.sparse.issparse(X) else X, transpose)


def _damaged(path: Path, what: str, error: Exception) -> Exception:
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
        return error
    if path.suffix.lower() == ".gz" and what.startswith(("a .npy", "a .npz")):
        return ValueError(f"{path} is gzipped, which is read of text only; unpack it with gunzip.")
    return ValueError(f"{path} is not {what}: {error}")


def _check_numbers(path: Path, X: Any) -> None:
    if np.dtype(X.dtype).kind not in "biuf":
        raise TypeError(f"{path} holds {X.dtype}; only real numbers can be used. Convert it with astype(float).")


def _checked_sparse(X: Any) -> Any:
    """Return rows in order, after a look at every index: products do not look."""
    if not hasattr(X, "check_format"):
        X = X.tocsr()
    X.check_format(full_check=True)
    return X if isinstance(X, scipy.sparse.csc_array) else scipy.sparse.csr_array(X)


def _with_vectors(X: Array, vectors: dict[str, Array]) -> Named:
    """Return a matrix with the vectors that are as long as one of its sides; a square one only with those by name."""
    m, n = X.shape
    columns = next((vectors.pop(name) for name in FEATURE_NAMES if _names(vectors.get(name), n)), None)
    rows = next((vectors.pop(name) for name in SAMPLE_NAMES if _names(vectors.get(name), m)), None)
    plain = {name: vector for name, vector in vectors.items() if vector.dtype.kind in "biufU" and m != n}
    return Named(
        X,
        None if columns is None else columns.tolist(),
        None if rows is None else rows.tolist(),
        {name: vector for name, vector in plain.items() if len(vector) == n},
        {name: vector for name, vector in plain.items() if len(vector) == m},
    )


def _names(vector: Array | None, length: int) -> bool:
    return vector is not None and vector.dtype.kind == "U" and len(vector) == length


# --- headers ----------------------------------------------------------------------------------------------------------


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = npy.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = npy.read_array_header_2_0(file)
    else:
        raise ValueError(f"its .npy version {version} has field names, which a matrix of numbers has not")
    if any(side < 0 for side in shape):
        raise ValueError(f"its header announces the shape {shape}")
    return shape, dtype


def _npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a .npz file, after holding its size against the member's."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist() if member.filename.endswith(".npy"))
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                continue
            if member.file_size > MOST_INFLATED * member.compress_size + 1024:
                raise ValueError(f"{member.filename} cannot hold the {member.file_size} bytes that are announced")
            with archive.open(member) as file:
                shape, dtype = _npy_header(file)
                there = member.file_size - file.tell()
            if dtype.hasobject:
                name = member.filename.removesuffix(".npy")
                raise ValueError(f"{name} holds Python objects, which are not unpickled; save {name}.astype(str)")
            if math.prod(shape) * dtype.itemsize > there:
                raise ValueError(f"{member.filename} announces {shape} of {dtype}, and {there} bytes are there")
            shapes[member.filename.removesuffix(".npy")] = shape
    check_room(unpacked, f"{path}, unpacked,", "Store a dense matrix as .npy: then it is mapped.")
    return shapes


def _check_mtx_header(path: Path) -> None:
    """Raise where a Matrix Market file is too short for what it announces."""
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
    entries, shortest = (m * n // (1 if banner[4] == "general" else 2), 2) if dense else (sizes[2], 4)
    if entries * shortest - 1 > there:
        raise ValueError(f"it announces {entries} entries, for which it is too short")
    check_room(8 * (m * n if dense else 2 * entries), f"the matrix of {path}", "Choose fewer rows or columns first.")
    if max(m, n) > max(EMPTY_SIDES, there):
        raise ValueError(f"it announces {m} rows and {n} columns, far more than it can fill")
