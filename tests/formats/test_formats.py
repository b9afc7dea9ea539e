"""Readers of other people's formats: what was written is read back, what was cut off is refused."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.data import data_path
from rspca.base.files import lines
from rspca.formats import read_laser, read_plink, read_series_matrix, read_smart

# The tests write and read in one folder per session: hypothesis and function-scoped folders do not go together.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# SMART

plain_line = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12).filter(
    lambda line: not line.startswith(".")
)
sections = st.dictionaries(st.sampled_from("TABWXK"), st.lists(plain_line, min_size=1, max_size=3), min_size=1)
collections = st.dictionaries(st.integers(1, 2000), sections, min_size=1, max_size=5)


def smart_file(documents, end="\n"):
    out = []
    for number, parts in sorted(documents.items()):
        out.append(f".I {number}")
        for letter, text in parts.items():
            out += [f".{letter}", *text]
    return "".join(line + end for line in out)


@given(collections, st.sampled_from(["\n", "\r\n"]))
def test_smart_documents_are_read_as_they_were_written(folder, documents, end):
    found = read_smart(written(folder / "round.all", smart_file(documents, end)), n_documents=len(documents))
    expected = [(n, {k: "\n".join(v) for k, v in parts.items()}) for n, parts in sorted(documents.items())]
    assert [(d.number, d.sections) for d in found] == expected


@given(collections, st.data())
def test_a_smart_file_cut_off_anywhere_loses_nothing_but_its_end(folder, documents, data):
    content = smart_file(documents).encode()
    whole = read_smart(written(folder / "whole.all", content))
    part = content[: data.draw(st.integers(0, len(content) - 1))]
    try:
        found = read_smart(written(folder / "part.all", part))
    except ValueError:
        return
    assert found[:-1] == whole[: len(found) - 1]
    last, full = found[-1], whole[len(found) - 1]
    assert last.number == full.number
    assert list(last.sections) == list(full.sections)[: len(last.sections)]


@given(collections, st.data())
def test_a_gzipped_smart_file_cut_off_anywhere_is_refused(folder, documents, data):
    content = gzip.compress(smart_file(documents).encode())
    path = written(folder / "part.gz", content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(ValueError, match=r"damaged or cut off|no documents|not utf-8|outside of any section"):
        read_smart(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no documents"),
        ("just text\n", "line 1: text outside of any section"),
        (".T\nx\n", "line 1: a section before the first"),
        (".I 1\nx\n", "line 2: text outside"),
        (".I 1\n.I 2\n.W\nx\n", "line 2: document 1 has no section"),
        (".I 1\n.W\nx\n.I 2\n", "at its end: document 2 has no section"),
        (".I 2\n.W\nx\n.I 1\n.W\ny\n", "line 4: document 1 follows document 2"),
        (".I 1\n.W\nx\n.I\n", "line 4: '.I' without a number"),
    ],
)
def test_what_is_not_smart_is_refused_with_its_line(folder, text, message):
    with pytest.raises(ValueError, match=message):
        read_smart(written(folder / "bad.all", text))


def test_the_number_of_documents_is_checked_and_sections_repeat(folder):
    path = written(folder / "two.all", ".I 1\n.A\nOne\n.A\nTwo\n.W \ntext\n.I 7\n.W\n")
    one, seven = read_smart(path)
    assert one.sections == {"A": "One\nTwo", "W": "text"}
    assert (seven.number, seven.text(), one.text("WAT")) == (7, "", "text\nOne\nTwo")
    with pytest.raises(ValueError, match="has 2 documents where 3 are expected"):
        read_smart(path, n_documents=3)


def test_an_encoding_that_does_not_fit_is_named(folder):
    path = written(folder / "latin.all", ".I 1\n.W\ncaf\xe9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin.all, line 3: byte 0xe9 is not utf-8; .*latin-1"):
        read_smart(path)
    assert read_smart(path, encoding="latin-1")[0].text() == "café"


@pytest.mark.parametrize(
    ("name", "count", "letters"),
    [("CISI.ALL.gz", 1460, "ABCKTWX"), ("cran.all.1400.gz", 1400, "ABTW"), ("MED.ALL.gz", 1033, "W")],
)
def test_the_real_collections_are_read_whole(name, count, letters):
    documents = read_smart(data_path("classic2", name), n_documents=count)
    assert [d.number for d in documents] == list(range(1, count + 1))
    assert "".join(sorted({letter for d in documents for letter in d.sections})) == letters
    empty = [d.number for d in documents if not d.text().strip()]
    assert empty == ([471, 995] if name.startswith("cran") else [])


# GEO series matrices


def series_matrix(names, features, X, header=(), samples=()):
    """The text of a series-matrix file as GEO writes it."""

    def row(*fields):
        return "\t".join(fields)

    quoted = [f'"{name}"' for name in names]
    out = [row("!Series_title", '"A study of ""things"""'), row("!Series_geo_accession", '"GSE1"'), *header, ""]
    out += [row("!Sample_title", *quoted), row("!Sample_geo_accession", *quoted), *samples]
    out += [row("!Sample_data_row_count", *[f'"{len(features)}"'] * len(names))]
    out += ["!series_matrix_table_begin", row('"ID_REF"', *quoted)]
    for feature, values in zip(features, X.T, strict=True):
        out.append(row(f'"{feature}"', *("" if np.isnan(v) else repr(float(v)) for v in values)))
    return "\n".join([*out, "!series_matrix_table_end", ""])


