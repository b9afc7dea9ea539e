"""Every bound against its definition written out, tight as well as true, and in any unit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.enumeration import case, optimum

from rspca.certificates import budgets, nodes, precision
from rspca.certificates.bounds import duals
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.duals import scores_dual, stretched, variance_dual
from rspca.certificates.bounds.elimination import streamed_rows
from rspca.certificates.bounds.low_rank import best_of_cones, shifted_low_rank, split_low_rank
from rspca.certificates.bounds.semidefinite import semidefinite
from rspca.certificates.bounds.spectra import largest_below, proven_spectrum, small_gram
from rspca.certificates.nodes import NO_LABELS
from rspca.certificates.search import dominance, rounding_slack, search
from rspca.operators.dense import DenseOperator

seeds = st.integers(0, 10**6)
never = bool  # called without arguments, it is False


def largest(values, k):
    """Return the sum of the k largest."""
    return float(sum(sorted(map(float, values))[::-1][: max(k, 0)]))


def l1(A):
    return float(np.linalg.eigvalsh(A)[-1])


# --- units ------------------------------------------------------------------------------------------------------------


def bounds_of(X, k):
    """Return every number that is proportional to the variance, of data X."""
    A, op = X.T @ X, DenseOperator(X)
    pairs, u = B.spectrum(A), X[:, 0] + X[:, 1]
    rho = 0.4 * float(np.diagonal(A).max())
    level = 0.2 * float(np.abs(A).max())
    S = B.soft_thresholded(A, level)
    support = np.argsort(np.diagonal(A), kind="stable")[:k]
    proven = proven_spectrum(op, 4, small_gram(op))
    streamed = streamed_rows(op, k, out_of_time=never)
    relaxed = semidefinite(A, k, max_iter=20)
    return {
        "eigenvalue": B.largest_eigenvalue(A),
        "trace": B.trace(np.diagonal(A), k),
        "gershgorin": B.gershgorin(A, k),
        "frobenius": B.frobenius(np.diagonal(A), B.row_energies(A, k), k),
        "fill": B.spectral_fill(pairs, k),
        "remainder": B.remainder(A - np.diag(np.diagonal(A)), k),
        "soft threshold": B.soft_threshold(A, k, level),
        "best soft threshold": B.best_soft_threshold(A, k)[0],
        "shifted": shifted_low_rank(pairs, k, 2, tol=1e-6, out_of_time=never).upper,
        "cones": best_of_cones(X.T[:, :3], k, slack=0.0, tol=1e-6, out_of_time=never).lower,
        "split": split_low_rank(A, pairs, k, never),
        "variance dual": variance_dual(op, k, rho),
        "scores dual": scores_dual(op, u, k, rho),
        "scores dual of few": scores_dual(op, u, k, 0.05 * rho),
        "semidefinite": relaxed.upper,
        "multiplier": float(np.abs(relaxed.multiplier).max()),
        "rest": proven.pairs.rest,
        "margin": proven.margin,
        "below": largest_below(A),
        "rows, frobenius": streamed.frobenius,
        "rows, gershgorin": streamed.gershgorin,
        "search": search(A, k, support, [S], tol=1e-7, out_of_time=never).upper,
        "slack of the search": rounding_slack(A, np.stack([S]), dominance(A), k),
        "node": nodes.examine(A, np.stack([S, A]), np.arange(1), np.arange(1, len(A)), k, rho, NO_LABELS, 0)[0],
        "error": precision.gram_error(op),
    }


@pytest.mark.parametrize("shape", [(7, 9), (12, 7)])
def test_a_bound_in_another_unit_is_the_same_bound(shape):
    # Powers of two change no digit, so not even what is added for rounding may differ.
    X = np.random.default_rng(5).standard_normal(shape)
    X[:, 2] = X[:, 3]
    for k in (2, 3):
        expected = bounds_of(X, k)
        for unit in (2.0**-20, 2.0**20):
            for name, value in bounds_of(unit * X, k).items():
                assert value == pytest.approx(unit**2 * expected[name], rel=1e-15, abs=0.0), name


# --- a matrix in memory -----------------------------------------------------------------------------------------------


@given(seeds)
def test_bounds_of_a_matrix_are_their_formulas(seed):
    A = case(seed).A
    n, d = len(A), np.diagonal(A)
    values, vectors = np.linalg.eigh(A)
    close = {"rel": 1e-9, "abs": 1e-9 * d.max()}
    for k in range(1, n + 1):
        rows = [largest(np.delete(A[i] ** 2, i), k - 1) for i in range(n)]
        gershgorin = max(d[i] + largest(np.delete(np.abs(A[i]), i), k - 1) for i in range(n))
        frobenius = min(
            c + np.sqrt(largest((d - c) ** 2 + rows, k)) for c in np.linspace(0.0, d.max(), budgets.FROBENIUS_SHIFTS)
        )  # fmt: skip
        frobenius = min(frobenius, d.max() + np.sqrt((k - 1) / k * largest(rows, k)))
        fill, left = 0.0, 1.0
        for j in range(n - 1, -1, -1):
            part = min(left, largest(vectors[:, j] ** 2, k))
            fill, left = fill + part * values[j], left - part
        assert B.gershgorin(A, k) == pytest.approx(gershgorin, **close)
        assert B.frobenius(d, B.row_energies(A, k), k) == pytest.approx(frobenius, **close)
        assert B.spectral_fill(B.spectrum(A), k) == pytest.approx(fill, **close)
        C = A - np.diag(d)
        by_all = [(k - 1) * np.abs(C).max(), gershgorin_of(C, k), np.sqrt((k - 1) / k * largest(rows, k))]
        assert B.remainder(C, k) == pytest.approx(min(by_all), **close)


def gershgorin_of(C, k):
    return max(largest(np.abs(row), k - 1) for row in C)


def test_the_best_level_of_a_soft_threshold_is_the_best_of_all():
    for seed in range(8):
        A = case(seed, 8).A
        value, level = B.best_soft_threshold(A, 3)
        tried = [B.soft_threshold(A, 3, x) for x in np.linspace(0.0, np.abs(A - np.diag(np.diagonal(A))).max(), 400)]
        assert value == B.soft_threshold(A, 3, level)
        assert value <= min(tried) * (1.0 + 2e-3)


def test_levels_are_tried_on_a_grid_and_then_by_golden_sections_about_the_best(monkeypatch):
    tried = {}

    def noted(A, k, level, limits=None):
        tried[level] = original(A, k, level)
        return tried[level]

    original = B.soft_threshold
    monkeypatch.setattr(B, "soft_threshold", noted)
    for seed in range(6):
        A = case(seed, 9).A
        tried.clear()
        B.best_soft_threshold(A, 3)
        levels, values = list(tried), list(tried.values())
        grid = np.abs(A - np.diag(np.diagonal(A))).max() * np.linspace(0.0, 1.0, 8) ** 2
        assert sorted(levels[:8]) == pytest.approx(grid)
        best = int(np.argmin([values[levels.index(level)] for level in sorted(levels[:8])]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 7)]
        golden = (np.sqrt(5.0) - 1.0) / 2.0
        assert levels[8:10] == pytest.approx([high - golden * (high - low), low + golden * (high - low)])
        assert all(low <= level <= high for level in levels[8:])
        assert np.ptp(levels[-3:]) < 0.02 * (high - low)


def test_a_split_is_its_formula_and_exact_for_rank_two():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2, 8)) * [[3.0], [1.0]]
    A = X.T @ X
    for k in (1, 2, 4, 8):
        assert split_low_rank(A, B.spectrum(A), k, never) == pytest.approx(optimum(A, k), rel=2e-4)
    for seed in range(6):
        A = case(seed, 8).A + np.eye(8)
        pairs = B.spectrum(A)
        V, l3 = pairs.vectors[:, :2], float(pairs.values[2])
        for k in (2, 4):
            R = A - (V * pairs.values[:2]) @ V.T
            d = np.diagonal(R)
            outside = min(B.trace(d, k), B.frobenius(d, B.row_energies(R, k), k))
            plain = [t * l3 + (1.0 - t) * outside + z_of(V * np.sqrt(pairs.values[:2] - t * l3), k) for t in (0.0, 0.5)]
            assert split_low_rank(A, pairs, k, never) == pytest.approx(min(plain), rel=2e-4)


def z_of(G, k):
    """Return Z(GG') for two columns, by trying directions."""
    angles = np.linspace(0.0, np.pi, 4001)
    squares = (G @ np.stack([np.cos(angles), np.sin(angles)])) ** 2
    return float(np.sort(squares, axis=0)[-k:].sum(axis=0).max())


def test_eigenvalues_are_raised_by_what_their_decomposition_may_have_lost():
    X = np.random.default_rng(0).standard_normal((80, 64))
    A = X.T @ X
    values = np.linalg.eigvalsh(A)
    lost = 4.0 * 64 * B.EPS * values[-1]
    assert B.largest_eigenvalue(A) - values[-1] == pytest.approx(lost, rel=0.05, abs=0.0)
    pairs, full = B.spectrum(A), np.linalg.eigh(A)[0]
    assert pairs.values[:5] - full[::-1][:5] == pytest.approx(np.full(5, lost), rel=0.05, abs=0.0)
    assert pairs.rest - full[0] == pytest.approx(lost, rel=0.05, abs=0.0)


def test_rows_that_are_streamed_are_longer_by_their_errors(monkeypatch):
    monkeypatch.setattr(precision, "sum_error", lambda op: 1e-3)
    op = DenseOperator(np.random.default_rng(0).standard_normal((6, 9)))
    A, r2, d = op.gram_block(np.arange(9)), op.rounding_lengths() ** 2, precision.sq_norms(op)
    rows = A - np.diag(np.diagonal(A))
    for k in (1, 2, 4):
        slack = 1e-3 * np.sqrt(r2 * largest(r2, k - 1))
        energy = [largest(row**2, k - 1) for row in rows]
        sums = np.array([largest(np.abs(row), k - 1) for row in rows])
        found = streamed_rows(op, k, out_of_time=never)
        assert found.frobenius == pytest.approx(B.frobenius(d, (np.sqrt(energy) + slack) ** 2, k), rel=1e-12)
        assert found.gershgorin == pytest.approx((d + sums + np.sqrt(k) * slack).max(), rel=1e-12)


# --- the duals in the scores ------------------------------------------------------------------------------------------


def written_out(X, u, k, rho):
    """Return k rho + l_1 of the sum of Y_i = B q q'B / q'Bq, with the matrices B_i = x x' - rho I themselves."""
    total = np.zeros((len(X), len(X)))
    for x in X.T:
        d, g = float(x @ x), float(x @ u)
        if d <= rho:
            continue
        B_i = np.outer(x, x) - rho * np.eye(len(X))
        if abs(g**2 - rho) <= 1e-9 * d:  # q = u would divide by nothing: q = x
            total += (1.0 - rho / d) * np.outer(x, x)
        elif g**2 > rho:
            image = B_i @ u
            total += np.outer(image, image) / (u @ image)
        else:  # B q is what x is beside u
            image = x - g * u
            total += np.outer(image, image) / (image @ np.linalg.solve(B_i, image))
    return k * rho + l1(total)


@given(seeds, st.floats(0.02, 1.2), st.booleans())
def test_the_dual_in_the_scores_is_its_formula(seed, share, tie):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 8)) * rng.uniform(0.3, 2.0, 8)
    u = X[:, :3] @ rng.standard_normal(3) + 0.1 * rng.standard_normal(6)
    u /= np.linalg.norm(u)
    squares = (X.T @ u) ** 2
    rho = float(np.sort(squares)[-3]) if tie else share * float((X**2).sum(axis=0).max())
    assert scores_dual(DenseOperator(X), u, 3, rho) == pytest.approx(written_out(X, u, 3, rho), rel=1e-6)
    assert scores_dual(DenseOperator(X), 7.0 * u, 3, rho) == pytest.approx(written_out(X, u, 3, rho), rel=1e-6)


