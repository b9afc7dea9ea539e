"""The command line: thin sentences over the library. Heavy imports stay inside the commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Sparse principal components: exactly k features each."
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from rspca import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the figure.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the rounding.")] = 0,
) -> None:
    """Compare methods at equal non-zeros on built-in data, and draw a figure.

    Example: rspca demo --out demo
    """
    from rspca.demo import run

    run(out, seed=seed, echo=typer.echo)


def main() -> None:
    """Run the command line; a mistake of the user's is one line on stderr and exit status 2."""
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError) as error:
        typer.echo(f"rspca: {error}", err=True)
        sys.exit(2)
