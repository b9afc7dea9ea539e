"""Documents to matrices: the weights of the paper by their definition, and what every odd document gets."""

import gzip
import re
from collections import Counter
from importlib import resources

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import rspca
from benchmarks.data import classic2, classic2_terms, data_path
from rspca.formats import read_smart
from rspca.text import term_counts, term_matrix, tf_idf

DOCUMENTS = [
    "The boundary layer of a wing, in supersonic flow.",
    "Boundary-layer control: flow over wings at Mach 2 (x15 or b52).",
    "Library catalogs and the indexing of books; books, BOOKS!",
]


def by_definition(texts, stop_words, low=3, high=30):
    """Counts by the recipe: maximal runs of letters and digits, then each rule in turn."""
    counted = []
    for text in texts:
        runs = re.findall(r"[a-z0-9]+", text.lower())
        kept = [r for r in runs if low <= len(r) <= high and not re.search("[0-9]", r) and r not in stop_words]
        counted.append(Counter(kept))
    vocabulary = sorted(set().union(*counted))
    return vocabulary, np.array([[c[word] for word in vocabulary] for c in counted])


# The recipe


def test_the_vocabulary_and_the_counts_follow_the_recipe():
    stop = {"the", "over", "and"}
    vocabulary, expected = by_definition(DOCUMENTS, stop)
    found = term_counts(DOCUMENTS, stop_words=stop)
    assert list(found.vocabulary) == vocabulary
    np.testing.assert_array_equal(found.matrix.toarray(), expected)
    assert "books" in vocabulary
    assert not {"x15", "b52", "mach2", "of", "the"} & set(vocabulary)


words = st.text("abcXYZ019", min_size=1, max_size=6)
texts = st.lists(st.lists(words, max_size=12).map(" ".join), min_size=1, max_size=6)


@given(texts, st.integers(1, 3), st.integers(3, 6))
def test_any_text_is_counted_by_the_recipe(documents, low, high):
    filled = [t for t in documents if by_definition([t], set(), low, high)[0]]
    if not filled:
        with pytest.raises(ValueError, match=r"no term is left of \d+ document"):
            term_counts(documents, stop_words=None, min_length=low, max_length=high)
        return
    vocabulary, expected = by_definition(filled, set(), low, high)
    found = term_counts(documents, stop_words=None, min_length=low, max_length=high, empty="drop")
    assert list(found.vocabulary) == vocabulary
    np.testing.assert_array_equal(found.matrix.toarray(), expected)
    assert [documents[int(name)] for name in found.documents] == filled


counts = st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=2, max_size=6)


@given(counts)
def test_weights_are_counts_times_log2_and_rows_have_unit_length(C):
    C = np.array(C)
    df = (C > 0).sum(axis=0)
    W = C * np.log2(len(C) / np.maximum(df, 1))
    if not W.any(axis=1).all():
        with pytest.raises(ValueError, match=r"row\(s\) \d.* of counts have no term, or only terms that every"):
            tf_idf(C)
        return
    found = tf_idf(scipy.sparse.csr_matrix(C))
    assert isinstance(found, scipy.sparse.csr_array)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.toarray(), W / np.linalg.norm(W, axis=1, keepdims=True), atol=1e-15)
    assert (found.data > 0).all()
    plain = tf_idf(C, idf=False).toarray()
    np.testing.assert_allclose(plain, C / np.linalg.norm(C, axis=1, keepdims=True))


def test_weighting_leaves_the_counts_alone():
    C = scipy.sparse.csr_array(np.array([[1.0, 2.0], [3.0, 0.0]]))
    before = C.toarray()
    tf_idf(C, idf=False)
    np.testing.assert_array_equal(C.toarray(), before)


def test_the_matrix_is_the_weighted_counts():
    found = term_matrix(DOCUMENTS)
    np.testing.assert_array_equal(found.matrix.toarray(), tf_idf(term_counts(DOCUMENTS).matrix).toarray())
    np.testing.assert_allclose(np.linalg.norm(found.matrix.toarray(), axis=1), 1)
    assert term_matrix(DOCUMENTS, idf=False).matrix.toarray()[2].max() == pytest.approx(3 / np.sqrt(9 + 3))


