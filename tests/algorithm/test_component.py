"""The whole algorithm: what must not change the answer does not, and the edges behave."""

import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support.deflation import without

import rspca
import rspca.algorithm.component
from benchmarks import data

SCHEMES = ["schur", "projection", "orthogonal"]


@pytest.fixture(autouse=True)
def _work_that_does_not_end_is_a_failure():
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def give_up(number, frame):
        raise AssertionError("the work does not end")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def planted(seed=0, m=60, n=30):
    """Return data with three groups of five features, clearly of different strength, and noise."""
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.standard_normal((m, n)) + rng.standard_normal(n)
    groups = rng.permutation(n)[:15].reshape(3, 5)
    for strength, group in zip((4.0, 2.5, 1.5), groups, strict=True):
        X[:, group] += strength * rng.standard_normal((m, 1)) * (0.5 + rng.random(5))
    return X, [np.sort(group) for group in groups]


def run(X, n_components=3, **options):
    return rspca.decompose(X, n_components, **({"k": 5, "random_state": 0} | options))


def assert_same(found, expected, scale=1.0, rtol=1e-6):
    """The same features, the same loadings to rtol, and variances scaled by the square of `scale`."""
    assert [c.support.tolist() for c in found.components] == [c.support.tolist() for c in expected.components]
    np.testing.assert_allclose(found.loadings, expected.loadings, atol=rtol)
    np.testing.assert_allclose(
        found.explained_variance / scale / scale, expected.explained_variance, rtol=max(rtol, 1e-9)
    )
    assert found.total_variance / scale / scale == pytest.approx(expected.total_variance, rel=max(rtol, 1e-9))


# --- what it finds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", range(4))
def test_planted_groups_are_found_one_after_another(seed, scheme):
    X, groups = planted(seed)
    found = run(X, deflation=scheme)
    assert {tuple(c.support) for c in found.components} == {tuple(group) for group in groups}
    assert np.all(np.diff(found.explained_variance) < 0.0)


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(2, 15), st.data())
def test_components_have_exactly_k_features_unit_length_and_a_positive_largest_loading(seed, m, n, data):
    r = data.draw(st.integers(1, min(m - 1, n, 4)), "n_components")
    k = data.draw(st.lists(st.integers(1, n), min_size=r, max_size=r), "k")
    scheme = data.draw(st.sampled_from(SCHEMES), "deflation")
    X = np.random.default_rng(seed).standard_normal((m, n))
    found = rspca.decompose(X, r, k=k, deflation=scheme, random_state=0)
    V = found.loadings
    assert V.shape == (r, n)
    assert len(found) == r
    np.testing.assert_allclose(np.linalg.norm(V, axis=1), 1.0)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), atol=1e-12)
    rest = X - X.mean(axis=0)
    for number, (component, row) in enumerate(zip(found.components, V, strict=True)):
        with_variance = np.count_nonzero(np.linalg.norm(rest, axis=0) > 1e-6)  # a component of one feature uses it up
        assert len(component.support) == min(k[number], with_variance)
        assert component.support.tolist() == np.flatnonzero(row).tolist()
        assert row[np.argmax(np.abs(row))] > 0.0
        rest = without(scheme, rest, row, V[:number])


def test_k_may_differ_from_component_to_component():
    X, _ = planted()
    assert [len(c.support) for c in run(X, k=[3, 7, 1]).components] == [3, 7, 1]
    with pytest.raises(ValueError, match="one integer per component"):
        run(X, k=[3, 7])


@given(st.integers(0, 10**6))
def test_k_one_gives_the_feature_of_largest_variance(seed):
    X = np.random.default_rng(seed).standard_normal((9, 6))
    component = run(X, 1, k=1).components[0]
    assert component.support.tolist() == [np.argmax(X.var(axis=0))]
    assert component.loadings.tolist() == [1.0]
    assert component.variance == pytest.approx(9 * X.var(axis=0).max())


@given(st.integers(0, 10**6))
def test_k_of_all_features_gives_principal_component_analysis(seed):
    X = np.random.default_rng(seed).standard_normal((12, 6)) * np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = run(X, 2, k=6)
    _, singular, V = np.linalg.svd(X - X.mean(axis=0))
    np.testing.assert_allclose(found.explained_variance, singular[:2] ** 2, rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(found.loadings * V[:2], axis=1)), 1.0, atol=1e-5)


