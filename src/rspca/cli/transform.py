"""rspca transform: scores of new samples from a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rspca.cli.options import LabelOption, Model, Talking, Title, command, named_files
from rspca.cli.support.inputs import Reading
from rspca.cli.support.samples import CovariatesOption, covariate_columns, model_covariates

if TYPE_CHECKING:
    from rspca.estimator import SparsePCA
    from rspca.formats.table import Table


@command
def transform(
    *,
    model: Model,
    data: Annotated[
        list[Path],
        typer.Argument(help="Data with the features of the model.", show_default=False, callback=named_files),
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the scores; stdout if not given.")] = None,
    page: Annotated[
        Path | None,
        typer.Option("--report", help="Also write a page that draws the samples, over those of the fit in grey."),
    ] = None,
    label: LabelOption = None,
    title: Title = None,
    covariates: CovariatesOption = None,
    shares: Annotated[
        bool, typer.Option("--shares", help="Documents: the leading topic and the share of each, not the scores.")
    ] = False,
    reading: Reading,
    talking: Talking,
) -> None:
    """Scores of new samples, as CSV. SNPs of another study are matched by name and allele.

    Documents are weighted by the words and weights that the model stores.

    rspca transform out/model.npz new.csv -o scores.csv
    rspca transform topics new_documents/ -o scores.csv
    rspca transform topics new_documents/ --shares
    rspca transform out other_study.bed --chromosomes all | head
    rspca transform out other_study.bed -o scores.csv --report other_study.html
    """
    from rspca.cli.support.inputs import labels_of, loaded, opened
    from rspca.cli.support.outputs import check_file, write_scores, write_shares
    from rspca.cli.support.progress import shown
    from rspca.genetics.alleles import are_snps
    from rspca.text import has_shares, shares_of

    check_file(out)
    check_file(page)
    if title is not None and page is None:
        raise ValueError("--title is that of the page: give --report too.")
    fitted, file = loaded(model)
    if shares and not has_shares(fitted):
        raise ValueError("--shares needs a model of documents that was not centered and has no negative loading.")
    asked: dict[str, Any] = {"model": fitted, "for_scores": True, "beside": covariate_columns(fitted, covariates)}
    with shown(talking, 1) as tell, opened(data, reading, tell, label=label, result=out, **asked) as table:
        name, samples = labels_of(label, table.sample_names, table.samples)
        scores = fitted.transform(table, covariates=model_covariates(fitted, covariates, table))
        parts, match = [], list[str]()
        if are_snps(getattr(fitted, "features_", None)) and are_snps(table.features):
            parts = fitted.projected(table, scores)
            match = _match_words(fitted.match(table), parts, table, data)
            for line in [] if talking.quiet else match:
                typer.echo(f"rspca: {line}", err=True)
    if page is not None:
        shown_there = {"samples": samples, "label": name, "title": title}
        _write_page(page, fitted, file, data, table, reading, scores, match, shown_there)
    if talking.json:
        known = samples or {"sample": table.sample_names}
        numbers: dict[str, Any] = {"shares": shares_of(scores)} if shares else {}
        if parts:
            numbers["projected"] = [part._asdict() | {"component": part.component + 1} for part in parts]
        talking.answer({"samples": dict(known), "scores": scores} | numbers | _unknown_words(table), "")
    if out is not None or not talking.json:
        (write_shares if shares else write_scores)(out, scores, table.sample_names, samples)


def _unknown_words(table: Any) -> dict[str, Any]:
    """Return how much of the documents the model does not know; nothing for other data."""
    coverage = None if table.terms is None else table.terms.coverage
    return {} if coverage is None else {"unknown_words": coverage._asdict()}


def _match_words(matched: Any, parts: Any, table: Table, data: list[Path]) -> list[str]:
    """Return how the SNPs of the model were found; what is left out is a warning of the model's."""
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
    each = "; ".join(
        f"component {part.component + 1}: {part.used} of its {part.snps} SNPs, shrinkage of the scores "
        f"{part.shrinkage:.3f}, spread {part.spread:.3g} of that in the fit"
        for part in parts
    )
    lines = [
        f"{used} of the {len(matched.snps)} SNPs of the model are used, {swapped} of them with alleles swapped. {each}."
    ]
    if uncalled:
        lines.append(f"{uncalled} of these have no call at all and count as their mean in the model.")
    return lines


def _write_page(
    page: Path,
    fitted: SparsePCA,
    file: Path,
    data: list[Path],
    table: Table,
    reading: Reading,
    scores: Any,
    match: list[str],
    given: dict[str, Any],
) -> None:
    """Write the page of these samples; those of the fit are below them, if their scores are next to the model."""
    from rspca.cli.support.inputs import documents_of
    from rspca.cli.support.outputs import read_scores
    from rspca.cli.support.page import write_page
    from rspca.cli.support.provenance import described, provenance
    from rspca.formats.registry import subject_of

    stored = file.with_name("scores.csv")
    reference = read_scores(stored, fitted.n_components_)[0] if stored.is_file() else None
    if reference is None:
        typer.echo(f"rspca: {stored} does not exist, so the page has no samples of the fit.", err=True)
    origin = provenance(described([file, *data]), seed=fitted.random_state) | ({"match": match} if match else {})
    content = {
        "reference": reference,
        "sample_names": table.sample_names,
        "documents": documents_of(data, table, reading),
    }
    content |= {"kind": subject_of(data), "provenance": origin} | given
    content["title"] = given["title"] or f"{', '.join(path.name for path in data)}, projected"
    write_page(page, fitted, scores=scores, **content)
