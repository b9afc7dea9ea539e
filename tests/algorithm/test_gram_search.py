"""The search inside a Gram matrix: starts, exchanges, ties, groups, and the cases it was built for."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rspca
from benchmarks import data
from rspca.algorithm import budgets, gram_swaps
from rspca.algorithm import gram_search as gs
from rspca.algorithm.feature_limits import Choice, Groups

seeds = st.integers(0, 2**32 - 1)


def gram(seed, n=12, m=9):
    X = np.random.default_rng(seed).standard_normal((m, n))
    return X.T @ X


def every(A):
    return Choice(np.arange(len(A)))


def variance(A, support):
    return float(np.linalg.eigvalsh(A[np.ix_(support, support)])[-1])


def found(A, k, choice=None, known=()):
    return gs.search(A, k, choice or every(A), known=list(known), rng=np.random.default_rng(0))


def linked(m=400, n=500, seed=0):
    """Return data in which five correlated features have more variance than any others, hidden in three ways.

    A factor of 200 features leads all directions, 60 features vary more, and alone none of the five is remarkable.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    X[:, :200] = np.sqrt(0.7) * X[:, :200] + np.sqrt(0.3) * rng.standard_normal((m, 1))
    X[:, 200:260] *= 1.3
    X[:, 300:305] = np.sqrt(0.1) * X[:, 300:305] + np.sqrt(0.9) * rng.standard_normal((m, 1))
    return X


# issue 14, item 7
def test_a_few_linked_features_away_from_the_leading_directions_are_found():
    X = linked()
    for seed in range(3):
        assert rspca.decompose(X, 1, k=5, random_state=seed).components[0].support.tolist() == [*range(300, 305)]


# issue 14, item 7: what other methods, and power steps from every feature, found and the default did not
@pytest.mark.parametrize(
    ("chromosome", "k", "share"),
    [(5, 5, 0.08622), (9, 5, 0.11531), (6, 10, 0.13541), (12, 10, 0.16574), (22, 10, 0.29620), (20, 10, 0.21401)],
)
def test_the_default_reaches_the_best_known_on_chromosomes_of_hapmap3(chromosome, k, share):
    X = rspca.read(data.data_path("hapmap3_flashpca", "data.bed"), chromosomes=chromosome)
    op = rspca.operators.convert.prepare(X, scale="patterson")
    largest = rspca.linalg.eigen.leading_pairs(op, 1).values[0]
    for seed in (0, 1):
        component = rspca.decompose(X, 1, k=k, scale="patterson", random_state=seed).components[0]
        assert component.variance / largest >= share - 6e-6
        assert component.swap_optimal


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 5))
def test_the_search_finds_the_best_of_all_supports_of_small_matrices(seed, k):
    A = gram(seed, 9)
    best = max(variance(A, list(s)) for s in combinations(range(9), k))
    end = found(A, k)[0]
    assert end.variance == pytest.approx(variance(A, end.support), rel=1e-12)
    assert end.variance == pytest.approx(best, rel=1e-12)
    assert end.swap_optimal


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(2, 4), st.integers(1, 2))
def test_the_search_keeps_to_the_limits_of_groups_and_finds_the_best_within_them(seed, k, most):
    A, labels = gram(seed, 8), np.array([7, 7, 3, 3, 5, 5, 0, 0])
    allowed = [s for s in combinations(range(8), k) if np.bincount(labels[list(s)]).max() <= most]
    ends = found(A, k, Choice(np.arange(8), Groups(labels, most)))
    assert all(np.bincount(labels[end.support]).max() <= most for end in ends)
    assert ends[0].variance == pytest.approx(max(variance(A, list(s)) for s in allowed), rel=1e-12)


def test_known_supports_are_improved_and_never_lost():
    A = gram(3, 40, 30)
    known = np.arange(5, 11)
    ends = found(A, 6, known=[known])
    assert ends[0].variance >= variance(A, known)
    with_starts = {end.support.tobytes() for end in ends}
    alone = gram_swaps.swap_features(A.__getitem__, A.diagonal(), known, every(A))
    assert alone.support.tobytes() in with_starts


