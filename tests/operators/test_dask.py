"""A real cluster of two processes: the same answers, only vectors on the way, and a worker killed in the middle."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from support.operators import assert_agrees

import rspca

distributed = pytest.importorskip("distributed", reason="a cluster needs Dask: pip install 'rspca[cluster]'")
array = pytest.importorskip("dask.array")

from rspca.operators.cluster import FETCHED_BYTES, ClusterOperator  # noqa: E402
from rspca.operators.cluster_client import connected  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sending large graph")


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)  # a busy machine starts them after the scheduler
        yield client


def data(m, n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    X[:, :70] += 2.0 * rng.standard_normal((m, 1))
    X[:, 90:160] += 1.5 * rng.standard_normal((m, 1))
    return X  # of more than a million entries it is climbed on a sketch, as all that needs a cluster is


@pytest.mark.parametrize("shape", [(11, 8), (8, 11)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_blocks_on_workers_are_the_matrix_they_stand_for(client, shape, dtype):
    X = (np.random.default_rng(0).standard_normal(shape) * 3).astype(dtype)
    op = rspca.as_operator(array.from_array(X, chunks=(3, 3)))
    assert isinstance(op, ClusterOperator)
    assert op.axis == int(shape[1] > shape[0])
    assert len(op.blocks) > 1
    assert_agrees(op, X.astype(float))
    assert_agrees(rspca.operators.Centered(op), X - X.mean(axis=0, dtype=float))


def test_workers_are_seen_while_dask_replaces_what_it_knows_of_them(client, monkeypatch):
    monkeypatch.setattr(client, "scheduler_info", lambda *_, **__: {"workers": {}})
    assert connected(client) is client


def test_a_scheduler_without_workers_is_an_error():
    options = {"n_workers": 0, "dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(ConnectionError, match="has no workers; start some, or leave out client"),
    ):
        connected(client)


def test_sparse_blocks_stay_sparse(client):
    X = np.random.default_rng(0).integers(0, 2, (12, 7)).astype(float)
    chunks = array.from_array(X, chunks=(4, 7)).map_blocks(sp.csr_matrix)
    assert_agrees(rspca.as_operator(chunks), X)


@pytest.mark.parametrize("shape", [(200, 6000), (6000, 200)])
def test_a_cluster_gives_the_answer_of_one_machine_and_columns_stay_there_if_many(client, shape, monkeypatch):
    X = data(*shape)
    here = rspca.SparsePCA(2, k=70, random_state=0).fit(X)
    for limit in (FETCHED_BYTES, 1000):
        monkeypatch.setattr("rspca.operators.cluster.FETCHED_BYTES", limit)
        there = rspca.SparsePCA(2, k=70, random_state=0).fit(array.from_array(X, chunks=(1000, 1000)))
        for one, two in zip(here.supports_, there.supports_, strict=True):
            np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(there.components_, here.components_, atol=1e-9)
        np.testing.assert_allclose(there.explained_variance_, here.explained_variance_, rtol=1e-9)


# issue 19, items 1 to 3
@pytest.mark.parametrize("shape", [(200, 40), (40, 200)])
@pytest.mark.parametrize("limit", [FETCHED_BYTES, 100])
def test_weights_covariates_and_missing_values_reach_the_workers(client, shape, limit, monkeypatch):
    monkeypatch.setattr("rspca.operators.cluster.FETCHED_BYTES", limit)
    monkeypatch.setattr("rspca.operators.cluster.SMALL_FETCH_BYTES", min(limit, 1 << 22))
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) @ np.diag(np.linspace(1.0, 2.0, shape[1])) + 3.0
    X[rng.random(shape) < 0.05] = np.nan
    options = {"k": 8, "missing": "mean", "random_state": 0, "scale": True}
    given = {"sample_weight": rng.uniform(0.0, 3.0, shape[0]), "covariates": rng.standard_normal((shape[0], 2))}
    here = rspca.decompose(X, 2, **options, **given)
    there = rspca.decompose(array.from_array(X, chunks=(20, 20)), 2, **options, **given)
    np.testing.assert_allclose(there.loadings, here.loadings, atol=1e-10)
    np.testing.assert_allclose(there.explained_variance, here.explained_variance, rtol=1e-10)


def test_workers_weigh_people_of_a_plink_file(client, tmp_path):  # issue 19, item 1
    pytest.importorskip("numba", reason="packed genotypes need numba")
    X = rspca.datasets.make_genotypes(101, 600)[0].astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.02] = np.nan
    rspca.formats.write_plink(tmp_path / "a.bed", X)
    weights = np.random.default_rng(1).integers(0, 3, 101)
    tables = rspca.read(tmp_path / "a.bed", client=client, dtype=float), rspca.read(tmp_path / "a.bed", dtype=float)
    for scale in (False, "patterson"):
        there, here = (
            rspca.decompose(one, 2, k=20, scale=scale, sample_weight=weights, random_state=0) for one in tables
        )
        np.testing.assert_allclose(there.loadings, here.loadings, atol=1e-10)


def test_workers_open_their_own_range_of_a_plink_file(client, tmp_path):
    pytest.importorskip("numba", reason="packed genotypes need numba")
    X = rspca.datasets.make_genotypes(201, 6000)[0].astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.02] = np.nan
    for name, part in (("a", slice(0, 1700)), ("b", slice(1700, 6000))):
        named = {"snp": np.array([f"s{j}" for j in range(6000)[part]])}
        rspca.formats.write_plink(tmp_path / f"{name}.bed", X[:, part], variants=named)
    files, options = [tmp_path / "a.bed", tmp_path / "b.bed"], {"min_frequency": 0.1, "dtype": np.float64}
    there, here = rspca.read(files, client=client, **options), rspca.read(files, **options)
    assert isinstance(there.operator, ClusterOperator)
    np.testing.assert_array_equal(there.feature_names, here.feature_names)
    np.testing.assert_array_equal(there.features["frequency"], here.features["frequency"])
    one = rspca.decompose(there, 2, k=90, scale="patterson", random_state=0)
    two = rspca.decompose(here, 2, k=90, scale="patterson", random_state=0)
    for a, b in zip(one.components, two.components, strict=True):
        np.testing.assert_array_equal(a.support, b.support)
        np.testing.assert_allclose(a.loadings, b.loadings, atol=1e-9)


def test_a_worker_killed_in_the_middle_changes_nothing(client):
    X = array.from_array(data(200, 6000), chunks=(200, 1000))
    expected = rspca.decompose(X, 2, k=70, random_state=0)
    killed = []

    def kill(step):
        if step.component == 1 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    found = rspca.decompose(X, 2, k=70, random_state=0, on_step=kill)
    assert killed
    np.testing.assert_array_equal(found.loadings, expected.loadings)


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler and a worker as processes of their own: the scheduler's process, and its address."""
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_{}", "--scheduler-file", str(file), "--no-dashboard"]
    words = [[word.format(kind) for word in dask] for kind in ("scheduler", "worker")]
    scheduler = subprocess.Popen([*words[0], "--host", "127.0.0.1", "--port", "0"], **quiet)
    worker = subprocess.Popen([*words[1], "--nthreads", "1", "--no-nanny"], **quiet)
    try:
        until = time.monotonic() + 60.0
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.1)
        yield scheduler, json.loads(file.read_text())["address"]
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_scheduler_killed_in_the_middle_is_one_clear_error_in_bounded_time(scheduler):
    process, address = scheduler
    killed = []

    def kill(step):
        if step.component == 1 and not killed:
            killed.append(time.monotonic())
            process.kill()

    with distributed.Client(address, timeout="5s") as client:
        client.wait_for_workers(1, timeout=60)
        X = array.from_array(data(200, 6000), chunks=(200, 1000))
        said = r"The Dask scheduler.* was lost during the fit"
        with pytest.raises(ConnectionError, match=said):
            rspca.decompose(X, 2, k=70, random_state=0, on_step=kill)
    assert time.monotonic() - killed[0] < 60.0


