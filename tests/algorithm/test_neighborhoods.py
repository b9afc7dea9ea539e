"""Features that are much alike are found wherever they are, by the signs of random projections of their columns."""

import numpy as np
import pytest

import rspca
from rspca.algorithm import budgets
from rspca.algorithm.neighborhoods import alike_pairs, linked_features, middle_features, neighborhoods, no_neighborhoods

N, GROUP = 6000, 20


def planted(cosine, *, groups=15, seed=0, m=200):
    """Return columns as rows, noise but for scattered groups of this cosine, up to sign, and the groups."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((N, m)).astype(np.float32)
    places = rng.permutation(N)[: groups * GROUP].reshape(groups, GROUP)
    for group in places:
        shared, signs = rng.standard_normal(m), rng.choice([-1.0, 1.0], GROUP)[:, None]
        columns[group] = signs * (np.sqrt(cosine) * shared + np.sqrt(1.0 - cosine) * columns[group])
    return columns, places


def projected(columns, seed=1):
    rng = np.random.default_rng(seed)
    return (columns @ rng.standard_normal((columns.shape[1], 64))).astype(np.float32) / 64**0.5


def group_of(places):
    labels = np.full(N, -1)
    labels[places] = np.arange(len(places))[:, None]
    return labels


# issue 16, variance of sets
@pytest.mark.parametrize(("cosine", "least"), [(0.99, 0.9), (0.9, 0.6), (0.8, 0.1)])
def test_pairs_of_alike_features_are_found_and_hardly_any_others(cosine, least):
    columns, places = planted(cosine)
    pairs, labels = alike_pairs(projected(columns)), group_of(places)
    right = (labels[pairs.first] == labels[pairs.second]) & (labels[pairs.first] >= 0)
    assert np.all(pairs.first < pairs.second)
    assert len(np.unique(pairs.first.astype(np.int64) * N + pairs.second)) == len(pairs.first)
    assert np.count_nonzero(right) > least * len(places) * GROUP * (GROUP - 1) / 2
    assert np.mean(pairs.squares[right]) == pytest.approx(cosine**2, abs=0.1)
    assert np.count_nonzero(~right) < N


# issue 16, variance of sets
def test_neighborhoods_are_the_planted_groups_and_promise_no_more_variance_than_there_is():
    columns, places = planted(0.9)
    rows = projected(columns)
    found = neighborhoods(rows, alike_pairs(rows), np.zeros(N), 2 * len(places))
    labels = group_of(places)
    best = found.best(GROUP, len(places))
    most = [np.bincount(labels[row[:GROUP]] + 1, minlength=len(places) + 1)[1:] for row in best]
    assert np.mean([counts.max() > 0.8 * GROUP for counts in most]) > 0.8
    assert len({int(counts.argmax()) for counts in most}) > 0.8 * len(places)
    for row in best[:5]:
        exact = np.linalg.eigvalsh(columns[row[:GROUP]] @ columns[row[:GROUP]].T)[-1]
        assert exact > 0.8 * GROUP * np.sum(columns[row[0]] ** 2)


# issue 16, variance of sets
def test_many_equal_columns_are_a_neighborhood_of_as_many():
    columns, _ = planted(0.9, groups=0)
    equal = np.random.default_rng(2).permutation(N)[:300]
    columns[equal] = columns[equal[0]]
    rows = projected(columns)
    found = neighborhoods(rows, alike_pairs(rows), np.zeros(N), 4)
    assert found.features.shape[1] == budgets.HASH_NEAR
    assert max(np.isin(row, equal).sum() for row in found.features) == budgets.HASH_NEAR


# issue 16, variance of sets
def test_long_columns_come_before_short_ones_that_are_more_alike(monkeypatch):
    monkeypatch.setattr(budgets, "HASH_PAIRS", 40)
    monkeypatch.setattr(budgets, "HASH_FEATURES_A_PAIR", N)
    columns, places = planted(0.95)
    short = np.setdiff1d(np.arange(N), places)
    columns[short] = 1e-3 * columns[short[0]]  # all equal, of no variance
    pairs = alike_pairs(projected(columns))
    assert np.isin(pairs.first, places).mean() > 0.5


# issue 16, variance of sets
@pytest.mark.parametrize("n", [1, 2, 5, 70])
def test_few_features_and_features_of_no_variance_are_no_error(n):
    for rows in (np.zeros((n, 64), dtype=np.float32), np.ones((n, 7), dtype=np.float32)):
        pairs = alike_pairs(rows)
        found = neighborhoods(rows, pairs, np.zeros(n), 3)
        assert len(pairs.first) == len(pairs.second) == len(pairs.squares)
        assert found.features.shape[0] <= 4 * 3
    assert len(alike_pairs(np.zeros((n, 64), dtype=np.float32)).first) == 0
    assert no_neighborhoods().best(3, 5).size == 0


# issue 16, variance of sets
def test_the_features_in_the_middle_are_not_much_like_each_other():
    columns, places = planted(0.9)
    rows = projected(columns)
    labels = group_of(places)
    middles = middle_features(alike_pairs(rows), np.einsum("ij,ij->i", rows, rows), 3)
    assert len(middles) <= 3 * len(budgets.HASH_SIZES)
    linked = (labels >= 0).astype(float)
    chosen = linked_features(rows, linked, 8)
    assert len(chosen) == len(set(labels[chosen])) == 8
    assert len(linked_features(rows, np.zeros(N), 8)) == 0


def hidden_group(seed, m=80, n=8000, size=10):
    """Return data whose four factors leave far more variance to all features than a scattered group of alike ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    X += 0.6 * rng.standard_normal((m, 4)) @ rng.standard_normal((4, n))
    group = np.sort(rng.choice(n, size, replace=False))
    X[:, group] = rng.standard_normal((m, 1)) + 0.3 * rng.standard_normal((m, size))
    return X, group


# promise 1: a few alike features among many are found, which the pool of features of leading directions does not have
@pytest.mark.parametrize("seed", range(3))
def test_one_component_is_a_hidden_group_of_alike_features(seed, monkeypatch):
    X, group = hidden_group(seed)
    assert rspca.decompose(X, 1, k=10, scale=True, random_state=0).components[0].support.tolist() == group.tolist()
    monkeypatch.setattr(budgets, "ALIKE_STARTS", 0)
    assert not np.isin(rspca.decompose(X, 1, k=10, scale=True, random_state=0).components[0].support, group).any()
