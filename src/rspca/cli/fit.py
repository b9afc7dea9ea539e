"""rspca fit: components of a file, written to a folder as they are found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rspca.cli.options import Data, LabelOption, Preparing, Seed, Several, Talking, Title, command, sparsities, whole
from rspca.cli.support.inputs import Reading
from rspca.cli.support.samples import OfSamples
from rspca.formats import registry

if TYPE_CHECKING:
    from rspca.algorithm.results import Component
    from rspca.cli.support.checkpoint import Partial
    from rspca.estimator import SparsePCA
    from rspca.formats.table import Table

Certify = Annotated[bool, typer.Option("--certify", help="Prove how far each component, or the set, is from the best.")]


@command
def fit(
    *,
    data: Data,
    k: Annotated[str, typer.Option("-k", metavar="INT[,INT...]", help="Features in each, or one number for each.")],
    n: Annotated[
        int | None, typer.Option("-n", parser=whole(1), help="Components; 1, or as many as numbers after -k.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("rspca-out"),
    method: Annotated[
        str | None, typer.Option(help="A method; rspca compare lists them. Documents: topics, else rspca.")
    ] = None,
    deflation: Annotated[
        str, typer.Option(metavar="schur|projection|orthogonal", help="What is removed before the next component.")
    ] = "schur",
    certify: Certify = False,
    seconds: Annotated[float, typer.Option(min=0.001, help="Time for the proofs of all components.")] = 30.0,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="BASEPAIRS|r2:LIMIT|NAME|FILE",
            help="Windows or clumps of a .bed, a feature column, or a file of labels.",
        ),
    ] = None,
    max_per_group: Annotated[int, typer.Option(parser=whole(1), help="Features of one group in one component.")] = 1,
    seed: Seed = 0,
    label: LabelOption = None,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    title: Title = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue after the components of a run that stopped.")
    ] = False,
    stability: Annotated[
        int | None, typer.Option(parser=whole(1), help="Refit so many pairs of halves of the samples.")
    ] = None,
    several: Several,
    preparing: Preparing,
    of_samples: OfSamples,
    reading: Reading,
    talking: Talking,
) -> None:
    """Find components; write components.csv, scores.csv, model.npz and report.html; of documents also shares.csv.

    rspca fit expression.csv -k 50 -n 2 -o out
    rspca fit genotypes.bed -k 50 -n 2 --scale patterson --groups 250000
    rspca fit genotypes.bed -k 50 -n 2 --scale patterson --groups r2:0.2
    rspca fit cells.h5ad -k 30,20,10 --layer lognorm --label cell_type
    rspca fit docs/ -k 20 -n 10
    rspca fit CISI.ALL cran.all.1400 MED.ALL -k 20 -n 10 --empty drop
    rspca fit expression.csv -k 20 -n 5 --joint --certify
    rspca fit expression.csv -k 20 -n 2 --constraint uncorrelated
    rspca fit expression.csv -k 20 -n 2 --stability 50
    rspca fit large.npy -k 100 -n 20 -o out --resume
    rspca fit expression.csv -k 20 -n 2 --covariates samples.csv --covariate batch,age
    rspca fit survey.csv -k 20 --weights weight --missing mean

    A run that was stopped continues with --resume, with the result of one run. An earlier result in the folder is
    replaced when the new one is complete. Two runs cannot write to one folder at the same time.
    """
    from rspca.algorithm.loop import LoopOptions
    from rspca.cli.support.changed_files import Watched
    from rspca.cli.support.checkpoint import NAME as PARTIAL
    from rspca.cli.support.checkpoint import Partial, data_of, settings_of
    from rspca.cli.support.inputs import documents_of, groups_of, labels_of, opened
    from rspca.cli.support.locks import LOCK, locked_folder
    from rspca.cli.support.outputs import RESULTS, check_folder
    from rspca.cli.support.progress import shown
    from rspca.cli.support.provenance import described, provenance
    from rspca.cli.support.results import model_lines, scaling_hint
    from rspca.estimator import SparsePCA
    from rspca.formats.registry import subject_of
    from rspca.methods.decompose import checked_settings
    from rspca.models.fit import FitArguments, fit_model

    options = _options(k, n, preparing, data) | {"deflation": deflation, "random_state": seed}
    options |= {"certify": certify, "certify_seconds": seconds, "max_per_group": max_per_group} | several.given()
    variance = certify or groups is not None or deflation != "schur" or bool(several.given())
    options["method"] = _method(method, data, variance=variance)
    count, model = options["n_components"], SparsePCA(**options)
    settings = checked_settings(model.get_params(deep=False))  # before a large file is read
    check_folder(out, [*RESULTS, PARTIAL, LOCK])
    with locked_folder(out):
        watched = Watched(data)
        with (
            shown(talking, count) as on_step,
            opened(
                data,
                reading,
                on_step,
                label=label,
                watched=watched,
                missing=preparing.missing,
                beside=of_samples.columns(),
                result=out,
            ) as table,
        ):
            known = of_samples.arguments(table)
            model.groups = groups_of(groups, table)
            label, samples = labels_of(label, table.sample_names, table.samples)
            inputs = described(data)
            watched.check("its checksum is not that of what was read. Run the command again.")
            options["groups"] = model.groups
            partial = Partial(out, settings_of(options | known, reading.given()), data_of(table, inputs))
            earlier = _earlier(partial, resume=resume and not settings.method.joint)

            def store(component: Component) -> None:
                watched.check("the component found meanwhile is of neither the old nor the new data.", mapped=True)
                partial.add(component)

            with partial.kept(count):
                fit_model(model, table, settings, LoopOptions(on_step, store, earlier), FitArguments(**known))
                if stability is not None:
                    begun = partial.halves_for(stability)
                    model.stability(
                        table, stability, seed, on_step=on_step, on_halves=partial.add_halves, earlier=begun, **known
                    )
                scores = model.transform(table, covariates=known.get("covariates"))
                watched.check(
                    "its scores are of neither the old nor the new data, and nothing was written.", mapped=True
                )
                documents, origin = documents_of(data, table, reading), provenance(inputs, seed=seed)
                page = {"sample_names": table.sample_names, "samples": samples, "label": label, "provenance": origin}
                page |= {"documents": documents, "title": title or ", ".join(path.name for path in data)}
                page["kind"] = subject_of(data)
                written, replaced = _write(out, model, table, scores, samples, page if report else None)
        for line in model_lines(model, table, scores, documents=table.terms is not None):
            talking.say(line)
        _say_written(talking, out, written, replaced)
        if (hint := scaling_hint(model, table)) is not None:
            talking.say(f"hint: {hint}")
        if talking.json:
            _answer(talking, out, model, table, written, {"replaced": replaced, "provenance": origin})


def _method(method: str | None, data: list[Path], *, variance: bool) -> str:
    """Return the method: for documents "topics", unless another option needs components of most variance."""
    return method or ("topics" if registry.are_documents(data) and not variance else "rspca")


def _options(k: str, n: int | None, preparing: Preparing, data: list[Path]) -> dict[str, Any]:
    """Return how many components of how many features, and how columns are prepared, as SparsePCA names them."""
    ks = sparsities("-k", k)
    count = n or len(ks)
    if len(ks) not in (1, count):
        raise ValueError(f"-k {k} has {len(ks)} numbers for -n {count} components; give one, or one for each.")
    return {"n_components": count, "k": ks[0] if len(ks) == 1 else ks, **preparing.options(data)}


def _earlier(partial: Partial, *, resume: bool) -> list[Component]:
    """Return the components of a run that stopped, if they are to be continued; say what becomes of them."""
    earlier = partial.resume() if resume else []
    if earlier:
        typer.echo(f"rspca: continuing after {len(earlier)} component(s) of {partial.path}.", err=True)
    elif partial.path.exists():
        typer.echo(f"rspca: {partial.path} of a run that stopped will be replaced.", err=True)
    return earlier


def _write(
    out: Path,
    model: SparsePCA,
    table: Table,
    scores: Any,
    samples: dict[str, Any],
    page: dict[str, Any] | None,
) -> tuple[list[str], list[str]]:
    """Write the results, all of them or none; return the names of the files, and of those that were there before."""
    from rspca.base.atomic import replaced_together
    from rspca.cli.support.outputs import write_components, write_scores, write_shares
    from rspca.report import write_report
    from rspca.text import has_shares

    shares = has_shares(model)
    written = ["components.csv", "scores.csv", "model.npz", *(["shares.csv"] if shares else [])]
    written += [] if page is None else ["report.html"]
    replaced = [name for name in written if (out / name).exists()]
    with replaced_together():
        model.save(out / "model.npz")
        write_components(out / "components.csv", model, table)
        write_scores(out / "scores.csv", scores, table.sample_names, samples)
        if shares:
            write_shares(out / "shares.csv", scores, table.sample_names, samples)
        if page is not None:
            write_report(out / "report.html", model, scores=scores, **page)
    for name in ("shares.csv", "report.html"):
        if name not in written and (out / name).exists():
            typer.echo(f"rspca: {out / name} is not of this fit, but of an earlier one.", err=True)
    return written, replaced


def _say_written(talking: Talking, out: Path, written: list[str], replaced: list[str]) -> None:
    talking.say(f"written to {out}: {', '.join(written)}")
    if replaced:
        talking.say(f"replaced, from an earlier run: {', '.join(replaced)}")


def _answer(
    talking: Talking, out: Path, model: SparsePCA, table: Table, written: list[str], origin: dict[str, Any]
) -> None:
    """Print the result as JSON."""
    from rspca.cli.support.results import model_document

    files = {name: str(out / name) for name in written}
    talking.answer(model_document(model, table) | {"files": files} | origin, "")
