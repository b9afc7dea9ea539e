"""Every method: what all must do, values worked by hand, brute force, theory, and what the original programs return."""

import importlib
import itertools
import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rspca
from benchmarks.data import chowdary, classic2, data_path, wine
from rspca.certificates.bounds.duals import scores_dual
from rspca.certificates.bounds.semidefinite import semidefinite
from rspca.linalg.eigen import leading_pairs
from rspca.methods.gpower import masked
from rspca.methods.greedy import certainly_optimal
from rspca.methods.penalty import Solved, closest_from_above
from rspca.methods.rotation import varimax
from rspca.methods.spannogram import best_supports
from rspca.methods.spasm import sparse_step
from rspca.operators import prepare

SPARSE = sorted(rspca.METHODS.keys() - {"pca"})
every_method = pytest.mark.parametrize("method", SPARSE)

X = np.random.default_rng(0).standard_normal((40, 30)) * np.linspace(0.5, 2.0, 30) + 3.0
X[:, [3, 8, 17, 21, 29]] += 3.0 * np.random.default_rng(1).standard_normal((40, 1))


def run(method, op, n_components=1, k=5, **options):
    return rspca.METHODS[method](op, n_components, k, **{"rng": np.random.default_rng(0)} | options)


def one(method, data, k=5, **options):
    op = data if isinstance(data, rspca.OperatorMixin) else rspca.as_operator(data)
    return run(method, op, 1, k, **options)[0]


def largest_eigenvalue(A, support):
    return float(np.linalg.eigvalsh(A[np.ix_(support, support)])[-1])


def brute_force(A, k):
    return max(largest_eigenvalue(A, S) for S in itertools.combinations(range(len(A)), k))


# --- what all of them must do ---------------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("normalization", ["svd", "naive"])
def test_components_have_k_features_unit_length_and_the_variance_they_say(method, normalization):
    found = run(method, prepare(X), 3, [5, 4, 7], normalization=normalization, deflation="projection")
    assert [len(c.support) for c in found] == [5, 4, 7]
    for c in found:
        np.testing.assert_allclose(np.linalg.norm(c.loadings), 1.0)
        assert c.support.tolist() == sorted(c.support.tolist())
        assert c.loadings[np.argmax(np.abs(c.loadings))] > 0.0
        assert c.passes > 0.0
        assert c.n_iter >= 1
    Z = X - X.mean(0)
    np.testing.assert_allclose(found[0].variance, np.sum((Z @ found[0].dense()) ** 2))


@every_method
def test_the_features_do_not_depend_on_the_normalization_and_refitting_never_loses(method):
    svd, naive = (run(method, prepare(X), normalization=how)[0] for how in ("svd", "naive"))
    assert svd.support.tolist() == naive.support.tolist()
    assert svd.variance >= naive.variance * (1.0 - 1e-9)
    Z = (X - X.mean(0))[:, svd.support]
    np.testing.assert_allclose(svd.variance, np.linalg.norm(Z, 2) ** 2, rtol=1e-7)


@every_method
def test_the_same_seed_gives_the_same_answer(method):
    first, again = (rspca.decompose(X, 2, k=5, method=method, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.loadings, again.loadings)


@every_method
@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, np.asfortranarray])
def test_storage_does_not_matter(method, make):
    S = np.where(np.abs(X - 3.0) > 1.0, X, 0.0)
    expected = rspca.decompose(S, 2, k=4, method=method, random_state=0)
    found = rspca.decompose(make(S), 2, k=4, method=method, random_state=0)
    np.testing.assert_allclose(found.loadings, expected.loadings, atol=1e-6)


@every_method
def test_a_gram_matrix_gives_what_its_data_give(method):
    Z = X - X.mean(0)
    expected = rspca.decompose(X, 2, k=4, method=method, random_state=0)
    found = rspca.decompose(rspca.GramOperator(Z.T @ Z), 2, k=4, method=method, random_state=0)
    np.testing.assert_allclose(np.abs(found.loadings), np.abs(expected.loadings), atol=1e-5)


@every_method
@pytest.mark.parametrize("factor", [2.0**-400, 1e-4, 1e5, 2.0**400])
def test_the_unit_of_the_data_does_not_matter(method, factor):
    expected, found = (rspca.decompose(X * by, 2, k=4, method=method, random_state=0) for by in (1.0, factor))
    np.testing.assert_allclose(found.loadings, expected.loadings, atol=1e-5)
    np.testing.assert_allclose(found.explained_variance / factor / factor, expected.explained_variance, rtol=1e-6)


@every_method
def test_single_precision_finds_the_same_features(method):
    expected, found = (rspca.decompose(X.astype(t), 1, k=5, method=method, random_state=0) for t in (float, np.float32))
    assert found.components[0].support.tolist() == expected.components[0].support.tolist()


