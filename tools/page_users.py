"""Tables of the work that users ask for, from benchmarks/results/users.csv."""

from __future__ import annotations

import csv

from reading import ROOT, machine, markdown, matched, paragraph

RESULT = ROOT / "benchmarks" / "results" / "users.csv"
REFERENCES = {
    "svds": "`svds(X, r)`",
    "PCA": "PCA of scikit-learn",
    "best PCA": "PCA of scikit-learn, quickest solver",
    "sc.pp.pca": "`sc.pp.pca`",
    "plink2": "`plink2 --pca 10`",
    "plink2 --pca": "`plink2 --pca 10`",
    "no cluster": "the same fit in one process",
    "20 reads": "20 plain reads of the file",
    "20 reads, blocks": "20 plain reads of the file",
}


def lines() -> list[dict[str, str]]:
    """Return the rows that were measured."""
    with RESULT.open(newline="") as file:
        return [line for line in csv.DictReader(file) if line["ratio"]]


def not_measured() -> str:
    """Say which rows are missing from the tables, and why."""
    with RESULT.open(newline="") as file:
        absent = [f"{line['data']} ({line['failed']})" for line in csv.DictReader(file) if not line["ratio"]]
    return f"Not measured: {'; '.join(dict.fromkeys(absent))}." if absent else ""


def _ratio(text: str) -> str:
    return f"{float(text):.2f}" if float(text) < 10 else f"{float(text):.0f}"


def detailed() -> str:
    """Return every row with its passes and memory."""
    head = ("components", "data", "k", "time over", "ratio", "one thread", "ms", "passes", "MB beyond X", "variance")
    rows = (
        (
            line["work"], line["data"], line["k"], REFERENCES[line["over"]], _ratio(line["ratio"]),
            _ratio(line["one_thread"]), f"{float(line['ms']):.4g}", f"{float(line['all_passes']):.0f}",
            f"{float(line['mb']):.0f}", f"{100 * float(line['set']):.2f} %",
        )
        for line in lines()
    )  # fmt: skip
    return markdown(head, rows)


def in_words() -> str:
    """Say how often rspca takes no more time than the reference, and where it takes the most."""
    measured = lines()
    quick, in_one = (sum(float(line[way]) <= 1.0 for line in measured) for way in ("ratio", "one_thread"))
    worst = max(measured, key=lambda line: float(line["ratio"]))
    return (
        f"rspca takes no more time than the reference in {quick} of {len(measured)} rows, with one BLAS thread in "
        f"{in_one}; the largest ratio is {_ratio(worst['ratio'])} ({worst['work']}, {worst['data']})."
    )


def section() -> str:
    """Return the section of docs/performance.md."""
    if not RESULT.exists():
        return "Not measured yet for this version: run `python benchmarks/users.py`."
    repeats, few = matched(r"^Time over the reference, wall clock, median of (\d+), or (\d+) if long", "users")
    words = f"""`python benchmarks/users.py`, on {machine("users")}. Each row compares sparse components with what
        people run for dense ones; a ratio below 1 means that rspca is faster. {in_words()} {not_measured()}"""
    meaning = f"""Both run alternately in one process; a ratio is the median of {repeats}, or of {few} where a run takes
        long. svds is given the centered data, PCA is the one of scikit-learn, and for the tall tables the quickest of
        its solvers. `plink2` is a command: rspca is timed as a command too, and inside a running Python. k in percent
        is a share of the features. "passes" are reads of X for all components, "MB beyond X" is the peak of memory,
        "variance" the adjusted variance of the components as a share of the total."""
    return f"{paragraph(words)}\n\n{detailed()}\n\n{paragraph(meaning)}"


def readme() -> str:
    """Return a sentence of the README, nothing before the first measurement."""
    if not RESULT.exists():
        return ""
    return f" Several components, few features, tall and large data (`benchmarks/users.py`): {in_words()}"
