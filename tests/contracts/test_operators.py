"""Every operator is the matrix it stands for: one list of operators, one contract."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from support.operators import (
    OPERATORS,
    SUPPORT,
    WRAPPERS,
    FiveMembers,
    M,
    N,
    RowSlices,
    assert_agrees,
    centered,
    deflated,
    floats,
    in_parts,
    projected,
    scaled,
    score_deflated,
    standardized_and_score_deflated,
    stated,
    unit,
    weighted,
    weighted_and_centered,
)

import rspca
from rspca.algorithm.promising import pool_size
from rspca.operators import Centered, GramOperator, Scaled

# What may be put round an operator: (operator, matrix) -> (operator, matrix).


def an_operator_can_be_centered_and_scaled_whatever_it_is(op, X):
    ones = op.intercept  # roots of weights where samples have them
    Z = (X - np.outer(ones, ones @ X / (ones @ ones))) * 0.5
    standardized = Scaled(Centered(op), np.full(X.shape[1], 0.5))
    V = np.random.default_rng(3).standard_normal((X.shape[1], 2))
    close = {"rtol": 3e-5, "atol": 3e-3} if op.dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(standardized.matmat(V), Z @ V, **close)
    np.testing.assert_allclose(standardized.gram(V), Z.T @ (Z @ V), **close)
    np.testing.assert_allclose(standardized.gram(V[:, 0]), Z.T @ (Z @ V[:, 0]), **close)
    np.testing.assert_allclose(standardized.column_sq_norms(), np.sum(Z**2, axis=0), **close)


def a_shift_of_the_scores_or_columns_is_what_a_wrapper_that_centers_needs(op, X):
    V, shift = np.random.default_rng(4).standard_normal((X.shape[1], 2)), np.array([0.7, -1.3])
    close = {"rtol": 3e-5, "atol": 3e-3} if op.dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-10}
    ones = op.intercept
    np.testing.assert_allclose(op.gram_and_scores(V, shift)[0], X.T @ (X @ V - np.outer(ones, shift)), **close)
    np.testing.assert_allclose(op.gram_and_scores(V[:, 0], 0.7)[0], X.T @ (X @ V[:, 0] - 0.7 * ones), **close)
    means = np.linspace(-1.0, 1.0, X.shape[1])
    np.testing.assert_allclose(op.column_sq_norms(means), np.sum((X - np.outer(ones, means)) ** 2, axis=0), **close)


def the_gram_matrix_of_many_features_is_that_of_the_data_however_it_is_made(op, X):
    Z = np.asarray(X, dtype=float)
    tolerance = {"rtol": 1e-4, "atol": 1e-3} if op.dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rspca.operators.gram_products.GRAM_COLUMNS_BYTES", 8 * op.shape[0] * 2)  # two at a time
        for share in (0.0, 1.0):
            patch.setattr("rspca.operators.sparse_gram.SPARSE_PRODUCT_SHARE", share)
            for support in (np.arange(op.shape[1]), np.arange(1, op.shape[1], 2)):
                made = op.gram_matrix(support)
                assert made.dtype == np.float64
                np.testing.assert_allclose(made, Z[:, support].T @ Z[:, support], **tolerance)


OF_ALL = (assert_agrees, the_gram_matrix_of_many_features_is_that_of_the_data_however_it_is_made)
OF_SAMPLES = (
    an_operator_can_be_centered_and_scaled_whatever_it_is,
    a_shift_of_the_scores_or_columns_is_what_a_wrapper_that_centers_needs,
)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_the_matrix_it_stands_for_in_products_wrappers_and_gram_matrices(name, tmp_path):
    """All statements of an operator in one test: a test takes longer to be reported than a statement to be checked."""
    statements = OF_ALL if name.startswith("gram") else OF_ALL + OF_SAMPLES
    for statement, op, X in stated(statements, name, tmp_path):
        statement(op, X)


# --- passes ---------------------------------------------------------------------------------------------------------


def cost(op, call):
    before = op.passes
    call()
    return op.passes - before


@pytest.mark.parametrize(
    ("kind", "passes"),
    [
        ("dense", 1), ("float32", 1), ("int8", 1), ("memmap", 1), ("streamed", 1), ("streamed sparse", 1),
        ("dense in Fortran order", 2), ("five members", 2),
    ],
)  # fmt: skip
def test_a_gram_product_of_large_data_is_one_pass_where_rows_are_contiguous(kind, passes, tmp_path, monkeypatch):
    monkeypatch.setattr("rspca.operators.in_memory.CACHE_BYTES", 8 * N)
    op, _ = OPERATORS[kind](tmp_path)
    for block in (np.ones(N), np.ones((N, 3))):
        assert cost(op, lambda block=block: op.matmat(block)) == 1.0
        assert cost(op, lambda block=block: op.gram(block)) == passes
    assert cost(op, lambda: op.rmatmat(np.ones(M))) == 1.0


@pytest.mark.parametrize("kind", ["dense", "dense in Fortran order", "csr_array", "csc_array"])
def test_a_gram_product_of_data_that_fit_the_cache_is_one_pass(kind, tmp_path):
    op, _ = OPERATORS[kind](tmp_path)
    assert cost(op, lambda: op.gram(np.ones(N))) == 1.0


@pytest.mark.parametrize("nonzeros", [0, 1, 2, 40])
@pytest.mark.parametrize("cache", [8, 2**24])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_gram_product_with_few_nonzeros_reads_few_columns_and_is_the_same(order, dtype, cache, nonzeros, monkeypatch):
    monkeypatch.setattr("rspca.operators.in_memory.CACHE_BYTES", cache)
    monkeypatch.setattr("rspca.operators.dense.GATHER_MIN_ENTRIES", 0)
    rng = np.random.default_rng(nonzeros)
    X = np.asarray(rng.integers(-9, 9, (30, 100)), dtype=dtype, order=order)
    v = np.zeros(100)
    v[rng.choice(100, nonzeros, replace=False)] = rng.integers(1, 9, nonzeros)
    op = rspca.as_operator(X)
    image, scores = op.gram_and_scores(v, 3.0)
    np.testing.assert_array_equal(scores, X @ v - 3.0)  # whole numbers: no rounding hides a mistake
    np.testing.assert_array_equal(image, X.astype(float).T @ (X @ v - 3.0))
    if nonzeros <= 2 and dtype is not np.int8:
        assert op.passes <= 1.0 + (2 if order == "C" else 1) * nonzeros / 100  # from rows they are first copied


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_with_nearly_the_same_few_nonzeros_read_only_new_columns(order, monkeypatch):
    monkeypatch.setattr("rspca.operators.dense.GATHER_MIN_ENTRIES", 0)
    rng = np.random.default_rng(5)
    X = np.asarray(rng.integers(-9, 9, (30, 1000)).astype(float), order=order)
    op, v = rspca.as_operator(X), np.zeros(1000)
    v[100:140] = 1.0
    op.gram(v)
    v[100], v[500] = 0.0, 1.0
    again = cost(op, lambda: np.testing.assert_array_equal(op.gram(v), X.T @ (X @ v)))
    assert again == pytest.approx(1.0 + 0.04 + (0.001 if order == "C" else 0.0))


@pytest.mark.parametrize("cache", [8, 2**24])
@pytest.mark.parametrize("kind", ["dense", "csr_array", "csr_array float32", "five members", "streamed"])
def test_the_scores_of_the_columns_last_restricted_to_cost_no_read_of_the_data(kind, cache, tmp_path, monkeypatch):
    monkeypatch.setattr("rspca.operators.in_memory.CACHE_BYTES", cache)
    op, X = OPERATORS[kind](tmp_path)
    loadings = np.linspace(1.0, 2.0, len(SUPPORT))
    op.restrict(SUPPORT)
    assert cost(op, lambda: op.restrict(SUPPORT.copy())) == 0
    again = cost(op, lambda: op.scores(SUPPORT, loadings))
    assert again <= len(SUPPORT) / N
    np.testing.assert_allclose(op.scores(SUPPORT, loadings), X[:, SUPPORT] @ loadings, rtol=1e-6)
    others = np.setdiff1d(np.arange(N), SUPPORT)[: len(SUPPORT)]
    np.testing.assert_allclose(op.scores(others, loadings), X[:, others] @ loadings, rtol=1e-6)
    np.testing.assert_allclose(op.restrict(others).columns(np.arange(len(others))), X[:, others], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_of_a_support_that_differs_little_from_the_last_only_new_columns_are_read(order, dtype, monkeypatch):
    monkeypatch.setattr("rspca.operators.dense.GATHER_MIN_ENTRIES", 0)
    rng = np.random.default_rng(3)
    X = np.asarray(rng.integers(-9, 9, (30, 200)), dtype=dtype, order=order)
    op = rspca.as_operator(X)

    def check(support, read):
        assert cost(op, lambda: op.restrict(support)) == pytest.approx(read / 200)
        np.testing.assert_array_equal(op.restrict(support).columns(np.arange(len(support))), X[:, support])

    first = np.sort(rng.choice(190, 20, replace=False))
    check(first, 20)
    check(np.append(first[2:], [195, 199]), 2)
    check(np.append(first[2:], [195]), 0)  # fewer: all of them are there
    check(first, 2)
    check(np.append(first[::-1][:15], [191, 192]), 2)  # in another order
    np.testing.assert_array_equal(op.restrict(first).columns(np.arange(20)), X[:, first])  # and after another order
    others = np.setdiff1d(np.arange(190), first)[:21]
    check(others, 21)
    check(np.append(others[1:], 199), 21)  # more than a tenth of all: two copies would be too many


def test_data_in_parts_are_not_changed():
    X = in_parts(sp.csr_array)
    before = X.data.copy(), X.indices.copy()
    rspca.certify(X, 2)
    np.testing.assert_array_equal(X.data, before[0])
    np.testing.assert_array_equal(X.indices, before[1])


@pytest.mark.parametrize("kind", ["dense", "dense in Fortran order", "int8", "csr_array"])
def test_columns_that_are_not_there_are_an_error(kind, tmp_path):
    op, X = OPERATORS[kind](tmp_path)
    with pytest.raises(IndexError):
        op.columns(np.array([0, N]))
    np.testing.assert_allclose(op.columns(np.array([-1, 0])), X[:, [-1, 0]])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("unit", [1e-25, 1e-22, 1e18, 1e25])
def test_single_columns_may_leave_the_range_of_single_precision_squared(unit, order):
    X = np.asarray(floats(), order=order)
    X[:, 4] = 0.0
    units = np.where(np.arange(N) % 3 == 0, unit, 1.0)
    op = rspca.as_operator(np.asarray(X * units, dtype=np.float32, order=order))
    np.testing.assert_allclose(op.column_sq_norms(), np.sum((X * units) ** 2, axis=0), rtol=1e-5)
    np.testing.assert_allclose(op.column_sums(), np.sum(X * units, axis=0), rtol=1e-3, atol=1e-5)
    scaled = rspca.SparsePCA(1, k=3, scale=True, random_state=0).fit((X * units).astype(np.float32))
    wanted = rspca.SparsePCA(1, k=3, scale=True, random_state=0).fit(X)
    np.testing.assert_allclose(scaled.scale_, wanted.scale_ * np.where(np.arange(N) == 4, 1.0, units), rtol=1e-4)
    np.testing.assert_allclose(scaled.explained_variance_ratio_, wanted.explained_variance_ratio_, rtol=1e-4)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_columns_too_long_for_single_precision_are_refused(make):
    X = floats()
    with pytest.raises(ValueError, match=r"norm above 1e\+35, too long for float32"):
        rspca.decompose(make((X * 1e37).astype(np.float32)), 1, k=3)
    long = rspca.decompose(make((X * 3e33).astype(np.float32)), 1, k=3, random_state=0)
    np.testing.assert_array_equal(
        long.components[0].support, rspca.decompose(X, 1, k=3, random_state=0).components[0].support
    )


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array, FiveMembers, "streamed"])
@pytest.mark.parametrize(("dtype", "mean"), [(np.float32, 1e6), (np.float64, 1e15)])
def test_columns_far_from_zero_give_the_components_of_the_same_data_near_zero(make, dtype, mean):  # issue 14, item 1
    rng = np.random.default_rng(0)
    near = np.round(4.0 * rng.standard_normal((500, 12)) * np.linspace(0.3, 3.0, 12)) * (np.arange(12) > 2)
    X = (near + np.where(np.arange(12) % 2, mean, 0.0)).astype(dtype)
    np.testing.assert_array_equal((X - X[0]).astype(float), near - near[0])  # nothing was lost by moving them
    given = rspca.as_operator(X, max_memory="1MB") if make == "streamed" else make(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in (False, True):
            found = rspca.decompose(given, 2, k=3, scale=scale, random_state=0)
            expected = rspca.decompose(near, 2, k=3, scale=scale, random_state=0)
            for component, right in zip(found.components, expected.components, strict=True):
                np.testing.assert_array_equal(component.support, right.support)
                assert component.variance == pytest.approx(right.variance, rel=1e-5 if dtype == np.float32 else 1e-9)
            np.testing.assert_allclose(found.mean, X.astype(np.longdouble).mean(axis=0).astype(float), rtol=1e-14)


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csr_array float32"])
def test_columns_of_rows_that_are_too_many_to_reorder_are_the_same(kind, tmp_path, monkeypatch):
    op, _ = OPERATORS[kind](tmp_path)
    expected = op.columns(SUPPORT)
    monkeypatch.setattr("rspca.operators.in_memory.CACHE_BYTES", 8)
    large, _ = OPERATORS[kind](tmp_path)
    assert large._by_column.format == "csr"
    np.testing.assert_array_equal(large.columns(SUPPORT), expected)


@pytest.mark.parametrize("kind", ["dense", "csr_array", "five members", "int8", "packed"])
def test_reading_some_columns_counts_their_share(kind, tmp_path):
    op, _ = OPERATORS[kind](tmp_path)
    share = len(SUPPORT) / N
    assert cost(op, lambda: op.columns(SUPPORT)) == pytest.approx(share)
    part = op.restrict(SUPPORT)
    assert cost(op, lambda: part.matmat(np.ones(len(SUPPORT)))) == pytest.approx(share)
    assert cost(op, lambda: part.rmatmat(np.ones(M))) == pytest.approx(share)


@pytest.mark.parametrize("kind", ["dense", "csr_array", "five members", "int8", "packed"])
def test_restricting_twice_counts_the_share_of_all_columns(kind, tmp_path):
    op, _ = OPERATORS[kind](tmp_path)
    part = op.restrict(SUPPORT).restrict(np.array([0]))
    assert cost(op, lambda: part.matmat(np.ones(1))) == pytest.approx(1 / N)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_counts_the_passes_of_the_data_inside(wrapper):
    inner = rspca.as_operator(floats())
    op, _ = wrapper(inner, floats())
    assert cost(inner, lambda: op.matmat(np.ones(N))) == 1.0
    assert op.passes == inner.passes > 0


@pytest.mark.parametrize(
    "wrapper",
    [
        centered,
        scaled,
        deflated,
        score_deflated,
        standardized_and_score_deflated,
        weighted,
        weighted_and_centered,
        projected,
    ],
)
def test_wrapping_keeps_a_gram_product_at_one_pass(wrapper):
    op, _ = wrapper(rspca.as_operator(floats()), floats())
    assert cost(op, lambda: op.gram(np.ones((N, 2)))) == 1.0


def test_a_decomposition_reports_the_passes_it_took():
    op = rspca.as_operator(floats())
    found = rspca.decompose(op, 2, k=3, random_state=0)
    assert 0 < found.passes <= op.passes
    assert sum(c.passes for c in found.components) <= found.passes


# --- centering, and what must not be copied or made dense -----------------------------------------------------------


def test_centering_what_is_centered_changes_nothing():
    X = floats()
    once = Centered(rspca.as_operator(X))
    twice = Centered(once)
    np.testing.assert_allclose(twice.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(twice.columns(np.arange(N)), once.columns(np.arange(N)))
    by_user, by_us = rspca.decompose(once, 1, k=3, random_state=0), rspca.decompose(X, 1, k=3, random_state=0)
    np.testing.assert_allclose(by_user.loadings, by_us.loadings, rtol=0, atol=1e-14)
    np.testing.assert_allclose(by_user.mean, by_us.mean, rtol=1e-14)


def planted(m, n, dtype=float, seed=0):
    """Small counts, with six columns that move together, and another six that do so more weakly."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (m, n), dtype=np.int8)
    X[:, 10:16] += 4 * rng.integers(0, 2, (m, 1), dtype=np.int8)
    X[:, 20:26] += 3 * rng.integers(0, 2, (m, 1), dtype=np.int8)
    return X.astype(dtype, copy=False)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