@every_method
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_constant_column_is_never_chosen(method, make, scale):
    Z = np.hstack([np.full((40, 1), 0.1), X[:, :3], np.zeros((40, 1)), X[:, 3:6]])
    found = rspca.decompose(make(Z), 2, k=8, method=method, scale=scale, random_state=0)
    assert found.components[0].support.tolist() == [1, 2, 3, 5, 6, 7]
    assert not {0, 4} & set(found.components[1].support.tolist())


@every_method
def test_one_feature_has_loading_one(method):
    found = one(method, prepare(X), 1)
    assert found.loadings.tolist() == [1.0]
    np.testing.assert_allclose(found.variance, 40 * X.var(axis=0)[found.support[0]])


@every_method
def test_all_features_refitted_are_principal_component_analysis(method):
    Z = X[:, :8] - X[:, :8].mean(0)
    found = one(method, Z, 8)
    assert len(found.support) == 8
    v = np.linalg.svd(Z)[2][0]
    np.testing.assert_allclose(np.abs(found.dense()), np.abs(v), atol=1e-5)


@every_method
@pytest.mark.parametrize("k", [1, 3, 11, 12])
def test_of_a_matrix_of_rank_one_every_method_finds_the_optimum(method, k):
    rng = np.random.default_rng(k)
    u, v = rng.standard_normal(9), rng.standard_normal(12)
    found = one(method, np.outer(u, v), k)
    assert found.support.tolist() == sorted(np.argsort(-np.abs(v))[:k].tolist())
    np.testing.assert_allclose(found.variance, u @ u * np.sort(v**2)[-k:].sum(), rtol=1e-7)


@every_method
@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, np.float32])
def test_a_matrix_of_rank_r_gives_r_components_and_a_warning(method, rank, make):
    rng = np.random.default_rng(rank)
    Z = rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 8))
    with pytest.warns(UserWarning, match=f"rank {rank}.*only {rank} of the 5"):
        found = rspca.decompose(make(Z), 5, k=3, method=method, random_state=0)
    assert len(found) == rank


@every_method
def test_data_without_variance_are_refused(method):
    with pytest.raises(ValueError, match="X has no variance"):
        rspca.decompose(np.ones((5, 4)), 1, k=2, method=method)


@every_method
def test_both_sides_of_the_data_have_components(method):
    found = rspca.decompose(X, 1, k=3, side="both", k_samples=4, method=method, random_state=0)
    assert [len(c.support) for c in found.components + found.sample_components] == [3, 4]


