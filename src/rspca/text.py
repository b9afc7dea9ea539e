"""Documents to a matrix of terms: counts by scikit-learn, then the weights of the paper."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from rspca.arguments import argument, where_known
from rspca.checks import check_choice, check_integer, rectangular
from rspca.formats.files import lines, read_bytes

__all__ = ["Terms", "term_counts", "term_matrix", "tf_idf"]

EMPTY = ("error", "drop")
LONGEST_TERM = 10**6
"""Letters; regular expressions cannot count much further."""


class Terms(NamedTuple):
    """A matrix of documents by terms, and the names of both."""

    matrix: Any  # scipy CSR array
    vocabulary: tuple[str, ...]  # the columns, in alphabetical order
    documents: tuple[str, ...]  # the rows

    def __repr__(self) -> str:
        """Return a summary in one line."""
        return f"Terms({len(self.documents):,} documents x {len(self.vocabulary):,} terms)"


def term_matrix(
    documents: Any,
    *,
    stop_words: Any = "default",
    min_length: int = 3,
    max_length: int = 30,
    min_documents: int = 1,
    idf: bool = True,
    empty: str = "error",
    encoding: str = "utf-8",
    pattern: str = "*",
) -> Terms:
    """Return documents as weights of their terms, rows of unit length: the text data of the paper.

    A term is a run of letters, in lower case, bounded by anything but letters and digits: what holds a digit is no
    term, nothing is stemmed. Its weight is its count times log2(m / df), where df of the m documents have it.

    Parameters
    ----------
    documents : list of str, or path
        The texts; or a folder, each file below it a document (hidden files are left out); or a file with a document
        on each line that is not blank. Files may be gzipped.
    stop_words : "default", path, iterable of str, or None
        Words to leave out: the list that ships with rspca, a file of words, some words, or none. The paper used the
        list ``common_words`` of the Text to Matrix Generator (TMG), which is not ours to ship; give its path.
    min_length, max_length : int
        Letters that a term may have.
    min_documents : int
        Documents that a term must occur in.
    idf : bool
        Whether to multiply by log2(m / df). A term that every document has then weighs nothing.
    empty : {"error", "drop"}
        What to do with a document in which no term is left. One that has only terms which all documents have, and so
        weighs nothing, is an error in any case.
    encoding : str
        Encoding of files.
    pattern : str
        Which files of a folder are documents, such as ``"*.txt"``; a gzipped file matches without ``.gz``.

    Returns
    -------
    Terms
        ``matrix`` (CSR, float64), ``vocabulary`` and ``documents`` (names: of files, ``line 7``, or the position in
        the list).

    Examples
    --------
    >>> import rspca
    >>> terms = rspca.text.term_matrix(["The wing lifts.", "A wing in 2D flow", "A library of books"])
    >>> terms.vocabulary
    ('books', 'flow', 'library', 'lifts', 'wing')
    >>> terms.matrix.toarray().round(2).tolist()
    [[0.0, 0.0, 0.0, 0.94, 0.35], [0.0, 0.94, 0.0, 0.0, 0.35], [0.71, 0.0, 0.71, 0.0, 0.0]]
    """
    counts = term_counts(
        documents, stop_words=stop_words, min_length=min_length, max_length=max_length, min_documents=min_documents,
        empty=empty, encoding=encoding, pattern=pattern,
    )  # fmt: skip
    return counts._replace(matrix=tf_idf(counts.matrix, idf=idf, documents=counts.documents))


def term_counts(
    documents: Any,
    *,
    stop_words: Any = "default",
    min_length: int = 3,
    max_length: int = 30,
    min_documents: int = 1,
    empty: str = "error",
    encoding: str = "utf-8",
    pattern: str = "*",
) -> Terms:
    """Return how often each document has each term; the options are those of :func:`term_matrix`.

    Examples
    --------
    >>> import rspca
    >>> counts = rspca.text.term_counts(["flow past a wing past", "heat flow"], stop_words=["past"])
    >>> counts.vocabulary, counts.matrix.toarray().tolist()
    (('flow', 'heat', 'wing'), [[1, 0, 1], [1, 1, 0]])
    """
    check_integer("min_length", min_length, 1)
    check_integer("max_length", max_length, min_length, why=" (min_length)")
    if max_length > LONGEST_TERM:
        raise ValueError(f"max_length={max_length} must be at most {LONGEST_TERM} letters; lower it.")
    check_integer("min_documents", min_documents, 1)
    check_choice("empty", empty, EMPTY)
    # Letters and digits are what \w matches but the underscore; the look-arounds make the run a maximal one.
    term = rf"(?<![^\W_])[^\W\d_]{{{min_length},{max_length}}}(?![^\W_])"
    left_out = _stop_words(stop_words, term)
    names, texts = _read(documents, encoding, pattern)
    vectorizer = CountVectorizer(token_pattern=term, stop_words=left_out or None)
    nothing = (
        f"no term is left of {len(texts)} document(s): none has {min_length} to {max_length} letters, occurs in "
        f"{min_documents} document(s) or more and is no stop word. Lower "
        f"{where_known('min_length', 'min_length or ')}{argument('min_documents')}, or change {argument('stop_words')}."
    )
    try:
        counts = scipy.sparse.csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:
        if "empty vocabulary" in str(error):
            raise ValueError(nothing) from error
        raise
    vocabulary = vectorizer.get_feature_names_out()
    frequent = np.bincount(counts.indices, minlength=counts.shape[1]) >= min_documents
    if not frequent.any():
        raise ValueError(nothing)
    counts, vocabulary = counts[:, frequent], vocabulary[frequent]
    filled = np.diff(counts.indptr) > 0
    if not filled.all() and empty == "error":
        which = [name for name, full in zip(names, filled, strict=True) if not full]
        raise ValueError(
            f"{len(which)} of {len(names)} documents have no term left: {_some(which)}. Leave them out with "
            'empty="drop", or change stop_words, min_length or min_documents.'
        )
    kept = tuple(name for name, full in zip(names, filled, strict=True) if full)
    return Terms(counts[filled], tuple(str(term) for term in vocabulary), kept)


def tf_idf(counts: Any, *, idf: bool = True, documents: Sequence[str] | None = None) -> Any:
    """Return counts of terms as weights: count times log2(m / df), then each row to unit Euclidean length.

    Parameters
    ----------
    counts : sparse or dense matrix
        Documents by terms, no entry negative, no row empty.
    idf : bool
        Whether to multiply by log2(m / df), where df of the m documents have the term.
    documents : names
        What an error calls the rows; None: their numbers.

    Examples
    --------
    >>> import rspca
    >>> rspca.text.tf_idf([[3, 0, 1], [0, 1, 1]]).toarray()
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    check_choice("idf", idf, (True, False))
    table = counts if scipy.sparse.issparse(counts) else rectangular("counts", counts)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise ValueError(
            f"counts has {table.ndim} dimension(s) of {table.dtype}; a matrix of documents by terms is needed, numbers."
        )
    X = scipy.sparse.csr_array(table, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    if not (np.isfinite(X.data).all() and (X.data > 0).all()):
        raise ValueError("counts has negative, infinite or NaN entries; give how often each document has each term.")
    if idf:
        df = np.bincount(X.indices, minlength=X.shape[1])
        X.data *= np.log2(X.shape[0] / np.maximum(df, 1))[X.indices]
        X.eliminate_zeros()
    weightless = np.flatnonzero(np.diff(X.indptr) == 0)
    if len(weightless):
        names = [str(i) if documents is None else documents[i] for i in weightless.tolist()]
        raise ValueError(
            f"row(s) {_some(names)} of counts have no term, or only terms that every document "
            f"has, whose weight is log2(1) = 0; leave them out{where_known('idf', ', or use idf=False')}."
        )
    return scipy.sparse.csr_array(normalize(X, norm="l2", copy=False))


def _stop_words(stop_words: Any, pattern: str) -> list[str]:
    """Return the words to leave out that could be terms at all."""
    if stop_words is None:
        words: Iterable[str] = ()
    elif isinstance(stop_words, str) and stop_words == "default":
        words = _default_stop_words()
    elif isinstance(stop_words, str | os.PathLike):
        if not Path(stop_words).is_file():
            raise ValueError(
                f"{argument('stop_words', str(stop_words))} is not a file; give one with the words to leave out."
            )
        words = _words_of(lines(stop_words))
    else:
        words = list(_checked_words(stop_words))
    return sorted({word.lower() for word in words if re.fullmatch(pattern, word.lower())})


def _checked_words(words: Any) -> Iterator[str]:
    if not isinstance(words, Iterable):
        raise TypeError(f"stop_words={words!r} must be 'default', a path, words, or None.")
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words has {word!r}, which is not a string.")
        yield word


@cache
def _default_stop_words() -> tuple[str, ...]:
    return tuple(_words_of(resources.files("rspca").joinpath("stop_words.txt").read_text("utf-8").splitlines()))


def _words_of(text: Iterable[str]) -> Iterator[str]:
    """Yield the words of a stop list: separated by white space, a number sign begins a comment."""
    for line in text:
        yield from line.partition("#")[0].split()


def _read(documents: Any, encoding: str, pattern: str) -> tuple[list[str], list[str]]:
    """Return names and texts of a list, a folder, or a file of lines."""
    if isinstance(documents, str | os.PathLike):
        path = Path(documents)
        if not _exists(path):
            raise ValueError(
                f"documents={str(documents)[:60]!r} is neither a file nor a folder; put a single text into a list."
            )
        found = list(_folder(path, encoding, pattern) if path.is_dir() else _lines(path, encoding))
    elif isinstance(documents, Iterable) and not isinstance(documents, bytes):
        found = [(str(position), text) for position, text in enumerate(documents)]
    else:
        raise TypeError(f"documents is a {type(documents).__name__}; give a list of strings, a folder, or a file.")
    for name, text in found:
        if not isinstance(text, str):
            raise TypeError(f"document {name} is a {type(text).__name__}, not a string.")
    if not found:
        which = "" if pattern == "*" else f" named {pattern}; {argument('pattern', '*')} reads all files of a folder"
        raise ValueError(f"{str(documents)[:200]} has no documents{which}.")
    return [name for name, _ in found], [text for _, text in found]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a text can be too long for a name, or hold what no name may
        return False


def _folder(folder: Path, encoding: str, pattern: str) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        matches = fnmatch.fnmatch(path.name, pattern) or fnmatch.fnmatch(path.name.removesuffix(".gz"), pattern)
        if matches and path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield name.as_posix(), _text(path, encoding)


def _lines(path: Path, encoding: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines(path, encoding), 1):
        if "\0" in line:
            raise ValueError(f"{path}, line {number} is not text: it has zero bytes.")
        if line.strip():
            yield f"line {number}", line


def _text(path: Path, encoding: str) -> str:
    content = read_bytes(path)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not {encoding} text (byte {error.start}); give its encoding, for example "
            f"{argument('encoding', 'latin-1')}, or keep files that are no text out of the folder."
        ) from error
    if "\0" in text:
        raise ValueError(f"{path} is not text: it has zero bytes; keep it out of the folder.")
    return text


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
