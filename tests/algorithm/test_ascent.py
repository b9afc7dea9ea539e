"""The two routes of stage 1 and polishing: where they start from, how often X is asked, and when that ends."""

from pathlib import Path

import numpy as np
import pytest

import rspca
from rspca.algorithm import budgets, component, full_data
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.full_data import FullData
from rspca.algorithm.route import Route
from rspca.algorithm.sketch import learned_sketch
from rspca.algorithm.sketched_data import Effort, SketchedData
from rspca.linalg.vectors import l1_l2_maximizer, top_k
from rspca.operators import as_operator


def planted(m=150, n=2500, k=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    X[:, :k] += rng.standard_normal((m, 1))
    return as_operator(X)


def silent(*_):
    """Tell nobody."""


def counted(op, effort=None):
    """Return the route on a sketch, which counts from now on how often X confirms a vector."""
    route = SketchedData.learned(op, None, effort or Effort(1e-4))
    route.asked, confirm = 0, route.sketch.confirm

    def count(x, *rest, **named):
        route.asked += 1
        return confirm(x, *rest, **named)

    route.sketch.confirm = count
    return route


def test_single_features_to_start_from_are_all_or_as_many_as_the_budget_allows(monkeypatch):
    op = as_operator(np.random.default_rng(0).standard_normal((10, 20)))
    every = Choice(np.arange(20))
    assert full_data.coordinate_starts(op, 3, every).tolist() == np.eye(20).tolist()
    monkeypatch.setattr(budgets, "START_ENTRIES", 1000)
    starts = full_data.coordinate_starts(op, 3, every)
    assert starts.shape == (20, 5)  # 1000 entries, 20 x 10 for each start
    assert np.flatnonzero(starts.any(axis=1)).tolist() == top_k(op.sq_norms, 5).tolist()
    assert full_data.coordinate_starts(op, 25, every).shape == (20, 2)
    assert full_data.coordinate_starts(op, 3, Choice(np.array([3, 7]))).shape == (20, 2)


def test_a_sketch_gives_the_largest_gradients_or_all_if_few_would_be_left_out():
    sketch = learned_sketch(planted(60, 100))
    gradient = np.random.default_rng(0).standard_normal(100)
    assert sketch.features(gradient, 79).tolist() == top_k(np.abs(gradient), 79).tolist()
    assert len(sketch.features(gradient, 80)) == 100
    assert len(sketch.features(gradient, 500)) == 100


@pytest.mark.parametrize("seed", range(3))
def test_stage_one_on_a_sketch_converges_and_asks_rarely(seed):
    op = planted(seed=seed)
    data = counted(op)
    for k in (6, 12, 40):
        data.asked = 0
        end = data.relaxed(k, data.directions(k), max_iter=1000, tol=1e-6, report=silent)
        assert end.converged
        assert end.n_iter < 500
        assert data.asked <= 12
        step = l1_l2_maximizer(op.gram(end.x), k)
        assert float(step @ op.gram(step)) <= end.variance * (1.0 + 1e-4)


def test_stage_one_is_the_leading_direction_where_that_is_short_enough():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3000)) * (1.0 + np.arange(3000)) ** -0.5  # as of words: a few lead, the rest is small
    op, steps = as_operator(X), []
    values, vectors = np.linalg.svd(X)[1:]
    assert 3.0 < np.abs(vectors[0]).sum() < 12.0
    data = counted(op, Effort(1e-5))
    told = lambda *step: steps.append(step)  # noqa: E731
    end = data.relaxed(144, data.directions(144), max_iter=1000, tol=1e-7, report=told)
    assert end.converged
    assert end.variance >= (1.0 - 1e-5) * values[0] ** 2
    assert abs(end.x @ vectors[0]) > 1.0 - 1e-4
    assert data.asked <= 12
    assert {stage for stage, _, _ in steps} == {"relax"}
    assert end.n_iter == len(steps) <= data.asked + 1  # a step a round: nothing was climbed
    bound = data.relaxed(9, data.directions(9), max_iter=1000, tol=1e-7, report=silent)
    assert np.abs(bound.x).sum() == pytest.approx(3.0)


def test_stage_one_on_the_data_themselves_ends_when_it_has_converged():
    op = as_operator(np.random.default_rng(0).standard_normal((30, 20)))
    data = FullData(op)
    starts = data.directions(5)
    end = data.relaxed(5, starts, max_iter=1000, tol=1e-7, report=silent)
    assert end.converged
    assert end.gradient.tolist() == op.gram(end.x).tolist()
    assert end.n_iter < 1000
    short = data.relaxed(5, starts, max_iter=2, tol=1e-12, report=silent)
    assert not short.converged
    assert short.n_iter == 2


def test_a_sketch_is_polished_from_draws_only_where_these_may_lead_elsewhere(monkeypatch):
    X, drawn = planted(400, 2600).X, []

    def exact_supports(x, k, s, n_draws, rng):
        drawn.append(n_draws)
        return original(x, k, s, n_draws, rng)

    original = component.exact_supports
    monkeypatch.setattr(component, "exact_supports", exact_supports)
    for k, polish in ((260, True), (261, True), (261, False)):
        assert len(rspca.decompose(X, 1, k=k, polish=polish, random_state=0).components[0].support) == k
    rspca.decompose(X[:, :300], 1, k=31, random_state=0)  # small: on the data themselves
    assert drawn == [16, 0, 16, 16]


def test_polishing_on_a_sketch_asks_as_long_as_that_gains():
    op = planted()
    data = counted(op)
    V = np.zeros((2500, 1))
    V[np.arange(6, 18), 0] = 1.0
    V /= np.linalg.norm(V)
    gradient = op.gram(V[:, 0])
    (end,) = data.polished(V, gradient, Choice(np.arange(2500)), tol=1e-6, report=silent)
    assert end.support.tolist() == list(range(12))
    assert 1 <= data.asked <= 6


def test_both_routes_answer_the_same_questions():  # issue 16, item 9
    questions = {name for name in vars(Route) if not name.startswith("_")}
    assert {"relaxed", "polished", "ends_may_differ"} < questions
    for kind in (FullData, SketchedData):
        assert questions - {"source"} <= vars(kind).keys()
    op = planted(60, 400)
    for route in (FullData(op), SketchedData.learned(op, None, Effort(1e-4))):
        assert route.source is op
        assert route.leading_rows(3).shape == (400, 3)
        end = route.relaxed(12, route.directions(12), max_iter=100, tol=1e-7, report=silent)
        assert end.variance == pytest.approx(float(end.x @ op.gram(end.x)))
        V = np.zeros((400, 1))
        V[:12, 0] = 12**-0.5
        best = route.polished(V, end.gradient, Choice(np.arange(400)), tol=1e-7, report=silent)[0]
        assert best.support.tolist() == list(range(12))


def test_the_default_algorithm_never_asks_which_route_it_is_on():  # issue 16, item 9
    for name in ("component", "ascent", "full_data", "sketched_data", "sketch", "polish", "relax", "pool"):
        text = (Path(component.__file__).parent / f"{name}.py").read_text()
        assert "isinstance(" not in text, name


def test_an_effort_stops_at_little_gain():  # issue 16, item 9
    assert Effort(0.01).should_stop(1.0, 100.0)
    assert not Effort(0.01).should_stop(1.1, 100.0)
    assert not Effort(0.01).should_stop(np.inf, 100.0)
