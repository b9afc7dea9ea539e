"""Scores of new documents: words, weights and rules come from the model, in Python and on the command line."""

import csv
import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.commandline import call as run

import rspca
from rspca.text import term_matrix

WINGS = ["The wing in supersonic flow lifts", "Flow past a wing and its drag", "Drag of a wing in a shear flow"]
BOOKS = ["A library lends its books", "Books and catalogs of a library", "Indexing the books of the library"]
NEW = ["A glider wing without drag, drag or gliders", "Books", "Penguins breed"]
STORED = Path(__file__).parent.parent / "stored" / "documents_without_weights.npz"


def written(folder, texts):
    folder.mkdir(parents=True)
    for i, text in enumerate(texts):
        (folder / f"{i}.txt").write_text(text)
    return folder


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "docs", WINGS + BOOKS)


@pytest.fixture
def new(tmp_path):
    return written(tmp_path / "new", NEW)


def fitted(folder, **options):
    return rspca.SparsePCA(2, k=3, random_state=0).fit(rspca.read(folder, **options))


def by_hand(model, texts):
    """Scores from counts of the model's own words, times its idf, in rows of unit length."""
    weights = model.term_weights_
    counts = np.array([[text.lower().replace(",", " ").split().count(w) for w in weights.vocabulary] for text in texts])
    rows = counts * weights.idf
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
    return (rows - model.mean_) @ model.components_.T


def scores_in(text):
    return np.array([[float(row["component1"]), float(row["component2"])] for row in csv.DictReader(text.splitlines())])


# issue 14, item 15
def test_new_documents_score_the_same_in_python_and_on_the_command_line(folder, new, tmp_path):
    done = run("fit", folder, "-k", 3, "-n", 2, "-o", tmp_path / "out", "--no-report")
    assert done.returncode == 0, done.stderr
    model = rspca.load(tmp_path / "out" / "model.npz")
    with pytest.warns(UserWarning, match=r"4 of the 7 different words.* not in the model"):
        read = rspca.read(new, term_weights=model.term_weights_)
    expected = by_hand(model, NEW)
    np.testing.assert_allclose(model.transform(read), expected, atol=1e-12)
    with pytest.warns(UserWarning, match="not in the model"):
        np.testing.assert_allclose(model.transform(rspca.read(new)), expected, atol=1e-12)
    with pytest.warns(UserWarning, match="not in the model"):
        rows = term_matrix(NEW, term_weights=model.term_weights_)
    assert rows.vocabulary == model.term_weights_.vocabulary
    np.testing.assert_allclose(model.transform(rows.matrix.toarray()), expected, atol=1e-12)
    done = run("transform", tmp_path / "out", new)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(scores_in(done.stdout), expected, atol=1e-12)


