"""What tools/fuzz.py found, each as the few bytes that show it: files that crashed, hung or got in."""

import io
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from support.refusal import complaint

import rspca
from rspca import formats
from rspca.cli.support.checkpoint import NAME, Partial
from rspca.cli.support.inputs import labels_of
from rspca.cli.support.outputs import read_scores
from rspca.cli.support.spreadsheets import read_csv
from rspca.genetics.regions import read_regions

X = np.random.default_rng(0).standard_normal((5, 4)).round(2)


def shortened(value):
    """Return a name for a test: the beginning of its value."""
    return ascii(value)[:30]


def refused(path, content, read=rspca.read):
    """Check that a file is refused by its name in one line, and return that."""
    path.write_bytes(content)
    said = complaint(read, path)
    assert path.name in said
    assert len(said) < 600
    return said


# Text


@pytest.mark.parametrize("position", ["99999999999999999999", "1_000", "\u0663", "1.5", "x" * 3000], ids=shortened)
def test_a_position_that_is_no_whole_number_of_64_bits(tmp_path, position):
    (tmp_path / "g.bed").write_bytes(b"\x6c\x1b\x01\x00")
    (tmp_path / "g.fam").write_text("F P 0 0 1 -9\n")
    (tmp_path / "g.bim").write_text(f"1 rs1 0 {position} A G\n", encoding="utf-8")
    said = complaint(rspca.read, tmp_path / "g.bed")
    assert "g.bim, line 1: position" in said
    assert len(said) < 400


def test_variants_of_one_name_are_told_with_their_file(tmp_path):
    formats.write_plink(tmp_path / "g.bed", [[0, 1], [2, 1]], variants={"snp": ["a", "a"]})
    assert "g.bed: 1 SNP id(s) occur more than once: a" in complaint(rspca.read, tmp_path / "g.bed")


def test_a_genotype_of_thousands_of_digits_is_shown_in_part(tmp_path):
    (tmp_path / "g.site").write_text("CHR POS ID REF ALT\n22 100 rs1 A C\n")
    refused(tmp_path / "g.geno", b"Han P1 " + b"9" * 4500, lambda path: formats.read_laser(path, tmp_path / "g.site"))


def test_a_document_number_of_thousands_of_digits(tmp_path):
    refused(tmp_path / "a.all", b".I " + b"9" * 4500 + b"\n.W\ntext\n", formats.read_smart)


@pytest.mark.parametrize("value", ["inf", "1e999", "-Infinity", "1_000", "9" * 4500], ids=shortened)
def test_a_study_with_a_value_that_is_not_finite(tmp_path, value):
    text = f'!series_matrix_table_begin\n"ID_REF"\t"GSM1"\n"probe"\t{value}\n!series_matrix_table_end\n'
    assert "line 3, probe" in refused(tmp_path / "s.txt", text.encode(), formats.read_series_matrix)


STUDY = '!Sample_a{0}b\t"x"{1}\n!series_matrix_table_begin\n"ID_REF"\t"GSM1"\n"p{0}q"\t{2}\n!series_matrix_table_end\n'


@pytest.mark.parametrize(("more", "value", "said"), [('\t"y"', "1", "!Sample_a"), ("", "x", "line 4, p")])
@pytest.mark.parametrize("end", ["\r", "\x0b", "\u2028", "\x85"], ids=ascii)
def test_a_name_in_a_study_with_a_line_end_inside(tmp_path, end, more, value, said):
    content = STUDY.format(end, more, value).encode()
    assert f"{said}{ascii(end)[1:-1]}" in refused(tmp_path / "s.txt", content, formats.read_series_matrix)


@pytest.mark.parametrize(
    "line", ["chr1 20 10", "chr1 1 \u00b2", "chr1 " + "9" * 4500 + " 10", "x" * 5000], ids=shortened
)
def test_a_region_that_is_none(tmp_path, line):
    assert "line 1" in refused(tmp_path / "r.bed", line.encode(), read_regions)


def test_a_document_of_words_that_all_have_is_told_with_its_file(tmp_path):
    refused(tmp_path / "d.txt", b"flow wing\nflow\n")


@pytest.mark.parametrize(
    "content", [b"\xff\n", b"a,b\n1\n", b"", b'"' + b"x" * 140000], ids=["bytes", "ragged", "empty", "field"]
)
def test_a_table_of_ours_that_was_damaged(tmp_path, content):
    refused(tmp_path / "components.csv", content, read_csv)


