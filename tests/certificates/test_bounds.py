"""Every bound on its own, against all supports: whatever its parameters, and whenever it is stopped."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from support.enumeration import KINDS, NOTHING, case, centered, operator, optima, optimum, product, variances
from support.operators import FiveMembers

import rspca
from rspca.certificates import budgets, precision, strategy
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.duals import scores_dual, separating_penalties, variance_dual
from rspca.certificates.bounds.elimination import by_blocks, by_variance, streamed_rows
from rspca.certificates.bounds.low_rank import best_of_cones, shifted_low_rank
from rspca.certificates.bounds.penalties import penalty
from rspca.certificates.bounds.semidefinite import dual_part, semidefinite
from rspca.certificates.bounds.spectra import largest_below, proven_spectrum, small_gram
from rspca.certificates.certify import certified_steps
from rspca.certificates.nodes import NO_LABELS, examine
from rspca.certificates.progress import Progress
from rspca.certificates.proof_state import ProofState
from rspca.certificates.search import dominance, search, variance_of
from rspca.certificates.steps import step_by_step
from rspca.operators.convert import prepare
from rspca.operators.deflated import Deflated, ScoreDeflated
from rspca.operators.dense import DenseOperator
from rspca.operators.standardized import Centered, Scaled

seeds = st.integers(0, 10**6)
never = bool  # called without arguments, it is False


def after(calls):
    """Return a clock that runs out after so many calls."""
    count = itertools.count()
    return lambda: next(count) >= calls


def is_bound(value, A, k):
    return value >= optimum(A, k) * (1.0 - NOTHING)


@given(seeds)
def test_bounds_of_a_matrix_in_memory(seed):
    A = case(seed).A
    pairs = B.spectrum(A)
    for k, best in enumerate(optima(A), 1):
        least = best * (1.0 - NOTHING)
        assert B.largest_eigenvalue(A) >= least
        assert B.trace(np.diagonal(A), k) >= least
        assert B.gershgorin(A, k) >= least
        assert B.frobenius(np.diagonal(A), B.row_energies(A, k), k) >= least
        assert B.spectral_fill(pairs, k) >= least
        assert B.best_soft_threshold(A, k)[0] >= least
    assert B.spectral_fill(pairs, len(A)) == pytest.approx(np.linalg.eigvalsh(A)[-1])
    assert B.trace(np.diagonal(A), 1) == np.diagonal(A).max()


@given(seeds, st.integers(1, 8))
def test_a_spectrum_known_in_part_bounds_too(seed, count):
    A = case(seed).A
    full = B.spectrum(A)
    count = min(count, len(A) - 1)
    part = B.Spectrum(full.values[:count], full.vectors[:, :count], float(full.values[count]))
    for k in range(1, len(A) + 1):
        value = B.spectral_fill(part, k)
        assert is_bound(value, A, k)
        assert value >= B.spectral_fill(full, k) * (1.0 - NOTHING)


@given(seeds, st.floats(0.0, 1.5), st.booleans())
def test_any_split_of_the_matrix_bounds(seed, level, each):
    A = case(seed).A
    rng = np.random.default_rng(seed)
    level = level * np.abs(A).max()
    weights = np.triu(rng.random(A.shape)) if each else np.ones_like(A)
    S = B.soft_thresholded(A, level * np.maximum(weights, weights.T))
    for k in range(1, len(A) + 1):
        assert is_bound(B.soft_threshold(A, k, level), A, k)
        assert is_bound(B.spectral_fill(B.spectrum(S), k) + B.remainder(A - S, k), A, k)


@given(seeds)
def test_the_remainder_bounds_every_support(seed):
    A = case(seed).A
    C = A - np.diag(np.diagonal(A))
    for k in range(1, len(C) + 1):
        assert B.remainder(C, k) >= optimum(C, k) - NOTHING * np.abs(C).max(initial=0.0)


def test_a_soft_threshold_that_is_out_of_time_has_one_bound():
    A = case(KINDS.index("correlations"), 8).A
    value, level = B.best_soft_threshold(A, 3, out_of_time=lambda: True)
    assert value == B.soft_threshold(A, 3, level)
    assert value >= B.best_soft_threshold(A, 3)[0]


@given(seeds, st.integers(1, 4), st.integers(0, 300))
def test_cones_bound_at_any_time(seed, d, calls):
    G = np.random.default_rng(seed).standard_normal((8, d)) * 10.0 ** np.random.default_rng(seed).uniform(-3, 1, d)
    k = 1 + seed % 8
    found = best_of_cones(G, k, slack=0.0, tol=1e-6, out_of_time=after(calls))
    best = optimum(G @ G.T, k)
    assert found.upper >= best * (1.0 - NOTHING)
    assert found.lower <= best * (1.0 + 1e-12)
    assert len(found.support) == k


def test_cones_close_the_gap_when_they_have_time():
    for seed in range(10):
        G = np.random.default_rng(seed).standard_normal((9, 3))
        found = best_of_cones(G, 4, slack=0.0, tol=1e-6, out_of_time=never)
        assert found.upper == pytest.approx(optimum(G @ G.T, 4), rel=2e-6)
        assert found.directions > 4


def test_cones_of_nothing_end():
    assert best_of_cones(np.zeros((5, 3)), 2, slack=0.0, tol=1e-6, out_of_time=never).upper == 0.0
    assert best_of_cones(np.ones((5, 1)), 2, slack=1.0, tol=1e-6, out_of_time=never).upper == pytest.approx(2.0)


@given(seeds, st.integers(1, 6), st.integers(0, 100))
def test_the_shifted_low_rank_part_bounds_the_matrix(seed, rank, calls):
    A = case(seed).A
    for k in {1, 2, len(A) // 2, len(A)}:
        found = shifted_low_rank(B.spectrum(A), k, rank, tol=1e-4, out_of_time=after(calls))
        assert is_bound(found.upper, A, k)


@settings(max_examples=200)
@given(seeds, st.floats(0.0, 1.2), st.sampled_from(["best", "random", "column", "between", "tie"]))
def test_duals_in_the_scores_bound_for_any_direction_and_any_penalty(seed, share, direction):
    one = case(seed)
    op = operator(one).to_float64()
    rng = np.random.default_rng(seed)
    X = op.columns(np.arange(one.n))
    k = 1 + seed % one.n
    supports, values = variances(one.A, k)
    scores = X[:, supports[np.argmax(values)]] @ rng.standard_normal(k)
    best = np.linalg.svd(X[:, supports[np.argmax(values)]])[0][:, 0]
    noise = rng.standard_normal(len(X))
    u = {"best": best, "random": noise, "column": X[:, np.argmax(np.diagonal(one.A))], "between": scores + 1e-9 * noise,
         "tie": best}[direction]  # fmt: skip
    u = u / np.linalg.norm(u)
    squares = (X.T @ u) ** 2
    rho = float(np.sort(squares)[-k]) if direction == "tie" else share * float(np.diagonal(one.A).max())
    assert is_bound(scores_dual(op, u, k, rho), one.A, k)
    assert is_bound(variance_dual(op, k, rho), one.A, k)


@given(seeds, st.floats(3.0, 7.0))
def test_the_variance_dual_bounds_data_far_from_zero(seed, exponent):
    # With X X' as a difference of much larger matrices, it was too low by up to 0.4 percent.
    X = np.random.default_rng(seed).standard_normal((8, 9)) + 10.0**exponent
    assert is_bound(variance_dual(prepare(X), 9, 0.0), product(centered(X)), 9)


def test_the_dual_in_the_scores_proves_an_optimum():
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((20, 8)) + np.outer(rng.standard_normal(20), [3, 3, 3, 0, 0, 0, 0, 0])
    best = np.linalg.svd(X[:, :3])[0][:, 0]
    rho = separating_penalties((X.T @ best) ** 2, np.arange(3), 1)
    assert scores_dual(DenseOperator(X), best, 3, float(rho[0])) == pytest.approx(optimum(X.T @ X, 3), rel=1e-10)


def test_the_ends_of_the_variance_dual_are_the_largest_eigenvalue_and_the_trace():
    X = np.random.default_rng(0).standard_normal((9, 6))
    norms = np.sort((X**2).sum(axis=0))
    assert variance_dual(DenseOperator(X), 2, 0.0) == pytest.approx(np.linalg.norm(X, 2) ** 2)
    assert variance_dual(DenseOperator(X), 2, norms[-1]) == pytest.approx(2 * norms[-1])


@given(st.floats(1e-12, 1e12), st.integers(1, 10**6))
def test_features_pay_no_more_than_the_total_that_is_subtracted(rho, k):
    assert Fraction(penalty(rho, k, k).total) >= k * Fraction(rho)


def test_no_penalty_separates_what_is_not_separated():
    assert separating_penalties(np.array([1.0, 3.0, 2.0]), np.array([0]), 5).size == 0
    assert separating_penalties(np.array([1.0, 3.0]), np.array([1]), 2).tolist() == [1.5, 2.5]
    assert separating_penalties(np.array([4.0, 8.0]), np.array([0, 1]), 1).tolist() == [2.0]


@given(seeds, st.integers(1, 60))
def test_the_semidefinite_dual_bounds_after_any_number_of_steps(seed, steps):
    A = case(seed).A
    k = 1 + seed % len(A)
    solved = semidefinite(A, k, max_iter=steps)
    assert solved.upper >= optimum(A, k) * (1.0 - 1e-12)
    part = dual_part(A, solved.multiplier)
    assert is_bound(B.spectral_fill(B.spectrum(part), k) + B.remainder(A - part, k), A, k)
    assert semidefinite(A, k, out_of_time=lambda: True).n_iter == 1


def parts_of(A, k, seed):
    """Return splits as the search uses them: soft thresholds, the multiplier of a relaxation, A itself."""
    level = np.random.default_rng(seed).random() * np.abs(A).max()
    return [B.soft_thresholded(A, level), dual_part(A, semidefinite(A, k, max_iter=20).multiplier), A]


@settings(max_examples=150)
@given(seeds, st.data())
def test_a_node_bounds_its_supports_and_drops_no_feature_of_a_good_one(seed, draw):
    A = case(seed, 8).A
    k = draw.draw(st.integers(1, 7))
    order = np.random.default_rng(seed).permutation(8)
    fixed = order[: draw.draw(st.integers(0, k - 1))]
    free = order[len(fixed) : draw.draw(st.integers(k, 8))]
    supports, values = variances(A, k)
    inside = np.array([set(fixed) <= set(s) <= set(fixed) | set(free) for s in supports])
    best = values[inside].max()
    least = draw.draw(st.floats(0.3, 1.2)) * best
    stacked = np.stack(parts_of(A, k, seed)[draw.draw(st.integers(0, 2)) :])
    bound, left, ranking = examine(A, stacked, fixed, free, k, least, NO_LABELS, 0)
    rounding = 1e-12 * np.abs(A).max()
    assert bound >= best - rounding
    assert set(left) <= set(free)
    assert len(ranking) == len(fixed) + len(left)
    for support in supports[inside & (values >= least + rounding)]:
        assert set(support) <= set(fixed) | set(left)


@settings(max_examples=100)
@given(seeds, st.integers(0, 40))
def test_a_search_from_a_poor_start_finds_the_optimum_and_bounds_whenever_it_is_stopped(seed, nodes):
    A = case(seed, 8).A
    k = 1 + seed % 8
    poor = np.argsort(np.diagonal(A), kind="stable")[:k]
    best = optimum(A, k)
    for clock, complete in ((after(nodes), False), (never, True)):
        found = search(A, k, poor, parts_of(A, k, seed)[:2], tol=1e-7, out_of_time=clock)
        assert found.upper >= best * (1.0 - NOTHING)
        assert found.lower <= best * (1.0 + 1e-12)
        assert found.lower == pytest.approx(variance_of(A, found.support), rel=1e-12)
        if complete:
            assert found.lower >= best * (1.0 - 1.1e-7)
            assert found.upper <= found.lower * (1.0 + 1.1e-7) + 1e-9 * np.diagonal(A).max()


@given(seeds)
def test_a_dominated_feature_can_be_exchanged_without_loss(seed):
    A = case(seed, 8).A
    dominated = dominance(A)
    assert not (dominated & dominated.T).any()
    for j, i in np.argwhere(dominated):
        for k in (1, 3, 5):
            for support in itertools.combinations([f for f in range(8) if f not in (i, j)], k - 1):
                with_i, with_j = (variance_of(A, np.array([*support, f])) for f in (i, j))
                assert with_j >= with_i - 1e-10 * np.diagonal(A).max()


def test_a_search_in_which_domination_leaves_too_few_features_ends_with_k():
    """Found by tools/truth.py: leaving one of two features that point alike left nothing, not even a leaf."""
    X = np.zeros((10, 6))
    X[7, 0] = X[3, 1] = X[2, 2] = X[9, 3] = 2.0
    X[1, 4] = X[3, 5] = 1.0
    for k in (1, 2, 3, 5, 6):
        proof = rspca.certify(X, k, seconds=60.0)
        best = optimum((X - X.mean(0)).T @ (X - X.mean(0)), k)
        assert proof.status == "optimal"
        assert len(proof.support) == k
        assert proof.lower == pytest.approx(best, rel=1e-6)
    A = np.outer([3.0, 2.0, 1.0], [3.0, 2.0, 1.0])
    never = lambda: False  # noqa: E731
    found = search(A, 1, np.array([2]), [], tol=1e-7, out_of_time=never)
    assert found.support.tolist() == [0]
    assert search(A, 2, np.array([1, 2]), [], tol=1e-7, out_of_time=never).support.tolist() == [0, 1]


def test_multiples_are_dominated_and_features_at_a_small_angle_are_not():
    x, y = np.array([1.0, 2.0, 0.0]), np.array([0.0, 0.0, 1.0])
    X = np.stack([x, -0.5 * x, y, x, 3.0 * y], axis=1)
    D = dominance(X.T @ X)
    assert np.argwhere(D).tolist() == [[0, 1], [0, 3], [3, 1], [4, 2]]
    # Feature 1 is turned toward 2 by less than a millionth, which gains 2e-7 of the variance over 0 at k = 2.
    turned = np.array([[1.0 + 1e-9, 0.0], [np.cos(0.9e-6), np.sin(0.9e-6)], [1.5 * np.cos(0.5), 1.5 * np.sin(0.5)]]).T
    A = turned.T @ turned
    assert variance_of(A, np.array([1, 2])) > variance_of(A, np.array([0, 2])) * (1.0 + 1e-7)
    assert not dominance(A).any()


@settings(max_examples=100)
@given(seeds, st.floats(0.8, 1.0), st.floats(1.0, 1.2))
def test_elimination_keeps_every_feature_of_a_better_support(seed, share, excess):
    A = case(seed, 8).A
    for k in range(2, 8):
        supports, values = variances(A, k)
        lower, before = share * values.max(), excess * optimum(A, k - 1)
        better = set(supports[values > lower * (1.0 + 1e-12)].ravel())
        assert better <= set(by_variance(np.diagonal(A), lower, before))
        assert better <= set(by_blocks(A, k, lower, before))


def test_elimination_does_eliminate():
    X = np.random.default_rng(0).standard_normal((50, 30))
    X[:, :3] = 4 * X[:, :1] + 0.1 * X[:, :3]
    A = X.T @ X
    supports, values = variances(A, 2)
    lower = values.max() * (1.0 - 1e-12)
    assert by_blocks(A, 2, lower, np.diagonal(A).max()).tolist() == supports[np.argmax(values)].tolist()


@pytest.mark.parametrize("kind", ["plain", "centered", "sparse", "float32", "gram"])
def test_rows_that_are_streamed_give_the_bounds_of_the_matrix(kind, monkeypatch):
    monkeypatch.setattr(budgets, "ROWS_BYTES", 60 * 8 * 7)
    X = np.random.default_rng(0).standard_normal((25, 60)) + 0.5
    made = {
        "plain": X, "centered": X, "sparse": scipy.sparse.csr_array(np.maximum(X, 0.0)),
        "float32": X.astype(np.float32), "gram": rspca.GramOperator(X.T @ X),
    }[kind]  # fmt: skip
    op = prepare(made, center=kind != "plain").to_float64()
    A = op.gram_block(np.arange(60))
    for k in (1, 2, 7, 15):
        rows = streamed_rows(op, k, out_of_time=never)
        assert rows.frobenius == pytest.approx(B.frobenius(np.diagonal(A), B.row_energies(A, k), k), rel=1e-9)
        assert rows.gershgorin == pytest.approx(B.gershgorin(A, k), rel=1e-9)
    assert streamed_rows(op, 5, out_of_time=after(2)) is None


@settings(max_examples=100)
@given(seeds, st.integers(1, 8))
def test_a_proven_spectrum_is_above_the_matrix(seed, count):
    one = case(seed)
    op = operator(one).to_float64()
    (pairs, margin) = proven_spectrum(op, count, small_gram(op))
    assert float(pairs.values[0]) + margin >= np.linalg.eigvalsh(one.A)[-1] * (1.0 - NOTHING)
    for k in range(1, one.n + 1):
        assert is_bound(B.spectral_fill(pairs, k) + margin, one.A, k)
        found = shifted_low_rank(pairs, k, 1 + seed % 3, tol=1e-3, out_of_time=after(20))
        assert is_bound(found.upper + margin, one.A, k)
    V = np.linalg.qr(pairs.vectors)[0]
    outside = np.random.default_rng(seed).standard_normal(one.n)
    outside -= V @ (V.T @ outside)
    if np.linalg.norm(outside) > 1e-6:
        outside /= np.linalg.norm(outside)
        outside -= V @ (V.T @ outside)
        assert outside @ one.A @ outside <= pairs.rest + margin + 1e-12 * np.trace(one.A)


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_data_of_low_rank_have_a_tight_proven_spectrum(rank):
    rng = np.random.default_rng(0)
    op = DenseOperator(rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 200)))
    pairs, margin = proven_spectrum(op, 20, small_gram(op))
    assert len(pairs.values) == rank
    assert margin <= 1e-8 * pairs.values[0]


@given(seeds, st.booleans())
def test_largest_below_is_above(seed, semidefinite_only):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((12, 12)) * 10.0 ** rng.uniform(-8, 8)
    M = M @ M.T if semidefinite_only else M + M.T
    value = largest_below(M)
    assert value >= np.linalg.eigvalsh(M)[-1]
    if semidefinite_only:
        assert value <= 1.01 * np.linalg.eigvalsh(M)[-1]


def test_largest_below_of_nothing_is_nothing():
    assert 0.0 <= largest_below(np.zeros((4, 4))) < 1e-290
    assert largest_below(np.ones((300, 300))) == pytest.approx(300.0, rel=2e-3)


def progress(A, k, seconds=30.0):
    import time

    support = np.argsort(-np.diagonal(A), kind="stable")[:k]
    return Progress(support, variance_of(A, support), tol=1e-9, deadline=time.perf_counter() + seconds)


@settings(max_examples=40)
@given(seeds)
def test_everything_that_products_prove_is_true(seed):
    one = case(seed)
    op = operator(one).to_float64()
    k = 1 + seed % one.n
    run = progress(one.A, k, 0.5)
    strategy.by_products(run, ProofState(op), k)
    for bound in run.bounds:
        assert is_bound(bound.value + 1e-11 * np.trace(one.A), one.A, k), bound
    assert run.lower <= optimum(one.A, k) * (1.0 + 1e-9)


@settings(max_examples=30)
@given(seeds)
def test_steps_from_one_feature_to_the_next_are_proven_for_all_features(seed):
    one = case(seed)
    op = operator(one).to_float64()
    steps = list(certified_steps(ProofState(op), one.n, progress(one.A, 1)))
    assert steps[0].k == 1
    for step in steps:
        best = optimum(one.A, step.k)
        assert step.upper >= best * (1.0 - 1e-12)
        assert step.lower <= best * (1.0 + 1e-9)
        assert step.upper <= step.lower * (1.0 + 1e-6)


def test_a_step_refuses_what_is_too_much_for_it(monkeypatch):
    one = case(KINDS.index("noise"), 8)
    op = operator(one)
    run = progress(one.A, 3)
    first = step_by_step(op, 1, np.array([0]), 0.0, None, run)
    assert first.upper == pytest.approx(np.diagonal(one.A).max())
    assert step_by_step(op, 2, np.array([0, 1]), 0.0, None, run) is None
    monkeypatch.setattr(budgets, "SURVIVORS", 2)
    assert step_by_step(op, 3, np.arange(3), 0.0, first, run) is None


@settings(max_examples=100)
@given(seeds, st.sampled_from(["plain", "centered", "scaled", "deflated", "schur", "sparse", "adapted"]))
def test_single_precision_data_are_the_same_numbers_in_double_precision(seed, kind):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((9, 6)) + rng.uniform(-50, 50, 6)).astype(np.float32)
    inner = rspca.as_operator(scipy.sparse.csr_array(X)) if kind == "sparse" else DenseOperator(X)
    if kind == "adapted":
        inner = rspca.as_operator(FiveMembers(X))
    true = X.astype(float)
    if kind != "plain":
        inner, true = Centered(inner), true - true.mean(axis=0)
    if kind == "scaled":
        inner, true = Scaled(inner, np.arange(1.0, 7.0)), true * np.arange(1.0, 7.0)
    if kind == "deflated":
        v = np.eye(6)[0]
        inner, true = Deflated(inner, v), true - np.outer(true @ v, v)
    if kind == "schur":
        u = np.full(9, 1.0 / 3.0) * np.where(np.arange(9) % 2, 1.0, -1.0)
        inner, true = ScoreDeflated(inner, u), true - np.outer(u, u @ true)
    op = inner.to_float64()
    assert inner.dtype == np.float32
    assert op.dtype == np.float64
    close = {"rtol": 1e-11, "atol": 1e-11 * np.abs(true).max() ** 2 * 50}
    weights = rng.random(6)
    np.testing.assert_allclose(op.columns(np.arange(6)), true, **close)
    np.testing.assert_allclose(op.matmat(weights), true @ weights, **close)
    np.testing.assert_allclose(op.rmatmat(np.ones((9, 2))), true.T @ np.ones((9, 2)), **close)
    np.testing.assert_allclose(op.gram_block(np.arange(6)), true.T @ true, **close)
    np.testing.assert_allclose(op.samples_gram(weights), (true * weights) @ true.T, **close)
    raised = precision.sq_norms(op)
    assert (raised >= (true**2).sum(axis=0) * (1.0 - NOTHING)).all()
    assert (raised <= (true**2).sum(axis=0) + 2.0 * precision.sum_error(op) * op.rounding_lengths() ** 2).all()
    assert op.to_float64() is op


@given(seeds, st.floats(0.0, 9.0))
def test_the_gram_matrix_of_samples_is_within_its_error(seed, exponent):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 40)) + 10.0**exponent * rng.standard_normal(40)
    exact = X.astype(np.longdouble) - X.astype(np.longdouble).mean(axis=0)
    weights = rng.random(40)
    for op in (prepare(X), prepare(scipy.sparse.csr_array(X))):
        columns = np.asarray(op.columns(np.arange(40)), dtype=np.longdouble)
        true = np.asarray((columns * weights) @ columns.T, dtype=float)
        assert np.linalg.norm(op.samples_gram(weights) - true, 2) <= precision.gram_error(op, weights) + 1e-14 * (
            np.linalg.norm(true, 2)
        )
        assert (np.abs(columns - exact) <= 4 * np.finfo(float).eps * (10.0**exponent * 10 + 10)).all()
