"""The mathematics without data: each function is the solution of the problem that its name states."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rspca.linalg.vectors
from rspca.linalg.vectors import (
    COARSE_BLOCK,
    SAMPLE_VALUES,
    coarse,
    decreasing_order,
    inclusion_probabilities,
    l1_l2_maximizer,
    l1_projection,
    largest_in_columns,
    largest_values,
    oriented,
    scaled_to_sum,
    soft,
    sums_of_largest_in_rows,
    top_k,
    top_k_in_rows,
)

vectors = arrays(float, st.integers(1, 30), elements=st.floats(-1e3, 1e3))
with_ties = arrays(float, st.integers(1, 30), elements=st.integers(-3, 3).map(float))
nonzero = (vectors | with_ties).filter(lambda x: np.abs(x).max() > 1e-100)
radii = st.floats(1.0, 40.0)


def smallest_dual_value(g, k):
    """Return min over l of sqrt(k) l + |soft(g, l)|_2: for every l it is at least g'y for all feasible y."""

    def dual(level):
        return np.sqrt(k) * level + np.linalg.norm(soft(g, level))

    low, high = 0.0, float(np.abs(g).max())
    for _ in range(100):  # the dual is convex: ternary search
        third = (high - low) / 3.0
        if dual(low + third) <= dual(high - third):
            high -= third
        else:
            low += third
    return min(dual(low), dual(0.0), dual(float(np.abs(g).max())))


@given(st.integers(0, 10**6), st.integers(4000, 9000), st.floats(0.0, 1.0), st.sampled_from([0.0, 0.5, 0.95]))
@settings(max_examples=60)
def test_the_largest_of_many_are_those_of_all_sorted_ties_by_their_index(seed, n, share, tied):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(n) ** 3
    values[rng.random(n) < tied] = rng.choice([0.0, 1.0, -1.0])
    k = 1 + int(share * (n - 1))
    for ordered in (values, np.sort(values), np.sort(values)[::-1]):
        expected = np.sort(np.argsort(-ordered, kind="stable")[:k])
        np.testing.assert_array_equal(top_k(ordered, k), expected)


