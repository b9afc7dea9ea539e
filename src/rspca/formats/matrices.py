"""Matrices in files of NumPy, SciPy and Matrix Market; headers are checked against the file first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.checks import RefusedFile, reason
from rspca.base.types import Array
from rspca.formats.archives import checked_sparse, npy_header, npz_arrays, npz_shapes
from rspca.formats.market import check_sides, parse_matrix
from rspca.formats.named import Named, plain
from rspca.formats.tenx import matrix_of_folder, named_by_neighbors

FEATURE_NAMES = ("feature_names", "features", "columns", "vocabulary")
SAMPLE_NAMES = ("sample_names", "samples", "rows", "documents")


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
            shape, dtype = npy_header(file)
            there = path.stat().st_size - file.tell()
        if math.prod(shape) * dtype.itemsize > there:
            raise ValueError(f"its header announces {shape} of {dtype}, and {there} bytes are there")
        found = Named(np.load(path, mmap_mode="r", allow_pickle=False))
    except Exception as error:
        raise _damaged(path, "a .npy file of numbers, or it is cut off", error) from error
    _check_numbers(path, found.X)
    return found.transposed() if transpose else found


def read_npz(path: Path, *, transpose: bool = False) -> Named:
    """Return the sparse matrix that ``scipy.sparse.save_npz`` wrote, or the only matrix of ``numpy.savez``.

    Next to a dense matrix, arrays with one entry per feature or sample are read: strings in ``feature_names`` and
    ``sample_names`` (or ``features``, ``samples``) name them, the others describe them.

    Parameters
    ----------
    path : path
        A .npz file.
    transpose : bool
        Whether the file has features in rows.
    """
    try:
        shapes = npz_shapes(path)
        if {"format", "shape", "data"} <= set(shapes):
            check_sides(npz_arrays(path, ["shape"])["shape"].tolist(), path.stat().st_size)
            X, vectors = _checked_sparse(scipy.sparse.load_npz(path)), dict[str, Array]()
        else:
            matrices = [name for name, shape in shapes.items() if len(shape) == 2]
            if len(matrices) != 1:
                raise ValueError(f"it has {len(matrices)} matrices; one is needed")
            vectors = npz_arrays(path, [name for name, shape in shapes.items() if len(shape) in (1, 2)])
            X = vectors.pop(matrices[0])
    except Exception as error:
        raise _damaged(path, "a .npz file of one matrix", error) from error
    _check_numbers(path, X)
    return _with_vectors(path, X.T if transpose else X, vectors)


def read_mtx(path: Path, *, transpose: bool | None = None) -> Named:
    """Return a Matrix Market file, sparse if it is, with the names in the files of the same folder.

    Cell Ranger writes ``features.tsv`` (or ``genes.tsv``) and ``barcodes.tsv`` next to ``matrix.mtx``, all plain or
    gzipped, with features in rows. Where such files are there, their lengths decide which way round the matrix is; a
    square one is taken as Cell Ranger's.

    Parameters
    ----------
    path : path
        A .mtx file, plain or gzipped, or a folder with matrix.mtx.
    transpose : bool
        Whether the file has features in rows; None: as the files of names say, otherwise no.
    """
    path = matrix_of_folder(path) or path
    try:
        X = parse_matrix(path)
    except Exception as error:
        raise _damaged(path, "a Matrix Market file, or it is cut off", error) from error
    _check_numbers(path, X)
    return named_by_neighbors(path, scipy.sparse.csr_array(X) if scipy.sparse.issparse(X) else X, transpose)


def _damaged(path: Path, what: str, error: Exception) -> Exception:
    """Return what to raise: a damaged file can fail anywhere inside of zipfile, zlib, NumPy and SciPy."""
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError | MemoryError | RefusedFile):
        return error
    if path.suffix.lower() == ".gz" and what.startswith(("a .npy", "a .npz")):
        return ValueError(f"{path} is gzipped, which is read of text only; unpack it with gunzip.")
    return ValueError(f"{path} is not {what}: {reason(error)}")


def _check_numbers(path: Path, X: Any) -> None:
    if np.dtype(X.dtype).kind not in "biuf":
        raise TypeError(f"{path} holds {X.dtype}; only real numbers can be used. Convert it with astype(float).")


def _checked_sparse(X: Any) -> Any:
    """Return a sparse matrix by rows, or by columns if it is."""
    X = checked_sparse(X)
    return X if isinstance(X, scipy.sparse.csc_array) else checked_sparse(scipy.sparse.csr_array(X))


def _with_vectors(path: Path, X: Array, vectors: dict[str, Array]) -> Named:
    """Return a matrix with the vectors that are as long as one of its sides; a square one only with those by name."""
    m, n = X.shape
    vectors = {name: plain(vector) if vector.dtype.kind == "S" else vector for name, vector in vectors.items()}
    for name, length in ((FEATURE_NAMES[0], n), (SAMPLE_NAMES[0], m)):
        if name in vectors and len(vectors[name]) != length:
            raise ValueError(f"{path}: {name} has {len(vectors[name])} entries for {length}; give one each.")
    columns = next((vectors.pop(name) for name in FEATURE_NAMES if _names(vectors.get(name), n)), None)
    rows = next((vectors.pop(name) for name in SAMPLE_NAMES if _names(vectors.get(name), m)), None)
    others = {name: vector for name, vector in vectors.items() if vector.dtype.kind in "biufU" and m != n}
    return Named(
        X,
        None if columns is None else columns.tolist(),
        None if rows is None else rows.tolist(),
        {name: vector for name, vector in others.items() if len(vector) == n},
        {name: vector for name, vector in others.items() if len(vector) == m},
    )


def _names(vector: Array | None, length: int) -> bool:
    return vector is not None and vector.dtype.kind == "U" and len(vector) == length
