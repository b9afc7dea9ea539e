"""The path over k: monotone, certified, warm-started, and a suggestion with its reason."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.analysis import k_path
from rspca.analysis.k_path import suggestion
from rspca.base.types import COMPILE

PITPROPS = rspca.GramOperator(rspca.datasets.load_pitprops())
OPTIMA = [1.0, 1.954, 2.475331, 2.937479, 3.406155, 3.770960, 3.996190, 4.068607, 4.138647, 4.172638, 4.208276]


def planted(m=60, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    X[:, :8] += 2.0 * rng.standard_normal((m, 1))
    return X


def test_the_path_of_pitprops_is_the_published_one_and_proven():
    found = rspca.path(PITPROPS, range(1, 12), certify=True)
    np.testing.assert_allclose([p.variance for p in found], OPTIMA, rtol=2e-6)
    assert all(0.0 <= p.gap <= 1e-6 for p in found)
    assert [len(p.support) for p in found] == list(range(1, 12))


def test_points_come_by_increasing_k_once_each_and_their_shares_grow():
    found = rspca.path(planted(), [20, 5, 5, 10, 40])
    assert [p.k for p in found] == [5, 10, 20, 40]
    assert all(a.share <= b.share + 1e-12 for a, b in itertools.pairwise(found))
    np.testing.assert_allclose(found[-1].share, 1.0)
    assert all(p.upper is None and p.gap is None for p in found)


def test_a_point_is_what_its_loadings_have():
    X = planted()
    centered = X - X.mean(axis=0)
    for p in rspca.path(X, [3, 9], certify=True):
        np.testing.assert_allclose(np.sum((centered[:, p.support] @ p.loadings) ** 2), p.variance, rtol=1e-9)
        assert p.upper >= p.variance
        assert p.gap == pytest.approx((p.upper - p.variance) / p.variance)


def test_a_path_is_never_below_separate_fits():
    X = planted(seed=3)
    ks = [2, 3, 5, 8, 13]
    for p in rspca.path(X, ks):
        alone = rspca.decompose(X, 1, k=p.k, random_state=0).components[0]
        assert p.variance >= alone.variance * (1.0 - 1e-9)


def test_bounds_grow_with_k_even_where_a_proof_ran_out_of_time():
    X = np.random.default_rng(1).standard_normal((30, 200))
    found = rspca.path(X, [5, 10, 20, 40], certify=True, seconds=0.5)
    assert all(a.upper <= b.upper for a, b in itertools.pairwise(found))
    assert all(p.upper >= p.variance for p in found)


def test_sparse_data_and_wide_data_are_certified_step_by_step():
    rng = np.random.default_rng(2)
    X = sp.csr_array(rng.random((200, 3000)) * (rng.random((200, 3000)) < 0.01))
    X = sp.csr_array(X @ sp.diags_array(rng.pareto(2.0, 3000) + 0.1))
    found = rspca.path(X, [1, 2, 3], certify=True, seconds=20)
    assert found[0].gap <= 1e-6
    assert all(p.gap is not None and p.gap >= 0.0 for p in found)


def test_the_suggestion_is_where_the_curve_bends():
    ks = [1, 2, 4, 8, 16, 32]
    assert suggestion(ks, [0.1, 0.3, 0.5, 0.9, 0.91, 0.92])[0] == 8
    k, why = suggestion(ks, [0.01, 0.02, 0.04, 0.09, 0.3, 1.0])
    assert k == 32
    assert "larger k" in why
    assert suggestion([3, 9], [0.1, 0.9])[0] == 9
    assert rspca.path(planted(), [2, 4, 8, 16, 32]).suggested == 8


def test_a_path_prints_as_a_table_with_its_reason():
    said = str(rspca.path(PITPROPS, [2, 5, 9], certify=True))
    assert said.splitlines()[0].split() == ["k", "variance", "share", "upper", "gap"]
    assert "features have" in said.splitlines()[-1]
    assert " - " in str(rspca.path(PITPROPS, [2, 5]))


def test_progress_is_told_for_each_k():
    steps = []
    rspca.path(PITPROPS, [2, 5], certify=True, on_step=steps.append)
    told = [s for s in steps if s.stage != COMPILE]  # told too, where nothing is compiled yet
    assert [s.stage for s in told] == ["k = 2", "k = 5"]
    assert told[1].upper == pytest.approx(3.406155, rel=1e-5)


def test_scaling_the_data_changes_nothing_but_the_variance():
    X = planted()
    for factor in (1e-120, 1e120):
        for a, b in zip(rspca.path(X, [2, 6], certify=True), rspca.path(factor * X, [2, 6], certify=True), strict=True):
            assert a.support.tolist() == b.support.tolist()
            np.testing.assert_allclose([b.variance, b.upper], [factor**2 * a.variance, factor**2 * a.upper], rtol=1e-6)
            assert b.gap <= 2e-6


@pytest.mark.parametrize(
    ("ks", "options", "message"),
    [
        ([], {}, "ks is empty"),
        ([0], {}, "k=0"),
        ([41], {}, "k=41"),
        ([2], {"certify": "yes"}, "certify='yes'"),
        ([2], {"seconds": 0}, "seconds=0"),
    ],
)
def test_bad_input_is_refused(ks, options, message):
    with pytest.raises(ValueError, match=message):
        rspca.path(planted(), ks, **options)


@pytest.mark.parametrize("good", [6, 8])
def test_a_support_found_badly_is_replaced_by_one_grown_or_pruned_from_its_neighbor(good, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40))
    X[:, 20:30] += 3.0 * rng.standard_normal((60, 1))
    component = k_path.rspca_component

    def bad_unless_good(op, k, *others, **options):
        found = component(op, k, *others, **options)
        return found if k == good else found._replace(support=np.arange(k), loadings=np.full(k, k**-0.5))

    expected = [rspca.decompose(X, 1, k=k, random_state=0).components[0].variance for k in (6, 8)]
    monkeypatch.setattr(k_path, "rspca_component", bad_unless_good)
    found = rspca.path(X, [6, 8], certify=False)
    np.testing.assert_allclose([point.variance for point in found], expected, rtol=1e-6)