# issue 14, item 10
def test_rounding_probabilities_are_positive_where_polishing_left_the_relaxed_vector():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 500))
    X[:, :200] += 0.7 * rng.standard_normal((400, 1))  # what leads all directions
    X[:, 300:305] = 0.3 * X[:, 300:305] + rng.standard_normal((400, 1))
    component = run(X, 1, k=5).components[0]
    assert component.support.tolist() == [300, 301, 302, 303, 304]
    p = component.inclusion_probability
    assert np.all(p[component.support] > 0.5)
    assert p.sum() <= 5.0 + 1e-9
    g = np.abs(X.T @ (X @ component.dense()))
    assert np.all(np.diff(p[np.argsort(g)]) >= -1e-3)  # a rounding of what the gradient of the component leads to


# issue 14, item 10
def test_rounding_probabilities_of_classic2_are_zero_on_no_support():
    model = rspca.SparsePCA(6, k=20, center=False, random_state=0).fit(data.classic2())
    for support, p in zip(model.supports_, model.inclusion_probability_.toarray(), strict=True):
        assert np.count_nonzero(p[support]) >= 15
        assert p[support].sum() > 0.5 * p.sum()


def test_the_inclusion_probabilities_are_those_of_the_relaxed_vector():
    X, groups = planted()
    component = run(X, 1).components[0]
    p = component.inclusion_probability
    assert p.shape == (30,)
    assert np.all((p >= 0.0) & (p <= 1.0))
    assert 0.0 < p.sum() <= 5.0 + 1e-9
    assert p[groups[0]].sum() > 0.9 * p.sum()
    assert component.variance <= component.relaxed_variance * (1.0 + 1e-6)


# --- what must not matter -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("exponent", [-480, -100, -3, 5, 100, 480])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_power_of_two_changes_nothing_but_the_variance(exponent, scheme):
    X, _ = planted()
    factor = float(np.ldexp(1.0, exponent))
    assert_same(run(X * factor, deflation=scheme), run(X, deflation=scheme), scale=factor)


@pytest.mark.parametrize("factor", [1e-100, 1e-30, 0.1, 3.0, 1e30, 1e100])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_unit_of_the_data_changes_nothing_but_the_variance(factor):
    X, _ = planted()
    assert_same(run(X * factor), run(X), scale=factor)


def test_the_unit_of_single_precision_data_changes_nothing_but_the_variance():
    X = planted()[0].astype(np.float32)
    for factor in (np.float32(1e-15), np.float32(1e15)):
        assert_same(run(X * factor), run(X), scale=float(factor), rtol=1e-4)


def test_the_unit_of_a_gram_matrix_changes_nothing_but_the_variance():
    A = rspca.datasets.load_pitprops()
    for scheme in (*SCHEMES, "hotelling"):
        expected = run(rspca.GramOperator(A), deflation=scheme)
        for factor in (1e-100, 1e-3, 1e100):
            assert_same(run(rspca.GramOperator(A * factor**2), deflation=scheme), expected, scale=factor)


def test_the_sign_of_the_data_does_not_matter():
    X, _ = planted()
    assert_same(run(-X), run(X))


def test_the_sign_of_one_feature_changes_only_the_sign_of_its_loading():
    X, groups = planted()
    flip = np.ones(30)
    flip[groups[0][1]] = -1.0
    found, expected = run(X * flip), run(X)
    np.testing.assert_allclose(np.abs(found.loadings), np.abs(expected.loadings), atol=1e-6)
    turned = found.loadings[0] * flip
    np.testing.assert_allclose(turned * np.sign(turned @ expected.loadings[0]), expected.loadings[0], atol=1e-6)


@given(st.permutations(range(30)))
def test_the_order_of_the_features_does_not_matter(order):
    X, _ = planted()
    order = np.array(order)
    found, expected = run(X[:, order]), run(X)
    back = np.empty_like(found.loadings)
    back[:, order] = found.loadings
    np.testing.assert_allclose(np.abs(back), np.abs(expected.loadings), atol=1e-6)
    np.testing.assert_allclose(found.explained_variance, expected.explained_variance, rtol=1e-9)


@given(st.permutations(range(60)))
@settings(max_examples=20)
def test_the_order_of_the_samples_does_not_matter(order):
    X, _ = planted()
    assert_same(run(X[list(order)]), run(X))


