"""Polishing at fixed k: monotone, exact about single swaps, and in practice optimal where all supports can be tried."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rspca
from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.gram_swaps import _first_that_gains, _Refit, _Swaps
from rspca.algorithm.polish import (
    Polished,
    climb,
    climb_each,
    exchange,
    power_steps,
    refit,
    swap,
    swaps_affordable,
)
from rspca.linalg.vectors import spread


def random_gram(seed, n=None):
    """Return a random covariance: sometimes of low rank, sometimes with signs, ties or very different variances."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(3, 10))
    kind = seed % 4
    X = rng.standard_normal((n + 3 if kind != 1 else max(2, n // 2), n))
    if kind == 2:
        X = X * np.exp(rng.standard_normal(n))
    if kind == 3:
        X = np.round(2 * X) + 0.5 * rng.standard_normal((len(X), 1))
    return X.T @ X


def largest(A, support):
    support = np.asarray(support)
    return float(np.linalg.eigvalsh(A[np.ix_(support, support)])[-1])


def best_of_all(A, k):
    return max(largest(A, support) for support in combinations(range(len(A)), k))


def best_exchange(A, support, allowed=None):
    """Return the largest eigenvalue that exchanging one feature of the support for another can give."""
    support = list(support)
    outside = [j for j in (range(len(A)) if allowed is None else allowed) if j not in support]
    return max(
        (largest(A, [j, *(i for i in support if i != out)]) for out, j in product(support, outside)), default=0.0
    )


def test_every_support_tried_by_brute_force_is_hardly_ever_better():
    reached = total = 0
    for seed in range(40):
        A = random_gram(seed)
        for k in range(1, len(A) + 1):
            found = rspca.decompose(rspca.GramOperator(A), 1, k=k, random_state=0).components[0]
            optimum = best_of_all(A, k)
            assert found.variance <= optimum * (1.0 + 1e-9)
            assert found.variance == pytest.approx(largest(A, found.support), rel=1e-8)
            reached += found.variance >= optimum * (1.0 - 1e-8)
            total += 1
    assert total > 200
    assert reached >= 0.99 * total


def test_an_optimum_that_neither_the_leading_component_nor_single_swaps_can_see_is_found():
    # Six features with correlation 0.3 have the leading eigenvector, eigenvalue 2.5; a separate pair with
    # correlation 0.9 is better at k = 2, 1.9 against 1.3, but half of it is worth less than any two of the six.
    A = np.eye(8)
    A[:6, :6] += 0.3 * (1.0 - np.eye(6))
    A[6, 7] = A[7, 6] = 0.9
    assert best_exchange(A, [0, 1]) == pytest.approx(1.3)
    found = rspca.decompose(rspca.GramOperator(A), 1, k=2, random_state=0).components[0]
    assert found.support.tolist() == [6, 7]
    assert found.variance == pytest.approx(1.9)


@given(st.integers(0, 10**6))
def test_a_component_is_swap_optimal_exactly_when_no_exchange_gains(seed):
    A = random_gram(seed, 9)
    for k in (2, 4, 6):
        found = rspca.decompose(rspca.GramOperator(A), 1, k=k, random_state=0).components[0]
        assert found.swap_optimal
        assert best_exchange(A, found.support) <= found.variance * (1.0 + 1e-8)


def check_swaps(A, start, eligible):
    """Swap from a support until the search says that no exchange gains, and compare with trying them all."""
    before = largest(A, start)
    loadings = np.linalg.eigh(A[np.ix_(start, start)])[1][:, -1]
    end = swap(rspca.GramOperator(A), Polished(start, loadings, before, 0, None), choice=Choice(eligible))
    assert end.swap_optimal
    assert len(set(end.support.tolist())) == len(start)
    assert set(end.support.tolist()) <= set(eligible.tolist())
    assert end.variance == pytest.approx(largest(A, end.support), rel=1e-8)
    assert best_exchange(A, end.support, eligible) <= end.variance * (1.0 + 1e-8)
    if best_exchange(A, start, eligible) > before * (1.0 + 1e-8):
        assert end.variance > before * (1.0 + 1e-9)
    else:
        assert end.variance == pytest.approx(before, rel=1e-8)


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_swapping_goes_on_exactly_as_long_as_an_exchange_gains(seed, k):
    start = np.sort(np.random.default_rng(seed).choice(9, k, replace=False))
    check_swaps(random_gram(seed, 9), start, np.arange(9))


small_integers = st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).integers(-1, 2, (5, 8)))


@settings(max_examples=200)
@given(small_integers, st.integers(1, 6), st.integers(0, 10**6))
def test_ties_do_not_mislead_the_swap_test(X, k, seed):
    # Small integers give equal eigenvalues, duplicate columns and features at right angles.
    A = (X.T @ X).astype(float)
    eligible = np.flatnonzero(np.diag(A))
    assume(len(eligible) > k)
    check_swaps(A, np.sort(np.random.default_rng(seed).choice(eligible, k, replace=False)), eligible)


def test_duplicate_columns_are_interchangeable():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4)) * [1.0, 3.0, 1.0, 1.0]
    X = np.hstack([X, X])  # features 1 and 5 are the same, and the strongest
    found = rspca.decompose(X, 1, k=2, random_state=0).components[0]
    assert found.support.tolist() == [1, 5]
    np.testing.assert_allclose(found.loadings, np.sqrt(0.5))
    assert found.swap_optimal