def test_where_rounding_hides_the_direction_the_dual_is_that_of_the_variances(monkeypatch):
    monkeypatch.setattr(budgets, "MAX_STRETCH", 0.0)
    X = np.random.default_rng(0).standard_normal((6, 8))
    op = DenseOperator(X)
    for rho in np.linspace(0.02, 0.9, 5) * float((X**2).sum(axis=0).max()):
        assert scores_dual(op, X[:, 0], 3, rho) == pytest.approx(variance_dual(op, 3, rho), rel=1e-10)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_features_without_variance_have_no_part_in_the_duals():
    X = np.random.default_rng(0).standard_normal((5, 6))
    wider = np.hstack([X, np.zeros((5, 2))])
    for rho in (0.0, 0.5, 3.0):
        assert variance_dual(DenseOperator(wider), 2, rho) == pytest.approx(variance_dual(DenseOperator(X), 2, rho))
        with_them, without = (scores_dual(DenseOperator(data), X[:, 0], 2, rho) for data in (wider, X))
        assert with_them == pytest.approx(without, rel=1e-10)


def test_a_term_covers_every_product_and_length_within_the_errors(monkeypatch):
    monkeypatch.setattr(budgets, "MAX_STRETCH", np.inf)
    covered = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        error = 10.0 ** rng.uniform(-6, -2)
        monkeypatch.setattr(precision, "sum_error", lambda op, error=error: error)
        op = DenseOperator(rng.standard_normal((6, 400)))
        reach, lengths = op.rounding_lengths(), op.sq_norms
        inner = op.rmatmat(rng.standard_normal(6) / 3.0)
        rho = rng.uniform(0.05, 0.9) * float(lengths.max())
        alpha, beta = 10.0 ** rng.uniform(-1, 0.5, (2, 400))
        beta *= rng.choice([-1.0, 1.0], 400) * 10.0 ** rng.uniform(-3, 0.5, 400)
        longer_a, longer_b = stretched(op, alpha.copy(), beta.copy(), inner, lengths, rho)
        used = (lengths > rho) & (longer_b != 0.0)
        covered += np.count_nonzero(used)
        assert longer_a[used] / alpha[used] == pytest.approx(longer_b[used] / beta[used])
        assert (longer_a[used] >= alpha[used]).all()
        for toward_g in (-1.0, 0.0, 1.0):
            for toward_d in (-1.0, 0.0, 1.0):
                g, d = inner + toward_g * error * reach, lengths + toward_d * 2.0 * error * reach**2
                D = longer_b**2 * (g**2 - d + rho) + rho * (longer_a**2 * d + 2.0 * longer_a * longer_b * g)
                assert (rho * (lengths - rho) * (1.0 - 1e-12) <= D)[used].all()
    assert covered > 1000


