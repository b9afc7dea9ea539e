"""Words for the kind of data: SNPs and people, genes and cells, words and documents, features and samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """What features and samples are called on a page."""

    feature: str
    features: str
    sample: str
    samples: str


KINDS = {
    "table": Kind("feature", "features", "sample", "samples"),
    "genotypes": Kind("SNP", "SNPs", "person", "people"),
    "cells": Kind("gene", "genes", "cell", "cells"),
    "documents": Kind("word", "words", "document", "documents"),
}

PAGES = {
    "genotypes": ("https://www.ncbi.nlm.nih.gov/snp/", re.compile(r"rs[0-9]{1,12}")),
    "cells": ("https://www.ncbi.nlm.nih.gov/gene/?term=", re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,24}")),
    "table": (
        "https://www.uniprot.org/uniprotkb/",
        re.compile(r"[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2}"),
    ),
}
"""Where public pages on features are, and which names have one: dbSNP, NCBI Gene, and accessions of UniProt."""


def kind_of(model: Any, documents: Any, given: str | None) -> str:
    """Return the kind of the data: what is given, or what the model and the arguments show."""
    if given is not None:
        if given not in KINDS:
            raise ValueError(f"kind={given!r} is not known; choose one of {', '.join(KINDS)}.")
        return given
    if documents is not None:
        return "documents"
    properties = getattr(model, "features_", {})
    return "genotypes" if {"chromosome", "position"} <= set(properties) else "table"


def in_words_of(kind: Kind, text: str) -> str:
    """Return a sentence of the package with features and samples called what they are.

    Layers below the page say "features" and "samples". Never apply it to names or other data.
    """
    return _GENERAL.sub(lambda found: getattr(kind, found[0]), text)


_GENERAL = re.compile(r"(?<![\w-])(?:features?|samples?)(?![\w-])")


def links(names: Sequence[str], kind: str) -> dict[str, Any] | None:
    """Return the beginning of the addresses of pages on features, and which features have one; None if none has.

    They are plain links: the page fetches nothing.
    """
    beginning, pattern = PAGES.get(kind, ("", re.compile("(?!)")))
    known = [pattern.fullmatch(name) is not None for name in names]
    return {"base": beginning, "known": known} if any(known) else None
