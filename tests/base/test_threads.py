"""Lanes: the same bits for any number of threads, results in order, and errors that reach the caller."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from rspca.base.threads import in_lanes, lane_count, small_products_in_one_thread, sum_in_lanes
from rspca.operators.base import OperatorMixin
from rspca.operators.dense import DenseOperator
from rspca.operators.streamed import BlockOperator


@pytest.fixture(params=[1, 2, 3])
def lanes(request):
    with threadpool_limits(request.param, user_api="blas"):
        if lane_count() != request.param:  # BLAS was built for fewer threads
            pytest.skip(f"BLAS does not use {request.param} threads here")
        yield request.param


@pytest.mark.parametrize("in_step", [False, True])
def test_results_arrive_in_order_and_few_parts_are_taken_before_they_do(lanes, in_step):
    taken, arrived, names, most = [], [], set(), lanes if in_step else 2 * lanes

    def parts():
        for number in range(50):
            taken.append(number)
            yield number

    def task(number):
        names.add(threading.current_thread().name)
        np.ones((200, 200)) @ np.ones((200, 200))
        assert len(taken) - len(arrived) <= most
        return number

    in_lanes(task, parts(), arrived.append, in_step=in_step)
    assert arrived == taken == list(range(50))
    assert len(names) <= lanes


@pytest.mark.parametrize("in_step", [False, True])
def test_a_slow_lane_holds_up_others_only_if_they_go_in_step(in_step):
    others = threading.Event()
    taken, arrived, went_on = [], [], []

    def task(number):
        taken.append(number)
        if number == 0:
            went_on.append(others.wait(0.2 if in_step else 10))
        elif number == 3:
            others.set()
        return number

    with threadpool_limits(2, user_api="blas"):
        if lane_count() != 2:
            pytest.skip("BLAS has one thread here")
        in_lanes(task, range(9), arrived.append, in_step=in_step)
    assert arrived == list(range(9))
    assert sorted(taken) == arrived
    assert went_on == [not in_step]


def test_an_error_in_a_lane_reaches_the_caller_and_the_next_work_runs(lanes):
    def fails(number):
        if number == 7:
            raise ValueError("seven")
        return number

    with pytest.raises(ValueError, match="seven"):
        in_lanes(fails, range(20), lambda number: None)
    with pytest.raises(ValueError, match="seven"):
        in_lanes(lambda number: number, range(20), fails)
    assert sum_in_lanes(lambda number: np.full(2, number), range(5)).tolist() == [10, 10]


def test_lanes_have_one_thread_of_blas_the_caller_s_error_state_and_no_lanes_of_their_own(lanes):
    counts = []

    def task(number):
        counts.append(lane_count())
        return np.float32(1e38) * np.float32(10.0)

    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        in_lanes(task, range(8), lambda result: None)
    counts.clear()
    with np.errstate(over="ignore"):
        in_lanes(task, range(8), lambda result: None)
    assert set(counts) <= {1, lanes}  # of the calling thread, which may take lanes again


def test_threads_that_fit_at_the_same_time_share_the_lanes():
    with threadpool_limits(2, user_api="blas"):
        if lane_count() != 2:
            pytest.skip("BLAS has one thread here")
        with small_products_in_one_thread(), ThreadPoolExecutor(1) as other:
            assert other.submit(lane_count).result() == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "order"), [((300, 9001), "C"), ((9001, 300), "C"), ((120, 20001), "F")])
@pytest.mark.parametrize("width", [None, 1, 3, 9])
def test_dense_products_have_the_same_bits_for_any_number_of_lanes(shape, order, width, dtype):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal(shape), dtype=dtype, order=order)
    V, U = (rng.standard_normal(length if width is None else (length, width)) for length in shape[::-1])
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            op = DenseOperator(X)
            found.append([op.matmat(V), op.rmatmat(U), *op.gram_and_scores(V), op.column_sums(), op.column_sq_norms()])
    assert_same_bits(found)
    exact, tol = X.astype(np.float64), 1e-4 if dtype == np.float32 else 1e-12
    for product, expected in zip(
        found[0],
        [exact @ V, exact.T @ U, exact.T @ (exact @ V), exact @ V, exact.sum(axis=0), (exact**2).sum(axis=0)],
        strict=True,
    ):
        assert np.abs(product - expected).max() <= tol * np.abs(expected).max()


@pytest.mark.parametrize("m", [700, 40_000])
def test_gram_matrices_have_the_same_bits_for_any_number_of_lanes(m, blocks_of_rows_and_columns):
    X = np.random.default_rng(0).standard_normal((m, 700)).astype(np.float32)
    some, others = np.arange(0, 700, 2), np.arange(100, 650)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            op = blocks_of_rows_and_columns(X)
            found.append([op.gram_matrix(some), op.gram_matrix(np.arange(700)), op.gram_between(some, others)])
    assert_same_bits(found)
    exact = X.astype(np.float64)
    gram = exact.T @ exact
    for product, expected in zip(found[0], [gram[np.ix_(some, some)], gram, gram[np.ix_(some, others)]], strict=True):
        assert np.abs(product - expected).max() <= 1e-12 * gram.max()


@pytest.fixture(params=["blocks of rows", "blocks of columns"])
def blocks_of_rows_and_columns(request):
    class ByColumns(OperatorMixin):
        shape = property(lambda self: self.X.shape)
        dtype = property(lambda self: self.X.dtype)

        def __init__(self, X):
            self.X = X

        def columns(self, support):
            return self.X[:, support]

    return DenseOperator if request.param == "blocks of rows" else ByColumns


def assert_same_bits(found):
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_streamed_products_have_the_same_bits_for_any_number_of_lanes(tmp_path, dtype):
    X = np.random.default_rng(0).standard_normal((5000, 400)).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    V, U, support = np.ones((400, 3)), np.ones((5000, 2)), np.arange(0, 400, 9)
    found = []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="blas"):
            op = BlockOperator(mapped, "1MB")
            assert len(op._slices()) > 20
            products = [op.matmat(V), op.rmatmat(U), *op.gram_and_scores(V), op.columns(support), op.column_sq_norms()]
            found.append(products)
            assert op.passes == 5
    assert_same_bits(found)
    assert np.array_equal(found[0][4], X[:, support])
    assert np.allclose(found[0][2], X.T.astype(np.float64) @ (X @ V), rtol=1e-4 if dtype == np.float32 else 1e-10)
