"""Documents as a matrix of words: a folder of text files, or a file with a document on each line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rspca.base.files import lines
from rspca.base.types import Array
from rspca.formats.columns import is_number
from rspca.formats.named import Named
from rspca.formats.term_weights import document_counts

if TYPE_CHECKING:
    from rspca.formats.tf_idf import Weighted


def read_documents(path: Path, *, pattern: str = "*.txt", **options: Any) -> Named:
    """Return documents as weights of their words, through :func:`rspca.text.term_matrix`.

    Features are words, with the number of documents that have each. Samples are files, by their path below the folder
    and with its subfolder, or lines; blank lines are no documents.

    Parameters
    ----------
    path : path
        A folder, searched with all below it, or a file of lines, plain or gzipped.
    pattern : str
        Which files of a folder are documents; ``"*"`` takes all but hidden ones. Gzipped files match without ``.gz``.
    **options
        As in :func:`rspca.text.term_matrix`: `stop_words`, `min_length`, `max_length`, `min_documents`, `idf`, `empty`,
        `encoding`; `term_weights`, the weights of a fit, with which documents become rows of its features; and
        `vectorizer`, a fitted vectorizer of scikit-learn instead of all of these.
    """
    if not path.is_dir():
        _check_text(path, options.get("encoding", "utf-8"))
    named, _ = weighted_named(path, path, pattern=pattern, **options)
    return replace(named, samples=_folders(path, tuple(named.rows or ())))


def weighted_named(documents: Any, path: Path | None, **options: Any) -> tuple[Named, Array]:
    """Return documents as weights with names, and which of them are left; errors name the file, if there is one."""
    from rspca.formats.tf_idf import weighted_documents

    try:
        weighted, used = weighted_documents(documents, **options)
    except ValueError as error:
        named = path is None or str(path) in str(error)
        raise (error if named else ValueError(f"{path}: {error}")) from None
    return named_of(weighted), used


def named_of(weighted: Weighted) -> Named:
    """Return weighted documents with the names of their words, and in how many documents each is."""
    rows, words, names = weighted.terms
    return Named(
        rows,
        words,
        names,
        features={"documents": document_counts(weighted.counts)},
        samples={},
        notes=() if weighted.source is None else weighted.source.notes(),
        terms=weighted.source,
    )


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