def test_samples_given_twice_double_the_variance_and_nothing_else():
    X, _ = planted()
    assert_same(run(np.vstack([X, X])), run(X), scale=np.sqrt(2.0))


@pytest.mark.parametrize("constant", [0.0, 1.0, 1e6, -3e-7])
def test_constant_features_are_never_chosen_and_change_nothing(constant):
    X, _ = planted()
    wide = np.hstack([X, np.full((60, 7), constant)])
    found, expected = run(wide), run(X)
    assert [c.support.tolist() for c in found.components] == [c.support.tolist() for c in expected.components]
    np.testing.assert_allclose(found.loadings[:, :30], expected.loadings, atol=1e-6)
    np.testing.assert_allclose(found.explained_variance, expected.explained_variance, rtol=1e-9)
    scaled = run(wide, scale=True)
    assert all(c.support.max() < 30 for c in scaled.components)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6 / 3.0, -1e9 / 7.0])
@pytest.mark.parametrize("scale", [False, True])
def test_a_constant_column_is_never_chosen_for_the_rounding_errors_that_centering_leaves_of_it(constant, scale):
    # The mean of a column of 1e6/3 is off by rounding, so that the centered column is not quite zero.
    for m in (10, 50, 1000):
        X = np.full((m, 6), constant)
        X[:, [1, 4]] = np.random.default_rng(0).standard_normal((m, 2))
        found = run(X, 1, k=5, scale=scale)
        assert found.components[0].support.tolist() == [1, 4]
        assert run(X, 1, k=2, scale=scale).components[0].support.tolist() == [1, 4]


def test_a_shift_of_the_features_does_not_matter_when_centering():
    X, _ = planted()
    assert_same(run(X + 100.0 * np.arange(30)), run(X))


def test_a_rotation_of_the_samples_does_not_matter_without_centering():
    X, _ = planted()
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((60, 60)))[0]
    assert_same(run(Q @ X, center=False), run(X, center=False))
    assert_same(run(np.linalg.qr(X)[1], center=False), run(X, center=False))


def test_without_centering_the_mean_counts():
    X, _ = planted()
    X = X + 50.0
    found = run(X, 1, center=False)
    assert found.components[0].variance == pytest.approx(
        np.linalg.norm(X[:, found.components[0].support], 2) ** 2, rel=1e-9
    )
    assert not found.mean.any()


def test_with_scaling_the_units_of_the_features_do_not_matter():
    X, _ = planted()
    units = np.exp(np.random.default_rng(2).uniform(-9.0, 9.0, 30))
    found, expected = run(X * units, scale=True), run(X, scale=True)
    assert_same(found, expected)
    np.testing.assert_allclose(found.scale, X.std(axis=0) * units)


def test_a_gram_matrix_gives_what_its_data_give():
    X, _ = planted()
    Z = X - X.mean(axis=0)
    for scheme in SCHEMES:
        assert_same(run(rspca.GramOperator(Z.T @ Z), deflation=scheme), run(X, deflation=scheme), rtol=1e-5)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, np.asfortranarray])
def test_the_container_does_not_matter(kind):
    X, _ = planted()
    X[np.random.default_rng(3).random(X.shape) < 0.3] = 0.0
    assert_same(run(kind(X)), run(X))


def test_single_precision_gives_the_same_features():
    X, _ = planted()
    found = run(X.astype(np.float32))
    assert_same(found, run(X), rtol=1e-4)


def test_integers_give_what_floats_give():
    X = np.round(10 * planted()[0])
    assert_same(run(X.astype(np.int16)), run(X))


# --- seeds ----------------------------------------------------------------------------------------------------------

RANDOM = {"polish": False, "rounding": "bernoulli", "n_draws": 1, "k": 4}


def test_the_same_seed_gives_the_same_components():
    X = np.random.default_rng(0).standard_normal((40, 30))
    for options in (RANDOM, {"k": 4}):
        one, two = (run(X, random_state=7, **options) for _ in range(2))
        np.testing.assert_array_equal(one.loadings, two.loadings)
    by_generator = run(X, random_state=np.random.default_rng(7), **RANDOM)
    np.testing.assert_array_equal(by_generator.loadings, run(X, random_state=7, **RANDOM).loadings)


