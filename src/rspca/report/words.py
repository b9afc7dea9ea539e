"""What a certificate, a fit and its settings say in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rspca.certificates.certificate import Certificate
from rspca.certificates.joint import JointCertificate
from rspca.report.columns import plain_text

if TYPE_CHECKING:
    from rspca.analysis.stability import Stability

WEAK = 0.2
"""Gap from which the page explains that a wide gap is a weak proof, not a bad component."""


def percent(share: float, digits: int = 3) -> str:
    """Return a share in percent with so many digits, and a space that does not break."""
    return f"{100.0 * share:.{digits}g}\N{NO-BREAK SPACE}%"


def percent_up(share: float, digits: int = 2) -> str:
    """Return a share in percent, rounded up, so that "no more than" stays true; never finer than 0.001 %."""
    value = 100.0 * share
    if value <= 0.0:
        return percent(0.0)
    decimals = min(digits - 1 - math.floor(math.log10(value)), 3)
    return f"{math.ceil(value * 10.0**decimals - 1e-9) / 10.0**decimals:.10g}\N{NO-BREAK SPACE}%"


def certificate_words(certificate: Certificate, model: Any, number: int) -> dict[str, Any]:
    """Return what is proven of a component: a sentence, its assumptions, and the numbers."""
    limited = model.groups is not None
    given = ", given the components before it" if number else ""
    features = f"{certificate.k:,} features have" if certificate.k > 1 else "single feature has"
    optimal = certificate.status == "optimal"
    if not _is_of(certificate, model, number):
        badge = "Bounded"
        sentence = f"Proven: no {features} more variance than {certificate.upper:.5g}{given}. "
        sentence += f"Other features or loadings reach {certificate.lower:.5g}; this component " + (
            "keeps to a limit on groups." if limited else "does not have refitted loadings."
        )
    elif optimal:
        badge = "Proven optimal"
        sentence = f"Proven optimal: no {features} more variance{given}."
    else:
        badge = f"{'Gap' if certificate.gap > WEAK else 'Within'} {percent_up(certificate.gap)}"
        sentence = f"Proven: no {features} more than {percent_up(certificate.gap)} more variance{given}."
        if certificate.gap > WEAK:
            sentence += " A wide gap says that the proof is weak, not that the component is bad."
    if limited:
        sentence += " The bound is for features without the limit on groups."
    best = min(certificate.bounds, key=lambda bound: bound.value)
    facts = {
        "variance reached": f"{certificate.lower:.6g}",
        "upper bound": f"{certificate.upper:.6g}",
        "gap": percent_up(certificate.gap),
        "best bound": best.name,
        "stopped by": certificate.stopped_by,
        "nodes searched": f"{certificate.nodes:,}",
        "seconds": f"{certificate.seconds:.1f}",
        "assumptions": "; ".join(certificate.assumptions),
    }
    return {
        "badge": badge,
        "status": certificate.status,
        "sentence": sentence,
        "facts": [[name, plain_text(value)] for name, value in facts.items()],
    }


def _is_of(certificate: Certificate, model: Any, number: int) -> bool:
    """Return whether the gap is that of the component itself, not of other features or refitted loadings."""
    if model.normalization == "svd" and model.groups is None:
        return True
    loadings = model.components_[number][certificate.support]
    same = np.array_equal(certificate.support, model.supports_[number])
    return bool(same and abs(float(loadings @ certificate.loadings)) > 1.0 - 1e-7)


def summary(model: Any) -> str:
    """Return the fit in one sentence."""
    sizes = sorted({len(support) for support in model.supports_})
    count = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    alone, single = model.n_components_ == 1, sizes[-1] == 1
    each = " each" if len(sizes) == 1 and not alone else ""
    what = f"{model.n_components_} component{'' if alone else 's'} of {count} feature{'' if single else 's'}"
    data = f"{model.n_features_in_:,} features" + (f" and {model.n_samples_:,} samples" if model.n_samples_ else "")
    share = percent(float(np.sum(model.explained_variance_ratio_)))
    return f"{what}{each}: {'' if alone else 'together '}{share} of the variance of {data}."


MODES = {
    "orthogonal": "The loadings of every two components are orthogonal, exactly.",
    "uncorrelated": "The scores of every two components are uncorrelated, exactly.",
    "disjoint": "No feature is in two components.",
}


def together_words(model: Any) -> dict[str, Any] | None:
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
        "sentence": " ".join(sentences),
        "proof": None if proof is None else _joint_proof(proof),
    }


def _joint_proof(proof: JointCertificate) -> dict[str, Any]:
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
        sentence = f"Proven: no such set of components has more than {percent_up(proof.gap)} more {what}."
        if proof.gap > WEAK:
            sentence += " A wide gap says that the proof is weak, not that the components are bad."
    facts = {
        f"{what} reached": f"{proof.lower:.6g}",
        "upper bound": f"{proof.upper:.6g}",
        "gap": percent_up(proof.gap),
        "best bound": min(proof.bounds, key=lambda bound: bound.value).name,
        "stopped by": proof.stopped_by,
        "seconds": f"{proof.seconds:.1f}",
        "assumptions": "; ".join(proof.assumptions),
    }
    return {
        "badge": badge,
        "status": proof.status,
        "sentence": sentence,
        "facts": [[name, plain_text(value)] for name, value in facts.items()],
    }


def preparation(model: Any) -> str:
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
    return " ".join([done, *(plain_text(f"{words[:1].upper()}{words[1:]}.") for words in more)])


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
        return [line for item in value for line in _lines(item)]
    return [plain_text(value, 500)]


def stability_words(stability: Stability, number: int) -> str:
    """Return what half-samples say of one component."""
    shares = stability.shares(number)[stability.supports[number]]
    often, bound = int(np.count_nonzero(shares >= 0.9)), float(stability.error_bound(0.9)[number])
    return (
        f"{often} of {len(shares)} features are chosen by at least 90 % of half-samples, of which {bound:.2g} are "
        f"wrong on average, at most. Mean |cosine| with the components of halves {stability.cosine[number]:.2f}, "
        f"{100 * stability.overlap[number]:.0f} % of the features shared."
    )


def halves_words(stability: Stability) -> str:
    """Return what the shares of half-samples are, and what the bound takes for granted."""
    return (
        f"“Halves”: share of {2 * stability.n_pairs} fits to half of the samples, {stability.n_pairs} complementary "
        f"pairs, that choose the feature. {stability.assumption}"
    )
