"""Documents as a matrix of words: a folder of text files, or a file with a document on each line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rspca.formats.columns import is_number
from rspca.formats.files import lines
from rspca.formats.named import Array, Named


def read_documents(
    path: Path,
    *,
    pattern: str = "*.txt",
    stop_words: Any = "default",
    min_length: int = 3,
    max_length: int = 30,
    min_documents: int = 1,
    idf: bool = True,
    empty: str = "error",
    encoding: str = "utf-8",
) -> Named:
    """Return documents as weights of their words, through :func:`rspca.text.term_matrix`.

    Features are words, with the number of documents that have each. Samples are files, by their path below the folder
    and with its subfolder, or lines; blank lines are no documents.

    Parameters
    ----------
    path : path
        A folder, searched with all below it, or a file of lines, plain or gzipped.
    pattern : str
        Which files of a folder are documents; ``"*"`` takes all but hidden ones. Gzipped files match without ``.gz``.
    stop_words, min_length, max_length, min_documents, idf, empty, encoding
        As in :func:`rspca.text.term_matrix`.
    """
    from rspca.text import term_counts, tf_idf

    if not path.is_dir():
        _check_text(path, encoding)
    try:
        counts, words, names = term_counts(
            path, pattern=pattern, stop_words=stop_words, min_length=min_length, max_length=max_length,
            min_documents=min_documents, empty=empty, encoding=encoding,
        )  # fmt: skip
        weights = tf_idf(counts, idf=idf, documents=names)
    except ValueError as error:
        raise (error if str(path) in str(error) else ValueError(f"{path}: {error}")) from None
    having = np.bincount(counts.indices, minlength=counts.shape[1])
    return Named(weights, words, names, {"documents": having}, _folders(path, names))


def _folders(path: Path, names: tuple[str, ...]) -> dict[str, Array]:
    """Return the subfolder of each document, if there is one."""
    if not path.is_dir() or not any("/" in name for name in names):
        return {}
    return {"folder": np.array([name.rpartition("/")[0] for name in names], dtype=str)}


def _check_text(path: Path, encoding: str) -> None:
    """Raise if a file of lines begins with numbers: then it is no text."""
    first = next((line for line in lines(path, encoding) if line.strip()), "")
    words = first.replace(",", " ").replace(";", " ").split()
    if len(words) > 1 and all(map(is_number, words)):
        raise ValueError(f"{path} begins with numbers, and .txt is read as documents; name a table .csv or .tsv.")