def test_all_features_equal_is_a_tie_that_ends():
    found = rspca.decompose(rspca.GramOperator(np.ones((7, 7)) + np.eye(7)), 1, k=3, random_state=0).components[0]
    assert len(found.support) == 3
    assert found.variance == pytest.approx(4.0)
    assert found.swap_optimal
    identity = rspca.decompose(rspca.GramOperator(np.eye(7)), 1, k=3, random_state=0).components[0]
    assert identity.variance == pytest.approx(1.0)


@given(st.integers(0, 10**6))
def test_the_extremes_are_the_best_feature_and_the_leading_component(seed):
    A = random_gram(seed)
    op = rspca.GramOperator(A)
    one = rspca.decompose(op, 1, k=1, random_state=0).components[0]
    assert one.variance == pytest.approx(np.diag(A).max())
    assert one.loadings.tolist() == [1.0]
    all_of_them = rspca.decompose(op, 1, k=len(A), random_state=0).components[0]
    assert all_of_them.variance == pytest.approx(np.linalg.eigvalsh(A)[-1])
    assert all_of_them.swap_optimal


def noisy_data(seed, m=25, n=40):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, 3)) @ rng.standard_normal((3, n)) + 2.0 * rng.standard_normal((m, n))


@pytest.mark.parametrize("rounding", ["exact", "bernoulli"])
@pytest.mark.parametrize("seed", range(8))
def test_each_stage_is_at_least_as_good_as_the_one_before(seed, rounding):
    X = noisy_data(seed)
    options = {"k": 6, "rounding": rounding, "random_state": seed}
    naive = rspca.decompose(X, 1, polish=False, normalization="naive", **options).components[0]
    refitted = rspca.decompose(X, 1, polish=False, normalization="svd", **options).components[0]
    polished = rspca.decompose(X, 1, polish=True, normalization="svd", **options).components[0]
    assert naive.support.tolist() == refitted.support.tolist()
    assert naive.variance <= refitted.variance * (1.0 + 1e-9)
    assert refitted.variance <= polished.variance * (1.0 + 1e-9)
    assert len(polished.support) == len(refitted.support)
    assert naive.swap_optimal is None
    assert refitted.swap_optimal is None
    assert polished.swap_optimal


def test_polishing_gains_something_on_noisy_data():
    gains = []
    for seed in range(8):
        options = {"k": 6, "random_state": seed}
        before, after = (rspca.decompose(noisy_data(seed), 1, polish=on, **options) for on in (False, True))
        gains.append(after.components[0].variance / before.components[0].variance)
    assert max(gains) > 1.001


