"""The search among few features: as strong as every support tried, and as the search among many."""

from itertools import combinations

import numpy as np
import pytest

import rspca
from rspca.algorithm import budgets, component
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.gram_search import improved, search
from rspca.algorithm.small_search import is_small, search_small, swapped


def gram(p, m=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, p)) * rng.uniform(0.5, 2.0, p) + rng.standard_normal((m, 1)) * rng.uniform(0, 1, p)
    return X.T @ X


def best_of_all(A, k):
    supports = np.array(list(combinations(range(len(A)), k)))
    values = np.linalg.eigvalsh(A[supports[:, :, None], supports[:, None, :]])[:, -1]
    return supports[np.argmax(values)], values.max()


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_all_supports_is_found(k, seed):  # issue 16, item 6
    A = gram(9, seed=seed)
    support, variance = best_of_all(A, k)
    found = search_small(A, k, known=[])[0]
    assert found.support.tolist() == support.tolist()
    assert found.variance == pytest.approx(variance, rel=1e-12)
    assert found.loadings @ A[np.ix_(support, support)] @ found.loadings == pytest.approx(variance, rel=1e-12)
    assert found.swap_optimal


@pytest.mark.parametrize("seed", range(8))
def test_no_less_variance_is_found_than_by_the_search_among_many_features(seed):  # issue 16, item 6
    A, k = gram(20 + 8 * seed, m=15 + 10 * seed, seed=seed), 3 + 2 * seed
    known = [np.arange(k)]
    other = search(A, k, Choice(np.arange(len(A))), known=known, rng=np.random.default_rng(0))
    assert search_small(A, k, known=known)[0].variance >= (1.0 - 1e-9) * other[0].variance


def test_equal_features_go_to_the_lowest_index():
    A = gram(6, seed=3)
    twice = A[np.ix_(np.r_[0:6, 0:6], np.r_[0:6, 0:6])]
    found = search_small(twice, 3, known=[np.array([9, 10, 11])])[0]
    for feature in found.support[found.support >= 6]:
        assert feature - 6 in found.support


def test_swaps_of_many_supports_end_where_none_gains():
    A, rng = gram(25, seed=1), np.random.default_rng(0)
    starts = np.sort([rng.permutation(25)[:4] for _ in range(10)], axis=1)
    for end in swapped(A, starts):
        assert end.swap_optimal
        for out in range(4):
            for joining in set(range(25)) - set(end.support):
                other = np.append(np.delete(end.support, out), joining)
                assert np.linalg.eigvalsh(A[np.ix_(other, other)])[-1] <= end.variance * (1.0 + 1e-9)


def test_swaps_end_after_as_many_as_are_allowed(monkeypatch):
    monkeypatch.setattr(budgets, "SWAPS_MAX", 0)
    A = gram(25, seed=1)
    (end,) = swapped(A, np.array([[21, 22, 23, 24]]))
    assert end.support.tolist() == [21, 22, 23, 24]
    assert not end.swap_optimal


def test_features_are_few_without_groups_only():
    few, many = Choice(np.arange(budgets.SMALL_FEATURES)), Choice(np.arange(budgets.SMALL_FEATURES + 1))
    assert is_small(budgets.SMALL_MAX_K, few)
    assert not is_small(budgets.SMALL_MAX_K + 1, few)
    assert not is_small(5, many)
    assert not is_small(5, Choice(np.arange(10), Groups(np.arange(10) // 2, 1)))


def test_small_data_are_not_drawn_from(monkeypatch):  # issue 16, item 6: no fixed cost of 16 draws
    drawn, original = [], component.exact_supports

    def exact_supports(x, k, s, n_draws, rng):
        drawn.append(n_draws)
        return original(x, k, s, n_draws, rng)

    monkeypatch.setattr(component, "exact_supports", exact_supports)
    X = np.random.default_rng(0).standard_normal((60, 40))
    rspca.decompose(X, 2, k=5, random_state=0)
    rspca.decompose(X, 1, k=30, random_state=0)
    rspca.decompose(X, 1, k=5, polish=False, random_state=0)
    assert drawn == [0, 0, 16, 16]


def test_one_huge_feature_does_not_join_twice():
    A = np.diag([6e14, 0.02, 0.4]) + 0.01
    assert search_small(A, 2, known=[])[0].support.tolist() == [0, 1]  # the others tie, in ten digits


def test_opposite_features_are_as_good_as_equal_ones():  # issue 16, item 6
    """Loadings of one sign have no variance at all where two features are opposite."""
    A = np.diag([1.0, 1.0, 4.0, 1.0, 4.0, 1.0, 4.0])
    A[2, 4] = A[4, 2] = -4.0
    A[0, 6] = A[6, 0] = 2.0
    assert search_small(A, 2, known=[])[0].support.tolist() == [2, 4]
    assert search_small(A, 2, known=[np.array([2, 4])])[0].variance == pytest.approx(8.0)
    assert improved(A, Choice(np.arange(7)), [np.array([2, 4])])[0].variance == pytest.approx(8.0)


@pytest.mark.parametrize("seed", range(6))
def test_the_signs_of_features_do_not_matter(seed):  # issue 16, item 6
    A, signs = gram(30, seed=seed), np.random.default_rng(seed).choice([-1.0, 1.0], 30)
    flipped = signs[:, None] * A * signs
    for k in (2, 5, 12):
        one, other = search_small(A, k, known=[])[0], search_small(flipped, k, known=[])[0]
        assert other.support.tolist() == one.support.tolist()
        assert other.variance == pytest.approx(one.variance, rel=1e-12)
