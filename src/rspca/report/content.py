"""What the page shows, as one dictionary that JSON can hold: made from a fitted model, scores and properties."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rspca.base.checks import check_length, real_array, spelled
from rspca.base.types import Array
from rspca.genetics.linkage import linkage_note
from rspca.linalg.explained_variance import cosines
from rspca.report.circle import circle
from rspca.report.columns import column, names, numbers, plain_text, sample_column
from rspca.report.kinds import KINDS, Kind, in_words_of, kind_of, links
from rspca.report.labels import label_table, separated
from rspca.report.words import (
    certificate_words,
    halves_words,
    preparation,
    provenance_rows,
    settings,
    stability_words,
    summary,
    together_words,
    unit_words,
    variance_unit,
)

if TYPE_CHECKING:
    from rspca.analysis.compare import Comparison
    from rspca.analysis.compare_sets import SetComparison
    from rspca.analysis.k_path import Path
    from rspca.analysis.permutation import PermutationTest
    from rspca.certificates.certificate import Certificate
    from rspca.certificates.joint import JointCertificate
    from rspca.estimator import SparsePCA

MOST_FEATURES = 1000
"""Features of one component that the page lists."""
MOST_SAMPLES = 5000
"""Samples that the scatter shows."""
HEAT_FEATURES, OPEN_HEAT_ROWS, MOST_HEAT_ROWS = 8, 24, 60
"""Features that a component has at most in the table of all loadings; its rows before "show more", and in all."""
LOADING_DIGITS = 9
"""Digits of the largest loading of a component, on the page and in its files: enough for single precision."""
SHOWN_OTHERS = 8
"""Associates, and runners-up of the halves, that a card names."""
TOP_SAMPLES = 5
"""Samples with the largest scores that a card names."""


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What a report shows besides the model; ``write_report`` explains each."""

    scores: Any = None
    sample_names: Sequence[Any] | None = None
    samples: Mapping[str, Any] | None = None
    label: str | None = None
    path_points: Path | None = None
    comparison: Comparison | None = None
    set_comparison: SetComparison | None = None
    test: PermutationTest | None = None
    provenance: Mapping[str, Any] | None = None
    title: str | None = None
    documents: Sequence[str] | None = None
    reference: Any = None
    feature_names: Sequence[Any] | None = None
    kind: str | None = None


def report_content(model: SparsePCA, **extras: Any) -> dict[str, Any]:
    """Return what the page shows as plain lists, numbers and words; ``write_report`` explains the arguments.

    Examples
    --------
    >>> import rspca
    >>> model = rspca.SparsePCA(1, k=3).fit(rspca.GramOperator(rspca.datasets.load_pitprops()))
    >>> content = rspca.report.report_content(model, feature_names=rspca.datasets.PITPROPS_FEATURES)
    >>> content["features"]["names"], content["scores"]
    (['length', 'topdiam', 'bowdist'], None)
    """
    from rspca import __version__

    check_is_fitted(model)
    shown = Extras(**extras)
    scores = _checked_scores(model, "scores", shown.scores)
    reference = _checked_scores(model, "reference", shown.reference)
    if reference is not None and scores is None:
        raise ValueError("reference is drawn below scores: give scores=model.transform(X) too.")
    _check_kinds(shown)
    columns = {} if shown.samples is None else dict(shown.samples.items())  # a frame has items too
    properties = {f"samples[{name!r}]": values for name, values in columns.items()}
    _check_samples(scores, {"sample_names": shown.sample_names, "documents": shown.documents} | properties)
    if shown.label is not None and shown.label not in columns:
        raise ValueError(
            f"label={shown.label!r} must name a column of samples, which has {', '.join(map(str, columns)) or 'none'}."
        )
    called = _feature_names(model, shown.feature_names)
    subject = kind_of(model, shown.documents, shown.kind)
    kind, unit = KINDS[subject], variance_unit(model)
    ranked = [model.top_features(j, names=range(model.n_features_in_)) for j in range(model.n_components_)]
    used = list(dict.fromkeys(feature.name for rows in ranked for feature in rows[:MOST_FEATURES]))
    place = {index: number for number, index in enumerate(used)}
    people = _sample_names(scores, shown.sample_names, kind)
    labels = None if scores is None else label_table(scores, columns)
    listed = [f"x{i}" for i in used] if called is None else names(called, used, kind.feature)
    texts = None if shown.documents is None else list(shown.documents)
    tops = [[] if scores is None else _top(scores[:, j], people, texts) for j in range(model.n_components_)]
    return {
        "title": plain_text(shown.title or "Sparse principal components"),
        "generator": f"rspca {__version__}",
        "kind": kind._asdict(),
        "summary": summary(model, kind),
        "preparation": preparation(model, kind),
        "unit": unit_words(model, kind),
        "together": together_words(model, kind),
        "named": called is not None,
        "components": [
            _component(model, j, ranked[j], place, kind)
            | {"top": tops[j], "separates": separated(labels, j, shown.label), "verdict": _verdict(shown.test, j)}
            | _others(model, j, called, kind)
            for j in range(len(ranked))
        ],
        "test": None if shown.test is None else _test(shown.test, kind, unit),
        "halves": None if not hasattr(model, "stability_") else halves_words(model.stability_, kind),
        "features": {
            "names": listed,
            "columns": _feature_columns(model, used, called),
            "links": links(listed, subject),
        },
        "heat": _heat(model, ranked, place),
        "circle": circle(model, called, kind),
        "measure": "correlation" if model.center else "cosine",
        "genome": {"chromosome", "position"} <= set(getattr(model, "features_", {})),
        "labels": labels,
        "overlap": _overlap(model),
        "correlation": _correlation(model, scores),
        "scores": None if scores is None else _scores(scores, people, columns, shown.label, reference),
        "path": None if shown.path_points is None else _path(shown.path_points, kind, unit),
        "comparison": None if shown.comparison is None else _comparison(shown.comparison, kind, unit),
        "set_comparison": None if shown.set_comparison is None else _set_comparison(shown.set_comparison, kind, unit),
        "settings": settings(model),
        "provenance": provenance_rows(shown.provenance or {}),
    }


