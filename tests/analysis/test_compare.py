"""compare: every method on the same data at the same number of non-zeros."""

import dataclasses
import functools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.base.types import COMPILE

X = np.random.default_rng(0).standard_normal((40, 60)) * np.linspace(0.5, 2.0, 60)
K = 7


def compare(*arguments, **options):
    """rspca.compare, with little time for the bound."""
    return rspca.compare(*arguments, **{"certify_seconds": 0.3, **options})


@pytest.fixture(scope="module")
def rows():
    return compare(X, K)


def test_every_method_is_there_with_both_normalizations(rows):
    found = [(row.method, row.normalization) for row in rows]
    sparse = {(m, n) for m in rspca.METHODS if m != "pca" for n in ("naive", "svd")}
    assert len(found) == len(set(found))
    assert set(found) == sparse | {("pca", "dense")}


def test_all_sparse_rows_have_exactly_k_non_zeros(rows):
    assert {row.nonzeros for row in rows if row.method != "pca"} == {K}
    assert next(row for row in rows if row.method == "pca").nonzeros == X.shape[1]


def test_rows_are_ordered_by_variance_and_shares_lie_between_zero_and_one(rows):
    variances = [row.variance for row in rows]
    assert variances == sorted(variances, reverse=True)
    assert all(0 < row.share <= 1 + 1e-9 for row in rows)
    assert all(0 <= row.overlap <= 1 for row in rows)
    assert all(row.seconds >= 0 and row.passes > 0 for row in rows)


def test_of_equal_variances_those_of_refitted_loadings_come_first():
    found = rspca.compare(np.diag([3.0, 2.0, 1.0, 1.0]), 1, methods=["rspca", "maxcomp"], center=False)
    assert [row.variance for row in found] == [9.0] * 4
    assert [row.normalization for row in found] == ["svd", "svd", "naive", "naive"]


def test_the_share_is_of_the_largest_squared_singular_value(rows):
    largest = np.linalg.norm(X - X.mean(0), 2) ** 2
    for row in rows:
        np.testing.assert_allclose(row.share, row.variance / largest)
    assert rows[0].method == "pca"
    np.testing.assert_allclose(rows[0].share, 1.0)


def test_rows_are_what_the_estimator_finds(rows):
    for row in rows:
        if row.method != "pca":
            one = rspca.decompose(X, 1, k=K, method=row.method, normalization=row.normalization, random_state=0)
            np.testing.assert_allclose(row.variance, one.components[0].variance)


def test_refitting_never_loses_and_the_default_never_loses_to_maxcomp(rows):
    variance = {(row.method, row.normalization): row.variance for row in rows}
    for method in rspca.METHODS.keys() - {"pca"}:
        assert variance[method, "svd"] >= variance[method, "naive"] * (1 - 1e-9)
    assert variance["rspca", "svd"] >= variance["maxcomp", "svd"] * (1 - 1e-9)


def test_the_overlap_is_with_the_best_sparse_row(rows):
    sparse = [row for row in rows if row.method != "pca"]
    assert sparse[0].overlap == 1.0
    best = rspca.decompose(X, 1, k=K, method=sparse[0].method, random_state=0).components[0].support
    other = next(row for row in sparse if row.method != sparse[0].method)
    support = rspca.decompose(X, 1, k=K, method=other.method, random_state=0).components[0].support
    assert other.overlap == len(np.intersect1d(best, support)) / K


def test_the_printed_table_has_a_head_and_one_line_a_row(rows):
    head, *lines, proven = str(rows).splitlines()
    assert proven.startswith("proven: ")
    assert head.split() == ["method", "loadings", "non-zeros", "share", "of", "bound", "overlap", "passes", "seconds"]
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        cells = line.split()
        assert cells[:3] == [row.method, row.normalization, str(row.nonzeros)]
        assert float(cells[3]) == pytest.approx(row.share, abs=5e-5)
    assert len({len(line) for line in [head, *lines]}) == 1


