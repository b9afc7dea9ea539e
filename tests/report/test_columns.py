"""Columns of the report: digits, missing values, categories, text that hides nothing, bounds that stay true."""

import numpy as np
import pytest

from rspca.report.columns import column, names, numbers, plain_text, sample_column
from rspca.report.words import percent_up


def test_numbers_keep_their_digits_and_what_is_missing():
    kept = numbers([0.123456, -5e-5, np.nan, 0.0], 5)
    assert kept == {"kind": "number", "exponent": -5, "values": [12346, -5, None, 0]}
    assert numbers([0.0], 4)["values"] == [0]
    assert numbers([1e-310], 4)["values"] == [0]
    assert column([3, 2**60])["kind"] == "text"
    assert column(["a", "b", "a", None, "a", "b"]) == {
        "kind": "text",
        "levels": ["a", "b"],
        "values": [0, 1, 0, None, 0, 1],
    }


def test_a_column_colors_by_what_it_holds():
    assert sample_column("a", [0, 1, 2] * 5)["color"] == "category"
    assert sample_column("a", [True, False] * 5)["color"] == "category"
    assert sample_column("a", np.arange(30))["color"] == "number"
    assert sample_column("a", [0.5, 1.0, np.nan])["color"] == "number"
    identifiers = [f"id{i}" for i in range(20)]
    assert sample_column("a", identifiers)["color"] == "none"
    assert sample_column("a", identifiers, True)["color"] == "category"


def test_missing_values_and_times_are_told_apart_from_words():
    pandas = pytest.importorskip("pandas")
    assert column(pandas.array([1, None, 3], dtype="Int64")) == numbers([1.0, np.nan, 3.0], 5)
    assert column(pandas.Series(["a", None, "a", "a"]))["values"] == [0, None, 0, 0]
    times = pandas.to_datetime(["2026-11-16", None, "2026-11-17"])
    assert [None if word is None else word[:10] for word in column(times)["values"]] == [
        "2026-11-16",
        None,
        "2026-11-17",
    ]
    assert column(pandas.Categorical(["x", "y", "x", "x"]))["levels"] == ["x", "y"]


def test_text_shows_what_would_be_invisible():
    assert plain_text("a\nb\u202ec\ud800") == "a\\nb\\u202ec\\ud800"
    assert plain_text("é 日本 \u200d") == "é 日本 \u200d"
    assert len(plain_text("x" * 10**6)) <= 201
    assert names(["a", " "], [0, 1], "feature") == ["a", "(feature 1, no name)"]


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.0123, 0.0131, 0.5, 0.999, 1.234, 12.0])
def test_at_most_is_never_less(share):
    shown = float(percent_up(share).removesuffix("\N{NO-BREAK SPACE}%")) / 100
    assert share - 1e-12 <= shown <= 1.1 * share + 1e-5
