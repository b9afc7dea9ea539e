"""Ctrl-C while a path, a comparison or a proof is under way: exit status 130, and what there is is kept."""

import importlib
import itertools
import json
import os
from contextlib import contextmanager
from unittest import mock

import pytest
from support.commandline import TESTS, call, interrupt, one_line, rspca_command, write_table

from rspca.certificates import in_memory

STOPPED = """
import sys; sys.path[:0] = {tests!r}
from test_interrupts import interrupting
with interrupting({place!r}, {count}):
    from rspca.cli import main; main()
"""
PATH = ("path", "table.csv", "--ks", "2,3,5,8")
COMPARE = ("compare", "table.csv", "-k", "3", "--methods", "maxcomp,rspca,tpower")


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv")
    return tmp_path


@contextmanager
def interrupting(place, count):
    """Send this process the signal of Ctrl-C at call number `count` of a function."""
    module, _, name = place.rpartition(".")
    holder = importlib.import_module(module)
    function, calls = getattr(holder, name), itertools.count(1)

    def interrupted(*arguments, **options):
        if next(calls) == count:
            interrupt()
        return function(*arguments, **options)

    with mock.patch.object(holder, name, interrupted):
        yield


def interrupted_at(place, count, folder, *arguments, process=False):
    if process:
        program = STOPPED.format(tests=[os.path.dirname(__file__), TESTS], place=place, count=count)
        result = rspca_command(*arguments, cwd=folder, program=program)
    else:
        with interrupting(place, count):
            result = call(*arguments, cwd=folder)
    assert result.returncode == 130, result.stderr
    return result


@pytest.mark.parametrize(
    ("place", "count", "more", "found", "proven"),
    [
        ("rspca.analysis.k_path.rspca_component", 3, (), [2, 3], None),
        ("rspca.analysis.k_path.climb", 2, (), [2, 3, 5, 8], None),
        ("rspca.analysis.k_path.rspca_component", 3, ("--certify",), [2, 3], 0),
        ("rspca.certificates.in_memory.in_memory", 2, ("--certify",), [2, 3, 5, 8], 2),
    ],
    ids=["seeking", "improving", "seeking what is to be proven", "proving"],
)
def test_an_interrupt_of_a_path_keeps_the_rows_that_were_found(folder, place, count, more, found, proven):
    options = (*more, "--json", "-o", "p.csv")
    result = interrupted_at(place, count, folder, *PATH, *options, process="stages" in place)
    document = json.loads(result.stdout)
    assert document["interrupted"] is True
    assert [point["k"] for point in document["points"]] == found
    assert all(len(point["features"]) == point["k"] for point in document["points"])
    assert sum(point["upper"] is not None for point in document["points"]) == (proven or 0)
    assert len((folder / "p.csv").read_text().splitlines()) == 1 + len(found)
    bounds = "" if proven is None else f", {proven} of them with a bound"
    words = f"{len(found)} of 4 values of k were found{bounds}; they are above, and in p.csv."
    assert one_line(result.stderr) == f"rspca: interrupted; {words}"


@pytest.mark.parametrize(
    ("place", "count", "methods"),
    [
        ("rspca.methods.rspca.rspca_component", 1, ["maxcomp"]),
        ("rspca.methods.tpower.longest_column", 1, ["maxcomp", "rspca"]),
        ("rspca.certificates.in_memory.in_memory", 1, ["maxcomp", "rspca", "tpower"]),
    ],
    ids=["second method", "third method", "proving"],
)
def test_an_interrupt_of_a_comparison_keeps_the_rows_that_were_found(folder, place, count, methods):
    result = interrupted_at(place, count, folder, *COMPARE, "--json", "-o", "c.csv", process="tpower" in place)
    document = json.loads(result.stdout)
    assert document["interrupted"] is True
    rows = document["methods"]
    assert sorted((row["method"], row["normalization"]) for row in rows) == [
        (name, loadings) for name in methods for loadings in ("naive", "svd")
    ]
    assert [row["variance"] for row in rows] == sorted((row["variance"] for row in rows), reverse=True)
    assert rows[0]["overlap"] == 1.0
    assert len((folder / "c.csv").read_text().splitlines()) == 1 + len(rows)
    words = f"{len(methods)} of 3 methods were run; their rows are above, and in c.csv."
    assert one_line(result.stderr) == f"rspca: interrupted; {words}"


@pytest.mark.parametrize(
    ("arguments", "place"),
    [(PATH, "rspca.analysis.k_path.rspca_component"), (COMPARE, "rspca.analysis.compare.leading_pairs")],
    ids=["path", "compare"],
)
def test_an_interrupt_before_the_first_row_writes_nothing(folder, arguments, place):
    before = sorted(os.listdir(folder))
    result = interrupted_at(place, 1, folder, *arguments, "-o", "rows.csv")
    assert result.stdout == ""
    assert one_line(result.stderr) == "rspca: interrupted; nothing was written."
    assert sorted(os.listdir(folder)) == before


def test_what_is_not_interrupted_says_so(folder):
    for arguments in (PATH, COMPARE):
        result = call(*arguments, "--json", cwd=folder)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["interrupted"] is False


def test_an_interrupt_of_a_proof_keeps_what_is_proven(folder):
    with mock.patch.object(in_memory, "in_memory", side_effect=lambda *_, **__: interrupt()):
        result = call("certify", "table.csv", "-k", "3", cwd=folder)
    assert result.returncode == 130
    assert result.stdout.startswith("3 features, variance")
    assert "interrupted; the proof ended early" in one_line(result.stderr)
