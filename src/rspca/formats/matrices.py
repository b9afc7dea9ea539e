"""Matrices in files: .npy, .npz (dense or SciPy sparse), Matrix Market, and delimited text with names found out."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.io
import scipy.sparse
from numpy.typing import NDArray

from rspca.formats.files import lines

Array = NDArray[Any]

DELIMITERS = ",\t;|"


class Named(NamedTuple):
    """A matrix, and the names of its columns and rows where the file has them."""

    X: Any
    columns: list[str] | None = None
    rows: list[str] | None = None


def read_npy(path: Path) -> Named:
    """Return an array, mapped from disk."""
    try:
        return Named(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is not a .npy file of numbers, or it is cut off: {error}") from error


def read_npz(path: Path) -> Named:
    """Return the sparse matrix that ``scipy.sparse.save_npz`` wrote, or the only matrix of ``numpy.savez``."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            names = set(stored.files)
            if {"format", "shape", "data"} <= names:
                return Named(scipy.sparse.csr_array(scipy.sparse.load_npz(path)))
            matrices = [name for name in stored.files if stored[name].ndim == 2]
            if len(matrices) != 1:
                raise ValueError(f"it has {len(matrices)} matrices; one is needed")
            return Named(stored[matrices[0]])
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise ValueError(f"{path} is not a .npz file of one matrix: {error}") from error


def read_mtx(path: Path) -> Named:
    """Return a Matrix Market file, sparse if it is."""
    try:
        X = scipy.io.mmread(path)
    except (ValueError, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise ValueError(f"{path} is not a Matrix Market file, or it is cut off: {error}") from error
    return Named(scipy.sparse.csr_array(X) if scipy.sparse.issparse(X) else X)


def read_delimited(path: Path) -> Named:
    """Return a table of numbers: the delimiter, a line of column names and a column of row names are found out."""
    text = [line for line in lines(path) if line.strip()]
    if not text:
        raise ValueError(f"{path} is empty; a table of numbers is needed.")
    delimiter = max(DELIMITERS, key=text[0].count)
    table = list(csv.reader(text, delimiter=delimiter))
    names = None if all(map(_is_number, table[0][1:])) and _is_number(table[0][-1]) else table.pop(0)
    if not table:
        raise ValueError(f"{path} has a line of names and no numbers.")
    labels = [row[0] for row in table] if not all(_is_number(row[0]) for row in table) else None
    start = 0 if labels is None else 1
    width = len(table[0])
    for number, row in enumerate(table, start=1 if names is None else 2):
        if len(row) != width:
            raise ValueError(f"{path}, line {number} has {len(row)} fields; the first row of numbers has {width}.")
        bad = next((entry for entry in row[start:] if not _is_number(entry)), None)
        if bad is not None:
            raise ValueError(f"{path}, line {number}: {bad!r} is not a number. Impute or drop what is missing first.")
    X = np.array([row[start:] for row in table], dtype=np.float64)
    columns = None if names is None else names[-X.shape[1] :]
    return Named(X, columns, labels)


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True
