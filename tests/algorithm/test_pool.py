"""The pool of features whose Gram matrix is searched: its size, what gets into it, and its Gram matrix in blocks."""

import numpy as np
import pytest
import scipy.sparse

import rspca
from rspca.algorithm import ascent, budgets, pool, promising, shared_work
from rspca.algorithm.deflate import schur
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.full_data import FullData
from rspca.algorithm.shared_work import SharedWork
from rspca.linalg.eigen import Pairs
from rspca.operators.convert import as_operator
from rspca.operators.prepared import prepared


def data(m=60, n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    X[:, 2000:2006] += 2.0 * rng.standard_normal((m, 1))
    return X


def make_pool(op, k, choice, known):
    return pool.make_pool(FullData(op), k, choice, known, SharedWork(op))


def test_a_pool_has_all_features_where_they_are_few_and_fewer_the_more_samples_there_are(monkeypatch):
    assert promising.pool_size(10, 5500) == 5500
    assert promising.pool_size(10, 5501) == budgets.POOL_FEATURES
    assert promising.pool_size(10**7, 300) == 300
    assert promising.pool_size(10**7, 600) == budgets.POOL_MIN_FEATURES
    assert budgets.POOL_MIN_FEATURES < promising.pool_size(2000, 8000) == 1000 < budgets.POOL_FEATURES
    op, choice = as_operator(data(n=40)), Choice(np.arange(1, 40))
    made = make_pool(op, 3, choice, [])
    assert made.complete
    assert made.features.tolist() == choice.features.tolist()
    monkeypatch.setattr(budgets, "POOL_COMPLETE_FEATURES", 20)
    monkeypatch.setattr(budgets, "POOL_FEATURES", 20)
    monkeypatch.setattr(budgets, "POOL_MIN_FEATURES", 10)
    made = make_pool(op, 3, choice, [np.array([2, 5, 38])])
    assert not made.complete
    assert {2, 5, 38} <= set(made.features)
    assert made.gram.shape == (len(made.features),) * 2


def test_features_that_are_linked_get_into_a_pool_and_enough_for_every_group(monkeypatch):
    monkeypatch.setattr(budgets, "POOL_COMPLETE_FEATURES", 600)
    monkeypatch.setattr(budgets, "POOL_FEATURES", 600)
    X = data()
    assert set(range(2000, 2006)) <= set(make_pool(as_operator(X), 6, Choice(np.arange(3000)), []).features)
    labels = np.arange(3000) // 300
    X[:, :300] *= 10.0  # one group has all the variance
    limited = Choice(np.arange(3000), Groups(labels, 1))
    made = make_pool(as_operator(X), 10, limited, [])
    assert set(labels[made.features]) == set(range(10))


def test_the_pool_of_all_features_and_a_smaller_one_lead_to_the_same_component(monkeypatch):
    X = data()
    X[:, 500:506] += 1.5 * np.random.default_rng(1).standard_normal((60, 1))
    whole = rspca.decompose(X, 2, k=6, random_state=0)
    monkeypatch.setattr(budgets, "POOL_COMPLETE_FEATURES", 600)
    monkeypatch.setattr(budgets, "POOL_FEATURES", 600)
    for kind in (X, scipy.sparse.csr_array(X), as_operator(X, max_memory="1MB")):
        small = rspca.decompose(kind, 2, k=6, random_state=0)
        assert [c.support.tolist() for c in small.components] == [c.support.tolist() for c in whole.components]


@pytest.mark.parametrize("pools", [0, 4])
def test_features_outside_the_pool_enter_by_the_next_pool_or_by_exchanges_with_all(monkeypatch, pools):
    monkeypatch.setattr(budgets, "NEXT_POOLS", pools)
    X = data()
    some = np.r_[0:50, 2000:2004]
    gram = as_operator(X).gram_matrix(some)
    monkeypatch.setattr(ascent, "make_pool", lambda *_: pool.Pool(some, gram, False, gram.__matmul__))
    ends = [ascent.Polished(np.arange(6), np.full(6, 6**-0.5), 1.0, 1, None)]
    op = as_operator(X)
    best = ascent.search_in_pool(FullData(op), 6, ends, Choice(np.arange(3000)), SharedWork(op))
    assert best.support.tolist() == [*range(2000, 2006)]
    assert best.swap_optimal


def test_the_next_pool_has_the_supports_and_the_largest_gradients_at_them(monkeypatch):
    monkeypatch.setattr(budgets, "NEXT_POOL_FEATURES", 10)
    monkeypatch.setattr(budgets, "NEXT_POOL_PER_K", 1)
    X = data()
    op, support = as_operator(X), np.array([4, 2000, 2001])
    loadings = np.array([0.0, 0.6, 0.8])
    around = [(support, loadings), (np.array([7]), np.ones(1))]
    made = pool.pool_around(op, Choice(np.arange(1, 3000)), around, SharedWork(op))
    assert {4, 7, *range(2000, 2006)} <= set(made.features)
    assert len(made.features) <= 24
    assert not made.complete
    np.testing.assert_allclose(made.multiply(np.eye(len(made.features))), made.gram, atol=1e-9)


def test_energies_of_rows_are_those_of_the_rows_and_small_without_the_leading_directions():
    rng = np.random.default_rng(0)
    R = rng.standard_normal((24, 40)) * np.linspace(1.0, 3.0, 24)[:, None]
    whole, rest = promising.energies_of_leading_rows(R)
    np.testing.assert_allclose(whole, np.sum((R.T @ R) ** 2, axis=1))
    left, values, right = np.linalg.svd(R, full_matrices=False)
    part = (left[:, 16:] * values[16:]) @ right[16:]
    np.testing.assert_allclose(rest, np.sum((part.T @ part) ** 2, axis=1))
    whole, rest = promising.energies_of_leading_rows(R[:4])
    assert np.all(rest < whole)


def test_energies_of_rows_are_estimated_without_bias_for_several_components():
    X = np.random.default_rng(0).standard_normal((60, 40)) * np.linspace(1.0, 3.0, 40) + 0.5
    op = as_operator(X)
    energies, rest = promising.energies_of_images(op.gram(promising.random_signs(op)))
    ratios = energies / (budgets.POOL_PROBES * np.sum((X.T @ X) ** 2, axis=1))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.25)
    assert ratios.min() > 0.3
    assert ratios.max() < 2.5
    assert np.all(rest <= energies * (1.0 + 1e-12))
    factor = np.random.default_rng(1).standard_normal((60, 1)) @ np.ones((1, 40)) * 30.0
    op = as_operator(X + factor)
    energies, rest = promising.energies_of_images(op.gram(promising.random_signs(op)))
    assert np.all(rest < 0.01 * energies)


