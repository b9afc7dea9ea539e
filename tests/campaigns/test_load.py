"""Many fits at once, in threads and in processes, and many one after another: right, frugal, without a trace."""

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

import rspca
from rspca.base.threads import in_lanes, lane_count, small_products_in_one_thread, threads_for
from rspca.operators.base import OperatorMixin

LARGE = (600, 2000)  # beyond a million entries: climbed on a sketch


def data(seed, shape=(60, 40)):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + np.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1]))


def fitted(seed, shape=(60, 40), sparse=False):
    X = data(seed, shape)
    X = sp.csr_array(np.where(np.abs(X) > 2.0, X, 0.0)) if sparse else X
    return rspca.SparsePCA(2, k=5, random_state=seed).fit(X).components_


def packed_components(path):
    table = rspca.read(path)
    return rspca.SparsePCA(2, k=10, scale="patterson", random_state=0).fit(table).components_


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    pytest.importorskip("numba")
    path = tmp_path_factory.mktemp("load") / "toy.bed"
    rspca.formats.write_plink(path, rspca.datasets.make_genotypes(300, 2000, random_state=1)[0])
    packed_components(path)  # compiles
    return path


def blas_threads():
    return sorted((one["filepath"], one["num_threads"]) for one in threadpool_info() if one["user_api"] == "blas")


# --- threads --------------------------------------------------------------------------------------------------------


def test_fits_in_threads_find_what_they_find_alone():
    cases = [(seed, (60, 40), sparse) for seed in range(4) for sparse in (False, True)]
    cases += [(4, LARGE, False), (4, LARGE, True)]
    alone = [fitted(*case) for case in cases]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda case: fitted(*case), cases))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_threads_that_share_an_operator_do_not_mix_up_their_columns():
    op = rspca.as_operator(data(0, LARGE))
    ks = [3, 21, 89]
    alone = [rspca.decompose(data(0, LARGE), 1, k=k, random_state=0).loadings for k in ks]
    with ThreadPoolExecutor(len(ks)) as pool:
        together = list(pool.map(lambda k: rspca.decompose(op, 1, k=k, random_state=0).loadings, ks))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_packed_genotypes_in_threads_give_the_same_bits(bed):
    alone = packed_components(bed)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: packed_components(bed), range(4)):
            np.testing.assert_array_equal(found, alone)


class OwnThreads(OperatorMixin):
    own_threads = True


def test_blas_gets_its_threads_back_however_fits_overlap():
    before = blas_threads()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first():
        with threads_for(OwnThreads()):
            first_in.set()
            assert second_in.wait(10)
        first_out.set()

    def second():
        assert first_in.wait(10)
        with threads_for(OwnThreads()):
            second_in.set()
            assert first_out.wait(10)
            assert all(threads == 1 for _, threads in blas_threads())

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result()
    assert blas_threads() == before


def test_blas_gets_its_threads_back_after_an_error():
    before = blas_threads()
    with pytest.raises(RuntimeError, match="stop"), threads_for(OwnThreads()):
        raise RuntimeError("stop")
    assert blas_threads() == before


def test_lanes_have_one_thread_of_blas_each_also_beside_kernels():
    def counts(_=None):
        return {threads for _, threads in blas_threads()}

    with threadpool_limits(2, user_api="blas"):
        before, seen = blas_threads(), []
        with small_products_in_one_thread():
            assert counts() == {1}
            assert lane_count() == max(threads for _, threads in before)
            with threads_for(OwnThreads()):  # its kernels wait while lanes work
                assert lane_count() == max(threads for _, threads in before)
        assert blas_threads() == before
        in_lanes(counts, range(4), seen.append)
        assert seen == [{1}] * 4
        assert blas_threads() == before


def test_a_fit_leaves_blas_its_threads_and_uses_one_for_what_is_small():
    seen = []
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        rspca.decompose(data(0, LARGE), 2, k=10, random_state=0, on_step=lambda _: seen.append(blas_threads()))
        assert blas_threads() == before
    assert {threads for _, threads in seen[0]} == {1}


def test_lanes_that_outlast_a_fit_in_another_thread_leave_blas_its_threads():
    started, ended = threading.Event(), threading.Event()

    def product(_):
        started.set()
        assert ended.wait(10)

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(1) as pool:
            with small_products_in_one_thread():
                running = pool.submit(in_lanes, product, range(2))
                assert started.wait(10)
            ended.set()
            running.result()
        assert blas_threads() == before


# --- processes ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_fits_in_processes_find_what_they_find_alone(how, bed):
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot start processes by {how}")
    alone, packed = [fitted(seed) for seed in range(4)], packed_components(bed)  # so threads exist before a fork
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(how)) as pool:
        together = list(pool.map(fitted, range(4), timeout=120))
        genotypes = list(pool.map(packed_components, [bed, bed], timeout=120))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    for found in genotypes:
        np.testing.assert_array_equal(found, packed)


def threads_in_use(path):
    """Return the most threads that BLAS and kernels may use at once during a fit of packed genotypes in this worker."""
    import numba

    seen = []

    def look(step):
        blas = max(threads for _, threads in blas_threads())
        seen.append(max(blas, numba.get_num_threads()))

    rspca.SparsePCA(1, k=10, random_state=0).fit(rspca.read(path), on_step=look)
    return max(seen)


@pytest.mark.slow
def test_joblib_workers_share_the_cores(bed):
    together = joblib.Parallel(n_jobs=2)(joblib.delayed(fitted)(seed) for seed in range(4))
    for seed, found in enumerate(together):
        np.testing.assert_allclose(found, fitted(seed), atol=1e-10)
    used = joblib.Parallel(n_jobs=2)(joblib.delayed(threads_in_use)(bed) for _ in range(2))
    assert sum(used) <= max(os.cpu_count() or 2, 2)


@pytest.mark.slow
def test_a_grid_search_in_processes_is_that_in_one():
    from sklearn.model_selection import GridSearchCV

    X = data(3)
    grid = {"k": [2, 5, 10]}
    searches = [GridSearchCV(rspca.SparsePCA(2, random_state=0), grid, cv=3, n_jobs=n).fit(X) for n in (1, 2)]
    scores = [search.cv_results_["mean_test_score"] for search in searches]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-10)


# --- memory ---------------------------------------------------------------------------------------------------------

MANY_FITS = """
import gc, numpy as np, rspca

def resident():
    gc.collect()
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024

def fit(seed):
    X = np.random.default_rng(seed).standard_normal((40, 20))
    rspca.SparsePCA(1, k=3, certify=seed % 50 == 0, certify_seconds=0.05, random_state=seed).fit(X).transform(X)

for seed in range(100):
    fit(seed)
before = resident()
for seed in range(300):
    fit(seed)
print(resident() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
def test_hundreds_of_fits_leave_nothing_behind():
    done = subprocess.run([sys.executable, "-c", MANY_FITS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.5  # MB: 5 kB a fit


def test_what_a_fit_allocates_is_freed_with_its_model():
    X = data(0, LARGE)
    model = rspca.SparsePCA(1, k=50, random_state=0).fit(X)
    gc.collect()
    assert all(not isinstance(one, OperatorMixin) for one in vars(model).values())
    alive = [one for one in gc.get_objects() if isinstance(one, OperatorMixin) and getattr(one, "X", None) is X]
    assert not alive