def _checked_scores(model: SparsePCA, name: str, scores: Any) -> Array | None:
    if scores is None:
        return None
    known = real_array(name, scores)
    if known.ndim != 2 or known.shape[1] != model.n_components_ or not len(known):
        raise ValueError(
            f"{name} has shape {known.shape}; {model.n_components_} column(s) are needed: model.transform(X)."
        )
    if not np.isfinite(known).all():
        raise ValueError(f"{name} contains NaN or infinite values; scores as transform returns them are needed.")
    return known


def _check_kinds(shown: Extras) -> None:
    """Refuse what is of another kind than the page can show."""
    for name, values in (("samples", shown.samples), ("provenance", shown.provenance)):
        if values is not None and not hasattr(values, "items"):
            raise TypeError(f"{name}={spelled(values)} must be a mapping of names to values.")
    if shown.path_points is not None and not hasattr(shown.path_points, "suggested"):
        raise TypeError(f"path_points={spelled(shown.path_points)} must be what rspca.path returned.")
    if shown.test is not None and not hasattr(shown.test, "null"):
        raise TypeError(f"test={spelled(shown.test)} must be what rspca.permutation_test returned.")
    if shown.comparison is not None and not hasattr(shown.comparison, "certificate"):
        raise TypeError(f"comparison={spelled(shown.comparison)} must be what rspca.compare returned.")
    for name in ("comparison", "set_comparison"):
        rows = getattr(shown, name)
        if rows and hasattr(rows[0], "mode") != (name == "set_comparison"):
            what = "several components" if name == "set_comparison" else "one component"
            raise TypeError(f"{name} must be what rspca.compare returned for {what}.")


def _check_samples(scores: Array | None, properties: Mapping[str, Any]) -> None:
    """Raise if there are properties of samples without scores, or not one value for each row of the scores."""
    for name, values in properties.items():
        if values is not None and scores is None:
            raise ValueError(
                f"{name} describes samples, which are shown by their scores: give scores=model.transform(X)."
            )
        if values is not None and scores is not None:
            check_length(name, values, len(scores), "rows of scores")


def _feature_names(model: SparsePCA, given: Sequence[Any] | None) -> Any:
    if given is not None:
        check_length("feature_names", given, model.n_features_in_, "features")
    return getattr(model, "feature_names_in_", None) if given is None else list(given)


def _sample_names(scores: Array | None, given: Sequence[Any] | None, kind: Kind) -> list[str]:
    if scores is None:
        return []
    if given is None:
        return [f"{kind.sample} {i}" for i in range(len(scores))]
    return names(list(given), range(len(given)), kind.sample)


