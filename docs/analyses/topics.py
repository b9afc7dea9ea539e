"""Topics of 3,891 abstracts: words of each topic, and the collection that its documents come from. Classic-3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from drawing import COLORS, Analysis, data, plt

import rspca

TITLE = "Topics of 3,891 abstracts"
QUESTION = "What are these documents about, in lists of 20 words?"
GUIDE = "text.md"
FILES = ("CISI.ALL.gz", "cran.all.1400.gz", "MED.ALL.gz")
COLLECTIONS = {"CISI": "information science", "cran": "aeronautics", "MED": "medicine"}
NAMED = 5


def fitted(paths: list[Path]) -> tuple[rspca.Table, rspca.SparsePCA, Any]:
    """Return the documents, the model, and the share of each topic in each document."""
    table = rspca.read(paths, min_documents=3, empty="drop")
    model = rspca.text.topics(table, 10, k=20)
    shares = rspca.text.shares(model, table)  # of each topic in each document
    return table, model, shares


def collection(name: str) -> str:
    """Return the subject of a collection by the name of its file."""
    return next(subject for start, subject in COLLECTIONS.items() if name.lower().startswith(start.lower()))


def analysis() -> Analysis:
    """Draw for each topic how many documents it leads in, by collection."""
    table, model, shares = fitted([data.data_path("classic2", name) for name in FILES])
    subjects = np.array([collection(str(name)) for name in table.samples["collection"]])
    leading = np.where(shares.max(axis=1) > 0, shares.argmax(axis=1), -1)
    counts = np.array(
        [[np.sum((leading == topic) & (subjects == name)) for name in COLLECTIONS.values()] for topic in range(10)]
    )
    order = np.lexsort((-counts.sum(axis=1), counts.argmax(axis=1)))
    words = [[word.name for word in model.top_features(topic, NAMED)] for topic in range(10)]
    figure, ax = plt.subplots(figsize=(8.6, 3.9), layout="constrained")
    left = np.zeros(10)
    for number, name in enumerate(COLLECTIONS.values()):
        ax.barh(range(10), counts[order, number], left=left, color=COLORS[number], label=f"abstracts on {name}")
        left += counts[order, number]
    ax.set_yticks(range(10), [", ".join(words[topic]) for topic in order])
    ax.invert_yaxis()
    ax.set_xlabel("documents in which the topic is the leading one")
    ax.legend(frameon=False)
    found = leading >= 0
    purity = sum(row.max() for row in counts) / found.sum()
    facts = {
        "documents": table.shape[0], "words": table.shape[1], "without": int(np.sum(~found)), "pure": float(purity),
        "used": len(np.unique(np.concatenate(model.supports_))),
    }  # fmt: skip
    return Analysis(figure, facts)


def caption(facts: dict[str, Any]) -> str:
    """Return what the figure shows."""
    return (
        f"Ten topics of 20 words of {facts['documents']:,} abstracts (Classic-3). If each topic stands for the "
        f"collection that most of its documents come from, {100 * facts['pure']:.0f} % of the documents with a topic "
        f"are in the right one; the fit did not know the collections. {facts['without']} documents have none of the "
        f"{facts['used']} words."
    )


def findings(facts: dict[str, Any]) -> str:
    """Return what a reader can learn from it."""
    return (
        f"The matrix, {facts['documents']:,} × {facts['words']:,}, stays sparse. Words of a topic have no negative "
        "weight, so a topic is a list to read. NMF with all words separates the collections better, and no method is "
        "best in all measures: [Text](text.md) has the table."
    )