@pytest.mark.parametrize("name", ["CancelledError", "ClosedClientError", "CommClosedError", "KilledWorker"])
def test_what_dask_says_of_losses_is_said_in_one_line(name):
    from concurrent.futures import CancelledError

    from distributed.client import ClosedClientError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    errors = {
        "CancelledError": CancelledError("x"), "ClosedClientError": ClosedClientError("x"),
        "CommClosedError": CommClosedError("x"), "KilledWorker": KilledWorker("task", None, 3),
    }  # fmt: skip

    class Lost:
        def map(self, *_, **__):
            raise errors[name]

    op = ClusterOperator(Lost(), [None], np.array([3]), 1, (2, 3), np.dtype(float))
    said = "workers died while working on the same block" if name == "KilledWorker" else "was lost during the fit"
    with pytest.raises(ConnectionError, match=said) as told:
        op.rmatmat(np.ones(2))
    assert "\n" not in str(told.value)


def test_a_scheduler_that_is_not_there_is_reported_at_once(monkeypatch):
    monkeypatch.setattr("rspca.operators.cluster_client.CONNECT_SECONDS", 0.5)
    with pytest.raises(ConnectionError, match=r"No scheduler answers at 'tcp://127\.0\.0\.1:1'"):
        connected("tcp://127.0.0.1:1")


