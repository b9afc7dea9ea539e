"""Tables of the work that users ask for, from benchmarks/results/users.csv."""

from __future__ import annotations

import csv

from reading import ROOT, machine, markdown, matched, paragraph

RESULT = ROOT / "benchmarks" / "results" / "users.csv"
REFERENCES = {
    "svds": "`svds(X, r)`",
    "PCA": "PCA of scikit-learn",
    "best PCA": "PCA of scikit-learn, its fastest solver",
    "sc.pp.pca": "`sc.pp.pca`",
    "plink2": "`plink2 --pca 10`",
    "plink2 --pca": "`plink2 --pca 10`",
    "no cluster": "the same fit in one process",
    "20 reads": "20 plain reads of the file",
    "20 reads, blocks": "20 plain reads of the file",
}
KINDS = {
    ("1 component, k = 1 %", "svds"): "1 component, k = 1, 5 or 20 %",
    ("1 component, k = 5 %", "svds"): "1 component, k = 1, 5 or 20 %",
    ("1 component, k = 20 %", "svds"): "1 component, k = 1, 5 or 20 %",
    ("1 component, k = 20", "svds"): "1 component, k = 20",
    ("10 components, k = 1 %", "svds"): "10 components, k = 1 or 5 %",
    ("10 components, k = 5 %", "svds"): "10 components, k = 1 or 5 %",
    ("10 components, k = 20", "svds"): "10 components, k = 20 or 50",
    ("10 components, k = 50", "svds"): "10 components, k = 20 or 50",
    ("5 components, k = 5", "PCA"): "small tables, 5 components, k = 5",
    ("tall, 5 components, k = 20", "best PCA"): "tall tables, 5 components, k = 20",
    ("2 components, k = 5", "PCA"): "a larger tall table, 2 components, k = 5",
    ("2 components, k = 50", "svds"): "very many features, 2 components, k = 50",
    ("10 components, k = 30", "sc.pp.pca"): "sparse cells, 10 components, k = 30",
    ("10 components, k = 50, commands", "plink2 --pca"): "genotypes, 10 components, k = 50, as a command",
    ("10 components, k = 50, read and fit", "plink2"): "the same inside a running Python",
    ("3 components, k = 30", "no cluster"): "two worker processes, 3 components, k = 30",
    ("3 components, k = 30", "20 reads"): "a file on disk, 3 components, k = 30",
    ("3 components, k = 30, max_memory 1 GB", "20 reads, blocks"): "the same in blocks, `max_memory` of 1 GB",
}
"""Kinds of work, by the name of a row and its reference."""


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


def kinds() -> dict[str, list[dict[str, str]]]:
    """Return the rows of each kind of work."""
    found: dict[str, list[dict[str, str]]] = {kind: [] for kind in KINDS.values()}
    for line in lines():
        found.setdefault(KINDS.get((line["work"], line["over"]), line["work"]), []).append(line)
    return {kind: measured for kind, measured in found.items() if measured}


def summary() -> str:
    """Return the smallest and the largest ratio of each kind of work."""
    head = ("work", "compared with", "fits", "ratio", "with one BLAS thread")
    rows = []
    for kind, measured in kinds().items():
        ordered = sorted(measured, key=lambda line: float(line["ratio"]))
        single = sorted(measured, key=lambda line: float(line["one_thread"]))
        shown = dict.fromkeys(f"{_ratio(line['ratio'])} ({_short_name(line)})" for line in (ordered[0], ordered[-1]))
        in_one = dict.fromkeys(_ratio(line["one_thread"]) for line in (single[0], single[-1]))
        reference = REFERENCES[measured[0]["over"]]
        rows.append((kind, reference, str(len(measured)), " to ".join(shown), " to ".join(in_one)))
    return markdown(head, rows)


def _short_name(line: dict[str, str]) -> str:
    """Return the name of data without its shape, or the shape of data without a name."""
    name, _, rest = line["data"].partition(", ")
    return line["data"] if name[:1].isdigit() or not rest else name


def in_words() -> str:
    """Say how often rspca takes no more time than the reference, and where it takes the most."""
    measured = lines()
    quick, in_one = (sum(float(line[way]) <= 1.0 for line in measured) for way in ("ratio", "one_thread"))
    worst = max(measured, key=lambda line: float(line["ratio"]))
    return (
        f"In {quick} of {len(measured)} fits (with one BLAS thread in {in_one}) rspca takes no more time than what it "
        f"is compared with. It takes the most for {worst['work']}, of the data set {worst['data']}: "
        f"{_ratio(worst['ratio'])} times as much."
    )


def section() -> str:
    """Return the section of docs/performance.md."""
    if not RESULT.exists():
        return "Not measured yet for this version: run `python benchmarks/users.py`."
    repeats, few = matched(r"^Time over the reference, wall clock, median of (\d+), or (\d+) if long", "users")
    words = f"""`python benchmarks/users.py`, on {machine("users")}. Sparse components are compared with what people run
        for dense ones on the same data; a ratio is the time of rspca over that time, and below 1 rspca is faster.
        {in_words()} {not_measured()}"""
    meaning = f"""Both run alternately in one process; a ratio is the median of {repeats}, or of {few} where a run takes
        long. k in percent is a share of the features. svds is given the centered data. `benchmarks/results/users.txt`
        has every fit with its passes over the data, its memory and its variance."""
    return f"{paragraph(words)}\n\n{summary()}\n\n{paragraph(meaning)}"


def one_component(name: str, k: str) -> dict[str, str]:
    """Return the row of one component of k features of a data set, by the first word of its name."""
    return next(
        line for line in lines()
        if line["work"].startswith("1 component,") and line["data"].startswith(name) and line["k"] == k
    )  # fmt: skip


def readme() -> str:
    """Return a sentence of the README, nothing before the first measurement."""
    if not RESULT.exists():
        return ""
    return f"""Several components and few features take longer: `benchmarks/users.py` compares 1 to 10 components with
        what people run for dense ones (svds, PCA of scikit-learn, scanpy, plink2). {in_words()}"""
