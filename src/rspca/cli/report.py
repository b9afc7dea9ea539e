"""rspca report: one HTML page from a saved model."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rspca.cli.options import LabelOption, Model, Seed, Talking, Title, command, named_files, whole, whole_numbers
from rspca.cli.support.inputs import Reading
from rspca.cli.support.samples import CovariatesOption, covariate_columns, model_covariates


@dataclass(frozen=True)
class Sections:
    """Sections of the page that are computed from the data."""

    path: Annotated[
        str | None, typer.Option("--path", metavar="INT,INT,...", help="Add variance and bound for each k (--data).")
    ] = None
    cv: Annotated[int | None, typer.Option("--cv", parser=whole(2), help="Folds for held-out variance in --path.")] = (
        None
    )
    permutations: Annotated[
        int | None, typer.Option(parser=whole(19), help="Add a permutation test, with so many (needs --data).")
    ] = None
    compare: Annotated[bool, typer.Option("--compare", help="Add a comparison of all methods (needs --data).")] = False
    seconds: Annotated[float, typer.Option(min=0.001, help="Time for the proofs of --path, and of --compare.")] = 30.0
    seed: Seed = 0

    def ks(self) -> list[int]:
        """Return the numbers of features of --path."""
        return [] if self.path is None else whole_numbers("--path", self.path)


@command
def report(
    *,
    model: Model,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="The data; otherwise scores.csv next to the model is used.", callback=named_files),
    ] = None,
    label: LabelOption = None,
    title: Title = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The page; report.html next to the model.")] = None,
    sections: Sections,
    covariates: CovariatesOption = None,
    reading: Reading,
    talking: Talking,
) -> None:
    """One self-contained HTML page from a saved model.

    rspca report out/model.npz --label tissue.txt
    rspca report out --data expression.csv --path 5,10,20,50 --compare -o page.html
    rspca report out --data expression.csv --path 5,10,20,50 --cv 5 --permutations 100
    """
    from rspca.cli.support.inputs import model_file
    from rspca.cli.support.locks import locked_folder
    from rspca.cli.support.outputs import check_file

    file = model_file(model)
    page = out or file.with_name("report.html")
    check_file(page)
    if not data and (sections.path is not None or sections.compare):
        raise ValueError("--path and --compare compute on the data: give them with --data.")
    if not data and sections.permutations is not None:
        raise ValueError("--permutations computes on the data: give it with --data.")
    if sections.cv is not None and sections.path is None:
        raise ValueError("--cv is for the values of k of --path: give them too.")
    if not data and reading.given():
        ignored = ", ".join(f"--{name.replace('_', '-')}" for name in reading.given())
        raise ValueError(f"{ignored} say how data are read: give them with --data.")
    sections.ks()  # raises before any work
    together = page.parent.resolve() == file.parent.resolve()  # a fit that runs there would replace one of the two
    with locked_folder(file.parent) if together else nullcontext():
        _report(file, page, data or [], reading, talking, label, title, sections, covariates)


def _report(
    file: Path,
    page: Path,
    data: list[Path],
    reading: Reading,
    talking: Talking,
    label: str | None,
    title: str | None,
    sections: Sections,
    covariates: Path | None,
) -> None:
    """Write the page of a model."""
    from rspca.analysis.compare import compare as run_all
    from rspca.analysis.k_path import path as find_path
    from rspca.analysis.permutation import permutation_test
    from rspca.cli.support.inputs import documents_of, labels_of, loaded, opened
    from rspca.cli.support.outputs import read_scores
    from rspca.cli.support.page import write_page
    from rspca.cli.support.progress import rows_done, shown
    from rspca.cli.support.provenance import described, provenance
    from rspca.formats.registry import subject_of

    fitted, _ = loaded(file)
    content: dict[str, Any] = {"title": file.resolve().parent.name}
    options: dict[str, Any] = {"center": fitted.center, "scale": fitted.scale, "random_state": sections.seed}
    ks = sections.ks()
    if (ks or sections.compare) and any(words.startswith("samples weighted") for words in fitted.preparation_):
        raise ValueError(
            "The model has weights of samples, which a report does not know: leave --path and --compare out, and run "
            "rspca path and rspca compare with --weights."
        )
    if data:
        with (
            shown(talking, len(set(ks)), rows_done, what="k") as tell,
            opened(
                data,
                reading,
                tell,
                label=label,
                model=fitted,
                empty="error",
                for_scores=True,
                beside=covariate_columns(fitted, covariates),
                result=page,
            ) as table,
        ):
            known = model_covariates(fitted, covariates, table)
            options |= {"covariates": known, "missing": fitted.missing}
            content |= {"scores": fitted.transform(table, covariates=known), "sample_names": table.sample_names}
            samples: Any = table.samples
            content["documents"] = documents_of(data, table, reading)
            content |= {"title": ", ".join(file.name for file in data), "kind": subject_of(data)}
            if ks:
                content["path_points"] = find_path(
                    table, ks, certify=True, seconds=sections.seconds, cv=sections.cv, on_step=tell, **options
                )
            if sections.permutations is not None:
                wanted = [len(support) for support in fitted.supports_]
                content["test"] = permutation_test(
                    table, len(wanted), wanted, n_permutations=sections.permutations, on_step=tell, **options
                )
            if sections.compare:
                k = max(map(len, fitted.supports_))
                options |= {"certify_seconds": sections.seconds, "on_step": tell}
                content["comparison"] = run_all(table, k, **options)
                if fitted.n_components_ > 1:
                    content["set_comparison"] = run_all(table, k, n_components=fitted.n_components_, **options)
    elif (stored := file.with_name("scores.csv")).is_file():
        scores, names, samples = read_scores(stored, fitted.n_components_)
        content |= {"scores": scores, "sample_names": names}
    else:
        samples = {}
        if label is not None:
            raise ValueError(f"--label needs samples: give --data, or put scores.csv next to {file}.")
    if "scores" in content:
        content["label"], content["samples"] = labels_of(label, content["sample_names"], samples)
    content["provenance"] = provenance(described([file, *data]), seed=fitted.random_state)
    content["title"] = title or content["title"]
    write_page(page, fitted, **content)
    talking.say(f"written: {page}")
    if talking.json:
        talking.answer({"report": str(page), "provenance": content["provenance"]}, "")
