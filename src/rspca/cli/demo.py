"""rspca demo: a first look at built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rspca.cli.options import Seed, command


@command
def demo(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the figure.")] = Path("demo"),
    seed: Seed = 0,
) -> None:
    """Compare methods at equal non-zeros on built-in data, and draw a figure.

    rspca demo --out demo
    """
    from rspca.cli.support.demonstration import run
    from rspca.cli.support.outputs import check_folder

    check_folder(out)
    run(out, seed=seed, echo=typer.echo)