def test_each_method_runs_once(monkeypatch):
    calls = []

    def counted(name, find):
        @functools.wraps(find)
        def run(*arguments, **options):
            calls.append(name)
            return find(*arguments, **options)

        return run

    for name, method in list(rspca.METHODS.items()):
        monkeypatch.setitem(rspca.METHODS, name, dataclasses.replace(method, find=counted(name, method.find)))
    compare(X, K)
    assert sorted(calls) == sorted(rspca.METHODS)


def test_a_method_that_refuses_the_size_is_skipped_with_its_reason():
    wide = np.random.default_rng(0).standard_normal((5, 600))
    rows = compare(wide, K, methods=["maxcomp", "dspca", "tpower"])
    assert {row.method for row in rows} == {"maxcomp", "tpower"}
    assert list(rows.skipped) == ["dspca"]
    assert "600 features, at most 500" in rows.skipped["dspca"]
    assert str(rows).splitlines()[-1] == f"dspca: skipped. {rows.skipped['dspca']}"
    assert len(compare(wide, K, methods=["dspca"])) == 0


def test_other_errors_are_not_swallowed():
    with pytest.raises(ValueError, match="no variance"):
        compare(np.ones((5, 4)), 2)


def test_fewer_features_than_k_are_said():
    A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.5]])
    rows = compare(rspca.GramOperator(A), 2, methods=["rspca", "tpower"])
    assert {(row.method, row.nonzeros) for row in rows} == {("rspca", 2), ("tpower", 1)}


def test_a_comparison_can_be_pickled():
    rows = compare(X, K, methods=["maxcomp"])
    again = pickle.loads(pickle.dumps(rows))
    assert again == rows
    assert again.skipped == rows.skipped == {}


def test_a_comparison_can_be_drawn(rows):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from rspca.plotting import ComparisonDisplay

    display = ComparisonDisplay.from_comparison(rows)
    methods = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert sorted(methods) == sorted(rspca.METHODS.keys() - {"pca"})
    share = {(row.method, row.normalization): row.share for row in rows}
    for normalization, points in display.points_.items():
        for x, y in points.get_offsets():
            assert x == share[methods[round(y)], normalization]
    assert ComparisonDisplay.from_comparison(rows, ax=display.ax_).ax_ is display.ax_


def test_methods_can_be_chosen():
    rows = compare(X, K, methods=["maxcomp"])
    assert [row.method for row in rows] == ["maxcomp", "maxcomp"]


def test_sparse_data_scaling_and_covariances_are_taken():
    dense, sparse = compare(X, 3, scale=True), compare(sp.csr_array(X), 3, scale=True)
    Z = (X - X.mean(0)) / X.std(0)
    gram = compare(rspca.GramOperator(Z.T @ Z), 3)
    for other in (sparse, gram):
        np.testing.assert_allclose([row.share for row in other], [row.share for row in dense], rtol=1e-6)


def test_progress_is_told_once_a_row():
    steps = []
    rows = compare(X, K, on_step=steps.append)
    told = [step for step in steps if step.stage != COMPILE]  # told too, where nothing is compiled yet
    assert len(told) == len(rows)
    assert {step.variance for step in told} == {row.variance for row in rows}


def test_the_bound_beside_every_method_is_proven_and_reached_by_none_but_the_best(rows):
    assert rows.certificate.upper >= max(row.variance for row in rows if row.method != "pca")
    for row in rows:
        if row.method == "pca":
            assert row.of_bound is None
        else:
            assert row.of_bound == pytest.approx(row.variance / rows.certificate.upper)
    assert "proven: " in str(rows)


def test_the_bound_can_be_left_out():
    rows = compare(X, K, methods=["rspca", "maxcomp"], certify_seconds=None)
    assert rows.certificate is None
    assert all(row.of_bound is None for row in rows)
    with pytest.raises(ValueError, match="certify_seconds=0"):
        compare(X, K, certify_seconds=0)


def test_k_may_be_a_list_of_one():
    one, two = (rspca.compare(X, k, methods=["rspca"], certify_seconds=None) for k in (K, [K]))
    assert [row.variance for row in one] == [row.variance for row in two]
