"""rspca certify: how far k features are from the best k features."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rspca.cli.options import Data, Preparing, Seed, Talking, command, whole
from rspca.cli.support.inputs import Source
from rspca.cli.support.interrupts import end_early
from rspca.cli.support.samples import OfSamples


@dataclass(frozen=True)
class Set:
    """Several components that are to be certified together."""

    n: Annotated[int, typer.Option("-n", parser=whole(1), help="Components, certified as a set from 2 on.")] = 1
    constraint: Annotated[
        str | None,
        typer.Option(metavar="orthogonal|uncorrelated|disjoint", help="What holds between several components."),
    ] = None
    shared_support: Annotated[
        bool, typer.Option("--shared-support", help="Several components use the same features.")
    ] = False

    def options(self) -> dict[str, Any]:
        """Return the arguments of the library."""
        several = {"n_components": self.n, "constraint": self.constraint, "shared_support": self.shared_support}
        return {name: value for name, value in several.items() if value not in (1, None, False)}


@dataclass(frozen=True)
class Grouped:
    """Limits on groups of features."""

    groups: Annotated[
        str | None,
        typer.Option(metavar="BASEPAIRS|NAME|FILE", help="Groups: windows, a feature column, or a file of labels."),
    ] = None
    max_per_group: Annotated[int, typer.Option(parser=whole(1), help="Features of one group.")] = 1


@dataclass(frozen=True)
class Certified:
    """The component of a saved model that is to be certified."""

    model: Annotated[Path | None, typer.Option(help="A model of these data, to be certified.")] = None
    component: Annotated[int, typer.Option(parser=whole(1), help="Which component of the model.")] = 1


@command
def certify(
    *,
    data: Data,
    k: Annotated[
        int | None, typer.Option("-k", parser=whole(1), help="Features; with --model those of its component.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.001, help="Time for the proof.")] = 30.0,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also save the certificate as .json.")] = None,
    several: Set,
    grouped: Grouped,
    certified: Certified,
    source: Source,
    of_samples: OfSamples,
    talking: Talking,
) -> None:
    """Prove how far k features are from the best k features.

    rspca certify expression.csv -k 10 --seconds 60
    rspca certify expression.csv --model out/model.npz --component 2
    rspca certify expression.csv -k 10 -n 3 --constraint orthogonal
    rspca certify genotypes.bed -k 50 --scale patterson --groups 250000

    Ctrl-C ends the proof early and keeps what is proven. With --model, data are prepared and deflated as in its fit,
    and features are found by name; better features than those of the model are certified instead, and it says so. A
    model with groups is compared with supports that keep to them.
    """
    from rspca.api import certify as prove
    from rspca.certificates.certify import variance_given
    from rspca.cli.support.inputs import component_options, groups_of, loaded, opened
    from rspca.cli.support.outputs import check_file
    from rspca.cli.support.progress import shown
    from rspca.cli.support.results import beside_the_model, certificate_document
    from rspca.operators.prepared import SampleArguments

    model, component = certified.model, certified.component
    options = source.options(data) | {"seconds": seconds, "random_state": seed} | several.options()
    check_file(out)
    fitted: Any = None
    if model is not None:
        if several.options():
            raise ValueError(
                "--model certifies one of its components: leave -n, --constraint and --shared-support out."
            )
        if grouped.groups is not None:
            raise ValueError("With --model the groups are those of its fit: leave --groups out.")
        if (source.scale, source.center, source.missing) != (Preparing.scale, Preparing.center, Preparing.missing):
            raise ValueError(
                "With --model the data are prepared as in its fit: leave --scale, --no-center and --missing out."
            )
        fitted, file = loaded(model)
        if component > fitted.n_components_:
            raise ValueError(f"--component {component}: {file} has {fitted.n_components_} component(s).")
        options |= {"center": fitted.center, "scale": fitted.scale, "deflation": fitted.deflation}
        options |= {"missing": fitted.missing}
        _check_same_samples(fitted, of_samples)
        k = k or len(fitted.supports_[component - 1])
    if k is None:
        raise ValueError("-k is needed, the number of features; or --model, whose component is to be certified.")
    own = None
    with (
        shown(talking, 1) as tell,
        opened(
            data,
            source,
            tell,
            model=fitted,
            empty="error",
            missing=source.missing,
            beside=of_samples.columns(),
            result=out,
        ) as table,
    ):
        options |= of_samples.arguments(table)
        if model is not None:
            options |= component_options(fitted, component, table)
        if grouped.groups is not None:
            options |= {"groups": groups_of(grouped.groups, table), "max_per_group": grouped.max_per_group}
        found = prove(table, k, on_step=tell, **options)
        if model is not None:
            left_out = {"seconds", "random_state", "groups", "max_per_group", *SampleArguments._fields}
            given = {name: options[name] for name in SampleArguments._fields if name in options}
            rest = {name: value for name, value in options.items() if name not in left_out}
            own = variance_given(table, of_samples=SampleArguments(**given), **rest)
    if out is not None:
        found.save(out)
    document = certificate_document(found, table) | ({} if own is None else {"model_variance": own})
    talking.answer(document, "\n".join([str(found), *beside_the_model(found, own, table)]))
    if found.stopped_by == "interrupt":
        end_early("the proof ended early, and what it had is above.")


def _check_same_samples(fitted: Any, of_samples: OfSamples) -> None:
    """Refuse to certify a component in other data than it was found in: those without its covariates or weights."""
    has_covariates = of_samples.covariates is not None or of_samples.covariate is not None
    if hasattr(fitted, "covariates_") != has_covariates:
        what = "needs" if not has_covariates else "was fitted without"
        raise ValueError(f"The model {what} covariates: give --covariates and --covariate as in its fit.")
    weighted = any(words.startswith("samples weighted") for words in fitted.preparation_)
    if weighted != (of_samples.weights is not None):
        raise ValueError("The weights of samples are not those of the fit: give --weights as in the fit.")
