"""Functions that tables name by their place: imported when they are called, and not before."""

import sys

import pytest

from rspca.base.imports import lazy, load


def test_a_place_is_imported_when_it_is_used(monkeypatch, tmp_path):
    (tmp_path / "rspca_toy.py").write_text("def add(a, b=1):\n    return a + b\n")
    monkeypatch.syspath_prepend(tmp_path)
    add = lazy("rspca_toy:add")
    assert "rspca_toy" not in sys.modules
    assert (add(1), add(1, b=3), load("rspca_toy:add")(2)) == (2, 4, 3)
    monkeypatch.delitem(sys.modules, "rspca_toy")


def test_a_place_that_is_not_there_is_an_error():
    with pytest.raises(ModuleNotFoundError, match=r"rspca\.nowhere"):
        load("rspca.nowhere:read")
    with pytest.raises(AttributeError, match="fly"):
        load("rspca.base.imports:fly")