# issue 16, item 2
@pytest.mark.parametrize(("n", "k"), [(1, 1), (40, 3), (900, 20), (2048, 20), (2050, 1), (300, 300)])
def test_the_largest_of_each_row_are_those_of_all_sorted_ties_included(n, k):
    rng = np.random.default_rng(n + k)
    infinite = rng.random((7, n))
    infinite[:, rng.permutation(n)[: k // 2]] = np.inf
    signed = rng.standard_normal((7, n))
    np.testing.assert_allclose(sums_of_largest_in_rows(signed, k), np.sort(signed, axis=1)[:, n - k :].sum(axis=1))
    for sizes in (np.abs(signed), rng.integers(3, size=(7, n)).astype(float), np.zeros((7, n)), infinite):
        expected = np.sort(np.argsort(-sizes, axis=1, kind="stable")[:, :k], axis=1)
        np.testing.assert_array_equal(top_k_in_rows(sizes, k), expected)
        np.testing.assert_allclose(sums_of_largest_in_rows(sizes, k), np.sort(sizes, axis=1)[:, n - k :].sum(axis=1))


@pytest.mark.parametrize(("n", "k"), [(12, 4), (2048, 20)])
def test_in_rows_of_values_that_are_equal_up_to_rounding_the_lowest_are_chosen(n, k):
    sizes = 1.0 + 1e-14 * np.random.default_rng(0).standard_normal((5, n))
    sizes[:, n // 2] = 2.0
    np.testing.assert_array_equal(top_k_in_rows(sizes, k), np.tile([*range(k - 1), n // 2], (5, 1)))


def test_the_largest_are_found_where_a_sample_misleads():
    values = np.zeros(5000)
    values[1::7] = np.arange(1.0, 1.0 + len(values[1::7]))
    values[:: len(values) // SAMPLE_VALUES] = 1e6  # every value that is sampled is beyond all others
    for k in (1, 10, 600, 700, 1500, 5000):
        np.testing.assert_array_equal(top_k(values, k), np.sort(np.argsort(-values, kind="stable")[:k]))


@given(vectors | with_ties, radii)
def test_the_maximizer_is_feasible(g, k):
    y = l1_l2_maximizer(g, k)
    assert np.linalg.norm(y) <= 1.0 + 1e-9
    assert np.abs(y).sum() <= np.sqrt(k) * (1.0 + 1e-9)


@given(nonzero, radii)
def test_the_maximizer_reaches_the_dual_bound(g, k):
    g = g / np.abs(g).max()
    bound = smallest_dual_value(g, k)
    assert bound - 1e-7 <= g @ l1_l2_maximizer(g, k) <= bound + 1e-7


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6), st.floats(1.0, 2.0), st.sets(st.integers(0, 4)))
def test_ties_of_the_largest_up_to_rounding_are_all_in_the_maximizer(ulps, k, expected):
    """Found by tools/truth.py: with a level rounded up, one of two entries was left, and a step lost a third."""
    largest = np.sort(0.7 * (1.0 - np.finfo(float).eps * np.array(ulps)))
    g = np.r_[largest, 0.35, 0.35, 0.17]
    for values in (g, g[::-1]):
        y = l1_l2_maximizer(values, k, np.array(sorted(expected), dtype=np.intp))
        assert values @ y >= (1.0 - 1e-9) * smallest_dual_value(values, k)


@given(st.floats(1e-14, 1e-2), st.floats(1.01, 1.99), st.floats(0.1, 0.9))
def test_two_entries_that_nearly_tie_share_the_norm_precisely(apart, k, third):
    """Found by tools/truth.py: the level left 1e-7 of both, with the rounding of the whole."""
    for unit in (1.0, 2.0**20):
        y = l1_l2_maximizer(unit * np.array([1.0, 1.0 - apart, third * (1.0 - apart)]), k)
        if apart > 1e-9:
            assert np.linalg.norm(y) == pytest.approx(1.0, abs=1e-12)
            assert np.abs(y).sum() == pytest.approx(np.sqrt(k), abs=1e-12)


@given(nonzero, radii, st.data())
def test_what_is_expected_changes_nothing_but_the_time(g, k, data):
    y = l1_l2_maximizer(g, k)
    anything = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=len(g), max_size=len(g))))
    for expected in (anything, np.flatnonzero(y), np.arange(len(g))):
        np.testing.assert_allclose(l1_l2_maximizer(g, k, expected), y, atol=1e-9)


def test_not_all_are_looked_at_where_the_non_zeros_are_nearly_as_expected(monkeypatch):
    g = np.random.default_rng(0).standard_normal(500)
    y = l1_l2_maximizer(g, 20.0)
    expected = np.flatnonzero(y)[3:]

    def sort(*_):
        pytest.fail("looked at all, though the level follows from what was expected")

    monkeypatch.setattr(rspca.linalg.vectors, "_level", sort)
    np.testing.assert_allclose(l1_l2_maximizer(g, 20.0, expected), y, atol=1e-12)


@pytest.mark.parametrize("k", [1.5, 2.0, 3.0])
def test_many_small_entries_beside_a_large_one_are_all_in_the_maximizer(k):
    g = np.r_[1.0, np.linspace(0.1, 0.101, 90)]
    y = l1_l2_maximizer(g, k)
    assert np.count_nonzero(y) == len(g)
    assert np.abs(y).sum() == pytest.approx(np.sqrt(k))
    assert np.linalg.norm(y) == pytest.approx(1.0)
    assert g @ y == pytest.approx(smallest_dual_value(g, k), abs=1e-9)


@given(nonzero, radii, st.integers(-900, 900))
def test_the_maximizer_does_not_depend_on_the_scale_of_the_gradient(g, k, exponent):
    g = g / np.abs(g).max()
    g[np.abs(g) < 1e-15] = 0.0  # nothing may be lost to underflow by the scaling itself
    np.testing.assert_allclose(l1_l2_maximizer(np.ldexp(g, exponent), k), l1_l2_maximizer(g, k), atol=1e-12)


@given(nonzero)
def test_with_radius_one_the_maximizer_is_on_the_largest_entries(g):
    y = l1_l2_maximizer(g, 1)
    assert np.abs(y).sum() == pytest.approx(1.0)
    assert np.all(np.abs(g)[np.abs(y) > 1e-7] >= np.abs(g).max() * (1.0 - 1e-7))
    assert np.all(y * g >= 0.0)


@given(nonzero, st.floats(0.0, 10.0))
def test_with_k_at_least_n_the_maximizer_is_the_unit_vector_along_the_gradient(g, more):
    g = g / np.abs(g).max()
    np.testing.assert_allclose(l1_l2_maximizer(g, len(g) + more), g / np.linalg.norm(g), atol=1e-12)


def test_the_maximizer_of_nothing_is_nothing():
    np.testing.assert_array_equal(l1_l2_maximizer(np.zeros(4), 2), np.zeros(4))


def test_more_than_k_tied_maxima_share_the_radius_evenly():
    y = l1_l2_maximizer(np.array([1.0, -1.0, 1.0, 0.5, 1.0]), 2)
    np.testing.assert_allclose(y, np.sqrt(2) / 4 * np.array([1, -1, 1, 0, 1]))
    assert np.linalg.norm(y) < 1.0


@pytest.mark.parametrize("largest", [5e-324, 1e-308, 1e-200, 1e200, 1.7e308])
def test_the_maximizer_survives_extreme_magnitudes(largest):
    y = l1_l2_maximizer(np.array([largest, 0.0, -largest]), 2)
    np.testing.assert_allclose(y, [np.sqrt(0.5), 0.0, -np.sqrt(0.5)])


@given(nonzero, radii)
def test_the_maximizer_keeps_signs_and_order(g, k):
    y = l1_l2_maximizer(g, k)
    assert np.all(y * g >= 0.0)
    order = np.argsort(np.abs(g))
    assert np.all(np.diff(np.abs(y)[order]) >= -1e-12)


@given(vectors | with_ties, st.floats(1e-3, 1e4))
def test_the_l1_projection_is_the_nearest_point_of_the_ball(w, radius):
    z = l1_projection(w, radius)
    scale = max(1.0, float(np.abs(w).max()))
    assert np.abs(z).sum() <= radius * (1 + 1e-9) + 1e-12 * scale
    # z is nearest exactly if (w - z)'(y - z) <= 0 for all y of the ball; the largest (w - z)'y is radius |w - z|_inf
    assert radius * np.abs(w - z).max() <= (w - z) @ z + 1e-9 * scale * max(radius, scale)


@given(vectors)
def test_a_point_of_the_ball_is_its_own_projection(w):
    z = l1_projection(w, float(np.abs(w).sum()) + 1.0)
    np.testing.assert_array_equal(z, w)
    assert z is not w


@given(vectors | with_ties, st.integers(0, 35))
def test_top_k_takes_the_largest_and_of_ties_the_lowest_indices(values, k):
    expected = sorted(sorted(range(len(values)), key=lambda i: (-values[i], i))[:k])
    assert top_k(values, k).tolist() == expected


@given(
    st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=3, max_size=3), min_size=1), st.integers(1, 8)
)
def test_the_largest_in_columns_are_those_of_each_column(rows, k):
    values = np.array(rows)
    expected = np.zeros(values.shape, dtype=bool)
    for column in range(values.shape[1]):
        expected[top_k(values[:, column], k), column] = True
    np.testing.assert_array_equal(largest_in_columns(values, k), expected)


