"""Bags of words as the UCI repository has them: docword.NAME.txt with counts, vocab.NAME.txt with the words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.checks import RefusedFile, check_choice, check_integer
from rspca.base.files import lines
from rspca.base.memory import check_room
from rspca.formats.documents import named_of
from rspca.formats.named import Named
from rspca.formats.term_weights import LONGEST_TERM, TermWeights
from rspca.formats.tf_idf import EMPTY, Terms, weighted_counts

_HEAD = ("documents", "words", "entries")
_NUMBER = re.compile(r"[0-9]{1,15}")
MOST_EMPTY = 100
"""Documents for each entry, at most; a document has a word at least."""
_BYTES = 3 * 8
"""Bytes of an entry: row, column and count."""


def read_docword(
    path: Path,
    *,
    min_documents: int = 1,
    idf: bool = True,
    empty: str = "auto",
    term_weights: TermWeights | None = None,
) -> Named:
    """Return counts of words as weights; the words are in vocab.NAME.txt in the same folder.

    The file has the numbers of documents, words and entries on a line each, then a line ``document word count`` for
    each entry, counted from 1. Samples are the numbers of the documents. Words are taken as they are: stop words were
    left out when the file was made.

    Parameters
    ----------
    path : path
        ``docword.NAME.txt``, plain or gzipped.
    min_documents, idf, empty, term_weights
        As in :func:`rspca.text.term_matrix`.
    """
    if not (isinstance(empty, str) and empty == "auto"):
        check_choice("empty", empty, EMPTY)
    check_integer("min_documents", min_documents, 1)
    check_choice("idf", idf, (True, False))
    counts = _counts(path)
    vocabulary = _vocabulary(path, counts.shape[1])
    letters = [len(word) for word in vocabulary]
    rules = {"stop_words": (), "min_length": max(1, min(letters)), "max_length": min(max(letters), LONGEST_TERM)}
    words = Terms(counts, vocabulary, tuple(str(i + 1) for i in range(counts.shape[0])))
    try:
        weighted, _ = weighted_counts(
            words, rules, min_documents=min_documents, idf=idf, empty=empty, term_weights=term_weights
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return named_of(weighted)


def vocabulary_file(path: Path) -> list[Path]:
    """Return the file of the words that belongs to a file of counts, if it is there."""
    stem = path.name.removesuffix(".gz").removesuffix(".txt").split(".", 1)[-1]
    found = (path.with_name(f"vocab.{stem}.txt{packed}") for packed in ("", ".gz"))
    return [file for file in found if file.is_file()][:1]


def _vocabulary(path: Path, n_words: int) -> tuple[str, ...]:
    files = vocabulary_file(path)
    if not files:
        stem = path.name.removesuffix(".gz").removesuffix(".txt").split(".", 1)[-1]
        raise FileNotFoundError(f"{path} needs its words: vocab.{stem}.txt, one a line, in the same folder.")
    words = tuple(line.strip() for line in lines(files[0]))
    while words and not words[-1]:
        words = words[:-1]
    if len(words) != n_words or len(set(words)) < len(words) or "" in words:
        raise ValueError(f"{files[0]} has {len(set(words) - {''})} different words; {path} counts {n_words}.")
    return words


def _counts(path: Path) -> Any:
    """Return the counts as a CSR array, or raise where the file contradicts its first three lines."""
    rest = lines(path)
    head = [next(rest, "").strip() for _ in _HEAD]
    for what, number in zip(_HEAD, head, strict=True):
        if not _NUMBER.fullmatch(number):
            raise ValueError(f"{path} does not begin with the number of {what} (found {number[:40]!r}).")
    n_documents, n_words, n_entries = (int(number) for number in head)
    if not min(n_documents, n_words, n_entries) or n_entries > n_documents * n_words:
        raise ValueError(f"{path} says {n_documents} documents of {n_words} words with {n_entries} entries.")
    if n_documents > MOST_EMPTY * n_entries:
        raise RefusedFile(f"{path} says {n_documents} documents with {n_entries} entries: nearly all would be empty.")
    if n_entries > path.stat().st_size * 250:  # an entry takes a byte at least, and gzip gains no more
        raise RefusedFile(f"{path} says {n_entries} entries and is too small for them; it is cut off.")
    check_room(n_entries * _BYTES, f"{path}, {n_entries} entries,", "Give a part of it.")
    entries = np.empty((n_entries, len(_HEAD)), dtype=np.int64)
    place = -1
    for line in rest:
        if not line.strip():
            continue
        numbers = line.split()
        place += 1
        if len(numbers) != len(_HEAD) or not all(map(_NUMBER.fullmatch, numbers)):
            raise ValueError(f"{path}, entry {place + 1}: {line.strip()[:40]!r} is not 'document word count'.")
        if place >= n_entries:
            raise ValueError(f"{path} says {n_entries} entries and has more.")
        entries[place] = [int(number) for number in numbers]
    if place + 1 < n_entries:
        raise ValueError(f"{path} says {n_entries} entries and has {place + 1}; it is cut off.")
    documents, words, counts = entries.T
    if documents.min() < 1 or words.min() < 1 or documents.max() > n_documents or words.max() > n_words:
        raise ValueError(f"{path} has an entry outside of {n_documents} documents by {n_words} words.")
    if counts.min() < 1:
        raise ValueError(f"{path} has a count of 0; entries are counts of at least 1.")
    matrix = scipy.sparse.csr_array((counts, (documents - 1, words - 1)), shape=(n_documents, n_words))
    if matrix.nnz < n_entries:
        raise ValueError(f"{path} counts a word of a document twice.")
    return matrix
