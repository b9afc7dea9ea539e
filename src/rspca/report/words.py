"""What a certificate, a fit and its settings say in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rspca.certificates.certificate import Certificate
from rspca.certificates.joint import JointCertificate
from rspca.certificates.words import ENDED, features_have, gap_up, times
from rspca.report.columns import plain_text
from rspca.report.kinds import Kind, in_words_of

if TYPE_CHECKING:
    from rspca.analysis.stability import Stability

WEAK = 0.2
"""Gap from which the page explains that a wide gap is a weak proof, not a bad component."""


def percent(share: float, digits: int = 3) -> str:
    """Return a share in percent with so many digits, and a space that does not break."""
    return f"{100.0 * share:.{digits}g}\N{NO-BREAK SPACE}%"


def percent_up(share: float, digits: int = 2) -> str:
    """Return a share in percent, rounded up, so that "no more than" stays true; never finer than 0.001 %."""
    return f"{100.0 * gap_up(share, digits):.10g}\N{NO-BREAK SPACE}%" if share > 0.0 else percent(0.0)


def variance_unit(model: Any) -> float:
    """Return by what sums of squares, as v'X'Xv of paths, tests and certificates, are divided to be variances.

    ``explained_variance_`` divides by the same: the weight of the samples less one, or 1 for a Gram matrix.
    """
    weight = float(getattr(model, "total_weight_", 0.0) or model.n_samples_ or 0.0)
    return weight - 1.0 if model.n_samples_ and weight > 1.0 else 1.0


def unit_words(model: Any, kind: Kind) -> str | None:
    """Return by what variances were divided; None if by nothing."""
    unit = variance_unit(model)
    if unit == 1.0:
        return None
    what = "number" if unit == model.n_samples_ - 1 else "total weight"
    return f"Variances are sums of squares divided by {unit:,.6g}, the {what} of {kind.samples} less one."


def certificate_words(certificate: Certificate, model: Any, number: int, kind: Kind) -> dict[str, Any]:
    """Return what is proven of a component: a sentence, its assumptions, and the numbers."""
    unit = variance_unit(model)
    limited = model.groups is not None
    given = ", given the components before it" if number else ""
    have = features_have(certificate.k, certificate.max_per_group)
    optimal = certificate.status == "optimal"
    if not _is_of(certificate, model, number):
        badge = "Bounded"
        sentence = f"Proven: no {have} more variance than {certificate.upper / unit:.5g}{given}. "
        sentence += f"Other features or loadings reach {certificate.lower / unit:.5g}; this component " + (
            "keeps to a limit on groups." if limited else "does not have refitted loadings."
        )
    elif optimal:
        badge = "Proven optimal"
        sentence = f"Proven optimal: no {have} more variance{given}."
    else:
        badge = f"{'Gap' if certificate.gap > WEAK else 'Within'} {percent_up(certificate.gap)}"
        sentence = f"Proven: no {have} more than {times(certificate.gap)} times this variance{given}. "
        sentence += gap_in_words(certificate.gap, "the component")
    if limited and not certificate.max_per_group:  # of an earlier version
        sentence += " The bound is for features without the limit on groups."
    facts = {
        "variance reached": f"{certificate.lower / unit:.6g}",
        "upper bound": f"{certificate.upper / unit:.6g}",
        "gap": percent_up(certificate.gap),
    } | _course(certificate)
    if certificate.nodes:
        facts["nodes searched"] = f"{certificate.nodes:,}"
    facts |= {
        "seconds": f"{certificate.seconds:.1f}",
        "assumptions": in_words_of(kind, "; ".join(certificate.assumptions)),
    }
    return {
        "badge": badge,
        "status": certificate.status,
        "sentence": in_words_of(kind, sentence),
        "facts": [[name, plain_text(value)] for name, value in facts.items()],
    }


def gap_in_words(gap: float, what: str) -> str:
    """Return what a gap means for the reader."""
    share = percent_up(gap)
    said = f"A gap of {share} means that the best possible choice has at most {share} more variance than this one."
    if gap > WEAK:
        return f"{said} A wide gap says that the proof is weak, not that {what} is bad."
    return f"{said} It may have less, and often this one is the best: that is not proven."


def _course(proof: Certificate | JointCertificate) -> dict[str, str]:
    """Return which bound was the best, and why the proof ended."""
    best = min(proof.bounds, key=lambda bound: bound.value)
    return {"best bound": best.name, "ended": ENDED[proof.stopped_by]}


def _is_of(certificate: Certificate, model: Any, number: int) -> bool:
    """Return whether the gap is that of the component itself, not of other features or refitted loadings."""
    if model.normalization == "svd" and model.groups is None:
        return True
    loadings = model.components_[number][certificate.support]
    same = np.array_equal(certificate.support, model.supports_[number])
    return bool(same and abs(float(loadings @ certificate.loadings)) > 1.0 - 1e-7)


def summary(model: Any, kind: Kind) -> str:
    """Return the fit in one sentence."""
    sizes = sorted({len(support) for support in model.supports_})
    count = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    alone, single = model.n_components_ == 1, sizes[-1] == 1
    each = " each" if len(sizes) == 1 and not alone else ""
    what = (
        f"{model.n_components_} component{'' if alone else 's'} of {count} {kind.feature if single else kind.features}"
    )
    data = f"{model.n_features_in_:,} {kind.features}"
    data += f" and {model.n_samples_:,} {kind.samples}" if model.n_samples_ else ""
    share = percent(float(np.sum(model.explained_variance_ratio_)))
    return f"{what}{each}: {'' if alone else 'together '}{share} of the variance of {data}."


MODES = {
    "orthogonal": "The loadings of every two components are orthogonal, exactly.",
    "uncorrelated": "The scores of every two components are uncorrelated, exactly.",
    "disjoint": "No feature is in two components.",
}


def together_words(model: Any, kind: Kind) -> dict[str, Any] | None:
    """Return how components were found together, and what is proven of all of them; None if one by one."""
    sentences = []
    if model.shared_support:
        sentences.append("All components use the same features.")
    elif model.constraint is not None:
        sentences.append(MODES[model.constraint])
    elif model.joint:
        gained = percent(max(model.joint_gain_, 0.0), 2)
        sentences.append(f"Found together: {gained} more variance than the same number of features found one by one.")
    if model.nonnegative:
        sentences.append("No loading is negative.")
    proof = getattr(model, "joint_certificate_", None)
    if not sentences and proof is None:
        return None
    return {
        "sentence": in_words_of(kind, " ".join(sentences)),
        "proof": None if proof is None else _joint_proof(proof, kind, variance_unit(model)),
    }


def _joint_proof(proof: JointCertificate, kind: Kind, unit: float) -> dict[str, Any]:
    """Return what is proven of all components: a badge, a sentence, and the numbers."""
    what = {
        "adjusted": "adjusted variance",
        "sum": "variance",
        "shared": "variance",
    }[proof.measure]
    if proof.status == "optimal":
        badge, sentence = "Proven optimal", f"Proven optimal: no such set of components has more {what}."
    else:
        badge = f"{'Gap' if proof.gap > WEAK else 'Within'} {percent_up(proof.gap)}"
        sentence = f"Proven: no such set of components has more than {times(proof.gap)} times this {what}. "
        sentence += gap_in_words(proof.gap, "the set of components")
    facts = {
        f"{what} reached": f"{proof.lower / unit:.6g}",
        "upper bound": f"{proof.upper / unit:.6g}",
        "gap": percent_up(proof.gap),
        **_course(proof),
        "seconds": f"{proof.seconds:.1f}",
        "assumptions": in_words_of(kind, "; ".join(proof.assumptions)),
    }
    return {
        "badge": badge,
        "status": proof.status,
        "sentence": sentence,
        "facts": [[name, plain_text(value)] for name, value in facts.items()],
    }


def preparation(model: Any, kind: Kind) -> str:
    """Return what was done to the data before the fit."""
    if not model.n_samples_:
        return "A covariance or Gram matrix, taken as given."
    scaled = {
        False: "not scaled",
        True: "scaled to unit variance",
        "patterson": "scaled by allele frequency (Patterson)",
    }
    done = f"Columns {'centered' if model.center else 'not centered'}, {scaled[model.scale]}."
    known = ("samples", "missing", "covariates")
    more = [words for words in getattr(model, "preparation_", ()) if words.startswith(known)]
    return " ".join([done, *(plain_text(_sentence(in_words_of(kind, words))) for words in more)])


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def settings(model: Any) -> list[dict[str, Any]]:
    """Return the parameters of the fit as text, with those that differ from the defaults marked."""
    defaults = type(model)().get_params()
    rows = []
    for name, value in model.get_params(deep=False).items():
        shown = _setting(value)
        rows.append({"name": name, "value": shown, "changed": shown != _setting(defaults[name])})
    return rows


def _setting(value: Any) -> str:
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return f"a {type(value).__name__}"
    if np.ndim(value) and np.size(value) > 12:
        return f"{np.size(value):,} labels, {len(set(map(str, np.ravel(value).tolist()))):,} different"
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return plain_text(value)


def provenance_rows(provenance: Any) -> list[list[Any]]:
    """Return provenance as pairs of a name and lines of text."""
    return [[plain_text(name), _lines(value)] for name, value in provenance.items()]


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{plain_text(name)}: {', '.join(_lines(item))}" for name, item in value.items()]
    if isinstance(value, list | tuple):
        return [line for item in value for line in ([_row(item)] if isinstance(item, dict) else _lines(item))]
    return [plain_text(value, 500)]


def _row(entry: dict[str, Any]) -> str:
    """Return one of several entries, as a file, in one line; its name needs no word before it."""
    parts = [", ".join(_lines(value)) if name == "name" else _lines({name: value})[0] for name, value in entry.items()]
    return ", ".join(parts)


def stability_words(stability: Stability, number: int, kind: Kind) -> str:
    """Return what fits to halves of the samples show about one component."""
    shares = stability.shares(number)[stability.supports[number]]
    often, bound = int(np.count_nonzero(shares >= 0.9)), float(stability.error_bound(0.9)[number])
    chosen = f"{often} of {len(shares)} {kind.features} {'is' if often == 1 else 'are'} chosen by at least 90 % of the"
    return (
        f"{chosen} fits to half of the {kind.samples}; on average at most {bound:.2g} of these are wrong. "
        f"The component of a half has a mean |cosine| of {stability.cosine[number]:.2f} with this one, and "
        f"{100 * stability.overlap[number]:.0f} % of its {kind.features}."
    )


def halves_words(stability: Stability, kind: Kind) -> str:
    """Return what the shares of halves are, and what the bound takes for granted."""
    pairs = f"{stability.n_pairs} complementary pair{'' if stability.n_pairs == 1 else 's'}"
    return (
        f"“Halves”: share of {2 * stability.n_pairs} fits, each to half of the {kind.samples} ({pairs} of halves), "
        f"that choose the {kind.feature}. {in_words_of(kind, stability.assumption)}"
    )