def test_a_client_that_was_closed_is_reported():
    class Closed:
        status = "closed"

    with pytest.raises(ConnectionError, match="is closed"):
        connected(Closed())


def test_a_dask_array_that_is_no_matrix_of_numbers_is_refused():
    with pytest.raises(ValueError, match="known shape"):
        rspca.as_operator(array.from_array(np.ones(5)))
    with pytest.raises(TypeError, match="real numbers"):
        rspca.as_operator(array.from_array(np.ones((2, 2), dtype=complex)))


def test_scores_of_another_study_are_those_of_one_machine(client, tmp_path):
    pytest.importorskip("numba", reason="packed genotypes need numba")
    rng = np.random.default_rng(0)
    for name, frequency, missing in (("a", 0.4, 0.0), ("b", 0.1, 0.3)):
        X = rng.binomial(2, frequency, (50, 400)).astype(float)
        X[rng.random(X.shape) < missing] = np.nan
        rspca.formats.write_plink(tmp_path / f"{name}.bed", X)
    model = rspca.SparsePCA(2, k=5, scale="patterson", random_state=0).fit(rspca.read(tmp_path / "a.bed"))
    here, there = rspca.read(tmp_path / "b.bed"), rspca.read(tmp_path / "b.bed", client=client)
    np.testing.assert_allclose(model.transform(there), model.transform(here), atol=1e-12)
    assert model.score(there) == pytest.approx(model.score(here), rel=1e-12)


@pytest.fixture
def requests(monkeypatch):
    """How often the workers were asked for something."""
    asked, gather = [], ClusterOperator._gather
    monkeypatch.setattr(ClusterOperator, "_gather", lambda op, futures: asked.append(1) or gather(op, futures))
    return asked


def test_few_features_of_several_components_take_few_requests(client, requests):  # issue 16, item 7
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((10, 6000)) * (rng.random((10, 6000)) < 0.02) * np.linspace(3.0, 1.0, 10)[:, None]
    X = (rng.standard_normal((400, 10)) @ factors + rng.standard_normal((400, 6000))).astype(np.float32)
    here = rspca.decompose(X, 3, k=30, random_state=0)
    there = rspca.decompose(array.from_array(X, chunks=(400, 1000)), 3, k=30, random_state=0)
    assert len(requests) <= 28  # 3 of them for structure coefficients and blocks of similar features
    assert max(component.passes for component in there.components) <= 15.0
    for one, two in zip(here.components, there.components, strict=True):
        np.testing.assert_array_equal(one.support, two.support)


