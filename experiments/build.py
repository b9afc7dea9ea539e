"""Build docs/paper.md and docs/hapmap3.md: every number on these pages comes from a file in experiments/results.

python experiments/build.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jinja2
from kept import ROOT, Row, load, load_facts, say
from published import COUNTS, KS, TABLE1, TERMS

PAGES = ("paper", "hapmap3")
TABLES = (
    "table1", "table2", "figure1", "figure2", "genotypes", "rotation", "vectors", "gene_expression", "convex", "starts",
    "hadamard", "every_method", "hapmap3",
)  # fmt: skip
FACTS = ("table1", "table2", "figure2", "genotypes", "convex", "hadamard", "every_method", "hapmap3")


class Rows(list[Row]):
    """Rows of a result, with the few questions that the page asks of them."""

    def where(self, **wanted: Any) -> Rows:
        return Rows(row for row in self if all(row[key] == value for key, value in wanted.items()))

    def column(self, key: str) -> list[Any]:
        return [row[key] for row in self]

    def one(self, **wanted: Any) -> Row:
        (row,) = self.where(**wanted)
        return row

    def distinct(self, key: str) -> list[Any]:
        return list(dict.fromkeys(self.column(key)))

    def ratios(self, key: str, value: str, one: tuple[str, str], other: tuple[str, str]) -> list[float]:
        """Return value of one (method, normalization) over that of another, at each data set and number of `key`."""
        found = {(r["data"], r[key], r["method"], r["normalization"]): r[value] for r in self}
        return [found[d, k, *one] / found[d, k, *other] for d, k, *pair in found if tuple(pair) == one]


def holds(condition: bool, what: str) -> str:
    """Stop the build if what the page says is no longer so."""
    if not condition:
        raise SystemExit(f"a page says {what!r}, and the results do not: change its template in experiments.")
    return ""


def possible(percent: int, counts: list[int], n: int) -> bool:
    """Return whether a number of non-zeros in this range leaves so many percent of zeros, rounded."""
    return any(round(100.0 * (1.0 - count / n)) == percent for count in range(counts[0], counts[1] + 1))


def table(rows: Iterable[Row], columns: dict[str, str], digits: int = 4, **other: int) -> str:
    """Return rows as a Markdown table; `columns` maps keys to headings, `other` keys to other numbers of digits."""

    def text(key: str, value: Any) -> str:
        return f"{value:.{other.get(key, digits)}f}" if isinstance(value, float) else str(value)

    lines = ["| " + " | ".join(columns.values()) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(text(key, row[key]) for key in columns) + " |" for row in rows]
    return "\n".join(lines)


def target(name: str) -> Path:
    return ROOT / "docs" / f"{name}.md"


def page(name: str) -> str:
    """Return a page as its template and the results make it."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,
    )  # fmt: skip
    environment.globals |= {
        "holds": holds, "possible": possible, "table": table, "zip": zip, "range": range, "round": round,
         "abs": abs, "min": min, "max": max, "len": len,
        "set": set, "all": all, "any": any, "KS": KS, "COUNTS": COUNTS, "PRINTED": TABLE1, "TERMS": TERMS,
    }  # fmt: skip
    environment.filters |= {"d4": lambda x: f"{x:.4f}", "d3": lambda x: f"{x:.3f}", "d2": lambda x: f"{x:.2f}",
                            "d1": lambda x: f"{x:.1f}", "percent": lambda x: f"{100 * x:.1f} %",
                            "commas": lambda x: f"{x:,}", "whole": lambda x: f"{100 * x:.0f} %"}  # fmt: skip
    text = environment.from_string((ROOT / "experiments" / f"{name}.md.j2").read_text()).render(
        **{table: Rows(load(table)) for table in TABLES}, facts={fact: load_facts(fact) for fact in FACTS}
    )
    return re.sub(r"\n{3,}", "\n\n", text)  # where a check or an assignment stood


def write(name: str) -> None:
    target(name).write_text(page(name))
    say(f"built {target(name).relative_to(ROOT)}")


def main() -> None:
    for name in PAGES:
        write(name)


if __name__ == "__main__":
    main()
