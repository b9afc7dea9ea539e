"""Later components of large X on the columns of a few features: fewer reads of X, which confirms every end."""

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.algorithm import budgets
from rspca.algorithm.deflate import DEFLATIONS
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.sketch import learned_sketch
from rspca.algorithm.sketched_data import SketchedData, near_features, stage1_effort
from rspca.linalg.vectors import l1_l2_maximizer, spread
from rspca.operators import Centered, as_operator

FEATURES, K = 4000, 70


def blocks_of_alike_features(m=300, n=FEATURES, seed=0):
    """Noise and 40 blocks of 50 features that move together, some blocks more than others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    for block in range(40):
        X[:, 50 * block : 50 * block + 50] += (0.4 + 0.02 * block) * rng.standard_normal((m, 1))
    return X


def kinds():
    X = blocks_of_alike_features()
    return {"dense": X, "float32": X.astype(np.float32), "sparse": sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))}


@pytest.fixture(autouse=True)
def always_large(monkeypatch):
    """Take X for large at the size of these tests."""
    monkeypatch.setattr(budgets, "NEAR_ENTRIES", 2**15)
    monkeypatch.setattr(budgets, "NEAR_BYTES", 2**18)
    monkeypatch.setattr(budgets, "NEAR_BYTES_SHARE", 1.0)
    monkeypatch.setattr(budgets, "NEAR_MAX_SHARE", 0.2)


def later(X):
    """Return what the longest column leaves of the centered data."""
    op = Centered(as_operator(X))
    longest = int(np.argmax(op.sq_norms))
    scores = op.scores(np.array([longest]), np.ones(1))
    return DEFLATIONS["schur"](op, np.eye(op.shape[1])[longest], scores, [])


def near_route(op, k=K):
    effort = stage1_effort(op, k, budgets.TOL, polished=True)
    assert effort.near == budgets.NEAR_FEATURES_PER_K * k
    return SketchedData.learned(op, None, effort)


def silent(*_):
    """Tell nobody."""


def test_only_later_components_of_large_data_and_few_features_have_columns_of_their_own(monkeypatch):
    op = later(blocks_of_alike_features())
    assert near_features(op, K) == 8 * K
    assert near_features(op, 100) == 0.2 * FEATURES  # at most that share of the features
    assert near_features(op, 160) == 0.2 * FEATURES  # 5 for each of k, the least
    assert near_features(op, 161) == 0
    assert stage1_effort(op.undeflated, K, 1e-7, polished=True).near == 0  # the first component
    assert stage1_effort(op, budgets.POOL_MAX_K, 1e-7, polished=True).near == 0  # a search in a pool follows
    monkeypatch.setattr(budgets, "NEAR_BYTES_SHARE", 0.1)
    assert near_features(op, K) == 400  # of memory
    monkeypatch.setattr(budgets, "NEAR_BYTES_SHARE", 0.08)
    assert near_features(op, K) == 0
    monkeypatch.setattr(budgets, "NEAR_BYTES", 2**60)
    monkeypatch.setattr(budgets, "NEAR_ENTRIES", 300 * FEATURES)
    assert near_features(op, K) == 0  # X is not large


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_the_sketch_of_some_features_is_a_minorant_of_their_columns_and_learns_from_them(kind):
    op, rng = later(kinds()[kind]), np.random.default_rng(1)
    features = np.sort(rng.choice(FEATURES, 300, replace=False))
    part = op.deflated_part(op.undeflated.restrict(features), features)
    sketch, close = learned_sketch(op).restricted_to(features, part), 1e-4 if kind == "float32" else 1e-9
    for _ in range(5):
        x = rng.standard_normal(300)
        true = float(np.sum(np.square(op.matmat(spread(x, features, FEATURES)), dtype=float)))
        assert x @ sketch.gradient(x) <= true * (1.0 + close)
        assert sketch.confirm(x).variance == pytest.approx(true, rel=close)
        assert x @ sketch.gradient(x) == pytest.approx(true, rel=close)


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_a_product_whose_scores_are_known_is_the_same(kind):
    op, x = later(kinds()[kind]), np.random.default_rng(1).standard_normal(FEATURES)
    one, other = learned_sketch(op).confirm(x), learned_sketch(op).confirm(x, op.matmat(x))
    close = 1e-5 if kind == "float32" else 1e-11
    assert other.variance == pytest.approx(one.variance, rel=close)
    np.testing.assert_allclose(other.gradient, one.gradient, atol=close * np.abs(one.gradient).max())


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_stage_1_on_some_columns_ends_at_a_stationary_point_of_all_of_x(kind):
    op = later(kinds()[kind])
    route = near_route(op)
    point = route.relaxed(K, route.directions(K), max_iter=1000, tol=budgets.TOL, report=silent)
    close = 1e-4 if kind == "float32" else 1e-9
    np.testing.assert_allclose(point.gradient, op.gram(point.x), atol=close * np.abs(point.gradient).max())
    assert point.converged
    step = l1_l2_maximizer(point.gradient, K)
    assert float(step @ op.gram(step)) <= (1.0 + 3.0 * route.effort.gain) * point.variance
    assert route._near is not None
    assert set(np.flatnonzero(step)) <= set(route._near.features)  # all features that the next step needs


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_polishing_on_some_columns_states_what_x_confirms_and_reads_less(kind):
    op, reads = later(kinds()[kind]), {}
    for near in (0, 8 * K):
        route = near_route(op)
        route.effort = route.effort._replace(near=near)
        before = op.passes
        point = route.relaxed(K, route.directions(K), max_iter=1000, tol=budgets.TOL, report=silent)
        largest = np.argsort(-np.abs(point.x))[:K]
        start = spread(point.x[largest] / np.linalg.norm(point.x[largest]), largest, FEATURES)[:, None]
        every = Choice(np.arange(FEATURES))
        end = route.polished(start, point.gradient, every, tol=budgets.TOL, report=silent)[0]
        reads[near] = op.passes - before, end.variance
        assert len(end.support) == K
        columns = np.asarray(op.columns(end.support), dtype=float)
        close = 1e-4 if kind == "float32" else 1e-5  # loadings are refitted once more in the end
        assert end.variance == pytest.approx(np.linalg.norm(columns @ end.loadings) ** 2, rel=close)
        assert end.variance <= np.linalg.norm(columns, 2) ** 2 * (1.0 + close)
        assert route._near is None  # its columns are freed
    assert reads[8 * K][0] < reads[0][0]
    assert reads[8 * K][1] >= 0.99 * reads[0][1]


def test_a_start_outside_of_these_columns_is_polished_on_all_of_x():
    op = later(blocks_of_alike_features())
    route = near_route(op)
    point = route.relaxed(K, route.directions(K), max_iter=1000, tol=budgets.TOL, report=silent)
    outside = np.setdiff1d(np.arange(FEATURES), route._near.features)[:K]
    start = spread(np.full(K, K**-0.5), outside, FEATURES)[:, None]
    end = route.polished(start, point.gradient, Choice(np.arange(FEATURES)), tol=budgets.TOL, report=silent)[0]
    assert len(end.support) == K
    assert end.variance > 0.0


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_fits_with_and_without_columns_of_their_own_explain_as_much(kind, monkeypatch):
    X = kinds()[kind]
    near = rspca.decompose(X, 4, k=K, random_state=0)
    monkeypatch.setattr(budgets, "NEAR_ENTRIES", 2**60)
    plain = rspca.decompose(X, 4, k=K, random_state=0)
    assert near.explained_variance.sum() >= 0.995 * plain.explained_variance.sum()
    assert near.components[0].variance == plain.components[0].variance
    assert [len(component.support) for component in near.components] == [K] * 4


def test_groups_are_heeded_on_some_columns_too():
    groups = np.repeat(np.arange(FEATURES // 4), 4)
    found = rspca.decompose(blocks_of_alike_features(), 3, k=K, groups=groups, max_per_group=1, random_state=0)
    for component in found.components:
        assert len(np.unique(groups[component.support])) == len(component.support) == K


def test_cached_columns_are_freed_through_all_wrappers():
    op = later(blocks_of_alike_features())
    op.undeflated.restrict(np.arange(100))
    assert op.undeflated.inner._restriction is not None
    op.forget_restriction()
    assert op.undeflated.inner._restriction is None