def _component(
    model: SparsePCA, number: int, ranked: list[Any], place: Mapping[int, int], kind: Kind
) -> dict[str, Any]:
    """Return the card of a component, without its samples."""
    shown = ranked[:MOST_FEATURES]
    loadings = numbers([feature.loading for feature in shown], LOADING_DIGITS)
    linked = getattr(model, "linked_share_", None)
    note = None if linked is None else linkage_note(float(linked[number]))
    proofs = getattr(model, "certificates_", None)
    ratios = model.explained_variance_ratio_
    return {
        "number": number + 1,
        "variance": float(model.explained_variance_[number]),
        "share": float(ratios[number]),
        "cumulative": float(np.sum(ratios[: number + 1])),
        "certificate": None if proofs is None else certificate_words(proofs[number], model, number, kind),
        "notes": [note] if note else [],
        "count": len(ranked),
        "places": [place[feature.name] for feature in shown],
        "loadings": loadings,
        "decimals": max(2, 3 - LOADING_DIGITS - loadings["exponent"]),
        "structure": _numbers([feature.structure for feature in shown], 3),
        "stable": _numbers([feature.share for feature in shown], 3),
        "rebuilt": float(model.reconstruction_ratio_[number]) if hasattr(model, "reconstruction_ratio_") else None,
    }


def _numbers(values: list[Any], digits: int) -> dict[str, Any] | None:
    """Return numbers as `numbers` does, or None where they are not known."""
    return None if not values or values[0] is None else numbers(values, digits)


def _others(model: SparsePCA, number: int, called: Any, kind: Kind) -> dict[str, Any]:
    """Return the features that a component does not have and that could stand in, and what halves say of it."""
    named = model.top_features(number, 0, names=range(model.n_features_in_), associates=SHOWN_OTHERS)

    def name(i: int) -> str:
        return f"x{i}" if called is None else names(called, [i], kind.feature)[0]

    known = getattr(model, "stability_", None)
    return {
        "associates": [{"name": name(one.name), "structure": round(float(one.structure or 0.0), 3)} for one in named],
        "stability": None if known is None else stability_words(known, number, kind),
        "overlap": None if known is None else float(known.overlap[number]),
        "runners_up": []
        if known is None
        else [{"name": name(one.feature), "share": one.share} for one in known.runners_up(number, SHOWN_OTHERS)],
    }


def _verdict(test: PermutationTest | None, number: int) -> dict[str, Any] | None:
    """Return what a permutation test says of a component."""
    if test is None or number >= len(test.p):
        return None
    words = test.words(number)
    return {
        "words": words[0].upper() + words[1:],
        "status": "optimal" if number < test.suggested else "gap",
        "p": float(test.p[number]),
    }


def _test(test: PermutationTest, kind: Kind, unit: float) -> dict[str, Any]:
    """Return the permutation test: each component with its null band, and what it suggests."""
    low, high = (limits / unit for limits in test.band())
    rows = [
        {"number": j + 1, "k": int(test.k[j]), "variance": float(test.statistic[j] / unit), "p": float(p)}
        | {"low": float(low[j]), "high": float(high[j])}
        for j, p in enumerate(test.p)
    ]
    known = {"suggested": test.suggested, "alpha": test.alpha, "permutations": test.n_permutations}
    return known | {"rows": rows, "assumption": in_words_of(kind, test.assumption)}


