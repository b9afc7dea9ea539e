"""Stage 1: the ascent climbs, ends where no feasible direction gains, and is PCA or one feature at the extremes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rspca
from benchmarks.data import data_path, wine
from rspca.algorithm.relax import linearized, starting_points
from rspca.linalg.vectors import l1_projection, soft


def random_data(seed, m=15, n=10):
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((n, n)) * rng.random(n)
    return rng.standard_normal((m, n)) @ mixing


def centered(X):
    return X - X.mean(axis=0)


def gram(X):
    return centered(X).T @ centered(X)


def most_that_a_step_can_gain(A, x, k):
    """Return max over the constraints of <Ax, y>, less <Ax, x>, by the dual min_l sqrt(k) l + |soft(Ax, l)|."""
    g = A @ x
    levels = np.linspace(0.0, np.abs(g).max(), 20_001)
    dual = np.sqrt(k) * levels + np.sqrt(np.sum(np.maximum(np.abs(g) - levels[:, None], 0.0) ** 2, axis=1))
    return dual.min() - g @ x


seeds, sparsities = st.integers(0, 10**6), st.floats(1.0, 10.0)


@given(seeds, sparsities)
def test_the_variance_never_decreases_on_the_way(seed, k):
    steps = []
    relaxed = rspca.relax(random_data(seed), k, on_step=steps.append)
    runs = np.split([s.variance for s in steps], [i for i, s in enumerate(steps) if s.iteration == 1 and i])
    assert len(steps) >= 2
    for run in runs:
        assert np.all(np.diff(run) >= -1e-12 * relaxed.variance)
    assert relaxed.variance == pytest.approx(max(run[-1] for run in runs), rel=1e-12)
    assert all(s.stage == "relax" and s.seconds >= 0.0 for s in steps)


@given(seeds, sparsities)
def test_the_result_is_feasible_and_its_variance_is_that_of_the_vector(seed, k):
    X = random_data(seed)
    relaxed = rspca.relax(X, k)
    assert np.linalg.norm(relaxed.x) <= 1.0 + 1e-9
    assert np.abs(relaxed.x).sum() <= np.sqrt(k) * (1.0 + 1e-9)
    assert relaxed.variance == pytest.approx(relaxed.x @ gram(X) @ relaxed.x, rel=1e-9)


@given(seeds, sparsities)
def test_the_result_maximizes_its_own_linearization(seed, k):
    X = random_data(seed)
    relaxed = rspca.relax(X, k, tol=1e-13, max_iter=20_000)
    assert relaxed.converged
    assert most_that_a_step_can_gain(gram(X), relaxed.x, k) <= 1e-6 * relaxed.variance


@given(seeds, sparsities)
def test_the_result_is_at_least_the_best_feature_and_at_most_pca(seed, k):
    X = random_data(seed)
    variance = rspca.relax(X, k).variance
    assert variance >= np.diag(gram(X)).max() * (1.0 - 1e-9)
    assert variance <= np.linalg.eigvalsh(gram(X))[-1] * (1.0 + 1e-9)


@given(seeds)
def test_k_one_gives_the_feature_of_largest_variance(seed):
    # x'Ax is convex, so on the l1 ball its maximum is at a corner, a single feature; and the best feature i is a
    # fixed point because |A_ij| <= sqrt(A_ii A_jj) <= A_ii.
    X = random_data(seed)
    relaxed = rspca.relax(X, 1)
    variances = np.diag(gram(X))
    assert relaxed.variance == pytest.approx(variances.max(), rel=1e-9)
    assert np.abs(relaxed.x[np.argmax(variances)]) == pytest.approx(1.0)


@given(seeds, st.floats(0.0, 5.0))
def test_k_at_least_n_gives_principal_component_analysis(seed, more):
    X = random_data(seed)
    relaxed = rspca.relax(X, 10 + more, tol=1e-12)
    assert relaxed.variance == pytest.approx(np.linalg.eigvalsh(gram(X))[-1], rel=1e-9)


@pytest.mark.parametrize("k", [1.5, 2.25, np.pi, 4.0])
def test_k_may_be_any_real_number(k):
    relaxed = rspca.relax(random_data(0), k, tol=1e-12)
    assert np.abs(relaxed.x).sum() == pytest.approx(np.sqrt(k), rel=1e-6)
    below, above = rspca.relax(random_data(0), k - 0.4), rspca.relax(random_data(0), k + 0.4)
    assert below.variance < relaxed.variance < above.variance


def test_a_larger_k_started_from_a_smaller_one_has_at_least_its_variance():
    X = random_data(3, 30, 20)
    x, before = np.ones(20), 0.0
    for k in np.arange(1.0, 20.0, 0.7):
        relaxed = rspca.relax(X, k, start=x)
        assert relaxed.variance >= before * (1.0 - 1e-12)
        x, before = relaxed.x, relaxed.variance


def test_starting_from_a_solution_stays_there():
    X = random_data(4, 40, 30)
    once = rspca.relax(X, 4, tol=1e-12)
    again = rspca.relax(X, 4, start=once.x)
    assert again.n_iter <= 3 < once.n_iter
    np.testing.assert_allclose(again.x, once.x, atol=1e-4)


def test_of_several_starts_the_best_end_is_returned():
    # Two separate groups of features: an ascent that starts in the weaker one stays there.
    A = np.zeros((6, 6))
    A[:3, :3], A[3:, 3:] = 1.0, 2.0
    A += 0.1 * np.eye(6)
    op = rspca.GramOperator(A)
    weak, strong = np.eye(6)[0], np.eye(6)[5]
    assert rspca.relax(op, 3, start=weak).variance == pytest.approx(3.1)
    assert rspca.relax(op, 3, start=strong).variance == pytest.approx(6.1)
    for starts in ([weak, strong], [strong, weak]):
        assert rspca.relax(op, 3, start=starts).variance == pytest.approx(6.1)


@pytest.mark.parametrize(("name", "radius"), [("15", 1.5), ("22", 2.2)])
def test_the_relaxation_agrees_with_the_r_package_pma(name, radius):
    pma = np.loadtxt(data_path("reference_outputs", f"wine_pma_spc_sumabsv{name}.csv"), delimiter=",")[:, 0]
    relaxed = rspca.relax(wine(), radius**2)
    sign = np.sign(pma @ relaxed.x)
    np.testing.assert_allclose(sign * relaxed.x, pma, atol=1e-3)


@given(seeds, st.floats(1.0, 12.0))
def test_the_solver_of_the_paper_ends_at_its_own_fixed_point(seed, k):
    X = random_data(seed)
    A = gram(X)
    x = rspca.relax(X, k, solver="projected", max_iter=100_000).x
    z = l1_projection(x + A @ x / np.linalg.eigvalsh(A)[-1], np.sqrt(k))
    np.testing.assert_allclose(z / max(1.0, np.linalg.norm(z)), x, atol=1e-7)


def test_the_solver_of_the_paper_does_not_lengthen_a_short_vector():
    # All features equal: the l1 ball cuts the leading direction down to sqrt(k)/n everywhere, inside the unit ball.
    x = rspca.relax(rspca.GramOperator(np.ones((8, 8))), 2, solver="projected").x
    np.testing.assert_allclose(np.abs(x), np.sqrt(2.0) / 8.0)


def test_the_solver_of_the_paper_is_not_stationary_for_the_relaxation():
    X = wine()
    paper, ours = rspca.relax(X, 3, solver="projected"), rspca.relax(X, 3)
    assert paper.converged
    assert paper.variance < 0.999 * ours.variance
    assert most_that_a_step_can_gain(gram(X), paper.x, 3) > 1e-3 * paper.variance


def test_where_the_radius_does_not_bind_the_solver_of_the_paper_gives_principal_component_analysis():
    # It projects x + Ax / l_1, which is 2 v_1 at the start: the radius must be twice |v_1|_1, at most 2 sqrt(n).
    A = gram(wine())
    x = rspca.relax(wine(), 4 * 13, solver="projected").x
    assert x @ A @ x == pytest.approx(np.linalg.eigvalsh(A)[-1], rel=1e-9)


def test_too_few_iterations_are_reported():
    X = random_data(0, 40, 30)
    assert not rspca.relax(X, 5, max_iter=2, tol=1e-12).converged
    assert rspca.relax(X, 5).converged
    assert not rspca.relax(X, 5, solver="projected", max_iter=2).converged


@pytest.mark.parametrize("exponent", [-300, -100, 100, 300])
def test_the_scale_of_the_data_changes_only_the_variance(exponent):
    X = random_data(5)
    plain, other = rspca.relax(X, 3), rspca.relax(np.ldexp(X, exponent), 3)
    np.testing.assert_allclose(other.x, plain.x, atol=1e-9)
    assert other.variance == pytest.approx(float(np.ldexp(plain.variance, 2 * exponent)), rel=1e-9)


def test_soft_thresholding_of_the_gradient_is_what_a_solution_looks_like():
    X = random_data(6)
    relaxed = rspca.relax(X, 3, tol=1e-14, max_iter=20_000)
    g = gram(X) @ relaxed.x
    used = np.abs(relaxed.x) > 1e-9
    # |g_i| = level + c |x_i| on the support, one level and one c for all, and |g_i| <= level off it
    c, level = np.polyfit(np.abs(relaxed.x[used]), np.abs(g[used]), 1)
    assert 2 < used.sum() < 10
    np.testing.assert_allclose(soft(g, level) / c, relaxed.x, atol=1e-4)


def test_what_cannot_be_relaxed_is_refused():
    X = random_data(0)
    with pytest.raises(ValueError, match=r"k=0\.5"):
        rspca.relax(X, 0.5)
    with pytest.raises(ValueError, match="no variance"):
        rspca.relax(np.ones((5, 3)), 2)
    with pytest.raises(ValueError, match="start is zero"):
        rspca.relax(X, 2, start=np.zeros(10))
    with pytest.raises(ValueError, match="solver="):
        rspca.relax(X, 2, solver="convex")


def test_without_any_tolerance_the_ascent_ends_when_rounding_takes_more_than_a_step_gives():
    for seed in range(20):
        op = rspca.as_operator(np.random.default_rng(seed).standard_normal((12, 9)))
        for start in starting_points(op, "linearized"):
            end = linearized(op, 3.0, start, max_iter=3000, tol=0.0)
            assert end.converged
            assert end.n_iter < 3000


def test_extrapolation_saves_steps(monkeypatch):
    def steps():
        ends = []
        for seed in range(10):
            op = rspca.as_operator(np.random.default_rng(seed).standard_normal((30, 40)))
            start = starting_points(op, "linearized")[0]
            ends.append(linearized(op, 10.0, start, max_iter=2000, tol=1e-9))
        assert all(end.converged for end in ends)
        return sum(end.n_iter for end in ends)

    extrapolated = steps()
    monkeypatch.setattr("rspca.algorithm.budgets.EXTRAPOLATION_MAX", 0.0)
    assert extrapolated < 0.8 * steps()
