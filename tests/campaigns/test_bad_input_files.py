"""Files, documents, reports and annotated data: what does not fit is refused by its name, and nothing is written."""

from pathlib import Path

import numpy as np
import pytest
from support.extras import skip_without_extras
from support.good_input import TEXTS, M, N, X, adata, certificate, model
from support.refusal import complaint, table

import rspca
from rspca import SparsePCA, formats, report, text


@table(
    {"None": None, "number": 3, "bytes": b"a", "empty": [], "numbers": [1, 2], "no file": "no such file or folder"},
    {"term_matrix.documents": text.term_matrix, "term_counts.documents": text.term_counts},
)
def test_documents_that_are_none_are_refused(call, argument, value):
    assert "document" in complaint(call, value)


@table(
    {"number": 3, "numbers": [1], "no file": "no such file"},
    {"term_matrix.stop_words": lambda value: text.term_matrix(TEXTS, stop_words=value)},
)
def test_stop_words_that_are_none_are_refused(call, argument, value):
    assert "stop_words" in complaint(call, value)


@table(
    {"None": None, "text": "a", "number": 1, "words": [["a"]], "negative": [[-1, 1]], "NaN": [[np.nan, 1]],
     "complex": [[1j, 1]], "empty row": [[0, 0], [1, 1]], "three dimensions": np.ones((1, 1, 2))},
    {"tf_idf.counts": text.tf_idf},
)  # fmt: skip
def test_counts_that_are_none_are_refused_by_their_name(call, argument, value):
    assert "counts" in complaint(call, value)


NO_GENOTYPES = {
    "None": None, "text": "a", "vector": [0, 1], "three dimensions": np.zeros((1, 1, 1)), "words": [["a"]],
    "three copies": [[3]], "half": [[0.5]], "complex": [[1j]], "no rows": np.zeros((0, 2)),
    "no columns": np.zeros((2, 0)),
}  # fmt: skip


