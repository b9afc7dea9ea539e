"""The sketch that stands in for large X: a minorant of X'X, exact where it has learned, and as good as X itself."""

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
import rspca.algorithm.component
from benchmarks.data import chowdary, hapmap3
from rspca.algorithm import budgets
from rspca.algorithm import sketch as sketch_module
from rspca.algorithm.deflate import DEFLATIONS
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.full_data import FullData
from rspca.algorithm.sketch import Rows, Sketch, first_rows, learned_sketch
from rspca.algorithm.sketched_data import Effort, SketchedData, stage1_effort
from rspca.linalg.vectors import l1_l2_maximizer
from rspca.operators import Centered, as_operator
from rspca.operators.deflated import ScoreDeflated
from rspca.operators.sparse import SparseOperator


def planted(m=300, n=4000, k=12, strength=0.8, seed=0):
    """White noise with k features that move together: more than a million entries."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    chosen = np.sort(rng.choice(n, k, replace=False))
    X[:, chosen] += strength * rng.standard_normal((m, 1))
    return X, chosen


def kinds():
    X, _ = planted()
    thinned = np.where(np.abs(X) > 1.5, X, 0.0)
    return {
        "dense": X,
        "float32": X.astype(np.float32),
        "Fortran order": np.asfortranarray(X),
        "sparse": sp.csr_array(thinned),
    }


@pytest.mark.parametrize("kind", ["dense", "float32", "Fortran order", "sparse"])
def test_a_sketch_never_promises_more_variance_than_there_is_and_all_of_it_where_it_has_learned(kind):
    op = Centered(as_operator(kinds()[kind]))
    sketch = learned_sketch(op)
    rng = np.random.default_rng(1)
    close = 1e-4 if kind == "float32" else 1e-9
    every = np.arange(op.shape[1])
    for _ in range(budgets.SKETCH_ROWS + 5):  # past the point where it forgets
        x = rng.standard_normal(op.shape[1]) * (rng.random(op.shape[1]) < 0.05)
        true = float(np.sum(np.square(op.matmat(x), dtype=float)))
        assert float(np.sum(sketch.operator(every).matmat(x) ** 2)) <= true * (1.0 + close)
        seen = sketch.confirm(x)
        assert seen.variance == pytest.approx(true, rel=close)
        np.testing.assert_allclose(seen.gradient, op.gram(x), atol=close * np.abs(seen.gradient).max())
        assert float(np.sum(sketch.operator(every).matmat(x) ** 2)) == pytest.approx(true, rel=close)


def test_the_leading_direction_of_a_sketch_is_one_of_x_even_if_no_sampled_column_shows_it():
    X, _ = planted(strength=1.0)
    X *= np.linspace(1.0, 1.02, X.shape[1])  # the columns that vary most are not the planted ones
    op = Centered(as_operator(X))
    v = learned_sketch(op).directions(20)[0]
    image = op.gram(v)
    assert np.linalg.norm(image - (v @ image) * v) <= 0.15 * (v @ image)
    assert v @ image >= 0.98 * np.linalg.norm(X - X.mean(0), 2) ** 2


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("residual", [None, 1e-3])
def test_a_sketch_asks_until_its_leading_direction_is_one_of_x_and_no_longer(residual, unit, monkeypatch):
    X, _ = planted(200, 1500, strength=1.0)
    residuals = []

    def confirm(sketch, v, scores=None):
        seen = original(sketch, v, scores)
        residuals.append(np.linalg.norm(seen.gradient - seen.variance * v) / seen.variance)
        return seen

    original = Sketch.confirm
    monkeypatch.setattr(Sketch, "confirm", confirm)
    learned_sketch(Centered(as_operator(unit * X * np.linspace(1.0, 1.1, 1500))), residual=residual)
    assert len(residuals) >= 2
    assert residuals[-1] <= (residual or budgets.SKETCH_RESIDUAL)
    assert min(residuals[:-1]) > (residual or budgets.SKETCH_RESIDUAL)


def test_the_first_component_of_many_features_starts_from_a_direction_that_has_converged():
    op = Centered(as_operator(planted(200, 1500)[0]))
    later = ScoreDeflated(op, np.eye(200)[:, :1])
    assert stage1_effort(op, 65, 1e-7, polished=True).residual == budgets.SKETCH_RESIDUAL_FIRST
    assert stage1_effort(op, 64, 1e-7, polished=True).residual is None
    assert stage1_effort(later, 65, 1e-7, polished=True).residual is None
    route = SketchedData.learned(op, None, Effort(1e-5, residual=1e-3))
    v = route.directions(20)[0]
    image = op.gram(v)
    assert np.linalg.norm(image - (v @ image) * v) <= 1e-3 * (v @ image)


@pytest.mark.parametrize("k", [5, 12, 60, 700])
@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_stage_one_on_a_sketch_ends_at_a_stationary_point_of_x_itself(kind, k):
    X = kinds()[kind]
    op = Centered(as_operator(X))
    found = rspca.decompose(X, 1, k=k, polish=False, random_state=0).components[0]
    # the inclusion probabilities are proportional to |x|, which gives the relaxed vector back up to signs
    relaxed = rspca.relax(X, k)
    assert found.relaxed_variance >= 0.98 * relaxed.variance
    p = found.inclusion_probability
    assert p.sum() <= k + 1e-6
    assert relaxed.converged
    step = l1_l2_maximizer(op.gram(relaxed.x), k)
    assert float(step @ op.gram(step)) <= relaxed.variance * (1.0 + 1e-5)


@pytest.mark.parametrize(
    ("k", "first", "later"),
    [
        (64, True, True),
        (65, True, True),
        (120, True, True),
        (121, True, False),
        (400, True, False),
        (401, False, False),
    ],
)
def test_only_a_small_share_of_the_features_is_worth_several_starts(k, first, later):
    def ends_may_differ(data, k):
        return SketchedData.learned(data, None, stage1_effort(data, k, 1e-7, polished=True)).ends_may_differ(k)

    op = as_operator(planted()[0])
    assert ends_may_differ(op, k) == first
    deflated = DEFLATIONS["schur"](op, np.eye(op.shape[1])[0], op.columns(np.array([0]))[:, 0].astype(float), [])
    assert ends_may_differ(deflated, k) == later
    few = as_operator(planted(3000, 400)[0])
    assert [ends_may_differ(few, few_k) for few_k in (40, 41)] == [True, False]  # a search in a pool follows


@pytest.mark.parametrize("new", [1e-6, 0.05, 0.5])
def test_scores_of_a_sketch_stay_orthonormal_however_little_of_a_vector_is_new(new):
    op = as_operator(planted(60, 400)[0])
    sketch, rng = learned_sketch(op), np.random.default_rng(2)
    x = rng.standard_normal(400)
    for _ in range(20):
        sketch.confirm(x)
        x = x + new * rng.standard_normal(400)
    left = sketch._left[:, : sketch._filled]
    np.testing.assert_allclose(left.T @ left, np.eye(left.shape[1]), atol=1e-13)


def test_a_basis_of_columns_leaves_out_what_others_span():
    V = np.random.default_rng(0).standard_normal((200, 5)) * [1.0, 1e-3, 10.0, 1.0, 1.0]
    V[:, 4] = V[:, 0] + V[:, 3]
    Q = sketch_module._orthonormal(V)
    assert Q.shape == (200, 4)
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(Q @ (Q.T @ V), V, atol=1e-6)


def test_a_basis_leaves_out_what_is_small_beside_the_longest_column():
    V = np.random.default_rng(0).standard_normal((200, 3)) * [1e-9, 1.0, 1e-9]
    assert sketch_module._orthonormal(V).shape == (200, 1)


def test_polishing_uses_the_features_of_largest_gradients_beside_those_in_use():
    route = SketchedData.learned(as_operator(planted(200, 1500)[0]), None, Effort(1e-4))
    gradient = np.linspace(0.0, 1.0, 1500)
    v = np.zeros(1500)
    v[[3, 1499]] = 1.0
    features = route.promising_features(v, gradient, 5, Choice(np.arange(1500)))
    assert features.tolist() == [3, 1496, 1497, 1498, 1499]


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_many_features_are_the_same_in_other_units(unit):
    X = planted(300, 4000, k=150)[0]
    found, other = (rspca.decompose(scale * X, 1, k=150, random_state=0).components[0] for scale in (1.0, unit))
    np.testing.assert_array_equal(found.support, other.support)
    assert other.variance == pytest.approx(unit**2 * found.variance, rel=1e-9)


@pytest.mark.parametrize("k", [4, 12, 100])
def test_the_sketch_is_no_worse_than_its_plain_twin_on_planted_features(k, monkeypatch):
    X, chosen = planted()
    sketched = rspca.decompose(X, 1, k=k, random_state=0).components[0]
    monkeypatch.setattr(rspca.algorithm.budgets, "SKETCH_MIN_ENTRIES", 10**12)
    plain = rspca.decompose(X, 1, k=k, random_state=0).components[0]
    # beyond the planted features there is only noise to choose from, with many optima of nearly the same height
    assert sketched.variance >= plain.variance * (1.0 - (1e-6 if k <= len(chosen) else 1e-3))
    if k == len(chosen):
        np.testing.assert_array_equal(sketched.support, chosen)
    assert sketched.passes < plain.passes


@pytest.mark.parametrize(("load", "k"), [(chowdary, 222), (chowdary, 1111), (hapmap3, 143)])
def test_the_sketch_is_no_worse_than_its_plain_twin_on_real_data(load, k, monkeypatch):
    X = load()
    sketched = rspca.decompose(X, 1, k=k, random_state=0)
    monkeypatch.setattr(rspca.algorithm.budgets, "SKETCH_MIN_ENTRIES", 10**12)
    plain = rspca.decompose(X, 1, k=k, random_state=0)
    assert sketched.components[0].variance >= plain.components[0].variance * (1.0 - 1e-4)
    assert sketched.passes <= 20.0


def test_features_that_nearly_repeat_each_other_are_found_though_no_leading_direction_shows_them():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((250, 5000)) + 0.7 * rng.standard_normal((250, 1)) * (rng.random(5000) < 0.5)
    twins = np.arange(100, 106)
    X[:, twins] = 1.6 * rng.standard_normal((250, 1)) + 0.1 * rng.standard_normal((250, 6))
    found = rspca.decompose(X, 1, k=6, random_state=0).components[0]
    np.testing.assert_array_equal(found.support, twins)


def test_a_few_features_that_go_together_are_found_where_noise_hides_them_and_all_vary_alike():
    m, n = 1500, 2500
    rng = np.random.default_rng(5)
    X, hidden = rng.standard_normal((m, n)), np.sort(rng.choice(n, 6, replace=False))
    X[:, hidden] += 1.2 * rng.standard_normal((m, 1))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    own = np.linalg.norm(X[:, hidden], 2) ** 2
    assert own < 0.8 * np.linalg.eigvalsh(X @ X.T)[-1]  # the leading direction is one of noise
    assert rspca.decompose(X, 1, k=6, random_state=0).components[0].support.tolist() == hidden.tolist()


def test_to_confirm_reads_x_once_and_learns_a_row_without_another_product():
    op = as_operator(planted(60, 400)[0])
    sketch, x = learned_sketch(op), np.random.default_rng(2).standard_normal(400)
    before = op.passes
    op.gram_and_scores(x)
    once = op.passes - before
    sketch.confirm(x)
    assert op.passes - before == 2 * once
    # where nearly all of it is known, the difference would be mostly rounding: then it is multiplied
    sketch.confirm(x + 1e-7 * np.random.default_rng(3).standard_normal(400))
    assert op.passes - before > 3 * once
    rows = sketch.operator(np.arange(400)).columns(np.arange(400))
    exact = op.rmatmat(sketch._left[:, : len(rows)]).T
    np.testing.assert_allclose(rows, exact, atol=1e-10 * np.abs(exact).max())


def test_several_vectors_are_multiplied_at_first_and_one_where_each_costs_a_product():
    asked = []

    class Watched(SparseOperator):
        def gram_and_scores(self, V, shift=0.0):
            asked.append(V.shape[1:])
            return super().gram_and_scores(V, shift)

    op = Centered(Watched(kinds()["sparse"]))
    first_rows(op, 1)
    assert asked == [(1,)]  # one by one with what confirms them
    asked.clear()
    rows = first_rows(op, 3)
    assert asked[-1] == (budgets.SKETCH_FIRST_ROWS + 6,)
    np.testing.assert_allclose(rows.left.T @ rows.left, np.eye(len(rows.rows)), atol=1e-9)
    np.testing.assert_allclose(rows.rows, op.rmatmat(rows.left).T, atol=1e-7 * np.abs(rows.rows).max())
    assert Centered(as_operator(kinds()["dense"])).first_block == 8


def test_the_rows_of_a_sketch_are_carried_over_to_what_components_leave():  # issue 16, item 1
    op = Centered(as_operator(kinds()["dense"]))
    U = np.linalg.qr(op.matmat(np.random.default_rng(4).standard_normal((op.shape[1], 3))))[0]
    left = ScoreDeflated(op, U)
    rows = Rows(*left.deflated_rows(*first_rows(op, 4)))
    np.testing.assert_allclose(rows.left.T @ rows.left, np.eye(len(rows.rows)), atol=1e-9)
    np.testing.assert_allclose(U.T @ rows.left, 0.0, atol=1e-9)
    exact = left.rmatmat(rows.left).T
    np.testing.assert_allclose(rows.rows, exact, atol=1e-9 * np.abs(exact).max())
    sketch = learned_sketch(left, first_rows(op, 4))
    x = np.random.default_rng(5).standard_normal(op.shape[1])
    assert sketch.confirm(x).variance == pytest.approx(float(x @ left.gram(x)), rel=1e-9)
    assert float(x @ sketch.gradient(x)) == pytest.approx(float(x @ left.gram(x)), rel=1e-7)


def test_a_sketch_of_sparse_data_begins_with_the_leading_direction():
    X = kinds()["sparse"]
    op = Centered(as_operator(X))
    leading = np.linalg.svd(X.toarray() - X.toarray().mean(axis=0), full_matrices=False)[2][0]
    assert abs(learned_sketch(op).directions(20)[0] @ leading) > 0.99


def test_a_sketch_has_no_more_rows_than_the_data_have_directions():
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        X = (rng.standard_normal((300, 3)) @ rng.standard_normal((3, 4000))).astype(dtype)
        sketch = learned_sketch(rspca.as_operator(X))
        assert sketch._filled == 3
        for _ in range(5):
            sketch.confirm(rng.standard_normal(4000))
        assert sketch._filled == 3


def test_a_sketch_begins_anew_where_earlier_components_explain_all_that_was_learned():
    # issue 16, item 4: in single precision three strong directions hide all others from the first rows
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2500)) + rng.standard_normal((600, 3)) @ (100.0 * rng.standard_normal((3, 2500)))
    found = rspca.decompose(X.astype(np.float32), 5, k=20, random_state=0)
    assert len(found.components) == 5
    assert (found.explained_variance > 0.0).all()


# issue 16, item 8
def test_a_sketch_and_the_data_tell_rough_leading_directions_only_where_they_know_enough():
    X = np.random.default_rng(0).standard_normal((400, 300)) * 0.98 ** np.arange(300)
    exact = np.linalg.svd(X, full_matrices=False)[2][0]
    for data in (FullData(as_operator(X)), learned_sketch(as_operator(X), first_rows(as_operator(X), 3))):
        rough = data.near_leading(8)
        assert rough.shape == (300, 8)
        assert abs(exact @ rough[:, 0]) > 0.9
    assert FullData(as_operator(X[:, :50])).near_leading(60) is None
    assert FullData(as_operator(X)).near_leading(299) is None