def test_words_of_other_alphabets_are_words():
    found = term_counts(["Prüfstände für Größen", "έλεγχος über"], stop_words=None)
    assert found.vocabulary == ("für", "größen", "prüfstände", "über", "έλεγχος")


def test_a_fit_on_documents_names_the_words_of_a_topic():
    topics = [["wing lift drag flow"] * 6, ["book library index catalog"] * 4]
    terms = term_matrix([f"{text} item{chr(97 + i)}" for group in topics for i, text in enumerate(group)])
    model = rspca.SparsePCA(1, k=4, random_state=0).fit(terms.matrix)
    found = {name for name, *_ in model.top_features(names=terms.vocabulary)}
    assert found in ({"wing", "lift", "drag", "flow"}, {"book", "library", "index", "catalog"})


# Where documents come from


def test_a_folder_a_file_of_lines_and_a_list_give_the_same(tmp_path):
    (tmp_path / "b").mkdir()
    for name, text in zip(("a.txt", "b/one", "c.txt"), DOCUMENTS, strict=True):
        (tmp_path / name).write_text(text.replace(" ", "\n"))
    (tmp_path / ".hidden").write_text("secret words")
    (tmp_path / "b" / "one").rename(tmp_path / "b" / "plain")
    (tmp_path / "b" / "one.gz").write_bytes(gzip.compress((tmp_path / "b" / "plain").read_bytes()))
    (tmp_path / "b" / "plain").unlink()
    listed, folder = term_matrix(DOCUMENTS), term_matrix(tmp_path)
    assert folder.documents == ("a.txt", "b/one.gz", "c.txt")
    assert listed.documents == ("0", "1", "2")
    file = tmp_path.parent / "lines.txt"
    file.write_text("\r\n".join(DOCUMENTS))
    by_line = term_matrix(str(file))
    assert by_line.documents == ("line 1", "line 2", "line 3")
    for other in (folder, by_line, term_matrix(iter(DOCUMENTS)), term_matrix(np.array(DOCUMENTS))):
        assert other.vocabulary == listed.vocabulary
        np.testing.assert_array_equal(other.matrix.toarray(), listed.matrix.toarray())


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        ("a text, not a path", ValueError, "is neither a file nor a folder; put a single text into a list"),
        ("long " * 2000, ValueError, "put a single text into a list"),
        ("nul\0byte", ValueError, "put a single text into a list"),
        ([], ValueError, "has no documents"),
        ([b"bytes"], TypeError, "document 0 is a bytes, not a string"),
        (["text", None], TypeError, "document 1 is a NoneType"),
        (b"bytes", TypeError, "documents is a bytes; give a list of strings, a folder, or a file"),
        (7, TypeError, "documents is a int"),
        (["", "  "], ValueError, r"no term is left of 2 document\(s\)"),
        (["the of and", "12 b52"], ValueError, "Lower min_length or min_documents, or change stop_words"),
        (["wing", "", "the", "lift"], ValueError, r"2 of 4 documents have no term left: 1, 2\. .*empty=.drop."),
        (["wing flow", "wing flow"], ValueError, r"row\(s\) 0, 1 of counts .* only terms that every document has"),
    ],
)
def test_what_is_not_documents_gets_advice(documents, error, message):
    with pytest.raises(error, match=message):
        term_matrix(documents)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"stop_words": "nowhere.txt"}, ValueError, "stop_words='nowhere.txt' is not a file; give one with the words"),
        ({"stop_words": 3}, TypeError, "stop_words=3 must be"),
        ({"stop_words": ["a", 1]}, TypeError, "stop_words has 1, which is not a string"),
        ({"min_length": 0}, ValueError, "min_length=0 must be at least 1"),
        ({"min_length": 9, "max_length": 8}, ValueError, r"max_length=8 must be at least 9 \(min_length\)"),
        ({"min_documents": 4}, ValueError, "no term is left"),
        ({"min_documents": 0.5}, TypeError, "min_documents=0.5 must be an integer"),
        ({"empty": "keep"}, ValueError, "empty='keep' is not known; choose one of 'drop', 'error'"),
    ],
)
def test_options_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        term_matrix(DOCUMENTS, **options)