@pytest.mark.parametrize("value", NO_GENOTYPES.values(), ids=NO_GENOTYPES)
def test_genotypes_that_are_none_are_not_written(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "X " in complaint(lambda value: formats.write_plink("never.bed", value), value)
    assert not list(tmp_path.iterdir())


REPORTS = {
    "scores shape": ({"scores": np.ones((3, 1))}, "scores"),
    "scores text": ({"scores": [["a", "b"]]}, "scores"),
    "scores NaN": ({"scores": [[np.nan, 1.0]]}, "scores"),
    "scores empty": ({"scores": []}, "scores"),
    "names without scores": ({"sample_names": ["a"]}, "sample_names"),
    "names too few": ({"scores": X[:, :2], "sample_names": ["a"]}, "sample_names"),
    "names number": ({"scores": X[:, :2], "sample_names": 3}, "sample_names"),
    "samples list": ({"scores": X[:, :2], "samples": [1]}, "samples"),
    "samples too few": ({"scores": X[:, :2], "samples": {"a": [1]}}, "samples"),
    "label unknown": ({"scores": X[:, :2], "samples": {"a": range(M)}, "label": "b"}, "label='b'"),
    "label without samples": ({"scores": X[:, :2], "label": "b"}, "label='b'"),
    "feature names": ({"feature_names": ["a"]}, "feature_names"),
    "feature names number": ({"feature_names": 3}, "feature_names"),
    "path points": ({"path_points": [1, 2]}, "path_points"),
    "comparison": ({"comparison": "rspca"}, "comparison"),
    "provenance": ({"provenance": 3}, "provenance"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_a_report_of_what_does_not_fit_is_refused_and_not_written(name, tmp_path):
    options, said = REPORTS[name]
    assert said in complaint(lambda _: report.write_report(tmp_path / "page.html", model(), **options), None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", [None, 3, "model.npz", SparsePCA()], ids=["None", "number", "path", "not fitted"])
def test_a_report_needs_a_fitted_model(given, tmp_path):
    complaint(lambda _: report.write_report(tmp_path / "page.html", given), None)
    assert not list(tmp_path.iterdir())


@table(
    {"None": None, "text": "a", "matrix": X, "number": 3},
    {"spca.adata": lambda value: rspca.spca(value, n_comps=1, k=2)},
)
def test_only_annotated_data_have_slots(call, argument, value):
    assert "adata" in complaint(call, value)


SINGLE_CELL = {
    "layer": ({"layer": "none"}, "layer"), "mask": ({"mask_var": "none"}, "mask_var"),
    "mask short": ({"mask_var": [True]}, "mask_var"), "mask empty": ({"mask_var": np.zeros(N, bool)}, "mask_var"),
    "key": ({"key_added": 3}, "key_added"), "option": ({"zero_center": True}, "zero_center"),
    "dtype": ({"dtype": "words"}, "dtype"), "memory": ({"max_memory": "much"}, "max_memory"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SINGLE_CELL))
def test_options_of_single_cells_are_refused_by_their_name(name):
    (options, said), cells = SINGLE_CELL[name], adata()
    assert said in complaint(lambda _: rspca.spca(cells, n_comps=1, **{"k": 2} | options), None)
    assert not cells.obsm


PLOTS = {
    "ks": (lambda draw: draw.SharesDisplay.from_data(X, 3), "ks=3"),
    "k": (lambda draw: draw.SharesDisplay.from_data(X, [99]), "k=99"),
    "X": (lambda draw: draw.SharesDisplay.from_data(None, [2]), "X "),
    "ax": (lambda draw: draw.SharesDisplay.from_data(X, [2], ax=3), "ax "),
    "comparison": (lambda draw: draw.ComparisonDisplay.from_comparison([1]), "comparison "),
    "axes": (lambda draw: draw.ComparisonDisplay.from_comparison([1], ax="a"), "ax "),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(PLOTS))
def test_what_cannot_be_drawn_is_refused_and_leaves_no_figure_open(name):
    plt = pytest.importorskip("matplotlib.pyplot")
    from rspca import plotting

    call, said = PLOTS[name]
    before = plt.get_fignums()
    assert said in complaint(call, plotting)
    assert plt.get_fignums() == before


READERS = {
    "read csv": ("t.csv", rspca.read), "read tsv": ("t.tsv", rspca.read), "read npy": ("a.npy", rspca.read),
    "read npz": ("a.npz", rspca.read), "read mtx": ("a.mtx", rspca.read), "read parquet": ("a.parquet", rspca.read),
    "read h5ad": ("a.h5ad", rspca.read), "read h5": ("a.h5", rspca.read), "read zarr": ("a.zarr", rspca.read),
    "read pgen": ("a.pgen", rspca.read), "read vcz": ("a.vcz", rspca.read),
    "read txt": ("a.txt", rspca.read), "read bed": ("a.bed", rspca.read),
    "read all": ("a.all", rspca.read), "read docword": ("docword.a.txt", rspca.read),
    "read_plink": ("a.bed", formats.read_plink), "read_smart": ("a.all", formats.read_smart),
    "read_series_matrix": ("a.txt", formats.read_series_matrix),
    "read_laser": ("a.geno", lambda path: formats.read_laser(path, path)),
    "load": ("a.npz", rspca.load), "Certificate.load": ("a.json", rspca.Certificate.load),
    "stop words": ("a.txt", lambda path: text.term_matrix(["a b"], stop_words=path)),
}  # fmt: skip
CONTENTS = {
    "empty": b"", "zeros": bytes(64), "UTF-16": "a,b\n1,2\n".encode("utf-16"), "latin-1": b"caf\xe9\n\xff 1\n",
    "gzip cut off": b"\x1f\x8b\x08\x00\x00", "zip cut off": b"PK\x03\x04\x14\x00",
    "NUMPY": b"\x93NUMPY\x01\x00\xff\xff{",
    "html": b"<!DOCTYPE html>\n<html>Not found</html>\n", "brackets": b"[" * 3000, "png": b"\x89PNG\r\n\x1a\n\x00\x00",
}  # fmt: skip


@pytest.mark.parametrize("content", sorted(CONTENTS))
@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_file_of_something_else_is_refused_by_its_name(reader, content, tmp_path):
    name, read = READERS[reader]
    skip_without_extras(name)
    path = tmp_path / name
    path.write_bytes(CONTENTS[content])
    if content in ("html", "brackets", "latin-1") and reader in ("stop words", "read txt"):
        return  # text is text
    if name.endswith(".bed"):
        (tmp_path / "a.bim").write_text("1 rs1 0 100 A G\n")
        (tmp_path / "a.fam").write_text("F P 0 0 1 -9\n")
    if reader == "stop words" and content in ("empty", "zeros", "zip cut off"):
        return  # a list of no words
    assert name in complaint(read, path)


@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_file_that_is_not_there_or_a_folder_is_refused_by_its_name(reader, tmp_path):
    name, read = READERS[reader]
    assert name in complaint(read, tmp_path / name)
    (tmp_path / name).mkdir()
    assert name in complaint(read, tmp_path / name)
    assert name in complaint(read, tmp_path / name / "below")


@pytest.mark.parametrize(
    "value", [None, 3, 2.5, [], {}, b"\x00", "a\0b", [None], object()], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize("entry", ["read", "load", "save", "Certificate.load", "Certificate.save", "read_plink"])
def test_what_is_no_path_is_refused(entry, value):
    functions = {
        "read": rspca.read, "load": rspca.load, "save": lambda value: model().save(value),
        "Certificate.load": rspca.Certificate.load, "Certificate.save": lambda value: certificate().save(value),
        "read_plink": formats.read_plink,
    }  # fmt: skip
    complaint(functions[entry], value)


def test_a_model_is_not_saved_where_it_cannot_be(tmp_path):
    for path in (tmp_path, tmp_path / "none" / "model.npz", Path("/dev/null/model.npz")):
        complaint(lambda path: model().save(path), path)
    assert not list(tmp_path.iterdir())