names_strategy = st.lists(st.text("abcXYZ019_-/", min_size=1, max_size=6), min_size=1, max_size=5, unique=True)


@st.composite
def studies(draw):
    names, features = draw(names_strategy), draw(names_strategy)
    value = st.floats(allow_infinity=False) | st.just(float("nan"))
    values = draw(st.lists(value, min_size=len(names) * len(features), max_size=len(names) * len(features)))
    return names, features, np.array(values).reshape(len(names), len(features))


@given(studies(), st.booleans())
def test_series_matrices_are_read_as_they_were_written(folder, study, packed):
    content = series_matrix(*study).encode()
    found = read_series_matrix(written(folder / "geo.txt", gzip.compress(content) if packed else content))
    names, features, X = study
    np.testing.assert_array_equal(found.matrix, X)
    assert (found.sample_names, found.feature_names) == (tuple(names), tuple(features))
    assert found.samples["title"] == [tuple(names)]
    assert found.series["geo_accession"] == [("GSE1",)]


@given(studies(), st.data())
def test_a_series_matrix_cut_off_anywhere_is_refused(folder, study, data):
    content = series_matrix(*study).encode()
    cut = data.draw(st.integers(0, len(content) - 2))  # without its last line feed a file is still whole
    with pytest.raises(ValueError, match=r"geo\.txt"):
        read_series_matrix(written(folder / "geo.txt", content[:cut]))
    packed = gzip.compress(content)
    with pytest.raises(ValueError, match=r"geo\.gz"):
        read_series_matrix(written(folder / "geo.gz", packed[: data.draw(st.integers(0, len(packed) - 1))]))


GOOD = series_matrix(["GSM1", "GSM2"], ["p1", "p2"], np.array([[1.0, 2.5], [-3.0, np.nan]]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"p1"\t1.0\t-3.0', '"p1"\t1.0', r"line \d+: 1 values for 2 samples"),
        ("-3.0", "three", r"line \d+, p1: could not convert .*three"),
        ('"p2"', '"p1"', "a feature occurs in two rows"),
        ('"ID_REF"\t"GSM1"', '"ID_REF"\t"GSM2"', "names of the samples, all different"),
        ('"ID_REF"', '"ID"', "a line ID_REF"),
        ('!Sample_title\t"GSM1"', "!Sample_title", "!Sample_title has 1 entries for 2 samples"),
        ('!Sample_geo_accession\t"GSM1"', '!Sample_geo_accession\t"GSM9"', "header are not those of the table"),
        ('!Sample_data_row_count\t"2"', '!Sample_data_row_count\t"3"', "has 2 rows where its header announces 2, 3"),
        ("!series_matrix_table_end", "", r"line \d+: 0 values|cut off"),
        ("!series_matrix_table_end\n", "!series_matrix_table_end\nmore\n", "'more' after the end of the table"),
        ("!Series_title", "Title", "this is not a series-matrix file"),
        ('"p1"\t1.0\t-3.0\n"p2"\t2.5\t\n', "", "empty table"),
    ],
)
def test_what_is_wrong_in_a_series_matrix_is_said(folder, old, new, message):
    assert old in GOOD
    with pytest.raises(ValueError, match=message):
        read_series_matrix(written(folder / "bad.txt", GOOD.replace(old, new)))


def test_missing_values_and_repeated_lines_of_a_series_matrix(folder):
    text = GOOD.replace("-3.0", "null").replace("2.5", "NA").replace(
        "!Sample_data", '!Sample_characteristics_ch1\t"Age: 5"\t"Age: 7"\n'
        '!Sample_characteristics_ch1\t"Sex: ""F"""\t""\n!Sample_data')  # fmt: skip
    found = read_series_matrix(written(folder / "good.txt", text.replace("\n", "\r\n")))
    np.testing.assert_array_equal(found.matrix, [[1, np.nan], [np.nan, np.nan]])
    assert found.samples["characteristics_ch1"] == [("Age: 5", "Age: 7"), ('Sex: ""F""', "")]


def test_a_real_microarray_written_as_geo_does_is_read_back(folder):
    """No series-matrix file is at hand; these are real values and probes of GSE10072's platform in that format."""
    with np.load(data_path("gene_expression", "chowdary.npz")) as stored:
        X, features = stored["X"][:20].astype(float), [str(name) for name in stored["features"]]
    names = [f"GSM{i}" for i in range(254625, 254645)]
    found = read_series_matrix(
        written(folder / "real.txt.gz", gzip.compress(series_matrix(names, features, X).encode(), 1))
    )
    np.testing.assert_array_equal(found.matrix, X)
    assert found.matrix.shape == (20, 22283)
    assert sum(not name.startswith("AFFX") for name in found.feature_names) == 22215


