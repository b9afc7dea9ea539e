"""Collections in SMART format as a table of documents by words; several files are one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rspca.formats.document_files import NamedTexts
from rspca.formats.documents import weighted_named
from rspca.formats.smart import read_smart
from rspca.formats.table import Table, table_of

SECTIONS = "TW"
"""Title and abstract."""


def read_smart_table(paths: Sequence[Path], *, encoding: str = "utf-8", **options: Any) -> Table:
    """Return the titles and abstracts of SMART files as weights of their words.

    Samples are named by the number of the document, after the name of its file where there are several; `collection`
    is that name. A document without a word is an error unless ``empty="drop"``.

    Parameters
    ----------
    paths : list of path
        Files, plain or gzipped.
    encoding : str
        Encoding of the text.
    **options
        As in :func:`rspca.text.term_matrix`.
    """
    texts, collections = smart_texts(paths, encoding)
    named, used = weighted_named(texts, paths[0] if len(paths) == 1 else None, **options)
    if len(paths) > 1:
        known = np.array([collections[place] for place in used], dtype=str)
        named = replace(named, samples={"collection": known})
    return table_of(named, paths[0])


def smart_texts(paths: Sequence[Path], encoding: str) -> tuple[NamedTexts, list[str]]:
    """Return the documents of SMART files, with their names, and the collection of each."""
    names, texts, collections = [], [], []
    for path in paths:
        collection = path.name.split(".")[0]
        if collection in collections:
            raise ValueError(f"{path}: two files are named {collection}; rename one, so that documents have one name.")
        for document in read_smart(path, encoding=encoding):
            names.append(f"{collection} {document.number}" if len(paths) > 1 else str(document.number))
            texts.append(document.text(SECTIONS))
            collections.append(collection)
    return NamedTexts(names, texts), collections
