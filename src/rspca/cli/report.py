"""rspca report: one HTML page from a saved model."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rspca.cli.options import LabelOption, Model, Seed, Talking, command, named_files, whole_numbers
from rspca.cli.support.inputs import Reading

if TYPE_CHECKING:
    pass


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
    from rspca.cli.support.inputs import model_file
    from rspca.cli.support.locks import locked_folder
    from rspca.cli.support.outputs import check_file

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
    from rspca.analysis.compare import compare as run_all
    from rspca.analysis.k_path import path as find_path
    from rspca.cli.support.inputs import documents_of, labels_of, loaded, opened
    from rspca.cli.support.outputs import read_scores
    from rspca.cli.support.page import write_page
    from rspca.cli.support.progress import rows_done, shown
    from rspca.cli.support.provenance import described, provenance

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