# PLINK


def plink_files(folder, G, name="toy"):
    """Write counts of allele 1 (NaN for missing), people x variants, as PLINK does, and return the .bed."""
    people, variants = G.shape
    code = np.select([G == 2, G == 1, G == 0], [0, 2, 3], 1).astype(np.uint8)
    padded = np.zeros((variants, 4 * ((people + 3) // 4)), dtype=np.uint8)
    padded[:, :people] = code.T
    packed = (padded.reshape(variants, -1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=2).astype(np.uint8)
    written(folder / f"{name}.bim", "".join(f"{1 + j % 2}\trs{j}\t0\t{j}\tA\tG\n" for j in range(variants)))
    written(folder / f"{name}.fam", "".join(f"F{i} P{i} 0 0 1 -9\n" for i in range(people)))
    return written(folder / f"{name}.bed", b"\x6c\x1b\x01" + packed.tobytes())


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_genotypes_are_read_as_plink_packs_them(folder, people, variants, seed):
    G = np.random.default_rng(seed).choice([0, 1, 2, np.nan], (people, variants))
    bed = plink_files(folder, G)
    found = read_plink(bed, missing="nan", dtype=np.float64)
    np.testing.assert_array_equal(found.matrix, G)
    assert found.people == tuple(f"P{i}" for i in range(people))
    assert found.variants == tuple(f"rs{j}" for j in range(variants))
    means = [np.nanmean(column) if not np.isnan(column).all() else 0 for column in G.T]
    imputed = read_plink(bed).matrix
    assert imputed.dtype == np.float32
    np.testing.assert_allclose(imputed, np.where(np.isnan(G), means, G), rtol=1e-6)
    np.testing.assert_array_equal(read_plink(bed, missing="nan", chromosome=1).matrix, G[:, ::2])


@given(st.data())
def test_a_bed_cut_off_anywhere_is_refused(folder, data):
    bed = plink_files(folder, np.ones((5, 7)), "cut")
    content = bed.read_bytes()
    written(bed, content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(ValueError, match=r"cut.bed"):
        read_plink(bed)


def test_what_is_not_plink_is_refused(folder):
    bed = plink_files(folder, np.ones((5, 7)), "bad")
    content = bed.read_bytes()
    for wrong, message in [
        (b"PK" + content[2:], "does not begin with 6c 1b"),
        (content[:2] + b"\0" + content[3:], "people first"),
        (content + b"\0", "has 18 bytes; 7 variants of 5 people take 17"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_plink(written(bed, wrong))
    written(bed, content)
    with pytest.raises(ValueError, match=r"chromosome=9 has no variants in .*bad.bed; it has 1, 2"):
        read_plink(bed, chromosome=9)
    with pytest.raises(ValueError, match="missing='zero' is not known"):
        read_plink(bed, missing="zero")
    with pytest.raises(TypeError, match="floating-point"):
        read_plink(bed, dtype=np.int8)
    written(folder / "bad.fam", "P1 0\n")
    with pytest.raises(ValueError, match=r"bad.fam, line 1: 2 columns"):
        read_plink(bed)
    written(folder / "bad.fam", "")
    with pytest.raises(ValueError, match=r"bad.fam is empty"):
        read_plink(bed)
    (folder / "bad.fam").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no bad.fam next to it; put it there, or name it with fam="):
        read_plink(bed)


def test_real_genotypes_have_the_known_shape_and_missing_rate():
    toy = read_plink(data_path("hapmap_snprelate", "plinkhapmap.bed.gz"))
    assert toy.matrix.shape == (60, 5000)
    hapmap3 = read_plink(data_path("hapmap3_flashpca", "data.bed"), missing="nan")
    assert hapmap3.matrix.shape == (957, 14389)
    np.testing.assert_allclose(np.isnan(hapmap3.matrix).mean(), 0.00154, atol=5e-6)
    assert hapmap3.chromosomes.count("1") == 1129


# LASER


def test_what_is_not_laser_is_refused(folder):
    site = written(folder / "a.site", "CHR POS ID REF ALT\n1 5 rs1 A C\n1 6 rs2 A C\n")
    for text, message in [
        ("Pop P1 0\n", r"a.geno, line 1: 1 genotypes for the 2 variants of a.site"),
        ("Pop P1 0 3\n", r"line 1: '3' is not a genotype"),
        ("", r"a.geno is empty"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_laser(written(folder / "a.geno", text), site)
    with pytest.raises(ValueError, match=r"a.geno is not a .site file"):
        read_laser(site, written(folder / "a.geno", "Pop P1 0 1\n"))


# Files


def test_a_folder_or_a_missing_file_is_named(folder):
    with pytest.raises(IsADirectoryError, match="is a folder; a file is needed"):
        read_smart(folder)
    with pytest.raises(FileNotFoundError, match="absent"):
        read_smart(folder / "absent")


def test_lines_end_where_a_text_editor_ends_them(folder):
    assert list(lines(written(folder / "ends.txt", "a\r\nb\u2028c\n\nd"))) == ["a", "b\u2028c", "", "d"]
