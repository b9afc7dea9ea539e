"""Limits on how many features one group gives: exact for top-k, kept by every step, and a word without them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rspca
import rspca.genetics.linkage
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.formats import write_plink

seeds = st.integers(0, 2**32 - 1)


def most_used(support, labels):
    return max(np.unique(np.asarray(labels)[support], return_counts=True)[1])


def test_of_some_features_those_are_allowed_that_may_be_chosen():
    choice = Choice(np.array([0, 2]))
    assert choice.allowed(np.array([0, 1, 2, 5])).tolist() == [0, 2]
    assert choice.among(np.array([1, 2, 5])).features.tolist() == [1]


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 3), seeds)
def test_the_largest_within_limits_have_the_largest_sum_of_all_choices(n, n_groups, most, seed):
    rng = np.random.default_rng(seed)
    values, labels = rng.integers(-5, 6, n).astype(float), rng.integers(0, n_groups, n)
    features = np.flatnonzero(rng.random(n) < 0.8)
    choice = Choice(features, Groups(labels, most))
    assert choice.most == sum(min(most, np.count_nonzero(labels[features] == g)) for g in range(n_groups))
    for k in range(1, choice.most + 1):
        chosen = choice.largest(values, k)
        allowed = [
            s for s in itertools.combinations(features.tolist(), k) if most_used(list(s), labels) <= most
        ]  # fmt: skip
        assert tuple(chosen.tolist()) in allowed
        assert np.abs(values[chosen]).sum() == max(np.abs(values[list(s)]).sum() for s in allowed)


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 3), st.integers(1, 6), st.integers(0, 10**6))
def test_the_largest_of_each_row_are_those_of_each_row_alone(n, n_groups, most, k, seed):
    rng = np.random.default_rng(seed)
    features = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
    for groups in (None, Groups(rng.integers(n_groups, size=n), most)):
        choice = Choice(features, groups)
        wanted = min(k, choice.most)
        for values in (rng.integers(-4, 5, (5, n)).astype(float), rng.standard_normal((5, n))):
            expected = [choice.largest(row, wanted).tolist() for row in values]
            assert choice.largest_in_rows(values, wanted).tolist() == expected
            mask = choice.largest_in_columns(values.T, wanted)
            assert [np.flatnonzero(column).tolist() for column in mask.T] == expected


def best_within(A, k, labels, most):
    allowed = (list(s) for s in itertools.combinations(range(len(A)), k) if most_used(list(s), labels) <= most)
    return max(np.linalg.eigvalsh(A[np.ix_(s, s)])[-1] for s in allowed)


@pytest.mark.parametrize("most", [1, 2])
def test_a_component_within_limits_is_the_best_there_is_on_small_problems(most):
    for seed in range(6):
        X = np.random.default_rng(seed).standard_normal((12, 10))
        labels = np.array(list("aabbccddee"))
        op = rspca.GramOperator(X.T @ X)
        found = rspca.decompose(op, 1, k=4, groups=labels, max_per_group=most, random_state=0).components[0]
        assert most_used(found.support, labels) <= most
        assert found.variance == pytest.approx(best_within(X.T @ X, 4, labels, most))


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize(("shape", "most", "k"), [((60, 200), 1, 30), ((60, 200), 2, 70), ((220, 5000), 1, 70)])
def test_every_component_keeps_to_the_limits_and_has_k_features(shape, most, k, polish):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((shape[0], shape[1] // 5)), 5, axis=1) + 0.1 * rng.standard_normal(shape)
    labels = np.arange(shape[1]) // 5
    found = rspca.decompose(X, 2, k=k, groups=labels, max_per_group=most, polish=polish, random_state=0)
    for component in found.components:
        assert len(component.support) == k
        assert most_used(component.support, labels) <= most


def test_limits_that_do_not_bind_change_nothing():
    X = np.random.default_rng(0).standard_normal((40, 60))
    free = rspca.decompose(X, 2, k=7, random_state=0)
    limited = rspca.decompose(X, 2, k=7, groups=np.arange(60), random_state=0)
    np.testing.assert_array_equal(limited.loadings, free.loadings)


def test_words_and_genes_are_groups_too():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((50, 6)), 3, axis=1) + 0.01 * rng.standard_normal((50, 18))
    genes = np.repeat(["BRCA1", "TP53", "EGFR", "MYC", "KRAS", "PTEN"], 3)
    model = rspca.SparsePCA(1, k=4, groups=genes, random_state=0).fit(X)
    assert len(set(genes[model.supports_[0]])) == 4


@pytest.mark.parametrize("nothing", [None, np.nan, ""])
def test_features_without_a_label_are_not_limited(nothing):
    X = np.random.default_rng(0).standard_normal((50, 20))
    X[:, :12] *= 10.0
    free = rspca.decompose(X, 1, k=8, random_state=0).components[0].support
    labels = [nothing] * 12 + [1.0, 2.0] * 4
    np.testing.assert_array_equal(rspca.decompose(X, 1, k=8, groups=labels, random_state=0).components[0].support, free)
    limited = rspca.decompose(X, 1, k=14, groups=labels, random_state=0).components[0].support
    assert limited.tolist() == [*range(12), *limited[12:]]
    assert most_used(limited[12:], labels) == 1
    mixed = rspca.decompose(X, 1, k=8, groups=[3, "3", *"abcdefghijklmnopqr"], random_state=0).components[0].support
    assert not {0, 1} <= set(mixed.tolist())  # a name and a number that are written alike are one label


@pytest.fixture
def linked(tmp_path):
    pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")
    X = np.repeat(rspca.datasets.make_genotypes(100, 100, 3)[0], 6, axis=1)
    changed = np.random.default_rng(0).random(X.shape) < 0.02
    X[changed] = 2 - X[changed]
    write_plink(tmp_path / "x.bed", X)
    return rspca.read(tmp_path / "x.bed")


def test_linked_snps_clump_and_the_fit_says_so(linked):
    with pytest.warns(UserWarning, match=r"strongly correlated .*groups="):
        rspca.SparsePCA(1, k=20, scale="patterson", random_state=0).fit(linked)


def test_windows_of_base_pairs_keep_snps_apart(linked, recwarn, tmp_path):
    model = rspca.SparsePCA(1, k=20, scale="patterson", groups=20_000, random_state=0).fit(linked)
    window = linked.features["position"][model.supports_[0]] // 20_000
    assert len(set(window.tolist())) == 20
    assert not [one for one in recwarn if "correlated" in str(one.message)]
    model.save(tmp_path / "model.npz")
    assert rspca.load(tmp_path / "model.npz").groups == 20_000


def test_windows_of_two_chromosomes_are_different_groups():
    from rspca.algorithm.feature_limits import windows

    features = {"chromosome": np.array(["1", "1", "2", "2"]), "position": np.array([10, 99, 10, 150])}
    assert len(np.unique(windows(100, features))) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": np.zeros(3)}, r"one label for each of the 10 features"),
        ({"groups": 1000}, "needs positions"),
        ({"groups": np.zeros(10), "k": 3}, r"the groups give 1 at most"),
        ({"groups": np.arange(10), "max_per_group": 0}, "max_per_group"),
        ({"groups": np.arange(10), "rounding": "bernoulli"}, "know no groups"),
        ({"groups": np.arange(10), "method": "tpower"}, "know no groups"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        rspca.decompose(np.random.default_rng(0).standard_normal((12, 10)), 1, **{"k": 2} | options)


@pytest.mark.parametrize("size", [1.0, 1e100])
def test_of_preferred_features_in_one_group_the_larger_stays_whatever_the_unit_of_the_others(size):
    choice = Choice(np.arange(4), Groups(np.array([0, 0, 1, 1]), 1))
    x, values = np.array([0.3, 0.6, 0.0, 0.0]), size * np.array([9.0, 1.0, 2.0, 3.0])
    assert choice.completed(np.array([0, 1]), x, values, 2).tolist() == [1, 3]
    assert choice.completed(np.array([0, 1]), x, values, 1).tolist() == [1]


def test_windows_are_those_of_one_chromosome_also_before_its_first_base():
    features = {"chromosome": np.array(["1", "1", "2"]), "position": np.array([990_000, 5_000, -5])}
    labels = rspca.algorithm.feature_limits.windows(10_000, features)
    assert len(set(labels.tolist())) == 3
