"""rspca transform: scores of new samples from a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rspca.cli.options import Model, Talking, command, named_files
from rspca.cli.support.inputs import Reading
from rspca.cli.support.samples import CovariatesOption, covariate_columns, model_covariates

if TYPE_CHECKING:
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
    """
    from rspca.cli.support.inputs import loaded, opened
    from rspca.cli.support.outputs import check_file, write_scores, write_shares
    from rspca.cli.support.progress import shown
    from rspca.genetics.alleles import are_snps
    from rspca.text import has_shares, shares_of

    check_file(out)
    fitted, _ = loaded(model)
    if shares and not has_shares(fitted):
        raise ValueError("--shares needs a model of documents that was not centered and has no negative loading.")
    asked: dict[str, Any] = {"model": fitted, "for_scores": True, "beside": covariate_columns(fitted, covariates)}
    with shown(talking, 1) as tell, opened(data, reading, tell, result=out, **asked) as table:
        scores = fitted.transform(table, covariates=model_covariates(fitted, covariates, table))
        parts = []
        if are_snps(getattr(fitted, "features_", None)) and are_snps(table.features):
            parts = fitted.projected(table, scores)
            _report_match(fitted.match(table), parts, table, data, talking)
    if talking.json:
        samples = table.samples or {"sample": table.sample_names}
        numbers: dict[str, Any] = {"shares": shares_of(scores)} if shares else {}
        numbers |= (
            {"projected": [part._asdict() | {"component": part.component + 1} for part in parts]} if parts else {}
        )
        talking.answer({"samples": dict(samples), "scores": scores} | numbers | _unknown_words(table), "")
    if out is not None or not talking.json:
        (write_shares if shares else write_scores)(out, scores, table.sample_names, table.samples)


def _unknown_words(table: Any) -> dict[str, Any]:
    """Return how much of the documents the model does not know; nothing for other data."""
    coverage = None if table.terms is None else table.terms.coverage
    return {} if coverage is None else {"unknown_words": coverage._asdict()}


def _report_match(matched: Any, parts: Any, table: Table, data: list[Path], talking: Talking) -> None:
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
    each = "; ".join(
        f"component {part.component + 1}: {part.used} of its {part.snps} SNPs, shrinkage of the scores "
        f"{part.shrinkage:.3f}, spread {part.spread:.3g} of that in the fit"
        for part in parts
    )
    typer.echo(
        f"rspca: {used} of the {len(matched.snps)} SNPs of the model are used, {swapped} of them with alleles swapped. "
        f"{each}.",
        err=True,
    )
    if uncalled:
        typer.echo(f"rspca: {uncalled} of these have no call at all and count as their mean in the model.", err=True)