@every_method
def test_the_estimator_takes_it(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rspca.SparsePCA(2, k=4, method=method, random_state=0).fit(X)
    assert model.transform(X).shape == (40, 2)
    assert [len(s) for s in model.supports_] == [4, 4]


@every_method
def test_progress_names_the_component(method):
    steps = []
    rspca.decompose(X, 2, k=4, method=method, random_state=0, on_step=steps.append)
    done = [step for step in steps if step.stage == "component"]
    assert [step.component for step in done] == [0, 1]
    assert all(step.seconds >= 0.0 for step in steps)
    if method != "maxcomp":
        assert {step.component for step in steps if step.stage != "component"} == {0, 1}


@pytest.mark.parametrize("method", [m for m in SPARSE if m != "rotation"])  # it mixes one group with noise
@pytest.mark.parametrize("seed", range(3))
def test_a_planted_support_is_found(method, seed):
    rng = np.random.default_rng(seed)
    Z = 0.3 * rng.standard_normal((60, 25))
    planted = np.sort(rng.permutation(25)[:6])
    Z[:, planted] += 3.0 * rng.standard_normal((60, 1)) * (0.7 + rng.random(6))
    assert one(method, Z, 6).support.tolist() == planted.tolist()


# --- the penalty that leaves k non-zeros ----------------------------------------------------------------------------


def steps_of(counts):
    """Return a solver whose number of non-zeros is given at thresholds of the penalty."""

    def solve(penalty):
        count = next(count for threshold, count in counts if penalty <= threshold)
        return Solved((np.arange(10) < count).astype(float), 1, True)

    return solve


@pytest.mark.parametrize(("k", "expected"), [(7, 7), (6, 7), (4, 4), (3, 4), (10, 10), (1, 1)])
def test_bisection_finds_k_or_the_closest_from_above(k, expected):
    solve = steps_of([(0.0, 10), (0.3, 7), (0.6, 4), (1.0, 1)])
    assert np.count_nonzero(closest_from_above(solve, k, 0.0, 1.0).x) == expected


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0", "scotlass"])
def test_where_no_penalty_leaves_exactly_k_the_k_largest_are_kept(method):
    rng = np.random.default_rng(0)
    Z = np.repeat(rng.standard_normal((20, 5)), 2, axis=1)  # features in equal pairs: they come in together
    found = one(method, Z, 3)
    assert len(found.support) == 3


# --- Spasm ----------------------------------------------------------------------------------------------------------


def test_spasm_thresholds_at_the_next_magnitude():
    every = np.arange(4)
    c = np.array([5.0, -3.0, 2.0, 1.0])
    np.testing.assert_allclose(sparse_step(c, 2, every, strict=False), np.array([3.0, -1.0, 0.0, 0.0]) / np.sqrt(10.0))
    np.testing.assert_allclose(sparse_step(c, 4, every, strict=False), c / np.linalg.norm(c))
    quirk = np.array([9.0, -7.0, 6.0, 5.0])  # what the toolbox does for k = n
    np.testing.assert_allclose(sparse_step(c, 4, every, strict=True), quirk / np.linalg.norm(quirk))


def test_spasm_keeps_fewer_where_magnitudes_tie_and_the_first_where_all_do():
    every = np.arange(4)
    np.testing.assert_array_equal(sparse_step(np.array([3.0, 2.0, 2.0, 1.0]), 2, every, strict=False), [1, 0, 0, 0])
    tied = sparse_step(np.array([2.0, 2.0, 2.0, 1.0]), 2, every, strict=False)
    np.testing.assert_allclose(tied, np.array([1.0, 1.0, 0.0, 0.0]) / np.sqrt(2.0))


def test_spasm_with_all_features_is_pca_unless_strict():
    Z = 0.3 * X
    v = np.linalg.svd(Z - Z.mean(0))[2][0]
    sane, strict = (one("spasm", prepare(Z), 30, normalization="naive", strict=how).dense() for how in (False, True))
    assert abs(sane @ v) == pytest.approx(1.0, abs=1e-8)
    assert abs(strict @ v) < 0.99


@pytest.mark.parametrize("method", ["spasm", "rotation"])
def test_a_later_component_is_refitted_to_what_the_first_leaves(method):
    # every feature follows the first direction: on any support the best loadings for X itself are the first's again
    rng = np.random.default_rng(0)
    signs = np.repeat([1.0, -1.0], 20)
    scores = 9.0 * np.linalg.qr(rng.standard_normal((80, 2)))[0]
    data = np.outer(scores[:, 0], 2.0 + 0.3 * signs) + np.outer(scores[:, 1], signs + 0.2 * rng.standard_normal(40))
    data += 0.05 * rng.standard_normal(data.shape)
    Z = data - data.mean(0)
    found = rspca.decompose(data, 2, k=30, method=method)
    first, second = found.components
    u = Z @ first.dense() / np.linalg.norm(Z @ first.dense())
    left = Z[:, second.support] - np.outer(u, u @ Z[:, second.support])
    best = np.linalg.svd(left, full_matrices=False)[2][0]
    assert abs(best @ second.loadings) == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(second.variance, np.sum((Z @ second.dense()) ** 2))
    assert found.score_correlation < 0.7


def test_spasm_without_a_direction_left_is_finite():
    # The image of the third vector lies in the span of the first two, to the last bit: it was divided by zero.
    X = [
        [0.18547825895876227, -475.30650673111603, 11076.08090594411],
        [0.14066805780261377, 770.2180997335863, 70190.29112384906],
        [-0.5804731063334878, -613.6702059659365, -82036.17800638106],
        [0.42265656384127814, -1483.986822115667, -1419.0953064834853],
        [-0.5020824379460415, 1532.9734370527735, -126279.61875565725],
    ]  # fmt: skip
    found = rspca.decompose(X, 3, k=3, method="spasm", normalization="naive", center=False)
    np.testing.assert_allclose(np.linalg.norm(found.loadings, axis=1), 1.0)


def test_spasm_takes_two_products_an_iteration():
    op = prepare(X)
    leading_pairs(op, 1, tol=1e-9)
    start = op.passes
    leading_pairs(op, 1, tol=1e-9)
    before, cost = op.passes, op.passes - start
    found = run("spasm", op, normalization="naive")[0]
    assert op.passes - before - cost == pytest.approx(2 * found.n_iter + 5 / 30)


# --- rotation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.2, 0.5, 1.0, 1.4])
@pytest.mark.parametrize("kaiser", [False, True])
def test_varimax_undoes_a_rotation_of_simple_loadings(angle, kaiser):
    simple = np.array([[1.0, 0.0], [0.5, 0.0], [0.0, 0.8], [0.0, 0.6]])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found, _, converged = varimax(simple @ turn, kaiser=kaiser)
    assert converged
    np.testing.assert_allclose(found.T @ found, np.eye(2), atol=1e-12)
    back = np.abs(simple @ turn @ found)
    np.testing.assert_allclose(back if back[0, 0] > 0.5 else back[:, ::-1], simple, atol=1e-6)


def test_varimax_raises_the_variance_of_the_squares():
    L = np.random.default_rng(0).standard_normal((20, 4))
    squares = (L @ varimax(L)[0]) ** 2
    best = squares.var(axis=0).sum()
    assert best > (L**2).var(axis=0).sum()
    for _ in range(200):
        Q = np.linalg.qr(np.random.default_rng(_).standard_normal((4, 4)))[0]
        assert ((L @ Q) ** 2).var(axis=0).sum() <= best * (1.0 + 1e-6)


def groups():
    """Two groups of features that share nothing, of nearly equal variance: the leading components mix them."""
    A = np.zeros((8, 8))
    A[:4, :4] = A[4:, 4:] = 0.9
    np.fill_diagonal(A, 1.0)
    A[:4, 4:] = A[4:, :4] = 0.02
    return rspca.GramOperator(A)


@pytest.mark.parametrize("lengths", ["unit", "sqrt", "inverse"])
def test_rotation_separates_groups_that_principal_components_mix(lengths):
    found = run("rotation", groups(), 2, 4, lengths=lengths)
    assert {tuple(c.support.tolist()) for c in found} == {(0, 1, 2, 3), (4, 5, 6, 7)}


def test_rotated_components_come_in_the_order_of_their_variance():
    found = run("rotation", prepare(X), 4, 30, normalization="naive", rank=5)
    assert [c.variance for c in found] == sorted((c.variance for c in found), reverse=True)


def test_the_length_decides_what_rotation_keeps():
    Z = X - X.mean(0)
    unit, inverse = (
        run("rotation", rspca.as_operator(Z), 3, 30, normalization="naive", lengths=how) for how in ("unit", "inverse")
    )
    V, W = (np.array([c.dense() for c in found]) for found in (unit, inverse))
    np.testing.assert_allclose(V @ V.T, np.eye(3), atol=1e-8)  # orthogonal loadings
    scores = Z @ W.T
    np.testing.assert_allclose(np.corrcoef(scores.T), np.eye(3), atol=1e-8)  # uncorrelated scores


# --- TPower, GPower, SCoTLASS ---------------------------------------------------------------------------------------

LOCAL = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.5]])


