"""Topics of Classic-3: coherence, agreement with the collections, share rebuilt and time, next to NMF and LDA.

Run: python benchmarks/text.py   (needs Classic-3: see docs/data.md)

"NMF cut" is NMF of scikit-learn with all but the k largest weights of each topic set to 0 and rows of unit length;
documents are projected on these rows. Coherence is the mean NPMI of pairs of the ten top words, from the documents
themselves. NMI is between the collection of a document and the topic of its largest score. "rebuilt" is the share of
the squared tf-idf weights that a regression on the scores explains. Times are of the processor, the least of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from common import Report, data
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.metrics import normalized_mutual_info_score

import rspca

FILES = ("CISI.ALL.gz", "cran.all.1400.gz", "MED.ALL.gz")
TOPICS, TOP_WORDS, RUNS = 10, 10, 3


def coherence(X: Any, V: np.ndarray) -> float:
    """Return the mean NPMI of pairs of the top words of each topic; -1 for words that no document has together."""
    values = []
    for row in V:
        used = X[:, np.argsort(-row, kind="stable")[:TOP_WORDS]].toarray() > 0
        both = used.T.astype(float) @ used / X.shape[0]
        for i, j in combinations(range(TOP_WORDS), 2):
            shared = both[i, j]
            values.append(np.log(shared / (both[i, i] * both[j, j])) / -np.log(shared) if shared else -1.0)
    return float(np.mean(values))


def rebuilt(X: Any, scores: np.ndarray) -> float:
    """Return the share of the squared entries of X that a regression on the scores explains."""
    return float(np.sum((X.T @ np.linalg.qr(scores)[0]) ** 2) / np.sum(X.data**2))


def cut(H: np.ndarray, k: int) -> np.ndarray:
    """Return the k largest weights of each row, of unit length."""
    V = np.zeros_like(H)
    for row, kept in zip(V, H, strict=True):
        largest = np.argsort(-kept, kind="stable")[:k]
        row[largest] = kept[largest]
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def described(X: Any, collection: np.ndarray, V: np.ndarray, scores: np.ndarray) -> str:
    """Return the three measures, and how many collections are the most frequent one of some topic."""
    leading = scores.argmax(axis=1)
    names, place = np.unique(collection, return_inverse=True)
    own = {np.bincount(place[leading == topic], minlength=len(names)).argmax() for topic in np.unique(leading)}
    return (
        f"coherence {coherence(X, V):.3f}  NMI {normalized_mutual_info_score(collection, leading):.3f}  "
        f"rebuilt {rebuilt(X, scores):.4f}  collections with a topic {len(own)}"
    )


def timed(calls: dict[str, Callable[[], Any]]) -> dict[str, tuple[Any, float]]:
    """Return what each call returns and its least time, the calls in turn."""
    found = dict[str, tuple[Any, float]]()
    for _ in range(RUNS):
        for name, call in calls.items():
            began = time.process_time()
            value = call()
            seconds = time.process_time() - began
            found[name] = value, min(seconds, found[name][1] if name in found else np.inf)
    return found


def main() -> None:
    try:
        paths = [data.data_path("classic2", name) for name in FILES]
    except data.DataAbsent as reason:
        raise SystemExit(f"skipped {Path(__file__).name}: {reason}") from None
    table = rspca.read(paths, min_documents=3, empty="drop")
    X, collection = table.operator.X, table.samples["collection"]
    counts = table.terms.counts
    say = Report("text.txt")
    say(f"Classic-3, {X.shape[0]} documents x {X.shape[1]} words that 3 have, {TOPICS} topics")
    nmf = lambda: NMF(TOPICS, init="nndsvd", random_state=0, max_iter=400).fit(X)  # noqa: E731
    for k in (20, 50):
        found = timed({"NMF": nmf, "topics": lambda k=k: rspca.text.topics(table, TOPICS, k=k)})
        (dense, nmf_seconds), (model, seconds) = found["NMF"], found["topics"]
        V = cut(dense.components_, k)
        say(f"\n{k} words a topic")
        say(f"  NMF cut         {described(X, collection, V, X @ V.T)}  {nmf_seconds:.2f} s")
        measures = described(X, collection, model.components_, model.transform(table))
        say(f"  topics          {measures}  {seconds:.2f} s, {seconds / nmf_seconds:.2f} times NMF")
        for name, options in {
            "center=True": {"center": True},
            "center=False": {},
            "nonnegative": {"nonnegative": True},
            "joint": {"nonnegative": True, "joint": True},
            "disjoint": {"nonnegative": True, "constraint": "disjoint"},
        }.items():
            began = time.process_time()
            other = rspca.SparsePCA(TOPICS, k=k, random_state=0, **{"center": False} | options).fit(X)
            spent = time.process_time() - began
            say(f"  {name:<15} {described(X, collection, other.components_, X @ other.components_.T)}  {spent:.2f} s")
    say("\nall words")
    dense, seconds = timed({"NMF": nmf})["NMF"]
    say(f"  NMF             {described(X, collection, dense.components_, dense.transform(X))}  {seconds:.2f} s")
    began = time.process_time()
    lda = LatentDirichletAllocation(TOPICS, random_state=0).fit(counts)
    seconds = time.process_time() - began
    known = [list(table.terms.words).index(word) for word in table.feature_names]
    V = lda.components_[:, known] / lda.components_.sum(axis=1, keepdims=True)
    say(f"  LDA, of counts  {described(X, collection, V, lda.transform(counts))}  {seconds:.2f} s")


if __name__ == "__main__":
    main()
