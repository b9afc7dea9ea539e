"""Tables in text that can be read in two ways: refused with the option that decides, never guessed."""

import numpy as np
import pytest
from support.commandline import call, one_line

import rspca


@pytest.fixture
def table(tmp_path):
    def read(content, **options):
        (tmp_path / "t.csv").write_text(content)
        return rspca.read(tmp_path / "t.csv", **options)

    return read


NUMBERS_AS_PEOPLE_WRITE_THEM = [
    ("$1", "$2.50"), ("10%", "20 %"), ("1 234", "2 345"), ("1\u00a0234", "5\u202f678"), ("1'234", "5'678"),
    ("€5", "7 €"), ("-£3", "£-4"), ("5 USD", "EUR 7"), ("(5)", "(6.5)"), ("\u22125", "\u22126"), ("<0.1", ">2"),
    ("~5", "<= 6"), ("1.234.567", "2.345.678"), ("1.5D+03", "2.5d-01"), ("10\u2030", "5\u2030"),
]  # fmt: skip


# issue 14, item 18
@pytest.mark.parametrize("cells", [*NUMBERS_AS_PEOPLE_WRITE_THEM, ("True", "False"), ("yes", "NO")], ids=str)
def test_numbers_as_people_write_them_do_not_name_the_rows(table, cells):
    said = r"line 2, column price: .* is not a number\. .*labels=\['price'\].*row_names='price'"
    content = f"price,b,c\n{cells[0]},1,2\n{cells[1]},3,5\n"
    with pytest.raises(ValueError, match=said):
        table(content)
    with pytest.raises(ValueError, match="is not a number"):
        table(content.split("\n", 1)[1])  # without names of columns
    assert table(content, labels="price").sample_names.tolist() == ["sample0", "sample1"]
    found = table(content, row_names="price")
    assert found.sample_names.tolist() == list(cells)
    np.testing.assert_array_equal(found.operator.columns(np.arange(2)), [[1, 2], [3, 5]])


# issue 14, item 18
@pytest.mark.parametrize("cells", NUMBERS_AS_PEOPLE_WRITE_THEM, ids=str)
def test_numbers_as_people_write_them_are_no_labels_unless_it_is_said(table, cells):
    content = f"id,price,c\nu,{cells[0]},2\nv,{cells[1]},5\n"
    with pytest.raises(ValueError, match=r"line 2, column price: .*labels=\['price'\]\."):
        table(content)
    assert table(content, labels="price").samples["price"].tolist() == list(cells)


# issue 14, item 18
@pytest.mark.parametrize(
    "names",
    [("2020-01-01", "2020-01-02"), ("12.05.2020", "13.05.2020"), ("12:30", "12:45"), ("s1", "s2"), ("5a", "7b"),
     ("24 h", "48 h"), ("101_001", "101_002"), ("1.2.3", "1.2.4"), ("TCGA-05-1", "TCGA-05-2"), ("x", "y")],
    ids=str,
)  # fmt: skip
def test_dates_and_ids_still_name_the_rows(table, names):
    found = table(f"what,b,c\n{names[0]},1,2\n{names[1]},3,5\n")
    assert found.sample_names.tolist() == list(names)


# issue 14, item 18
@pytest.mark.parametrize(
    "content",
    [
        pytest.param("2001,2002\n1,2\n3,5\n", id="years"),
        pytest.param("country,2001,2002\nPeru,1,2\nChad,3,5\n", id="years after a name"),
        pytest.param("2001,2003,2010\n1.5,2,9\n3,5,4\n", id="years with gaps"),
        pytest.param("2003,2002,2001\n1,2,9\n3,5,4\n", id="years that fall"),
        pytest.param("1,2,3,4\n1,2,9,7\n3,5,4,4\n", id="numbers of columns"),
        pytest.param("400,402.5,405\n0.1,0.7,0.2\n0.3,0.2,0.2\n", id="wavelengths"),
        pytest.param("name2,10,20,30\nu,1,5,3\nv,3,5,4\n", id="even steps after a name"),
        pytest.param("1,2,4,8,16,32,64,128\n5,1,4,2,2,7,1,9\n1,5,4,2,2,7,1,9\n", id="a long sorted list"),
    ],
)
def test_a_line_of_numbers_that_may_be_names_is_refused_with_the_option_that_decides(table, content):
    with pytest.raises(ValueError, match=r"first line, .*could name the columns.*header=True.*header=False"):
        table(content)
    names, samples = table(content, header=True), table(content, header=False)
    assert samples.shape[0] == names.shape[0] + 1
    assert names.feature_names[-1] == content.split("\n")[0].split(",")[-1]


