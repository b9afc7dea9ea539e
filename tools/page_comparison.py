"""Tables of docs/comparison.md and of the README, from benchmarks/results/comparison.txt and text.txt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from reading import ROOT, machine, markdown, paragraph, result, with_numbers

PAGE = ROOT / "docs" / "comparison.md"
OURS = "rspca"
NAMES = {
    "rspca": "rspca",
    "rspca, joint=True": "rspca, `joint=True`",
    "rspca, orthogonal": 'rspca, `constraint="orthogonal"`',
    "scikit-learn SparsePCA": "scikit-learn `SparsePCA`",
    "abess SparsePCA": "abess `SparsePCA`",
    "scikit-learn NMF cut": "scikit-learn `NMF` cut to k weights",
    "scikit-learn PCA, dense": "PCA, all features",
}
MEASURES = {
    "span": "has more of the variance in the span of its loadings",
    "adjusted": "has more adjusted variance",
    "rebuilt": "rebuilds more of the variance",
}
"""The measures, and what a package does that has more of one."""


class Row(NamedTuple):
    """What a package has on a table, or why it has nothing."""

    data: str
    k: str
    package: str
    features: str
    shares: tuple[float, ...]
    seconds: float
    why_not: str


def rows() -> list[Row]:
    """Return the measurements in the order of the file."""
    found, data, k = list[Row](), "", ""
    for line in result("comparison").partition("\nFour orthogonal")[0].splitlines():
        if heading := re.fullmatch(r"(\S.*), k = (\d+)", line):
            data, k = heading.groups()
        package = next((name for name in sorted(NAMES, key=len, reverse=True) if line.startswith(f"  {name} ")), "")
        if not package:
            continue
        said = line[len(package) + 2 :].strip()
        numbers = re.fullmatch(r"(\S+)" + r"\s+([\d.]+) %" * 3 + r"\s+([\d.]+) s", said)
        if numbers:
            features, *shares, seconds = numbers.groups()
            found.append(Row(data, k, package, features, tuple(map(float, shares)), float(seconds), ""))
        else:
            found.append(Row(data, k, package, "", (), 0.0, said))
    return found


def time_of(seconds: float) -> str:
    """Return a time in a unit that suits it."""
    return f"{1e3 * seconds:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def table_name(data: str) -> str:
    """Return the name of a table with a sign of multiplication in its shape."""
    return re.sub(r"(\d+) x (\d+)", lambda shape: f"{int(shape[1]):,} × {int(shape[2]):,}", data)


def full_tables() -> str:
    """Return a table with all measures for each table of data."""
    measured = rows()
    head = ("package", "features of each", *MEASURES, "time of the fit")
    parts = []
    for data, k in dict.fromkeys((row.data, row.k) for row in measured):
        lines = [
            (NAMES[row.package], row.features, *(f"{share:.2f} %" for share in row.shares), time_of(row.seconds))
            if not row.why_not else (NAMES[row.package], row.why_not, "", "", "", "")
            for row in measured if row.data == data
        ]  # fmt: skip
        parts.append(f"**{table_name(data)}, k = {k}**\n\n{markdown(head, lines)}")
    return "\n\n".join(parts)


def short_table() -> str:
    """Return for each package what its three scores rebuild of each table, and the time."""
    measured = rows()
    tables = list(dict.fromkeys((row.data, row.k) for row in measured))
    head = ("rebuilt from three scores, and time", *(f"{table_name(data)}, k = {k}" for data, k in tables))
    lines = []
    for package, label in NAMES.items():
        cells = [next((row for row in measured if row[:3] == (*table, package)), None) for table in tables]
        shown = [
            "" if row is None else row.why_not or f"{row.shares[-1]:.1f} %, {time_of(row.seconds)}" for row in cells
        ]
        lines.append((label, *shown))
    return markdown(head, lines)


def losses() -> str:
    """Say where another sparse package has more of a measure than every way of ours, or less time than the default."""
    measured = [row for row in rows() if not row.why_not and "dense" not in row.package]
    more, faster = list[str](), dict[str, list[str]]()
    for data in dict.fromkeys(row.data for row in measured):
        name = data.split(",")[0]
        ours = [row for row in measured if row.data == data and row.package.startswith(OURS)]
        others = [row for row in measured if row.data == data and not row.package.startswith(OURS)]
        for place, measure in enumerate(MEASURES):
            best = max(ours, key=lambda row: row.shares[place])
            more += [
                f"On {name}, {NAMES[row.package]} {MEASURES[measure]}: {row.shares[place]:.2f} %, where "
                f"{NAMES[best.package].replace('rspca, ', 'rspca with ')} has {best.shares[place]:.2f} %."
                for row in others if row.shares[place] > best.shares[place]
            ]  # fmt: skip
        default = next(row for row in ours if row.package == OURS)
        for row in others:
            if row.seconds < default.seconds:
                faster.setdefault(NAMES[row.package], []).append(name)
    said = " ".join(more) or "No other package has more of any measure than the best way of rspca."
    if not faster:
        return said
    packages = "; ".join(f"{package} ({', '.join(data)})" for package, data in faster.items())
    return f"{said} Faster than rspca with its default options: {packages}."


def companies() -> list[tuple[str, str, str]]:
    """Return k, our share and the published one of msPCA."""
    return re.findall(r"^  k = (\d+) +rspca ([\d.]+)  msPCA ([\d.]+)$", result("comparison"), re.MULTILINE)


def against_mspca() -> str:
    """Say how four orthogonal components compare with what msPCA's authors publish."""
    found = companies()
    above = sum(float(ours) > float(published) for _, ours, published in found)
    return (
        f"msPCA was not run here, because it needs R. Its authors publish the share of the trace that four orthogonal "
        f"components of {found[0][0]} to {found[-1][0]} companies of the S&P 500 have: {found[0][2]} to "
        f"{found[-1][2]}. On "
        f"the same correlations rspca has {found[0][1]} to {found[-1][1]}, more at {above} of {len(found)} sizes."
    )


def topics() -> str:
    """Return topics next to NMF, from benchmarks/text.py."""
    lines = re.findall(
        r"^  (NMF cut|topics|NMF) +coherence ([\d.]+)  NMI ([\d.]+)  rebuilt ([\d.]+) .*?  ([\d.]+) s", result("text"),
        re.MULTILINE,
    )  # fmt: skip
    words = ("20", "20", "50", "50", "all")
    assert len(lines) == len(words), "text.txt has other rows than this page"
    head = ("words of a topic", "", "coherence", "NMI with the collections", "rebuilt", "seconds")
    return markdown(head, ((count, *line) for count, line in zip(words, lines, strict=True)))


def readme() -> str:
    """Return the numbers of the README."""
    words = """`python benchmarks/comparison.py` fits three components of `k` features each. The table has the share of
        the variance of all features that a regression on the three scores explains ("rebuilt"), and the time: that
        of one processor for the last fit, without the search for the `alpha` of scikit-learn, the least of three."""
    return f"{paragraph(words)}\n\n{short_table()}\n\n{paragraph(losses() + ' ' + against_mspca())}"


def page() -> tuple[Path, str]:
    """Return docs/comparison.md with its numbers as they are now."""
    head = ("k", "rspca", "msPCA, published")
    measured = f"On {machine('comparison')}.\n\n{full_tables()}\n\n{paragraph(losses())}"
    return PAGE, with_numbers(
        PAGE, measured, f"{paragraph(against_mspca())}\n\n{markdown(head, companies())}", topics()
    )