@pytest.mark.parametrize("how", ["naive", "svd"])
def test_normalizing_gives_a_unit_vector_on_the_same_support(how):
    X = noisy_data(1)
    x = np.zeros(40)
    x[[3, 8, 21]] = 2.0, -1.0, 0.5
    v = rspca.normalize(X, x, how=how)
    assert np.linalg.norm(v) == pytest.approx(1.0)
    assert np.flatnonzero(v).tolist() == [3, 8, 21]
    block = (X - X.mean(axis=0))[:, [3, 8, 21]]
    variance = np.sum((block @ v[[3, 8, 21]]) ** 2)
    if how == "svd":
        assert variance == pytest.approx(np.linalg.norm(block, 2) ** 2)
    else:
        np.testing.assert_allclose(v, x / np.linalg.norm(x))
        assert variance < np.linalg.norm(block, 2) ** 2


def test_naive_normalization_after_polishing_keeps_the_support_and_the_unit_length():
    found = rspca.decompose(noisy_data(2), 2, k=5, normalization="naive", random_state=0)
    for component in found.components:
        assert len(component.support) == 5
        assert np.linalg.norm(component.loadings) == pytest.approx(1.0)


def test_all_features_of_a_wide_matrix_need_no_square_matrix_of_them():
    X = np.random.default_rng(0).standard_normal((3, 60_000))  # k (n - k) = 0, but k rows of A are 29 GB
    every, nearly = (rspca.decompose(X, 1, k=k, random_state=0).components[0] for k in (60_000, 59_999))
    assert len(every.support) == 60_000
    assert every.swap_optimal is True
    assert nearly.swap_optimal is None
    assert every.variance == pytest.approx(np.linalg.norm(X - X.mean(0), 2) ** 2)


@given(st.integers(0, 10**6))
def test_exchanges_by_worth_never_lose_variance_and_keep_k_eligible_features(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(3, 12)), int(rng.integers(4, 14))
    X = rng.standard_normal((m, n)) * rng.uniform(0.2, 2.0, n)
    op = rspca.as_operator(X)
    k = int(rng.integers(1, n))
    eligible = np.sort(rng.choice(n, int(rng.integers(k, n + 1)), replace=False))
    support = np.sort(rng.choice(eligible, k, replace=False))
    value, loadings = refit(op.restrict(support), np.ones(k))
    start = Polished(support, loadings, value, 0, None)
    found = exchange(op, start, op.gradient(op.restrict(support), support, loadings), choice=Choice(eligible), rounds=3)
    assert found.variance >= value * (1.0 - 1e-12)
    assert len(found.support) == k
    assert set(found.support) <= set(eligible)
    np.testing.assert_allclose(np.linalg.norm(X[:, found.support], 2) ** 2, found.variance, rtol=1e-4)


def test_exchanges_by_worth_leave_where_power_steps_stay():
    # From the first feature, A e_0 is largest at the first feature again, though the second varies more.
    op = rspca.GramOperator([[1.0, 0.5], [0.5, 1.2]])
    start = Polished(np.array([0]), np.ones(1), 1.0, 0, None)
    stayed = climb(op, np.array([1.0, 0.0]), 1, choice=Choice(np.arange(2)), tol=1e-9, max_iter=10)
    assert stayed.support.tolist() == [0]
    assert exchange(op, start, np.array([1.0, 0.5]), choice=Choice(np.arange(2)), rounds=2).support.tolist() == [1]


