"""Parts of a proof on their own: the search, the semidefinite relaxation, spectra with margins, stored certificates."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.enumeration import KINDS, case, optimum

import rspca
from rspca.certificates import budgets, nodes, precision, search
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds import spectra
from rspca.certificates.bounds.low_rank import best_of_cones
from rspca.certificates.bounds.semidefinite import _spectraplex, semidefinite
from rspca.certificates.bounds.spectra import largest_below, proven_spectrum, small_gram
from rspca.certificates.nodes import NO_LABELS
from rspca.linalg.eigen import Pairs
from rspca.operators.dense import DenseOperator

seeds = st.integers(0, 10**6)
never = bool  # called without arguments, it is False


# --- the search -------------------------------------------------------------------------------------------------------


def after(calls):
    """Return a clock that runs out after so many calls."""
    count = itertools.count()
    return lambda: next(count) >= calls


def test_a_search_counts_every_node_that_it_examines():
    A = case(KINDS.index("noise"), 10).A
    assert search.search(A, 10, np.arange(10), [], tol=1e-6, out_of_time=never).nodes == 1
    stopped = [search.search(A, 4, np.arange(4), [], tol=1e-6, out_of_time=after(steps)) for steps in range(4)]
    assert [found.nodes for found in stopped] == [1, 3, 5, 7]  # the root, then two children a step


def test_a_search_that_is_stopped_is_bounded_by_its_best_open_node():
    A = case(KINDS.index("noise"), 10).A
    stopped = search.search(A, 4, np.arange(4), [], tol=1e-6, out_of_time=lambda: True)
    root = nodes.examine(A, A[None], np.empty(0, dtype=np.intp), np.arange(10), 4, 0.0, NO_LABELS, 0)[0]
    assert stopped.upper == pytest.approx(root, rel=1e-9)


def test_what_a_search_adds_for_rounding_is_its_formula():
    X = np.random.default_rng(0).standard_normal((9, 6))
    A = X.T @ X
    parts = np.stack([2.0 * A, np.diag(np.diagonal(A))])
    rounding = 8.0 * 6 * B.EPS * 2.0 * np.linalg.norm(A)
    assert search.rounding_slack(A, parts, search.dominance(A), 3) == pytest.approx(rounding, rel=1e-12, abs=0.0)
    X[:, 4], X[:, 5] = 0.5 * X[:, 1], -0.25 * X[:, 1]
    A = X.T @ X
    rounding = 8.0 * 6 * B.EPS * np.linalg.norm(A) + 3 * 2 * budgets.EXCHANGE_LOSS * np.diagonal(A).max()
    assert search.rounding_slack(A, A[None], search.dominance(A), 3) == pytest.approx(rounding, rel=1e-12, abs=0.0)


def test_a_multiple_is_dominated_however_little_other_features_vary():
    X = np.random.default_rng(0).standard_normal((9, 5))
    X[:, 1], X[:, 2], X[:, 3] = 0.3 * X[:, 0], -0.7 * X[:, 0], 0.0
    D = search.dominance(X.T @ X)
    assert D[0, 1]
    assert D[0, 2]
    assert D[2, 1]
    assert not D[:, 0].any()
    assert not D[1, 2]


def test_directions_are_counted_and_one_is_enough_for_one_dimension():
    g = np.array([[3.0], [1.0], [-2.0]])
    found = best_of_cones(g, 2, slack=0.0, tol=1e-6, out_of_time=never)
    assert found.directions == 1
    assert found.lower == pytest.approx(13.0)
    assert found.support.tolist() == [0, 2]
    assert best_of_cones(np.eye(3), 1, slack=0.0, tol=1e-6, out_of_time=lambda: True).directions == 3


# --- the semidefinite relaxation --------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 8))
def test_the_nearest_matrix_of_the_spectraplex_is_the_nearest(seed, n):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-2, 2)
    M = (M + M.T) / 2.0
    P = _spectraplex(M)
    size = max(1.0, float(np.abs(M).max()))
    assert np.trace(P) == pytest.approx(1.0)
    assert np.linalg.eigvalsh(P)[0] >= -1e-12
    # P is nearest exactly if <M - P, Y - P> <= 0 for all Y of the set; the largest <M - P, Y> is an eigenvalue
    assert np.linalg.eigvalsh(M - P)[-1] <= np.sum((M - P) * P) + 1e-9 * size


@pytest.mark.parametrize("kind", ["tall", "correlations", "noise", "equal correlations", "wild scales"])
def test_the_relaxation_ends_with_a_feasible_matrix_whose_value_is_its_bound(kind):
    A = case(KINDS.index(kind), 8).A
    found = semidefinite(A, 3, tol=1e-4, max_iter=1000)
    assert found.converged
    assert found.n_iter < 1000
    assert np.trace(found.X) == pytest.approx(1.0)
    assert np.linalg.eigvalsh(found.X)[0] >= -1e-12
    assert np.abs(found.X).sum() <= 3.0 * (1.0 + 1e-2)
    assert np.sum(A * found.X) == pytest.approx(found.upper, rel=2e-4)
    by_multiplier = np.linalg.eigvalsh(A - found.multiplier)[-1] + 3.0 * np.abs(found.multiplier).max()
    assert found.upper == pytest.approx(by_multiplier, rel=1e-9)
    assert found.upper >= optimum(A, 3) * (1.0 - 1e-12)


# --- spectra ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (7, 7)])
def test_the_margin_of_a_proven_spectrum_covers_how_poor_its_vectors_are(shape, monkeypatch):
    rng = np.random.default_rng(0)
    op = DenseOperator(rng.standard_normal(shape))
    K = small_gram(op)
    vectors = np.linalg.eigh(K)[1]
    U = np.linalg.qr(vectors[:, ::-1][:, :3] + 0.1 * rng.standard_normal((len(K), 3)))[0]
    monkeypatch.setattr(spectra, "leading_pairs", lambda op, count, **_: Pairs(np.ones(count), start(count)))

    def start(count):
        return U if count == 3 else vectors[:, -1:]

    monkeypatch.setattr(spectra, "power_value", lambda M: float(np.linalg.eigvalsh(M)[-1]))
    (pairs, margin) = proven_spectrum(op, 3, K)
    L = np.einsum("ij,ij->j", U, K @ U)
    error = np.linalg.norm(K @ U - U * L)
    by_samples = shape[0] <= shape[1]
    V = op.columns(np.arange(shape[1])).T @ U / np.sqrt(L) if by_samples else U
    outside = np.eye(len(K)) - U @ U.T
    assert pairs.values == pytest.approx(L)
    assert pairs.rest == pytest.approx(np.linalg.eigvalsh(outside @ K @ outside)[-1], rel=2e-3)
    np.testing.assert_allclose(pairs.vectors, V)
    leak = 2.0 * error * np.sqrt(pairs.rest / L[-1]) + error**2 / L[-1] if by_samples else error
    apart = np.linalg.norm(V.T @ V - np.eye(3))
    assert margin == pytest.approx(leak + apart * (L.sum() + pairs.rest), rel=1e-9)
    A = op.gram_block(np.arange(shape[1]))
    assert all(B.spectral_fill(pairs, k) + margin >= optimum(A, k) for k in range(1, shape[1] + 1))


def test_what_rounding_adds_to_a_proven_spectrum_is_its_formula():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 9))
    op = DenseOperator(X)
    (pairs, margin) = proven_spectrum(op, 1, small_gram(op))
    seen = 2.0 * np.sqrt(pairs.values[0]) * precision.sum_error(op) * np.linalg.norm(X)
    assert margin >= precision.gram_error(op) + seen
    assert margin == pytest.approx(precision.gram_error(op) + seen, rel=0.05, abs=0.0)
    assert precision.gram_error(op) == pytest.approx((9 + 64) * B.EPS * np.linalg.norm(X) ** 2, rel=1e-9, abs=0.0)
    assert precision.sum_error(op) == (6 + 64) * B.EPS


@pytest.mark.parametrize(
    ("share", "factor"), [(1.0, 1e-3), (0.995, 1e-2), (0.97, 0.05), (0.9, 0.2), (0.6, 1.0), (0.3, 4.0)]
)
def test_a_poor_estimate_of_the_largest_eigenvalue_is_raised_step_by_step(share, factor, monkeypatch):
    M = np.diag([2.0, 1.0, 0.5])
    monkeypatch.setattr(spectra, "power_value", lambda M: share * 2.0)
    assert largest_below(M) == pytest.approx(share * 2.0 * (1.0 + factor), rel=1e-12)


def test_without_any_estimate_the_norm_bounds(monkeypatch):
    monkeypatch.setattr(spectra, "power_value", lambda M: 0.0)
    assert largest_below(np.diag([3.0, 4.0])) == 5.0


# --- stored certificates ----------------------------------------------------------------------------------------------


def test_a_certificate_that_version_0_2_0_called_exhausted_is_read():  # issue 18, item 7
    found = rspca.certify(np.random.default_rng(0).standard_normal((30, 40)), 10, seconds=1e-6)
    content = found.as_json() | {"stopped_by": "exhausted"}
    read = rspca.Certificate.from_json(content)
    assert read.stopped_by == "nothing left to try"
    assert "; nothing left to try)" in str(read)


@pytest.fixture(scope="module")
def found():
    return rspca.certify(np.random.default_rng(3).standard_normal((40, 9)) * np.arange(1.0, 10.0), 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"support": [7, 7, 8]},
        {"support": [8, 7, 6]},
        {"support": [6, 7, 9]},
        {"k": 2},
        {"k": 10},
        {"k": True},
        {"k": -3},
        {"nodes": -1},
        {"lower": -1.0},
        {"lower": 0.0},
        {"tol": 0.0},
        {"support": [], "loadings": []},
        {"loadings": [0.6, 0.6, 0.6]},
        {"status": "perhaps"},
    ],
    ids=str,
)
def test_a_certificate_whose_numbers_contradict_each_other_is_refused(found, changes):
    content = json.loads(json.dumps(found.as_json()))
    assert rspca.Certificate.from_json(content).support.tolist() == found.support.tolist()
    with pytest.raises(ValueError, match=r"contradict|what it should be|unknown"):
        rspca.Certificate.from_json(content | changes)


def test_the_gap_of_no_variance_is_infinite(found):
    assert replace(found, lower=0.0).gap == np.inf


def test_a_certificate_in_other_units_has_all_its_variances_in_them(found):
    other = found.in_units(4.0)
    assert (other.lower, other.upper, other.margin) == (4.0 * found.lower, 4.0 * found.upper, 4.0 * found.margin)
    assert [bound.value for bound in other.bounds] == [4.0 * bound.value for bound in found.bounds]
    assert other.gap == pytest.approx(found.gap)
    assert found.in_units(1.0) is found


def test_a_variance_that_is_off_by_more_than_a_millionth_is_not_verified():
    for unit in (1.0, 1e-4, 1e4):
        X = unit * np.random.default_rng(3).standard_normal((40, 9)) * np.arange(1.0, 10.0)
        found = rspca.certify(X, 3)
        assert found.verify(X)
        for factor in (1.0 - 1e-5, 1.0 + 1e-5):
            assert not replace(found, lower=factor * found.lower, upper=2.0 * found.upper).verify(X)
