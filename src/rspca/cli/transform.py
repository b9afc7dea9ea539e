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
    reading: Reading,
    talking: Talking,
) -> None:
    """Scores of new samples, as CSV. SNPs of another study are matched by name and allele.

    Documents are weighted by the words and weights that the model stores.

    rspca transform out/model.npz new.csv -o scores.csv
    rspca transform topics new_documents/ -o scores.csv
    rspca transform out other_study.bed --chromosomes all | head
    """
    from rspca.cli.support.inputs import loaded, opened
    from rspca.cli.support.outputs import check_file, write_scores
    from rspca.cli.support.progress import shown
    from rspca.genetics.alleles import are_snps

    check_file(out)
    fitted, _ = loaded(model)
    beside = covariate_columns(fitted, covariates)
    with shown(talking, 1) as tell, opened(data, reading, tell, model=fitted, for_scores=True, beside=beside) as table:
        scores = fitted.transform(table, covariates=model_covariates(fitted, covariates, table))
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