def test_another_seed_rounds_differently():
    X = np.random.default_rng(0).standard_normal((40, 30))
    supports = {tuple(run(X, 1, **(RANDOM | {"random_state": seed})).components[0].support) for seed in range(10)}
    assert len(supports) > 3


def test_the_global_generator_is_neither_used_nor_moved():
    X = np.random.default_rng(0).standard_normal((40, 30))
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    run(X, random_state=None, **RANDOM)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# --- rank -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_matrix_of_rank_r_has_r_components_and_says_so(rank, dtype):
    rng = np.random.default_rng(rank)
    X = (rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 20))).astype(dtype)
    with pytest.warns(UserWarning, match=f"rank {rank}"):
        found = run(X, 5, k=4)
    assert len(found) == rank
    assert found.explained_variance.shape == (rank,)
    scores = (X - X.mean(axis=0)) @ found.loadings.T
    assert np.linalg.matrix_rank(scores, tol=1e-3) == rank  # their scores span all that the data have


def test_a_scheme_that_needs_more_components_than_the_rank_does_not_misreport_the_rank():
    # x = (4, 3, 2, 1) in every sample: projection takes (4, 3) first and then (2, 1), two components for rank one.
    X = np.outer(np.random.default_rng(0).standard_normal(10), [4.0, 3.0, 2.0, 1.0])
    with pytest.warns(UserWarning, match="2 of the 3") as caught:
        found = run(X, 3, k=2, deflation="projection")
    assert [c.support.tolist() for c in found.components] == [[0, 1], [2, 3]]
    assert not any("rank 2" in str(one.message) for one in caught)


def test_enough_rank_gives_no_warning():
    X, _ = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(run(X, 3)) == 3


def test_data_without_variance_are_refused():
    with pytest.raises(ValueError, match="no variance"):
        run(np.ones((5, 4)), 1, k=2)
    with pytest.raises(ValueError, match="no variance"):
        run(np.zeros((5, 4)), 1, k=2, center=False)


# --- both sides -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("scale", [False, True])
def test_both_sides_are_the_components_of_x_and_of_the_transpose_of_centered_x(kind, scheme, scale):
    X, _ = planted(1, 25, 30)
    both = run(kind(X), 2, side="both", k_samples=6, deflation=scheme, scale=scale)
    assert_same(both, run(X, 2, deflation=scheme, scale=scale))
    Z = X - X.mean(axis=0)
    Z = Z / Z.std(axis=0) if scale else Z
    left = run(Z.T, 2, k=6, center=False, deflation=scheme)
    assert [c.support.tolist() for c in both.sample_components] == [c.support.tolist() for c in left.components]
    for one, other in zip(both.sample_components, left.components, strict=True):
        assert one.n_features == 25
        assert one.variance == pytest.approx(other.variance, rel=1e-6)
        np.testing.assert_allclose(one.loadings, other.loadings, atol=1e-5)


def test_one_side_has_no_sample_components():
    X, _ = planted()
    assert run(X, 1).sample_components == []
    with pytest.raises(ValueError, match="k_samples"):
        run(X, 1, side="both")
    with pytest.raises(ValueError, match="side='both'"):
        run(X, 1, k_samples=3)
    with pytest.raises(ValueError, match="needs samples"):
        run(rspca.GramOperator(np.eye(4)), 1, k=2, side="both", k_samples=2)


# --- progress -------------------------------------------------------------------------------------------------------


def test_progress_is_reported_stage_by_stage():
    X, _ = planted()
    steps = []
    found = run(X, on_step=steps.append)
    assert {s.component for s in steps} == {0, 1, 2}
    for number, component in enumerate(found.components):
        stages = [s.stage for s in steps if s.component == number]
        assert stages[0] == "relax"
        assert stages[-1] == "component"
        assert "polish" in stages
        last = [s for s in steps if s.component == number][-1]
        assert last.variance == pytest.approx(component.variance)
    assert np.all(np.diff([s.seconds for s in steps]) >= 0.0)


def test_progress_is_reported_in_the_units_of_the_data():
    X, _ = planted()
    steps, scaled = [], []
    run(X, 1, on_step=steps.append)
    run(X * 1e-100, 1, on_step=scaled.append)
    assert scaled[-1].variance * 1e200 == pytest.approx(steps[-1].variance, rel=1e-6)


