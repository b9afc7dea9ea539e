"""What a certification tries, in which order, with how much time, and what it tells of it."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from support.enumeration import KINDS, case, optimum

import rspca
from rspca.certificates import budgets, in_memory, precision, products, progress, proof_state, steps, strategy
from rspca.certificates import certify as module
from rspca.certificates.bounds import gram as B
from rspca.certificates.progress import Progress
from rspca.certificates.proof_state import ProofState
from rspca.certificates.search import variance_of
from rspca.operators.convert import as_operator, balanced
from rspca.operators.dense import DenseOperator
from rspca.operators.prepared import prepared


def started(A, k, seconds=3600.0):
    """Return a certification that begins with the features of the largest variance, and that proof will not end."""
    support = np.sort(np.argsort(-np.diagonal(A), kind="stable")[:k])
    return Progress(support, variance_of(A, support), tol=1e-12, deadline=time.perf_counter() + seconds)


def no_time(share):
    """Return a clock that has run out: each bound is evaluated once."""
    return lambda: True


def names(run):
    return [bound.name for bound in run.bounds]


# --- the clock --------------------------------------------------------------------------------------------------------


def test_the_clock_gives_shares_of_what_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    run = Progress(np.arange(2), 1.0, tol=0.1, deadline=110.0)
    assert run.seconds_left() == 10.0
    half, tenth = run.until(0.5), run.until(0.1)
    for moment, over in ((100.5, (False, False, False)), (101.5, (False, True, False)), (105.5, (True, True, False)),
                         (110.0, (True, True, True))):  # fmt: skip
        now[0] = moment
        assert (half(), tenth(), run.out_of_time()) == over
    now[0] = 200.0
    assert run.seconds_left() == 0.0
    assert run.until(0.5)()


def test_a_certification_is_finished_when_the_gap_is_within_the_tolerance_or_time_is_up():
    run = Progress(np.arange(2), 10.0, tol=0.1, deadline=np.inf)
    run.proven("one", 11.1, 0.0)
    assert not run.finished()
    assert run.bound("two", lambda: 12.0) == 11.1
    run.proven("three", 10.9, 0.0)
    assert run.finished()
    assert run.bound("four", lambda: 0.0) == 10.9
    assert names(run) == ["one", "two", "three"]
    assert Progress(np.arange(2), 10.0, tol=0.1, deadline=-np.inf).finished()


# --- a Gram matrix in memory ------------------------------------------------------------------------------------------


def test_in_memory_everything_is_tried_and_the_search_gets_both_splits(monkeypatch):
    seen = {}

    def search(A, k, support, parts, **options):
        seen["parts"] = parts
        return stages_search(A, k, support, parts, **options)

    stages_search = in_memory.search
    monkeypatch.setattr(in_memory, "search", search)
    A = case(KINDS.index("noise"), 10).A
    run = started(A, 4)
    in_memory.in_memory(run, A, 4)
    tried = names(run)
    assert [name for name in tried if name != "dual in the scores"] == [
        "trace", "frobenius", "gershgorin", "largest eigenvalue", "spectral fill", "shifted rank 1", "shifted rank 2",
        "shifted rank 3", "split", "soft threshold", "semidefinite dual", "exact search",
    ]  # fmt: skip
    values = dict(zip(tried, (bound.value for bound in run.bounds), strict=True))
    for name, part in zip(("soft threshold", "semidefinite dual"), seen["parts"], strict=True):
        assert np.array_equal(np.diagonal(part), np.diagonal(A))
        bound = B.spectral_fill(B.spectrum(part), 4) + B.remainder(A - part, 4)
        assert bound == pytest.approx(values[name], rel=1e-9)
    assert values["soft threshold"] == B.best_soft_threshold(A, 4)[0]
    assert run.survivors == 10
    assert run.nodes >= 1


def test_penalties_are_tried_from_the_middle_until_one_is_hopeless(monkeypatch):
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((20, 8)) + np.outer(rng.standard_normal(20), [3, 3, 3, 0, 0, 0, 0, 0])
    op, run = DenseOperator(X), started(X.T @ X, 3)
    u = np.linalg.svd(X[:, :3])[0][:, 0]
    squares = np.sort((X.T @ u) ** 2)
    width = (squares[-3] - squares[-4]) / budgets.PENALTIES
    middles = squares[-4] + width * (np.arange(budgets.PENALTIES) + 0.5)
    tried = []

    def dual(op, u, k, rho):
        tried.append(rho.each[0])
        return 1e9 / len(tried)

    monkeypatch.setattr(in_memory, "scores_dual", dual)
    in_memory.scores_bounds(run, op, 3)
    assert tried == pytest.approx(middles[[2, 1, 3, 0, 4]])
    tried.clear()
    monkeypatch.setattr(in_memory, "scores_dual", lambda op, u, k, rho: tried.append(rho.each[0]) or 1.31 * run.upper)
    run.proven("known", 1.5 * run.lower, 0.0)
    in_memory.scores_bounds(run, op, 3)
    assert tried == pytest.approx(middles[[2]])


# --- products only ----------------------------------------------------------------------------------------------------


def test_rows_are_bounded_early_for_few_features_and_late_for_many(monkeypatch):
    monkeypatch.setattr(budgets, "ROWS_FIRST_SHARE", 20)
    X = np.random.default_rng(0).standard_normal((25, 60))
    state, run = ProofState(DenseOperator(X)), started(X.T @ X, 3)
    assert strategy._rows_seconds(run, state, 4) >= 10.0 * strategy._rows_seconds(run, state, 3)
    run.seconds_left = lambda: 1e-9
    assert strategy._rows_seconds(run, state, 3) == 0.0  # now, or there is no time for it
    del run.seconds_left
    run.until = no_time
    strategy.by_products(run, state, 3)
    assert {"frobenius", "gershgorin", "largest eigenvalue"} <= set(names(run))
    assert all(bound.seconds >= 0.0 for bound in run.bounds)
    assert next(bound for bound in run.bounds if bound.name == "gershgorin").seconds == 0.0  # as a part of the rows


def test_what_is_predicted_to_be_fast_is_tried_first_and_once(monkeypatch):  # issue 18, item 6
    tried, state = [], ProofState(DenseOperator(np.eye(4)))

    def stage(name, seconds, applies=True, upper=100.0):
        def compute(run, state, k):
            tried.append(name)
            run.proven(name, upper, 0.0)

        return strategy.Stage(name, lambda *_: applies, lambda *_: seconds, compute)

    table = (stage("slow", 3.0), stage("never", 0.0, applies=False), stage("fast", 1.0), stage("last", np.inf))
    monkeypatch.setattr(strategy, "STAGES", table)
    strategy.by_products(Progress(np.arange(2), 1.0, tol=0.1, deadline=np.inf), state, 2, (stage("more", 2.0),))
    assert tried == ["fast", "more", "slow", "last"]
    tried.clear()
    monkeypatch.setattr(strategy, "STAGES", (*table, stage("closes", 2.5, upper=1.0)))
    strategy.by_products(Progress(np.arange(2), 1.0, tol=0.1, deadline=np.inf), state, 2)
    assert tried == ["fast", "closes"]


def test_what_becomes_possible_later_is_tried_later(monkeypatch):  # issue 18, item 6
    tried, state = [], ProofState(DenseOperator(np.eye(4)))
    opens = strategy.Stage("opens", lambda *_: True, lambda *_: 5.0, lambda *_: tried.append("opens"))
    after = strategy.Stage("after", lambda *_: bool(tried), lambda *_: 0.0, lambda *_: tried.append("after"))
    monkeypatch.setattr(strategy, "STAGES", (after, opens))
    strategy.by_products(Progress(np.arange(2), 1.0, tol=0.1, deadline=np.inf), state, 2)
    assert tried == ["opens", "after"]


def test_sparse_data_are_predicted_by_their_entries():  # issue 18, item 6
    sparse = ProofState(as_operator(scipy.sparse.random_array((300, 500), density=0.001, rng=0)))
    dense = ProofState(DenseOperator(np.ones((300, 500))))
    assert sparse.gram_seconds() == budgets.SPARSE_PRODUCT * 150**2 / 500 / budgets.FLOPS
    assert dense.gram_seconds() == 300 * 300 * 500 / budgets.FLOPS
    assert sparse.rows_seconds() == budgets.SPARSE_ROWS * 500 * 150 / budgets.FLOPS
    assert dense.rows_seconds() == 2.0 * 300 * 500 * 500 / budgets.FLOPS


@pytest.mark.parametrize("k", [2, 4, 6])
def test_a_bound_for_one_k_serves_the_next(k):  # issue 18, item 6
    A = case(KINDS.index("noise"), 8).A
    state = ProofState(rspca.GramOperator(A))
    assert state.bound_by_other_k(k) == np.inf
    best = {size: optimum(A, size) for size in (2, 4, 6)}
    state.proven = {other: value for other, value in best.items() if other != k}
    expected = {2: best[4], 4: min(best[6], 2.0 * best[2]), 6: min(1.5 * best[4], 3.0 * best[2])}[k]
    assert state.bound_by_other_k(k) == pytest.approx(expected)
    assert state.bound_by_other_k(k) >= best[k]


def test_certificates_of_a_path_know_bounds_of_other_k(monkeypatch):  # issue 18, item 6
    monkeypatch.setattr(budgets, "GRAM_FEATURES", 4)
    X = np.random.default_rng(5).standard_normal((20, 30))
    data = prepared(as_operator(X), center=True, scale=False)
    known = ProofState(balanced(data.operator)[0])
    arguments = {"tol": 1e-6, "rng": np.random.default_rng(0), "known": known}
    first = module.certify_prepared(data, 8, None, deadline=time.perf_counter() + 5.0, **arguments)
    second = module.certify_prepared(data, 7, None, deadline=time.perf_counter(), **arguments)
    assert second.upper <= first.upper * (1.0 + 1e-9)
    third = module.certify_prepared(data, 9, None, deadline=time.perf_counter(), **arguments)
    assert third.upper <= 9 / 7 * second.upper * (1.0 + 1e-9)


def test_the_last_rank_gets_half_of_the_time_and_the_others_a_tenth():
    X = np.random.default_rng(0).standard_normal((25, 60))
    run, shares = started(X.T @ X, 20), []
    run.until = lambda share: shares.append(share) or (lambda: True)
    state = ProofState(DenseOperator(X))
    state.spectrum()
    products.rank_bounds(run, state, 20)
    ranks = [name for name in names(run) if name.startswith("shifted rank")]
    assert len(ranks) == len(shares) >= 3
    assert shares == [0.1] * (len(ranks) - 1) + [0.5]


@pytest.mark.parametrize("shape", [(20, 50), (50, 20)])
def test_duals_in_the_scores_are_for_data_with_no_more_samples_than_features(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    run = started(X.T @ X, 5)
    run.until = no_time
    strategy.by_products(run, ProofState(DenseOperator(X)), 5)
    assert ("variance dual" in names(run)) == (shape[0] <= shape[1])


def test_rows_are_read_where_there_is_time_for_them_and_k_is_no_more_than_a_quarter(monkeypatch):
    X = np.random.default_rng(0).standard_normal((25, 60))
    for share, k, tried in ((1.0, 15, True), (0.99, 15, False), (1.0, 16, False), (1.0, 1, True)):
        run = started(X.T @ X, k)
        run.seconds_left = lambda: 0.5
        monkeypatch.setattr(budgets, "FLOPS", share * 2.0 * 25 * 60 * 60 / 0.5)
        products.row_bounds(run, ProofState(DenseOperator(X)), k)
        assert names(run) == (["frobenius", "gershgorin"] if tried else [])


def test_ranks_are_worth_trying_where_the_spectrum_falls_after_them():
    def ranks(*values):
        return products.worthwhile_ranks(B.Spectrum(np.array(values), np.eye(len(values))), budgets.RANKS)

    assert ranks(100.0, 99.0, 98.0, 97.0, 50.0, 49.0, 48.0) == [1, 2, 3, 4]
    assert ranks(100.0, 99.0, 98.0, 97.0, 96.0, 95.0, 50.0) == [1, 2, 3, 6]
    assert ranks(1.0, 0.9, 0.8, 0.7, 0.6, 0.5) == [1, 2, 3, 4, 5]
    assert ranks(0.1, 0.099, 0.098, 0.0975, 0.097, 0.096, 0.095) == [1, 2, 3]


def test_ranks_that_end_early_leave_hope_for_the_one_after_which_the_spectrum_falls():
    rng = np.random.default_rng(0)
    X = np.repeat(np.linalg.qr(rng.standard_normal((40, 5)))[0], 12, axis=1)  # five groups of twelve equal features
    X += 1e-3 * rng.standard_normal(X.shape)
    support = np.arange(6)  # half of a group
    run = Progress(support, variance_of(X.T @ X, support), tol=1e-12, deadline=time.perf_counter() + 2.0)
    run.proven("another", 1.3 * run.lower, 0.0)  # the eigenvalue of a whole group is about twice the variance
    products.rank_bounds(run, ProofState(DenseOperator(X)), 6)
    assert "shifted rank 5" in names(run)


def test_a_rank_that_takes_too_long_ends_the_trial_of_larger_ones():
    X = np.random.default_rng(0).standard_normal((40, 60)) * np.geomspace(1.0, 0.1, 60)
    run = started(X.T @ X, 6)
    run.until = no_time
    run.proven("another", 1.01 * run.lower, 0.0)
    products.rank_bounds(run, ProofState(DenseOperator(X)), 6)
    assert names(run) == ["another", "shifted rank 1", "shifted rank 2", "shifted rank 3"]


def test_the_spectrum_is_had_where_time_and_memory_allow_and_once(monkeypatch):
    X = np.random.default_rng(0).standard_normal((50, 80))
    asked = []
    monkeypatch.setattr(proof_state, "has_room", lambda size: asked.append(size) or True)
    known = ProofState(DenseOperator(X))
    seconds = 50 * 50 * 80 / budgets.FLOPS
    assert known.affordable(1.001 * seconds)
    assert asked == [budgets.SPECTRUM_COPIES * 8 * 50**2]
    assert not known.affordable(0.999 * seconds)
    monkeypatch.setattr(proof_state, "has_room", lambda size: False)
    assert not known.affordable(2.0 * seconds)
    assert known.spectrum() is known.spectrum()
    assert known.affordable(0.0)


# --- feature by feature -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1.0, 2.0**30])
def test_a_step_eliminates_only_what_rounding_cannot_bring_back(unit, monkeypatch):
    X = unit * np.random.default_rng(0).standard_normal((12, 9))
    op, A, levels = DenseOperator(X), X.T @ X, []

    def noted(function):
        def call(*arguments, **options):
            levels.append(arguments[-2])
            return function(*arguments, **options)

        return call

    for name in ("by_variance", "by_blocks"):
        monkeypatch.setattr(steps, name, noted(getattr(steps, name)))
    run = started(A, 2)
    first = steps.step_by_step(op, 1, np.array([0]), 0.0, None, run)
    steps.step_by_step(op, 2, run.support, run.lower, first, run)
    hidden = 2.0 * precision.sum_error(op) * np.sort(op.rounding_lengths() ** 2)[-2:].sum()
    assert levels[0] == levels[1] == run.lower * (1.0 - 1e-10) - hidden
    assert hidden > 0.0


def test_a_step_improves_the_support_that_large_data_began_with(monkeypatch):
    monkeypatch.setattr(budgets, "GRAM_FEATURES", 4)
    X = np.random.default_rng(1).standard_normal((30, 9)) * [1, 1, 1, 1, 1, 1, 1, 9, 10]
    X -= X.mean(axis=0)
    second = max(range(7), key=lambda i: np.linalg.norm(X[:, [i, 8]], 2))  # the best but 7, which is far better
    found = {1: np.array([8]), 2: np.array([second, 8])}
    monkeypatch.setattr(module, "rspca_component", lambda given, k, *_, **__: SimpleNamespace(support=found[k]))
    certificate = rspca.certify(X, 2)
    assert certificate.support.tolist() == [7, 8]
    assert certificate.status == "optimal"


# --- what is told -----------------------------------------------------------------------------------------------------


def test_an_interrupt_before_all_has_examined_nothing(monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_prove", interrupt)
    found = rspca.certify(np.random.default_rng(0).standard_normal((9, 5)), 2)
    assert (found.survivors, found.nodes) == (0, 0)
    assert [bound.seconds for bound in found.bounds] == [0.0]


@pytest.fixture
def told(monkeypatch):
    """Note the deadlines that components are certified by, and change what is proven."""
    seen = SimpleNamespace(deadlines=[], change=lambda found: found)
    original = module.certify_prepared

    def certify_prepared(*arguments, deadline, **options):
        seen.deadlines.append(deadline - time.perf_counter())
        return seen.change(original(*arguments, deadline=deadline, **options))

    monkeypatch.setattr(module, "certify_prepared", certify_prepared)
    return seen


def test_components_share_the_time_for_certificates(told):
    X = np.random.default_rng(0).standard_normal((30, 8))
    rspca.SparsePCA(3, k=3, certify=True, certify_seconds=60.0, random_state=0).fit(X)
    assert told.deadlines == pytest.approx([20.0] * 3, abs=5.0)


def test_a_component_is_replaced_only_by_one_of_more_variance(told):
    from dataclasses import replace

    X = np.random.default_rng(0).standard_normal((30, 8)) * np.arange(1.0, 9.0)
    own = rspca.decompose(X, 1, k=2, random_state=0).components[0]
    other = {"support": np.array([0, 1]), "loadings": np.array([0.6, 0.8])}
    for factor, support in ((1.0, own.support.tolist()), (1.0 + 1e-6, [0, 1])):
        told.change = lambda found, factor=factor: replace(found, lower=factor * own.variance, upper=1e9, **other)
        found = rspca.decompose(X, 1, k=2, certify=True, random_state=0).components[0]
        assert found.support.tolist() == support


def test_the_loadings_of_a_large_support_take_no_more_products_than_they_need():
    X = np.random.default_rng(0).standard_normal((100, 300))
    X[:, :30] += 3.0 * X[:, :1]
    op = DenseOperator(X)
    v = in_memory.loadings_on(op, np.arange(300))
    assert abs(v @ np.linalg.svd(X)[2][0]) == pytest.approx(1.0)
    assert op.passes < 100
