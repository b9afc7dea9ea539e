"""The best order of components against all permutations, and pivots against the QR decomposition of scores."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rspca.linalg import component_order
from rspca.linalg.component_order import adjusted, best_order, eliminated


def scores(seed, r):
    """Return scores of r components; some of them repeat each other, or have very different lengths."""
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((int(rng.integers(1, 9)), r)) * np.exp(rng.standard_normal(r))
    if seed % 3 == 0 and r > 1:
        T[:, 1] = -2.0 * T[:, 0]
    return T


def best_of_permutations(M, sizes):
    orders = [
        order
        for order in permutations(range(len(M)))
        if sizes is None or all(sizes[component] == sizes[place] for place, component in enumerate(order))
    ]
    return max(adjusted(M, np.array(order)).sum() for order in orders)


@given(st.integers(0, 10**6), st.integers(1, 5))  # issue 17, item 1
def test_adjusted_variance_is_the_squared_diagonal_of_r(seed, r):
    T = np.random.default_rng(seed).standard_normal((8, r))
    order = np.random.default_rng(seed).permutation(r)
    np.testing.assert_allclose(adjusted(T.T @ T, order), np.diag(np.linalg.qr(T[:, order])[1]) ** 2, rtol=1e-8)


@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())  # issue 17, item 1
def test_no_permutation_has_more_adjusted_variance_than_the_best_order(seed, r, several_sizes):
    T = scores(seed, r)
    M = T.T @ T
    sizes = np.random.default_rng(seed).integers(1, 3, r).tolist() if several_sizes else None
    order = best_order(M, sizes)
    assert sorted(order) == list(range(r))
    assert sizes is None or all(sizes[component] == sizes[place] for place, component in enumerate(order))
    best = best_of_permutations(M, sizes)
    assert adjusted(M, order).sum() == pytest.approx(best, rel=1e-8)


def test_many_components_are_ordered_by_pivots_and_exchanges():  # issue 17, item 1
    rng = np.random.default_rng(0)
    for _ in range(5):
        T = rng.standard_normal((30, 14)) @ rng.standard_normal((14, 14))
        M = T.T @ T
        order = best_order(M)
        value = adjusted(M, order).sum()
        assert sorted(order) == list(range(14))
        assert value >= adjusted(M).sum()
        for first in range(14):
            for second in range(first):
                other = order.copy()
                other[[first, second]] = order[[second, first]]
                assert adjusted(M, other).sum() <= value * (1.0 + 1e-8)


def test_the_order_by_exchanges_is_nearly_that_of_dynamic_programming(monkeypatch):  # issue 17, item 1
    rng, equal = np.random.default_rng(1), 0
    for _ in range(40):
        T = rng.standard_normal((9, 6))
        M = T.T @ T
        exact = adjusted(M, best_order(M)).sum()
        with monkeypatch.context() as patch:
            patch.setattr(component_order, "EXACT_COMPONENTS", 0)
            found = adjusted(M, best_order(M)).sum()
        assert found <= exact * (1.0 + 1e-12)
        assert found >= 0.97 * exact
        equal += found >= exact * (1.0 - 1e-10)
    assert equal >= 30


def test_sizes_bind_many_components_to_places_of_their_size():  # issue 17, item 6
    rng = np.random.default_rng(2)
    T = rng.standard_normal((30, 14)) * rng.uniform(0.1, 3.0, 14)
    sizes = [5] * 7 + [3] * 7
    order = best_order(T.T @ T, sizes)
    assert sorted(order[:7]) == list(range(7))


def test_components_that_tie_stay_in_their_order():
    assert best_order(np.eye(6)).tolist() == list(range(6))
    assert best_order(np.ones((4, 4))).tolist() == list(range(4))


def test_a_component_that_others_explain_adds_nothing():
    T = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    assert adjusted(T.T @ T).tolist() == [1.0, 0.0, 9.0]
    added, upper = eliminated(T.T @ T)
    np.testing.assert_allclose(upper.T @ np.diag(added) @ upper, T.T @ T)


def test_one_component_and_no_variance_have_an_order():
    assert best_order(np.array([[2.0]])).tolist() == [0]
    assert adjusted(np.zeros((3, 3))).tolist() == [0.0, 0.0, 0.0]
    assert best_order(np.zeros((3, 3))).tolist() == [0, 1, 2]