def test_sparse_data_are_never_made_dense(kind, monkeypatch):
    m, n, k = 1003, 1000, 6
    rng = np.random.default_rng(0)
    X = np.where(rng.random((m, n)) < 0.05, rng.random((m, n)), 0.0)
    X[:, 10:16] += 3.0 * (rng.random((m, 1)) < 0.2)
    X[:, 20:26] += 2.0 * (rng.random((m, 1)) < 0.2)
    X = kind(X)
    expected = rspca.decompose(X.toarray(), 2, k=k, scale=True, random_state=0)

    def forbidden(self, *args, **options):
        raise AssertionError(f"a whole sparse matrix {self.shape} was made dense")

    def few_columns_only(plain):
        def guarded(self, *args, **options):
            gram = m not in self.shape  # X'X, which is dense
            return plain(self, *args, **options) if gram or self.shape[1] <= n // 4 else forbidden(self)

        return guarded

    for one in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix):
        monkeypatch.setattr(one, "toarray", few_columns_only(one.toarray))
        monkeypatch.setattr(one, "todense", forbidden)
        monkeypatch.setattr(one, "__array__", forbidden, raising=False)
    with pytest.raises(AssertionError, match="made dense"):
        X.toarray()
    found = rspca.decompose(X, 2, k=k, scale=True, random_state=0)
    rspca.relax(X, k)
    rspca.explained_variance(X, found.loadings, "pca_share")
    np.testing.assert_allclose(found.explained_variance, expected.explained_variance, rtol=1e-6)