def test_ties_go_to_the_lowest_features_whatever_the_last_bit_says():
    block = np.full((3, 3), 0.9) + 0.1 * np.eye(3)
    for noise in (0.0, 1e-13, -1e-13):
        A = np.eye(12)
        for first in (8, 2, 5):
            A[first : first + 3, first : first + 3] = block
        A[8:11, 8:11] *= 1.0 + noise
        A[5:8, 5:8] *= 1.0 - noise
        assert found(A, 3)[0].support.tolist() == [2, 3, 4]
    repeated = np.kron(np.ones((3, 3)), gram(5, 6))  # every feature three times
    assert set(found(repeated, 1)[0].support) <= set(range(6))


def test_the_search_is_the_same_for_features_in_another_order():
    A = gram(11, 60, 40)
    order = np.random.default_rng(1).permutation(60)
    for k in (3, 8):
        one, other = found(A, k)[0], found(A[np.ix_(order, order)], k)[0]
        assert one.support.tolist() == np.sort(order[other.support]).tolist()


def test_a_growing_support_takes_the_feature_that_promises_most():
    A = gram(2, 15, 20)
    candidates = gs.grow(A, 4, gs.single_features(A, np.array([3])), every(A), 64)
    S = [3]
    for _ in range(3):
        values, vectors = np.linalg.eigh(A[np.ix_(S, S)])
        v, top = vectors[:, -1], values[-1]
        outside = np.setdiff1d(np.arange(15), S)
        promised = [(v @ A[S, j]) ** 2 / max(top - A[j, j], top / 2.0) for j in outside]
        S.append(int(outside[np.argmax(promised)]))
    assert candidates.supports.tolist() == [sorted(S)]
    assert candidates.variances[0] == pytest.approx(variance(A, S), rel=1e-2)


