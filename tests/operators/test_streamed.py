"""Streaming: blocks no larger than asked for, one read per product, reading while computing, files cut off."""

import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.operators import streamed
from rspca.operators.stored_rows import StoredRows
from rspca.operators.streamed import BlockOperator, memory_size


class Watched:
    """Rows by slices, with a record of who asked for which."""

    def __init__(self, X):
        self.X, self.reads, self.threads = X, [], set()
        self.told = threading.Condition()

    shape = property(lambda self: self.X.shape)
    dtype = property(lambda self: self.X.dtype)

    def __getitem__(self, part):
        self.threads.add(threading.get_ident())
        with self.told:
            self.reads.append(part.stop - part.start)
            self.told.notify()
        return self.X[part]


def data(m=2000, n=300, dtype=np.int8):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (m, n)).astype(dtype)
    X[:, 10:16] += (4 * rng.integers(0, 2, (m, 1))).astype(dtype)
    X[:, 20:26] += (3 * rng.integers(0, 2, (m, 1))).astype(dtype)
    return X


def test_blocks_fit_the_memory_that_was_given():
    source = Watched(data())
    op = rspca.as_operator(source, max_memory="1.2MB")
    op.gram(np.ones(300))
    assert sum(source.reads) == 2000
    assert max(source.reads) * 300 * 8 <= 1.2e6 / streamed.BLOCKS_IN_MEMORY
    assert op.passes == 1.0


def test_the_next_block_is_read_by_another_thread_while_this_one_is_multiplied():
    source = Watched(data())
    for number, (part, _) in enumerate(BlockOperator(source, "1MB")._stream()):
        with source.told:  # this block stays here, as if it were multiplied, until the one after it has been read
            read_ahead = part.stop == 2000 or source.told.wait_for(lambda: len(source.reads) > number + 1, timeout=60)  # noqa: B023
        assert read_ahead
    assert number > 10
    assert threading.get_ident() not in source.threads


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_a_streamed_file_gives_the_components_of_the_array(dtype, tmp_path):
    X = data(4000, dtype=dtype)  # large enough to be climbed on a sketch, as all that needs streaming is
    np.save(tmp_path / "x.npy", X)
    op = rspca.as_operator(np.load(tmp_path / "x.npy", mmap_mode="r"), max_memory="2MB")
    found = rspca.decompose(op, 2, k=70, random_state=0)
    expected = rspca.decompose(X, 2, k=70, random_state=0)
    for one, two in zip(found.components, expected.components, strict=True):
        np.testing.assert_array_equal(one.support, two.support)
        np.testing.assert_allclose(one.loadings, two.loadings, atol=1e-5)


def test_a_slice_of_a_mapped_file_is_read_from_where_it_starts(tmp_path):
    X = data(dtype=np.float64)
    np.save(tmp_path / "x.npy", X)
    whole = np.load(tmp_path / "x.npy", mmap_mode="r")
    for part in (whole[100:900], whole[:, 5:20], whole[::2]):
        op = rspca.as_operator(part, max_memory="1MB")
        np.testing.assert_allclose(op.matmat(np.ones(part.shape[1])), np.asarray(part).sum(axis=1))