def test_a_sparse_matrix_that_would_be_160_gigabytes_dense_is_decomposed():
    m, n, k = 200_000, 100_000, 4
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, m, 20_000), rng.integers(0, n, 20_000)
    chosen = rng.choice(m, 300, replace=False)
    members = np.array([5, 777, 31_000, 99_999])
    rows = np.concatenate([rows, np.repeat(chosen, k)])
    columns = np.concatenate([columns, np.tile(members, 300)])
    X = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(m, n)).tocsr()
    component = rspca.decompose(X, 1, k=k, random_state=0).components[0]
    np.testing.assert_array_equal(component.support, members)


def peak_of(call):
    rspca.decompose(floats(), 2, k=3)  # what is imported on first use is not what is measured
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.int8, np.bool_])
def test_integer_data_never_exist_as_a_whole_in_floating_point(dtype, order):
    m, n = 2500, 3000
    X = np.asarray(planted(m, n) > 1 if dtype is np.bool_ else planted(m, n), dtype=dtype, order=order)
    found = []
    peak = peak_of(lambda: found.append(rspca.decompose(X, 2, k=6, scale=True, random_state=0)))
    assert peak < 0.5 * m * n * 8 + 2 * 8 * pool_size(m, n) ** 2  # a sum of Gram matrices, and its next term
    chosen = sorted(c.support.tolist() for c in found[0].components)
    assert chosen == [list(range(10, 16)), list(range(20, 26))]


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_mapped_data_are_never_read_into_memory_as_a_whole(dtype, tmp_path):
    m, n = 2500, 3000
    planted(m, n, dtype).tofile(tmp_path / "X.bin")
    X = np.memmap(tmp_path / "X.bin", dtype=dtype, mode="r", shape=(m, n))
    found = []
    peak = peak_of(lambda: found.append(rspca.decompose(X, 2, k=6, scale=True, random_state=0)))
    assert peak < 0.5 * m * n * 8 + 2 * 8 * pool_size(m, n) ** 2  # a sum of Gram matrices, and its next term
    np.testing.assert_array_equal(found[0].components[0].support, np.arange(10, 16))


