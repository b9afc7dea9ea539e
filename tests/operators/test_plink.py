"""Packed genotypes: kernels against their NumPy twins and the plain reader, and the files that must be refused."""

import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rspca
from benchmarks.data import data_path
from rspca.formats import read_plink, write_plink
from rspca.genetics.plink import pack

pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")

import numba

from rspca.operators import kernels
from rspca.operators.plink import PackedOperator, Part


def genotypes(m, n, missing=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (m, n)).astype(float)
    X[0] = np.arange(n) % 3  # every SNP has a call
    holes = rng.random((m, n)) < missing
    holes[0] = False
    X[holes] = np.nan
    return X


def imputed(X):
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def packed_operator(X, **options):
    return PackedOperator([Part(pack(X), np.arange(X.shape[1]))], X.shape[0], **options)


shapes = st.tuples(st.integers(1, 40), st.integers(1, 12))
seeds = st.integers(0, 2**32 - 1)


@given(shapes, st.sampled_from([0.0, 0.1, 0.9]), seeds, st.sampled_from([np.float32, np.float64]), st.integers(1, 9))
def test_every_kernel_agrees_with_its_numpy_twin(shape, missing, seed, dtype, columns):
    rng = np.random.default_rng(seed)
    m, n = shape
    packed = pack(genotypes(m, n, missing, seed))
    packed.flags.writeable = False
    width = packed.shape[1]
    rows = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False))
    k = len(rows)
    fill, incomplete = rng.random(k).astype(dtype), np.ones(k, dtype=bool)
    planes = kernels.planar(rng.standard_normal((m, columns)).astype(dtype), width)
    weights = rng.standard_normal((k, columns)).astype(dtype)
    mask = rng.choice([0x55, 0x00, 0x11, 0x54], width).astype(np.uint8)
    close = {"rtol": 1e-5, "atol": 1e-4} if dtype is np.float32 else {"rtol": 1e-12, "atol": 1e-11}
    for name, given_, out in (
        ("dot_rows", (planes, fill, incomplete), np.zeros((k, columns))),
        ("add_rows", (weights, fill, incomplete), np.zeros((columns, 4, width))),
        ("unpack_rows", (fill, incomplete), np.zeros((k, 4 * width), dtype=dtype)),
        ("count_rows", (mask,), np.zeros((k, 3), dtype=np.int64)),
        ("weigh_rows", (kernels.planar(rng.uniform(0, 2, (m, 1)), width),), np.zeros((k, 3))),
    ):
        twin = out.copy()
        getattr(kernels, name)(packed, rows, 0, k, *given_, out)
        getattr(kernels, f"plain_{name}")(packed, rows, 0, k, *given_, twin)
        np.testing.assert_allclose(out, twin, **close, err_msg=name)