def test_large_mapped_files_are_streamed_without_being_asked(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", data())
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert not isinstance(rspca.as_operator(X), BlockOperator)
    monkeypatch.setattr(streamed, "_machine_memory", lambda: X.nbytes)
    assert isinstance(rspca.as_operator(X), BlockOperator)


def test_columns_that_were_read_are_kept_for_the_next_question():
    source = Watched(data())
    op = BlockOperator(source, "64MB")
    first = op.columns(np.array([7, 3, 11]))
    before = op.passes
    first[:] = -1.0  # what was handed out is the caller's
    np.testing.assert_array_equal(op.columns(np.array([11, 7])), data()[:, [11, 7]])
    assert op.passes == before
    op.columns(np.array([3, 4]))
    assert op.passes == before + 1.0


def test_columns_that_were_read_at_different_times_need_no_new_read():
    op = BlockOperator(Watched(data()), "64MB")
    for support in ([3, 7], [11, 20, 30]):
        op.restrict(np.array(support))
    assert op.passes == 2.0
    np.testing.assert_array_equal(op.restrict(np.array([30, 3, 7])).X, data()[:, [30, 3, 7]])
    op.columns(np.array([20, 7]))
    op.scores(np.array([3, 11]), np.ones(2))
    assert op.passes == 2.0
    op.columns(np.array([3, 4, 7]))
    assert op.passes == 3.0


def test_each_column_is_kept_once_whoever_asked_for_it():
    m, k = 2000, 50
    op, support = BlockOperator(Watched(data(m)), "64MB"), np.arange(k)
    tracemalloc.start()
    try:
        op.restrict(support)
        op.columns(support[::-1])
        op.scores(support, np.ones(k))
        op.gram_block(support[5:])
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert m * k * 8 <= held < 1.2 * m * k * 8
    assert op.passes == 1.0


def test_columns_that_are_kept_fit_the_memory_that_was_given_and_the_oldest_go_first():
    m = 2000
    op = BlockOperator(Watched(data(m)), "1MB")
    most = 10**6 // (m * 8)
    op.columns(np.arange(most - 2))
    op.columns(np.array([0, 1]))
    op.columns(np.arange(100, 105))
    assert op._cache.nbytes <= 10**6
    before = op.passes
    op.columns(np.array([0, 1, 104]))
    assert op.passes == before
    op.columns(np.array([2]))
    assert op.passes == before + 1.0


def test_columns_make_room_before_others_are_read():
    m, k = 2000, 240
    op = BlockOperator(Watched(data(m, 600)), "4MB")
    tracemalloc.start()
    try:
        op.columns(np.arange(k))
        tracemalloc.reset_peak()
        op.columns(np.arange(300, 300 + k))
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    columns = m * k * 8
    assert held < 1.1 * columns
    assert most < 2.25 * columns  # the kept ones and the copy handed out, or the kept ones and blocks in flight


def test_threads_that_ask_for_columns_get_theirs():
    X = data(300, 60)
    op = BlockOperator(Watched(X), "1MB")
    rng = np.random.default_rng(0)
    wanted = [rng.choice(60, 12, replace=False) for _ in range(40)]
    with ThreadPoolExecutor(4) as pool:
        for support, found in zip(wanted, pool.map(op.columns, wanted), strict=True):
            np.testing.assert_array_equal(found, X[:, support])


def test_columns_too_many_to_keep_are_held_by_their_operator_alone():
    op, support = BlockOperator(Watched(data()), "1MB"), np.arange(100)
    part = op.restrict(support)
    assert op.restrict(support) is part
    assert op.passes == 1.0
    assert op._cache.nbytes == 0


def test_no_columns_are_none():
    assert BlockOperator(Watched(data()), "1MB").columns(np.array([], dtype=int)).shape == (2000, 0)


def test_an_array_of_columns_that_is_changed_afterwards_changes_nothing():
    op = BlockOperator(Watched(data()), "64MB")
    support = np.array([3, 7, 11])
    op.columns(support)
    support[1] = 12  # as exchanges of features do, in place
    np.testing.assert_array_equal(op.columns(support), data()[:, [3, 12, 11]])


def test_features_are_exchanged_on_streamed_data_as_on_data_in_memory():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.8, (9000, 40)).astype(float)
    X[:, [3, 9, 15]] += rng.poisson(5, (9000, 1))  # so few columns, so many rows: columns are kept, X is not
    found = rspca.decompose(rspca.as_operator(X, max_memory="1MB"), 1, k=3, random_state=0).components[0]
    assert found.support.tolist() == [3, 9, 15]
    scores = (X - X.mean(axis=0))[:, found.support] @ found.loadings
    assert found.variance == pytest.approx(scores @ scores)


def skewed():
    """Rows of a sparse matrix, the last of them a hundred times as full as the others."""
    lengths = np.append(np.ones(5000, dtype=int), np.full(500, 100))
    indices = np.concatenate([np.arange(length) for length in lengths])
    return np.ones(len(indices), dtype=np.float32), indices, np.append(0, np.cumsum(lengths))