def test_tpower_ends_in_the_optimum_near_its_start():
    op = rspca.GramOperator(LOCAL)
    stuck = one("tpower", op, 2)  # the feature of largest variance shares nothing with the others
    assert stuck.support.tolist() == [2]
    assert stuck.variance == pytest.approx(2.5)
    best = one("tpower", op, 2, start=[1.0, 0.0, 0.0])
    np.testing.assert_allclose(best.dense(), np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0))
    assert best.variance == pytest.approx(3.0)
    with pytest.raises(ValueError, match="start has shape"):
        one("tpower", op, 2, start=[1.0, 0.0])


@given(st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=40)
def test_tpower_never_loses(seed, k):
    Z = np.random.default_rng(seed).standard_normal((6, 8))
    steps = []
    one("tpower", Z, k, on_step=steps.append)
    values = [step.variance for step in steps if step.stage == "tpower"]
    assert np.all(np.diff(values) >= -1e-9 * values[-1])


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0"])
@given(seed=st.integers(0, 10**6), rho=st.floats(0.0, 0.95))
@settings(max_examples=30)
def test_gpower_never_loses_and_screening_is_safe(method, seed, rho):
    Z = np.random.default_rng(seed).standard_normal((6, 9)) * np.linspace(0.2, 2.0, 9)
    steps = []
    found = one(method, Z, 3, rho=rho, normalization="naive", on_step=steps.append)
    values = [step.variance for step in steps if step.stage == "gpower"]
    assert np.all(np.diff(values) >= -1e-9 * values[-1])
    lengths = np.linalg.norm(Z, axis=0)
    too_short = lengths < rho ** (1.0 if method == "gpower-l1" else 0.5) * lengths.max() * (1.0 - 1e-12)
    assert not too_short[found.support].any()


def test_gpower_by_hand():
    Z = np.array([[3.0, 2.0], [0.0, 1.0]])  # from u = e_1: X'u = (3, 2), and g = rho 3
    start = {"normalization": "naive", "max_iter": 1}
    for method, rho, c in (("gpower-l1", 0.5, [1.5, 0.5]), ("gpower-l0", 0.4, [3.0, 2.0])):
        u = Z @ np.array(c)
        after = Z.T @ u / np.linalg.norm(u)
        expected = np.maximum(after - 1.5, 0.0) if method == "gpower-l1" else np.where(after**2 > 3.6, after, 0.0)
        found = one(method, Z, 2, rho=rho, **start)
        np.testing.assert_allclose(found.dense(), expected / np.linalg.norm(expected))
        assert not found.converged