def test_float32_data_are_not_copied_to_float64():
    m, n = 2500, 3000
    X = planted(m, n, np.float32)
    assert peak_of(lambda: rspca.decompose(X, 2, k=6, random_state=0)) < 0.5 * X.nbytes * 2


@pytest.mark.parametrize("kind", [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_long_columns_of_float32_data_lose_nothing_in_their_sums(kind):
    # One float32 after another, a sum of a million such numbers would be off by 1e-4.
    X = 1.0 + np.random.default_rng(0).random((1_000_000, 2), dtype=np.float32)
    exact = X.astype(np.float64)
    op = Centered(rspca.as_operator(kind(X)))
    np.testing.assert_allclose(op.mean, exact.mean(axis=0), rtol=5e-6)
    np.testing.assert_allclose(op.column_sq_norms(), np.sum((exact - exact.mean(axis=0)) ** 2, axis=0), rtol=5e-6)


def test_what_is_not_a_matrix_of_numbers_is_refused():
    with pytest.raises(ValueError, match=r"1 dimension.*Reshape"):
        rspca.as_operator(np.ones(3))
    with pytest.raises(TypeError, match="real numbers"):
        rspca.as_operator(np.ones((2, 2), dtype=complex))
    with pytest.raises(TypeError, match="real numbers"):
        rspca.as_operator(np.array([["a", "b"]]))


# --- the Gram matrix ------------------------------------------------------------------------------------------------


def test_a_gram_operator_has_the_given_matrix_as_its_gram_matrix():
    A = rspca.datasets.load_pitprops()
    op = GramOperator(A)
    np.testing.assert_allclose(op.gram(np.eye(13)), A, atol=1e-12)
    np.testing.assert_allclose(op.matmat(np.eye(13)).T @ op.matmat(np.eye(13)), A, atol=1e-12)
    assert cost(op, lambda: op.gram(np.ones(13))) == 1.0
    assert not op.has_samples


def test_a_gram_operator_takes_eigenvalues_that_are_negative_by_rounding_as_zero():
    x = unit(9, 1)
    A = np.outer(x, x) - 1e-12 * np.eye(9)
    assert np.linalg.eigvalsh(A)[0] < 0
    op = GramOperator(A)
    np.testing.assert_allclose(op.gram(np.eye(9)), A, atol=1e-11)
    assert np.linalg.eigvalsh(op.gram_block(np.arange(9)))[0] > -1e-16
    assert op.sq_norms.min() >= 0.0
    assert np.isfinite(op.matmat(np.eye(9))).all()


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.diag([1.0, -1e-3]), "positive semidefinite.*-0.001"),
        (-np.eye(2), "positive semidefinite"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "not symmetric"),
        (np.ones((2, 3)), r"square"),
        (np.ones(4), r"square"),
        (np.empty((0, 0)), r"square"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
        (np.array([[np.inf, 0.0], [0.0, 1.0]]), "infinite"),
    ],
)
def test_a_matrix_that_is_no_gram_matrix_is_refused(A, message):
    with pytest.raises(ValueError, match=message):
        GramOperator(A)


