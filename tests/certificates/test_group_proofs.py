"""Proofs for supports that groups limit: against every allowed support, bound by bound and from end to end."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from support.exact_cases import check_case, check_fit

import rspca
from rspca.algorithm.feature_limits import Groups
from rspca.certificates import budgets
from rspca.certificates.bounds import gram as B
from rspca.certificates.bounds.duals import scores_dual, variance_dual
from rspca.certificates.bounds.elimination import by_blocks, streamed_rows
from rspca.certificates.bounds.limits import GroupLimits, sums_beside
from rspca.certificates.bounds.low_rank import shifted_low_rank, split_low_rank
from rspca.certificates.bounds.penalties import penalty, penalty_at, separating
from rspca.certificates.bounds.row_dual import best_row_dual_of_one, from_multiplier
from rspca.certificates.bounds.semidefinite import semidefinite
from rspca.certificates.bounds.thresholds import KeptEntries, best_threshold
from rspca.certificates.engines import Examiner
from rspca.certificates.search import search, variance_of
from rspca.operators.dense import DenseOperator


def drawn(seed):
    """Return data, their Gram matrix, limits on groups, and k."""
    rng = np.random.default_rng([18, seed])
    n, m = int(rng.integers(4, 10)), int(rng.integers(3, 12))
    X = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)) + 0.6 * rng.standard_normal((m, n))
    if seed % 3 == 0:
        X[:, 1] = X[:, 0] * (1.0 + 1e-9)  # nearly the same, in one group or in two
    labels = np.unique(rng.integers(0, int(rng.integers(1, n + 1)), n), return_inverse=True)[1].reshape(-1)
    limits = GroupLimits(Groups(labels, int(rng.integers(1, 4))))
    return X, X.T @ X, limits, int(rng.integers(1, limits.rank + 1))


def allowed(limits, k):
    """Return all supports of k features that groups allow."""
    every = itertools.combinations(range(len(limits.labels)), k)
    return [np.array(support) for support in every if limits.allow(np.array(support))]


def never():
    return False


CASES = range(40)


def test_penalties_of_groups_are_their_formulas():
    limits = GroupLimits(Groups(np.array([0, 0, 1, 1, 2]), 2))
    found = penalty(1.0, 5, 3, limits, np.array([3.0, 0.5, 1.5]))
    assert found.each.tolist() == [3.0, 3.0, 1.0, 1.0, 1.5]
    assert found.total == pytest.approx(3 * 1.0 + 2 * (2.0 + 0.5))
    assert penalty(1.0, 5, 3, limits).each.tolist() == [1.0] * 5


def test_no_penalty_separates_a_full_group_from_a_better_feature_in_it():
    limits = GroupLimits(Groups(np.array([0, 0, 1, 1]), 1))
    squares = np.array([1.0, 2.0, 3.0, 0.5])
    assert separating(squares, np.array([0, 2]), 2, 3, limits) == []  # feature 1 is above 0, which has its place
    assert len(separating(squares, np.array([1, 2]), 2, 3, limits)) == 3


def test_fixed_features_take_the_room_of_their_groups():
    limits = GroupLimits(Groups(np.array([0, 0, 0, 1, 1]), 2))
    labels, room = limits.left(np.array([0]), np.array([1, 2, 3]))
    assert labels.tolist() == [0, 0, 1]
    assert room.tolist() == [1, 2]


@pytest.mark.parametrize("seed", CASES)
def test_sums_of_the_largest_are_those_of_the_best_allowed_support(seed):  # issue 18, item 5
    _, A, limits, k = drawn(seed)
    values = np.abs(A)
    best = [max(row[support].sum() for support in allowed(limits, k)) for row in values]
    np.testing.assert_allclose(B.top_sum(values, k, limits=limits), best, rtol=1e-12)
    np.testing.assert_allclose(B.top_sum(values, k, axis=0, limits=limits), best, rtol=1e-12)
    assert values[0][limits.top(values[0], k)].sum() == pytest.approx(best[0])
    np.fill_diagonal(values, 0.0)
    beside = sums_beside(values, np.arange(len(A)), k, limits)
    for i, row in enumerate(values):
        with_i = [row[support].sum() for support in allowed(limits, k) if i in support]
        assert beside[i] == pytest.approx(max(with_i), rel=1e-12)
        assert beside[i] >= max(with_i) * (1.0 - 1e-15)


@pytest.mark.parametrize("seed", CASES[:24])
def test_no_bound_is_below_the_best_allowed_support(seed):  # issue 18, items 5 and 8
    X, A, limits, k = drawn(seed)
    supports = allowed(limits, k)
    best = max(variance_of(A, support) for support in supports)
    op, pairs, apart = DenseOperator(X), B.spectrum(A), limits.apart(A)
    found = {
        "trace": B.trace(np.diagonal(A).copy(), k, limits),
        "frobenius": B.frobenius(np.diagonal(A).copy(), B.row_energies(A, k, limits), k, limits),
        "gershgorin": B.gershgorin(A, k, limits),
        "fill": B.spectral_fill(pairs, k, limits),
        "soft threshold": B.best_soft_threshold(apart, k, limits=limits)[0],
        "rank 1": shifted_low_rank(pairs, k, 1, tol=1e-9, out_of_time=never, limits=limits).upper,
        "rank 2": shifted_low_rank(pairs, k, 2, tol=1e-3, out_of_time=never, limits=limits).upper,
        "split": split_low_rank(A, pairs, k, never, limits),
        "row dual": best_row_dual_of_one(
            apart,
            k,
            from_multiplier(apart, k, semidefinite(apart, k, max_iter=20).multiplier),
            enough=0.0,
            out_of_time=never,
        ).upper,
        "variance dual": variance_dual(op, k, penalty_at(op.sq_norms, k, 0.3, limits)),
    }
    kept = KeptEntries(0.2 * best / k)
    rows = streamed_rows(op, k, out_of_time=never, keep=kept.add, limits=limits)
    found |= {"streamed frobenius": rows.frobenius, "streamed gershgorin": rows.gershgorin}
    found["blocks"] = best_threshold(op, k, kept, out_of_time=never, limits=limits)
    for number, support in enumerate((supports[0], max(supports, key=lambda support: variance_of(A, support)))):
        u = X[:, support] @ np.linalg.eigh(A[np.ix_(support, support)])[1][:, -1]
        u /= np.linalg.norm(u)
        for rho in separating((X.T @ u) ** 2, support, k, 3, limits):
            found[f"dual in the scores {number} {rho.total}"] = scores_dual(op, u, k, rho)
        rng = np.random.default_rng(seed)
        drawn_levels = rng.random(len(limits.sizes)) * op.sq_norms.max()
        rho = penalty(0.2 * float(op.sq_norms.max()), len(A), k, limits, drawn_levels)
        found[f"arbitrary levels {number}"] = scores_dual(op, u, k, rho)
    for name, value in found.items():
        assert value >= best * (1.0 - 1e-12), name


def test_a_group_with_room_for_one_makes_bounds_tighter():  # issue 18, item 5
    A = drawn(1)[1]
    limits = GroupLimits(Groups(np.arange(len(A)) // 2, 1))
    plain, limited = (B.frobenius(np.diagonal(A).copy(), B.row_energies(A, 3, one), 3, one) for one in (None, limits))
    assert limited < plain
    assert B.trace(np.diagonal(A).copy(), 3, limits) < B.trace(np.diagonal(A).copy(), 3)


@pytest.mark.parametrize("seed", CASES)
def test_the_search_finds_the_best_allowed_support_from_the_worst(seed):  # issue 18, item 5
    _, A, limits, k = drawn(seed)
    supports = allowed(limits, k)
    best = max(variance_of(A, support) for support in supports)
    worst = min(supports, key=lambda support: variance_of(A, support))
    found = search(A, k, worst, [], tol=1e-9, out_of_time=never, limits=limits)
    assert limits.allow(found.support)
    assert found.lower == pytest.approx(best, rel=1e-9)
    assert best * (1.0 - 1e-12) <= found.upper <= best * (1.0 + 1e-6)
    stopped = search(A, k, worst, [], tol=1e-9, out_of_time=lambda: True, limits=limits)
    assert stopped.upper >= best * (1.0 - 1e-12)


@pytest.mark.parametrize("seed", CASES)
def test_nodes_and_elimination_keep_what_may_be_better(seed):  # issue 18, item 8
    _, A, limits, k = drawn(seed)
    supports = allowed(limits, k)
    values = [variance_of(A, support) for support in supports]
    least = float(np.quantile(values, 0.8))
    better = {i for support, value in zip(supports, values, strict=True) if value > least * (1 + 1e-9) for i in support}
    if k > 1:
        before = max(variance_of(A, support) for support in allowed(limits, k - 1))
        assert better <= set(by_blocks(A, k, least, before, limits).tolist())
    fixed = supports[int(np.argmax(values))][:1] if k > 1 else np.empty(0, dtype=np.intp)
    free = limits.beside(fixed, np.setdiff1d(np.arange(len(A)), fixed))
    inside = [(support, value) for support, value in zip(supports, values, strict=True) if set(fixed) <= set(support)]
    apart = limits.apart(A)
    bound, left, _ = Examiner()(apart, apart[None], fixed, free, k, least, open_nodes=0, limits=limits)
    most = max(value for _, value in inside)
    assert bound >= min(most, least) * (1.0 - 1e-12)
    for support, value in inside:
        if value > least * (1.0 + 1e-9):
            assert set(support) - set(fixed) <= set(left.tolist())


@pytest.mark.parametrize("seed", range(28))
def test_certificates_of_hard_data_hold_for_every_allowed_support(seed):  # issue 18, items 5 and 8
    assert [one.wrong for one in check_case(seed, grouped=True) if one.wrong] == []


@pytest.mark.parametrize("seed", range(28, 40))
def test_components_found_in_turn_hold_for_every_allowed_support(seed):  # issue 18, items 5 and 8
    results = check_case(seed, tall=True, grouped=True) + check_fit(seed, grouped=True)
    assert [one.wrong for one in results if one.wrong] == []


def genes():
    """Return wide data whose neighbors say nearly the same, their groups, and their Gram matrix."""
    rng = np.random.default_rng(3)
    signal = rng.standard_normal((30, 12))
    X = np.repeat(signal, 3, axis=1) + 0.2 * rng.standard_normal((30, 36))
    return X - X.mean(axis=0), np.repeat([f"gene {i}" for i in range(12)], 3)


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "Gram matrix", "large"])
def test_any_data_are_certified_against_allowed_supports(kind, monkeypatch):  # issue 18, item 5
    X, labels = genes()
    best = max(
        float(np.linalg.eigvalsh((X.T @ X)[np.ix_(pair, pair)])[-1])
        for pair in itertools.combinations(range(36), 2)
        if labels[pair[0]] != labels[pair[1]]
    )
    if kind == "large":
        monkeypatch.setattr(budgets, "GRAM_FEATURES", 5)
    given = {
        "float32": lambda: X.astype(np.float32),
        "sparse": lambda: scipy.sparse.csr_array(X),
        "Gram matrix": lambda: rspca.GramOperator(X.T @ X),
    }.get(kind, lambda: X)()
    found = rspca.certify(given, 2, groups=labels, seconds=1 if kind == "large" else 20)
    tol = 1e-5 if kind == "float32" else 1e-12
    assert found.lower <= best * (1.0 + tol)
    assert best * (1.0 - tol) <= found.upper
    if kind != "large":  # whose bounds come from products alone
        assert found.status == "optimal"
        assert found.upper < rspca.certify(given, 2, seconds=20).lower
    assert labels[found.support[0]] != labels[found.support[1]]
    assert found.max_per_group == 1
    assert found.assumptions[-1] == "at most 1 feature of each of 12 group(s)"


def test_a_fit_with_groups_is_proven_optimal_among_what_groups_allow():  # issue 18, item 5
    X, labels = genes()
    model = rspca.SparsePCA(2, k=4, groups=labels, certify=True, random_state=0).fit(X)
    for number, proof in enumerate(model.certificates_):
        assert proof.status == "optimal"
        assert len(set(labels[model.supports_[number]])) == 4
        assert "at most 1 feature of each of 12 group(s)" in proof.assumptions
        assert proof.verify(X, after=model.components_[:number], groups=labels)


def test_a_certificate_with_groups_is_saved_and_verified_with_its_groups_only(tmp_path):  # issue 18, item 5
    X, labels = genes()
    found = rspca.certify(X, 3, groups=labels, max_per_group=2)
    found.save(tmp_path / "groups.json")
    read = rspca.Certificate.load(tmp_path / "groups.json")
    assert read.max_per_group == 2
    assert read.verify(X, groups=labels)
    for others in (None, np.arange(36) % 7):
        with pytest.raises(ValueError, match="at most 2 features of each of 12 group"):
            read.verify(X, groups=others)
    plain = rspca.certify(X, 3)
    assert "max_per_group" not in plain.as_json()
    with pytest.raises(ValueError, match="no limit on groups"):
        plain.verify(X, groups=labels)


def test_a_support_that_groups_forbid_confirms_nothing():  # issue 18, item 8
    X, labels = genes()
    found = rspca.certify(X, 3, groups=labels)
    others = labels.copy()
    inside = found.support[:2]
    others[inside[1]] = others[inside[0]]
    assert len(set(others)) == 12
    assert not found.verify(X, groups=others)


BAD = {
    "loadings against the groups": (lambda X, labels: {"loadings": np.eye(36)[0] + np.eye(36)[1]}, "of one group"),
    "more features than groups give": (lambda X, labels: {"k": 13}, "the groups give 12 at most"),
    "too few labels": (lambda X, labels: {"groups": labels[:5]}, "groups has shape"),
    "several components": (lambda X, labels: {"n_components": 2}, "certified for one component"),
    "none of a group": (lambda X, labels: {"max_per_group": 0}, "max_per_group"),
}


@pytest.mark.parametrize("name", BAD)
def test_groups_that_make_no_sense_are_refused(name):  # issue 18, item 5
    X, labels = genes()
    make, words = BAD[name]
    given = {"k": 2, "groups": labels} | make(X, labels)
    with pytest.raises(ValueError, match=words):
        rspca.certify(X, given.pop("k"), **given)


def test_swaps_whose_gains_are_only_rounding_come_to_an_end():  # issue 18, item 8
    assert not [found.wrong for found in check_case(3127, grouped=True) if found.wrong]
