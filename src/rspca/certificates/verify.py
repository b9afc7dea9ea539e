"""Certificates of one component or a set checked from the data: variance computed again, bound proven again."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.algorithm.feature_limits import Groups, limits
from rspca.base.checks import check_real
from rspca.certificates.bounds.limits import words_of
from rspca.certificates.certificate import REACHED_TOL, Certificate, confirms, status_of
from rspca.certificates.certify import certify, given_earlier, variance_given
from rspca.certificates.joint import certify_joint, given_vectors, value_given
from rspca.certificates.joint_certificate import JointCertificate, confirms_sets
from rspca.operators.prepared import SampleArguments, check_said, operator_of


@confirms
def confirmed(
    certificate: Certificate,
    X: Any,
    *,
    after: Any,
    deflation: str,
    groups: Any,
    of_samples: SampleArguments,
    seconds: float,
    tol: float,
) -> bool:
    """Return whether the data confirm a certificate, as :meth:`Certificate.verify` describes it."""
    check_real("tol", tol, 0.0, strict=True)
    n_features = operator_of(X, of_samples.missing).shape[1]
    if n_features != certificate.n_features:
        raise ValueError(f"X has {n_features} features; the certificate is of data with {certificate.n_features}.")
    count = 0 if after is None or np.size(after) == 0 else len(np.atleast_2d(after))
    if set(given_earlier(count)) != {words for words in certificate.assumptions if words.startswith("given the ")}:
        said = ", ".join(certificate.assumptions)
        raise ValueError(f"after holds {count} component(s), and the certificate says: {said}. Give those before.")
    limited = _limits_of(certificate, X, groups)
    check_said(certificate.assumptions, X, of_samples, certificate.center)
    loadings = np.zeros(certificate.n_features)
    loadings[certificate.support] = certificate.loadings
    prepared: dict[str, Any] = {
        "after": after,
        "deflation": deflation,
        "center": certificate.center,
        "scale": certificate.scale,
        "of_samples": of_samples,
    }
    reached = variance_given(X, loadings, **prepared)
    honest = (1.0 - tol) * reached <= certificate.lower <= (1.0 + REACHED_TOL) * reached
    allowed = limited is None or limited.allow(certificate.support)
    if not (honest and allowed) or certificate.status != status_of(reached, certificate.upper, tol):
        return False
    if limited is not None:
        prepared |= {"groups": groups, "max_per_group": certificate.max_per_group}
    again = certify(X, certificate.k, loadings=loadings, seconds=seconds, tol=max(tol, certificate.gap), **prepared)
    return bool(again.upper <= certificate.upper * (1.0 + REACHED_TOL + tol))


def _limits_of(certificate: Certificate, X: Any, groups: Any) -> Groups | None:
    """Return the limits of the groups given, or raise if they are not those that the certificate speaks of."""
    most, n_features = certificate.max_per_group, certificate.n_features
    limited = limits(groups if most else None, max(most, 1), n_features, getattr(X, "features", None))
    said = {words for words in certificate.assumptions if words.startswith("at most ")}
    if (groups is None) != (most == 0) or (most and set(words_of(limited)) != said):
        given = "none are given" if groups is None else ", ".join(words_of(limited)) or "groups are given"
        claimed = ", ".join(said) if said else "no limit on groups"
        raise ValueError(
            f"groups: {given}, and the certificate says: {claimed}. Give the groups that it was made with."
        )
    return limited


@confirms_sets
def confirmed_set(
    certificate: JointCertificate, X: Any, *, of_samples: SampleArguments, seconds: float, tol: float
) -> bool:
    """Return whether the data confirm a joint certificate, as :meth:`JointCertificate.verify` describes it."""
    check_real("tol", tol, 0.0, strict=True)
    n_features = operator_of(X, of_samples.missing).shape[1]
    if n_features != certificate.n_features:
        raise ValueError(f"X has {n_features} features; the certificate is of data with {certificate.n_features}.")
    shared = certificate.measure == "shared"
    check_said(certificate.assumptions, X, of_samples, certificate.center)
    prepared: dict[str, Any] = {"center": certificate.center, "scale": certificate.scale, "of_samples": of_samples}
    vectors = given_vectors(certificate.dense(), certificate.ks, n_features)
    reached, off = value_given(X, vectors, certificate.constraint, shared=shared, **prepared)
    honest = (1.0 - tol) * reached <= certificate.lower <= (1.0 + REACHED_TOL) * reached
    kept = off <= certificate.violation * (1.0 + tol) + REACHED_TOL
    if not (honest and kept) or certificate.status != status_of(reached, certificate.upper, tol):
        return False
    again = certify_joint(
        X,
        list(certificate.ks),
        certificate.n_components,
        loadings=certificate.dense(),
        constraint=certificate.constraint,
        shared_support=shared,
        seconds=seconds,
        tol=max(tol, certificate.gap),
        **prepared,
    )
    return bool(again.upper <= certificate.upper * (1.0 + REACHED_TOL + tol))
