"""Free joint ascent: never below its start, on every operator and route, and optimal where all pairs can be tried."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support.joint import (
    adjusted_in_order,
    assert_well_formed,
    gram_of,
    little_search,
    one_by_one,
    random_start,
    task_of,
)
from support.operators import OPERATORS

import rspca
from benchmarks.data import benchmark_matrix, chowdary, classic2
from benchmarks.pairs import best_of_pairs, small_matrices
from rspca.algorithm.feature_limits import Groups
from rspca.algorithm.joint import free as module
from rspca.algorithm.joint.blocks import JointProblem, ascend, block_step, components_of, refitted
from rspca.algorithm.joint.data import GramData
from rspca.algorithm.joint.free import free
from rspca.algorithm.joint.pooled import extended_gram
from rspca.algorithm.joint.search import NO_SEARCH, search_effort
from rspca.linalg.component_order import best_order
from rspca.operators.prepared import prepared

ROUTES = ("gram", "pools", "products")
KINDS = [name for name in OPERATORS if "," not in name or name.endswith("standardized_and_score_deflated")]


def take_route(patch, route):
    """Force what the size of the data decides otherwise."""
    if route != "gram":
        patch.setattr(module, "pool_size", lambda m, n: n - 1)
    if route == "products":
        patch.setattr(module, "ascend_in_pools", lambda task, start, ks: None)


def matrix_route(route):
    """Return a random Gram matrix as data that do not hold it in memory, except for the first route."""
    return rspca.GramOperator if route == "gram" else (lambda A: rspca.as_operator(np.linalg.cholesky(A).T))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 8), st.sampled_from(ROUTES))  # issue 17, item 1
def test_the_result_is_well_formed_and_never_below_its_start(seed, r, k, route):
    A = gram_of(seed) + 1e-3 * np.eye(8)
    op = matrix_route(route)(A)
    start = random_start([k] * r, 8, seed)
    with little_search() as patch:
        take_route(patch, route)
        together = free(task_of(op, [k] * r), start)
    assert_well_formed(together.vectors, [k] * r, np.arange(8))
    assert adjusted_in_order(A, together.vectors) >= adjusted_in_order(A, start) * (1.0 - 1e-9)
    assert together.violation == 0.0
    assert together.n_iter >= 1


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from(ROUTES))  # issue 17, item 4
def test_nonnegative_loadings_stay_nonnegative(seed, r, route):
    A = gram_of(seed) + 1e-3 * np.eye(8)
    start = random_start([3] * r, 8, seed, nonnegative=True)
    with little_search() as patch:
        take_route(patch, route)
        together = free(task_of(matrix_route(route)(A), [3] * r, nonnegative=True), start)
    assert_well_formed(together.vectors, [3] * r, np.arange(8), nonnegative=True)
    assert adjusted_in_order(A, together.vectors) >= adjusted_in_order(A, start) * (1.0 - 1e-9)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(ROUTES), st.booleans())  # issue 17, item 1
def test_groups_are_respected(seed, route, nonnegative):
    A = gram_of(seed) + 1e-3 * np.eye(8)
    groups = Groups(np.array([0, 0, 0, 1, 1, 1, 2, 2]), 1)
    start = random_start([1, 1], 8, seed, nonnegative=True)
    with little_search() as patch:
        take_route(patch, route)
        task = task_of(matrix_route(route)(A), [3, 3], groups=groups, nonnegative=nonnegative)
        together = free(task, start)
    assert all(groups.allow(vector.support) for vector in together.vectors)
    assert adjusted_in_order(A, together.vectors) >= adjusted_in_order(A, start) * (1.0 - 1e-9)


@pytest.mark.parametrize("name", KINDS)  # issue 17, item 1
def test_every_kind_of_data_is_improved_through_its_products(name, tmp_path):
    op, X = OPERATORS[name](tmp_path)
    A = X.T @ X
    features = np.flatnonzero(np.diag(A) > 1e-9)
    start = [vector._replace(support=features[vector.support]) for vector in random_start([3, 3], len(features), 1)]
    ends = []
    for route in ROUTES:
        with little_search() as patch:
            patch.setattr(type(op), "gram_in_memory", route == "gram" and op.gram_in_memory, raising=False)
            take_route(patch, route)
            together = free(task_of(op, [3, 3]), start)
        assert_well_formed(together.vectors, [3, 3], features)
        ends.append(adjusted_in_order(A, together.vectors))
    before = adjusted_in_order(A, start)
    assert min(ends) >= before * (1.0 - 1e-5 * (op.dtype == np.float32) - 1e-9)
    assert min(ends) > 1.02 * before  # random features leave much to gain


@given(st.integers(0, 10**6))  # issue 17, item 1
def test_no_step_loses_variance(seed):
    A = gram_of(seed)
    problem = JointProblem(GramData(A), [3, 3, 3], task_of(rspca.GramOperator(A), [3]).choice)
    components = components_of(problem, random_start([3, 3, 3], 8, seed))
    for place in (0, 1, 2, 1, 0):
        after = block_step(problem, components, place)
        assert after.variance >= components.variance
        assert after.variance == pytest.approx(adjusted_in_order(A, after.vectors), rel=1e-8)
        components = after
    again = refitted(problem, components)
    assert again.variance >= components.variance
    assert ascend(problem, again)[0].variance >= again.variance


def test_two_components_of_few_features_are_the_best_of_all_pairs():  # issue 17: r = 2, n <= 12, k <= 3
    rng = np.random.default_rng(0)
    real = [benchmark_matrix(name) for name in ("pitprops", "wine")]
    for number, (A, k) in enumerate(small_matrices(rng, 12, real)):
        op = rspca.GramOperator(A)
        together = free(task_of(op, [k, k], number), one_by_one(op, [k, k]))
        found = adjusted_in_order(A, together.vectors)
        assert best_of_pairs(A, k, found, rng) <= found * (1.0 + 1e-7)


@pytest.mark.parametrize("seed", range(2))  # issue 17: bars of small data
@pytest.mark.parametrize(
    ("name", "k", "r", "bar"), [("pitprops", 5, 3, 7.4550), ("pitprops", 5, 6, 10.2190), ("wine", 4, 3, 6.7919)]
)
def test_small_data_reach_the_best_known_variance(name, k, r, bar, seed):
    A = benchmark_matrix(name)
    op = rspca.GramOperator(A)
    together = free(task_of(op, [k] * r, seed), one_by_one(op, [k] * r, seed))
    assert adjusted_in_order(A, together.vectors) >= bar


@pytest.mark.parametrize(("make", "k", "least"), [(classic2, 20, 1.02), (chowdary, 20, 1.003), (chowdary, 222, 1.011)])
def test_large_data_gain_over_one_by_one(make, k, least):  # issue 17, item 1
    X = make()
    op = prepared(rspca.as_operator(X), center=True, scale=False, n_components=5).operator
    start, passes = one_by_one(X, [k] * 5), op.passes
    together = free(task_of(op, [k] * 5), start)
    before, after = (variance_of(op, vectors) for vectors in (start, together.vectors))
    assert after >= least * before
    assert op.passes - passes < 40.0


def variance_of(op, vectors):
    scores = np.column_stack([op.scores(vector.support, vector.loadings) for vector in vectors])
    return float(np.sum(np.diag(np.linalg.qr(scores)[1]) ** 2))


def test_the_stored_order_is_the_best_one():  # issue 17, item 1
    A = benchmark_matrix("pitprops")
    op = rspca.GramOperator(A)
    with little_search():
        together = free(task_of(op, [4] * 4), random_start([4] * 4, 13))
    V = np.column_stack([np.bincount(v.support, v.loadings, 13) for v in together.vectors])
    assert best_order(V.T @ A @ V).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("ks", [[2, 6, 4], [3, 5, 2, 3], [4, 2, 2, 4, 4]])  # issue 17, item 6
def test_a_component_keeps_to_places_of_its_size(ks):
    A = benchmark_matrix("pitprops")
    op = rspca.GramOperator(A)
    for seed in range(5):
        with little_search():
            together = free(task_of(op, ks), random_start(ks, 13, seed))
        assert [len(vector.support) for vector in together.vectors] == ks


def test_progress_is_reported_and_never_falls():  # issue 17, item 1
    steps = []

    def report(stage, iteration, variance, upper=None):
        steps.append((stage, iteration, variance))

    A = benchmark_matrix("pitprops")
    op = rspca.GramOperator(A)
    free(task_of(op, [4] * 3, report=report), one_by_one(op, [4] * 3))
    assert {stage for stage, _, _ in steps} == {"joint"}
    assert np.all(np.diff([variance for _, _, variance in steps]) >= 0.0)
    assert np.all(np.diff([iteration for _, iteration, _ in steps]) > 0)


def test_the_same_seed_gives_the_same_components():
    A = benchmark_matrix("wine")
    op = rspca.GramOperator(A)
    with little_search():
        first, second = (free(task_of(op, [4] * 3, 7), one_by_one(op, [4] * 3)) for _ in range(2))
    for one, other in zip(first.vectors, second.vectors, strict=True):
        np.testing.assert_array_equal(one.support, other.support)
        np.testing.assert_array_equal(one.loadings, other.loadings)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(60, 9), (6, 40), (200, 30)])
def test_tall_and_wide_data_of_both_precisions_are_improved(shape, dtype, route):  # issue 17, item 1
    rng = np.random.default_rng(3)
    X = (rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))).astype(dtype)
    X += 0.3 * rng.standard_normal(shape).astype(dtype)
    X[:, 4] = 5.0  # constant
    op = prepared(rspca.as_operator(X), center=True, scale=False, n_components=3).operator
    Z = X.astype(float) - X.astype(float).mean(axis=0)
    start = random_start([3, 3, 3], 4, 0)
    with little_search() as patch:
        patch.setattr(type(op), "gram_in_memory", route == "gram" and op.gram_in_memory, raising=False)
        take_route(patch, route)
        together = free(task_of(op, [3, 3, 3]), start)
    assert not any(4 in vector.support for vector in together.vectors)
    after, before = (adjusted_in_order(Z.T @ Z, vectors) for vectors in (together.vectors, start))
    assert after >= before * (1.0 - 1e-5)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "X",
    [
        np.outer(np.arange(6.0) - 2.5, [1.0, 2.0, -1.0, 0.5]),  # rank one
        np.tile(np.arange(5.0)[:, None] - 2.0, (1, 6)),  # all features equal
        np.eye(6)[:, :5] - 1.0 / 6.0,  # all features alike
        sp.csr_array(np.eye(7)),
    ],
    ids=["rank one", "equal features", "alike features", "identity"],
)
@pytest.mark.parametrize("ks", [[1, 1], [2, 2, 2], [4]])
def test_ties_and_low_rank_do_no_harm(X, ks, route):
    op = rspca.as_operator(X)
    A = op.gram_matrix(np.arange(op.shape[1]))
    start = random_start(ks, op.shape[1], 2)
    with little_search() as patch:
        take_route(patch, route)
        together = free(task_of(op, ks), start)
    assert_well_formed(together.vectors, ks, np.arange(op.shape[1]))
    assert adjusted_in_order(A, together.vectors) >= adjusted_in_order(A, start) * (1.0 - 1e-9)


def test_components_on_all_features_become_the_leading_ones():
    A = gram_of(5)
    op = rspca.GramOperator(A)
    with little_search():
        together = free(task_of(op, [8, 8]), random_start([8, 8], 8))
    assert adjusted_in_order(A, together.vectors) == pytest.approx(np.linalg.eigvalsh(A)[-2:].sum(), rel=1e-6)


def test_a_start_of_fewer_features_is_completed():
    A = benchmark_matrix("pitprops")
    op = rspca.GramOperator(A)
    with little_search():
        together = free(task_of(op, [5, 5]), random_start([1, 1], 13))
    assert [len(vector.support) for vector in together.vectors] == [5, 5]


def test_less_is_tried_where_an_ascent_costs_more():
    counts = [search_effort(n, [10] * 5) for n in (20, 200, 500, 2000)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0].starts > counts[-1].starts > 0
    assert search_effort(5000, [50] * 5) == NO_SEARCH


def test_a_gram_matrix_is_extended_by_new_features():
    X = np.random.default_rng(0).standard_normal((9, 12))
    op, some, more = rspca.as_operator(X), np.array([1, 4, 7]), np.array([0, 1, 4, 5, 7, 11])
    gram = extended_gram(op, op.gram_matrix(some), some, more)
    np.testing.assert_allclose(gram, (X.T @ X)[np.ix_(more, more)])