class StopNowError(Exception):
    pass


@pytest.mark.parametrize("stage", ["relax", "polish", "component"])
def test_an_exception_in_on_step_stops_the_work(stage):
    X, _ = planted()
    seen = []

    def stop(step):
        seen.append(step)
        if step.stage == stage:
            raise StopNowError

    with pytest.raises(StopNowError):
        run(X, on_step=stop)
    assert {s.component for s in seen} == {0}


# --- edges ----------------------------------------------------------------------------------------------------------


def test_one_sample_is_its_own_component_without_centering():
    x = np.array([[3.0, -4.0, 1.0, 0.0]])
    component = run(x, 1, k=2, center=False).components[0]
    assert component.support.tolist() == [0, 1]
    np.testing.assert_allclose(component.loadings, [-0.6, 0.8])
    assert component.variance == pytest.approx(25.0)
    with pytest.raises(ValueError, match="one sample"):
        run(x, 1, k=2)


def test_two_samples_have_one_component_when_centered():
    X = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, -1.0]])
    component = run(X, 1, k=2).components[0]
    assert component.support.tolist() == [0, 2]
    assert component.variance == pytest.approx(2.0 * (1.0 + 4.0))


def test_one_feature_is_the_component():
    X = np.random.default_rng(0).standard_normal((9, 1))
    component = run(X, 1, k=1).components[0]
    assert component.loadings.tolist() == [1.0]
    assert component.variance == pytest.approx(9 * X.var())


def test_one_entry_is_enough_without_centering():
    component = run(np.array([[-2.0]]), 1, k=1, center=False).components[0]
    assert component.loadings.tolist() == [1.0]
    assert component.variance == pytest.approx(4.0)


def test_as_many_components_as_features():
    X = np.random.default_rng(0).standard_normal((20, 4))
    found = run(X, 4, k=2)
    assert len(found) == 4
    assert found.explained_variance.sum() <= found.total_variance * (1.0 + 1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_more_features_than_samples(dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 20_000)).astype(dtype)
    group = np.array([5, 70, 800, 9_000, 19_999])
    X[:, group] += (9.0 * rng.standard_normal((12, 1))).astype(dtype)
    found = run(X, 2)
    assert found.components[0].support.tolist() == group.tolist()
    assert [len(c.support) for c in found.components] == [5, 5]


def test_a_large_k_on_wide_data_is_exact_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 2_000))
    X[:, :300] += 2.0 * rng.standard_normal((25, 1))
    component = run(X, 1, k=300).components[0]
    assert len(component.support) == 300
    assert np.mean(component.support < 300) > 0.95
    block = (X - X.mean(axis=0))[:, component.support]
    assert component.variance == pytest.approx(np.linalg.norm(block, 2) ** 2, rel=1e-6)


def test_two_features_of_nothing_but_sign():
    X = np.array([[1.0, -1.0], [-1.0, 1.0]])
    component = run(X, 1, k=2).components[0]
    np.testing.assert_allclose(component.loadings, [np.sqrt(0.5), -np.sqrt(0.5)])


@pytest.mark.parametrize("k", [0, 31, -1])
def test_k_outside_its_range_is_refused(k):
    X, _ = planted()
    with pytest.raises(ValueError, match=f"k={k} must be between 1 and 30"):
        run(X, 1, k=k)


@pytest.mark.parametrize("seed", range(8))
def test_without_polishing_the_best_of_all_draws_is_kept(seed, monkeypatch):
    X = np.random.default_rng(seed).standard_normal((60, 120))
    drawn = []
    draw = rspca.algorithm.component.exact_supports

    def watched(x, *rest):
        drawn.extend((x, support) for support in draw(x, *rest))
        return [support for _, support in drawn]

    monkeypatch.setattr(rspca.algorithm.component, "exact_supports", watched)
    monkeypatch.setattr(rspca.algorithm.budgets, "POLISHED_DRAWS", 0)  # how many would be polished must not matter
    found = rspca.decompose(X, 1, k=12, polish=False, normalization="naive", n_draws=60, random_state=seed)
    centered = X - X.mean(0)
    values = [np.sum((centered[:, s] @ x[s]) ** 2) / np.sum(x[s] ** 2) for x, s in drawn]
    assert len(drawn) > 10
    assert found.components[0].variance == pytest.approx(max(values))