def test_very_many_features_are_projected_on_fewer_random_directions(monkeypatch):
    op = as_operator(data(80, 400))
    assert promising.random_projections(op).rows.shape == (400, 64)
    monkeypatch.setattr(budgets, "POOL_PROBE_ENTRIES", 400 * 9)
    assert not promising.projections_tell_what_is_alike(op)
    assert promising.random_projections(op).rows.shape == (400, 9)
    work = SharedWork(op, 3)
    with monkeypatch.context() as patch:  # they would tell nothing, so none are made
        patch.setattr(shared_work, "random_projections", lambda op: pytest.fail("projections nobody uses"))
        assert len(work.lasting)
    assert promising.linkage(op, None, work._leading, 3)[1].whole.features.size == 0
    assert promising.random_signs(op).shape == (400, 9)
    monkeypatch.setattr(budgets, "POOL_PROBE_ENTRIES", 10)
    assert promising.random_projections(op).rows.shape == (400, 4)
    assert promising.random_signs(op).shape == (400, 4)


def test_projections_vary_most_along_the_leading_directions_of_the_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3)) @ rng.standard_normal((3, 700)) * 3.0 + 0.1 * rng.standard_normal((90, 700))
    op = as_operator(X)
    found = promising.main_directions(promising.random_projections(op).rows, 3)
    overlap = np.linalg.svd(found.T @ np.linalg.svd(X, full_matrices=False)[2][:3].T)[1]
    assert overlap.min() > 0.99
    gram = rspca.GramOperator(X.T @ X)
    found = promising.main_directions(promising.random_projections(gram).rows, 3)
    assert np.linalg.svd(found.T @ np.linalg.svd(X, full_matrices=False)[2][:3].T)[1].min() > 0.99


def test_all_pairs_are_compared_where_they_are_few(monkeypatch):
    rows = np.random.default_rng(0).standard_normal((60, 8)).astype(np.float32)
    powers = (rows.astype(float) @ rows.T) ** 4
    np.fill_diagonal(powers, 0.0)
    np.testing.assert_allclose(promising.fourth_powers(rows), powers.sum(axis=1), rtol=1e-3)
    monkeypatch.setattr(budgets, "POOL_LINKAGE_PAIRS", 3599)
    near = promising.fourth_powers_of_neighbors(rows, budgets.POOL_LINKAGE_NEAREST)
    np.testing.assert_array_equal(promising.fourth_powers(rows), near)


