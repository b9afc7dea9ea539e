"""Collections of documents: SMART and docword files, fitted vectorizers, and scores of documents of a fit."""

import csv
import gzip

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from support.commandline import call, one_line

import rspca

AIR = ["wing lift drag", "wing flow lift", "drag of the wing", "flow past a wing", "lift and drag"]
BOOKS = ["library books", "books in the catalog", "library catalog", "catalog of books", "library index"]


def smart(texts):
    return "".join(f".I {number}\n.T\ntitle\n.W\n{text}\n" for number, text in enumerate(texts, 1))


@pytest.fixture
def collections(tmp_path):
    (tmp_path / "air.all.1400").write_text(smart(AIR))
    with gzip.open(tmp_path / "BOOKS.ALL.gz", "wt") as file:
        file.write(smart(BOOKS))
    return [tmp_path / "air.all.1400", tmp_path / "BOOKS.ALL.gz"]


@pytest.fixture
def docword(tmp_path):
    words = sorted({word for text in AIR + BOOKS for word in text.split()})
    rows = [(i, words.index(word) + 1) for i, text in enumerate(AIR + BOOKS, 1) for word in set(text.split())]
    lines = [len(AIR + BOOKS), len(words), len(rows), *(f"{i} {j} 1" for i, j in rows)]
    (tmp_path / "docword.few.txt").write_text("\n".join(map(str, lines)) + "\n")
    (tmp_path / "vocab.few.txt").write_text("\n".join(words) + "\n")
    return tmp_path / "docword.few.txt"


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_smart_files_are_one_table_with_the_collection_of_each_document(collections):  # issue 20, item 7
    table = rspca.read(collections)
    assert table.sample_names[[0, 5]].tolist() == ["air 1", "BOOKS 1"]
    assert table.samples["collection"].tolist() == ["air"] * 5 + ["BOOKS"] * 5
    alone = rspca.read(collections[0], min_documents=2)
    assert alone.sample_names.tolist() == list("12345")
    assert "title" in alone.feature_names


def test_documents_of_a_fit_have_the_same_scores_again(collections, docword, tmp_path):
    for files in (collections, [docword]):
        out, again = tmp_path / "out", tmp_path / "again.csv"
        done = call("fit", *files, "-k", 3, "-n", 2, "-o", out)
        assert done.returncode == 0, done.stderr
        assert call("transform", out, *files, "-o", again).returncode == 0
        for row, same in zip(rows_of(out / "scores.csv"), rows_of(again), strict=True):
            assert all(abs(float(row[name]) - float(same[name])) < 1e-12 for name in ("component1", "component2"))
        shares = rows_of(out / "shares.csv")
        assert len({row["leading_topic"] for row in shares[:5]}) == 1
        assert {row["leading_topic"] for row in shares[:5]} != {row["leading_topic"] for row in shares[5:]}
        sums = [float(row["topic1"]) + float(row["topic2"]) for row in shares]
        assert all(abs(total - 1.0) < 1e-12 or total == 0.0 for total in sums)
        printed = call("transform", out, *files, "--shares").stdout.splitlines()
        assert printed == (out / "shares.csv").read_text().splitlines()


def test_documents_are_not_centered_unless_that_is_asked_for(collections, tmp_path):
    for options, center, method in (
        ((), False, "topics"),
        (("--center",), True, "topics"),
        (("--joint",), False, "rspca"),
    ):
        done = call("fit", *collections, "-k", 3, "-n", 2, "-o", tmp_path / "out", "--no-report", *options)
        assert done.returncode == 0, done.stderr
        model = rspca.load(tmp_path / "out" / "model.npz")
        assert (model.center, model.method) == (center, method)