@pytest.mark.parametrize("rho", [-0.1, 1.0, np.nan])
def test_gpower_refuses_penalties_that_make_no_sense(rho):
    with pytest.raises(ValueError, match="rho="):
        one("gpower-l1", X, rho=rho)


def test_gpower_deflates_in_its_own_way_unless_told():
    Z = X - X.mean(0)
    op = rspca.as_operator(Z)
    first = run("gpower-l1", op, 1, 5)[0].dense()
    left = Z - np.outer(Z @ first, first)
    np.testing.assert_allclose(
        np.abs(run("gpower-l1", op, 2, 5)[1].dense()), np.abs(one("gpower-l1", left).dense()), atol=1e-6
    )
    v = run("gpower-l0", op, 1, 5)[0].dense()
    u = Z @ v / np.linalg.norm(Z @ v)
    left = Z - np.outer(u, np.where(v != 0.0, Z.T @ u, 0.0))
    np.testing.assert_allclose(masked(op, v, Z @ v, []).matmat(np.eye(30)), left, atol=1e-12)
    np.testing.assert_allclose(
        np.abs(run("gpower-l0", op, 2, 5)[1].dense()), np.abs(one("gpower-l0", left).dense()), atol=1e-6
    )
    schur = run("gpower-l0", op, 2, 5, deflation="schur")
    np.testing.assert_allclose(schur[0].dense(), v)
    left = Z - np.outer(u, u @ Z)
    np.testing.assert_allclose(np.abs(schur[1].dense()), np.abs(one("gpower-l0", left).dense()), atol=1e-6)


def test_scotlass_with_t_one_is_one_feature_and_with_root_n_is_pca():
    Z = X - X.mean(0)
    single = one("scotlass", Z, t=1.0, normalization="naive")
    assert len(single.support) == 1
    dense = one("scotlass", Z, t=np.sqrt(30), normalization="naive")
    assert abs(dense.dense() @ np.linalg.svd(Z)[2][0]) == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match=r"t=0\.5"):
        one("scotlass", Z, t=0.5)


@given(st.integers(0, 10**6), st.floats(1.0, 3.0))
@settings(max_examples=30)
def test_scotlass_respects_its_bound(seed, t):
    Z = np.random.default_rng(seed).standard_normal((7, 9))
    found = one("scotlass", Z, t=t, normalization="naive")
    assert np.abs(found.loadings).sum() <= t * (1.0 + 1e-6) or len(found.support) > t**2


# --- greedy and its test of optimality ------------------------------------------------------------------------------


def greedy_by_definition(Z, k):
    """Return the approximate greedy path of d'Aspremont, Bach and El Ghaoui, written down as they do."""
    chosen = [int(np.argmax((Z**2).sum(axis=0)))]
    while len(chosen) < k:
        u = np.linalg.svd(Z[:, chosen], full_matrices=False)[0][:, 0]
        promise = (Z.T @ u) ** 2
        promise[chosen] = -1.0
        chosen.append(int(np.argmax(promise)))
    return sorted(chosen)


@pytest.mark.parametrize("rows_kept", [2**25, 0])
@pytest.mark.parametrize("k", [1, 2, 9, 40, 90])
def test_greedy_is_its_definition_whether_or_not_rows_are_kept(k, rows_kept, monkeypatch):
    monkeypatch.setattr(importlib.import_module("rspca.methods.greedy"), "ROWS_KEPT", rows_kept)
    Z = np.random.default_rng(k).standard_normal((50, 100)) * np.linspace(1.0, 2.0, 100)
    found = one("greedy", Z, k)
    assert found.support.tolist() == greedy_by_definition(Z, k)


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_every_feature_that_joins_gains(seed):
    Z = np.random.default_rng(seed).standard_normal((5, 8))
    steps = []
    one("greedy", Z, 8, on_step=steps.append)
    values = [step.variance for step in steps if step.stage == "greedy"]
    assert len(values) == 8
    assert np.all(np.diff(values) >= -1e-9 * values[-1])


def test_greedy_can_be_led_astray_and_the_test_of_optimality_does_not_vouch_for_it():
    A = np.array([[4.0, 0.0, 0.0], [0.0, 3.0, 2.5], [0.0, 2.5, 3.0]])
    op = rspca.GramOperator(A)
    assert one("greedy", op, 2).variance == pytest.approx(4.0)
    assert not certainly_optimal(op, np.array([0, 1]))
    assert one("greedy", op, 2, start=1).support.tolist() == [1, 2]
    assert certainly_optimal(op, np.array([1, 2]))


