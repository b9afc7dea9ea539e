"""Documents to matrices and topics: counts of words, tf-idf weights as in the paper, shares of topics."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.estimator import SparsePCA
from rspca.formats.documents import weighted_named
from rspca.formats.reading import read
from rspca.formats.table import Table, table_of
from rspca.formats.term_weights import TermWeights
from rspca.formats.tf_idf import Terms, term_counts, term_matrix, tf_idf

__all__ = ["TermWeights", "Terms", "shares", "term_counts", "term_matrix", "tf_idf", "topics"]


def topics(documents: Any, n_components: int = 10, *, k: int = 20, random_state: Any = 0, **options: Any) -> SparsePCA:
    """Return a fitted model of topics: k words each, no loading negative, documents not centered.

    This is ``SparsePCA(n_components, k=k, method="topics", center=False)``, what ``rspca fit`` does with documents.

    Parameters
    ----------
    documents : list of str, path, Table, or matrix
        Texts, or what `rspca.read` reads as documents, or weights of words that are there already.
    n_components : int
        Topics.
    k : int
        Words of each topic.
    random_state
        As in SparsePCA; the result does not depend on it.
    **options
        For texts and paths, options of :func:`term_matrix`.

    Examples
    --------
    >>> import rspca
    >>> texts = ["wing lift drag", "wing lift flow", "wing flow", "books of a library", "library books catalog"]
    >>> model = rspca.text.topics(texts, 2, k=2)
    >>> [[word.name for word in model.top_features(topic)] for topic in range(2)]
    [['books', 'library'], ['wing', 'lift']]
    """
    model = SparsePCA(n_components, k=k, method="topics", center=False, random_state=random_state)
    return model.fit(_table(documents, options))


def shares(model: SparsePCA, documents: Any, **options: Any) -> Array:
    """Return the share of each topic in each document: its score, divided by the sum of the scores of all topics.

    The leading topic of a document is the one with the largest share. A document without a word of any topic has no
    topic: all of its shares are 0. `documents` and `options` are those of :func:`topics`.

    Examples
    --------
    >>> import rspca
    >>> texts = ["wing lift drag", "wing lift flow", "wing flow", "books of a library", "library books catalog"]
    >>> model = rspca.text.topics(texts, 2, k=2)
    >>> rspca.text.shares(model, texts).argmax(axis=1)
    array([1, 1, 1, 0, 0])
    """
    if not has_shares(model):
        raise ValueError(
            "Shares are of topics without negative loadings in documents that are not centered: fit with "
            "rspca.text.topics, or with center=False and nonnegative=True."
        )
    weights = getattr(model, "term_weights_", None)
    if weights is not None and not isinstance(documents, Table) and "vectorizer" not in options:
        options = {"term_weights": weights} | options
    return shares_of(model.transform(_table(documents, options)))


def shares_of(scores: Array) -> Array:
    """Return scores of topics divided by their sum over the topics, a row of zeros where there are none."""
    positive = np.maximum(np.asarray(scores, dtype=np.float64), 0.0)
    return np.asarray(positive / np.maximum(positive.sum(axis=1, keepdims=True), np.finfo(float).tiny))


def has_shares(model: SparsePCA) -> bool:
    """Return whether a model is one of documents whose scores cannot be negative."""
    documents = hasattr(model, "term_weights_") or model.method == "topics"
    return bool(documents and not model.center and (model.components_ >= 0.0).all())


def _table(documents: Any, options: dict[str, Any]) -> Any:
    """Return texts and paths as a table; data that are weights already as they are."""
    if isinstance(documents, str | os.PathLike):
        return read(documents, **options)
    if isinstance(documents, list | tuple) and documents and all(isinstance(text, str) for text in documents):
        return table_of(weighted_named(documents, None, **options)[0], "documents")
    if options:
        raise TypeError(f"{', '.join(options)} are options for texts and paths; these documents are weights already.")
    return documents
