"""Read back what benchmarks and tools keep in their results, and put it into a page between two marks."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / name / "results" for name in ("benchmarks", "tools")]
BEGIN, END = "<!-- numbers: written by tools/page.py -->", "<!-- /numbers -->"


def result(name: str) -> str:
    return next(path for folder in FOLDERS if (path := folder / f"{name}.txt").exists()).read_text()


def matched(pattern: str, name: str) -> tuple[str, ...]:
    """Return what the groups of a pattern match in a result, which must have it."""
    match = re.search(pattern, result(name), re.MULTILINE)
    assert match, f"{name}.txt has no line like {pattern!r}"
    return match.groups()


def machine(name: str) -> str:
    return matched(r"^machine: (.*)$", name)[0]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def with_numbers(path: Path, *numbers: str) -> str:
    """Return a page in which the first marked place has the first numbers, and so on."""
    before, *places = path.read_text().split(BEGIN)
    assert len(places) == len(numbers), f"{path.name} has {len(places)} marked places for {len(numbers)} texts"
    parts = [before]
    for place, text in zip(places, numbers, strict=True):
        parts.append(f"{BEGIN}\n{text}\n{END}{place.split(END)[1]}")
    return "".join(parts)