# issue 14, item 18
@pytest.mark.parametrize(
    "content",
    [
        pytest.param("1,2\n3,5\n", id="two numbers say nothing"),
        pytest.param("1,2,3\n4,5,6\n7,8,9\n", id="all rows in even steps"),
        pytest.param("1,5,2\n4,5,1\n", id="no order"),
        pytest.param("1,2,4,8,16,32,64,128\n1,5,6,7,8,9,10,12\n", id="all rows sorted"),
        pytest.param("2001,2002\n2001,2002\n", id="all rows years"),
        pytest.param("5,5,5\n1,2,9\n", id="a constant row"),
        pytest.param("-1e308,1e308,0\n1,7,2\n1e308,-1e308,3\n", id="steps that overflow"),
    ],
)
def test_rows_like_the_others_are_samples(table, content):
    assert table(content, header=None).shape[0] == content.count("\n")


# issue 14, item 18
def test_a_shorter_line_of_numbers_above_named_rows_names_the_columns(table):
    found = table("2001 2002\nPeru 1 2\nChad 3 5\n")
    assert found.feature_names.tolist() == ["2001", "2002"]
    assert found.sample_names.tolist() == ["Peru", "Chad"]


# issue 14, item 18
def test_a_first_column_that_counts_the_rows_is_said_to_be_a_feature(table, recwarn):
    content = "patient,a,b\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(1, 8))
    with pytest.warns(
        UserWarning, match="column patient counts the rows and is taken as a feature.*row_names='patient'"
    ):
        assert table(content).shape == (7, 3)
    recwarn.clear()
    assert table(content, row_names="patient").sample_names.tolist() == list("1234567")
    assert table(content, row_names=False).shape == (7, 3)
    assert not recwarn.list


# issue 14, item 18
def test_the_column_that_names_the_rows_can_be_given(table):
    content = "a,who,b\n1,7,2\n3,9,5\n"
    found = table(content, row_names="who")
    assert found.sample_names.tolist() == ["7", "9"]
    assert found.feature_names.tolist() == ["a", "b"]
    assert table(content, row_names=True).sample_names.tolist() == ["1", "3"]
    assert table("7,1,2\n9,3,5\n", row_names="column1").sample_names.tolist() == ["7", "9"]
    assert table("id,a\n7,1\n9,3\n", row_names=False).feature_names.tolist() == ["id", "a"]
    with pytest.warns(UserWarning, match=r"1 column\(s\) without numbers \(who\)"):
        found = table("who,a\nu,1\nv,3\n", row_names=False)
    assert found.samples["who"].tolist() == ["u", "v"]
    assert found.sample_names.tolist() == ["sample0", "sample1"]
    with pytest.raises(ValueError, match="has no column 'whom' for row_names; its columns are a, who, b"):
        table(content, row_names="whom")
    with pytest.raises(ValueError, match="cannot be in labels and in row_names"):
        table(content, row_names="who", labels="who")
    with pytest.raises(ValueError, match=r"1 row name\(s\) occur more than once: u.*labels=\['who'\]"):
        table("a,who\n1,u\n2,u\n", row_names="who")
    with pytest.raises(TypeError, match="row_names=3 must be the name of a column"):
        table(content, row_names=3)


# issue 14, item 18
def test_the_command_line_asks_and_takes_the_answer(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("price,b,c\n$1,1,2\n$2,3,5\n$4,4,1\n")
    common = ("fit", path, "-k", 1, "--no-report", "-o", tmp_path / "out")
    done = call(*common)
    assert done.returncode == 2
    assert "--labels price, or, if it names the rows, call it id or give --row-names price." in one_line(done.stderr)
    assert call(*common, "--row-names", "price").returncode == 0
    assert (tmp_path / "out" / "scores.csv").read_text().splitlines()[1].startswith("$1,")
    path.write_text("2001,2002\n1,2\n3,5\n4,1\n")
    done = call(*common)
    assert done.returncode == 2
    assert "Say --header if it names them, --no-header if it is a sample." in one_line(done.stderr)
    assert call(*common, "--no-header").returncode == 0
    path.write_text("who,a,b\nu,1,2\nv,3,5\nw,4,1\n")
    assert call(*common, "--row-names", "none").returncode == 0
    assert (tmp_path / "out" / "scores.csv").read_text().splitlines()[1].startswith("sample0,u,")


# issue 14, item 18
def test_text_in_parquet_that_may_be_numbers_is_refused(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    frame = pandas.DataFrame({"price": ["$1", "$2"], "b": [1.0, 2.0], "who": ["u", "v"]})
    frame.to_parquet(path, index=False)
    with pytest.raises(ValueError, match=r"row 1, column price: '\$1' is not a number.*row_names='price'"):
        rspca.read(path, labels="who")
    assert rspca.read(path, labels="who", row_names="price").sample_names.tolist() == ["$1", "$2"]
    assert rspca.read(path, labels="price", row_names="who").sample_names.tolist() == ["u", "v"]
    frame.set_index("who").to_parquet(path)
    found = rspca.read(path, labels="price", row_names=False)
    assert found.sample_names.tolist() == ["sample0", "sample1"]
    assert found.samples["who"].tolist() == ["u", "v"]
    frame.assign(price=["1", "a"]).to_parquet(path, index=False)
    assert rspca.read(path, labels="who").sample_names.tolist() == ["1", "a"]
