"""rspca path, compare and certify: how many features, which method, how far from the best."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from rspca.commands.inputs import Reading
from rspca.commands.shared import (
    INTERRUPTED,
    Data,
    OneK,
    Preparing,
    Seed,
    Talking,
    command,
    whole,
    whole_numbers,
)

Csv = Annotated[Path | None, typer.Option("--out", "-o", help="Also write the table to this .csv.")]


@command
def path(
    *,
    data: Data,
    ks: Annotated[str, typer.Option("--ks", metavar="INT,INT,...", help="Numbers of features to try.")],
    certify: Annotated[bool, typer.Option("--certify", help="A proven upper bound for each k.")] = False,
    seconds: Annotated[float, typer.Option(min=0.001, help="Time for all the proofs.")] = 60.0,
    seed: Seed = 0,
    out: Csv = None,
    preparing: Preparing,
    reading: Reading,
    talking: Talking,
) -> None:
    """How many features? Variance for each k, a suggested k, and why.

    rspca path expression.csv --ks 5,10,20,50
    rspca path expression.csv --ks 5,10,20,50 --certify -o path.csv

    Ctrl-C ends it early and keeps what was found.
    """
    from rspca.commands.inputs import opened
    from rspca.commands.outputs import check_file
    from rspca.commands.progress import rows_done, shown
    from rspca.commands.results import path_document
    from rspca.commands.spreadsheets import write_csv
    from rspca.paths import path as find_path

    wanted, options = whole_numbers("--ks", ks), preparing.options()
    check_file(out)
    options |= {"certify": certify, "seconds": seconds, "random_state": seed}
    count = len(set(wanted))
    with shown(talking, count, rows_done, what="k") as tell, opened(data, reading, tell) as table:
        found, stopped = _until_stopped(lambda keep: find_path(table, wanted, on_step=tell, on_rows=keep, **options))
    if out is not None:
        head = ["k", "variance", "share", "upper", "gap", "features"]
        rows = ([*one[:5], ";".join(str(table.feature_names[i]) for i in one.support)] for one in found)
        write_csv(out, head, rows)
    talking.answer(path_document(found, table) | {"interrupted": stopped}, str(found))
    if stopped:
        proven = f", {sum(one.upper is not None for one in found)} of them with a bound" if certify else ""
        _end_early(f"{len(found)} of {count} values of k were found{proven}; they are above{_and_in(out)}.")


@command
def compare(
    *,
    data: Data,
    k: OneK,
    methods: Annotated[
        str | None, typer.Option(help="Names with commas between them; all of them if not given.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.0, help="Time for the proven bound; 0 leaves it out.")] = 5.0,
    seed: Seed = 0,
    out: Csv = None,
    preparing: Preparing,
    reading: Reading,
    talking: Talking,
) -> None:
    """Every method at the same number of non-zeros, beside a proven bound.

    rspca compare expression.csv -k 100
    rspca compare expression.csv -k 100 --methods rspca,maxcomp,spasm --json

    Ctrl-C ends it early and keeps what was found.
    """
    from rspca.checks import check_choice
    from rspca.commands.inputs import opened
    from rspca.commands.outputs import check_file
    from rspca.commands.progress import rows_done, shown
    from rspca.commands.results import comparison_document
    from rspca.commands.spreadsheets import write_csv
    from rspca.comparison import Compared
    from rspca.comparison import compare as run_all
    from rspca.methods import METHODS

    names = list(METHODS) if methods is None else [name.strip() for name in methods.split(",")]
    for name in names:
        check_choice("method", name, METHODS)
    options = preparing.options() | {"methods": names, "certify_seconds": seconds or None, "random_state": seed}
    check_file(out)
    with shown(talking, 2 * len(names), rows_done, what="method") as tell, opened(data, reading, tell) as table:
        found, stopped = _until_stopped(lambda keep: run_all(table, k, on_step=tell, on_rows=keep, **options))
    stopped = stopped or (found.certificate is not None and found.certificate.stopped_by == "interrupt")
    if out is not None:
        write_csv(out, Compared._fields, found)
    talking.answer(comparison_document(found, table) | {"interrupted": stopped}, str(found))
    if stopped:
        ran = len({one.method for one in found} | set(found.skipped))
        _end_early(f"{ran} of {len(set(names))} methods were run; their rows are above{_and_in(out)}.")


@command
def certify(
    *,
    data: Data,
    k: Annotated[
        int | None, typer.Option("-k", parser=whole(1), help="Features; with --model those of its component.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="A model of these data, to be certified.")] = None,
    component: Annotated[int, typer.Option(parser=whole(1), help="Which component of the model.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.001, help="Time for the proof.")] = 30.0,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also save the certificate as .json.")] = None,
    preparing: Preparing,
    reading: Reading,
    talking: Talking,
) -> None:
    """Prove how far k features are from the best k features.

    rspca certify expression.csv -k 10 --seconds 60
    rspca certify expression.csv --model out/model.npz --component 2

    Ctrl-C ends the proof early and keeps what is proven. With --model, data are prepared and deflated as in its fit,
    and features are found by name; better features than those of the model are certified instead, and it says so.
    """
    from rspca.certificates.certify import certify as prove
    from rspca.certificates.certify import variance_given
    from rspca.commands.inputs import component_options, loaded, opened
    from rspca.commands.outputs import check_file
    from rspca.commands.progress import shown
    from rspca.commands.results import beside_the_model, certificate_document

    options = preparing.options() | {"seconds": seconds, "random_state": seed}
    check_file(out)
    fitted: Any = None
    if model is not None:
        if preparing != Preparing():
            raise ValueError("With --model the data are prepared as in its fit: leave --scale and --no-center out.")
        fitted, file = loaded(model)
        if component > fitted.n_components_:
            raise ValueError(f"--component {component}: {file} has {fitted.n_components_} component(s).")
        options |= {"center": fitted.center, "scale": fitted.scale, "deflation": fitted.deflation}
        k = k or len(fitted.supports_[component - 1])
    if k is None:
        raise ValueError("-k is needed, the number of features; or --model, whose component is to be certified.")
    own = None
    with shown(talking, 1) as tell, opened(data, reading, tell, model=fitted, empty="error") as table:
        if model is not None:
            options |= component_options(fitted, component, table)
        found = prove(table, k, on_step=tell, **options)
        if model is not None:
            left_out = {"seconds", "random_state"}
            own = variance_given(table, **{name: one for name, one in options.items() if name not in left_out})
    if out is not None:
        found.save(out)
    document = certificate_document(found, table) | ({} if own is None else {"model_variance": own})
    talking.answer(document, "\n".join([str(found), *beside_the_model(found, own, table)]))
    if found.stopped_by == "interrupt":
        _end_early("the proof ended early, and what it had is above.")


def _until_stopped(work: Callable[[Callable[[Any], None]], Any]) -> tuple[Any, bool]:
    """Return what the work returns, or the rows it told of last if the user stops it, and whether that was so."""
    last = deque[Any](maxlen=1)
    try:
        return work(last.append), False
    except KeyboardInterrupt:
        if not last:
            raise
        return last[0], True


def _and_in(out: Path | None) -> str:
    return "" if out is None else f", and in {out}"


def _end_early(what_there_is: str) -> NoReturn:
    typer.echo(f"rspca: interrupted; {what_there_is}", err=True)
    raise typer.Exit(INTERRUPTED)
