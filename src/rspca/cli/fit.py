"""rspca fit: components of a file, written to a folder as they are found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rspca.cli.options import Data, LabelOption, Preparing, Seed, Talking, command, whole, whole_numbers
from rspca.cli.support.inputs import Reading

if TYPE_CHECKING:
    from rspca.estimator import SparsePCA
    from rspca.formats.table import Table

Certify = Annotated[bool, typer.Option("--certify", help="Prove how far each component is from the best.")]


@command
def fit(
    *,
    data: Data,
    k: Annotated[str, typer.Option("-k", metavar="INT[,INT...]", help="Features in each, or one number for each.")],
    n: Annotated[
        int | None, typer.Option("-n", parser=whole(1), help="Components; 1, or as many as numbers after -k.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("rspca-out"),
    method: Annotated[str, typer.Option(help="A method; rspca compare lists them.")] = "rspca",
    deflation: Annotated[
        str, typer.Option(metavar="schur|projection|orthogonal", help="What is removed before the next component.")
    ] = "schur",
    certify: Certify = False,
    seconds: Annotated[float, typer.Option(min=0.001, help="Time for the proofs of all components.")] = 30.0,
    groups: Annotated[
        str | None,
        typer.Option(metavar="BASEPAIRS|NAME|FILE", help="Windows of a .bed, a feature column, or a file of labels."),
    ] = None,
    max_per_group: Annotated[int, typer.Option(parser=whole(1), help="Features of one group in one component.")] = 1,
    seed: Seed = 0,
    label: LabelOption = None,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the components of a run that stopped.")] = False,
    preparing: Preparing,
    reading: Reading,
    talking: Talking,
) -> None:
    """Find components; write components.csv, scores.csv, model.npz and report.html.

    rspca fit expression.csv -k 50 -n 2 -o out
    rspca fit genotypes.bed -k 50 -n 2 --scale patterson --groups 250000
    rspca fit cells.h5ad -k 30,20,10 --layer lognorm --label cell_type
    rspca fit docs/ -k 60 -n 4
    rspca fit large.npy -k 100 -n 20 -o out --resume

    A run that was stopped goes on with --resume, and gives what it would have given. An earlier result in the folder is
    replaced when the new one is complete. Two runs cannot write to one folder at the same time.
    """
    from rspca.algorithm.component import Options
    from rspca.api import check_certifiable, check_settings
    from rspca.cli.support.checkpoint import NAME as PARTIAL
    from rspca.cli.support.locks import LOCK, locked_folder
    from rspca.cli.support.outputs import RESULTS, check_folder

    ks = whole_numbers("-k", k)
    count = n or len(ks)
    options: dict[str, Any] = {
        "n_components": count, "k": ks[0] if len(ks) == 1 else ks, "method": method, "deflation": deflation,
        "certify": certify, "certify_seconds": seconds, "max_per_group": max_per_group, "random_state": seed,
        **preparing.options(),
    }  # fmt: skip
    if len(ks) not in (1, count):
        raise ValueError(f"-k {k} has {len(ks)} numbers for -n {count} components; give one, or one for each.")
    check_settings(method=method, normalization="svd", deflation=deflation, options=Options()._asdict())
    check_certifiable(method, deflation, certify, seconds)
    check_folder(out, [*RESULTS, PARTIAL, LOCK])
    with locked_folder(out):
        _run(data, reading, talking, out, options, groups=groups, label=label, report=report, resume=resume)


def _run(
    data: list[Path], reading: Reading, talking: Talking, out: Path, options: dict[str, Any], *, groups: str | None,
    label: str | None, report: bool, resume: bool,
) -> None:  # fmt: skip
    """Fit, and write what was found."""
    from rspca.algorithm.results import Component
    from rspca.cli.support import results
    from rspca.cli.support.changed_files import Watched
    from rspca.cli.support.checkpoint import Partial, data_of, settings_of
    from rspca.cli.support.inputs import documents_of, groups_of, labels_of, opened
    from rspca.cli.support.progress import shown
    from rspca.cli.support.provenance import described, provenance
    from rspca.estimator import SparsePCA
    from rspca.methods import FOUND_TOGETHER

    watched = Watched(data)
    with (
        shown(talking, options["n_components"]) as tell,
        opened(data, reading, tell, label=label, watched=watched) as table,
    ):
        options["groups"] = groups_of(groups, table)
        label, samples = labels_of(label, table.sample_names, table.samples)
        inputs = described(data)
        watched.check("its checksum is not that of what was read. Run the command again.")
        partial = Partial(out, settings_of(options, reading.given()), data_of(table, inputs))
        earlier = partial.resume() if resume and options["method"] not in FOUND_TOGETHER else []
        if earlier:
            typer.echo(f"rspca: going on after {len(earlier)} component(s) of {partial.path}.", err=True)
        elif partial.path.exists():
            typer.echo(f"rspca: {partial.path} of a run that stopped will be replaced.", err=True)

        def keep(component: Component) -> None:
            watched.check("the component found meanwhile is of neither the old nor the new data.", mapped=True)
            partial.add(component)

        with partial.kept(options["n_components"]):
            model = SparsePCA(**options).fit(table, on_step=tell, on_component=keep, earlier=earlier)
            scores = model.transform(table)
            watched.check("its scores are of neither the old nor the new data, and nothing was written.", mapped=True)
            documents, origin = documents_of(data, table, reading), provenance(inputs, seed=options["random_state"])
            page = {"sample_names": table.sample_names, "samples": samples, "label": label, "provenance": origin}
            page |= {"documents": documents, "title": ", ".join(one.name for one in data)}
            written, replaced = _write(out, model, table, scores, page if report else None)
            if not report and (out / "report.html").exists():
                typer.echo(f"rspca: {out / 'report.html'} is not of this fit, but of an earlier one.", err=True)
    for line in results.model_lines(model, table, scores, documents=documents is not None):
        talking.say(line)
    talking.say(f"written to {out}: {', '.join(written)}")
    if replaced:
        talking.say(f"replaced, from an earlier run: {', '.join(replaced)}")
    if talking.json:
        document = results.model_document(model, table)
        files = {one: str(out / one) for one in written}
        talking.answer(document | {"files": files, "replaced": replaced, "provenance": origin}, "")


def _write(
    out: Path, model: SparsePCA, table: Table, scores: Any, page: dict[str, Any] | None
) -> tuple[list[str], list[str]]:
    """Write the results, all of them or none; return the names of the files, and of those that were there before."""
    from rspca.base.atomic import replaced_together
    from rspca.cli.support.outputs import write_components, write_scores
    from rspca.cli.support.page import write_page

    written = ["components.csv", "scores.csv", "model.npz", *([] if page is None else ["report.html"])]
    replaced = [name for name in written if (out / name).exists()]
    with replaced_together():
        model.save(out / "model.npz")
        write_components(out / "components.csv", model, table)
        write_scores(out / "scores.csv", scores, table.sample_names, table.samples)
        if page is not None:
            write_page(out / "report.html", model, scores=scores, **page)
    return written, replaced
