"""The longest columns: a search among them finds what a search in all features finds, or is not made."""

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.algorithm import budgets, component
from rspca.algorithm.component import Options, rspca_component
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.longest import longest_that_matter, some_support
from rspca.algorithm.shared_work import SharedWork
from rspca.operators.convert import prepare

M, N = 150, 8000


def unequal_variances(seed=0, m=M, n=N):
    """A few directions that some features share, of lengths that differ by orders of magnitude."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((12, n)) * (rng.random((12, n)) < 0.1)
    return (rng.standard_normal((m, 12)) @ mixing + rng.standard_normal((m, n))) * rng.gamma(0.3, size=n)


def words(seed=1, m=M, n=N):
    """Sparse counts of words whose frequencies fall as in texts; a word of a topic occurs where its topic does."""
    rng = np.random.default_rng(seed)
    topics = rng.random((m, 8)) < 0.2
    rate = (5.0 + 30.0 * topics[:, rng.integers(8, size=n)]) * np.arange(1, n + 1) ** -0.7
    return sp.csr_array(rng.poisson(rate).astype(float))


KINDS = {
    "dense": unequal_variances,
    "float32": lambda: unequal_variances().astype(np.float32),
    "sparse": words,
    "far from zero": lambda: unequal_variances() + 1e6,
}


@pytest.fixture
def found_among_longest(monkeypatch):
    """Note for each component whether it was found among the longest columns."""
    found, original = [], component.component_of_longest

    def noted(*arguments):
        result = original(*arguments)
        found.append(result is not None)
        return result

    monkeypatch.setattr(component, "component_of_longest", noted)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_components_have_as_much_variance_as_those_of_a_search_in_all_features(
    kind, k, found_among_longest, monkeypatch
):
    X = KINDS[kind]()
    some = rspca.decompose(X, 3, k=k, random_state=0)
    assert found_among_longest == [True] * 3
    monkeypatch.setattr(budgets, "LONGEST_FEATURES", 0)
    full = rspca.decompose(X, 3, k=k, random_state=0)
    assert found_among_longest[3:] == [False] * 3
    assert some.components[0].variance >= (1.0 - 1e-9) * full.components[0].variance
    assert some.explained_variance.sum() >= (1.0 - 1e-4) * full.explained_variance.sum()
    for one in some.components:
        assert one.swap_optimal
        assert one.inclusion_probability.shape == (N,)
        assert (one.inclusion_probability[one.support] > 0.0).all()
    assert some.passes < 0.7 * full.passes


def test_no_single_swap_with_any_feature_gains():
    X = unequal_variances(3)
    centered = X - X.mean(axis=0)
    found = rspca.decompose(X, 1, k=4, random_state=0).components[0]
    for leaving in found.support:
        others = np.setdiff1d(found.support, [leaving])
        rest = centered[:, others]
        candidates = np.setdiff1d(np.arange(N), found.support)
        for j in candidates[
            np.argsort(-np.abs(centered[:, candidates].T @ (centered[:, found.support] @ found.loadings)))
        ][:200]:
            columns = np.column_stack([rest, centered[:, j]])
            assert np.linalg.norm(columns, 2) ** 2 <= found.variance * (1.0 + 1e-9)


def test_short_columns_that_are_copies_of_each_other_are_not_missed(found_among_longest):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((M, N)) * np.where(np.arange(N) < 700, 4.0, 0.01)  # long ones, alike in nothing
    X[:, 5000:5010] = 3.0 * rng.standard_normal((M, 1)) + 0.01 * rng.standard_normal((M, 10))
    found = rspca.decompose(X, 1, k=10, random_state=0).components[0]
    np.testing.assert_array_equal(found.support, np.arange(5000, 5010))
    op = prepare(X)
    features = longest_that_matter(op, 10, Choice(np.arange(N)), SharedWork(op))
    assert features is None or np.isin(np.arange(5000, 5010), features).all()


def test_a_short_column_that_belongs_to_a_support_is_not_missed(found_among_longest):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((M, N)) * np.where(np.arange(N) < 600, 3.0, 0.1)
    shared = rng.standard_normal(M)
    X[:, :4] += 4.0 * shared[:, None]
    X[:, 7000] = 1.5 * shared  # shorter than 600 others, and parallel to what four of them share
    found = rspca.decompose(X, 1, k=5, random_state=0).components[0]
    np.testing.assert_array_equal(found.support, [0, 1, 2, 3, 7000])


def test_nothing_is_tried_where_lengths_tell_nothing():
    rng = np.random.default_rng(0)
    alike, unequal, free = rng.standard_normal((M, N)), unequal_variances(), Choice(np.arange(N))

    def longest(X, k, **options):
        op = prepare(X, **options)
        return longest_that_matter(op, k, free, SharedWork(op))

    assert longest(alike, 10) is None
    assert longest(unequal, 10, scale=True) is None
    assert longest(unequal, budgets.POOL_MAX_K + 1) is None
    assert len(longest(unequal, 10)) == budgets.LONGEST_LEAST
    op = prepare(unequal[:, :5000])
    assert longest_that_matter(op, 10, Choice(np.arange(5000)), SharedWork(op)) is None  # all are searched


def test_the_left_out_columns_have_less_variance_together_than_some_support():
    X = unequal_variances(7)
    op = prepare(X)
    for k in (2, 6, 12):
        features = longest_that_matter(op, k, Choice(np.arange(N)), SharedWork(op))
        left_out = np.delete(op.sq_norms, features)
        found = rspca.decompose(X, 1, k=k, random_state=0).components[0]
        assert k * left_out.max() < found.variance
        assert left_out.max() <= op.sq_norms[features].min()


def test_groups_and_features_without_variance_are_heeded(found_among_longest):
    X = unequal_variances(8)
    X[:, np.argsort(-X.var(axis=0))[:50]] = 7.0
    groups = np.arange(N) // 4
    found = rspca.decompose(X, 2, k=6, groups=groups, random_state=0)
    assert any(found_among_longest)
    for one in found.components:
        assert np.bincount(groups[one.support]).max() == 1
        assert X[:, one.support].var(axis=0).min() > 0.0


def test_groups_that_leave_less_variance_than_left_out_columns_may_have_are_not_searched_there(found_among_longest):
    rng = np.random.default_rng(12)
    X = 0.1 * rng.standard_normal((M, N))
    basis = np.linalg.qr(np.column_stack([np.ones(M), rng.standard_normal((M, 10))]))[0][:, 1:] * np.sqrt(M)
    many, single, copies = slice(0, 504), slice(504, 512), slice(5000, 5006)
    X[:, many] += 60.0 * basis[:, :1]  # one of these is allowed
    X[:, single] += 36.0 * basis[:, 1:9] + 6.0 * basis[:, :1]  # no single swap for a left-out column gains
    X[:, copies] += 35.0 * basis[:, 9:]  # shorter, but six of them have more variance together
    free = rspca.decompose(X, 1, k=6, random_state=0).components[0]
    assert free.support.max() < 504
    groups = np.arange(N)
    groups[many] = 0
    found = rspca.decompose(X, 1, k=6, groups=groups, random_state=0).components[0]
    assert found_among_longest == [True, False]
    np.testing.assert_array_equal(found.support, np.arange(5000, 5006))


def test_a_fit_that_continues_after_some_components_finds_the_same():
    X = unequal_variances(9)
    kept = []
    whole = rspca.SparsePCA(4, k=6, random_state=0).fit(X, on_component=kept.append)
    for count in (1, 3):
        again = rspca.SparsePCA(4, k=6, random_state=0).fit(X, earlier=kept[:count])
        np.testing.assert_array_equal(again.components_, whole.components_)


def test_naive_loadings_are_those_of_the_search():
    op = prepare(unequal_variances(10))
    found = rspca_component(
        op, 5, lambda *_: None, options=Options(), normalization="naive", rng=np.random.default_rng(0)
    )
    exact = np.linalg.svd(op.columns(found.support), full_matrices=False)[2][0]
    np.testing.assert_allclose(found.loadings, exact * np.sign(exact[np.abs(exact).argmax()]), rtol=1e-8)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_some_support_has_the_variance_that_it_states(k):
    X = unequal_variances(11, n=40)
    A = X.T @ X
    places, variance = some_support(A, k)
    assert places.tolist() == sorted(set(places.tolist()))
    assert len(places) == k
    assert np.linalg.eigvalsh(A[np.ix_(places, places)])[-1] == pytest.approx(variance)
