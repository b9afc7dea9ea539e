"""Matrices in files: what is written is read back, names are found, and damage is told."""

import contextlib
import datetime
import decimal
import gzip
import io
import sys
import warnings
import zipfile

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
        ("t.pdf", b"", "this format is not known"),
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
    with pytest.raises(ValueError, match=r"only \.bed, \.pgen and \.all files"):
        rspca.read([tmp_path / "a.npy", tmp_path / "a.npy"])


@settings(max_examples=60)
@given(st.binary(max_size=200), st.sampled_from([".csv", ".npy", ".npz", ".mtx", ".txt", ".parquet", ".h5ad"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, suffix):
    path = tmp_path_factory.mktemp("any") / f"t{suffix}"
    path.write_bytes(content)
    with contextlib.suppress(ValueError, TypeError, ImportError):
        assert rspca.read(path).shape[1] > 0


# Names and labels of arrays


def test_npz_keeps_the_vectors_that_fit_a_side(tmp_path):
    names = np.array(["a", "b", "c", "d"])
    kept = {"y": np.arange(6), "chromosome": np.arange(4) + 1, "other": np.arange(9)}
    np.savez(tmp_path / "a.npz", X=X, feature_names=names, samples=np.array([f"s{i}" for i in range(6)]), **kept)
    table = rspca.read(tmp_path / "a.npz")
    assert table.feature_names.tolist() == names.tolist()
    assert table.sample_names[2] == "s2"
    assert table.samples["y"].tolist() == list(range(6))
    assert table.features["chromosome"].tolist() == [1, 2, 3, 4]
    assert set(table.samples) == {"sample", "y"}


@pytest.mark.parametrize("kind", ["npy", "npz", "sparse", "mtx"])
def test_features_may_be_in_rows(tmp_path, kind):
    path = tmp_path / ("a.npz" if kind == "sparse" else f"a.{kind}")
    if kind == "npy":
        np.save(path, X)
    elif kind == "npz":
        np.savez(path, X=X, features=np.array([f"f{i}" for i in range(6)]), sample_names=np.array(list("abcd")))
    elif kind == "sparse":
        sp.save_npz(path, sp.csr_array(X))
    else:
        scipy.io.mmwrite(path, sp.coo_array(X))
    table = rspca.read(path, transpose=True)
    np.testing.assert_allclose(as_array(table), X.T)
    assert sp.issparse(table.operator.X) == (kind in ("sparse", "mtx"))
    if kind == "npz":
        assert table.feature_names[1] == "f1"
        assert table.sample_names[1] == "b"


def test_names_reach_the_results(tmp_path):
    planted = X.copy()
    planted[:, 2] *= 9
    np.savez(tmp_path / "a.npz", X=planted, feature_names=np.array(["a", "b", "c", "d"]), y=np.arange(6))
    table = rspca.read(tmp_path / "a.npz")
    model = rspca.SparsePCA(1, k=1, random_state=0).fit(table)
    assert model.top_features()[0].name == "c"
    scores = model.score_table(table)
    assert scores["sample"][3] == "sample3"
    assert scores["y"].tolist() == list(range(6))
    model.save(tmp_path / "model.npz")
    assert rspca.load(tmp_path / "model.npz").top_features()[0].name == "c"


def test_features_of_a_table_are_found_by_name(tmp_path):
    names = ["a", "b", "c", "d"]
    rng = np.random.default_rng(1)
    planted = rng.standard_normal((30, 4))
    planted[:, [1, 3]] += 3 * rng.standard_normal((30, 1))

    def stored(columns, file):
        np.savez(tmp_path / file, X=planted[:, columns], feature_names=np.array(names)[columns])
        return rspca.read(tmp_path / file)

    model = rspca.SparsePCA(1, k=2, scale=True, random_state=0).fit(stored([0, 1, 2, 3], "a.npz"))
    expected = model.transform(planted)
    for columns in ([3, 2, 1, 0], [1, 3], [2, 3, 1]):
        np.testing.assert_allclose(model.transform(stored(columns, "b.npz")), expected, atol=1e-12)
    with pytest.raises(ValueError, match=r"1 of the 2 that the components use are absent \(d\)"):
        model.transform(stored([0, 1, 2], "b.npz"))
    np.save(tmp_path / "c.npy", planted)
    with pytest.warns(UserWarning, match="no names of features, so they are taken in the order of fit"):
        np.testing.assert_allclose(model.transform(rspca.read(tmp_path / "c.npy")), expected)
    by_number = rspca.SparsePCA(1, k=2, scale=True, random_state=0).fit(planted)
    np.testing.assert_allclose(by_number.transform(rspca.read(tmp_path / "a.npz")), expected)
    np.save(tmp_path / "d.npy", planted[:, [0, 1, 2, 3, 3]])
    with pytest.raises(ValueError, match="X has 5 features, but SparsePCA is expecting 4"):
        rspca.SparsePCA(1, k=2).fit(rspca.read(tmp_path / "c.npy")).transform(rspca.read(tmp_path / "d.npy"))
    with pytest.raises(ValueError, match="does not have the features of fit in their order"):
        model.score(stored([3, 2, 1, 0], "b.npz"))


def test_objects_in_an_archive_are_named(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, labels=np.array(["a", None], dtype=object))
    with pytest.raises(ValueError, match=r"labels holds Python objects.*labels\.astype\(str\)"):
        rspca.read(tmp_path / "a.npz")


# 10x Genomics


def write_10x(folder, counts, *, genes=None, barcodes=None, packed=True, prefix="", old=False):
    """Write counts, cells by genes, as Cell Ranger does: genes in rows."""
    folder.mkdir(exist_ok=True)
    m, n = counts.shape
    genes = genes or [(f"ENSG{j}", f"GENE{j}", "Gene Expression") for j in range(n)]
    barcodes = barcodes or [f"CELL{i}-1" for i in range(m)]
    matrix = io.BytesIO()
    scipy.io.mmwrite(matrix, sp.coo_array(counts.T))
    files = {
        "matrix.mtx": matrix.getvalue(),
        "genes.tsv" if old else "features.tsv": "".join("\t".join(gene) + "\n" for gene in genes).encode(),
        "barcodes.tsv": "".join(f"{name}\n" for name in barcodes).encode(),
    }
    for name, content in files.items():
        end = ".gz" if packed else ""
        (folder / f"{prefix}{name}{end}").write_bytes(gzip.compress(content) if packed else content)
    return folder / f"{prefix}matrix.mtx{end}"


COUNTS = np.array([[1, 0, 2], [0, 3, 0], [4, 0, 0], [0, 5, 6]])


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("prefix", ["", "GSM1_"])
def test_the_files_of_cell_ranger_are_turned_to_cells_by_genes(tmp_path, packed, old, prefix):
    path = write_10x(tmp_path / "x", COUNTS, packed=packed, prefix=prefix, old=old)
    tables = [rspca.read(path)] + ([rspca.read(tmp_path / "x")] if not prefix else [])
    for table in tables:
        np.testing.assert_array_equal(as_array(table), COUNTS)
        assert sp.issparse(table.operator.X)
        assert table.feature_names.tolist() == ["GENE0", "GENE1", "GENE2"]
        assert table.sample_names.tolist() == ["CELL0-1", "CELL1-1", "CELL2-1", "CELL3-1"]
        assert table.features["gene_id"].tolist() == ["ENSG0", "ENSG1", "ENSG2"]
        assert table.features["feature_type"][0] == "Gene Expression"


def test_genes_of_one_symbol_are_told_apart_by_their_id(tmp_path):
    genes = [("E1", "MATR3", "x"), ("E2", "MATR3", "x"), ("E3", "CD4", "x")]
    table = rspca.read(write_10x(tmp_path, COUNTS, genes=genes))
    assert table.feature_names.tolist() == ["MATR3 (E1)", "MATR3 (E2)", "CD4"]


def test_lengths_decide_which_way_round_a_matrix_is(tmp_path):
    path = write_10x(tmp_path, COUNTS, packed=False)
    scipy.io.mmwrite(path, sp.coo_array(COUNTS))  # cells in rows
    np.testing.assert_array_equal(as_array(rspca.read(path)), COUNTS)
    square = np.arange(9).reshape(3, 3)
    scipy.io.mmwrite(path, sp.coo_array(square))
    (tmp_path / "barcodes.tsv").write_text("a\nb\nc\n")
    np.testing.assert_array_equal(as_array(rspca.read(path)), square.T)  # as Cell Ranger writes it
    np.testing.assert_array_equal(as_array(rspca.read(path, transpose=False)), square)
    (tmp_path / "barcodes.tsv").write_text("a\nb\n")
    with pytest.raises(ValueError, match=r"is 3 x 3, and the files next to it name 3 features and 2 barcodes"):
        rspca.read(path)
    with pytest.raises(ValueError, match=r"barcodes.tsv has 2 lines, and .* has 3 samples"):
        rspca.read(path, transpose=True)


# What headers announce


def npy_with(shape, content=b"\0" * 64, descr="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + content


MTX = "%%MatrixMarket matrix {} {} {}\n% a comment\n\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.npy", npy_with((10**6, 10**6)), "announces"),
        ("t.npy", npy_with((2**40, 2**40)), "announces"),
        ("t.npy", npy_with((2**32, 2**32)), "announces"),
        ("t.npy", npy_with((-1, 2)), "shape"),
        ("t.npy", npy_with((8,)), "1 dimension"),
        ("t.npy", npy_with((0, 4), b""), "at least one sample"),
        ("t.npy", npy_with((2, 2), descr="|O"), "not a .npy file of numbers"),
        ("t.npy.gz", gzip.compress(npy_with((2, 4)), mtime=0), "unpack it"),
        ("t.mtx", MTX.format("coordinate", "real", "general") + "9 9 1000000000000\n1 1 1\n", "too short"),
        ("t.mtx", MTX.format("coordinate", "real", "general") + "1000000000000 9 1\n1 1 1\n", "far more than it can"),
        ("t.mtx", MTX.format("array", "real", "general") + "1000000 1000000\n1\n", "too short"),
        ("t.mtx", MTX.format("coordinate", "real", "general") + "-3 9 1\n1 1 1\n", "line of sizes"),
        ("t.mtx", MTX.format("coordinate", "real", "general") + "2 2 2\n1 1 1\n", "Matrix Market file"),
        ("t.mtx", MTX.format("coordinate", "real", "general") + "2 2 1\n3 1 1\n", "Matrix Market file"),
        ("t.mtx", MTX.format("coordinate", "real", "general"), "line of sizes"),
        (
            "t.mtx.gz",
            gzip.compress(b"%%MatrixMarket matrix coordinate real general\n9 9 9\n", mtime=0)[:-9],
            "t.mtx.gz",
        ),
        ("t.mtx", MTX.format("coordinate", "complex", "general") + "2 2 1\n1 1 1 1\n", "only real numbers"),
    ],
)
def test_what_a_header_announces_must_be_there(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((ValueError, TypeError), match=said):
        rspca.read(tmp_path / name)


def test_members_of_an_archive_are_held_against_their_headers(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", npy_with((10**6, 10**6)))
    with pytest.raises(ValueError, match=r"X\.npy announces \(1000000, 1000000\)"):
        rspca.read(tmp_path / "t.npz")


def test_indices_outside_of_a_sparse_matrix_are_refused(tmp_path):
    np.savez(
        tmp_path / "t.npz", format=np.array("csr"), shape=np.array([2, 3]), data=np.ones(2),
        indices=np.array([0, 10**6]), indptr=np.array([0, 1, 2]),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"t\.npz is not a \.npz file of one matrix"):
        rspca.read(tmp_path / "t.npz")


@pytest.mark.parametrize("kind", ["pattern", "integer", "real"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("packed", [True, False])
def test_every_kind_of_matrix_market_file_is_read(tmp_path, kind, symmetry, packed):
    entries = [(1, 1), (2, 1), (3, 3)]
    value = {"pattern": "", "integer": " 7", "real": " 7.0"}[kind]
    text = MTX.format("coordinate", kind, symmetry) + "3 3 3\n" + "".join(f"{i} {j}{value}\n" for i, j in entries)
    path = tmp_path / ("t.mtx.gz" if packed else "t.mtx")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    expected = np.zeros((3, 3))
    for i, j in entries:
        expected[i - 1, j - 1] = 7 if value else 1
        if symmetry == "symmetric":
            expected[j - 1, i - 1] = 7 if value else 1
    table = rspca.read(path)
    np.testing.assert_array_equal(as_array(table), expected)
    assert sp.issparse(table.operator.X)


# Parquet


@pytest.fixture
def parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="to read .parquet needs pyarrow: pip install 'rspca[parquet]'")
    pandas = pytest.importorskip("pandas")

    def read(frame, options=(), **stored):
        pandas.DataFrame(frame, index=stored.get("index")).to_parquet(tmp_path / "t.parquet")
        return rspca.read(tmp_path / "t.parquet", **dict(options))

    return read


def test_parquet_keeps_names_and_labels(parquet):
    frame = {"a": [1.0, 2, 4], "b": [3, 4, 4], "on": [True, False, True]}
    table = parquet(frame, index=["x", "y", "z"])
    np.testing.assert_array_equal(as_array(table), [[1, 3, 1], [2, 4, 0], [4, 4, 1]])
    assert table.feature_names.tolist() == ["a", "b", "on"]
    assert table.sample_names.tolist() == ["x", "y", "z"]
    table = parquet(frame | {"kind": ["u", "u", "v"]}, {"labels": ["kind", "on"]})
    assert table.feature_names.tolist() == ["a", "b"]
    assert table.samples["kind"].tolist() == ["u", "u", "v"]
    assert table.samples["on"].tolist() == [True, False, True]
    with pytest.warns(UserWarning, match=r"\(kind\) are used as labels"):
        parquet({"kind": ["u", "u", "v"]} | frame)
    assert parquet({"id": ["u", "v", "w"]} | frame).sample_names.tolist() == ["u", "v", "w"]


def test_decimals_are_numbers_and_dates_are_labels(parquet):
    days = [datetime.date(2020, 1, day) for day in (1, 2)]
    with pytest.warns(UserWarning, match=r"\(day\)"):
        table = parquet({"a": [decimal.Decimal("1.5"), decimal.Decimal("2.5")], "day": days})
    assert as_array(table).ravel().tolist() == [1.5, 2.5]
    assert table.samples["day"].tolist() == ["2020-01-01", "2020-01-02"]
    with pytest.raises(ValueError, match="row 2, column a: the cell is empty"):
        parquet({"a": [decimal.Decimal("1.5"), None]})


def test_single_precision_stays_in_parquet(parquet):
    assert parquet({"a": np.float32([1, 2]), "b": np.float32([1, 3])}).operator.dtype == np.float32


def test_parquet_may_have_features_in_rows(parquet):
    table = parquet({"s0": [1.0, 2.0], "s1": [3.0, 5.0], "s2": [0.0, 1.0]}, {"transpose": True}, index=["g0", "g1"])
    assert table.shape == (3, 2)
    assert table.feature_names.tolist() == ["g0", "g1"]
    assert table.sample_names.tolist() == ["s0", "s1", "s2"]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"a": [1.0, None], "b": [1, 2]}, r"row 2, column a: the cell is empty"),
        ({"a": [1.0, np.inf], "b": [1, 2]}, r"row 2, column a: inf is not a finite number"),
        ({"a": ["u", "v"]}, "has no column of numbers"),
        ({"a": [], "b": []}, "no rows"),
    ],
)
def test_what_is_no_frame_of_numbers_is_refused(parquet, frame, said):
    with pytest.raises(ValueError, match=said):
        parquet(frame)