def test_a_gram_operator_leaves_the_matrix_that_was_given_alone():
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    op = GramOperator(A)
    A[:] = 0.0
    np.testing.assert_allclose(op.gram(np.eye(2)), [[2.0, 1.0], [1.0, 2.0]])


def test_a_gram_matrix_is_neither_centered_nor_scaled():
    A = rspca.datasets.load_pitprops() + 1.0
    given = rspca.decompose(GramOperator(A), 1, k=13, random_state=0).components[0].variance
    assert given == pytest.approx(np.linalg.eigvalsh(A)[-1])
    with pytest.raises(ValueError, match="taken as given"):
        rspca.decompose(GramOperator(A), 1, k=3, scale=True)
    with pytest.raises(ValueError, match="no samples"):
        Centered(GramOperator(A), np.ones(13)).gram(np.ones(13))


@pytest.mark.parametrize("mean", [10.0, 300.0, 1e4, 1e5])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, RowSlices], ids=["dense", "csr", "streamed"])
def test_centering_single_precision_data_far_from_zero_keeps_the_gram_product(kind, mean):
    # The rounding of the scores does not sum to zero; times the mean it was larger than the product (7 times at 1e4).
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((3000, 5)) + mean).astype(np.float32)
    Z = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    for V in (unit(5, 1), np.eye(5)):
        exact = Z.T @ (Z @ V)
        error = np.abs(Centered(rspca.as_operator(kind(X))).gram(V) - exact).max() / np.abs(exact).max()
        assert error <= 4.0 * np.finfo(np.float32).eps * mean


def test_an_operator_that_can_be_indexed_is_still_an_operator():
    # It was taken for data to stream, because it has row slices, and its items were taken for rows.
    class Indexed(FiveMembers):
        def __getitem__(self, part):
            raise AssertionError("products are what an operator is asked for")

    assert_agrees(rspca.as_operator(Indexed(floats())), floats())
