"""Table 2: the terms of two sparse components of Classic-2 at k = 100, from the centered matrix and from the other.

    python experiments/table2.py

Writes results/table2.csv, results/table2.json and docs/figures/table2.png.
"""

from __future__ import annotations

import numpy as np
from kept import METHODS, PAPER, Row, data, needed, plt, prepare, save, save_facts, save_figure, say, show
from published import DOCUMENTS, TERMS

from rspca.datasets import fetch_classic2

K = 100


def ranked(component, terms: list[str]) -> list[tuple[str, float]]:
    """Return the terms of a component by weight."""
    order = np.argsort(-np.abs(component.loadings), kind="stable")
    return [(terms[component.support[i]], float(component.loadings[i])) for i in order]


def main() -> None:
    X, terms = needed(data.classic2), data.classic2_terms()
    rows: list[Row] = []
    overlaps: list[Row] = []
    found: dict[tuple[bool, str, int], list[tuple[str, float]]] = {}
    for center in (True, False):
        op = prepare(X, center=center)
        counts = [len(one) for one in TERMS]
        for method, k, options in (("rspca", K, PAPER), ("default", counts, {})):
            rng = np.random.default_rng(0)
            components = METHODS["rspca"](op, 2, k, normalization="naive", deflation="projection", rng=rng, **options)
            for number, (component, printed) in enumerate(zip(components, TERMS, strict=True)):
                listed = found[center, method, number] = ranked(component, terms)
                ours = [term for term, _ in listed]
                shared = len(set(printed) & set(ours))
                overlaps.append({
                    "matrix": "centered" if center else "not centered", "method": method, "component": number + 1,
                    "paper": len(printed), "ours": len(ours), "shared": shared,
                    "first ten shared": len(set(printed[:10]) & set(ours[:10])),
                })  # fmt: skip
                for rank in range(max(len(printed), len(ours))):
                    rows.append({
                        "matrix": overlaps[-1]["matrix"], "method": method, "component": number + 1, "rank": rank + 1,
                        "paper": printed[rank] if rank < len(printed) else "",
                        "ours": ours[rank] if rank < len(ours) else "",
                        "loading": listed[rank][1] if rank < len(ours) else "",
                    })  # fmt: skip
    show(overlaps)
    for center in (True, False):
        say(f"\nsecond component, {'centered' if center else 'not centered'}, the paper's method:")
        say(", ".join(term for term, _ in found[center, "rspca", 1][:21]))
    say("the paper: " + ", ".join(TERMS[1]))
    labels = data.fetched(fetch_classic2, "classic2/classic2_counts.npz", "classic2/classic2_vocab.txt.gz").labels
    appearances = []
    for term, paper in DOCUMENTS.items():
        column = X[:, [terms.index(term)]].toarray().ravel() > 0
        ours = [int(column[labels == name].sum()) for name in ("CISI", "CRAN")]
        appearances.append({"term": term, "paper": list(paper), "ours": ours})
        say(f"{term}: documents of CISI and of CRANFIELD, paper {paper}, ours {ours}")
    save("table2", rows)
    save_facts("table2", overlaps=overlaps, appearances=appearances)
    panels = {
        "first, centered": (True, 0), "second, centered": (True, 1), "first, not centered": (False, 0),
        "second, not centered": (False, 1),
    }  # fmt: skip
    figure, axes = plt.subplots(1, 4, figsize=(12, 4.5), layout="constrained")
    for ax, (title, (center, number)) in zip(axes, panels.items(), strict=True):
        listed = found[center, "rspca", number][:20]
        colors = ["C0" if term in TERMS[number] else "C7" for term, _ in listed]
        ax.barh(range(len(listed)), [value for _, value in listed], color=colors)
        ax.set_yticks(range(len(listed)), [term for term, _ in listed], fontsize=7)
        ax.invert_yaxis()
        ax.set_title(title, fontsize=9)
    figure.supxlabel("loading", fontsize=9)
    figure.suptitle("20 words of largest loading, the paper's method, k = 100; blue: also in its Table 2", fontsize=10)
    save_figure(figure, "table2")


if __name__ == "__main__":
    main()