@pytest.mark.parametrize("cell", ["nan", "inf", "x" * 4000, ""], ids=shortened)
def test_scores_that_are_no_finite_numbers(tmp_path, cell):
    refused(tmp_path / "scores.csv", f"sample,component1\na,{cell}\n".encode(), lambda path: read_scores(path, 1))


def test_scores_of_nobody(tmp_path):
    refused(tmp_path / "scores.csv", b"sample,component1\n", lambda path: read_scores(path, 1))


def test_labels_with_a_line_end_inside(tmp_path):
    refused(tmp_path / "labels.txt", b"s0,a\rb,red\ns1,y,blue\n", lambda path: labels_of(str(path), ["s0", "s1"], {}))


def test_two_labels_of_a_sample_are_told_in_one_line(tmp_path):
    content = b's0,red\ns1,blue\ns0,"dark\x0bred"\n'
    said = refused(tmp_path / "labels.txt", content, lambda path: labels_of(str(path), ["s0", "s1"], {}))
    assert "has two labels for s0: red and dark\\x0bred" in said


# Matrix Market: SciPy 1.17 ended the process at the first six, and read the others as other numbers

ARRAY, SPARSE = b"%%MatrixMarket matrix array real general\n", b"%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    "content",
    [
        ARRAY + b"2 1\n6.\0\n1\n", ARRAY + b"2 1\n1\n6.4E", SPARSE + b"2 2 2\n1 1 1\n2 2 6.4E",
        SPARSE + b"2 2 1\n2 2 6E-", ARRAY + b"2 1\n1\r2\r", ARRAY + b"0 4\n1\n2\n",
        ARRAY + b"2 1\n1d5\n2D3\n", ARRAY + b"2 1\n1.5.3\n2\n", ARRAY + b"2 1\n6.x\n1\n", ARRAY + b"2 1\n1-5\n2\n",
        SPARSE + b"2 2 1\n1 1 \xb2\n", ARRAY + b"2 1\n1e5e5\n1\n",
    ],
)  # fmt: skip
def test_a_matrix_market_file_of_misspelled_numbers(tmp_path, content):
    refused(tmp_path / "a.mtx", content)


def test_a_matrix_market_file_larger_than_what_is_checked_at_once(tmp_path):
    numbers = np.random.default_rng(0).standard_normal((3, 60000))
    text = "\n".join(map(repr, numbers.T.ravel().tolist()))
    (tmp_path / "a.mtx").write_bytes(ARRAY + b"3 60000\n" + text.encode())
    assert len(text) > 3 * 2**20
    np.testing.assert_array_equal(rspca.read(tmp_path / "a.mtx").operator.columns(np.arange(60000)), numbers)
    at = text.index("\n", 2**20) + 1
    refused(tmp_path / "a.mtx", ARRAY + b"3 60000\n" + (text[:at] + "." + text[at:]).encode())
    refused(tmp_path / "a.mtx", ARRAY + b"2 1\n1\n2" + b" " * 3 * 2**20)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b" \n\n"])
def test_a_matrix_market_file_may_end_without_a_line_end(tmp_path, end):
    (tmp_path / "a.mtx").write_bytes(SPARSE + b"% \xc3\xa9\n2 2 2\n1 1 1.5E0\n2 2 -.5e-1" + end)
    np.testing.assert_array_equal(rspca.read(tmp_path / "a.mtx").operator.columns(np.arange(2)), [[1.5, 0], [0, -0.05]])


# Arrays


def header(text):
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "text",
    [b"{'descr': '<f8', 'fortran_order': False, 'shape': (", b"{", b"(" * 200, b"{'descr': '<f8'}", b"\0", b"'" * 9],
    ids=shortened,
)
def test_a_header_that_python_cannot_parse(tmp_path, text):
    refused(tmp_path / "a.npy", header(text + b"\n") + bytes(64))
    refused(tmp_path / "a.npz", zipped({"X.npy": header(text + b"\n") + bytes(64)}))


