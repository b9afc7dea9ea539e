"""Tall data as their Gram matrix and products with X: both ways lead to the same components."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.operators.prepared import prepared
from rspca.operators.tall import FormedGram, gram_is_cheaper

DEFLATIONS = ["schur", "projection", "orthogonal"]


def planted(m=120, n=14, seed=0, dtype=np.float64, mean=1.0):
    """Three factors of different variance on a few features each, and noise."""
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.standard_normal((m, n))
    for number, size in enumerate((4.0, 2.5, 1.6)):
        X[:, 4 * number : 4 * number + 4] += size * rng.standard_normal((m, 1)) * [1.0, 0.9, 0.8, 0.7]
    return (X + mean).astype(dtype)


def both_ways(monkeypatch, fit):
    formed = fit()
    with monkeypatch.context() as patch:
        patch.setattr("rspca.operators.prepared.gram_is_cheaper", lambda shape, count: False)
        return formed, fit()


def assert_same(first, second, rel=1e-9):
    assert len(first.components) == len(second.components)
    for one, other in zip(first.components, second.components, strict=True):
        assert one.support.tolist() == other.support.tolist()
        assert one.variance == pytest.approx(other.variance, rel=rel)
        np.testing.assert_allclose(one.loadings, other.loadings, atol=max(1e-6, 30 * rel))


@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize("r", [1, 3])
@pytest.mark.parametrize(
    ("dtype", "mean", "rel"), [(np.float64, 1.0, 1e-9), (np.float64, 1e8, 1e-7), (np.float32, 1.0, 1e-6)]
)
@pytest.mark.parametrize("scale", [False, True])
def test_both_ways_find_the_same_components(monkeypatch, deflation, r, dtype, mean, rel, scale):  # issue 16, item 3
    X = planted(dtype=dtype, mean=mean)
    formed, direct = both_ways(monkeypatch, lambda: rspca.decompose(X, r, k=4, deflation=deflation, scale=scale))
    assert_same(formed, direct, rel)


@pytest.mark.parametrize(
    "make", [np.asfortranarray, sp.csr_array, sp.csc_array, lambda X: rspca.as_operator(X, max_memory="1MB")]
)
@pytest.mark.parametrize("center", [True, False])
def test_both_ways_agree_for_every_kind_of_data(monkeypatch, make, center):  # issue 16, item 3
    X = np.where(np.random.default_rng(9).random((120, 14)) < 0.6, planted(), 0.0)
    data = make(X)
    formed, direct = both_ways(monkeypatch, lambda: rspca.decompose(data, 3, k=4, center=center))
    assert_same(formed, direct)
    assert_same(formed, rspca.decompose(X, 3, k=4, center=center))


@pytest.mark.parametrize("method", sorted(rspca.METHODS))
def test_every_method_finds_the_same_both_ways(monkeypatch, method):  # issue 16, item 3
    X = planted()
    fit = lambda: rspca.decompose(X, 2, k=4, method=method, random_state=0)  # noqa: E731
    formed, direct = both_ways(monkeypatch, fit)
    assert_same(formed, direct, 1e-6)


@pytest.mark.parametrize("features_a_component", [4, 5])
@pytest.mark.parametrize("r", [1, 3])
def test_results_do_not_jump_at_the_border_of_the_cost_model(monkeypatch, features_a_component, r):  # issue 16, item 3
    """At n = 14 or 15 features and r = 1 or 3 components the way changes between these limits."""
    results = []
    for limit in (14 // r, 15 // r, 20):
        monkeypatch.setattr("rspca.operators.tall.FEATURES_A_COMPONENT", limit)
        results.append(rspca.decompose(planted(n=15), r, k=features_a_component))
    assert not gram_is_cheaper((120, 15), 0)
    assert_same(results[0], results[2])
    assert_same(results[1], results[2])


@pytest.mark.parametrize("m", [13, 14, 15])
def test_square_data_are_tall_and_wider_ones_are_not(monkeypatch, m):  # issue 16, item 3
    X = planted(m=m)
    op = prepared(rspca.as_operator(X), center=True, scale=False).operator
    assert isinstance(op, FormedGram) == (m >= 14)
    assert_same(*both_ways(monkeypatch, lambda: rspca.decompose(X, 3, k=4)))


def test_both_ways_end_where_the_rank_ends(monkeypatch):  # issue 16, item 3
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 9))

    def fit():
        with pytest.warns(UserWarning, match="X has rank 3, so only 3 of the 5 components"):
            return rspca.decompose(X, 5, k=9)

    assert_same(*both_ways(monkeypatch, fit), 1e-8)


@pytest.mark.parametrize("scale", [False, True])
def test_ties_go_to_the_lowest_feature_both_ways(monkeypatch, scale):  # issue 16, item 3
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((50, 4)) * [3.0, 2.0, 1.5, 1.0], 3, axis=1)  # every column three times
    formed, direct = both_ways(monkeypatch, lambda: rspca.decompose(X, 3, k=2, scale=scale))
    assert_same(formed, direct)
    if not scale:
        assert formed.components[0].support.tolist() == [0, 1]


def test_groups_starts_of_the_paper_and_limits_are_the_same_both_ways(monkeypatch):  # issue 16, item 3
    X, groups = planted(), np.arange(14) // 2
    for options in (
        {"groups": groups, "max_per_group": 1},
        {"polish": False},
        {"polish": False, "rounding": "bernoulli"},
        {"solver": "projected"},
    ):
        fit = lambda options=options: rspca.decompose(X, 2, k=3, random_state=1, **options)  # noqa: E731
        formed, direct = both_ways(monkeypatch, fit)
        assert_same(formed, direct, 1e-4 if "polish" in options else 1e-9)


# --- fits that continue, and fits at the same time --------------------------------------------------------------------

DATA = {
    "tall": planted(),
    "wide": planted(40, 300),
    "wide float32": planted(40, 300, dtype=np.float32),
    "sparse": sp.csr_array(np.where(np.random.default_rng(1).random((60, 200)) < 0.2, planted(60, 200), 0.0)),
    "on a sketch": planted(90, 3000),
}


def bits(result):
    return [(c.support.tolist(), c.loadings.tobytes(), c.variance) for c in result.components]


@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize("name", DATA)
def test_a_fit_that_continues_finds_what_one_fit_finds_to_the_last_bit(name, deflation):  # issue 16, item 1
    options = {"k": 4, "deflation": deflation, "random_state": 0}
    whole = rspca.decompose(DATA[name], 4, **options)
    for count in (1, 3):
        again = rspca.decompose(DATA[name], 4, earlier=whole.components[:count], **options)
        assert bits(again) == bits(whole)


@pytest.mark.parametrize("name", DATA)
def test_two_fits_on_one_operator_are_equal_one_after_another_and_at_once(name):  # issue 16, item 1
    op = rspca.as_operator(DATA[name])
    fit = lambda _: bits(rspca.decompose(op, 3, k=4, random_state=0))  # noqa: E731
    first = fit(0)
    assert fit(0) == first
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(fit, range(4))) == [first] * 4
    assert bits(rspca.decompose(DATA[name], 3, k=4, random_state=0)) == first