def test_sparse_rows_on_disk_come_in_blocks_by_their_entries():
    data, indices, indptr = skewed()
    op = BlockOperator(StoredRows(data, indices, indptr, 100_000), "2MB")
    sizes = [12 * rows.nnz + 8 * rows.shape[0] for _, rows in op._stream()]
    assert len(sizes) < 40  # counted as dense each row would be a block
    assert max(sizes) <= 2e6 / streamed.BLOCKS_IN_MEMORY
    np.testing.assert_array_equal(op.matmat(np.ones(100_000)), np.diff(indptr))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data, indices, indptr: (data, np.where(indices == 3, 10**6, indices), indptr), "index is not below"),
        (lambda data, indices, indptr: (data, np.where(indices == 3, -1, indices), indptr), "index is not below"),
        (lambda data, indices, indptr: (data, indices, indptr[:-1]), "do not match"),
        (lambda data, indices, indptr: (data, indices, indptr + 1), "do not match"),
        (lambda data, indices, indptr: (data, indices[1:], indptr), "do not match"),
        (lambda data, indices, indptr: (data, indices, np.append(indptr[[0, 9, 5]], indptr[-1])), "do not match"),
    ],
    ids=["index too large", "index negative", "rows missing", "late start", "fewer indices", "not in order"],
)
def test_sparse_rows_that_contradict_themselves_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        StoredRows(*change(*skewed()), 100)


def test_a_file_cut_off_under_way_is_reported(tmp_path):
    np.save(tmp_path / "x.npy", data(dtype=np.float64))
    op = rspca.as_operator(np.load(tmp_path / "x.npy", mmap_mode="r"), max_memory="1MB")
    with (tmp_path / "x.npy").open("r+b") as file:
        file.truncate(100_000)
    with pytest.raises(ValueError, match="cut off"):
        op.matmat(np.ones(300))


@pytest.mark.parametrize(
    ("given", "size"), [(5_000_000, 5_000_000), ("5MB", 5_000_000), ("1.5 GiB", 3 * 2**29), ("2g", 2 * 10**9)]
)
def test_sizes_are_numbers_or_words(given, size):
    assert memory_size(given) == size


@pytest.mark.parametrize("given", ["much", "5 apples", -3, 0, "10kB", True])
def test_sizes_that_are_none_are_refused(given):
    with pytest.raises(ValueError, match="max_memory"):
        rspca.as_operator(np.ones((3, 3)), max_memory=given)


def test_what_has_no_rows_to_stream_is_refused():
    with pytest.raises(TypeError, match="max_memory is for arrays"):
        rspca.as_operator(rspca.as_operator(np.eye(3)), max_memory="5MB")
    with pytest.raises(ValueError, match="dimension"):
        rspca.as_operator(np.ones(3), max_memory="5MB")
    with pytest.raises(TypeError, match="real numbers"):
        rspca.as_operator(np.ones((3, 3), dtype=complex), max_memory="5MB")


def test_the_estimator_takes_rows_by_slices():
    X = data(400, 40)
    model = rspca.SparsePCA(1, k=6, random_state=0).fit(Watched(X))
    assert model.supports_[0].tolist() == list(range(10, 16))
    np.testing.assert_allclose(model.transform(Watched(X)), model.transform(X), atol=1e-9)


def test_columns_that_are_kept_keep_their_names_when_the_caller_changes_its_array():
    # Exchanging features changes the support in place: the streamed columns were then found under wrong names, and
    # swaps went round in circles on rows of the wrong features.
    X = data(dtype=np.float64)
    op = rspca.as_operator(Watched(X), max_memory="4MB")
    support = np.array([3, 5, 8])
    np.testing.assert_array_equal(op.columns(support), X[:, [3, 5, 8]])
    support[1] = 7
    np.testing.assert_array_equal(op.columns(np.array([7])), X[:, [7]])


def test_what_was_written_to_a_private_mapping_counts(tmp_path):
    X = np.random.default_rng(0).standard_normal((600, 30)) + 3.0
    np.save(tmp_path / "x.npy", X)
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[:, 0] *= 100.0
    np.testing.assert_allclose(
        rspca.as_operator(private, max_memory="1MB").column_sums(), np.asarray(private).sum(axis=0)
    )


def test_a_file_that_takes_the_place_of_another_does_not_change_what_was_opened(tmp_path):
    X = np.random.default_rng(0).standard_normal((600, 30))
    np.save(tmp_path / "x.npy", X)
    op = rspca.as_operator(np.load(tmp_path / "x.npy", mmap_mode="r"), max_memory="1MB")
    np.testing.assert_allclose(op.matmat(np.eye(30)), X)
    np.save(tmp_path / "y.npy", -X)
    (tmp_path / "y.npy").replace(tmp_path / "x.npy")
    np.testing.assert_allclose(op.matmat(np.eye(30)), X)
    (tmp_path / "x.npy").unlink()
    np.testing.assert_allclose(op.matmat(np.eye(30)), X)


