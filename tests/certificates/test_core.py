"""A core of features and the rest: never below the optimum, whatever the core, its bounds, and the clock."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.enumeration import KINDS, NOTHING, case, operator, optima, optimum

from rspca.algorithm.feature_limits import Groups
from rspca.certificates import budgets, strategy
from rspca.certificates.bounds import gram
from rspca.certificates.bounds.core import (
    Rest,
    frobenius_bounds,
    largest_in_columns,
    largest_squares,
    split_bounds,
    sums_from_none,
)
from rspca.certificates.bounds.elimination import streamed_rows
from rspca.certificates.bounds.gram import soft_thresholded
from rspca.certificates.bounds.limits import GroupLimits
from rspca.certificates.bounds.row_dual import growth, row_dual_of_one
from rspca.certificates.core_stage import Core, CoreProof, core_sizes, of_data, of_gram
from rspca.certificates.progress import Progress
from rspca.certificates.proof_state import ProofState
from rspca.certificates.search import variance_of

seeds = st.integers(0, 10**6)
never = bool  # called without arguments, it is False


def off_diagonal(A):
    return A - np.diag(np.diagonal(A))


def drawn_core(seed, n, k):
    """Return features of a core, at least k and never all."""
    rng = np.random.default_rng([19, seed])
    return np.sort(rng.permutation(n)[: int(rng.integers(k, n))])


@given(seeds)
def test_exact_bounds_on_the_core_give_a_bound_on_all(seed):  # issue 18, items 3 and 8
    A = case(seed).A
    k = 1 + seed % (len(A) - 1)
    features = drawn_core(seed, len(A), k)
    others = np.setdiff1d(np.arange(len(A)), features)
    inside = np.array([0.0, *optima(A[np.ix_(features, features)])[:k]])
    beside = largest_squares(A[np.ix_(others, features)], k)
    among = largest_squares(off_diagonal(A)[others], k - 1)
    rest = Rest(np.diagonal(A)[others].copy(), beside, among, k)
    best, most = optimum(A, k), float(inside[k])
    found, _ = rest.least(inside.copy(), max(most, 1e-300), lambda size: np.inf)
    assert max(found, most) >= best * (1.0 - NOTHING)
    if rest.excluded(inside, best * (1.0 - 1e-9)):  # a support with others may have as much as the best, not more
        assert most >= best * (1.0 - NOTHING)  # what is outside adds nothing


@given(seeds, st.floats(0.0, 1.2))
def test_bounds_for_every_number_of_features(seed, share):  # issue 18, item 8
    A = case(seed).A
    level = share * float(np.abs(A).max())
    by_rows = frobenius_bounds(np.diagonal(A).copy(), largest_squares(off_diagonal(A), len(A) - 1), len(A))
    by_split = split_bounds(A, soft_thresholded(A, level), len(A))
    for count, best in enumerate(optima(A), 1):
        assert by_rows[count] >= best * (1.0 - NOTHING)
        assert by_split[count] >= best * (1.0 - NOTHING)


@settings(max_examples=30)
@given(seeds)
def test_a_core_of_data_is_true_before_and_after_each_dual(seed):  # issue 18, items 3 and 8
    one = case(seed)
    op, k = operator(one).to_float64(), 2 + seed % max(one.n - 2, 1)
    if k >= one.n:
        return
    largest = streamed_rows(op, k, out_of_time=never, with_largest=True).largest
    core = Core(of_data(op, k, largest, None), k, drawn_core(seed, one.n, k))
    best, slack = optimum(one.A, k), 1e-11 * np.trace(one.A)
    calls = itertools.count()
    for improve in (lambda: None, lambda: core.relax(lambda: next(calls) > 3),
                    lambda: core.improve(k, 0.0, lambda: next(calls) > 30),
                    lambda: core.improve(k - 1, 0.0, lambda: next(calls) > 60)):  # fmt: skip
        improve()
        assert core.upper(0.5 * best, never)[0] >= best - slack
        assert core.upper(0.5 * best, lambda: True)[0] >= best - slack
        for count, value in enumerate(core.bounds[1:], 1):
            inside = one.A[np.ix_(core.features, core.features)]
            assert value >= optimum(inside, min(count, len(inside))) - slack
        if core.excludes_rest(best):
            assert set_of_better(one.A, k, best + slack) <= set(core.features.tolist())
            assert set_of_better(one.A, k, best + slack) <= set(core.possible(best).tolist())


@given(seeds)
def test_the_growth_of_a_row_dual_bounds_it_for_more_features(seed):  # issue 18, item 8
    A, rng = case(seed).A, np.random.default_rng(seed)
    Q, theta = rng.standard_normal(A.shape) * np.abs(A).max(), float(np.abs(A).max()) * 10.0 ** rng.uniform(-2, 1)
    for base in range(1, len(A) + 1):
        value, each = row_dual_of_one(A, base, Q, theta), growth(base, Q, theta)
        for size in range(base, len(A) + 1):
            exact = row_dual_of_one(A, size, Q, theta)
            assert value + (size - base) * each >= exact * (1.0 - 1e-12)


def test_the_growth_of_a_row_dual_is_by_the_entry_that_follows_the_largest():
    for seed in range(20):
        Q = np.random.default_rng(seed).standard_normal((1, 300))
        assert growth(7, Q, 0.5) == pytest.approx(0.5 + np.sort(Q[0] ** 2)[-8] / 0.5, rel=1e-12)


@given(seeds)
def test_a_split_adds_the_remainder_of_a_matrix_to_the_spectrum_of_the_other(seed):
    A = case(seed).A
    S = soft_thresholded(A, 0.3 * float(np.abs(A).max()))
    found = split_bounds(A, S, len(A))
    for count in range(1, len(A) + 1):
        exact = gram.spectral_fill(gram.spectrum(S), count) + gram.remainder(A - S, count)
        assert found[count] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_a_core_in_other_units_has_the_same_bound(unit):
    A, bounds = planted().T @ planted(), []
    for scale in (1.0, unit):
        core = Core(of_gram(scale * A, 4, None), 4, np.arange(12))
        core.relax(never)
        bounds.append(core.upper(0.5 * scale * float(np.diagonal(A).max()), never)[0] / scale)
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-3)


def test_a_row_dual_in_other_units_has_the_same_bound():
    A = planted().T @ planted()
    found = [row_dual_of_one(unit * A, 4, unit * A / 3.0, unit * 5.0) / unit for unit in (1.0, 2.0**-40)]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def set_of_better(A, k, least):
    """Return the features of supports that are better than that."""
    supports = [np.array(support) for support in itertools.combinations(range(len(A)), k)]
    return {int(i) for support in supports if variance_of(A, support) > least for i in support}


@pytest.mark.parametrize("seed", range(12))
def test_a_core_is_true_for_the_supports_that_groups_allow(seed):  # issue 18, items 5 and 8
    rng = np.random.default_rng([5, seed])
    n, k = 9, 3
    X = rng.standard_normal((12, 2)) @ rng.standard_normal((2, n)) + 0.5 * rng.standard_normal((12, n))
    A, limits = X.T @ X, GroupLimits(Groups(rng.integers(0, 5, n), int(rng.integers(1, 3))))
    allowed = [S for S in map(np.array, itertools.combinations(range(n), k)) if limits.allow(S)]
    best = max((variance_of(A, support) for support in allowed), default=0.0)
    core = Core(of_gram(A, k, limits), k, drawn_core(seed, n, k + 1))
    core.relax(never)
    core.improve(k, 0.0, never)
    assert core.upper(0.9 * best, never)[0] >= best * (1.0 - 1e-12)
    if core.excludes_rest(0.9 * best):
        better = {int(i) for S in allowed if variance_of(A, S) > 0.9 * best for i in S}
        assert better <= set(core.possible(0.9 * best).tolist())


def planted(strength=6.0):
    """Return 40 samples of 60 features, the first eight of which vary together."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 60))
    X[:, :8] += strength * rng.standard_normal((40, 1))
    return X - X.mean(axis=0)