def small_problem(seed):
    """Return small data of many kinds: wide and tall, flat and steep, with and without a planted group."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 12), rng.integers(3, 9)
    k = int(rng.integers(1, n + 1))
    Z = rng.standard_normal((m, n)) * np.exp(rng.standard_normal(n) * rng.choice([0.0, 0.5, 1.5]))
    if rng.random() < 0.4:
        Z[:, :k] += 2.0 * rng.standard_normal((m, 1))
    return Z, k, rng


@given(st.integers(0, 10**6))
def test_only_optimal_supports_are_declared_optimal(seed):
    Z, k, _ = small_problem(seed)
    A, op = Z.T @ Z, rspca.as_operator(Z)
    best = brute_force(A, k)
    for support in itertools.combinations(range(len(A)), k):
        if certainly_optimal(op, np.array(support)):
            assert largest_eigenvalue(A, support) >= best * (1.0 - 1e-8)


@given(st.integers(0, 10**6), st.floats(0.01, 1.2))
def test_the_dual_bound_holds_for_any_direction_and_penalty(seed, share):
    Z, k, rng = small_problem(seed)
    u = rng.standard_normal(len(Z))
    bound = scores_dual(rspca.as_operator(Z), u / np.linalg.norm(u), k, share * (Z**2).sum(axis=0).max())
    assert bound >= brute_force(Z.T @ Z, k) * (1.0 - 1e-9)


def test_a_planted_support_is_proved_optimal():
    rng = np.random.default_rng(0)
    Z = 0.2 * rng.standard_normal((50, 30))
    Z[:, 5:12] += rng.standard_normal((50, 1))
    found = one("greedy", Z, 7)
    assert found.support.tolist() == list(range(5, 12))
    assert certainly_optimal(rspca.as_operator(Z), found.support)


@pytest.mark.parametrize("method", ["greedy", "gpower-l1", "gpower-l0"])
def test_a_start_that_does_not_vary_is_not_used(method):
    Z = np.hstack([np.full((40, 1), 2.0), X])
    expected, found = (run(method, prepare(Z), 2, 4, start=start) for start in (None, 0))
    for one_way, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one_way.dense(), other.dense())
    with pytest.raises(ValueError, match="start=31 must be between 0 and 30"):
        run(method, prepare(Z), start=31)


def test_greedy_and_its_test_refuse_what_is_too_large():
    large = rspca.as_operator(sp.csr_array((10**5, 10**5)))
    with pytest.raises(ValueError, match=r"greedy.*100 products.*100000 x 100000.*Lower k"):
        run("greedy", large, 1, 100)
    with pytest.raises(ValueError, match="100000 samples or features are more than 1000"):
        certainly_optimal(large, np.arange(3))


# --- the spannogram -------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(2, 9), st.data())
def test_the_spannogram_finds_the_optimum_of_a_matrix_of_rank_two(seed, n, data):
    k = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((n, 2)) * np.array([1.0, rng.random()])
    best = brute_force(V @ V.T, k)
    supports, _ = best_supports(V, k, 3)
    np.testing.assert_allclose(np.linalg.norm(V[supports[0]], 2) ** 2, best, rtol=1e-9)
    np.testing.assert_allclose(one("spannogram", V.T, k).variance, best, rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_spannogram_loses_to_no_angle_of_a_fine_sweep(seed):
    V = np.random.default_rng(seed).standard_normal((3000, 2)) * np.array([1.0, 0.9])
    supports, evaluated = best_supports(V, 40, 1)
    angles = np.linspace(0.0, np.pi, 4000)
    swept = [np.sort((V @ [np.cos(a), np.sin(a)]) ** 2)[-40:].sum() for a in angles]
    assert np.linalg.norm(V[supports[0]], 2) ** 2 >= max(swept) * (1.0 - 1e-12)
    assert evaluated < 1000


def test_the_spannogram_ends_soon_where_all_angles_are_alike():
    # Of all features every angle has the same height: arcs were halved a million times to tell them apart.
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 2)))[0]
    supports, angles = best_supports(V, 5, 1)
    assert supports[0].tolist() == [0, 1, 2, 3, 4]
    assert angles < 100


def test_of_rank_one_the_spannogram_is_maxcomp():
    ours, theirs = one("spannogram", prepare(X), rank=1), one("maxcomp", prepare(X))
    np.testing.assert_allclose(ours.dense(), theirs.dense(), atol=1e-7)
    with pytest.raises(ValueError, match="rank=3"):
        one("spannogram", prepare(X), rank=3)


def test_what_the_spannogram_guarantees():
    Z = X[:, :12] - X[:, :12].mean(0)
    A = Z.T @ Z
    values = leading_pairs(rspca.as_operator(Z), 3).values
    found = one("spannogram", Z, 4)
    assert brute_force(A, 4) <= found.variance + values[2]


# --- DSPCA ----------------------------------------------------------------------------------------------------------


def test_the_relaxation_of_a_diagonal_matrix_is_its_largest_entry():
    relaxed = semidefinite(np.diag([3.0, 2.0, 1.0]), 1)
    assert relaxed.upper == pytest.approx(3.0, rel=1e-3)
    np.testing.assert_allclose(relaxed.X, np.diag([1.0, 0.0, 0.0]), atol=1e-2)


@pytest.mark.parametrize(
    ("k", "gap"), [(4, 2.71), (5, 1.53), (6, 1.13), (7, 0.89), (8, 1.87), (9, 1.63), (10, 1.10)]
)  # published: Li and Xie, relaxation 17
def test_the_relaxation_has_the_published_gaps_on_pitprops(k, gap):
    A = rspca.datasets.load_pitprops()
    relaxed = semidefinite(A, k, tol=1e-5)
    assert relaxed.converged
    best = brute_force(A, k)
    assert 100.0 * (relaxed.upper / best - 1.0) == pytest.approx(gap, abs=0.006)
    assert one("dspca", rspca.GramOperator(A), k).variance == pytest.approx(best)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_relaxation_is_a_bound_however_early_it_stops(seed):
    Z, k, _ = small_problem(seed)
    relaxed = semidefinite(Z.T @ Z, k, max_iter=1 + seed % 40)
    assert relaxed.upper >= brute_force(Z.T @ Z, k) * (1.0 - 1e-9)
    assert np.trace(relaxed.X) == pytest.approx(1.0)
    assert np.linalg.eigvalsh(relaxed.X)[0] >= -1e-9


def test_dspca_refuses_more_than_500_features():
    with pytest.raises(ValueError, match="501 features, at most 500"):
        one("dspca", np.random.default_rng(0).standard_normal((5, 501)))


# --- what the original programs return ------------------------------------------------------------------------------


def reference(name):
    return np.loadtxt(data_path("reference_outputs", f"wine_{name}.csv"), delimiter=",", ndmin=2).T


def assert_agrees(found, expected, atol):
    assert len(found) == len(expected)
    for component, v in zip(found, expected, strict=True):
        sign = np.sign(component.dense() @ v)
        np.testing.assert_allclose(sign * component.dense(), v, atol=atol)


@pytest.mark.parametrize("k", [4, 7])
def test_spasm_is_the_toolbox(k):
    found = run("spasm", rspca.as_operator(wine()), 3, k, normalization="naive")
    assert_agrees(found, reference(f"spasm_soft_k{k}"), 1e-9)


@pytest.mark.parametrize("k", [4, 7])
def test_tpower_is_the_authors_program(k):
    # All columns have unit length: theirs starts from the third, the largest by a rounding error.
    start = np.eye(13)[2]
    found = run("tpower", rspca.as_operator(wine()), 1, k, normalization="naive", start=start, tol=1e-12, max_iter=500)
    assert_agrees(found, reference(f"tpower_k{k}"), 1e-9)


@pytest.mark.parametrize("rho", [20, 50])
@pytest.mark.parametrize(("penalty", "normalization", "atol"), [("l1", "svd", 1e-4), ("l0", "naive", 1e-9)])
def test_gpower_is_the_published_iteration(penalty, normalization, atol, rho):
    # Theirs starts from the last column, for the same reason, and fills the pattern to 1e-6 only.
    found = run(
        f"gpower-{penalty}", rspca.as_operator(wine()), 1, 13, normalization=normalization, rho=rho / 100, start=12
    )
    assert_agrees(found, reference(f"gpower_{penalty}_rho{rho}"), atol)


@pytest.mark.parametrize("t", [1.5, 2.2])
def test_scotlass_is_pma(t):
    found = run("scotlass", rspca.as_operator(wine()), 1, 13, normalization="naive", t=t)
    assert_agrees(found, reference(f"pma_spc_sumabsv{round(10 * t)}")[:1], 1e-4)
    relaxed = rspca.relax(rspca.as_operator(wine()), t**2, center=False)
    np.testing.assert_allclose(np.abs(relaxed.x), np.abs(reference(f"pma_spc_sumabsv{round(10 * t)}")[0]), atol=1e-3)


@pytest.mark.parametrize("k", [4, 7])
@pytest.mark.parametrize("method", ["rspca", "dspca", "spannogram"])
def test_the_first_component_of_nsprcomp_is_found(method, k):
    found = run(method, rspca.as_operator(wine()), 1, k)
    assert_agrees(
        found, reference(f"nsprcomp_k{k}")[:1], 2e-3
    )  # it stops early: its own loadings are not quite refitted


# --- real data ------------------------------------------------------------------------------------------------------

COUNTS = (68, 290, 573, 842, 1155, 2395, 3915, 4519)
"""Non-zeros of the eight rows of Table 1 of the paper."""
FROBENIUS = 97.33432
"""||A||_F of centered Classic-2, by which the paper divides; see test_published_values."""


@cache
def classic2_operator():
    return prepare(classic2())


@pytest.mark.parametrize(
    ("k", "printed"), list(zip(COUNTS, (0.2768, 0.3601, 0.3912, 0.4039, 0.4131, 0.4271, 0.4316, 0.4324), strict=True))
)
def test_spasm_gives_the_papers_four_digits_on_classic2(k, printed):
    found = run("spasm", classic2_operator(), 1, k, normalization="naive")[0]
    assert len(found.support) == k
    assert f"{found.variance / FROBENIUS:.4f}" == f"{printed:.4f}"


@pytest.mark.parametrize(
    ("k", "printed"), list(zip(COUNTS, (0.1955, 0.3353, 0.3825, 0.4013, 0.4133, 0.4284, 0.4326, 0.4333), strict=True))
)
def test_maxcomp_left_shorter_than_one_gives_the_papers_four_digits_on_classic2(k, printed):
    found = run("maxcomp", classic2_operator(), 1, k, normalization="naive")[0]
    v = leading_pairs(classic2_operator(), 1, tol=1e-9).vectors[:, 0]
    left_shorter = found.variance * float(np.sum(v[found.support] ** 2))
    assert f"{left_shorter / FROBENIUS:.4f}" == f"{printed:.4f}"


@pytest.mark.parametrize("method", [m for m in SPARSE if m != "dspca"])
def test_every_method_takes_classic2_as_it_is(method, monkeypatch):
    op = prepare(classic2())
    columns, taken = op.inner.columns, []
    monkeypatch.setattr(op.inner, "columns", lambda support: (taken.append(len(support)), columns(support))[1])
    found = run(method, op, 1, 500)[0]
    assert len(found.support) == 500
    assert sum(taken) <= 500  # all that was ever made dense, one by one or together
    if method != "rotation":  # its first component is turned away from the leading one
        assert found.variance / 42.34612 > 0.930


@pytest.mark.parametrize(
    ("method", "share"),
    [
        ("maxcomp", 0.0502), ("spasm", 0.0551), ("gpower-l0", 0.0576), ("tpower", 0.0576), ("greedy", 0.0576),
        ("rspca", 0.0576),
    ],
)  # fmt: skip
def test_supports_differ_on_gene_expression(method, share):
    op = prepare(chowdary())
    found = run(method, op, 1, 222)[0]
    assert len(found.support) == 222
    assert found.variance / leading_pairs(op, 1, tol=1e-9).values[0] == pytest.approx(share, abs=6e-5)


@pytest.mark.parametrize("n", [3, 6, 12, 13])
def test_columns_that_are_all_the_same_are_no_trouble(n):
    X = np.repeat(np.arange(3.0)[:, None], n, axis=1)
    for row in rspca.compare(X, n, certify_seconds=None):
        assert row.variance == pytest.approx(2.0 * n, rel=1e-9), row.method
    assert rspca.relax(X, n * (1.0 - 1e-16)).variance == pytest.approx(2.0 * n, rel=1e-9)


@pytest.mark.parametrize("method", sorted(rspca.METHODS))
def test_every_method_refuses_settings_that_make_no_sense(method):
    run = rspca.METHODS[method]
    pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    assert len(run(pitprops, 1, 5)) == 1
    for options in ({"deflation": "foo"}, {"normalization": "foo"}, {"max_iter": 0}, {"tol": -1.0}, {"tol": np.nan}):
        (name,) = options
        with pytest.raises(ValueError, match=name):
            run(pitprops, 1, 5, **options)
    with pytest.raises(ValueError, match="n_components"):
        run(pitprops, 0, 5)
    with pytest.raises(TypeError, match="tol"):
        run(pitprops, 1, 5, tol="a")


@pytest.mark.parametrize("option", [{"max_iter": 1}, {"tol": 0.5}])
def test_iterations_of_rspca_are_not_those_of_another_method(option):
    with pytest.raises(ValueError, match="belong"):
        rspca.decompose(X, 1, k=3, method="tpower", **option)