def test_climbs_that_meet_go_on_as_one():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 60)) * np.r_[np.full(20, 3.0), np.ones(40)]
    options = {"choice": Choice(np.arange(60)), "tol": 1e-9, "max_iter": 50}

    def ends_and_passes(*starts):
        op = rspca.as_operator(X)
        return climb_each(op, np.column_stack(starts), 5, **options), op.passes

    far, other = np.zeros(60), np.zeros(60)
    far[40:45], other[0:5] = 1.0, 1.0
    steps = [climb_each(rspca.as_operator(X), far[:, None], 5, **options | {"max_iter": i})[0] for i in range(4)]
    assert steps[1].variance < steps[2].variance
    on_the_way = spread(steps[1].loadings, steps[1].support, 60)
    [alone], passes = ends_and_passes(far)
    [first], passes_of_two = ends_and_passes(far, on_the_way)
    np.testing.assert_array_equal(first.support, alone.support)
    assert passes_of_two == passes
    [elsewhere], _ = ends_and_passes(other)
    assert elsewhere.support.tolist() != alone.support.tolist()
    assert [end.support.tolist() for end in ends_and_passes(far, other)[0]] == [
        alone.support.tolist(), elsewhere.support.tolist(),
    ]  # fmt: skip


def exchanges_of(seed, most, n=14, k=5, unit=1.0):
    """Return data, and what exchanges by worth make of a random support of them."""
    rng = np.random.default_rng(seed)
    op = rspca.as_operator(unit * rng.standard_normal((8, n)) * rng.uniform(0.5, 1.5, n))
    support = np.sort(rng.choice(n, k, replace=False))
    value, loadings = refit(op.restrict(support), np.ones(k))
    start = Polished(support, loadings, value, 0, None)
    return op, again(op, start, most)


def again(op, start, most):
    gradient = op.gradient(op.restrict(start.support), start.support, start.loadings)
    return exchange(op, start, gradient, choice=Choice(np.arange(op.shape[1])), rounds=most)


def test_exchanges_go_on_as_long_as_they_are_worthwhile(monkeypatch):
    monkeypatch.setattr("rspca.algorithm.budgets.EXCHANGE_MIN_GAIN", 0.0)
    rounds = []
    for seed in range(30):
        op, end = exchanges_of(seed, 50)
        assert again(op, end, 1).support.tolist() == end.support.tolist()
        rounds.append(end.n_iter)
    assert max(rounds) >= 3
    monkeypatch.setattr("rspca.algorithm.budgets.EXCHANGE_MIN_GAIN", 1e9)
    assert max(exchanges_of(seed, 50)[1].n_iter for seed in range(30)) == 1


def test_exchanges_do_not_depend_on_the_unit():
    for seed in range(30):
        supports = [exchanges_of(seed, 3, unit=unit)[1].support.tolist() for unit in (1.0, 2.0**-20, 2.0**20)]
        assert supports[0] == supports[1] == supports[2]


def test_the_clearest_exchange_is_made_if_it_gains():
    made = 0
    for seed in range(60):
        op, start = exchanges_of(seed, 0)
        A = op.gram_block(np.arange(14))
        value, d, S = start.variance, np.diagonal(A), start.support
        worth = (A[:, S] @ start.loadings) ** 2 / np.maximum(value - d, budgets.SWAP_MIN_GAIN * value)
        worth[S] = -np.inf
        inside = start.loadings**2 * np.maximum(value - d[S], 0.0)
        joining, leaving = int(np.argmax(worth)), int(np.argmin(inside))
        if worth[joining] > inside[leaving]:
            exchanged = largest(A, [joining, *np.delete(S, leaving)])
            if exchanged > value * (1.0 + 1e-6):
                assert again(op, start, 1).variance > value
                made += 1
    assert made > 20


def test_climbing_does_not_depend_on_the_unit():
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal((12, 30))
        start = np.zeros(30)
        start[:5] = 1.0
        ends = [climb(rspca.as_operator(unit * X), start, 5, choice=Choice(np.arange(30)), tol=1e-6, max_iter=50)
                for unit in (1.0, 2.0**-20, 2.0**20)]  # fmt: skip
        assert len({end.support.tobytes() for end in ends}) == len({end.n_iter for end in ends}) == 1


def test_power_steps_stop_when_no_support_changes_and_keep_the_best():
    A = np.diag([5.0, 4.0, 3.0, 2.0, 1.0, 1.0])
    A[0, 1] = A[1, 0] = A[2, 3] = A[3, 2] = 1.5
    op = rspca.GramOperator(A)
    V = np.zeros((6, 3))
    V[[4, 5], 0] = V[[2, 3], 1] = V[[0, 1], 2] = np.sqrt(0.5)
    kept = power_steps(op, V, 2, choice=Choice(np.arange(6)), keep=2)
    assert op.passes == 1.0  # one product tells that all supports stay
    assert [np.flatnonzero(v).tolist() for v in kept.T] == [[0, 1], [2, 3]]


