"""The command line: thin sentences over the library. Heavy imports stay inside the commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

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


Data = Annotated[list[Path], typer.Argument(help="A file: .bed, .npy, .npz, .mtx, .csv, .tsv; or several .bed.")]
Features = Annotated[int, typer.Option("-k", min=1, help="Features in each component.")]
Scale = Annotated[str, typer.Option(help="no, yes (unit variance), or patterson (genotypes).")]
Center = Annotated[bool, typer.Option(help="Subtract column means.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the rounding.")]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask scheduler whose workers hold the data.")]


@app.command()
def fit(
    data: Data,
    k: Features,
    n: Annotated[int, typer.Option("-n", min=1, help="Components.")] = 1,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("rspca-out"),
    method: Annotated[str, typer.Option(help="A method; rspca compare lists them.")] = "rspca",
    scale: Scale = "no",
    center: Center = True,
    certify: Annotated[bool, typer.Option("--certify", help="Prove how far each component is from the best.")] = False,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """Find components and write components.csv, scores.csv and model.npz.

    Example: rspca fit genotypes.bed -k 50 -n 2 --scale patterson -o out
    """
    from rspca.commands import fit_files

    fit_files(
        data, out, n_components=n, k=k, method=method, scale=_scale(scale), center=center, certify=certify,
        random_state=seed, scheduler=scheduler, echo=typer.echo, tell=_tell,
    )  # fmt: skip


@app.command()
def compare(
    data: Data,
    k: Features,
    methods: Annotated[
        str | None, typer.Option(help="Names with commas between them; all of them if not given.")
    ] = None,
    scale: Scale = "no",
    center: Center = True,
    seconds: Annotated[float, typer.Option(min=0.0, help="Time for the proven bound; 0 leaves it out.")] = 5.0,
    seed: Seed = 0,
) -> None:
    """Print every method at the same number of non-zeros, with a proven bound.

    Example: rspca compare expression.csv -k 100 --methods rspca,maxcomp,spasm
    """
    from rspca import compare, read

    table = read(data)
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    found = compare(
        table, k, methods=names, scale=_scale(scale), center=center, certify_seconds=seconds or None,
        random_state=seed, on_step=_tell,
    )  # fmt: skip
    typer.echo(str(found))


def _scale(word: str) -> bool | str:
    """Return what the library calls a scaling."""
    known: dict[str, bool | str] = {"no": False, "yes": True, "patterson": "patterson"}
    if word not in known:
        raise ValueError(f"--scale {word} is not known; choose no, yes or patterson.")
    return known[word]


def _tell(step: Any) -> None:
    """Print a line of progress on stderr, where somebody is looking."""
    if sys.stderr.isatty() and step.stage not in ("relax", "polish"):
        typer.echo(f"{step.seconds:8.1f} s  {step.stage}  variance {step.variance:.6g}", err=True)


def main() -> None:
    """Run the command line; a mistake of the user's is one line on stderr and exit status 2."""
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError) as error:
        typer.echo(f"rspca: {error}", err=True)
        sys.exit(2)