def test_hidden_values_are_refused_where_rows_are_streamed():
    X = np.ma.masked_greater(np.random.default_rng(0).standard_normal((600, 30)), 2.0)
    with pytest.raises(ValueError, match="under a mask"):
        rspca.as_operator(X, max_memory="1MB")
    dask = pytest.importorskip("dask.array", reason="Dask arrays need Dask")
    with pytest.raises(ValueError, match="under a mask"):
        rspca.SparsePCA(1, k=2).fit(dask.from_array(X, chunks=(100, 30)))


@pytest.mark.parametrize("form", ["coo", "dia", "bsr", "lil", "csc"])
def test_sparse_matrices_of_every_kind_are_streamed(form):
    X = sp.random_array((600, 30), density=0.1, rng=np.random.default_rng(0)).asformat(form)
    V = np.random.default_rng(1).standard_normal((30, 2))
    np.testing.assert_allclose(rspca.as_operator(X, max_memory="1MB").matmat(V), X.toarray() @ V, atol=1e-12)


@pytest.mark.parametrize("form", ["coo", "csc", "csr"])
def test_dask_arrays_of_sparse_blocks_of_every_kind(form):
    dask = pytest.importorskip("dask.array", reason="Dask arrays need Dask")
    X = sp.random_array((600, 30), density=0.1, rng=np.random.default_rng(0))
    blocks_of = dask.from_array(X.toarray(), chunks=(100, 30)).map_blocks(
        lambda block: sp.csr_matrix(block).asformat(form)
    )
    V = np.random.default_rng(1).standard_normal((30, 2))
    np.testing.assert_allclose(rspca.as_operator(blocks_of).matmat(V), X.toarray() @ V, atol=1e-12)


def test_moments_take_one_read_and_keep_the_digits_of_large_means():  # issue 16, item 3
    X = np.random.default_rng(0).standard_normal((5000, 8)) + 1e6 * np.arange(8)
    op = BlockOperator(Watched(X))
    shift, sums, gram = op.moments()[:3]
    assert op.passes == 1.0
    about = X - X.mean(axis=0)
    moved = sums / 5000
    np.testing.assert_allclose(gram - 5000 * np.multiply.outer(moved, moved), about.T @ about, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(5000 * shift + sums, X.sum(axis=0), rtol=1e-12, atol=1e-9)


def test_moments_of_sparse_rows_take_one_read():  # issue 16, item 3
    X = sp.random(3000, 40, 0.1, format="csr", random_state=0)
    op = BlockOperator(X, "1MB")
    _, sums, gram = op.moments()[:3]
    assert op.passes == 1.0
    np.testing.assert_allclose(sums, X.toarray().sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(gram, (X.T @ X).toarray(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.0])
def test_a_gram_matrix_takes_one_read(share, monkeypatch):  # issue 16, item 7
    monkeypatch.setattr(streamed, "CACHED_SHARE", share)
    X = data(dtype=np.float64)
    op = BlockOperator(Watched(X))
    some, others = np.array([1, 12, 40, 250]), np.array([12, 99])
    np.testing.assert_allclose(op.gram_matrix(some), X[:, some].T @ X[:, some])
    assert op.passes == 1.0
    np.testing.assert_allclose(op.gram_between(some, others), X[:, some].T @ X[:, others])
    assert op.passes == 2.0


def test_tall_streamed_data_are_read_once():  # issue 16, item 7
    X = data(20000, 60, np.float32)
    found = rspca.decompose(BlockOperator(Watched(X)), 3, k=6, random_state=0)
    assert found.passes <= 2.0
    np.testing.assert_allclose(found.loadings, rspca.decompose(X, 3, k=6, random_state=0).loadings, atol=1e-6)


def test_few_features_of_wide_streamed_data_take_few_reads():  # issue 16, item 7
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((10, 6000)) * (rng.random((10, 6000)) < 0.02) * np.linspace(3.0, 1.0, 10)[:, None]
    X = (rng.standard_normal((500, 10)) @ factors + rng.standard_normal((500, 6000))).astype(np.float32)
    found = rspca.decompose(BlockOperator(Watched(X)), 3, k=30, random_state=0)
    assert max(component.passes for component in found.components) <= 15.0
