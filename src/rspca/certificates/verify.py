"""Certificates of one component or a set checked from the data: variance computed again, bound proven again."""

from __future__ import annotations

from typing import Any

import numpy as np

from rspca.base.checks import check_real
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
    if not honest or certificate.status != status_of(reached, certificate.upper, tol):
        return False
    again = certify(X, certificate.k, loadings=loadings, seconds=seconds, tol=max(tol, certificate.gap), **prepared)
    return bool(again.upper <= certificate.upper * (1.0 + REACHED_TOL + tol))


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