# issue 16, item 2
@pytest.mark.parametrize(("n", "reach"), [(1, 4), (5, 4), (37, 16), (700, 16)])
def test_neighbors_are_compared_each_with_those_within_reach(n, reach):
    rows = np.random.default_rng(n).standard_normal((n, 8)).astype(np.float32)
    powers = (rows.astype(float) @ rows.T) ** 4
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    expected = np.where((distance > 0) & (distance < reach), powers, 0.0).sum(axis=1)
    np.testing.assert_allclose(promising.fourth_powers_of_neighbors(rows, reach), expected, rtol=1e-4, atol=1e-6)


def test_the_next_pool_leaves_out_features_that_are_worth_far_less_than_those_of_its_supports():
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((60, 3000))
    X[:, 100:108] += rng.standard_normal((60, 1))
    X[:, 200:203] += 0.9 * X[:, 100:101]  # these are nearly as good
    op, support = as_operator(X), np.arange(100, 106)
    gram = op.gram_matrix(support)
    around = [(support, np.linalg.eigh(gram)[1][:, -1])]
    made = pool.pool_around(op, Choice(np.arange(3000)), around, SharedWork(op))
    assert made.features.tolist() == [*range(100, 108), *range(200, 203)]


def test_the_next_pool_is_made_around_more_supports_if_these_are_large():
    assert [ascent.supports_of_next_pool(k) for k in (1, 20, 31, 32, 50, 64)] == [3, 3, 3, 4, 6, 8]


def test_the_next_pool_is_searched_only_if_exchanges_show_something_better(monkeypatch):  # issue 16, item 2
    op = as_operator(np.random.default_rng(0).standard_normal((80, 3000)))
    best, better = (ascent.Polished(np.arange(20) + first, np.full(20, 20**-0.5), 1.0, 0, None) for first in (0, 5))
    made = pool.Pool(np.arange(60), np.eye(60), False, np.asarray)
    monkeypatch.setattr(ascent, "exchanged", lambda pool, k, ends, choice: [shown])
    monkeypatch.setattr(ascent, "searched", lambda pool, k, ends, choice: ["searched", ends[0]])
    every = Choice(np.arange(op.shape[1]))
    shown = best
    assert ascent.exchanged_or_searched(made, 20, [best], every) == [best]
    shown = better
    assert ascent.exchanged_or_searched(made, 20, [best], every) == ["searched", better]
    assert ascent.exchanged_or_searched(made, 50, [best], every) == ["searched", best]


def test_later_components_of_a_gram_matrix_start_from_what_the_first_showed():  # issue 16, item 1
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 300)) * 0.98 ** np.arange(300)
    op = prepared(as_operator(X), center=True, scale=False, n_components=3).operator
    work, v = SharedWork(op, 3), np.zeros(300)
    v[:5] = 5**-0.5
    left = schur(op, v, op.scores(np.arange(5), v[:5]), [])
    first, then = work.leading_pairs(op), work.leading_pairs(left)
    assert first is work.leading_pairs(op)
    exact = np.linalg.eigh(left.gram_matrix(np.arange(300)))
    assert then.vectors.shape[1] == budgets.SEARCH_DIRECTIONS + 3
    assert 0.9 * exact[0][-1] <= then.values[0] <= (1.0 + 1e-9) * exact[0][-1]


def test_where_little_is_left_of_what_the_first_showed_the_leading_direction_is_computed_again():
    # issue 16, item 1: after the strong directions, one feature alone has more variance than what they leave
    rng = np.random.default_rng(0)
    X = 1e-3 * rng.standard_normal((900, 300))
    X[:, :200] += 100.0 * rng.standard_normal((900, 1))
    X[:, 250] += 1.0 * rng.standard_normal(900)
    op = prepared(as_operator(X), center=True, scale=False, n_components=2).operator
    work, v = SharedWork(op, 2), np.zeros(300)
    work.leading_pairs(op)
    vars(work)["_first_pairs"] = Pairs(np.ones(12), np.eye(300)[:, :12])
    v[:200] = 200**-0.5
    left = schur(op, v, op.scores(np.arange(200), v[:200]), [])
    leading = work.leading_pairs(left).vectors[:, 0]
    assert np.argmax(np.abs(leading)) == 250


def test_a_pool_like_the_last_one_reads_only_its_new_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 300))
    op = as_operator(X)
    work, lasting = SharedWork(op, 2), np.arange(280, 300)
    first, then = np.arange(0, 100), np.arange(10, 110)
    for features in (first, then, then):
        before = op.passes
        np.testing.assert_allclose(work.gram(op, features, lasting), X[:, features].T @ X[:, features], atol=1e-12)
        read = op.passes - before
    assert read == 0.0  # all products are known
    other = as_operator(X)
    with_none = SharedWork(other, 2)
    with_none.gram(other, then, lasting)
    assert other.passes > 0.0