@pytest.mark.parametrize("error", [0.0, 1e-3])
def test_a_term_is_stretched_by_what_rounding_may_take_from_its_own_test(error, monkeypatch):
    monkeypatch.setattr(budgets, "MAX_STRETCH", np.inf)
    monkeypatch.setattr(duals, "EPS", 1e-4)
    monkeypatch.setattr(precision, "sum_error", lambda op: error)
    rng = np.random.default_rng(0)
    op = DenseOperator(rng.standard_normal((6, 400)))
    d, g = op.sq_norms, op.rmatmat(rng.standard_normal(6) / 3.0)
    rho = 0.3 * float(d.max())
    a, b = 10.0 ** rng.uniform(-1, 0.5, (2, 400)) * rng.choice([-1.0, 1.0], (2, 400))
    D = b**2 * (g**2 - d + rho) + rho * a**2 * d + 2.0 * rho * a * b * g
    size = b**2 * (g**2 + d + rho) + rho * a**2 * d + 2.0 * rho * np.abs(a * b * g)
    off_g, off_d = error * np.sqrt(d), 2.0 * error * d  # of g and d, and so of each term of D
    off = b**2 * (2.0 * np.abs(g) * off_g + off_g**2 + off_d) + rho * a**2 * off_d + 2.0 * rho * np.abs(a * b) * off_g
    stretch = rho * (d - rho) / (D - off - 16e-4 * size)
    longer_a, longer_b = stretched(op, a.copy(), b.copy(), g, d, rho)
    part = np.select([d <= rho, stretch > 1.0, stretch > 0.0], [0, 1, 2], 3)
    assert np.bincount(part).min() > 3
    factor = np.sqrt(np.where(part == 1, stretch, 1.0))
    assert longer_a[part < 3] == pytest.approx((factor * a)[part < 3])
    assert longer_b[part < 3] == pytest.approx((factor * b)[part < 3])
    assert longer_a[part == 3] == pytest.approx(np.sqrt(1.0 - rho / d[part == 3]))
    assert not longer_b[part == 3].any()


def test_the_dual_in_the_scores_adds_twice_what_its_matrix_may_be_off(monkeypatch):
    rng = np.random.default_rng(0)
    X, u = rng.standard_normal((6, 9)), np.eye(6)[0]
    alpha, beta = rng.standard_normal((2, 9))
    monkeypatch.setattr(duals, "stretched", lambda *_: (alpha, beta))
    monkeypatch.setattr(duals, "EPS", 1e-3)
    monkeypatch.setattr(precision, "gram_error", lambda op, weights: float(weights.sum()))
    Y = sum(np.outer(y, y) for y in (alpha * X + np.outer(u, beta)).T)
    off = float(alpha @ alpha) + (9 + 64) * 1e-3 * float(beta @ beta)
    assert scores_dual(DenseOperator(X), u, 3, 0.7) == pytest.approx(3 * 0.7 + l1(Y) + 2.0 * off, rel=1e-9)
