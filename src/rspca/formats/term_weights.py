"""Weights of the words of a fit, and how the words of other documents get the same weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from rspca.base.arguments import argument
from rspca.base.types import Array

LONGEST_TERM = 10**6
"""Letters; regular expressions cannot count much further."""
SHOWN_WORDS = 5
"""Words and documents that a message lists."""


@dataclass(frozen=True, eq=False)
class TermWeights:
    r"""All that is needed to weight new documents as those of a fit.

    A document becomes a row: the count of each term of `vocabulary` times its entry of `idf`, scaled to unit Euclidean
    length. Words outside the vocabulary have no part in it. `stop_words`, `min_length` and `max_length` say which words
    are counted at all, `min_documents` how many documents of the fit had to have a term of the vocabulary.

    Examples
    --------
    >>> import pathlib, rspca, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.txt")
    ...     _ = path.write_text("wing flow\nwing drag\nbooks of a library\n")
    ...     model = rspca.SparsePCA(1, k=2, random_state=0).fit(rspca.read(path))
    >>> model.term_weights_.vocabulary
    ('books', 'drag', 'flow', 'library', 'wing')
    >>> rspca.text.term_matrix(["drag of books"], term_weights=model.term_weights_).matrix.toarray().round(2)
    array([[0.71, 0.71, 0.  , 0.  , 0.  ]])
    """

    vocabulary: tuple[str, ...]
    idf: Array  # one factor per term, float64
    stop_words: tuple[str, ...]
    min_length: int
    max_length: int
    min_documents: int

    def equals(self, other: TermWeights) -> bool:
        """Return whether documents get the same rows from both."""
        return self is other or (
            self.vocabulary == other.vocabulary
            and np.array_equal(self.idf, other.idf)
            and self.rules() == other.rules()
        )

    def rules(self) -> dict[str, Any]:
        """Return which words are counted, as options of ``rspca.text.term_counts``."""
        return {"stop_words": self.stop_words, "min_length": self.min_length, "max_length": self.max_length}

    def not_counted_by(self, other: TermWeights) -> list[str]:
        """Return the terms of this vocabulary that the rules of the other leave out."""
        left_out = set(other.stop_words)
        return [
            term
            for term in self.vocabulary
            if term in left_out or not other.min_length <= len(term) <= other.max_length
        ]

    def __repr__(self) -> str:
        """Return the number of terms and the rules, not the terms."""
        return (
            f"TermWeights({len(self.vocabulary)} terms of {self.min_length} to {self.max_length} letters in at least "
            f"{self.min_documents} document(s), {len(self.stop_words)} stop words)"
        )


class Coverage(NamedTuple):
    """How much of some documents a vocabulary knows."""

    words: int  # different words
    unknown_words: int
    occurrences: int  # words, each as often as it occurs
    unknown_occurrences: int
    frequent: tuple[str, ...]  # unknown words, the most frequent first
    without: tuple[str, ...]  # documents without a single known word of any weight

    def notes(self) -> tuple[str, ...]:
        """Return in words what is not known; nothing if all is."""
        found = []
        if self.unknown_words:
            found.append(
                f"{self.unknown_words:,} of the {self.words:,} different words of these documents "
                f"({self.unknown_occurrences:,} of {self.occurrences:,} occurrences) are not in the model and are left "
                f"out; the most frequent: {', '.join(self.frequent)}."
            )
        if self.without:
            more = ", ..." if len(self.without) > SHOWN_WORDS else ""
            found.append(
                f"{len(self.without)} document(s) have no word that weighs anything in the model: "
                f"{', '.join(self.without[:SHOWN_WORDS])}{more}. Their rows are zero; "
                f"{argument('empty', 'drop')} leaves them out."
            )
        return tuple(found)


@dataclass(frozen=True, eq=False)
class DocumentTerms:
    """The words behind a table of documents: the weights in use, and counts of all words."""

    weights: TermWeights
    counts: Any  # CSR: documents by all words that the rules of `weights` count
    words: tuple[str, ...]  # the columns of `counts`
    coverage: Coverage | None = None  # None: the vocabulary is that of these documents

    def notes(self) -> tuple[str, ...]:
        """Return in words what the vocabulary does not know."""
        return () if self.coverage is None else self.coverage.notes()


def unit_rows(counts: Any, idf: Array) -> Any:
    """Return counts times idf with rows of unit Euclidean length; a row without weight stays zero."""
    from sklearn.preprocessing import normalize

    X = scipy.sparse.csr_array(counts, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.data *= idf[X.indices]
    X.eliminate_zeros()
    return scipy.sparse.csr_array(normalize(X, norm="l2", copy=False))


def inverse_frequencies(counts: Any, idf: bool) -> Array:
    """Return log2(m / df) of each term, where df of the m documents have it; without idf, ones."""
    if not idf:
        return np.ones(counts.shape[1])
    return np.asarray(np.log2(counts.shape[0] / np.maximum(document_counts(counts), 1)))


def document_counts(counts: Any) -> Array:
    """Return how many documents have each term."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


def compact(counts: Any) -> Any:
    """Return counts in the smallest type of integers that has room for them."""
    largest = int(counts.data.max(initial=0))
    return scipy.sparse.csr_array(counts, dtype=np.min_scalar_type(largest))


def weigh(
    weights: TermWeights, counts: Any, words: tuple[str, ...], documents: tuple[str, ...]
) -> tuple[Any, Any, Coverage]:
    """Return the rows of documents, the counts of known terms, and what of them is not known.

    Parameters
    ----------
    weights : TermWeights
        Vocabulary and factors.
    counts : CSR
        Documents by words.
    words, documents : names
        Of the columns and the rows of `counts`.
    """
    place = {term: j for j, term in enumerate(weights.vocabulary)}
    columns = np.array([place.get(word, -1) for word in words], dtype=np.intp)
    entries = scipy.sparse.coo_array(counts)
    where = columns[entries.col] if len(columns) else np.empty(0, dtype=np.intp)
    known = where >= 0
    shape = (counts.shape[0], len(weights.vocabulary))
    found = scipy.sparse.csr_array((entries.data[known], (entries.row[known], where[known])), shape=shape)
    rows = unit_rows(found, weights.idf)
    unknown = np.bincount(entries.col[~known], entries.data[~known], minlength=len(words)) * (columns < 0)
    frequent = np.argsort(-unknown, kind="stable")[: min(SHOWN_WORDS, int((unknown > 0).sum()))]
    coverage = Coverage(
        words=len(words),
        unknown_words=int((unknown > 0).sum()),
        occurrences=int(entries.data.sum(dtype=np.int64)),
        unknown_occurrences=int(unknown.sum()),
        frequent=tuple(words[j] for j in frequent),
        without=tuple(documents[i] for i in np.flatnonzero(np.diff(rows.indptr) == 0)),
    )
    return rows, found, coverage