@given(vectors | with_ties, st.integers(0, 30))
def test_the_largest_values_come_in_decreasing_order(values, count):
    assert largest_values(values, min(count, len(values))).tolist() == sorted(values, reverse=True)[:count]


@given(vectors | with_ties)
def test_values_decrease_and_those_that_tie_keep_their_order(values):
    assert decreasing_order(values).tolist() == sorted(range(len(values)), key=lambda i: (-values[i], i))


def test_top_k_of_equal_values_is_the_first_k():
    assert top_k(np.ones(6), 3).tolist() == [0, 1, 2]


@given(nonzero)
def test_orienting_makes_the_largest_entry_positive(x):
    y = oriented(x)
    assert np.allclose(y, x, rtol=1e-9, atol=0.0) or np.allclose(y, -x, rtol=1e-9, atol=0.0)  # ties are leveled
    ties = np.flatnonzero(np.abs(y) >= np.abs(y).max() * (1 - 1e-10))
    assert y[ties[0]] > 0.0
    np.testing.assert_array_equal(oriented(-x), y)
    np.testing.assert_allclose(oriented(y), y, rtol=1e-15, atol=0.0)


def test_orientation_does_not_hang_on_the_last_bit():
    x = np.array([-0.5, 0.5, 0.5])
    for nudged in (x, x * [1 - 1e-15, 1, 1], x * [1 + 1e-15, 1, 1]):
        assert oriented(nudged)[0] > 0.0