def test_supports_grow_by_one_feature_and_double_later():
    assert gs.growth_sizes(1) == []
    assert gs.growth_sizes(3) == [2, 3]
    assert gs.growth_sizes(20) == [2, 3, 4, 8, 16, 20]
    assert gs.growth_sizes(2, first=2) == []
    assert gs.growth_sizes(6, first=2) == [3, 4, 6]
    A = gram(6, 60, 80)
    grown = gs.grow(A, 20, gs.single_features(A, np.arange(60)), every(A), 64)
    assert grown.supports.shape[1] == 20
    assert (np.diff(grown.supports, axis=1) > 0).all()
    for support, loadings, reached in zip(*grown, strict=True):
        assert loadings @ A[np.ix_(support, support)] @ loadings == pytest.approx(reached, rel=1e-12)
    groups = Choice(np.arange(60), Groups(np.arange(60) // 3, 1))
    for support in gs.grow(A, 20, gs.single_features(A, np.arange(60)), groups, 64).supports:
        assert np.bincount(support // 3).max() == 1


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 8), st.booleans())
def test_exchanges_of_several_features_keep_to_the_choice_and_never_lose(seed, k, limited):
    A = gram(seed, 40, 25)
    choice = Choice(np.arange(40), Groups(np.arange(40) // 4, 1)) if limited else every(A)
    rng = np.random.default_rng(seed)
    firsts = [np.sort(4 * rng.permutation(10)[:k] + rng.integers(4, size=k)) for _ in range(20)]
    starts = gs.with_leading_loadings(A, firsts)
    ends = gs.exchanged(A, starts, choice)
    assert ends.supports.shape[1] == k
    assert ends.variances.max() >= starts.variances.max() * (1.0 - 1e-9)
    for support, reached in zip(ends.supports, ends.variances, strict=True):
        assert reached <= variance(A, support) * (1.0 + 1e-9)
        if limited:
            assert np.bincount(support // 4).max() == 1


def test_exchanges_by_worth_leave_where_power_steps_stay():
    A = np.array([[1.0, 0.5], [0.5, 1.2]])  # A e_0 is largest at the first feature, though the second varies more
    start = gs.with_leading_loadings(A, [np.array([0])])
    assert gs.power_steps(A, start, every(A)).supports.tolist() == [[0]]
    ends = gs.exchanged(A, start, every(A))
    assert ends.supports[np.argmax(ends.variances)].tolist() == [1]


def test_random_changes_of_good_supports_find_better_ones_and_lose_none():
    gains = []
    for seed in range(10):
        A = gram(seed, 200, 60)
        ends = gs.improved(A, every(A), [np.arange(20), np.arange(50, 70), np.arange(100, 120)])
        if len(ends) == 1:
            continue
        again = gs.perturbed(A, ends, every(A), np.random.default_rng(0), 3)
        assert {end.support.tobytes() for end in ends} <= {end.support.tobytes() for end in again}
        assert again[0].variance == pytest.approx(variance(A, again[0].support), rel=1e-12)
        gains.append(again[0].variance / ends[0].variance)
        assert gs.perturbed(A, ends[:1], every(A), np.random.default_rng(0), 3) == ends[:1]
        huge = [end._replace(variance=1e80 * end.variance) for end in ends]
        scaled = gs.perturbed(1e80 * A, huge, every(A), np.random.default_rng(0), 3)
        assert scaled[0].support.tolist() == again[0].support.tolist()
        assert scaled[0].variance == pytest.approx(1e80 * again[0].variance, rel=1e-9)
    assert len(gains) > 3
    assert min(gains) >= 1.0
    assert max(gains) > 1.001
    choice = Choice(np.arange(200), Groups(np.arange(200) // 2, 1))
    ends = gs.improved(A, choice, [np.arange(0, 40, 2), np.arange(100, 140, 2)])
    for end in gs.perturbed(A, ends, choice, np.random.default_rng(0), 3):
        assert np.bincount(end.support // 2).max() == 1


@pytest.mark.parametrize("seed", range(4))
def test_the_gains_of_swaps_are_estimated_closely(monkeypatch, seed):
    ratios, original = [], gram_swaps._first_that_gains

    def compared(rows, diagonal, fit, swaps):
        for leaving, joining, gain in zip(*swaps, strict=True):
            swapped = np.r_[np.delete(fit.support, leaving), joining]
            ratios.append(gain / (variance(A, swapped) - fit.value))
        return original(rows, diagonal, fit, swaps)

    monkeypatch.setattr(gram_swaps, "_first_that_gains", compared)
    A = gram(seed, 40, 30)
    gram_swaps.swap_features(A.__getitem__, A.diagonal(), np.arange(5), every(A))
    assert len(ratios) > 20
    assert min(ratios) > 0.999
    assert np.median(ratios) < 1.2


def test_growth_is_not_drawn_to_a_feature_of_large_variance_that_has_nothing_to_do_with_it():
    A = 0.01 * gram(4, 40, 200) / 200 + np.eye(40)
    A[10:20, 10:20] += 0.99 * (1.0 - np.eye(10))
    A[30, 30] = 3.0
    grown = gs.grow(A, 10, gs.single_features(A, np.arange(40)), every(A), 64)
    assert grown.supports[np.argmax(grown.variances)].tolist() == [*range(10, 20)]


def test_starts_are_all_features_where_these_are_few_and_cover_the_regions_where_they_are_many():
    assert gs.starting_features(gram(0, 40), 5, 64).tolist() == [*range(40)]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1500))
    X[:, :600] += 3.0 * rng.standard_normal((200, 1))  # one large region that has the energies
    X[:, 900:905] += 2.0 * rng.standard_normal((200, 1))
    starts = gs.starting_features(X.T @ X, 30, gs.growth_starts(1500))
    assert len(starts) == gs.growth_starts(1500) == len(set(starts.tolist()))
    assert budgets.GROWTH_MIN_STARTS == gs.growth_starts(100) < gs.growth_starts(1500) < budgets.GROWTH_STARTS
    assert gs.growth_starts(10**6) == budgets.GROWTH_STARTS
    assert np.count_nonzero(starts < 600) >= len(starts) // 2
    assert np.any((starts >= 900) & (starts < 905))


def test_supports_that_meet_are_counted_once():
    S = np.array([[1, 2], [0, 3], [1, 2], [0, 1]])
    assert gs.distinct_rows(S).tolist() == [0, 1, 3]
    assert gs.best_of_distinct(S, np.array([1.0, 2.0, 1.0, 3.0]), 2).tolist() == [1, 3]


@pytest.mark.parametrize("seed", range(5))
def test_of_features_that_are_equal_the_lowest_are_chosen(seed):  # issue 14, item 8
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6))
    twins = np.hstack([X, -X[:, ::-1], X * (1.0 + 1e-15)])
    for k in (1, 2, 3):
        chosen = rspca.decompose(twins, 1, k=k, random_state=seed).components[0].support
        copies = np.r_[0:6, 5:-1:-1, 0:6]  # of which column each is a copy
        for feature in chosen:
            lower = np.flatnonzero(copies[:feature] == copies[feature])
            assert set(lower) <= set(chosen)
    scaled = rspca.decompose(X, 1, k=1, scale=True, random_state=seed).components[0]
    assert scaled.support.tolist() == [0]  # all vary alike


# issue 16, item 2
@pytest.mark.parametrize("seed", range(5))
def test_no_feature_whose_swap_gains_is_ruled_out_before_swaps_are_examined(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 40)) * rng.uniform(0.2, 2.0, 40)
    A, seen = X.T @ X, []

    def ruled_out(rows, diagonal, value, v, rest, largest):
        promising = original(rows, diagonal, value, v, rest, largest)
        support = [int(np.flatnonzero((row == A).all(axis=1))[0]) for row in rows]
        for joining in np.flatnonzero(~promising):
            for place in range(len(support)):
                swapped = [*support[:place], int(joining), *support[place + 1 :]]
                if joining not in support:
                    assert np.linalg.eigvalsh(A[np.ix_(swapped, swapped)])[-1] <= (1.0 + 1e-9) * value
        seen.append(np.count_nonzero(~promising))
        return promising

    original = gram_swaps._promising_to_enter
    monkeypatch.setattr(gram_swaps, "_promising_to_enter", ruled_out)
    end = gram_swaps.swap_features(A.__getitem__, A.diagonal(), np.arange(5), Choice(np.arange(40)))
    assert end.swap_optimal
    assert sum(seen) > 0


# issue 16, item 8
def test_known_directions_are_improved_by_one_product_instead_of_four():
    X = np.random.default_rng(0).standard_normal((500, 300)) * 0.97 ** np.arange(300)
    A, asked = X.T @ X, []

    def multiply(V):
        asked.append(V.shape[1])
        return A @ V

    exact = np.linalg.eigh(A)[1][:, ::-1][:, :8]
    rough = exact + 1e-3 * np.random.default_rng(1).standard_normal(exact.shape)
    values, vectors = gs.leading_vectors(multiply, A.diagonal(), 8, np.random.default_rng(2), rough)
    assert asked == [8]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[::-1][:8], rtol=1e-3)
    assert np.abs(exact[:, 0] @ vectors[:, 0]) / np.linalg.norm(vectors[:, 0]) > 1.0 - 1e-5


def test_a_path_of_swaps_stops_where_an_earlier_one_was():
    # issue 16, item 2
    X = np.random.default_rng(3).standard_normal((30, 12))
    A, choice, visited = X.T @ X, Choice(np.arange(12)), set[bytes]()
    end = gram_swaps.swap_path(A.__getitem__, A.diagonal(), np.arange(4), choice, visited)
    assert end is not None
    assert end.swap_optimal
    assert gram_swaps.swap_path(A.__getitem__, A.diagonal(), end.support, choice, visited) is None
    again = gram_swaps.swap_features(A.__getitem__, A.diagonal(), end.support, choice)
    assert again.n_swaps == 0
    assert again.variance == pytest.approx(end.variance, rel=1e-12)


@given(seed=seeds, n=st.integers(2, 30), scale=st.sampled_from([1e-8, 1.0, 1e8]))
@settings(max_examples=60)
def test_the_best_pairs_are_those_of_all_pairs(seed, n, scale):
    A = scale * gram(seed, n)
    pairs = gs.best_pairs(A, 3)
    every_pair = {pair: variance(A, list(pair)) for pair in combinations(range(n), 2)}
    best = max(every_pair.values())
    assert pairs.variances.max() == pytest.approx(best, rel=1e-12)
    for support, value in zip(pairs.supports, pairs.variances, strict=True):
        assert value == pytest.approx(every_pair[tuple(support)], rel=1e-12)


@pytest.mark.parametrize("seed", [0, 4, 46, 96, 138, 181, 216, 226, 292])  # growth from 64 features alone misses these
def test_the_best_two_features_are_found_where_most_are_correlated_with_many(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(101, 500))
    L = rng.standard_normal((n, int(rng.integers(1, 6)))) * rng.uniform(0.2, 2.0)
    C = L @ L.T + np.diag(rng.uniform(0.1, 2.0, size=n))
    C /= np.sqrt(np.outer(C.diagonal(), C.diagonal()))
    for _ in range(int(rng.integers(1, 5))):  # features that are nearly alike, and like no other
        pair = rng.choice(n, 2, replace=False)
        correlation = rng.choice([-1, 1]) * rng.uniform(0.9, 1.0)
        C[pair], C[:, pair] = 0.0, 0.0
        C[np.ix_(pair, pair)] = [[1.0, correlation], [correlation, 1.0]]
    best = 1.0 + np.abs(C[np.triu_indices(n, 1)]).max()
    component = rspca.decompose(rspca.GramOperator(C), 1, k=2, random_state=0).components[0]
    assert component.variance == pytest.approx(best, rel=1e-9)


@given(seeds, st.sampled_from([1.0, np.inf]), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_features_that_squared_gradients_rule_out_are_never_worth_the_most(seed, favor, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 200)) * rng.uniform(0.1, 3.0, 200)
    X[:, 100:] = X[:, :100] * rng.choice([-1.0, 1.0], 100)  # copies tie
    A = X.T @ X
    S = np.sort([rng.choice(200, k, replace=False) for _ in range(7)], axis=1)
    candidates = gs.refitted(A, S, np.ones(S.shape))
    size = k + 4 if favor == np.inf else k
    arguments = A, candidates, gs.gradients_of(A, S, candidates.loadings), favor, size, every(A)
    for few, every_one in zip(gs._worth_few(*arguments), gs._worth_all(*arguments), strict=True):
        np.testing.assert_array_equal(few, every_one)


def test_a_search_begins_in_the_core_and_ends_with_features_outside_of_it(monkeypatch):
    monkeypatch.setattr(budgets, "CORE_FEATURES", 40)
    monkeypatch.setattr(budgets, "CORE_SHARE", 1000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 400))
    X[:, :60] += rng.standard_normal((300, 1)) * np.linspace(3.0, 0.2, 60)
    A = X.T @ X
    core, sizes = gs.core_features(A, 12), []
    assert set(range(12)) <= set(core.tolist())
    assert len(core) < 100 < len(gs.core_features(A, 8))
    starts = gs._starts
    monkeypatch.setattr(gs, "_starts", lambda inner, *rest: sizes.append(len(inner)) or starts(inner, *rest))
    end = found(A, 12)[0]
    assert sizes == [len(core)]
    assert end.support.tolist() == [*range(12)]
    monkeypatch.setattr(gs, "core_features", lambda A, k: np.arange(100, 150))  # none of the best
    assert found(A, 12)[0].support.tolist() == [*range(12)]
