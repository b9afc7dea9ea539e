"""rspca compare: every method at the same number of non-zeros."""

from __future__ import annotations

from typing import Annotated

import typer

from rspca.cli.options import Csv, Data, OneK, Seed, Talking, command, whole
from rspca.cli.support.inputs import Source
from rspca.cli.support.interrupts import and_in, end_early, until_stopped
from rspca.cli.support.samples import OfSamples


@command
def compare(
    *,
    data: Data,
    k: OneK,
    n: Annotated[int, typer.Option("-n", parser=whole(1), help="Components; from 2 on, sets are compared.")] = 1,
    methods: Annotated[
        str | None, typer.Option(help="Names with commas between them; all of them if not given.")
    ] = None,
    modes: Annotated[
        str | None,
        typer.Option(help="With -n: joint, orthogonal, uncorrelated, disjoint, shared; all if not given."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.0, help="Time for the proven bound; 0 leaves it out.")] = 5.0,
    seed: Seed = 0,
    out: Csv = None,
    source: Source,
    of_samples: OfSamples,
    talking: Talking,
) -> None:
    """Every method at the same number of non-zeros, with a proven bound.

    With -n, sets of components: each method's, and those found together in every mode.

    rspca compare expression.csv -k 100
    rspca compare expression.csv -k 100 --methods rspca,maxcomp,spasm --json
    rspca compare expression.csv -k 20 -n 5 --methods rspca,spasm --modes joint,orthogonal

    Ctrl-C ends it early and keeps what was found.
    """
    from rspca.analysis.compare import Compared, compared_modes
    from rspca.analysis.compare import compare as run_all
    from rspca.analysis.compare_sets import ComparedSet
    from rspca.base.checks import check_choice
    from rspca.cli.support.inputs import opened
    from rspca.cli.support.outputs import check_file
    from rspca.cli.support.progress import rows_done, shown
    from rspca.cli.support.results import comparison_document
    from rspca.cli.support.spreadsheets import write_csv
    from rspca.methods import METHODS

    names = list(METHODS) if methods is None else [name.strip() for name in methods.split(",")]
    for name in names:
        check_choice("method", name, METHODS)
    together = compared_modes(None if modes is None else [name.strip() for name in modes.split(",")], n, [k] * n)
    options = source.options(data) | {"methods": names, "certify_seconds": seconds or None, "random_state": seed}
    options |= {"n_components": n, "modes": together if n > 1 else None}
    check_file(out)
    count = 2 * len(names) if n == 1 else len(names) + len(together)
    with (
        shown(talking, count, rows_done, what="method") as tell,
        opened(data, source, tell, missing=source.missing, beside=of_samples.columns(), result=out) as table,
    ):
        options |= of_samples.arguments(table)
        found, stopped = until_stopped(lambda keep: run_all(table, k, on_step=tell, on_rows=keep, **options))
    stopped = stopped or (found.certificate is not None and found.certificate.stopped_by == "interrupt")
    if out is not None:
        write_csv(out, Compared._fields if n == 1 else ComparedSet._fields, found)
    talking.answer(comparison_document(found, table) | {"interrupted": stopped}, str(found))
    if stopped:
        ran = len({row.method for row in found} | {name.split()[0] for name in found.skipped})
        end_early(f"{ran} of {len(set(names))} methods were run; their rows are above{and_in(out)}.")