# issue 14, item 15
@pytest.mark.parametrize("options", [{}, {"min_documents": 2}, {"idf": False}, {"stop_words": ["wing"]}], ids=str)
def test_documents_of_the_fit_keep_their_scores_after_saving(folder, tmp_path, options):
    model = fitted(folder, **options)
    before = model.transform(rspca.read(folder, **options))
    model.save(tmp_path / "model.npz")
    again = rspca.load(tmp_path / "model.npz")
    assert again.term_weights_.equals(model.term_weights_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # words that too few documents have are not known to the model
        table = rspca.read(folder, term_weights=again.term_weights_)
    np.testing.assert_allclose(again.transform(table), before, rtol=0, atol=1e-12)
    done = run("transform", tmp_path / "model.npz", folder)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(scores_in(done.stdout), before, rtol=0, atol=1e-12)


# issue 14, item 15
def test_words_that_the_model_does_not_know_are_counted_and_reported(folder, new, tmp_path):
    fitted(folder).save(tmp_path / "model.npz")
    done = run("transform", tmp_path / "model.npz", new, "--json")
    assert done.returncode == 0
    assert "4 of the 7 different words of these documents (4 of 8 occurrences) are not in the model" in done.stderr
    assert "1 document(s) have no word that weighs anything in the model: 2.txt" in done.stderr
    assert "--empty drop leaves them out" in done.stderr
    found = json.loads(done.stdout)["unknown_words"]
    assert found["unknown_words"] == 4
    assert found["without"] == ["2.txt"]
    assert "penguins" in found["frequent"]
    assert run("transform", tmp_path / "model.npz", folder).stderr == ""


# issue 14, item 15
def test_one_new_document_is_enough(folder, tmp_path):
    fitted(folder).save(tmp_path / "model.npz")
    model = rspca.load(tmp_path / "model.npz")
    one = written(tmp_path / "one", ["The wing lifts"])
    with pytest.raises(ValueError, match=r"term_weights=model\.term_weights_"):
        rspca.read(one)  # by itself its words weigh nothing
    scores = model.transform(rspca.read(one, term_weights=model.term_weights_))
    np.testing.assert_allclose(scores, by_hand(model, ["the wing lifts"]), atol=1e-12)
    (tmp_path / "one.txt").write_text("The wing lifts\n")
    for data in (one, tmp_path / "one.txt"):
        done = run("transform", tmp_path / "model.npz", data)
        np.testing.assert_allclose(scores_in(done.stdout), scores, atol=1e-12)


# issue 14, item 15
def test_documents_without_a_known_word_are_zero_rows_or_left_out(folder, tmp_path):
    model = fitted(folder)
    other = written(tmp_path / "other", ["Penguins", "A wing", "12"])
    weights = model.term_weights_
    with pytest.warns(UserWarning, match=r"2 document\(s\) have no word.*0\.txt, 2\.txt"):
        table = rspca.read(other, term_weights=weights)
    assert table.operator.X.toarray().any(axis=1).tolist() == [False, True, False]
    np.testing.assert_allclose(model.transform(table), by_hand(model, ["", "wing", ""]), atol=1e-12)
    assert rspca.read(other, term_weights=weights, empty="drop").sample_names.tolist() == ["1.txt"]
    with pytest.raises(ValueError, match=r"2 of 3 documents have no word.*empty=.drop."):
        rspca.read(other, term_weights=weights, empty="error")
    strangers = written(tmp_path / "strangers", ["Penguins"])
    with pytest.raises(ValueError, match="none of the 1 documents has a word"):
        rspca.read(strangers, term_weights=weights, empty="drop")


# issue 14, item 15
def test_rules_of_the_model_cannot_be_changed_when_documents_are_scored(folder, new, tmp_path):
    fitted(folder).save(tmp_path / "model.npz")
    done = run("transform", tmp_path / "model.npz", new, "--min-documents", 2)
    assert done.returncode == 2
    assert "--min-documents cannot be given: the model has its own from its fit" in done.stderr
    assert done.stderr.count("\n") == 1
    with pytest.raises(ValueError, match=r"such as 'wing'.*term_weights"):
        rspca.load(tmp_path / "model.npz").transform(rspca.read(new, stop_words=["wing"]))


# issue 14, item 15
def test_weights_of_words_must_be_those_of_a_model(folder):
    with pytest.raises(TypeError, match=r"term_weights=.* must be term_weights_ of a model"):
        rspca.read(folder, term_weights=fitted(folder))
    with pytest.raises(TypeError, match=r"term_weights='idf' must be"):
        term_matrix(WINGS, term_weights="idf")


# issue 14, item 15
def test_score_weights_documents_as_in_fit(folder, new):
    model = fitted(folder)
    with pytest.warns(UserWarning, match="not in the model"):
        share = model.score(rspca.read(new))
    with pytest.warns(UserWarning, match="not in the model"):
        assert share == pytest.approx(model.score(rspca.read(new, term_weights=model.term_weights_)), abs=1e-12)


# issue 14, item 15
def test_a_model_of_documents_that_an_earlier_version_saved_still_loads(folder, new, tmp_path):
    model = rspca.load(STORED)
    assert not hasattr(model, "term_weights_")
    (tmp_path / "docs.txt").write_text("\n".join(WINGS + BOOKS) + "\n")
    table = rspca.read(tmp_path / "docs.txt")
    with pytest.warns(UserWarning, match="does not store the weights of its words"):
        scores = model.transform(table)
    X = table.operator.columns(np.arange(table.shape[1]))
    np.testing.assert_allclose(scores, (X - model.mean_) @ model.components_.T, atol=1e-12)
    done = run("transform", STORED, new)
    assert done.returncode == 2
    assert "earlier version of rspca" in done.stderr
    assert done.stderr.count("\n") == 1


# issue 14, item 15
@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("text.idf.npy", np.array([1.0])),
        ("text.idf.npy", np.full(10, np.nan)),
        ("text.stop_words.npy", np.array([1.0])),
        ("model.json", {"min_length": 0}),
        ("model.json", {"max_length": 2}),
        ("model.json", {"max_length": 10**9}),
        ("model.json", {"norm": "l1"}),
    ],
)
def test_weights_that_contradict_themselves_are_refused(folder, tmp_path, member, content):
    path = tmp_path / "model.npz"
    fitted(folder).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if member == "model.json":
        meta = json.loads(members[member])
        meta["text"] |= content
        members[member] = json.dumps(meta).encode()
    else:
        np.save(tmp_path / "a.npy", content)
        members[member] = (tmp_path / "a.npy").read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match=r"not a model that SparsePCA\.save wrote, or it is damaged"):
        rspca.load(path)


# issue 14, item 15
def test_report_and_certify_weight_documents_by_the_model(folder, tmp_path):
    done = run("fit", folder, "-k", 2, "-n", 1, "--min-documents", 2, "-o", tmp_path / "out", "--no-report")
    assert done.returncode == 0, done.stderr
    done = run("certify", folder, "--model", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    done = run("report", tmp_path / "out", "--data", folder)
    assert done.returncode == 0, done.stderr


# issue 14, item 15
def test_a_second_fit_forgets_the_weights_of_words(folder):
    model = fitted(folder)
    assert len(model.term_weights_.vocabulary) == model.n_features_in_
    model.fit(np.random.default_rng(0).standard_normal((9, 5)))
    assert not hasattr(model, "term_weights_")
