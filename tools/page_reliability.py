"""The numbers of docs/reliability.md in words, from tools/results/coverage.txt and mutants.txt."""

from __future__ import annotations

from pathlib import Path

from reading import ROOT, matched, paragraph, with_numbers

PAGE = ROOT / "docs" / "reliability.md"


def coverage() -> str:
    share = matched(r"^TOTAL .* (\d+)%$", "coverage")[0]
    return paragraph(
        f"""The tests without the slow ones cover {share} % of lines and branches
        of `src` (`tools/results/coverage.txt`). Loops that numba compiles are invisible to the tool and count as
        uncovered."""
    )


def mutants() -> str:
    made = matched(r"^(\d+) mutants of the", "mutants")[0]
    noticed, share, changing = matched(r"^noticed: (\d+), ([\d.]+) % of the (\d+) that change a result", "mutants")
    of_all, same = matched(r"^\(([\d.]+) % of all: (\d+) change no result\)", "mutants")
    return paragraph(
        f"""Of these {made} changes the tests detect {noticed}; {same} change no result, each for a reason recorded in
        `tools/equivalents.py`. That is {share} % of those that change a result, {of_all} % of all. The
        {int(changing) - int(noticed)} undetected ones are in `tools/results/mutants.txt`."""
    )


def page() -> tuple[Path, str]:
    """Return docs/reliability.md with its numbers as they are now."""
    return PAGE, with_numbers(PAGE, coverage(), mutants())
