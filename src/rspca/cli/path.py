"""rspca path: variance for each number of features."""

from __future__ import annotations

from typing import Annotated

import typer

from rspca.cli.options import Csv, Data, Seed, Talking, command, whole_numbers
from rspca.cli.support.inputs import Source
from rspca.cli.support.interrupts import and_in, end_early, until_stopped
from rspca.cli.support.samples import OfSamples


@command
def path(
    *,
    data: Data,
    ks: Annotated[str, typer.Option("--ks", metavar="INT,INT,...", help="Numbers of features to try.")],
    certify: Annotated[bool, typer.Option("--certify", help="A proven upper bound for each k.")] = False,
    seconds: Annotated[float, typer.Option(min=0.001, help="Time for all the proofs.")] = 60.0,
    seed: Seed = 0,
    out: Csv = None,
    source: Source,
    of_samples: OfSamples,
    talking: Talking,
) -> None:
    """How many features? Variance for each k, a suggested k, and why.

    rspca path expression.csv --ks 5,10,20,50
    rspca path expression.csv --ks 5,10,20,50 --certify -o path.csv

    Ctrl-C ends it early and keeps what was found.
    """
    from rspca.analysis.k_path import path as find_path
    from rspca.cli.support.inputs import opened
    from rspca.cli.support.outputs import check_file
    from rspca.cli.support.progress import rows_done, shown
    from rspca.cli.support.results import path_document
    from rspca.cli.support.spreadsheets import write_csv

    wanted, options = whole_numbers("--ks", ks), source.options()
    check_file(out)
    options |= {"certify": certify, "seconds": seconds, "random_state": seed}
    count = len(set(wanted))
    with (
        shown(talking, count, rows_done, what="k") as tell,
        opened(data, source, tell, missing=source.missing, beside=of_samples.columns()) as table,
    ):
        options |= of_samples.arguments(table)
        found, stopped = until_stopped(lambda keep: find_path(table, wanted, on_step=tell, on_rows=keep, **options))
    if out is not None:
        head = ["k", "variance", "share", "upper", "gap", "features"]
        rows = ([*point[:5], ";".join(str(table.feature_names[i]) for i in point.support)] for point in found)
        write_csv(out, head, rows)
    talking.answer(path_document(found, table) | {"interrupted": stopped}, str(found))
    if stopped:
        proven = f", {sum(point.upper is not None for point in found)} of them with a bound" if certify else ""
        end_early(f"{len(found)} of {count} values of k were found{proven}; they are above{and_in(out)}.")