@given(st.integers(0, 10**6))
def test_climbing_ends_where_the_largest_gradients_are_the_support_or_nothing_is_gained(seed):
    rng = np.random.default_rng(seed)
    op = rspca.as_operator(rng.standard_normal((7, 10)))
    start = np.zeros(10)
    start[rng.choice(10, 3, replace=False)] = 1.0
    end = climb(op, start, 3, choice=Choice(np.arange(10)), tol=1e-9, max_iter=200)
    before = refit(op.restrict(np.flatnonzero(start)), np.ones(3))[0]
    assert end.variance >= before * (1.0 - 1e-6)
    gradient = op.gradient(op.restrict(end.support), end.support, end.loadings)
    proposed = Choice(np.arange(10)).largest(gradient, 3)
    assert refit(op.restrict(proposed), np.ones(3))[0] <= end.variance * (1.0 + 1e-6)


def test_exchanges_are_affordable_if_both_the_pairs_and_the_rows_are_few(monkeypatch):
    monkeypatch.setattr("rspca.algorithm.budgets.SWAP_MAX_PAIRS", 100)
    monkeypatch.setattr("rspca.algorithm.budgets.SWAP_MAX_ENTRIES", 200)
    assert swaps_affordable(10, 20)  # 100 pairs, 200 entries
    assert not swaps_affordable(10, 21)
    assert not swaps_affordable(20, 21)  # 20 pairs, 420 entries
    assert not swaps_affordable(2, 60)  # 116 pairs, 120 entries


@pytest.mark.parametrize("k", [3, 101])
def test_the_most_promising_swap_that_gains_is_made_and_few_are_tried(k):
    promising = _Swaps(np.ones(9, dtype=int), np.arange(k, k + 9), np.arange(9.0, 0.0, -1.0))  # feature k the most
    none = _Swaps(*(np.empty(0, dtype=int),) * 3)
    for rank in (1, budgets.SWAP_TRIES, budgets.SWAP_TRIES + 1):
        diagonal = np.r_[np.ones(k), np.full(9, 0.5)]
        diagonal[k + rank - 1 :] = 5.0  # the first that gains
        rows = np.diag(diagonal)[:k]
        fit = _Refit(np.arange(k), 1.0, np.eye(k)[0], np.eye(k))
        swap = _first_that_gains(rows, diagonal, fit, promising)
        if rank > budgets.SWAP_TRIES:
            assert swap is None
            continue
        assert (swap.leaving, swap.joining) == (1, k + rank - 1)
        np.testing.assert_allclose(swap.values, np.r_[np.ones(k - 1), 5.0])
        assert np.abs(swap.vectors[1, -1]) == pytest.approx(1.0)
        assert _first_that_gains(rows, diagonal, fit._replace(value=6.0), promising) is None
    assert _first_that_gains(rows, diagonal, fit, none) is None


def test_swaps_are_counted_and_limited(monkeypatch):
    op = rspca.GramOperator(np.diag([1.0, 1.0, 1.0, 3.0]) + 0.5)
    start = Polished(np.array([0, 1]), np.full(2, np.sqrt(0.5)), 2.0, 7, None)
    end = swap(op, start, choice=Choice(np.arange(4)))
    assert (end.n_iter, end.swap_optimal, 3 in end.support) == (8, True, True)
    monkeypatch.setattr("rspca.algorithm.budgets.SWAPS_MAX", 1)
    assert swap(op, start, choice=Choice(np.arange(4))).swap_optimal is False
    monkeypatch.setattr("rspca.algorithm.budgets.SWAPS_MAX", 2)
    assert swap(op, start, choice=Choice(np.arange(4))).swap_optimal is True
