"""Every command against every kind of bad word: exit status 2, one line that says which, and nothing is written."""

import os

import numpy as np
import pytest
from support.commandline import call, one_line, write_table

import rspca

COMPUTING = {
    "fit": ["fit", "{data}", "-k", "3"],
    "path": ["path", "{data}", "--ks", "2,3"],
    "compare": ["compare", "{data}", "-k", "3"],
    "certify": ["certify", "{data}", "-k", "3"],
}
READING = COMPUTING | {
    "transform": ["transform", "fitted", "{data}"],
    "report": ["report", "fitted", "--data", "{data}"],
}
FILES = {
    "missing": "none.csv", "empty": "empty.csv", "folder": "empty", "unknown suffix": "labels.xyz",
    "no suffix": "noise",
    "binary": "noise.csv", "cut off": "cut.npy", "empty archive": "empty.npz", "gzip cut off": "cut.csv.gz",
    "not finite": "nan.npy", "complex": "complex.npy", "words": "words.csv", "one dimension": "vector.npy",
    "no features": "none.npy", "no companions": "lonely.bed", "damaged market": "a.mtx", "damaged cells": "a.h5ad",
    "damaged frame": "a.parquet", "latin-1": "latin.csv", "null in its name": "a\0b.csv",
    "name too long": "x" * 300 + ".csv",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a model of it, and files that are not what they seem."""
    here = tmp_path_factory.mktemp("commands")
    table = rspca.read(write_table(here / "table.csv"))
    (here / "fitted").mkdir()
    rspca.SparsePCA(2, k=3, random_state=0).fit(table).save(here / "fitted" / "model.npz")
    (here / "empty").mkdir()
    noise = bytes(range(256)) * 4
    for name in ("noise", "noise.csv", "a.mtx", "a.h5ad", "a.parquet", "labels.xyz", "lonely.bed", "damaged.npz"):
        (here / name).write_bytes(noise)
    (here / "empty.csv").write_bytes(b"")
    (here / "empty.npz").write_bytes(b"PK\x05\x06" + bytes(18))
    (here / "cut.npy").write_bytes(
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9999999, 9)"
    )
    (here / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03cut")
    (here / "words.csv").write_text("a,b\nc,d\ne,f\n")
    (here / "latin.csv").write_bytes(b"caf\xe9,b\n1,2\n3,4\n")
    np.save(here / "nan.npy", np.full((5, 4), np.nan))
    np.save(here / "complex.npy", np.full((5, 4), 1j))
    np.save(here / "vector.npy", np.ones(5))
    np.save(here / "none.npy", np.ones((5, 0)))
    return here


def complaint(folder, arguments):
    """Return the line that a command ends with; nothing is printed or written beside it."""
    before = sorted(os.listdir(folder))
    result = call(*arguments, cwd=folder)
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert sorted(os.listdir(folder)) == before
    said = one_line(result.stderr)
    assert len(said) < 1000
    assert "an error of rspca itself" not in said
    return said


@pytest.mark.parametrize("kind", sorted(FILES))
@pytest.mark.parametrize("command", sorted(READING))
def test_data_that_cannot_be_read_are_named(folder, command, kind):
    arguments = [word.format(data=FILES[kind]) for word in READING[command]]
    said = complaint(folder, arguments)
    if kind not in ("not finite", "null in its name", "name too long"):
        assert FILES[kind] in said


WORDS = ["", "0", "-1", "1.5", "nan", "many", "1e9", "9" * 5000, "\u0663", "None", "1;2", "--"]
NUMBERS = {
    "fit -k": ["fit", "table.csv", "-k"],
    "fit -n": ["fit", "table.csv", "-k", "3", "-n"],
    "fit --max-per-group": ["fit", "table.csv", "-k", "3", "--max-per-group"],
    "path --ks": ["path", "table.csv", "--ks"],
    "compare -k": ["compare", "table.csv", "-k"],
    "certify -k": ["certify", "table.csv", "-k"],
    "certify --component": ["certify", "table.csv", "--model", "fitted", "--component"],
    "report --path": ["report", "fitted", "--data", "table.csv", "--path"],
}
SHORT = {word: word if len(word) < 20 else f"{len(word)} digits" for word in WORDS}


@pytest.mark.parametrize("word", WORDS, ids=lambda word: ascii(SHORT[word]))
@pytest.mark.parametrize("option", sorted(NUMBERS))
def test_a_number_that_is_none_is_told_with_its_option(folder, option, word):
    said = complaint(folder, [*NUMBERS[option], word])
    assert option.split()[1] in said or "k=" in said


OPTIONS = {
    "--seed": ["-1", "1.5", "a", "nan", "9" * 5000], "--seconds": ["0", "-1", "nan", "inf", "a"],
    "--scale": ["", "maybe", "True"],
}  # fmt: skip


@pytest.mark.parametrize("command", sorted(COMPUTING))
@pytest.mark.parametrize(
    ("option", "word"),
    [pytest.param(option, word, id=f"{option} {word[:9]}") for option, words in OPTIONS.items() for word in words],
)
def test_an_option_that_is_none_is_told_by_its_name(folder, command, option, word):
    if (command, option, word) == ("compare", "--seconds", "0"):
        return  # leaves the bound out
    arguments = [part.format(data="table.csv") for part in COMPUTING[command]]
    said = complaint(folder, [*arguments, option, word])
    assert option in said or option[2:] in said


MODELS = {
    "missing": "none.npz", "folder without one": "empty", "damaged": "damaged.npz", "data": "nan.npy",
    "table": "table.csv",
    "null": "a\0b", "long": "x" * 300,
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(MODELS))
@pytest.mark.parametrize("command", ["transform", "report", "certify"])
def test_a_model_that_is_none_is_named(folder, command, kind):
    name = MODELS[kind]
    arguments = {
        "transform": ["transform", name, "table.csv"], "report": ["report", name],
        "certify": ["certify", "table.csv", "--model", name],
    }  # fmt: skip
    said = complaint(folder, arguments[command])
    if kind not in ("null", "long"):
        assert name in said


@pytest.mark.parametrize("command", sorted([*READING, "datasets", "demo"]))
def test_an_unknown_option_or_word_too_many_is_told(folder, command):
    arguments = [part.format(data="table.csv") for part in READING.get(command, [command])]
    assert "--wings" in complaint(folder, [*arguments, "--wings"])


@pytest.mark.parametrize("name", ["", "magic", "../hapmap3", "hapmap3/..", "a\nb"])
def test_an_unknown_data_set_is_told_with_the_known_ones(folder, name):
    assert "hapmap3" in complaint(folder, ["datasets", name])


OUTPUTS = {
    "fit": "table.csv", "path": "empty", "compare": "empty", "certify": "empty", "transform": "empty",
    "report": "empty",
    "demo": "table.csv",
}  # fmt: skip


@pytest.mark.parametrize("command", sorted(OUTPUTS))
def test_an_output_that_cannot_be_written_is_refused_before_work(folder, command):
    arguments = [part.format(data="table.csv") for part in READING.get(command, [command])]
    assert OUTPUTS[command] in complaint(folder, [*arguments, "-o", OUTPUTS[command]])
    below = f"table.csv/{OUTPUTS[command]}"
    assert "table.csv" in complaint(folder, [*arguments, "-o", below])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read_is_named(folder):
    (folder / "closed.csv").touch(0o000)
    assert "closed.csv" in complaint(folder, ["fit", "closed.csv", "-k", "3"])