def test_a_core_excludes_what_is_far_from_it(monkeypatch):  # issue 18, item 3
    monkeypatch.setattr(budgets, "CORE_FEATURES", 15)
    X = planted()
    A = X.T @ X
    support = np.arange(6)
    run = Progress(support, variance_of(A, support), tol=1e-6, deadline=time.perf_counter() + 60.0)
    proof = CoreProof(of_gram(A, 6, None), 6)
    assert not proof.is_stopped
    proof.go_on(run, lambda: True)
    assert run.bounds == []
    proof.go_on(run, run.out_of_time)
    assert proof.is_done
    assert set(proof.possible.tolist()) <= set(range(8))
    assert {bound.name for bound in run.bounds} == {"core of features"}
    assert all(optimum(A[:8, :8], 6) * (1.0 - NOTHING) <= bound.value for bound in run.bounds)
    assert run.upper <= 1.05 * run.lower


@pytest.mark.parametrize("kind", ["noise", "correlations", "duplicates"])
def test_large_data_are_bounded_by_cores_of_growing_size(kind, monkeypatch):  # issue 18, items 3 and 6
    for name, value in (("CORE_FEATURES", 4), ("CORE_SHARE", 1.0), ("GRAM_FEATURES", 3), ("CORE_FIRST_SHARE", 1)):
        monkeypatch.setattr(budgets, name, value)
    one = case(KINDS.index(kind), 10)
    op = operator(one).to_float64()
    support = np.arange(2)
    run = Progress(support, variance_of(one.A, support), tol=1e-9, deadline=time.perf_counter() + 5.0)
    strategy.by_products(run, ProofState(op), 2)
    assert run.upper >= optimum(one.A, 2) * (1.0 - 1e-10)
    assert "core of features" in {bound.name for bound in run.bounds} or run.finished()


