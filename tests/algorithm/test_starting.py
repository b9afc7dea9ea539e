"""Starts of stage 1: directions that few features follow are found behind those that all follow a little."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from support.operators import OPERATORS

import rspca
from benchmarks.data import hgdp_euro
from rspca.algorithm import budgets
from rspca.algorithm.sketch import rough_samples_gram, sketch_of_few_samples
from rspca.algorithm.sketched_data import Effort, SketchedData
from rspca.algorithm.starting import most_directions, starting_directions
from rspca.operators import Centered, as_operator
from rspca.operators.deflated import ScoreDeflated

K = 100


def silent(*_):
    """Tell nothing."""


def hidden_block(m, n, k=K, *, own=0.3, seed=0, dtype=np.float64):
    """Return noise in which all columns follow one direction a little, and k columns nearly equal each other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    X += 0.6 * np.outer(rng.standard_normal(m), rng.choice([-1.0, 1.0], n))
    block = np.sort(rng.choice(n, k, replace=False))
    X[:, block] = own * X[:, block] + rng.standard_normal((m, 1))
    return X.astype(dtype), block


def test_the_most_promising_direction_is_a_start_next_to_those_of_large_variance():
    n = 1000
    spread, narrow, close = np.ones(n), np.zeros(n), np.tile([1.0, -1.0], n // 2)
    narrow[-20:] = 1.0
    directions = [v / np.linalg.norm(v) for v in (spread, close, narrow)]
    variances = np.array([10.0, 9.0, 2.0])
    A = sum(value * np.outer(v, v) for value, v in zip(variances, directions, strict=True))

    def variance_of(support, loadings):
        return loadings @ A[np.ix_(support, support)] @ loadings

    for k, expected in ((20, [0, 1, 2]), (n, [0, 1])):
        starts = starting_directions(variances, directions, k, variance_of)
        assert [next(i for i, v in enumerate(directions) if v is start) for start in starts] == expected
    far = np.array([10.0, 1.0, 0.5])
    assert len(starting_directions(far, directions, n, lambda support, loadings: float(loadings @ loadings))) == 1


@given(st.integers(1, 10**8))
def test_directions_of_very_many_features_are_fewer(n):
    count = most_directions(n)
    assert budgets.SKETCH_MAX_DIRECTIONS <= count <= budgets.PROMISING_DIRECTIONS
    assert count == budgets.SKETCH_MAX_DIRECTIONS or count * n <= budgets.SKETCH_ENTRIES


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("m", "n", "own"), [(120, 20_000, 0.3), (200, 10_000, 0.3), (300, 8_000, 0.8)])
@pytest.mark.parametrize("n_components", [1, 3])
def test_a_block_of_alike_features_is_found_behind_a_direction_that_all_follow(m, n, own, dtype, n_components):
    # few samples: from XX'; more samples: on the sketch that products with X taught, if their columns are long
    X, block = hidden_block(m, n, own=own, dtype=dtype)
    centered = X - X.mean(axis=0, dtype=float)
    _, values, rows = np.linalg.svd(centered, full_matrices=False)
    assert np.abs(rows[0]).max() < 0.1  # the leading direction is spread over all features
    assert values[0] > np.linalg.norm(centered[:, block], 2)
    found = rspca.decompose(X, n_components, k=K, random_state=0).components[0]
    assert len(np.intersect1d(found.support, block)) >= 0.95 * K
    rivals = [rspca.decompose(X, 1, k=K, method=name, random_state=0) for name in ("tpower", "maxcomp", "spasm")]
    assert found.variance >= max(rival.components[0].variance for rival in rivals) * (1.0 - 1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sketch_of_few_samples_has_the_leading_directions_of_what_components_leave(dtype):
    X, _ = hidden_block(50, 3000, dtype=dtype)
    op = Centered(as_operator(X))
    U = np.linalg.qr(np.asarray(op.matmat(np.random.default_rng(1).standard_normal((3000, 2))), dtype=float))[0]
    close = 1e-4 if dtype == np.float32 else 1e-6
    for data in (op, ScoreDeflated(op, U)):
        gram = data.deflated_samples_gram(rough_samples_gram(op))
        dense = np.asarray(data.columns(np.arange(3000)), dtype=float)
        np.testing.assert_allclose(gram, dense @ dense.T, atol=1e-5 * np.trace(dense @ dense.T))
        sketch = sketch_of_few_samples(data, gram, 5)
        left = np.linalg.svd(dense, full_matrices=False)[0][:, : budgets.FEW_SAMPLES_ROWS]
        own = sketch._left[:, : sketch._filled]
        assert own.shape == left.shape
        np.testing.assert_allclose(own.T @ own, np.eye(len(own.T)), atol=1e-9)
        assert abs(left[:, 0] @ own[:, -1]) > 1.0 - close
        np.testing.assert_allclose(sketch._rows[: sketch._filled], own.T @ dense, atol=close * np.abs(dense).max() * 50)


@pytest.mark.parametrize("rank", [1, 3])
def test_a_sketch_of_few_samples_has_no_more_rows_than_directions(rank):
    rng = np.random.default_rng(0)
    op = as_operator(rng.standard_normal((40, rank)) @ rng.standard_normal((rank, 500)))
    assert sketch_of_few_samples(op, rough_samples_gram(op), 4)._filled == rank


def test_the_same_few_samples_in_any_form_have_the_same_support():
    X, _ = hidden_block(60, 20_000)
    X = np.where(np.abs(X) > 1.0, np.round(X), 0.0)
    supports = [
        rspca.decompose(data, 2, k=K, random_state=0).components[1].support.tolist()
        for data in (X, np.asfortranarray(X), X.astype(np.int8), sp.csr_array(X), sp.csc_array(X))
    ]
    assert all(support == supports[0] for support in supports)


@pytest.mark.parametrize("kind", [kind for kind in OPERATORS if "," not in kind])
def test_data_say_whether_some_columns_are_read_alone(kind, tmp_path):
    op, _ = OPERATORS[kind](tmp_path)
    before = op.passes
    op.columns(np.array([0]))
    if op.selects_columns:
        assert op.passes - before <= 1.0 / op.shape[1] + 1e-9
    assert op.has_samples is False or Centered(op).selects_columns == op.selects_columns


def wrong_sketch(op):
    """Return a route on a sketch one of whose learned rows is far too long, as rounding can make it."""
    route = SketchedData.learned(op, None, Effort(1e-5))
    route.sketch.confirm(np.random.default_rng(1).standard_normal(op.shape[1]))
    first = route.sketch._n_first
    assert route.sketch._filled > first
    route.sketch._rows[first] *= 50.0
    return route, first


def test_rows_of_a_sketch_that_claim_more_variance_than_x_has_are_forgotten():
    # issue 16: rows of float32 data that are differences of many others; a fit crept along one for a thousand passes
    op = as_operator(hidden_block(300, 4000)[0])
    route, first = wrong_sketch(op)
    sketch = route.sketch
    x = sketch._rows[first] / np.linalg.norm(sketch._rows[first])
    claimed = float(x @ sketch.gradient(x))
    seen = sketch.confirm(x, claimed=claimed)
    assert seen.refuted
    assert seen.variance == pytest.approx(float(x @ op.gram(x)))
    assert sketch._filled == first + 1
    assert float(x @ sketch.gradient(x)) == pytest.approx(seen.variance)
    assert not sketch.confirm(x, claimed=seen.variance).refuted


def test_stage_1_goes_on_from_the_best_vector_that_x_confirmed_when_a_sketch_was_wrong():
    op = as_operator(hidden_block(300, 4000)[0])
    k = 50
    good = SketchedData.learned(op, None, Effort(1e-5))
    best = good.relaxed(k, good.directions(k), max_iter=1000, tol=1e-7, report=silent)
    route, _ = wrong_sketch(op)
    end = route.relaxed(k, good.directions(k), max_iter=1000, tol=1e-7, report=silent)
    assert end.converged
    assert end.variance >= 0.99 * best.variance


@pytest.mark.slow
@pytest.mark.parametrize("k", [396, 1322, 3307])
def test_scaled_genotypes_of_one_population_have_their_blocks_of_linked_snps(k):
    X = hgdp_euro()
    X = X[:, X.std(axis=0) > 0.0]
    least = {396: 24_000.0, 1322: 34_000.0, 3307: 43_900.0}[k]  # what climbs from each of 30 directions reach
    assert rspca.decompose(X, 1, k=k, scale=True, random_state=0).components[0].variance >= least


@pytest.mark.parametrize("kind", [kind for kind in OPERATORS if "," not in kind])
def test_products_of_samples_come_from_columns_or_from_products(kind, tmp_path, monkeypatch):
    op, X = OPERATORS[kind](tmp_path)
    if not op.has_samples:
        return
    close = 1e-4 if op.dtype == np.float32 else 1e-8
    expected = np.asarray(X, dtype=float) @ np.asarray(X, dtype=float).T
    monkeypatch.setattr(budgets, "FEW_SAMPLES_IMAGE_BYTES", 5 * op.dtype.itemsize * op.shape[1])
    np.testing.assert_allclose(rough_samples_gram(op), expected, atol=close * np.abs(expected).max())


def test_stage_1_ends_where_every_sketch_is_wrong(monkeypatch):
    op, k = as_operator(hidden_block(300, 4000)[0]), 50
    route = SketchedData.learned(op, None, Effort(1e-5))
    starts, asked = route.directions(k), []

    def confirm(x, scores=None, claimed=0.0):
        asked.append(claimed)
        seen = original(x, scores, claimed)
        route.sketch._rows[0] *= 3.0
        return seen

    original = route.sketch.confirm
    monkeypatch.setattr(route.sketch, "confirm", confirm)
    end = route.relaxed(k, starts, max_iter=10**6, tol=1e-7, report=silent)
    assert len(asked) <= 1 + 4 * budgets.SKETCHES_LOST
    assert end.variance == pytest.approx(float(end.x @ op.gram(end.x)))
