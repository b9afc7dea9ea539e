"""Fitted models, certificates and paths as JSON documents and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rspca.cli.support.outputs import missing_shares, ranked
from rspca.estimator import SparsePCA
from rspca.formats.table import Table

SHOWN_ASSOCIATES = 10
"""Associates, and runners-up, of a component in a document."""
SHOWN_FEATURES, SHOWN_WORDS, SHOWN_DOCUMENTS = 5, 10, 3
"""How many of each a line shows; files have all."""
NEARLY_ALL = 0.9
"""Share of a component from which a single feature makes it up, and unequal units are the likely reason."""


def model_document(model: SparsePCA, table: Table) -> dict[str, Any]:
    """Return all that a fit found, with names."""
    certificates = getattr(model, "certificates_", [None] * model.n_components_)
    together = getattr(model, "joint_certificate_", None)
    return {
        "n_samples": model.n_samples_,
        "n_features": model.n_features_in_,
        "method": model.method,
        "joint_gain": getattr(model, "joint_gain_", None),
        "joint_certificate": None if together is None else certificate_document(together, table),
        "components": [
            {
                "component": j + 1,
                "explained_variance": model.explained_variance_[j],
                "explained_variance_ratio": model.explained_variance_ratio_[j],
                "features": [
                    {
                        "name": table.feature_names[feature.name],
                        "index": feature.name,
                        "loading": feature.loading,
                        "inclusion_probability": feature.inclusion_probability,
                        "structure": feature.structure,
                        "share": feature.share,
                        **{name: table.features[name][feature.name] for name in table.features},
                        **{name: column[feature.name] for name, column in missing_shares(model, table).items()},
                    }
                    for feature in ranked(model, j)
                ],
                "reconstruction_ratio": _entry(model, "reconstruction_ratio_", j),
                "associates": [
                    {"name": table.feature_names[feature.name], "index": feature.name, "structure": feature.structure}
                    for feature in associates_of(model, j)
                ],
                "stability": _stability(model, table, j),
                "certificate": None if certificates[j] is None else certificate_document(certificates[j], table),
            }
            for j in range(model.n_components_)
        ],
    }


def associates_of(model: SparsePCA, component: int) -> list[Any]:
    """Return the features that could have stood in, numbered."""
    names = range(model.n_features_in_)
    return model.top_features(component, 0, names=names, associates=SHOWN_ASSOCIATES)


def _entry(model: SparsePCA, name: str, component: int) -> Any:
    values = getattr(model, name, None)
    return None if values is None else values[component]


def _stability(model: SparsePCA, table: Table, component: int) -> dict[str, Any] | None:
    """Return what half-samples say of a component, or None if none were drawn."""
    known = getattr(model, "stability_", None)
    if known is None:
        return None
    others = known.runners_up(component, SHOWN_ASSOCIATES)
    return {
        "n_pairs": known.n_pairs,
        "cosine": known.cosine[component],
        "overlap": known.overlap[component],
        "wrong_at_0.9_at_most": known.error_bound(0.9)[component],
        "assumption": known.assumption,
        "runners_up": [{"name": table.feature_names[i], "index": i, "share": share} for i, share in others],
    }


def model_lines(model: SparsePCA, table: Table, scores: Any, *, documents: bool) -> Iterator[str]:
    """Yield what a fit found, for people: a table of components, or topics with their highest documents; proofs."""
    yield from topic_lines(model, table, scores) if documents else component_table(model, table)
    for j, certificate in enumerate(getattr(model, "certificates_", ())):
        yield f"{'topic' if documents else 'component'} {j + 1}: {certificate}"
    if hasattr(model, "stability_"):
        yield from str(model.stability_).splitlines()
    if hasattr(model, "joint_gain_"):
        yield f"together: {100 * model.joint_gain_:.2g} % more adjusted variance than found one by one"
    if hasattr(model, "joint_certificate_"):
        yield f"all components: {model.joint_certificate_}"


def component_table(model: SparsePCA, table: Table) -> Iterator[str]:
    """Yield a head and a line for each component: its number, share of the variance and largest features."""
    yield "component   variance  features, largest loadings first"
    for j, share in enumerate(model.explained_variance_ratio_):
        names = _in_words(ranked(model, j), table.feature_names, SHOWN_FEATURES)
        yield f"{j + 1:>9}  {100 * share:>7.3g} %  {names}"


def topic_lines(model: SparsePCA, table: Table, scores: Any) -> Iterator[str]:
    """Yield the words of each topic, and the documents that score highest."""
    for j, share in enumerate(model.explained_variance_ratio_):
        names = _in_words(ranked(model, j), table.feature_names, SHOWN_WORDS)
        yield f"topic {j + 1}: {100 * share:.3g} % of the variance; {names}"
        best = np.argsort(-scores[:, j], kind="stable")[:SHOWN_DOCUMENTS]
        yield "    highest: " + ", ".join(f"{table.sample_names[i]} ({scores[i, j]:.3g})" for i in best)


def scaling_hint(model: SparsePCA, table: Table) -> str | None:
    """Return advice if the columns were not scaled and one of them makes up nearly all of the first component."""
    first = ranked(model, 0)
    if model.scale is not False or len(first) < 2 or first[0].loading ** 2 < NEARLY_ALL:
        return None
    name = table.feature_names[first[0].name]
    return (
        f"{name} alone makes up {100 * first[0].loading ** 2:.4g} % of component 1, because its variance is far larger "
        "than that of the other columns. If columns have different units, scale them: --scale yes."
    )


def _in_words(features: list[Any], names: Any, most: int) -> str:
    """Return the largest features: those with positive loadings, against those with negative ones."""
    shown = features[:most]
    sides = [
        ", ".join(str(names[feature.name]) for feature in shown if (feature.loading > 0) is up) for up in (True, False)
    ]
    return " against ".join(side for side in sides if side) + (", ..." if len(features) > most else "")


def certificate_document(certificate: Any, table: Table) -> dict[str, Any]:
    """Return a certificate as it is saved, of one component or of several, with its gap and the names of features."""
    if hasattr(certificate, "supports"):
        names: list[Any] = [[table.feature_names[i] for i in support] for support in certificate.supports]
    else:
        names = [table.feature_names[i] for i in certificate.support]
    return dict(certificate.as_json()) | {"gap": certificate.gap, "features": names}


def beside_the_model(certificate: Any, own: float | None, table: Table) -> Iterator[str]:
    """Yield a line on the component of the model, if what is certified is better."""
    if own is not None and own < (1.0 - certificate.tol) * certificate.lower:
        less = 100.0 * (1.0 - own / certificate.lower)
        names = ", ".join(str(table.feature_names[i]) for i in certificate.support[:SHOWN_WORDS])
        more = ", ..." if len(certificate.support) > SHOWN_WORDS else ""
        yield f"not the model's component, which has variance {own:.6g}, {less:.2g} % less: {names}{more}"


def path_document(points: Any, table: Table) -> dict[str, Any]:
    """Return a path with names, the k that it suggests, and the paths of later components."""
    rows = [
        {
            "k": point.k,
            "variance": point.variance,
            "share": point.share,
            "upper": point.upper,
            "gap": point.gap,
            "held_out": point.held_out,
            "held_out_se": point.held_out_se,
            "features": [
                {"name": table.feature_names[i], "index": i, "loading": loading}
                for i, loading in zip(point.support, point.loadings, strict=True)
            ],
        }
        for point in points
    ]
    later = [path_document(path, table) for path in points.later]
    return {"points": rows, "suggested": points.suggested, "why": points.why, "later": later}


def path_table(found: Any, table: Table) -> tuple[list[str], Iterator[list[Any]]]:
    """Return the head and the lines of a path as a spreadsheet; of several components with their number."""
    tested = any(point.held_out is not None for point in found)
    head = ["k", "variance", "share", "upper", "gap", *(["held_out", "held_out_se"] if tested else []), "features"]

    def lines() -> Iterator[list[Any]]:
        for number, path in enumerate((found, *found.later), 1):
            for point in path:
                shares = [point.held_out, point.held_out_se] if tested else []
                names = ";".join(str(table.feature_names[i]) for i in point.support)
                yield [*([number] if found.later else []), *point[:5], *shares, names]

    return (["component", *head] if found.later else head), lines()


def comparison_document(found: Any, table: Table) -> dict[str, Any]:
    """Return a comparison, with what was proven and what was skipped."""
    proof = None if found.certificate is None else certificate_document(found.certificate, table)
    return {"methods": [row._asdict() for row in found], "skipped": found.skipped, "certificate": proof}