@given(st.integers(2, 41), st.integers(1, 12), seeds, st.data())
def test_selected_people_and_snps_are_rows_and_columns_of_the_imputed_matrix(m, n, seed, draw):
    X = genotypes(m, n, 0.2, seed)
    people = np.array(draw.draw(st.lists(st.integers(0, m - 1), min_size=1, unique=True).map(sorted)))
    X[people[0]] = 1.0
    chosen = np.array(draw.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True).map(sorted)))
    op = packed_operator(X, people=people, dtype=np.float64).select(chosen)
    Z = imputed(X[people])[:, chosen]
    rng = np.random.default_rng(seed)
    V, U = rng.standard_normal((len(chosen), 2)), rng.standard_normal((len(people), 5))
    np.testing.assert_allclose(op.columns(np.arange(len(chosen))), Z, atol=1e-12)
    np.testing.assert_allclose(op.matmat(V), Z @ V, atol=1e-10)
    np.testing.assert_allclose(op.rmatmat(U), Z.T @ U, atol=1e-10)
    np.testing.assert_allclose(op.column_sums(), Z.sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(op.column_sq_norms(), np.sum(Z**2, axis=0), atol=1e-10)


def test_rows_of_many_bytes_are_summed_in_pieces_without_loss():
    m = 4 * (2 * kernels.SINGLE_BYTES) + 6  # three pieces, the last one short
    X = genotypes(m, 3, 0.01)
    op, Z = packed_operator(X), imputed(X)
    u = 1.0 + np.random.default_rng(0).random(m)
    np.testing.assert_allclose(op.rmatmat(u), Z.T @ u, rtol=1e-6)
    np.testing.assert_allclose(op.matmat(np.array([1.0, -2.0, 0.5])), Z @ [1.0, -2.0, 0.5], atol=1e-5)


def large():
    return packed_operator(genotypes(401, 5000, 0.02))


def test_the_number_of_threads_changes_no_bit():
    op = large()
    rng = np.random.default_rng(0)
    V, U = rng.standard_normal((5000, 3)), rng.standard_normal((401, 6))
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        results.append((op.matmat(V), op.rmatmat(U), op.columns(np.arange(5000))))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_several_python_threads_may_multiply_at_once():
    op = large()
    u = np.random.default_rng(1).standard_normal(401)
    expected, wrong = op.rmatmat(u), []

    def work():
        wrong.extend(1 for _ in range(20) if not np.array_equal(op.rmatmat(u), expected))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_can_multiply(tmp_path):
    script = (
        "import os, numpy as np, warnings; warnings.simplefilter('ignore')\n"
        "from rspca.operators.plink import PackedOperator, Part\n"
        "op = PackedOperator([Part(np.zeros((4000, 200), np.uint8), np.arange(4000))], 800)\n"
        "u = np.ones(800); expected = op.rmatmat(u)\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(0 if np.array_equal(op.rmatmat(u), expected) else 1)\n"
        "raise SystemExit(os.waitpid(child, 0)[1])\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


def test_a_sparse_vector_reads_only_the_snps_that_it_uses():
    op = large()
    before = op.passes
    v = np.zeros(5000)
    v[[3, 77]] = 1.0
    op.gram(v)
    assert op.passes - before == pytest.approx(1.0 + 2 / 5000)


def test_a_missing_call_adds_nothing_once_centered_and_monomorphic_snps_are_never_chosen(tmp_path):
    X = genotypes(30, 40)
    X[:, 7] = 2.0
    X[3:, 9] = np.nan
    X[:3, 9] = 1.0  # all that was observed is the same
    write_plink(tmp_path / "x.bed", X)
    model = rspca.SparsePCA(1, k=38, scale="patterson", random_state=0).fit(rspca.read(tmp_path / "x.bed"))
    assert not {7, 9} & set(model.supports_[0].tolist())
    p = np.nanmean(X, axis=0) / 2.0
    varying = np.setdiff1d(np.arange(40), [7, 9])
    np.testing.assert_allclose(model.scale_[varying], np.sqrt(2 * p * (1 - p))[varying], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_packed_and_unpacked_genotypes_give_the_same_components(dtype, tmp_path):
    X, _ = rspca.datasets.make_genotypes(203, 1500, 4)
    X = X.astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.02] = np.nan
    write_plink(tmp_path / "x.bed", X)
    table = rspca.read(tmp_path / "x.bed", dtype=dtype)
    expected = rspca.decompose(imputed(X).astype(dtype), 2, k=30, scale="patterson", random_state=0)
    found = rspca.decompose(table, 2, k=30, scale="patterson", random_state=0)
    for one, two in zip(found.components, expected.components, strict=True):
        np.testing.assert_array_equal(one.support, two.support)
        np.testing.assert_allclose(one.loadings, two.loadings, atol=1e-5)


@pytest.mark.slow
def test_hapmap3_packed_agrees_with_the_dense_float64_route():
    bed = data_path("hapmap3_flashpca", "data.bed")
    table = rspca.read(bed, chromosomes="all", dtype=np.float64)
    dense = read_plink(bed, dtype=np.float64).matrix
    found = rspca.decompose(table, 3, k=100, scale="patterson", random_state=0)
    expected = rspca.decompose(dense, 3, k=100, scale="patterson", random_state=0)
    for one, two in zip(found.components, expected.components, strict=True):
        np.testing.assert_array_equal(one.support, two.support)
        np.testing.assert_allclose(one.loadings, two.loadings, atol=1e-5)


def test_bed_reader_reads_what_we_write_and_we_read_what_it_writes(tmp_path):
    bed_reader = pytest.importorskip("bed_reader", reason="the check against bed-reader needs it")
    X = genotypes(13, 9)
    write_plink(tmp_path / "ours.bed", X)
    with bed_reader.open_bed(tmp_path / "ours.bed", count_A1=True, num_threads=1) as theirs:
        np.testing.assert_array_equal(theirs.read(dtype="float64"), X)
        table = rspca.read(tmp_path / "ours.bed")
        for ours, name in (("snp", "sid"), ("chromosome", "chromosome"), ("position", "bp_position"),
                           ("allele_1", "allele_1"), ("allele_2", "allele_2")):  # fmt: skip
            np.testing.assert_array_equal(table.features[ours], getattr(theirs, name))
        np.testing.assert_array_equal(table.samples["iid"], theirs.iid)
        np.testing.assert_array_equal(table.samples["fid"], theirs.fid)
    bed_reader.to_bed(tmp_path / "theirs.bed", X, num_threads=1)
    op = rspca.read(tmp_path / "theirs.bed", chromosomes="all").operator
    np.testing.assert_allclose(op.columns(np.arange(9)), imputed(X), atol=1e-6)


def test_an_operator_travels_by_the_name_of_its_file(tmp_path):
    import pickle

    write_plink(tmp_path / "x.bed", genotypes(2000, 500))
    op = rspca.read(tmp_path / "x.bed").operator
    sent = pickle.dumps(op)
    assert len(sent) < 0.5 * 500 * 500  # less than the packed genotypes
    v = np.ones(500)
    np.testing.assert_array_equal(pickle.loads(sent).matmat(v), op.matmat(v))


def test_without_a_folder_for_compiled_kernels_a_warning_says_so_and_the_work_goes_on(monkeypatch):
    def njit(cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function 'add': no locator available for file 'x.py'")
        return lambda function: function

    monkeypatch.setattr(kernels.numba, "njit", njit)
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR"):
        assert kernels._compiled(max) is max


def test_without_numba_the_message_names_the_extra():
    script = "import sys; sys.modules['numba'] = None\nfrom rspca.operators import kernels\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert "pip install 'rspca[genetics]'" in done.stderr


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"variants": {"pos": [1, 2, 3]}}, "variants has pos; the columns that can be written are chromosome, snp"),
        ({"variants": {"snp": ["a", "b c", "d"]}}, "variants['snp'] has 'b c'"),
        ({"variants": {"allele_1": ["A", "", "C"]}}, "variants['allele_1'] has ''"),
        ({"variants": {"position": [1.5, 2, 3]}}, "variants['position'] has '1.5', which is not a whole number"),
        ({"variants": {"snp": ["a", "b"]}}, "variants['snp'] has shape (2,); 3 entries are needed"),
        ({"people": {"iid": ["a", "b", "c", "d d"]}}, "people['iid'] has 'd d'"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path, columns, told):
    write_plink(tmp_path / "a.bed", np.eye(4, 3))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=re.escape(told)):
        write_plink(tmp_path / "a.bed", np.zeros((4, 3)), **columns)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_columns_of_a_frame_and_of_a_table_are_written(tmp_path):
    pd = pytest.importorskip("pandas", reason="frames need pandas")
    write_plink(
        tmp_path / "a.bed", np.eye(4, 3), variants=pd.DataFrame({"snp": list("xyz"), "position": [1.0, 2.0, 9.0]})
    )
    table = rspca.read(tmp_path / "a.bed")
    assert table.features["position"].tolist() == [1, 2, 9]
    write_plink(tmp_path / "b.bed", np.eye(4, 3), variants=table.features, people=table.samples)
    assert rspca.read(tmp_path / "b.bed").feature_names.tolist() == list("xyz")
