"""rspca path: variance for each number of features."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rspca.cli.options import Csv, Data, Seed, Talking, command, sparsities, whole
from rspca.cli.support.inputs import Source
from rspca.cli.support.interrupts import and_in, end_early, until_stopped
from rspca.cli.support.samples import OfSamples


@command
def path(
    *,
    data: Data,
    ks: Annotated[str, typer.Option("--ks", metavar="INT,INT,...", help="Numbers, or shares, of features to try.")],
    n: Annotated[int, typer.Option("-n", parser=whole(1), help="Components, each given those before it.")] = 1,
    cv: Annotated[int | None, typer.Option("--cv", parser=whole(2), help="Folds for held-out variance.")] = None,
    cv_groups: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="Samples of one label are held out together.")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="BASEPAIRS|NAME|FILE", help="Windows of a .bed, a feature column, or a file of labels."),
    ] = None,
    max_per_group: Annotated[int, typer.Option(parser=whole(1), help="Features of one group in one component.")] = 1,
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
    rspca path expression.csv --ks 5,10,20,50 --cv 5

    Ctrl-C ends it early and keeps what was found.
    """
    from rspca.analysis.k_path import path as find_path
    from rspca.cli.support.inputs import groups_of, labels_of, opened
    from rspca.cli.support.outputs import check_file
    from rspca.cli.support.progress import rows_done, shown
    from rspca.cli.support.results import path_document, path_table
    from rspca.cli.support.spreadsheets import write_csv

    wanted, options = sparsities("--ks", ks), source.options(data)
    if cv_groups is not None and cv is None:
        raise ValueError("--cv-groups says what is held out together: give --cv too.")
    check_file(out)
    options |= {"certify": certify, "seconds": seconds, "random_state": seed, "n_components": n, "cv": cv}
    count = n * len(set(wanted))
    asked: dict[str, Any] = {"label": cv_groups, "missing": source.missing, "beside": of_samples.columns()}
    with (
        shown(talking, count, rows_done, what="k") as tell,
        opened(data, source, tell, result=out, **asked) as table,
    ):
        options |= of_samples.arguments(table)
        options |= {"groups": groups_of(groups, table), "max_per_group": max_per_group}
        if cv_groups is not None:
            name, samples = labels_of(cv_groups, table.sample_names, table.samples)
            if name is None:
                raise ValueError(f"--cv-groups {cv_groups} names no labels of samples.")
            options["cv_groups"] = samples[name]
        found, stopped = until_stopped(lambda keep: find_path(table, wanted, on_step=tell, on_rows=keep, **options))
    if out is not None:
        write_csv(out, *path_table(found, table))
    talking.answer(path_document(found, table) | {"interrupted": stopped}, str(found))
    if stopped:
        proven = f", {sum(point.upper is not None for point in found)} of them with a bound" if certify else ""
        known = len(found) + sum(map(len, found.later))
        end_early(f"{known} of {count} values of k were found{proven}; they are above{and_in(out)}.")