@pytest.mark.parametrize("array", [np.ones(3), np.ones((2, 2, 2)), np.ones((0, 3)), np.float64(1.0)], ids=str)
def test_an_array_that_is_no_matrix_is_told_with_its_file(tmp_path, array):
    refused(tmp_path / "a.npy", npy(array))


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def unzipped(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def stored(tmp_path, matrix, **changes):
    """Return a sparse matrix as SciPy stores it, some of its arrays changed."""
    sp.save_npz(tmp_path / "right.npz", matrix)
    return zipped(unzipped(tmp_path / "right.npz") | {f"{name}.npy": npy(array) for name, array in changes.items()})


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.bsr_array])
def test_pointers_that_fall_ended_the_process(tmp_path, make):
    matrix = make(np.eye(4))
    for pointers in ([0, 0, 3, 0, 0], [0, 3, 1, 2, 4], [4, 3, 2, 1, 0]):
        refused(tmp_path / "m.npz", stored(tmp_path, matrix, indptr=np.array(pointers, dtype=np.int32)))


def test_a_shape_that_no_file_can_fill_ran_for_hours(tmp_path):
    for shape in ([5, 2**61], [2**61, 5], [2**40, 2**40]):
        said = refused(tmp_path / "m.npz", stored(tmp_path, sp.coo_array(np.eye(4)), shape=np.array(shape)))
        assert "far more than it can fill" in said or "shape" in said


def test_names_of_characters_that_do_not_exist(tmp_path):
    names = npy(np.array(["a", "b", "c", "d"])).replace(b"b\0\0\0", b"b\0\0\xff")
    refused(tmp_path / "m.npz", zipped({"X.npy": npy(X), "feature_names.npy": names}))


def test_damaged_notes_of_pandas_in_a_parquet_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for note in (b"{", b"\xff\xfe", b"[1]"):
        frame = pa.table({"a": [1.0, 2.0], "b": [3.0, 5.0]}).replace_schema_metadata({b"pandas": note})
        parquet.write_table(frame, tmp_path / "t.parquet")
        assert "t.parquet" in complaint(rspca.read, tmp_path / "t.parquet")


# Models, certificates, unfinished fits


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.npz"
    rspca.SparsePCA(2, k=2, random_state=0).fit(X).save(path)
    return unzipped(path)


@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("mean_.npy", header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296,), }\n") + bytes(64)),
        ("mean_.npy", header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }\n")),
        ("mean_.npy", header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (4,\n")),
        ("components.data.npy", npy(np.full(4, 3.0))),
        ("components.data.npy", npy(np.full(4, np.nan))),
        ("components.data.npy", npy(np.array(["a", "b", "c", "d"]))), ("inclusion.data.npy", npy(np.full(4, 1.5))),
        ("inclusion.data.npy", npy(np.zeros(4, dtype=">c16"))), ("inclusion.shape.npy", npy(np.array([2, 9]))),
        ("features.a.npy", npy(np.zeros(4, dtype="M8[s]"))),
        ("components.indptr.npy", npy(np.array([0, 5, 0], dtype=np.int32))),
        ("components.shape.npy", npy(np.array([2**40, 2**40]))), ("components.shape.npy", npy(np.array([2, 2**50]))),
        ("inclusion.shape.npy", npy(np.array([2, 2**50]))),
        ("scale_.npy", npy(np.array([1.0, -1.0, 1.0, 1.0]))), ("scale_.npy", npy(np.full(4, 1e-310))),
        ("mean_.npy", npy(np.full(4, 1.7e308))),
        ("model.json", b"[" * 100000),
        ("model.json", b'{"format": 1, "params": {}, "integers": {"n_components_": 1e999}}'),
        ("model.json", b'{"format": "' + b"x" * 9000 + b'"}'),
        ("model.json", b"null"),
    ],
    ids=shortened,
)  # fmt: skip
def test_a_damaged_model_is_refused_in_one_short_line(model, tmp_path, member, content):
    refused(tmp_path / "m.npz", zipped(model | {member: content}), rspca.load)


CHANGES = {
    "support out of order": {"support": [2, 0]}, "support twice": {"support": [1, 1]},
    "other feature": {"support": [0, 9]},
    "half a feature": {"support": [0, 1.5]}, "negative feature": {"support": [-1, 2]},
    "huge feature": {"support": [0, 10**30]},
    "loadings NaN": {"loadings": [float("nan"), 1.0]}, "loadings long": {"loadings": [3.0, 4.0]},
    "loadings few": {"loadings": [1.0]}, "loadings text": {"loadings": "ab"}, "k": {"k": 1}, "k text": {"k": "2"},
    "k above n": {"k": 9}, "k true": {"k": True}, "lower above upper": {"lower": 1e9}, "lower zero": {"lower": 0.0},
    "upper infinite": {"upper": float("inf")}, "bounds": {"bounds": []}, "bound": {"bounds": [["a", "b", 1.0]]},
    "bound null": {"bounds": [None]}, "status": {"status": "perfect"}, "center": {"center": "yes"},
    "scale": {"scale": 3},
    "seconds": {"seconds": None}, "extra": {"command": "rm"}, "format": {"format": 2}, "words": {"assumptions": [1]},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_certificate_whose_numbers_contradict_each_other(tmp_path, name):
    content = rspca.certify(X, 2).as_json()
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(content))
    assert rspca.Certificate.load(path).k == 2
    refused(path, json.dumps(content | CHANGES[name]).encode(), rspca.Certificate.load)


