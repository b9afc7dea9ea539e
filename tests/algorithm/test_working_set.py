"""The working set: what a search in some of very many features finds, and how the others are compared with these."""

import numpy as np
import pytest
import scipy.sparse

import rspca
from rspca.algorithm import budgets, working_set
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.promising import leading_features
from rspca.algorithm.working_set import working_set_size
from rspca.operators.convert import prepare

# issue 16, items 4 and 5


@pytest.fixture
def small_working_sets(monkeypatch):
    monkeypatch.setattr(budgets, "WORKING_SET_FEATURES", 600)
    monkeypatch.setattr(budgets, "WORKING_SET_VECTORS", 1000)
    monkeypatch.setattr(budgets, "SKETCH_MIN_ENTRIES", 10**4)
    monkeypatch.setattr(budgets, "LONGEST_FEATURES", 0)


def without_working_sets(monkeypatch):
    monkeypatch.setattr(budgets, "WORKING_SET_FEATURES", 10**9)


def many_features(seed, m=80, n=6000, dtype=np.float64):
    """Sparse data, most of it in few features, with three directions that some features share."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((m, n), density=0.05, format="lil", rng=rng, dtype=np.float64)
    for first in (n // 60, 2 * n // 5, 5 * n // 6):
        X[:, first : first + 40] = np.outer(rng.standard_normal(m), rng.uniform(0.5, 1.0, 40)) * first**0.2
    return scipy.sparse.csr_array(X, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [10, 30, 80])
def test_a_search_in_a_working_set_finds_what_a_search_in_all_features_finds(small_working_sets, monkeypatch, k, dtype):
    X = many_features(k, dtype=dtype)
    assert working_set_size(prepare(X), k) == 600
    some = rspca.decompose(X, 3, k=k, random_state=0)
    without_working_sets(monkeypatch)
    assert working_set_size(prepare(X), k) is None
    full = rspca.decompose(X, 3, k=k, random_state=0)
    for a, b in zip(some.components, full.components, strict=True):
        assert a.variance >= b.variance * (1.0 - 1e-6)
        assert a.inclusion_probability.shape == (6000,)
        assert (a.inclusion_probability[a.support] > 0.0).all()
        assert a.swap_optimal is None


def test_features_outside_the_working_set_that_are_worth_more_join_it(small_working_sets, monkeypatch):
    X, asked = many_features(3), []
    monkeypatch.setattr(working_set.SharedWork, "working_set", _of_useless_features(asked))
    found = rspca.decompose(X, 2, k=30, random_state=0)
    assert asked  # at first only features without a direction were searched
    without_working_sets(monkeypatch)
    full = rspca.decompose(X, 2, k=30, random_state=0)
    assert found.components[0].variance >= full.components[0].variance * (1.0 - 1e-6)
    assert found.components[1].variance >= full.components[1].variance * (1.0 - 1e-2)


def _of_useless_features(asked):
    def working_set(self, size):
        asked.append(size)
        return self.restricted_to(np.arange(200, 800))

    return working_set


def test_exchanges_with_all_features_follow_where_one_search_is_all_there_is(small_working_sets, monkeypatch):
    X, asked = many_features(4), []
    monkeypatch.setattr(working_set.SharedWork, "working_set", _of_useless_features(asked))
    monkeypatch.setattr(budgets, "WORKING_SET_SEARCHES", 1)
    moved = rspca.decompose(X, 1, k=30, random_state=0).components[0]
    op = prepare(X)
    inside = rspca.decompose(X[:, 200:800], 1, k=30, random_state=0).components[0]
    assert moved.variance > inside.variance
    assert (moved.inclusion_probability[moved.support] > 0.0).all()
    assert np.isclose(op.variances(moved.dense()[:, None])[0], moved.variance)


def test_a_fit_that_continues_after_earlier_components_is_one_fit(small_working_sets):
    X = many_features(5)
    whole = rspca.decompose(X, 4, k=[20, 30, 10, 25], random_state=7).components
    for done in (1, 2, 3):
        after = rspca.decompose(X, 4, k=[20, 30, 10, 25], random_state=7, earlier=whole[:done]).components
        for a, b in zip(whole, after, strict=True):
            assert np.array_equal(a.support, b.support)
            assert a.loadings.tobytes() == b.loadings.tobytes()


def test_groups_hold_in_a_working_set_and_outside_it(small_working_sets):
    X, groups = many_features(6), np.arange(6000) // 8
    found = rspca.decompose(X, 2, k=20, groups=groups, max_per_group=2, random_state=0)
    for component in found.components:
        assert len(component.support) == 20
        assert np.bincount(groups[component.support]).max() <= 2
    labels = np.where(np.arange(6000) < 5995, 0, np.arange(6000))  # nearly all features in one group
    assert len(rspca.decompose(X, 1, k=5, groups=labels, random_state=0).components[0].support) == 5


def test_a_certificate_is_of_all_features(small_working_sets):
    X = many_features(7, m=30, n=3000)
    found = rspca.decompose(X, 1, k=2, certify=True, certify_seconds=1.0, random_state=0).components[0]
    gram = np.cov(X.toarray().T, bias=True) * 30
    diagonal = np.diag(gram)
    half, rest = (diagonal[:, None] + diagonal) / 2, (diagonal[:, None] - diagonal) / 2
    best = np.triu(half + np.sqrt(rest**2 + gram**2), 1).max()
    assert found.certificate.upper >= best * (1.0 - 1e-9)


def test_features_are_chosen_by_variance_and_along_the_leading_directions_and_not_by_rounding():
    X = many_features(8)
    op, together = prepare(X), X.toarray()
    together[:, 5000:5300] = together[:, [5000]] + 0.1 * together[:, 5000:5300]
    scaled = prepare(scipy.sparse.csr_array(together), scale=True)
    chosen = leading_features(op, 600, 3)
    assert len(chosen) == 600
    assert np.array_equal(chosen, np.unique(chosen))
    largest = np.sort(np.argsort(-op.sq_norms, kind="stable")[:250])
    assert np.isin(largest, chosen).all()
    # scaled features have the same variance: the directions that many share decide
    assert np.isin(np.arange(5000, 5300), leading_features(scaled, 600, 3)).all()


def test_there_is_no_working_set_where_it_would_save_nothing(small_working_sets, monkeypatch):
    assert working_set_size(prepare(many_features(9, n=2000)), 10) is None
    X = many_features(9)
    assert working_set_size(prepare(X), 200) == 800
    assert working_set_size(prepare(X), 400) is None
    monkeypatch.setattr(budgets, "WORKING_SET_VECTORS", 4)
    assert working_set_size(prepare(X), 10) == 600
    assert working_set_size(prepare(X.toarray()), 10) is None  # its columns would take more than four vectors


def test_features_that_may_be_chosen_are_told_from_others():
    choice = Choice(np.array([1, 4, 5, 9]))
    assert choice.allowed(np.array([0, 4, 6, 9, 11])).tolist() == [4, 9]
