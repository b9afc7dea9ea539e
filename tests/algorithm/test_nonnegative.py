"""Components without negative loadings: never a negative one, at least what single features have, nearly the best."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from support.operators import OPERATORS, FiveMembers

import rspca
from rspca.algorithm.component import Options, rspca_component
from rspca.algorithm.feature_limits import Groups
from rspca.base.types import no_report
from rspca.methods import METHODS
from rspca.methods.decompose import prover
from rspca.operators.convert import prepare
from rspca.operators.prepared import prepared

seeds = st.integers(0, 10**6)
SEVERAL = [name for name in OPERATORS if "," not in name or (name.startswith("dense,") and "transposed" not in name)]
"""Every kind of data, and every wrapper of one of them."""


def component(op, k, seed=0, normalization="svd", **options):
    chosen = Options(nonnegative=True, **options)
    return rspca_component(
        op, k, no_report, options=chosen, normalization=normalization, rng=np.random.default_rng(seed)
    )


def best_of_faces(A, k, allowed=lambda face: True):
    best = 0.0
    for size in range(1, k + 1):
        for face in filter(allowed, combinations(range(len(A)), size)):
            values, vectors = np.linalg.eigh(A[np.ix_(face, face)])
            if (vectors[:, -1] >= -1e-12).all() or (vectors[:, -1] <= 1e-12).all():
                best = max(best, float(values[-1]))
    return best


def variance(A, found):
    return float(found.loadings @ A[np.ix_(found.support, found.support)] @ found.loadings)


# issue 17, item 4
def test_nearly_all_small_problems_are_solved():
    reached = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 11))
        k = int(rng.integers(1, min(n, 5) + 1))
        X = rng.standard_normal((int(rng.integers(3, 20)), 2)) @ rng.standard_normal((2, n))
        X = X + rng.standard_normal(X.shape)
        found = component(prepare(X), k, seed)
        A = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
        best = best_of_faces(A, k)
        assert (found.loadings > 0.0).all()
        assert len(found.support) <= k
        assert variance(A, found) <= best * (1.0 + 1e-9)
        reached.append(variance(A, found) / best)
    assert np.mean(np.array(reached) >= 1.0 - 1e-9) >= 0.97
    assert min(reached) >= 0.97


# issue 17, item 4
@settings(max_examples=30)
@given(seeds, st.sampled_from(["dense", "float32", "sparse", "five members", "gram"]), st.booleans())
def test_every_operator_keeps_signs(seed, kind, polish):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(3, 12)), int(rng.integers(2, 15))
    X = np.round(rng.standard_normal((m, n)), 2)
    k = int(rng.integers(1, n + 1))
    data = {
        "dense": lambda: X,
        "float32": lambda: X.astype(np.float32),
        "sparse": lambda: scipy.sparse.csr_array(X),
        "five members": lambda: FiveMembers(X),
        "gram": lambda: rspca.GramOperator(X.T @ X),
    }[kind]()
    op = prepare(data, center=kind != "gram")
    found = component(op, k, seed, polish=polish)
    assert 1 <= len(found.support) <= k
    assert (found.loadings > 0.0).all()
    assert np.linalg.norm(found.loadings) == pytest.approx(1.0)
    C = X if kind == "gram" else X - X.mean(axis=0)
    if polish:
        assert variance(C.T @ C, found) >= (1.0 - 1e-4) * float(np.diagonal(C.T @ C).max())


# issue 17, item 4
@pytest.mark.parametrize("deflation", ["schur", "projection", "orthogonal", "hotelling"])
def test_every_deflation_is_followed_by_components_without_negative_loadings(deflation):
    X = np.random.default_rng(0).standard_normal((30, 8))
    op = prepare(rspca.GramOperator(X.T @ X), center=False)
    found = METHODS["rspca"](op, 4, 3, deflation=deflation, nonnegative=True, rng=np.random.default_rng(0))
    assert len(found) == 4
    assert all((one.loadings > 0.0).all() for one in found)


# issue 17, item 4
def test_groups_limit_components_without_negative_loadings():
    labels = np.arange(9) // 3
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((20, 9))
        found = component(prepare(X), 3, seed, groups=Groups(labels, 1))
        assert np.bincount(labels[found.support]).max() == 1
        A = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
        best = best_of_faces(A, 3, lambda face: len({labels[i] for i in face}) == len(face))
        assert best * (1.0 + 1e-9) >= variance(A, found) >= 0.97 * best


# issue 17, item 4
def test_a_proof_does_not_replace_loadings_by_some_with_another_sign():
    rng = np.random.default_rng(1)
    scores = rng.standard_normal(40)
    X = np.column_stack([scores, -scores, 0.4 * rng.standard_normal(40), 0.3 * rng.standard_normal(40)])
    data = prepared(rspca.as_operator(X), center=True, scale=False)
    prove = prover(data, 5.0, refit=True, nonnegative=True)
    found = METHODS["rspca"](data.operator, 1, 2, nonnegative=True, rng=rng)[0]
    proven = prove(data.operator, 2, found, no_report)
    assert (proven.loadings > 0.0).all()
    assert proven.certificate.status == "gap"
    assert proven.certificate.upper >= 1.5 * proven.certificate.lower
    assert any("any sign" in words for words in proven.certificate.assumptions)
    free = prover(data, 5.0, refit=True)(data.operator, 2, found, no_report)
    assert (free.loadings < 0.0).any()


# issue 17, item 4
def test_naive_normalization_keeps_the_direction_and_bad_combinations_are_refused():
    X = np.random.default_rng(0).standard_normal((20, 6))
    assert (component(prepare(X), 3, normalization="naive").loadings > 0.0).all()
    for options in ({"solver": "projected"}, {"rounding": "bernoulli"}, {"nonnegative": "yes"}):
        with pytest.raises(ValueError, match="nonnegative"):
            METHODS["rspca"](prepare(X), 1, 2, **({"nonnegative": True} | options))


# issue 17, item 4
def test_many_features_are_found_by_products():
    rng = np.random.default_rng(0)
    loadings = np.zeros(3000)
    loadings[:40] = np.abs(rng.standard_normal(40)) + 0.5
    X = np.outer(rng.standard_normal(50), loadings) + 0.3 * rng.standard_normal((50, 3000))
    found = component(prepare(X), 40)
    assert len(np.intersect1d(found.support, np.arange(40))) >= 36
    many = component(prepare(X), 1200)
    assert (many.loadings > 0.0).all()
    assert 0 < len(many.support) <= 1200


# issue 17, item 4
@pytest.mark.parametrize("name", SEVERAL)
def test_every_kind_of_data_and_wrapper_has_components_without_negative_loadings(name, tmp_path):
    op, X = OPERATORS[name](tmp_path)
    found = component(op, 3)
    best = best_of_faces(X.T @ X, 3)
    assert (found.loadings > 0.0).all()
    assert variance(X.T @ X, found) >= (1.0 - 1e-3) * best
