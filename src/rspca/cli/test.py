"""rspca test: how many components are more than chance."""

# ruff: noqa: PT028 - the command is called test
from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rspca.cli.options import Data, Seed, Talking, command, sparsities, whole
from rspca.cli.support.inputs import Source
from rspca.cli.support.interrupts import and_in, end_early, until_stopped
from rspca.cli.support.samples import OfSamples


@command
def test(
    *,
    data: Data,
    k: Annotated[str, typer.Option("-k", metavar="INT[,INT...]", help="Features in each, or one number for each.")],
    n: Annotated[int | None, typer.Option("-n", parser=whole(1), help="Components to test; 1 if not given.")] = None,
    permutations: Annotated[int, typer.Option(parser=whole(1), help="Permutations of the columns.")] = 100,
    alpha: Annotated[float, typer.Option(min=0.0, max=1.0, help="Components count up to the first p above it.")] = 0.05,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A JSON file for the test.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the test in the file of -o.")] = False,
    source: Source,
    of_samples: OfSamples,
    talking: Talking,
) -> None:
    """How many components are more than chance? A permutation test, component by component.

    rspca test expression.csv -k 20 -n 5
    rspca test genotypes.bed -k 50 -n 10 --scale patterson --permutations 1000 -o test.json
    rspca test genotypes.bed -k 50 -n 10 --scale patterson --permutations 1000 -o test.json --resume

    Ctrl-C ends it early and keeps the permutations made; --resume continues after them, with the result of one run.
    """
    from rspca.analysis.permutation import permutation_test
    from rspca.cli.support.inputs import opened
    from rspca.cli.support.outputs import check_file
    from rspca.cli.support.progress import rows_done, shown
    from rspca.cli.support.provenance import described
    from rspca.cli.support.tests import document_of_test, read_test, write_test

    ks = sparsities("-k", k)
    count = n or len(ks)
    if len(ks) not in (1, count):
        raise ValueError(f"-k {k} has {len(ks)} numbers for -n {count} components; give one, or one for each.")
    if resume and out is None:
        raise ValueError("--resume continues the test in a file: name it with -o.")
    check_file(out)
    options: dict[str, Any] = source.options(data) | {
        "n_permutations": permutations,
        "alpha": alpha,
        "random_state": seed,
    }
    with (
        shown(talking, permutations, rows_done, what="permutation") as tell,
        opened(data, source, tell, missing=source.missing, beside=of_samples.columns(), result=out) as table,
    ):
        inputs = {"data": described(data), "options": _words(source, of_samples, ks, count)}
        earlier = read_test(out, inputs) if resume and out is not None else None
        options |= of_samples.arguments(table) | {"earlier": earlier}
        wanted = ks[0] if len(ks) == 1 else ks
        found, stopped = until_stopped(
            lambda keep: permutation_test(table, count, wanted, on_step=tell, on_rows=keep, **options)
        )
    if out is not None:
        write_test(out, found, inputs)
    talking.answer(document_of_test(found) | {"interrupted": stopped}, str(found))
    if stopped:
        end_early(f"{found.n_permutations} of {permutations} permutations were made; the test is above{and_in(out)}.")


def _words(source: Source, of_samples: OfSamples, ks: list[Any], count: int) -> dict[str, str]:
    """Return how data are read and tested, in words: a test that is continued must have the same."""
    return {"source": str(source), "samples": str(of_samples), "k": str(ks), "n": str(count)}
