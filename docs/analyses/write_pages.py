"""Write docs/analyses.md, and figures with their captions on other pages, from docs/analyses/results.json.

    python docs/analyses/write_pages.py

Nothing is computed here: `python docs/analyses/draw.py` does that. A page shows an analysis between two comments,
<!-- analysis NAME: written by docs/analyses/write_pages.py --> and <!-- /analysis -->.
"""

from __future__ import annotations

import importlib
import json
import re
import textwrap
from pathlib import Path
from typing import Any

from drawing import DOCS, shown_code

NAMES = ("cells", "people", "linkage", "topics", "stocks", "tumors", "measurements", "proof")
RESULTS = Path(__file__).resolve().parent / "results.json"
PAGE = DOCS / "analyses.md"
BLOCK = re.compile(
    r"(<!-- analysis (\w+): written by docs/analyses/write_pages\.py -->\n).*?(<!-- /analysis -->)", re.DOTALL
)
INTRODUCTION = """# Eight analyses

*Written by `python docs/analyses/draw.py`, which draws the figures and computes every number on this page.*

Each one starts from a question, runs on public data in seconds, and links the guide that explains its options. The
data are in the folder `RSPCA_DATA` ([Data](data.md)), or come with scanpy, scikit-learn and rspca. Short examples that
need no data files are in the folder `examples`.
"""


def module(name: str) -> Any:
    """Return the script of an analysis."""
    return importlib.import_module(name)


def wrapped(text: str) -> str:
    """Return text with lines of at most 120 characters; tables stay as they are."""
    parts = text.split("\n\n")
    return "\n\n".join(
        part if part.startswith("|") else textwrap.fill(part, 120, break_on_hyphens=False) for part in parts
    )


def figure(name: str, facts: dict[str, Any], folder: str = "") -> str:
    """Return the figure of an analysis with its caption."""
    script = module(name)
    place = f"{folder}figures/analysis_{name}.png"
    caption = wrapped(f"*{script.caption(facts)} Drawn by `docs/analyses/{name}.py`.*")
    return f"![{script.TITLE}]({place})\n\n{caption}\n"


def section(name: str, facts: dict[str, Any]) -> str:
    """Return the section of docs/analyses.md on an analysis."""
    script = module(name)
    code = f"<!-- not run: docs/analyses/{name}.py runs these lines -->\n```python\n{shown_code(script.fitted)}\n```"
    guide = f"Guide: [{title(DOCS / script.GUIDE)}]({script.GUIDE})."
    return "\n".join(
        (f"## {script.TITLE}\n", f"**{script.QUESTION}**\n", figure(name, facts), f"{code}\n",
         f"{wrapped(script.findings(facts))}\n", f"{guide}\n")
    )  # fmt: skip


def title(path: Path) -> str:
    """Return the first heading of a page."""
    return path.read_text().partition("\n")[0].removeprefix("# ")


def with_figures(path: Path, facts: dict[str, Any]) -> str:
    """Return a page with the figures between its comments as they are now."""
    folder = "" if path.parent == DOCS else "docs/"
    return BLOCK.sub(lambda found: found[1] + figure(found[2], facts[found[2]], folder) + found[3], path.read_text())


def pages() -> dict[Path, str]:
    """Return every page that shows an analysis, as it is to be now."""
    facts = json.loads(RESULTS.read_text())
    others = [path for path in [DOCS.parent / "README.md", *DOCS.glob("*.md")] if BLOCK.search(path.read_text())]
    return {
        PAGE: "\n".join([INTRODUCTION, *(section(name, facts[name]) for name in NAMES)]).rstrip() + "\n",
        **{path: with_figures(path, facts) for path in sorted(others) if path != PAGE},
    }


def main() -> None:
    for path, text in pages().items():
        path.write_text(text)
        print(f"wrote {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
