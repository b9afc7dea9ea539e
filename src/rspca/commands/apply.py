"""rspca transform and rspca report: scores and pages from a saved model."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rspca.commands.inputs import Reading
from rspca.commands.shared import LabelOption, Model, Seed, Talking, command, named_files, whole_numbers

if TYPE_CHECKING:
    from rspca.tables import Table


@command
def transform(
    *,
    model: Model,
    data: Annotated[
        list[Path],
        typer.Argument(help="Data with the features of the model.", show_default=False, callback=named_files),
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the scores; stdout if not given.")] = None,
    reading: Reading,
    talking: Talking,
) -> None:
    """Scores of new samples, as CSV. SNPs of another study are matched by name and allele.

    Documents are weighted by the words and weights that the model stores.

    rspca transform out/model.npz new.csv -o scores.csv
    rspca transform topics new_documents/ -o scores.csv
    rspca transform out other_study.bed --chromosomes all | head
    """
    from rspca.commands.inputs import loaded, opened
    from rspca.commands.outputs import check_file, write_scores
    from rspca.commands.progress import shown
    from rspca.studies import are_snps

    check_file(out)
    fitted, _ = loaded(model)
    with shown(talking, 1) as tell, opened(data, reading, tell, model=fitted, for_scores=True) as table:
        scores = fitted.transform(table)
        if are_snps(getattr(fitted, "features_", None)) and are_snps(table.features):
            _report_match(fitted.match(table), table, data, talking)
    if talking.json:
        samples = table.samples or {"sample": table.sample_names}
        talking.answer({"samples": dict(samples), "scores": scores} | _unknown_words(table), "")
    if out is not None or not talking.json:
        write_scores(out, scores, table.sample_names, table.samples)


def _unknown_words(table: Any) -> dict[str, Any]:
    """Return how much of the documents the model does not know; nothing for other data."""
    coverage = None if table.terms is None else table.terms.coverage
    return {} if coverage is None else {"unknown_words": coverage._asdict()}


def _report_match(matched: Any, table: Table, data: list[Path], talking: Talking) -> None:
    """Say on stderr how the SNPs of the model were found; what is left out is a warning of the model's."""
    import numpy as np

    swapped = int((matched.status == "swapped").sum())
    used = int(matched.used.sum())
    missing = table.features.get("missing", np.zeros(table.shape[1]))
    uncalled = int((missing[matched.columns[matched.used]] == 1.0).sum())
    if uncalled == used:
        raise ValueError(
            f"{', '.join(map(str, data))}: none of the {used} SNPs that the model uses has a single call, so there are "
            "no scores."
        )
    if talking.quiet:
        return
    typer.echo(
        f"rspca: {used} of the {len(matched.snps)} SNPs of the model are used, {swapped} of them with alleles swapped.",
        err=True,
    )
    if uncalled:
        typer.echo(f"rspca: {uncalled} of these have no call at all and count as their mean in the model.", err=True)


@command
def report(
    *,
    model: Model,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="The data; otherwise scores.csv beside the model is used.", callback=named_files),
    ] = None,
    label: LabelOption = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The page; report.html beside the model.")] = None,
    path: Annotated[
        str | None, typer.Option("--path", metavar="INT,INT,...", help="Add variance and bound for each k (--data).")
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Add a comparison of all methods (needs --data).")] = False,
    seconds: Annotated[float, typer.Option(min=0.001, help="Time for the proofs of --path, and of --compare.")] = 30.0,
    seed: Seed = 0,
    reading: Reading,
    talking: Talking,
) -> None:
    """One self-contained HTML page from a saved model.

    rspca report out/model.npz --label tissue.txt
    rspca report out --data expression.csv --path 5,10,20,50 --compare -o page.html
    """
    from rspca.commands.inputs import model_file
    from rspca.commands.locks import locked_folder
    from rspca.commands.outputs import check_file

    file = model_file(model)
    page = out or file.with_name("report.html")
    check_file(page)
    if not data and (path is not None or compare):
        raise ValueError("--path and --compare compute on the data: give them with --data.")
    if not data and reading.given():
        ignored = ", ".join(f"--{name.replace('_', '-')}" for name in reading.given())
        raise ValueError(f"{ignored} tell how data are read: give them with --data.")
    ks = [] if path is None else whole_numbers("--path", path)
    beside = page.parent.resolve() == file.parent.resolve()  # a fit that runs there would replace one of the two
    with locked_folder(file.parent) if beside else nullcontext():
        _report(
            file, page, data or [], reading, talking, label=label, ks=ks, compare=compare, seconds=seconds, seed=seed
        )


def _report(
    file: Path, page: Path, data: list[Path], reading: Reading, talking: Talking, *, label: str | None, ks: list[int],
    compare: bool, seconds: float, seed: int,
) -> None:  # fmt: skip
    """Write the page of a model."""
    from rspca.commands.inputs import documents_of, labels_of, loaded, opened
    from rspca.commands.outputs import read_scores
    from rspca.commands.page import write_page
    from rspca.commands.progress import rows_done, shown
    from rspca.commands.provenance import described, provenance
    from rspca.comparison import compare as run_all
    from rspca.paths import path as find_path

    fitted, _ = loaded(file)
    content: dict[str, Any] = {"title": file.resolve().parent.name}
    prepared: dict[str, Any] = {"center": fitted.center, "scale": fitted.scale}
    if data:
        with (
            shown(talking, len(set(ks)), rows_done, what="k") as tell,
            opened(data, reading, tell, label=label, model=fitted, empty="error", for_scores=True) as table,
        ):
            content |= {"scores": fitted.transform(table), "sample_names": table.sample_names}
            samples: Any = table.samples
            content["documents"] = documents_of(data, table, reading)
            content["title"] = ", ".join(one.name for one in data)
            if ks:
                content["path_points"] = find_path(
                    table, ks, certify=True, seconds=seconds, random_state=seed, on_step=tell, **prepared
                )
            if compare:
                k = max(len(one) for one in fitted.supports_)
                content["comparison"] = run_all(
                    table, k, certify_seconds=seconds, random_state=seed, on_step=tell, **prepared
                )
    elif (beside := file.with_name("scores.csv")).is_file():
        scores, names, samples = read_scores(beside, fitted.n_components_)
        content |= {"scores": scores, "sample_names": names}
    else:
        samples = {}
        if label is not None:
            raise ValueError(f"--label needs samples: give --data, or keep scores.csv beside {file}.")
    if "scores" in content:
        content["label"], content["samples"] = labels_of(label, content["sample_names"], samples)
    content["provenance"] = provenance(described([file, *data]), seed=fitted.random_state)
    write_page(page, fitted, **content)
    talking.say(f"written: {page}")
    if talking.json:
        talking.answer({"report": str(page), "provenance": content["provenance"]}, "")