def test_sizes_of_cores_grow_and_have_more_than_k_features():  # issue 18, item 3
    assert core_sizes(20, 10_000) == [200, 320, 512, 819]
    assert core_sizes(100, 10_000) == [250, 400, 640, 1000]
    assert core_sizes(500, 10_000) == [1000]
    assert core_sizes(20, 150) == [150]
    assert core_sizes(20, 20) == []


def test_the_largest_of_columns_that_come_in_blocks():
    rows = np.random.default_rng(0).standard_normal((9, 4))
    whole = -np.sort(-(rows.T**2), axis=1)[:, :3]
    np.testing.assert_array_equal(largest_in_columns(iter([rows[:2], rows[2:3], rows[3:]]), 3), whole)
    np.testing.assert_allclose(sums_from_none(whole, 5)[:, [0, 1, 3, 4, 5]].T, [
        np.zeros(4), whole[:, 0], whole.sum(axis=1), whole.sum(axis=1), whole.sum(axis=1),
    ])  # fmt: skip
    with pytest.raises(ValueError, match="no rows"):
        largest_in_columns(iter([]), 3)


def test_a_core_without_a_bound_says_nothing():
    rest = Rest(np.ones(3), np.ones((3, 2)), np.ones((3, 1)), 2)
    assert rest.least(np.array([0.0, np.inf, 1.0]), 1.0, lambda size: np.inf)[0] == np.inf


def test_one_feature_beside_a_core_gives_the_eigenvalue_of_both():
    rest = Rest(np.array([1.0]), np.array([[0.25]]), np.zeros((1, 1)), 2)
    found, count = rest.least(np.array([0.0, 2.0, 2.0]), 2.0, lambda size: np.inf)
    exact = np.linalg.eigvalsh([[2.0, 0.5], [0.5, 1.0]])[-1]
    assert exact <= found <= exact * (1.0 + 1e-4)
    assert count == 1


def test_supports_without_any_feature_of_the_core_count_too():
    alike = Rest(np.ones(3), np.zeros((3, 1)), np.full((3, 2), 0.9**2), 3)  # together they have 2.8
    assert not alike.excluded(np.zeros(4), 2.0)
    assert alike.excluded(np.zeros(4), 3.0)