def test_a_certificate_of_numpy_settings_is_saved_and_may_have_a_bound_that_proved_nothing(tmp_path):
    proof = rspca.certify(X, 2, center=np.True_, scale=np.False_, tol=np.float32(1e-6))
    proof.save(tmp_path / "proof.json")
    assert rspca.Certificate.load(tmp_path / "proof.json").center is True
    content = proof.as_json()
    content["bounds"].append(["no bound", float("inf"), 0.0])
    assert rspca.Certificate.from_json(json.loads(json.dumps(content))).bounds[-1].value == np.inf


@pytest.mark.parametrize(
    "content",
    [b"[" * 100000, b"9" * 5000, b"null", b"\xff", b'{"format": "rspca certificate 1"}'],
    ids=shortened,
)
def test_a_certificate_that_is_none(tmp_path, content):
    refused(tmp_path / "proof.json", content, rspca.Certificate.load)


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unfinished")
    partial = Partial(folder, {"k": 2}, {"shape": [5, 4]})
    partial.add(rspca.decompose(X, 1, k=2, random_state=0).components[0])
    return unzipped(folder / NAME)


@pytest.mark.parametrize(
    ("member", "array"),
    [
        ("0.support", np.array([2, 0])), ("0.support", np.array([0, 9])), ("0.support", np.array([0.0, 1.0])),
        ("0.support", np.array([], dtype=int)), ("0.loadings", np.array([np.nan, 1.0])),
        ("0.loadings", np.array([3.0, 4.0])), ("0.loadings", np.array([1.0])),
        ("0.inclusion", np.array([7.0, 7.0, 7.0, 7.0])), ("0.included", np.array([9])),
        ("partial.json", np.frombuffer(b"[" * 5000, dtype=np.uint8)),
    ],
    ids=shortened,
)  # fmt: skip
def test_a_kept_component_that_is_none(unfinished, tmp_path, member, array):
    def resume(path):
        return Partial(path.parent, {"k": 2}, {"shape": [5, 4]}).resume()

    (tmp_path / NAME).write_bytes(zipped(unfinished))
    assert len(resume(tmp_path / NAME)) == 1
    refused(tmp_path / NAME, zipped(unfinished | {f"{member}.npy": npy(array)}), resume)


@pytest.mark.parametrize(("name", "value"), [
    ("variance", float("nan")), ("variance", -1.0), ("variance", None), ("n_features", 10**18), ("n_iter", "many"),
    ("converged", None), ("passes", "1"),
])  # fmt: skip
def test_a_kept_number_that_is_none(unfinished, tmp_path, name, value):
    meta = json.loads(bytes(np.load(io.BytesIO(unfinished["partial.json.npy"]))))
    meta["components"][0][name] = value
    changed = unfinished | {"partial.json.npy": npy(np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8))}
    refused(tmp_path / NAME, zipped(changed), lambda path: Partial(path.parent, {"k": 2}, {"shape": [5, 4]}).resume())


def test_a_column_of_text_whose_texts_are_not_there(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow", reason="pyarrow, the extra parquet, is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow, the extra parquet, is not installed")
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), pa.array(["a"]), safe=False)
    table = pa.table({"kind": kinds, "x": [1.0, 2.0], "y": [3.0, 5.0]})
    parquet.write_table(pa.table({"kind": ["a", "b"], "x": [1.0, 2.0], "y": [3.0, 5.0]}), tmp_path / "t.parquet")
    monkeypatch.setattr(parquet, "read_table", lambda *_, **__: table)  # as from damaged bytes
    said = complaint(rspca.read, tmp_path / "t.parquet")
    assert "t.parquet is not a .parquet file, or it is damaged: " in said
    assert len(said) < 600
