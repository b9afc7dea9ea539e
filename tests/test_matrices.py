"""Matrices in files: what is written is read back, names are found, and damage is told."""

import contextlib
import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rspca

X = np.random.default_rng(0).standard_normal((6, 4))


def as_array(table):
    return np.asarray(table.operator.columns(np.arange(table.shape[1])))


def test_npy_is_mapped_and_npz_may_be_dense_or_sparse(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", X=X, labels=np.arange(6))
    sp.save_npz(tmp_path / "b.npz", sp.csc_matrix(X))
    for name in ("a.npy", "a.npz", "b.npz"):
        table = rspca.read(tmp_path / name)
        np.testing.assert_array_equal(as_array(table), X)
        assert table.feature_names.tolist() == ["feature0", "feature1", "feature2", "feature3"]
    assert isinstance(rspca.read(tmp_path / "a.npy").operator.X, np.memmap)
    assert sp.issparse(rspca.read(tmp_path / "b.npz").operator.X)


def test_matrix_market_files_stay_sparse(tmp_path):
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(X))
    table = rspca.read(tmp_path / "a.mtx")
    np.testing.assert_allclose(as_array(table), X)
    assert sp.issparse(table.operator.X)


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("head", [True, False])
@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_delimiter_names_and_compression_are_found_out(tmp_path, delimiter, head, labels, packed):
    rows = [([f"s{i}"] if labels else []) + [repr(float(v)) for v in row] for i, row in enumerate(X)]
    if head:
        rows.insert(0, (["id"] if labels else []) + ["a", "b", "c", "d"])
    text = "\n".join(delimiter.join(row) for row in rows).encode()
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text) if packed else text)
    table = rspca.read(path)
    np.testing.assert_array_equal(as_array(table), X)
    assert table.feature_names.tolist() == (["a", "b", "c", "d"] if head else [f"feature{j}" for j in range(4)])
    assert table.sample_names[1] == ("s1" if labels else "sample1")


def test_names_may_hold_the_delimiter_in_quotes(tmp_path):
    (tmp_path / "t.csv").write_text('id,"a, b",c\ns0,1,2\ns1,3,5\n')
    assert rspca.read(tmp_path / "t.csv").feature_names.tolist() == ["a, b", "c"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b,c\n", "no numbers"),
        ("t.csv", b"a,b\n1,2\n3\n", "line 3 has 1 fields"),
        ("t.csv", b"a,b\n1,2\n3,NA\n", "'NA' is not a number"),
        ("t.csv", b"a,a\n1,2\n3,4\n", "occur more than once: a"),
        ("t.csv", b"\xff\xfe,1\n", "not utf-8"),
        ("t.npy", b"nothing", "not a .npy file"),
        ("t.npz", b"nothing", "not a .npz file"),
        ("t.mtx", b"nothing", "not a Matrix Market file"),
        ("t.pdf", b"", "the kinds known are"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_name(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=said) as error:
        rspca.read(tmp_path / name)
    assert name in str(error.value) or "occur" in said


def test_a_file_with_several_matrices_or_several_files_are_refused(tmp_path):
    np.savez(tmp_path / "two.npz", a=X, b=X)
    with pytest.raises(ValueError, match="2 matrices"):
        rspca.read(tmp_path / "two.npz")
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match=r"only \.bed files"):
        rspca.read([tmp_path / "a.npy", tmp_path / "a.npy"])


@settings(max_examples=60)
@given(st.binary(max_size=200), st.sampled_from([".csv", ".npy", ".npz", ".mtx"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, suffix):
    path = tmp_path_factory.mktemp("any") / f"t{suffix}"
    path.write_bytes(content)
    with contextlib.suppress(ValueError, TypeError):
        assert rspca.read(path).shape[1] > 0