def test_bytes_that_are_no_parquet_are_refused(tmp_path):
    pytest.importorskip("pyarrow")
    for content in (b"", b"PAR1", b"nothing at all", b"PAR1" + b"\xff" * 64 + b"PAR1"):
        (tmp_path / "t.parquet").write_bytes(content)
        with pytest.raises(ValueError, match=r"t\.parquet is not a \.parquet file") as error:
            rspca.read(tmp_path / "t.parquet")
        assert "\n" not in str(error.value)
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress(b"PAR1"))
    with pytest.raises(ValueError, match="unpack"):
        rspca.read(tmp_path / "t.parquet.gz")


@pytest.mark.parametrize(
    ("suffix", "package", "extra"), [(".parquet", "pyarrow", "parquet"), (".h5ad", "h5py", "anndata")]
)
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, suffix, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / f"t{suffix}").write_bytes(b"x")
    with pytest.raises(ImportError, match=rf"pip install 'rspca\[{extra}\]'"):
        rspca.read(tmp_path / f"t{suffix}")


def test_names_in_an_archive_are_those_of_features_whichever_way_round_it_is(tmp_path):
    square = X[:4]
    names = {"feature_names": np.array(list("abcd"), dtype="S"), "sample_names": np.array(list("wxyz"))}
    np.savez(tmp_path / "a.npz", X=square.T, **names)
    table = rspca.read(tmp_path / "a.npz", transpose=True)
    np.testing.assert_array_equal(as_array(table), square)
    assert (table.feature_names.tolist(), table.sample_names.tolist()) == (list("abcd"), list("wxyz"))


def test_names_that_do_not_fit_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, feature_names=np.array(["a", "b"]))
    with pytest.raises(ValueError, match="feature_names has 2 entries for 4"):
        rspca.read(tmp_path / "a.npz")


def test_no_level_of_an_index_is_a_feature(tmp_path):
    pd = pytest.importorskip("pandas", reason="frames need pandas")
    pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    index = pd.MultiIndex.from_arrays([list("aabbcc"), range(100, 700, 100)], names=["donor", "cell"])
    pd.DataFrame(X, columns=list("wxyz"), index=index).to_parquet(tmp_path / "a.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = rspca.read(tmp_path / "a.parquet")
    assert table.feature_names.tolist() == list("wxyz")
    assert table.sample_names.tolist() == ["a/100", "a/200", "b/300", "b/400", "c/500", "c/600"]
    assert table.samples["donor"].tolist() == list("aabbcc")
    assert table.samples["cell"].tolist() == [100, 200, 300, 400, 500, 600]
