"""The two tables of docs/text.md, from benchmarks/results/text.txt and centering.txt."""

from __future__ import annotations

import re
from pathlib import Path

from reading import ROOT, markdown, result, with_numbers

PAGE = ROOT / "docs" / "text.md"
WAYS = {
    "topics": "topics",
    "NMF cut": "NMF cut",
    "joint": "nonnegative, joint",
    "disjoint": "nonnegative, disjoint",
    "center=False": "one by one",
    "center=True": "one by one, centered",
}
"""Rows that the page shows, by their names in the file, in order."""
SHOWN = ("20", "all")
"""Numbers of words that the page shows; the file has more."""
NAMED_WORDS = 5


def topics() -> str:
    """Return coherence, agreement with the collections and share rebuilt of each way to find topics."""
    head = ("words of a topic", "", "coherence", "NMI", "rebuilt")
    lines = []
    for count, part in re.findall(r"^(\d+|all) words.*?\n(.*?)(?=\n\n|\Z)", result("text"), re.MULTILINE | re.DOTALL):
        found = {
            name: numbers
            for name, *numbers in re.findall(
                r"^  (\S.*?)  +coherence ([\d.]+)  NMI ([\d.]+)  rebuilt ([\d.]+)", part, re.MULTILINE
            )
        }
        if count not in SHOWN:
            continue
        shown = WAYS if count != "all" else {name: name for name in found}
        lines += [(count, label, *found[name]) for name, label in shown.items()]
    return f"{markdown(head, lines)}\n\n{time_of_topics()}"


def time_of_topics() -> str:
    """Say how long topics take."""
    ratios = re.findall(r"([\d.]+) times NMF", result("text"))
    return f"`rspca.text.topics` takes {' and '.join(ratios)} times the time of NMF, with 20 and with 50 words."


def centering() -> str:
    """Return components of Classic-2 with and without centering side by side."""
    centered, plain = re.split(r"^center=False", result("centering"), flags=re.MULTILINE)

    def column(part: str) -> list[str]:
        words = [", ".join(line.split(", ")[:NAMED_WORDS]) for line in re.findall(r"^component \d: (.*)$", part, re.M)]
        signs, cosines, areas = (
            ", ".join(re.findall(pattern, part))
            for pattern in (r"(\d+) negative;", r"mean of the documents ([\d.]+)", r"the collections ([\d.]+)")
        )
        return [*words, signs, cosines, areas]

    names = ["1", "2", "3", "4", "negative words in each", "cosine with the mean document",
             "AUC of the scores between the collections"]  # fmt: skip
    return markdown(("", "center=True", "center=False"), zip(names, column(centered), column(plain), strict=True))


def page() -> tuple[Path, str]:
    """Return docs/text.md with its numbers as they are now."""
    return PAGE, with_numbers(PAGE, topics(), centering())