def _top(scores: Array, people: list[str], documents: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return the samples with the largest |score|."""
    best = np.argsort(-np.abs(scores), kind="stable")[:TOP_SAMPLES].tolist()
    texts = [None if documents is None else plain_text(" ".join(str(documents[i]).split())) for i in best]
    return [
        {"name": people[i], "score": float(f"{scores[i]:.4g}"), "text": text}
        for i, text in zip(best, texts, strict=True)
    ]


def _feature_columns(model: SparsePCA, used: list[int], called: Any) -> list[dict[str, Any]]:
    """Return the properties of the features, without those that only repeat their names or say yes to all."""
    found = []
    for name, values in getattr(model, "features_", {}).items():
        chosen = np.asarray(values)[used]
        if chosen.dtype == bool and len(np.unique(chosen)) == 1:  # as "highly variable", by which they were chosen
            continue
        if called is None or [str(v) for v in chosen.tolist()] != [str(called[i]) for i in used]:
            found.append({"name": plain_text(name), **column(chosen)})
    shares = getattr(model, "missing_share_", None)
    if shares is not None and shares[used].any() and "missing" not in getattr(model, "features_", {}):
        found.append({"name": "missing", **column(shares[used])})
    return found


def _heat(model: SparsePCA, ranked: list[list[Any]], place: Mapping[int, int]) -> dict[str, Any] | None:
    """Return the largest features of all components as rows, with their loadings in every component as columns.

    The first rows are the very largest of each component. Shades are of the largest loading of a column, so that a
    component with one large loading does not make those of others pale.
    """
    if model.n_components_ < 2:
        return None

    def leading(most: int) -> list[int]:
        each = max(1, min(most // model.n_components_, HEAT_FEATURES))
        return [feature.name for rows in ranked for feature in rows[:each]]

    first = list(dict.fromkeys(leading(OPEN_HEAT_ROWS)))
    chosen = list(dict.fromkeys([*first, *leading(MOST_HEAT_ROWS)]))
    largest = np.maximum(np.abs(model.components_).max(axis=1).astype(np.float64), np.finfo(np.float64).tiny)
    loadings = model.components_[:, chosen].T.astype(np.float64)
    shades = np.ceil(5.0 * np.abs(loadings) / largest - 1e-9).astype(int)
    return {
        "places": [place[index] for index in chosen],
        "open": len(first),
        "rows": [[float(f"{value:.3g}") for value in row] for row in loadings],
        "shades": np.clip(shades, 0, 5).tolist(),
        "decimals": max(2, 1 - math.floor(math.log10(float(largest.max())))),
    }


def _overlap(model: SparsePCA) -> list[list[int]]:
    """Return how many features every two components share."""
    return [[len(np.intersect1d(a, b)) for b in model.supports_] for a in model.supports_]


def _correlation(model: SparsePCA, scores: Array | None) -> dict[str, Any]:
    """Return how alike every two components are: by their scores, or by their loadings where there are no scores."""
    columns = model.components_.T.astype(np.float64) if scores is None else scores - scores.mean(axis=0)
    values = np.clip(cosines(columns), -1.0, 1.0).round(3) + 0.0  # no negative zero
    return {"of": "loadings" if scores is None else "scores", "values": values.tolist()}


def _scores(
    scores: Array, people: list[str], samples: Mapping[str, Any], label: str | None, reference: Array | None
) -> dict[str, Any]:
    """Return the scatter: all samples, or, of very many, some at even distances; below, those of the fit."""
    shown = _some(len(scores))
    below = None if reference is None else [numbers(values, 4) for values in reference[_some(len(reference))].T]
    return {
        "total": len(scores),
        "names": [people[i] for i in shown],
        "components": [numbers(values, 4) for values in scores[shown].T],
        "columns": [sample_column(name, np.asarray(values)[shown], name == label) for name, values in samples.items()],
        "label": None if label is None else list(samples).index(label),
        "reference": None if reference is None else {"total": len(reference), "components": below},
    }


def _some(count: int) -> Array:
    """Return the places of the samples to draw."""
    return np.unique(np.linspace(0, count - 1, min(count, MOST_SAMPLES)).astype(int))


def _path(points: Path, kind: Kind, unit: float) -> dict[str, Any]:
    """Return the path over k as shares of the first principal component, whose variance no k features exceed."""
    rows = []
    for p in points:
        upper = None if p.upper is None else min(1.0, float(p.upper / p.variance * p.share))
        gap = None if p.gap is None else float(p.gap)
        known = {
            "k": int(p.k),
            "variance": float(p.variance / unit),
            "share": float(p.share),
            "upper": upper,
            "gap": gap,
        }
        rows.append(known | {"held_out": p.held_out, "held_out_se": p.held_out_se})
    why = in_words_of(kind, points.why.replace(" %", "\N{NO-BREAK SPACE}%"))
    return {"points": rows, "suggested": int(points.suggested), "why": why}


def _comparison(comparison: Comparison, kind: Kind, unit: float) -> dict[str, Any]:
    """Return the methods, best first, and what was proven of all of them."""
    rows = [
        {
            "method": row.method,
            "loadings": row.normalization,
            "nonzeros": int(row.nonzeros),
            "share": float(row.share),
            "of_bound": None if row.of_bound is None else float(row.of_bound),
            "overlap": float(row.overlap),
            "passes": float(row.passes),
            "seconds": float(row.seconds),
        }
        for row in comparison
    ]
    skipped = [[name, in_words_of(kind, plain_text(reason, 500))] for name, reason in comparison.skipped.items()]
    return {"rows": rows, "skipped": skipped, "proof": _bound(comparison.certificate, kind, unit)}


def _set_comparison(comparison: SetComparison, kind: Kind, unit: float) -> dict[str, Any]:
    """Return the sets of components, most adjusted variance first, and what was proven of all of them."""
    counts = ("nonzeros",)
    rows = [
        {
            name: value if isinstance(value, str) or value is None else int(value) if name in counts else float(value)
            for name, value in row._asdict().items()
        }
        for row in comparison
    ]
    skipped = [[name, in_words_of(kind, plain_text(reason, 500))] for name, reason in comparison.skipped.items()]
    return {"rows": rows, "skipped": skipped, "proof": _bound(comparison.certificate, kind, unit)}


def _bound(proof: Certificate | JointCertificate | None, kind: Kind, unit: float) -> str | None:
    """Return a certificate in words, its variance in the unit of the page."""
    if proof is None:
        return None
    scaled = replace(proof, lower=proof.lower / unit, upper=proof.upper / unit)
    return in_words_of(kind, plain_text(scaled, 500))
