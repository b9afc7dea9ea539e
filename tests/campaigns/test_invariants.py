"""What every component is, whatever found it, however the data are held, and however hard their spectrum is."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume
from hypothesis import strategies as st
from support.adversarial import CONTAINERS, SPECTRA, WARNINGS, Problem, invariant, problems
from support.deflation import without
from support.enumeration import optimum, variances
from support.operators import OPERATORS, FiveMembers

import rspca
from rspca.linalg.vectors import l1_l2_maximizer
from rspca.operators import DenseOperator, prepare

pytestmark = WARNINGS

METHODS = sorted(rspca.METHODS)
TOGETHER = {"spasm", "rotation"}
"""Methods that keep components apart without deflation."""
SCHEMES = ["schur", "projection", "orthogonal"]
EPS = {np.dtype(np.float32): float(np.finfo(np.float32).eps), np.dtype(np.float64): float(np.finfo(np.float64).eps)}

LOST_DIGITS = 1e-9
"""Column norms are differences that may lose four digits, see operators.standardized.CANCELLATION_MAX."""


def far(problem):
    """Return how much larger the data are than their deviations: what rounding is multiplied with."""
    Z = problem.Z
    return np.linalg.norm(problem.X) / np.linalg.norm(Z)


def assert_components(found, Z, k, *, method, scheme, error):
    """Unit length, at most k features, a positive largest loading, the variance stated, and none above the optimum.

    `error` is relative to the total variance. Where a component of ours has fewer than k features there are others that
    add nothing to it, or too few that vary; methods of others may leave zeros of their own.
    """
    total, rest, earlier = float(np.sum(Z**2)), Z, []
    assert np.isfinite(found.loadings).all()
    assert found.explained_variance.sum() <= total * (1.0 + max(error, LOST_DIGITS))
    assert found.total_variance == pytest.approx(total, rel=max(error, LOST_DIGITS))
    for number, component in enumerate(found.components):
        v, A = component.dense(), rest.T @ rest
        within = error * total * (number + 1)
        assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-12)
        assert component.loadings[np.argmax(np.abs(v[component.support]) > np.abs(v).max() * (1 - 1e-10))] > 0.0
        assert np.all(component.loadings != 0.0)
        assert component.variance == pytest.approx(v @ A @ v, rel=error, abs=within)
        if method != "pca":
            assert 1 <= len(component.support) <= k
            assert v @ A @ v <= optimum(A, k) + within
            if len(component.support) < k and method == "rspca":
                S = set(component.support)
                larger = [value for support, value in zip(*variances(A, k), strict=True) if set(support) >= S]
                assert min(larger) <= variances(A[np.ix_([*S], [*S])], len(S))[1][0] + within
        if method not in TOGETHER and number + 1 < len(found):
            rest = without(scheme, rest, v, earlier)
            earlier.append(v)


@pytest.mark.parametrize("method", METHODS)
@invariant(
    12,
    problem=problems(),
    container=st.sampled_from(sorted(CONTAINERS)),
    scheme=st.sampled_from(SCHEMES),
    normalization=st.sampled_from(["svd", "naive"]),
    n_components=st.integers(1, 3),
    data=st.data(),
)
def test_components_are_unit_vectors_of_k_features_with_the_variance_they_say(
    method, problem, container, scheme, normalization, n_components, data
):
    held = CONTAINERS[container](problem.X)
    if "float32" in container:
        problem = problem.held(problem.X.astype(np.float32).astype(float))
        assume(far(problem) < 1e4)
    m, n = problem.X.shape
    k = data.draw(st.integers(1, n), "k")
    found = rspca.decompose(
        held, min(n_components, m, n), k=k, method=method, deflation=scheme, normalization=normalization,
        center=problem.center, random_state=0,
    )  # fmt: skip
    error = 200.0 * EPS[rspca.as_operator(held).dtype] * far(problem)
    if sp.issparse(held) or isinstance(
        held, FiveMembers
    ):  # their Gram matrix is a difference, and may lose four digits
        error = max(error, LOST_DIGITS)
    assert_components(found, problem.Z, k, method=method, scheme=scheme, error=error)


@cache
def built(name, folder):
    return OPERATORS[name](folder)


@invariant(
    90,
    name=st.sampled_from(list(OPERATORS)),
    method=st.sampled_from(METHODS),
    scheme=st.sampled_from(SCHEMES),
    normalization=st.sampled_from(["svd", "naive"]),
    n_components=st.integers(1, 3),
    k=st.integers(1, 4),
)
def test_every_operator_gives_the_components_of_the_matrix_it_stands_for(
    tmp_path_factory, name, method, scheme, normalization, n_components, k
):
    folder = tmp_path_factory.getbasetemp() / "operators" / f"{list(OPERATORS).index(name)}"
    folder.mkdir(parents=True, exist_ok=True)
    op, X = built(name, folder)
    found = rspca.METHODS[method](
        op, n_components, k, normalization=normalization, deflation=scheme, rng=np.random.default_rng(0)
    )
    total, rest, earlier = np.sum(X**2), X, []
    error = 1e-4 if op.dtype == np.float32 else 1e-9
    for number, component in enumerate(found):
        v = component.dense()
        assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-12)
        assert method == "pca" or len(component.support) <= k
        assert component.variance == pytest.approx(np.sum((rest @ v) ** 2), rel=error, abs=error * total)
        assert method == "pca" or component.variance <= optimum(rest.T @ rest, k) + error * total
        if method not in TOGETHER and number + 1 < len(found):
            rest = without(scheme, rest, v, earlier)
            earlier.append(v)


@pytest.mark.parametrize("method", sorted(set(METHODS) - TOGETHER - {"pca"}))
@invariant(8, problem=problems(), scheme=st.sampled_from(SCHEMES), data=st.data())
def test_a_refit_is_never_below_the_loadings_it_replaces(method, problem, scheme, data):
    k = data.draw(st.integers(1, problem.X.shape[1]), "k")
    options = {"k": k, "method": method, "deflation": scheme, "center": problem.center, "random_state": 0}
    naive, refitted = (
        rspca.decompose(problem.X, 1, normalization=normalization, **options).components[0].variance
        for normalization in ("naive", "svd")
    )
    assert refitted >= naive * (1.0 - 1e-9)


@invariant(60, problem=problems(), rounding=st.sampled_from(["exact", "bernoulli"]), data=st.data())
def test_polishing_is_never_below_rounding_and_one_more_draw_never_below_one_less(problem, rounding, data):
    n = problem.X.shape[1]
    k, seed = data.draw(st.integers(1, n), "k"), data.draw(st.integers(0, 99), "seed")

    def variance(**options):
        options = {"rounding": rounding, "n_draws": 4, "normalization": "naive"} | options
        found = rspca.decompose(problem.X, 1, k=k, center=problem.center, random_state=seed, **options)
        return found.components[0].variance

    rounded = variance(polish=False)
    assert variance(polish=False, normalization="svd") >= rounded * (1.0 - 1e-9)
    if rounding == "exact":
        assert variance(normalization="svd") >= variance(polish=False, normalization="svd") * (1.0 - 1e-9)
        assert variance(polish=False, n_draws=8) >= rounded * (1.0 - 1e-9)


@invariant(
    60, problem=problems(most_features=12), k=st.floats(1.0, 12.0), solver_tol=st.sampled_from([0.0, 1e-7, 1e-3])
)
def test_stage_one_climbs_and_ends_where_its_own_linearization_does(problem, k, solver_tol):
    climbed = []
    start = np.random.default_rng(0).standard_normal(problem.X.shape[1])
    found = rspca.relax(
        problem.X, k, start=start, tol=solver_tol, max_iter=300, center=problem.center,
        on_step=lambda step: climbed.append(step.variance),
    )  # fmt: skip
    scale = 1e-11 * far(problem) ** 2
    assert np.all(np.diff(climbed) >= -max(scale, 1e-9) * max(climbed))  # ties up to rounding cost the step 1e-10
    assert found.variance == pytest.approx(climbed[-1], rel=1e-12)
    assert np.linalg.norm(found.x) <= 1.0 + 1e-9
    assert np.abs(found.x).sum() <= np.sqrt(k) * (1.0 + 1e-9)
    gradient = problem.Z.T @ (problem.Z @ found.x)
    assert found.variance == pytest.approx(found.x @ gradient, rel=max(1e-9, scale))
    if found.converged and solver_tol > 0.0:
        gain = (l1_l2_maximizer(gradient, k) - found.x) @ gradient / found.variance
        assert gain <= 2.0 * np.sqrt(solver_tol) + scale


@invariant(60, problem=problems(), data=st.data())
def test_small_problems_are_solved_to_the_optimum_unless_their_spectrum_is_flat(problem, data):
    k = data.draw(st.integers(1, problem.X.shape[1]), "k")
    found = rspca.decompose(problem.X, 1, k=k, center=problem.center, random_state=0).components[0]
    best = optimum(problem.Z.T @ problem.Z, k)
    least = 0.9 if problem.kind in ("flat", "tiny gaps", "clustered") else 0.97
    assert best * least <= found.variance * (1.0 + 1e-9)
    assert found.variance <= best * (1.0 + 1e-9 * far(problem))


@invariant(
    40,
    problem=problems(most_features=8),
    container=st.sampled_from(sorted(CONTAINERS)),
    seconds=st.sampled_from([1e-6, 5.0]),
    data=st.data(),
)
def test_no_certificate_is_below_a_feasible_value(problem, container, seconds, data):
    held = CONTAINERS[container](problem.X)
    if "float32" in container:
        problem = problem.held(problem.X.astype(np.float32).astype(float))
    n = problem.X.shape[1]
    k = data.draw(st.integers(1, n), "k")
    proof = rspca.certify(held, k, center=problem.center, seconds=seconds)
    A = problem.Z.T @ problem.Z
    best = optimum(A, k)
    assert proof.upper >= best * (1.0 - 1e-13)
    assert proof.lower <= best * (1.0 + 1e-10 * far(problem) ** 2)
    for bound in proof.bounds:
        assert bound.value + proof.margin >= best * (1.0 - 1e-13)
    if proof.status == "optimal":
        reached = np.linalg.eigvalsh(A[np.ix_(proof.support, proof.support)])[-1]
        assert reached >= best * (1.0 - 1.1 * proof.tol)
    for method in ("rspca", "maxcomp", "greedy"):
        found = rspca.decompose(held, 1, k=k, method=method, center=problem.center, random_state=0).components[0]
        assert found.variance <= proof.upper * (1.0 + 1e-12)


@invariant(40, problem=problems(), scheme=st.sampled_from(SCHEMES), data=st.data())
def test_certified_components_bound_every_component_of_the_deflated_data(problem, scheme, data):
    m, n = problem.X.shape
    k = data.draw(st.integers(1, n), "k")
    found = rspca.decompose(
        problem.X, min(2, m, n), k=k, deflation=scheme, center=problem.center, certify=True, certify_seconds=5.0,
        random_state=0,
    )  # fmt: skip
    rest, earlier, total = problem.Z, [], np.sum(problem.Z**2)
    for component in found.components:
        proof = component.certificate
        within = 1e-12 * far(problem) ** 2 * total
        best = optimum(rest.T @ rest, k)
        assert proof.upper >= best * (1.0 - 1e-12) - within
        assert component.variance >= proof.lower * (1.0 - 1e-9) - within
        rest = without(scheme, rest, component.dense(), earlier)
        earlier.append(component.dense())


@pytest.mark.parametrize("kind", sorted(SPECTRA))
def test_every_spectrum_at_one_sample_one_feature_and_all_features(kind):
    for m, n in ((1, 1), (1, 6), (2, 7), (3, 40), (40, 3)):
        X = SPECTRA[kind](np.random.default_rng(m + n), m, max(n, 2))[:, :n].copy()
        X[0, 0] += 1.0 + np.abs(X).max()
        problem = Problem(kind, X, center=False)
        for k in {1, n}:
            found = rspca.decompose(X, 1, k=k, center=False, random_state=0)
            component = found.components[0]
            A = problem.Z.T @ problem.Z
            best = np.diagonal(A).max() if k == 1 else np.linalg.eigvalsh(A)[-1]
            assert component.variance == pytest.approx(best, rel=1e-9)
            assert rspca.certify(X, k, center=False, seconds=5.0).status == "optimal"


def test_prepared_data_are_what_the_invariants_take_them_for():
    problem = Problem("noise", np.random.default_rng(0).standard_normal((6, 4)) + 3.0, center=True)
    np.testing.assert_allclose(prepare(problem.X).columns(np.arange(4)), problem.Z, atol=1e-12)
    assert isinstance(rspca.as_operator(problem.X), DenseOperator)
