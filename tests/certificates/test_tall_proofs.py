"""Certificates of tall data, whose Gram matrix is formed: true of X itself, in exact arithmetic."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.exact_cases import exact_gram, exactly_deflated, optimum, rounded

import rspca
from rspca.operators.prepared import prepared
from rspca.operators.tall import FormedGram

NOTHING = 1e-12


def factors(rng, m, n):
    return rng.standard_normal((m, 3)) @ rng.standard_normal((3, n)) + 0.5 * rng.standard_normal((m, n))


def near_ties(rng, m, n):
    """Two halves that differ by a few units in the last place."""
    half = factors(rng, m, n // 2)
    return np.hstack([half, half * (1.0 + np.finfo(float).eps * rng.integers(-4, 5, half.shape))])


FAMILIES = {
    "factors": factors,
    "means": lambda rng, m, n: factors(rng, m, n) + 10.0 ** rng.uniform(0, 9, n),
    "float32": lambda rng, m, n: (factors(rng, m, n) + 10.0 ** rng.uniform(0, 4, n)).astype(np.float32),
    "near ties": near_ties,
    "tiny": lambda rng, m, n: 2.0**-400 * factors(rng, m, n),
    "scales": lambda rng, m, n: factors(rng, m, n) * 10.0 ** rng.uniform(-6, 6, n),
    "rank 2": lambda rng, m, n: rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)),
    "first rows far away": lambda rng, m, n: factors(rng, m, n) + 1e6 * (np.arange(m) < 3)[:, None],
}


def check(proof, A, k, loadings):
    best, reached = optimum(A, k), float(loadings @ A @ loadings)
    assert proof.upper >= best * (1.0 - NOTHING)
    assert proof.lower <= reached * (1.0 + NOTHING)
    assert reached <= best * (1.0 + NOTHING)
    if proof.status == "optimal":
        assert best <= (1.0 + 1e-6) * reached * (1.0 + NOTHING)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", FAMILIES)
def test_no_proof_is_false_and_most_close_the_gap(family, seed):  # issue 16, item 3
    rng = np.random.default_rng([18, seed, len(family)])
    n = int(rng.integers(6, 13))
    n -= n % 2
    X = FAMILIES[family](rng, int(rng.integers(n, 120)), n)
    A = rounded(exact_gram(X, True))
    assert isinstance(prepared(rspca.as_operator(X), center=True, scale=False).operator, FormedGram)
    path = rspca.path(X, [1, 2, 3, 4], certify=True)
    for k in range(1, 5):
        found = rspca.certify(X, k, seconds=20)
        vector = np.zeros(n)
        vector[found.support] = found.loadings
        check(found, A, k, vector)
        assert found.status == "optimal"
        assert found.verify(X)
        step = path[k - 1]
        assert step.upper >= optimum(A, k) * (1.0 - NOTHING)
        assert step.upper <= optimum(A, k) * (1.0 + 1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("near ties", "rank 2")])
def test_certificates_of_several_components_hold_for_what_exactly_is_left(family, seed):  # issue 16, items 1 and 3
    rng = np.random.default_rng([19, seed, len(family)])
    n = int(rng.integers(6, 10))
    X = FAMILIES[family](rng, int(rng.integers(2 * n, 80)), n)
    found = rspca.decompose(X, 3, k=3, certify=True, certify_seconds=60)
    vectors, whole = np.array([component.dense() for component in found.components]), exact_gram(X, True)
    for number, component in enumerate(found.components):
        A, _ = exactly_deflated(whole, vectors[:number], "schur") if number else (whole, "")
        check(component.certificate, rounded(A), 3, vectors[number])
        assert component.certificate.status == "optimal"


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array])
def test_certificates_are_those_of_products_with_x(monkeypatch, make, scale):  # issue 16, item 3
    X = make(np.round(factors(np.random.default_rng(3), 80, 10), 1))
    formed = rspca.certify(X, 3, scale=scale)
    monkeypatch.setattr("rspca.operators.prepared.gram_is_cheaper", lambda shape, count: False)
    direct = rspca.certify(X, 3, scale=scale)
    assert formed.status == direct.status == "optimal"
    assert formed.upper == pytest.approx(direct.upper, rel=1e-9)
    assert formed.lower == pytest.approx(direct.lower, rel=1e-9)
    assert formed.support.tolist() == direct.support.tolist()
    assert formed.margin <= 1e-9 * formed.lower
    assert direct.verify(X)
    assert formed.verify(X)


def test_proofs_of_long_tables_still_close_the_gap():  # issue 16, item 3
    rng = np.random.default_rng(4)
    X = factors(rng, 100_000, 20)
    X += 10.0 ** rng.uniform(0, 3, 20)
    found = rspca.certify(X, 4)
    assert found.status == "optimal"
    assert found.margin <= 1e-8 * found.lower
    model = rspca.SparsePCA(4, k=4, certify=True).fit(X)
    assert all(proof.gap <= 1e-6 for proof in model.certificates_)
