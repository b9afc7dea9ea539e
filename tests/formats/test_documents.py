"""Documents read as a table: words, files and folders keep their names to the end."""

import csv
import gzip
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import rspca
from rspca.cli.app import app
from rspca.text import term_matrix

WINGS = ["The wing in supersonic flow lifts", "Flow past a wing and its drag", "Drag of a wing in a shear flow"]
BOOKS = ["A library lends its books", "Books and catalogs of a library", "Indexing the books of the library"]


@pytest.fixture
def folder(tmp_path):
    for name, texts in (("wings", WINGS), ("books/old", BOOKS)):
        (tmp_path / "docs" / name).mkdir(parents=True)
        for i, text in enumerate(texts):
            (tmp_path / "docs" / name / f"{i}.txt").write_text(text)
    return tmp_path / "docs"


def test_a_folder_becomes_documents_by_words(folder):
    table = rspca.read(folder)
    expected = term_matrix(BOOKS + WINGS)  # books/old comes first
    assert sp.issparse(table.operator.X)
    np.testing.assert_allclose(table.operator.X.toarray(), expected.matrix.toarray())
    assert table.feature_names.tolist() == list(expected.vocabulary)
    assert table.sample_names.tolist() == [f"{d}/{i}.txt" for d in ("books/old", "wings") for i in range(3)]
    assert table.samples["folder"].tolist() == ["books/old"] * 3 + ["wings"] * 3
    assert table.features["documents"][table.feature_names.tolist().index("library")] == 3


def test_words_and_files_are_in_the_results(folder, tmp_path):
    table = rspca.read(folder)
    model = rspca.SparsePCA(2, k=3, random_state=0).fit(table)
    topics = [{feature.name for feature in model.top_features(j)} for j in range(2)]
    assert model.top_features()[0].documents >= 1
    scores = model.score_table(table)
    assert scores["sample"][0] == "books/old/0.txt"
    assert scores["folder"][5] == "wings"
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app, ["fit", str(folder), "-k", "3", "-n", "2", "-o", str(out), "--method", "rspca", "--center"]
    )
    assert done.exit_code == 0, done.output
    with (out / "components.csv").open(newline="") as file:
        assert {row["feature"] for row in csv.DictReader(file)} == topics[0] | topics[1]
    with (out / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["sample"] for row in rows] == table.sample_names.tolist()
    assert [row["folder"] for row in rows] == table.samples["folder"].tolist()


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_has_a_document_on_each_line_that_is_not_blank(tmp_path, packed):
    content = ("\ufeff" + WINGS[0] + "\r\n\r\n" + BOOKS[0] + "\n   \n" + BOOKS[1]).encode()
    path = tmp_path / ("d.txt.gz" if packed else "d.txt")
    path.write_bytes(gzip.compress(content) if packed else content)
    table = rspca.read(path)
    assert table.sample_names.tolist() == ["line 1", "line 3", "line 5"]
    assert table.feature_names.tolist() == list(term_matrix([WINGS[0], *BOOKS[:2]]).vocabulary)
    assert "folder" not in table.samples


def test_options_of_the_text_are_options_of_read(folder):
    table = rspca.read(folder, stop_words=["wing", "library"], min_documents=2, min_length=4, empty="drop")
    assert not {"wing", "library"} & set(table.feature_names)
    assert table.features["documents"].min() >= 2
    assert min(map(len, table.feature_names)) >= 4
    plain = rspca.read(folder, idf=False).operator.X
    np.testing.assert_allclose(sp.linalg.norm(plain, axis=1), 1)


def test_only_text_files_of_a_folder_are_documents_unless_asked(folder):
    (folder / "notes.md").write_text("markdown notes about gliders")
    (folder / "packed.txt.gz").write_bytes(gzip.compress(b"gliders soar"))
    table = rspca.read(folder)
    assert "packed.txt.gz" in table.sample_names
    assert "markdown" not in table.feature_names
    assert table.samples["folder"][table.sample_names.tolist().index("packed.txt.gz")] == ""
    assert "markdown" in rspca.read(folder, pattern="*").feature_names
    assert rspca.read(folder, pattern="*.md", idf=False).shape[0] == 1


def test_a_flat_folder_has_no_subfolders_to_tell(tmp_path):
    for i, text in enumerate(WINGS):
        (tmp_path / f"{i}.txt").write_text(text)
    assert set(rspca.read(tmp_path).samples) == {"sample"}


def test_what_is_no_folder_of_documents_is_told(tmp_path, folder):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ValueError, match=r"empty has no documents named \*\.txt; pattern='\*' reads all"):
        rspca.read(empty)
    (folder / "wings" / "1.txt").write_text("the of 12")
    with pytest.raises(ValueError, match=r"1 of 6 documents have no term left: wings/1\.txt\. .*empty=.drop."):
        rspca.read(folder)
    for path in folder.rglob("*.txt"):
        path.write_text("wing")
    with pytest.raises(ValueError, match=r"row\(s\) books/old/0\.txt, .* only terms that every document has"):
        rspca.read(folder)
    (folder / "wings" / "1.txt").write_bytes("Flügel".encode("latin-1"))
    with pytest.raises(ValueError, match=r"1\.txt is not utf-8 text \(byte 2\); give its encoding"):
        rspca.read(folder)
    assert "flügel" in rspca.read(folder, encoding="latin-1", idf=False).feature_names
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        rspca.read(tmp_path / "nowhere")
    with pytest.raises(TypeError, match=r"layer is no option for documents; its options are pattern, stop_words"):
        rspca.read(folder, layer="x")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no documents"),
        (b"\n \n", "has no documents"),
        (b"1.5 2.5\n3 4\n", r"d\.txt begins with numbers.*name a table \.csv or \.tsv"),
        (b"wing flow\nwing \xff\n", "line 2: byte 0xff is not utf-8"),
        (b"wing flow\nwing\0flow\n", "line 2 is not text: it has zero bytes"),
    ],
)
def test_what_is_no_file_of_documents_is_told(tmp_path, content, said):
    (tmp_path / "d.txt").write_bytes(content)
    with pytest.raises(ValueError, match=said):
        rspca.read(tmp_path / "d.txt")


def test_the_guide_shows_the_numbers_of_its_script():
    root = Path(__file__).resolve().parent.parent.parent
    printed = (root / "benchmarks" / "results" / "centering.txt").read_text()
    guide = (root / "docs" / "text.md").read_text()
    for row, pattern in (
        ("negative words in each", r"(\d+) negative"),
        ("cosine with the mean document", r"mean of the documents ([\d.]+)"),
        ("AUC of the scores between the collections", r"AUC between the collections ([\d.]+)"),
    ):
        found = [value.rstrip(".") for value in re.findall(pattern, printed)]
        assert f"| {row} | {', '.join(found[:4])} | {', '.join(found[4:])} |" in guide