@pytest.mark.parametrize("bad", [[[1, -1]], [[np.nan, 1]], [[np.inf, 1]]])
def test_counts_must_be_counts(bad):
    with pytest.raises(ValueError, match="negative, infinite or NaN"):
        tf_idf(bad)


def test_files_that_are_not_text_are_named(tmp_path):
    (tmp_path / "a.txt").write_text("wing flow")
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"b.bin is not utf-8 text"):
        term_matrix(tmp_path)
    (tmp_path / "b.bin").write_bytes(b"wing\0")
    with pytest.raises(ValueError, match=r"b.bin is not text: it has zero bytes"):
        term_matrix(tmp_path)
    (tmp_path / "b.bin").write_bytes(gzip.compress(b"wing lift " * 99)[:-12])
    with pytest.raises(ValueError, match=r"b.bin is damaged or cut off"):
        term_matrix(tmp_path)
    (tmp_path / "b.bin").write_bytes("Flügel lift".encode("latin-1"))
    assert "flügel" in term_matrix(tmp_path, encoding="latin-1").vocabulary


def test_rare_terms_can_be_left_out():
    found = term_counts(DOCUMENTS, min_documents=2, empty="drop")
    assert found.vocabulary == ("boundary", "flow", "layer")
    assert found.documents == ("0", "1")


# Stop lists


def shipped():
    text = resources.files("rspca.formats").joinpath("stop_words.txt").read_text("utf-8")
    return [word for line in text.splitlines() if not line.startswith("#") for word in line.split()]


def test_the_shipped_stop_list_is_clean_and_no_other_projects():
    words = shipped()
    assert len(set(words)) == len(words)
    assert 300 <= len(words) <= 450
    assert all(re.fullmatch("[a-z]+", word) for word in words)
    assert not {"information", "system", "boundary", "library", "computer"} & set(words)
    tmg = set(data_path("classic2", "tmg_common_words.txt").read_text().split())
    assert len(set(words) - tmg) > 100


def test_stop_words_are_given_by_name_by_file_by_hand_or_not_at_all(tmp_path):
    (tmp_path / "stop.txt").write_text("# mine\nBoundary layer  # two\nflow\n")
    by_file = term_counts(DOCUMENTS, stop_words=tmp_path / "stop.txt")
    by_hand = term_counts(DOCUMENTS, stop_words=["boundary", "LAYER", "flow", "don't"])
    assert by_file.vocabulary == by_hand.vocabulary
    assert not {"boundary", "layer", "flow"} & set(by_file.vocabulary)
    assert "the" in term_counts(DOCUMENTS, stop_words=None).vocabulary
    assert not set(shipped()) & set(term_counts(DOCUMENTS).vocabulary)


# The paper's data


def abstracts():
    return [d.text() for name in ("CISI.ALL.gz", "cran.all.1400.gz") for d in read_smart(data_path("classic2", name))]


def test_the_abstracts_give_the_papers_matrix():
    found = term_matrix(abstracts(), stop_words=data_path("classic2", "tmg_common_words.txt"), empty="drop")
    assert found.matrix.shape == (2858, 12427)
    assert found.vocabulary == tuple(classic2_terms())
    assert abs(found.matrix - classic2()).max() == 0
    assert found.matrix.min() >= 0
    assert found.matrix.max() <= 1
    df = {w: (found.matrix[:, [found.vocabulary.index(w)]].toarray() > 0).ravel() for w in ("boundary", "information")}
    assert (df["boundary"][:1460].sum(), df["boundary"][1460:].sum()) == (1, 459)
    assert (df["information"][:1460].sum(), df["information"][1460:].sum()) == (644, 44)


def test_the_shipped_list_gives_a_matrix_close_to_the_papers():
    found = term_matrix(abstracts(), empty="drop")
    assert found.matrix.shape == (2858, 12443)
    assert len(set(found.vocabulary) ^ set(classic2_terms())) < 400