def test_shares_need_topics_without_negative_loadings(collections, tmp_path):
    call("fit", *collections, "-k", 3, "--center", "--method", "rspca", "-o", tmp_path / "out", "--no-report")
    assert not (tmp_path / "out" / "shares.csv").exists()
    refused = call("transform", tmp_path / "out", *collections, "--shares")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "cut off"),
        (lambda lines: [*lines, "1 1 1"], "has more"),
        (lambda lines: [*lines[:3], "99 1 1", *lines[4:]], "outside of 10 documents"),
        (lambda lines: [*lines[:3], "1 1 0", *lines[4:]], "a count of 0"),
        (lambda lines: [*lines[:4], lines[3], *lines[5:]], "twice"),
        (lambda lines: [*lines[:3], "1 x 1", *lines[4:]], "is not 'document word count'"),
        (lambda lines: ["ten", *lines[1:]], "does not begin with the number of documents"),
        (lambda lines: [*lines[:2], "99999999", *lines[3:]], "documents of"),
        (lambda lines: ["2147483648", *lines[1:]], "nearly all would be empty"),
    ],
)
def test_docword_files_that_contradict_themselves_are_refused_in_one_line(docword, tmp_path, change, message):
    docword.write_text("\n".join(change(docword.read_text().splitlines())) + "\n")
    done = call("fit", docword, "-k", 2, "-o", tmp_path / "out")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_docword_needs_its_words(docword, tmp_path):
    (docword.parent / "vocab.few.txt").write_text("one\ntwo\n")
    with pytest.raises(ValueError, match="has 2 different words"):
        rspca.read(docword)
    (docword.parent / "vocab.few.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"needs its words: vocab\.few\.txt"):
        rspca.read(docword)
    assert "needs its words" in one_line(call("fit", docword, "-k", 2, "-o", tmp_path / "out").stderr)
    assert not (tmp_path / "out").exists()


SMART_DAMAGE = {
    "truncated": (lambda content: content[: content.index(b".I 5") + 5], "document 5 has no section"),
    "wrong magic": (lambda content: b"%PDF-1.4\n" + content, "a SMART file begins with '.I number'"),
    "mixed numbers": (lambda content: content.replace(b".I 4", b".I 2"), "numbers must rise"),
    "empty": (lambda content: b"", "has no documents"),
    "gzip cut off": (lambda content: gzip.compress(content)[:-9], "cut off"),
}


# issue 20: one line, nothing written
@pytest.mark.parametrize("name", SMART_DAMAGE)
def test_damaged_smart_files_are_refused_in_one_line(collections, tmp_path, name):
    damage, said = SMART_DAMAGE[name]
    collections[0].write_bytes(damage(collections[0].read_bytes()))
    for files in (collections[:1], collections):
        done = call("fit", *files, "-k", 2, "-o", tmp_path / "out")
        assert said in one_line(done.stderr)
        assert done.returncode == 2
        assert not (tmp_path / "out").exists()


def test_a_fitted_vectorizer_decides_words_and_weights(tmp_path):  # issue 20, item 7
    vectorizer = TfidfVectorizer(ngram_range=(1, 2)).fit(AIR + BOOKS)
    terms = rspca.text.term_matrix(AIR, vectorizer=vectorizer)
    np.testing.assert_array_equal(terms.matrix.toarray(), vectorizer.transform(AIR).toarray())
    assert terms.vocabulary == tuple(vectorizer.get_feature_names_out())
    (tmp_path / "air.txt").write_text("\n".join(AIR + BOOKS))
    model = rspca.text.topics(tmp_path / "air.txt", 2, k=3, vectorizer=vectorizer)
    table = rspca.read(tmp_path / "air.txt", vectorizer=vectorizer)
    np.testing.assert_allclose(model.transform(table), vectorizer.transform(AIR + BOOKS) @ model.components_.T)
    assert rspca.text.shares(model, AIR[:1], vectorizer=vectorizer).shape == (1, 2)


def test_what_is_no_fitted_vectorizer_is_refused():
    with pytest.raises(ValueError, match="is not fitted; call its fit first"):
        rspca.text.term_matrix(AIR, vectorizer=TfidfVectorizer())
    for other in (HashingVectorizer(), "tfidf"):
        with pytest.raises(TypeError, match="no vectorizer with names of words"):
            rspca.text.term_matrix(AIR, vectorizer=other)
    with pytest.raises(ValueError, match="min_documents cannot be given with a vectorizer"):
        rspca.text.term_matrix(AIR, vectorizer=TfidfVectorizer().fit(AIR), min_documents=2)


def test_topics_and_shares_of_texts():
    model = rspca.text.topics(AIR + BOOKS, 2, k=3)
    shares = rspca.text.shares(model, ["a wing with drag", "nothing known"])
    assert shares[0].max() == pytest.approx(1.0)
    assert not shares[1].any()
