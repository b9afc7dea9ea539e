"""Documents to a matrix of terms: counts by scikit-learn, then the weights of the paper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer

from rspca.base.arguments import argument, where_known
from rspca.base.checks import check_choice, check_integer, rectangular
from rspca.base.types import Array
from rspca.formats.document_files import read_texts
from rspca.formats.stop_words import resolve_stop_words
from rspca.formats.term_weights import (
    LONGEST_TERM,
    DocumentTerms,
    TermWeights,
    compact,
    inverse_frequencies,
    unit_rows,
    weigh,
)

__all__ = ["TermWeights", "Terms", "term_counts", "term_matrix", "tf_idf"]

EMPTY = ("error", "drop")
DEFAULTS: dict[str, Any] = {
    "stop_words": "default",
    "min_length": 3,
    "max_length": 30,
    "min_documents": 1,
    "idf": True,
}
"""Options that decide the vocabulary and its weights; `term_weights` decides all of them."""


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
    empty: str = "auto",
    encoding: str = "utf-8",
    pattern: str = "*",
    term_weights: TermWeights | None = None,
    vectorizer: Any = None,
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
    empty : {"auto", "error", "drop"}
        What to do with a document in which no term is left; "auto" is an error. One that has only terms which all
        documents have, and so weighs nothing, is an error in any case. With `term_weights`, what to do with a document
        without a word that weighs anything; "auto" makes its row zero, with a warning.
    encoding : str
        Encoding of files.
    pattern : str
        Which files of a folder are documents, such as ``"*.txt"``; a gzipped file matches without ``.gz``.
    term_weights : TermWeights
        Weights of a fit (``term_weights_`` of a model) instead of those of these documents: the columns are the terms
        of the fit, words that it does not know are left out, with a warning that counts them.
    vectorizer : fitted vectorizer of scikit-learn
        A ``TfidfVectorizer``, a ``CountVectorizer``, or a pipeline that ends with names of words: what its `transform`
        returns is the matrix, whatever its words and weights are. The options above are its own then.

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
    weighted = weighted_documents(
        documents,
        stop_words=stop_words,
        min_length=min_length,
        max_length=max_length,
        min_documents=min_documents,
        idf=idf,
        empty=empty,
        encoding=encoding,
        pattern=pattern,
        term_weights=term_weights,
        vectorizer=vectorizer,
    )[0]
    for note in weighted.source.notes() if weighted.source is not None else ():
        warnings.warn(note, UserWarning, stacklevel=2)
    return weighted.terms


class Weighted(NamedTuple):
    """Documents as weights, and what they came from."""

    terms: Terms
    counts: Any  # CSR: how often each document has each term; of a vectorizer, its weights
    source: DocumentTerms | None  # all words of the documents, and the weights in use; None for a vectorizer


def weighted_documents(
    documents: Any,
    *,
    empty: str = "auto",
    encoding: str = "utf-8",
    pattern: str = "*",
    term_weights: TermWeights | None = None,
    vectorizer: Any = None,
    **given: Any,
) -> tuple[Weighted, Array]:
    """Return documents as :func:`term_matrix` does, with the counts and weights behind them, and which ones are left.

    `given` has some or all of the options in DEFAULTS. Nothing is a warning.
    """
    if vectorizer is not None:
        _check_settled(given | {"term_weights": term_weights}, "a vectorizer, which has its own")
        check_choice("empty", empty, ("auto",))
        return _vectorized(vectorizer, documents, encoding, pattern)
    if not (isinstance(empty, str) and empty == "auto"):
        check_choice("empty", empty, EMPTY)
    if term_weights is not None:
        if not isinstance(term_weights, TermWeights):
            raise TypeError(f"{argument('term_weights', term_weights)} must be term_weights_ of a model of documents.")
        _check_settled(given, "the weights of a model, which has its own from its fit")
        words = _counted(documents, term_weights.rules(), encoding, pattern)
        return weighted_counts(words, {}, min_documents=1, idf=True, empty=empty, term_weights=term_weights)
    options = DEFAULTS | given
    min_documents, idf = options.pop("min_documents"), options.pop("idf")
    rules = _checked_rules(**options)
    check_integer("min_documents", min_documents, 1)
    check_choice("idf", idf, (True, False))
    words = _counted(documents, rules, encoding, pattern)
    return weighted_counts(words, rules, min_documents=min_documents, idf=idf, empty=empty)


def weighted_counts(
    words: Terms,
    rules: dict[str, Any],
    *,
    min_documents: int,
    idf: bool,
    empty: str,
    term_weights: TermWeights | None = None,
) -> tuple[Weighted, Array]:
    """Return counts of words as weights, and the places of the documents that are left."""
    if term_weights is not None:
        return _weighted_as(term_weights, words, empty)
    counts, used = _frequent(words, rules, min_documents, empty)
    matrix = tf_idf(counts.matrix, idf=idf, documents=counts.documents)
    rules = rules | {"stop_words": tuple(rules["stop_words"])}
    weights = TermWeights(
        counts.vocabulary, inverse_frequencies(counts.matrix, idf), **rules, min_documents=min_documents
    )
    source = DocumentTerms(weights, compact(words.matrix[used]), words.vocabulary)
    return Weighted(counts._replace(matrix=matrix), counts.matrix, source), np.flatnonzero(used)


def _vectorized(vectorizer: Any, documents: Any, encoding: str, pattern: str) -> tuple[Weighted, Array]:
    """Return what a fitted vectorizer makes of documents."""
    if not all(hasattr(vectorizer, name) for name in ("transform", "get_feature_names_out")):
        raise TypeError(
            f"{argument('vectorizer', vectorizer)} is no vectorizer with names of words; give a fitted "
            "TfidfVectorizer or CountVectorizer of scikit-learn."
        )
    names, texts = read_texts(documents, encoding, pattern)
    try:
        found, words = vectorizer.transform(texts), vectorizer.get_feature_names_out()
    except NotFittedError as error:
        raise ValueError(f"{argument('vectorizer', vectorizer)} is not fitted; call its fit first.") from error
    matrix = scipy.sparse.csr_array(found, dtype=np.result_type(found.dtype, np.float32))
    matrix.sum_duplicates()
    terms = Terms(matrix, tuple(str(word) for word in words), tuple(names))
    return Weighted(terms, matrix, None), np.arange(len(names))


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
    rules = _checked_rules(stop_words, min_length, max_length)
    check_integer("min_documents", min_documents, 1)
    check_choice("empty", empty, EMPTY)
    return _frequent(_counted(documents, rules, encoding, pattern), rules, min_documents, empty)[0]


def _checked_rules(stop_words: Any, min_length: int, max_length: int) -> dict[str, Any]:
    """Return which words are counted, with the stop words as a list."""
    check_integer("min_length", min_length, 1)
    check_integer("max_length", max_length, min_length, why=" (min_length)")
    if max_length > LONGEST_TERM:
        raise ValueError(f"max_length={max_length} must be at most {LONGEST_TERM} letters; lower it.")
    words = resolve_stop_words(stop_words, _term(min_length, max_length))
    return {"stop_words": words, "min_length": min_length, "max_length": max_length}


def _term(min_length: int, max_length: int) -> str:
    """Return the pattern of a term."""
    # Letters and digits are what \w matches but the underscore; the look-arounds make the run a maximal one.
    return rf"(?<![^\W_])[^\W\d_]{{{min_length},{max_length}}}(?![^\W_])"


def _counted(documents: Any, rules: dict[str, Any], encoding: str, pattern: str) -> Terms:
    """Return how often each document has each word that the rules count; there may be none."""
    names, texts = read_texts(documents, encoding, pattern)
    term = _term(rules["min_length"], rules["max_length"])
    vectorizer = CountVectorizer(token_pattern=term, stop_words=list(rules["stop_words"]) or None)
    try:
        counts = scipy.sparse.csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        return Terms(scipy.sparse.csr_array((len(texts), 0), dtype=np.int64), (), tuple(names))
    return Terms(counts, tuple(str(word) for word in vectorizer.get_feature_names_out()), tuple(names))


def _frequent(words: Terms, rules: dict[str, Any], min_documents: int, empty: str) -> tuple[Terms, Any]:
    """Return counts of the words that enough documents have, and the documents that have one of them."""
    frequent = np.bincount(words.matrix.indices, minlength=words.matrix.shape[1]) >= min_documents
    if not frequent.any():
        raise ValueError(
            f"no term is left of {len(words.documents)} document(s): none has {rules['min_length']} to "
            f"{rules['max_length']} letters, occurs in {min_documents} document(s) or more and is no stop word. Lower "
            f"{where_known('min_length', 'min_length or ')}{argument('min_documents')}, or change "
            f"{argument('stop_words')}."
        )
    counts = words.matrix[:, frequent]
    filled = np.diff(counts.indptr) > 0
    if not filled.all() and empty != "drop":
        which = [name for name, full in zip(words.documents, filled, strict=True) if not full]
        raise ValueError(
            f"{len(which)} of {len(filled)} documents have no term left: {_some(which)}. Leave them out with "
            f"{argument('empty', 'drop')}, or change {argument('stop_words')}"
            f"{where_known('min_length', ', min_length')} or {argument('min_documents')}."
        )
    vocabulary = tuple(word for word, often in zip(words.vocabulary, frequent, strict=True) if often)
    names = tuple(name for name, full in zip(words.documents, filled, strict=True) if full)
    return Terms(counts[filled], vocabulary, names), filled


def _check_settled(given: dict[str, Any], by: str) -> None:
    """Raise if an option was given that the weights of a fit, or a vectorizer, settle."""
    changed = [name for name, value in given.items() if not _is_default(value, DEFAULTS.get(name))]
    if changed:
        raise ValueError(f"{', '.join(changed)} cannot be given with {by}; leave them out, or fit again.")


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _weighted_as(weights: TermWeights, words: Terms, empty: str) -> tuple[Weighted, Array]:
    """Return documents with the weights of a fit."""
    matrix, counts, coverage = weigh(weights, words.matrix, words.vocabulary, words.documents)
    if coverage.without and empty == "error":
        raise ValueError(
            f"{len(coverage.without)} of {len(words.documents)} documents have no word that weighs anything in the "
            f"model: {_some(list(coverage.without))}. Leave them out with {argument('empty', 'drop')}."
        )
    if coverage.without and empty == "drop":
        filled = np.flatnonzero(np.diff(matrix.indptr) > 0)
        if not len(filled):
            raise ValueError(
                f"none of the {len(words.documents)} documents has a word that weighs anything in the model; give "
                "documents in its language and on its subjects."
            )
        names = tuple(words.documents[i] for i in filled)
        return _weighted_as(weights, Terms(words.matrix[filled], words.vocabulary, names), empty)[0], filled
    source = DocumentTerms(weights, compact(words.matrix), words.vocabulary, coverage)
    weighted = Weighted(Terms(matrix, weights.vocabulary, words.documents), counts, source)
    return weighted, np.arange(len(words.documents))


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
    rows = unit_rows(X, inverse_frequencies(X, idf))
    weightless = np.flatnonzero(np.diff(rows.indptr) == 0)
    if len(weightless):
        names = [str(i) if documents is None else documents[i] for i in weightless.tolist()]
        raise ValueError(
            f"row(s) {_some(names)} of counts have no term, or only terms that every document "
            f"has, whose weight is log2(1) = 0; leave them out{where_known('idf', ', or use idf=False')}."
            + where_known("term_weights", " For scores of a model, give its weights: term_weights=model.term_weights_.")
        )
    return rows


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