def test_a_vector_of_zeros_has_no_inclusion_probabilities():
    np.testing.assert_array_equal(inclusion_probabilities(np.zeros(4), 2.0), np.zeros(4))


@given(nonzero, st.floats(0.1, 40.0))
def test_inclusion_probabilities_are_those_of_algorithm_1(x, s):
    p = inclusion_probabilities(x, s)
    assert np.all((p >= 0.0) & (p <= 1.0))
    assert p.sum() <= s * (1 + 1e-12)
    for i in range(len(x)):
        assert p[i] == pytest.approx(min(s * abs(x[i]) / np.abs(x).sum(), 1.0), rel=1e-9, abs=1e-300)


def test_inclusion_probabilities_do_not_overflow():
    np.testing.assert_allclose(inclusion_probabilities(np.array([1e-308, 1e-308]), 1e3), [1.0, 1.0])
    np.testing.assert_allclose(inclusion_probabilities(np.array([1e300, 3e300]), 1.0), [0.25, 0.75])


@given(arrays(float, st.integers(1, 20), elements=st.floats(1e-6, 1.0) | st.just(0.0)), st.integers(1, 20))
@example(np.array([1.0, 0.1, 0.1]), 2)
def test_probabilities_scaled_to_a_sum_have_that_sum_and_stay_proportional(p, total):
    scaled = scaled_to_sum(p, total)
    assert np.all((scaled >= 0.0) & (scaled <= 1.0))
    assert np.all((scaled > 0.0) == (p > 0.0))
    assert scaled.sum() == pytest.approx(min(total, np.count_nonzero(p)), rel=1e-9)
    inner = (p > 0.0) & (scaled < 1.0)
    if inner.any():
        factors = scaled[inner] / p[inner]
        np.testing.assert_allclose(factors, factors[0], rtol=1e-9)
        assert np.all(p[scaled == 1.0] * factors[0] >= 1.0 - 1e-9)


@pytest.mark.parametrize("count", [1, 5, COARSE_BLOCK, COARSE_BLOCK + 3])
def test_coarse_values_have_sixteen_binary_digits(count):
    values = np.random.default_rng(0).lognormal(0.0, 20.0, count)
    rounded = coarse(values)
    np.testing.assert_allclose(rounded, values, rtol=2.0**-16)
    mantissas = np.ldexp(np.frexp(rounded)[0], 16)
    np.testing.assert_array_equal(mantissas, np.round(mantissas))
    np.testing.assert_array_equal(coarse(values * (1.0 + 1e-12 * (rounded > values))) >= rounded, True)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_unit_vectors_have_length_one_whatever_they_were(factor):
    v = np.array([3.0, 0.0, -4.0])
    np.testing.assert_allclose(rspca.linalg.vectors.unit(factor * v), [0.6, 0.0, -0.8], rtol=1e-15)


def test_a_gradient_that_is_not_finite_is_an_error_and_not_an_endless_call():
    for bad in (np.nan, np.inf):
        with pytest.raises(FloatingPointError):
            rspca.linalg.vectors.l1_l2_maximizer(np.array([1.0, bad, 2.0]), 2)


@pytest.mark.parametrize("n", [3, 7, 12])
def test_magnitudes_that_tie_share_the_length_also_when_k_is_n_up_to_rounding(n):
    for k in (n * (1.0 - 2e-16), n - 0.5, n - 1):
        y = rspca.linalg.vectors.l1_l2_maximizer(np.full(n, 3.4641016151377544), k, np.arange(n))
        np.testing.assert_allclose(y, np.full(n, min(1.0, np.sqrt(k / n)) / np.sqrt(n)), rtol=1e-9)
