"""Stage 2: Algorithm 1 and Theorem 1 hold as printed; exact rounding has exactly k features with the same odds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rspca
from rspca.algorithm.round import bernoulli_draws, best_bernoulli, exact_supports
from rspca.linalg.vectors import inclusion_probabilities, l1_l2_maximizer, scaled_to_sum, top_k

K = 4


def relaxed_vector(seed=0, n=50, k=K):
    """Return a unit vector with |x|_1 = sqrt(k), as stage 1 gives."""
    x = l1_l2_maximizer(np.random.default_rng(seed).standard_normal(n) ** 3, k)
    assert np.linalg.norm(x) == pytest.approx(1.0)
    assert np.abs(x).sum() == pytest.approx(np.sqrt(k))
    return x


# --- Algorithm 1 ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[1, 2, 10], ids=["s=k", "s=2k", "s=10k"])
def sample(request):
    """Many draws of Algorithm 1."""
    x, s, rng = relaxed_vector(), request.param * K, np.random.default_rng(7)
    return x, s, np.array([rspca.round_vector(x, s, rng) for _ in range(4000)])


def test_rounding_is_unbiased(sample):
    x, s, draws = sample
    p = np.minimum(s * np.abs(x) / np.abs(x).sum(), 1.0)
    used = x != 0.0
    deviation = np.zeros(len(x))
    deviation[used] = np.abs(x[used]) * np.sqrt((1.0 - p[used]) / p[used] / len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - x) <= 4.5 * deviation + 1e-12)
    assert np.all(draws[:, ~used] == 0.0)


def test_the_mean_squared_error_of_rounding_is_at_most_k_over_s(sample):
    x, s, draws = sample
    errors = np.sum((draws - x) ** 2, axis=1)
    p = np.minimum(s * np.abs(x) / np.abs(x).sum(), 1.0)
    exact = np.sum(np.where(p > 0.0, x**2 * (1.0 / np.where(p > 0.0, p, 1.0) - 1.0), 0.0))
    assert exact <= K / s
    assert errors.mean() == pytest.approx(exact, abs=5.0 * errors.std() / np.sqrt(len(errors)) + 1e-12)
    assert errors.mean() <= K / s


def test_three_of_four_roundings_meet_the_norm_bound(sample):
    _, s, draws = sample
    assert np.mean(np.linalg.norm(draws, axis=1) <= 1.0 + 2.0 * np.sqrt(K / s)) >= 0.75


def test_the_expected_number_of_features_is_at_most_s(sample):
    x, s, draws = sample
    expected = np.minimum(s * np.abs(x) / np.abs(x).sum(), 1.0).sum()
    nonzeros = np.count_nonzero(draws, axis=1)
    assert expected <= s
    assert nonzeros.mean() == pytest.approx(expected, abs=5.0 * nonzeros.std() / np.sqrt(len(nonzeros)) + 1e-12)


def test_kept_entries_are_divided_by_their_probability(sample):
    x, s, draws = sample
    p = np.minimum(s * np.abs(x) / np.abs(x).sum(), 1.0)
    for draw in draws[:50]:
        kept = draw != 0.0
        np.testing.assert_allclose(draw[kept], x[kept] / p[kept], rtol=1e-12)


def test_a_large_s_returns_the_vector_itself():
    x = relaxed_vector()
    np.testing.assert_array_equal(rspca.round_vector(x, 1e9, np.random.default_rng(0)), x)


@given(st.integers(0, 10**6), st.floats(0.5, 30.0))
def test_the_same_generator_gives_the_same_rounding(seed, s):
    x = relaxed_vector(seed % 100)
    one, two = (rspca.round_vector(x, s, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


# --- Theorem 1 ------------------------------------------------------------------------------------------------------


def test_theorem_1_asks_for_s_and_promises_the_bounds_of_the_paper():
    bound = rspca.theorem1(10, 0.5)
    assert bound.s == 200 * 10 / 0.5**2 == 8000
    assert bound.norm_bound == pytest.approx(1.0 + 0.15 * 0.5)
    assert bound.additive_error == 0.5
    assert bound.probability == 0.75
    assert 2.0 * np.sqrt(10 / bound.s) <= 0.15 * 0.5  # the norm bound is that of the draws, |x| <= 1 + 2 sqrt(k/s)
    assert any("global optimum" in words for words in bound.assumptions)
    assert any("norm at most 1" in words for words in bound.assumptions)


@given(st.integers(1, 200), st.floats(0.05, 1.0))
def test_the_s_of_theorem_1_is_the_smallest_integer_that_suffices(k, epsilon):
    needed = 200.0 * k / epsilon**2
    assert needed * (1 - 1e-11) <= rspca.theorem1(k, epsilon).s < needed * (1 + 1e-11) + 1.0


@pytest.mark.parametrize("draws", [2, 3, 10, 30])
def test_the_best_of_t_draws_fails_with_probability_two_to_minus_t(draws):
    assert rspca.theorem1(3, 1.0, n_draws=draws).probability == 1.0 - 2.0**-draws


def test_rows_longer_than_one_need_a_larger_s_for_the_same_promise():
    one, long, short = (rspca.theorem1(5, 0.5, row_norm=r) for r in (1.0, 7.0, 0.2))
    assert long.s == 49 * one.s
    assert short.s == one.s
    assert one.additive_error == long.additive_error == short.additive_error == 0.5
    assert one.norm_bound == long.norm_bound
    assert any("norm at most 7" in words for words in long.assumptions)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1.01, np.nan])
def test_theorem_1_says_nothing_outside_its_range(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        rspca.theorem1(5, epsilon)


def test_theorem_1_holds_where_rounding_discards_three_quarters_of_a_known_optimum():
    # A = 11'/sqrt(n): every row has norm one. On the constraints x'Ax = (1'x)^2 / sqrt(n) <= |x|_1^2 / sqrt(n) <=
    # k / sqrt(n), which k equal entries (sparse) and n equal ones, x = sqrt(k)/n (also in the unit ball as k <= n)
    # both reach: the optimum of the sparse and of the relaxed problem is k / sqrt(n). The flat optimum is the one
    # that is hard to round: p_i = s/n. For the promise OPT - epsilon to say anything, OPT > epsilon is needed, and
    # with n = 4 s = 800 k / epsilon^2 that is k > 800; without the division by p_i all draws would fail.
    k, epsilon = 1600, 1.0
    bound = rspca.theorem1(k, epsilon)
    n = 4 * bound.s
    optimum = k / np.sqrt(n)
    assert optimum - bound.additive_error > 0.4
    x = np.full(n, np.sqrt(k) / n)
    rng = np.random.default_rng(0)
    met, counts = [], []
    for _ in range(8):
        draw = rspca.round_vector(x, bound.s, rng)
        value = draw.sum() ** 2 / np.sqrt(n)
        met.append(value >= optimum - bound.additive_error and np.linalg.norm(draw) <= bound.norm_bound)
        counts.append(np.count_nonzero(draw))
    assert np.mean(met) >= bound.probability
    assert np.mean(counts) <= bound.s * (1.0 + 5.0 / np.sqrt(len(counts) * bound.s))
    assert max(counts) < 0.26 * n


# --- the best of several draws --------------------------------------------------------------------------------------


def test_of_several_draws_the_one_of_most_variance_within_the_norm_bound_is_kept():
    op = rspca.GramOperator(np.diag([4.0, 1.0, 1.0]))
    draws = np.array([[0.0, 1.0, 0.0], [1.2, 0.0, 0.0], [5.0, 0.0, 0.0], [0.9, 0.0, 0.3]]).T
    # k = s: the bound is 3, so (5, 0, 0) is out although it has the most variance
    np.testing.assert_array_equal(best_bernoulli(op, draws, 4, 4), [1.2, 0.0, 0.0])
    # s = 400 k: the bound is 1.1, and (1.2, 0, 0) is out too
    np.testing.assert_array_equal(best_bernoulli(op, draws, 4, 1600), [0.9, 0.0, 0.3])


def test_a_draw_a_little_longer_than_the_norm_bound_is_out():
    op = rspca.GramOperator(np.eye(2))
    draws = np.array([[1.11, 0.0], [0.0, 1.09]]).T  # the bound is 1.1
    np.testing.assert_array_equal(best_bernoulli(op, draws, 4, 1600), [0.0, 1.09])


def test_if_no_draw_meets_the_norm_bound_the_shortest_is_kept():
    op = rspca.GramOperator(np.eye(2))
    draws = np.array([[9.0, 0.0], [0.0, 5.0], [7.0, 0.0]]).T
    np.testing.assert_array_equal(best_bernoulli(op, draws, 1, 1), [0.0, 5.0])


def test_more_draws_never_give_a_worse_vector():
    X = np.random.default_rng(0).standard_normal((40, 60)) @ np.diag(np.linspace(1.0, 3.0, 60))
    op = rspca.as_operator(X)
    x, s = relaxed_vector(1, 60), 2 * K
    draws = bernoulli_draws(x, s, 32, np.random.default_rng(0))
    values = [np.sum((X @ best_bernoulli(op, draws[:, :t], K, s)) ** 2) for t in (1, 2, 4, 8, 16, 32)]
    assert np.all(np.linalg.norm(draws, axis=0) <= 1.0 + 2.0 * np.sqrt(K / s))
    assert np.all(np.diff(values) >= 0.0)
    assert values[-1] > values[0]


def test_an_empty_draw_is_drawn_again():
    x = relaxed_vector()
    draws = bernoulli_draws(x, 0.05, 40, np.random.default_rng(0))
    assert draws.shape == (50, 40)
    assert np.all(np.count_nonzero(draws, axis=0) >= 1)
    empty = [not rspca.round_vector(x, 0.05, np.random.default_rng(seed)).any() for seed in range(40)]
    assert np.mean(empty) > 0.8


def test_an_s_so_small_that_all_draws_are_empty_is_refused():
    with pytest.raises(ValueError, match="raise s"):
        bernoulli_draws(relaxed_vector(), 1e-12, 1, np.random.default_rng(0))


def test_rounding_as_in_the_paper_has_k_features_only_in_expectation():
    X = np.random.default_rng(0).standard_normal((30, 40)) * np.linspace(1.0, 2.0, 40)
    options = {"rounding": "bernoulli", "polish": False, "n_draws": 1, "solver": "projected"}
    sizes = [len(rspca.decompose(X, 1, k=8, random_state=seed, **options).components[0].support) for seed in range(60)]
    assert len(set(sizes)) > 2
    assert min(sizes) >= 1
    assert np.mean(sizes) <= 8 + 3 * np.std(sizes) / np.sqrt(len(sizes))


# --- exactly k ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(13, 40), st.floats(0.5, 50.0))
def test_exact_rounding_gives_different_supports_of_exactly_k_features(seed, k, n, s):
    x = np.random.default_rng(seed).standard_normal(n) ** 3
    supports = exact_supports(x, k, s, 8, np.random.default_rng(seed))
    assert 1 <= len(supports) <= 9
    assert len({tuple(one) for one in supports}) == len(supports)
    for one in supports:
        assert len(one) == len(set(one.tolist())) == k
        assert np.all(np.diff(one) > 0)
    assert supports[0].tolist() == top_k(np.abs(x), k).tolist()


def probabilities(x, k, s):
    """Return min(1, c p_i) with the p_i of Algorithm 1 and the c that makes the sum k, by bisection."""
    p = np.minimum(s * np.abs(x) / np.abs(x).sum(), 1.0)
    low, high = 0.0, 1e9
    for _ in range(200):
        c = 0.5 * (low + high)
        low, high = (c, high) if np.minimum(c * p, 1.0).sum() < k else (low, c)
    return np.minimum(high * p, 1.0)


@pytest.mark.parametrize("s", [2, 5, 12])
def test_exact_rounding_includes_features_with_the_probabilities_of_algorithm_1(s):
    x = np.random.default_rng(3).standard_normal(30)
    k, n_draws = 5, 6000
    p = probabilities(x, k, s)
    rng = np.random.default_rng(11)
    counts = np.zeros(30)
    for _ in range(n_draws):
        counts[exact_supports(x, k, s, 1, rng)[-1]] += 1.0  # the last is the draw, or the k largest if it equals them
    assert p.sum() == pytest.approx(k)
    deviation = np.sqrt(p * (1.0 - p) / n_draws)
    assert np.all(np.abs(counts / n_draws - p) <= 4.0 * deviation + 1e-9)


def test_every_pair_of_equal_features_can_be_drawn():
    # Systematic sampling in a fixed order could only ever draw features that are n/k apart.
    rng = np.random.default_rng(0)
    drawn = {tuple(one) for _ in range(40) for one in exact_supports(np.ones(6), 2, 2.0, 10, rng)}
    assert len(drawn) == 15


def test_features_without_weight_are_used_only_where_too_few_have_any():
    x = np.array([0.0, 3.0, 0.0, 1.0, 0.0, 2.0])
    rng = np.random.default_rng(0)
    for supports in (exact_supports(x, 2, 2.0, 20, rng), exact_supports(x, 3, 3.0, 20, rng)):
        assert all(set(one.tolist()) <= {1, 3, 5} for one in supports)
    assert [one.tolist() for one in exact_supports(x, 4, 4.0, 20, rng)] == [[0, 1, 3, 5]]


def test_exact_rounding_is_seeded():
    x = relaxed_vector()
    one, two, other = (exact_supports(x, 6, 6.0, 10, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert [s.tolist() for s in one] == [s.tolist() for s in two]
    assert [s.tolist() for s in one] != [s.tolist() for s in other]


@pytest.mark.parametrize("x", [np.zeros(3), np.array([1.0, np.nan]), np.array([1.0, np.inf]), np.ones((2, 2))], ids=str)
def test_what_is_no_vector_with_a_direction_is_not_rounded(x):
    with pytest.raises(ValueError, match="x "):
        rspca.round_vector(x, 2, np.random.default_rng(0))


@pytest.mark.parametrize(("x", "k"), [([0.6, 0.5, 0.4, 0.3], 1), ([50.0, 0.6, 0.5, 0.4], 2)])
def test_a_single_place_that_is_left_goes_to_any_of_the_others(x, k):
    supports = exact_supports(np.array(x), k, float(k), 200, np.random.default_rng(0))
    certain = [0] if k == 2 else []
    expected = [[*certain, i] for i in range(len(certain), 4)]
    assert sorted(support.tolist() for support in supports) == expected


def test_fewer_draws_are_the_first_of_more_draws():
    x = np.random.default_rng(0).standard_normal(30)
    few = exact_supports(x, 6, 6.0, 4, np.random.default_rng(3))
    more = exact_supports(x, 6, 6.0, 9, np.random.default_rng(3))
    assert [support.tolist() for support in few] == [support.tolist() for support in more[: len(few)]]
    assert len(more) > len(few)


@pytest.mark.parametrize(("n", "k"), [(30, 6), (200, 90), (60, 59)])
def test_draws_are_those_of_systematic_sampling_feature_by_feature(n, k):
    x = np.random.default_rng(n).standard_normal(n) ** 3
    found = exact_supports(x, k, float(k), 5, np.random.default_rng(4))
    p, rng = scaled_to_sum(inclusion_probabilities(x, float(k)), k), np.random.default_rng(4)
    largest = np.argsort(-np.abs(x))
    pool = [i for i in largest if p[i] < 1.0]
    wanted = k - (n - len(pool))
    expected = [sorted(largest[:k].tolist())]
    for _ in range(5):
        order, offset = rng.permutation(len(pool)), rng.random()
        support, end, total = [i for i in range(n) if p[i] >= 1.0], 0.0, p[pool].sum()
        for place in order:
            before, end = end, end + p[pool[place]]
            if np.floor(end * wanted / total - offset) > np.floor(before * wanted / total - offset):
                support.append(int(pool[place]))
        if sorted(support) not in expected:
            expected.append(sorted(support))
    assert [support.tolist() for support in found] == expected


def test_an_expected_number_of_no_features_is_refused():
    with pytest.raises(ValueError, match="s=0"):
        rspca.round_vector(np.ones(3), 0, np.random.default_rng(0))