def test_tall_data_take_one_request_for_their_moments(client, requests):  # issue 16, item 3
    X = np.random.default_rng(0).standard_normal((3000, 20)) + 1e5 * np.arange(20)
    op = rspca.as_operator(array.from_array(X, chunks=(700, 20)))
    shift, sums, gram = op.moments()[:3]
    assert len(requests) == 1
    assert op.passes == 1.0
    np.testing.assert_allclose(3000 * shift + sums, X.sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(gram, (X - shift).T @ (X - shift), rtol=1e-9, atol=1e-6)


def test_tall_data_on_a_cluster_are_read_about_once(client, requests):  # issue 16, item 7
    X = data(6000, 200)
    here = rspca.decompose(X, 2, k=10, random_state=0)
    there = rspca.decompose(array.from_array(X, chunks=(1000, 200)), 2, k=10, random_state=0)
    assert len(requests) <= 4
    assert there.passes <= 2.0
    np.testing.assert_allclose(there.loadings, here.loadings, atol=1e-9)


@pytest.mark.parametrize("shape", [(30, 90), (90, 30)])
@pytest.mark.parametrize("fetched", [1 << 26, 1])
def test_a_gram_matrix_takes_one_request(client, requests, shape, fetched, monkeypatch):  # issue 16, item 7
    monkeypatch.setattr("rspca.operators.cluster.FETCHED_BYTES", fetched)
    monkeypatch.setattr("rspca.operators.gram_products.GRAM_COLUMNS_BYTES", 2000)
    X = np.random.default_rng(0).standard_normal(shape)
    op = rspca.as_operator(array.from_array(X, chunks=(30, 30)))
    some, others = np.array([2, 3, 11, 25, 29]), np.array([1, 11, 28])
    np.testing.assert_allclose(op.gram_matrix(some), X[:, some].T @ X[:, some], atol=1e-12)
    assert len(requests) == 1
    np.testing.assert_allclose(op.gram_between(some, others), X[:, some].T @ X[:, others], atol=1e-12)
    assert len(requests) == 2


def test_columns_are_fetched_once_and_serve_products_with_few_of_them(client, requests):  # issue 16, item 7
    X = np.random.default_rng(0).standard_normal((30, 90))
    op = rspca.as_operator(array.from_array(X, chunks=(30, 30)))
    some, v = np.array([2, 41, 89]), np.zeros(90)
    v[some] = 1.0, 2.0, 3.0
    np.testing.assert_array_equal(op.columns(some), X[:, some])
    assert len(requests) == 1
    np.testing.assert_allclose(op.matmat(v), X @ v)
    np.testing.assert_allclose(op.scores(some, v[some]), X @ v)
    np.testing.assert_allclose(op.restrict(some).gram_block(np.arange(3)), X[:, some].T @ X[:, some])
    assert len(requests) == 1
    np.testing.assert_allclose(op.gram(v), X.T @ (X @ v))
    assert len(requests) == 2
    assert op.passes == pytest.approx(1.0 + 3 / 90 + 3 / 90)  # and the product of the restriction


@pytest.mark.parametrize("vectors", [(), (3,)])
@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_a_product_with_its_transpose_takes_one_request(client, requests, shape, vectors):  # issue 16, item 7
    X = data(*shape)
    op = rspca.as_operator(array.from_array(X, chunks=25))
    V = np.random.default_rng(1).standard_normal((shape[1], *vectors))
    shift = np.full(vectors, 0.5)
    image, scores = op.gram_and_scores(V, shift)
    assert len(requests) == 1
    np.testing.assert_allclose(scores, X @ V - shift, atol=1e-10)
    np.testing.assert_allclose(image, X.T @ (X @ V - shift), atol=1e-8)
    assert image.dtype == np.float64
    few = np.zeros_like(V)
    few[[2, 30]] = 1.0  # columns that were not fetched are multiplied by the workers
    image, _ = op.gram_and_scores(few)
    assert len(requests) == 2
    np.testing.assert_allclose(image, X.T @ (X @ few), atol=1e-8)
    nothing, _ = op.gram_and_scores(np.zeros_like(V))
    assert not nothing.any()
