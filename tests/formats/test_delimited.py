"""Tables in text: what is found out, what becomes a label, and what is refused with its place."""

import contextlib
import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rspca


def as_array(table):
    return np.asarray(table.operator.columns(np.arange(table.shape[1])))


@pytest.fixture
def table(tmp_path):
    def read(content, name="t.csv", **options):
        content = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return rspca.read(tmp_path / name, **options)

    return read


# Names


@pytest.mark.parametrize(
    ("content", "features", "samples"),
    [
        pytest.param(",a,b\n0,1,2\n1,3,5\n", ["a", "b"], ["0", "1"], id="the index that pandas writes"),
        pytest.param('"","a","b"\n"1",1,2\n"2",3,5\n', ["a", "b"], ["1", "2"], id="write.csv of R"),
        pytest.param('"a" "b"\n"1" 1 2\n"2" 3 5\n', ["a", "b"], ["1", "2"], id="write.table of R"),
        pytest.param("a\tb\n1\t1\t2\n2\t3\t5\n", ["a", "b"], ["1", "2"], id="a head too few"),
        pytest.param("id,a,b\n7,1,2\n9,3,5\n", ["a", "b"], ["7", "9"], id="numbers under id"),
        pytest.param("Sample_ID;a;b\nx;1;2\ny;3;5\n", ["a", "b"], ["x", "y"], id="semicolons"),
        pytest.param("a,b\n1,2\n3,5\n", ["a", "b"], ["sample0", "sample1"], id="columns only"),
        pytest.param("x,1,2\ny,3,5\n", ["feature0", "feature1"], ["x", "y"], id="rows only"),
        pytest.param("1 2\n3   5\n", ["feature0", "feature1"], ["sample0", "sample1"], id="white space"),
        pytest.param("a|b\n1|2\n3|5\n", ["a", "b"], ["sample0", "sample1"], id="bars"),
        pytest.param("\ufeffa,b\r\n1,2\r\n3,5\r\n", ["a", "b"], ["sample0", "sample1"], id="byte order mark, CR LF"),
        pytest.param("a,b,\n1,2,\n3,5,\n", ["a", "b"], ["sample0", "sample1"], id="a delimiter at the end"),
        pytest.param("\n a , b \n\n1,2\n  \n3,5\n\n", ["a", "b"], ["sample0", "sample1"], id="blank lines"),
        pytest.param('"a\nb","c,""d"""\n1,2\n3,5\n', ["a\nb", 'c,"d"'], ["sample0", "sample1"], id="quoted"),
        pytest.param("a,\n1,2\n3,5\n", ["a", "column2"], ["sample0", "sample1"], id="a column without a name"),
        pytest.param("a,b\n1e0,+2\n 3.0 ,5\n", ["a", "b"], ["sample0", "sample1"], id="numbers in other dress"),
        pytest.param("=cmd(),<b>\n1,2\n3,5\n", ["=cmd()", "<b>"], ["sample0", "sample1"], id="names that bite"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_names_are_found_where_programs_put_them(table, content, features, samples, packed):
    found = table(content, "t.tsv.gz" if packed else "t.csv")
    np.testing.assert_array_equal(as_array(found), [[1, 2], [3, 5]])
    assert found.feature_names.tolist() == features
    assert found.sample_names.tolist() == samples
    assert found.samples["sample"].tolist() == samples


def test_a_line_that_counts_the_columns_is_a_line_of_names(table):
    counted = "0,1,2\n4,5,7\n1,2,4\n"  # pandas without an index
    with pytest.warns(UserWarning, match=r"first line, 0, 1, 2, counts the columns.*header=False"):
        found = table(counted)
    assert found.feature_names.tolist() == ["0", "1", "2"]
    assert found.shape == (2, 3)
    with pytest.raises(ValueError, match="could name the columns or be a sample"):
        table("0,1,2\n3,4,5\n6,7,8\n")  # a sample like the others, or a line of names
    assert table(counted, header=False).shape == (3, 3)
    assert table("0,1\n4,5\n1,2\n").shape == (3, 2)  # two numbers say nothing


def test_a_line_of_numbers_is_a_line_of_names_only_if_told(table):
    years = "2001,2002\n1,2\n3,5\n"
    assert table(years, header=False).shape == (3, 2)
    assert table(years, header=True).feature_names.tolist() == ["2001", "2002"]
    assert table("id,2001\ns,1\nt,2\n").feature_names.tolist() == ["2001"]
    with pytest.raises(ValueError, match=r"line 1, column 2: 'a' is not a number"):
        table("7,a\n1,1\n1,2\n", header=False)


def test_one_column_is_a_table(table):
    assert table("a\n1\n2\n").shape == (2, 1)
    assert table("1\n2\n").shape == (2, 1)


def test_the_delimiter_can_be_given(table):
    found = table("a b,c\n1,2\n", delimiter=",")
    assert found.feature_names.tolist() == ["a b", "c"]
    with pytest.raises(ValueError, match="delimiter='#' is not known"):
        table("a#b\n1#2\n", delimiter="#")


def test_rows_may_be_features(table):
    found = table("gene,chromosome,s1,s2,s3\ng1,2,1,2,3\ng2,X,4,5,7\n", transpose=True, labels="chromosome")
    np.testing.assert_array_equal(as_array(found), [[1, 4], [2, 5], [3, 7]])
    assert found.feature_names.tolist() == ["g1", "g2"]
    assert found.sample_names.tolist() == ["s1", "s2", "s3"]
    assert found.features["chromosome"].tolist() == ["2", "X"]
    model = rspca.SparsePCA(1, k=1).fit(found)
    assert model.top_features()[0].name == "g2"
    assert model.top_features()[0].chromosome == "X"


# Labels


IRIS = "length,width,species\n5.1,3.5,setosa\n4.9,3.0,setosa\n6.4,3.2,versicolor\n"


def test_columns_of_text_become_labels_with_a_warning_unless_they_are_named(table, recwarn):
    with pytest.warns(
        UserWarning, match=r"1 column\(s\) without numbers \(species\) are used as labels.*labels=\['spec"
    ):
        found = table(IRIS)
    assert found.feature_names.tolist() == ["length", "width"]
    assert found.samples["species"].tolist() == ["setosa", "setosa", "versicolor"]
    recwarn.clear()
    assert table(IRIS, labels=["species"]).samples["species"].tolist() == ["setosa", "setosa", "versicolor"]
    assert not recwarn.list


def test_the_warning_points_at_the_line_that_reads(table):
    with pytest.warns(UserWarning, match="species") as told:
        table(IRIS)
    assert told[0].filename == __file__


def test_labels_may_be_numbers(table):
    found = table("a,day,b\n1,3,2\n3,4,5\n", labels="day")
    assert found.feature_names.tolist() == ["a", "b"]
    assert found.samples["day"].tolist() == [3.0, 4.0]


def test_without_names_labels_are_columns_by_number(table):
    with pytest.warns(UserWarning, match=r"\(column3\)"):
        found = table("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    assert found.shape == (2, 2)
    assert found.samples["column3"].tolist() == ["setosa", "setosa"]


def test_a_first_column_that_repeats_itself_is_a_label(table):
    with pytest.warns(UserWarning, match=r"\(species\)"):
        found = table("species,a,b\nsetosa,1,2\nsetosa,3,5\n")
    assert found.sample_names.tolist() == ["sample0", "sample1"]
    assert found.samples["species"].tolist() == ["setosa", "setosa"]


def test_a_label_called_sample_does_not_hide_the_names_of_the_rows(table):
    found = table("x,a,sample\nr1,1,u\nr2,3,v\n", labels="sample")
    assert found.samples["sample"].tolist() == ["u", "v"]
    assert found.samples["sample_name"].tolist() == ["r1", "r2"]


# Refusals


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "t.csv is empty"),
        ("\n \n", "t.csv is empty"),
        ("a,b,c\n", "a line of names and no numbers"),
        ("a,b\n1,2\n3\n", "line 3 has 1 fields; the first row of numbers has 2"),
        ("a,b\n1,2\n3,4,5\n", "line 3 has 3 fields"),
        ("1,2\n3,4,5\n", "line 2 has 3 fields; the first row of numbers has 2"),
        ('"a\nb",c\n1,2\n3,x\n"y",2\n', "line 4, column c: 'x'"),
        ('c,"a\nb"\n1,2\n3,x\n', "line 4, column a b: 'x' is not a number"),
        ("a,b,c,d\n1,2\n3,4\n", "line 2 has 2 fields; the line of names has 4"),
        ("a,b\n1,2\n3,NA\n", r"line 3, column b: 'NA' is not a number\. Impute or drop"),
        ("a,b\n1,2\n3,\n", r"line 3, column b: the cell is empty\. Impute"),
        ("a,b\n1,\n3,4\n5,6\n", r"line 2, column b: the cell is empty|line 3, column b"),
        ("a,b\n1,nan\n3,4\n", "line 2, column b: 'nan' is not a number"),
        ("a,b\n1,\n3,\n", r"line 2, column b: the cell is empty"),
        ("a,b\n1,2\n3,inf\n", r"line 3, column b: 'inf' is not a finite number"),
        ("a,b\n1,2\n3,1e999\n", "'1e999' is not a finite number"),
        ("a,b\n1,2\n3," + "9" * 400 + "\n", "'9{40}' is not a finite number"),
        ("a,b\n1,2\n3,12x\n", r"line 3, column b: '12x' is not a number.*labels=\['b'\]"),
        ("a,b\n1,x\n3,4\n", r"line 2, column b: 'x' is not a number.*labels=\['b'\]"),
        ("a,b\n1,2\n3,1_000\n", "'1_000' is not a number"),
        ('a,b\n1,2\n3,"1,000"\n', r"'1,000' is not a number.* a decimal point and no comma"),
        ("a;b\n1;2\n3;1,5\n", r"line 3, column b: '1,5' is not a number.* decimal point"),
        ("1;2\n3;1,5\n", "decimal point"),
        ("a,a\n1,2\n3,4\n", "occur more than once: a"),
        ("a,b\nx,y\nz,w\n", "has no column of numbers"),
        ('a,b\n1,"2\n3,4\n', "quote without its pair"),
        (b"a,b\n1,\xe92\n", "line 2: byte 0xe9 is not utf-8"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16 text"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_with_its_place(table, content, said):
    with pytest.raises(ValueError, match=said) as error:
        table(content)
    assert "t.csv" in str(error.value)
    assert "\n" not in str(error.value)


def test_decimal_commas_in_the_first_row_are_refused_too(table):
    for content in ("a;b;c\n1;1,5;2\n3;2,5;4\n", "a;b\n1,5;2,5\n1,25;2\n", "1,5;2,5\n3,5;4,5\n", "1,5 2,5\n3,5 1,5\n"):
        with pytest.raises(ValueError, match="decimal point"):
            table(content)


def test_labels_and_options_that_are_not_there_are_told(table):
    with pytest.raises(ValueError, match="has no column 'spezies' for labels; its columns are length, width, species"):
        table(IRIS, labels="spezies")
    with pytest.raises(TypeError, match=r"layer is no option for \.csv; its options are labels, transpose, row_names"):
        table(IRIS, layer="counts")


def test_another_encoding_can_be_given(table):
    assert table("größe,b\n1,2\n".encode("latin-1"), encoding="latin-1").feature_names[0] == "größe"


# Anything


names = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8)


@settings(max_examples=80, deadline=None)
@given(
    heads=st.lists(names, min_size=2, max_size=4, unique_by=str.strip),
    rows=st.integers(1, 4),
    delimiter=st.sampled_from([",", "\t", ";", "|"]),
    data=st.data(),
)
def test_what_csv_writes_is_read_back(tmp_path_factory, heads, rows, delimiter, data):
    number = st.floats(allow_nan=False, allow_infinity=False)
    X = data.draw(st.lists(st.lists(number, min_size=len(heads), max_size=len(heads)), min_size=rows, max_size=rows))
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(["id", *heads])
    writer.writerows([f"s{i}", *map(repr, row)] for i, row in enumerate(X))
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    expected = [head.strip() or f"column{j}" for j, head in enumerate(heads, 2)]
    if len({"id", *expected}) <= len(expected):
        return
    found = rspca.read(path, delimiter=delimiter)
    np.testing.assert_array_equal(as_array(found), X)
    assert found.feature_names.tolist() == [str(np.array(head)) for head in expected]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='1a,;\t "\n.-', max_size=40))
@pytest.mark.filterwarnings("ignore:.*without numbers:UserWarning")
def test_any_text_is_read_or_refused_in_one_line(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "t.csv"
    path.write_text(content)
    with contextlib.suppress(ValueError):
        found = rspca.read(path)
        assert len(found.feature_names) == found.shape[1] > 0
        assert len(found.sample_names) == found.shape[0] > 0
        assert np.isfinite(as_array(found)).all()


def test_labels_keep_what_their_text_says(tmp_path):
    rows = ["12345678901234567,01234,5.10,1,1", "12345678901234568,02345,0.5,2,4", "12345678901234569,00007,-1e3,3,7"]
    (tmp_path / "a.csv").write_text("patient,zip,dose,arm,x\n" + "\n".join(rows) + "\n")
    table = rspca.read(tmp_path / "a.csv", labels=["patient", "zip", "dose", "arm"])
    assert table.samples["patient"].tolist() == [row.split(",")[0] for row in rows]
    assert table.samples["zip"].tolist() == ["01234", "02345", "00007"]
    assert table.samples["dose"].tolist() == [5.1, 0.5, -1000.0]
    assert table.samples["arm"].dtype.kind == "i"


@pytest.mark.parametrize("cell", ["<0.1", "0x10", "n.d."])
def test_a_first_column_of_numbers_with_one_that_is_none_is_refused(tmp_path, cell):
    (tmp_path / "a.csv").write_text(f"lead,zinc,iron\n{cell},2,3\n4,1,7\n7,9,8\n")
    with pytest.raises(ValueError, match=r"line 2, column lead: .* is not a number.*names the rows, call it id"):
        rspca.read(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text(f"id,zinc,iron\n{cell},2,3\n4,1,7\n7,9,8\n")
    assert rspca.read(tmp_path / "a.csv").sample_names.tolist() == [cell, "4", "7"]


def test_an_encoding_that_is_none_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text(IRIS)
    with pytest.raises(ValueError, match="encoding='nope' is not known"):
        rspca.read(tmp_path / "a.csv", encoding="nope")
