"""Mistakes are one line that says what to do, exit status 2 and no traceback; nothing is written."""

import os
import signal
import subprocess
from unittest import mock

import numpy as np
import pytest
from support.commandline import START, call, one_line, rspca_command, source_folder, write_table

import rspca
from rspca.analysis import k_path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a model of it, and files that are not what they seem."""
    here = tmp_path_factory.mktemp("errors")
    write_table(here / "table.csv")
    table = rspca.read(here / "table.csv")
    (here / "fitted").mkdir()
    rspca.SparsePCA(2, k=3, random_state=0).fit(table).save(here / "fitted" / "model.npz")
    (here / "damaged.npz").write_bytes((here / "fitted" / "model.npz").read_bytes()[:300])
    (here / "damaged.npy").write_bytes(b"\x93NUMPY nonsense")
    (here / "empty").mkdir()
    (here / "empty.csv").write_text("")
    (here / "labels.txt").write_text("a\nb\n")
    (here / "strangers.txt").write_text("x1 a\nx2 b\n")
    np.save(here / "nan.npy", np.full((5, 4), np.nan))
    np.save(here / "other.npy", np.eye(5))
    return here


MISTAKES = {
    "missing file": (["fit", "none.csv", "-k", "3"], "none.csv does not exist"),
    "wrong suffix": (["fit", "labels.xyz", "-k", "3"], "labels.xyz"),
    "folder without documents": (["fit", "empty", "-k", "3"], "empty"),
    "empty table": (["fit", "empty.csv", "-k", "3"], "empty.csv"),
    "unreadable file": (["fit", "damaged.npy", "-k", "3"], "damaged.npy"),
    "values that are not finite": (["fit", "nan.npy", "-k", "3"], "NaN or infinite"),
    "k of zero": (["fit", "table.csv", "-k", "0"], "-k 0 is not a list of whole numbers above 0"),
    "k of words": (["fit", "table.csv", "-k", "few"], "-k few is not a list of whole numbers"),
    "too many k": (["fit", "table.csv", "-k", "3,2", "-n", "3"], "has 2 numbers for -n 3 components"),
    "too many components": (["fit", "table.csv", "-k", "3", "-n", "13"], "-n 13 must be between 1 and 12"),
    "unknown scale": (["fit", "table.csv", "-k", "3", "--scale", "odd"], "choose no, yes or patterson"),
    "unknown method": (["fit", "table.csv", "-k", "3", "--method", "magic"], "--method magic is not known"),
    "unknown deflation": (["fit", "table.csv", "-k", "3", "--deflation", "x"], "--deflation x is not known"),
    "certify what cannot be": (["fit", "table.csv", "-k", "3", "--method", "spasm", "--certify"], "together"),
    "scheduler for a table": (["fit", "table.csv", "-k", "3", "--scheduler", "nowhere:1"], "--scheduler is for .bed"),
    "layer of a table": (["fit", "table.csv", "-k", "3", "--layer", "counts"], "--layer is no option for .csv"),
    "selection of a table": (
        ["fit", "table.csv", "-k", "3", "--min-frequency", "0.1"],
        "--min-frequency is no option for .csv; its options are --",
    ),
    "unknown groups": (["fit", "table.csv", "-k", "3", "--groups", "gene"], "--groups gene is not known"),
    "windows without positions": (["fit", "table.csv", "-k", "3", "--groups", "1000"], "needs positions"),
    "too few groups": (["fit", "table.csv", "-k", "3", "--groups", "labels.txt"], "labels.txt has 2 lines"),
    "unknown label": (["fit", "table.csv", "-k", "3", "--label", "tissue"], "no column 'tissue' for labels"),
    "unknown label of an array": (["fit", "other.npy", "-k", "3", "--label", "x"], "--label x is not known"),
    "too few labels": (["fit", "table.csv", "-k", "3", "--label", "labels.txt"], "labels.txt has 2 lines"),
    "labels of others": (["fit", "table.csv", "-k", "3", "--label", "strangers.txt"], "names none of the samples"),
    "output is a file": (["fit", "table.csv", "-k", "3", "-o", "labels.txt"], "labels.txt is a file"),
    "output below a file": (["fit", "table.csv", "-k", "3", "-o", "labels.txt/out"], "labels.txt is a file"),
    "output of a path is a folder": (["path", "table.csv", "--ks", "2,3", "-o", "empty"], "empty is a folder"),
    "output in no folder": (["path", "table.csv", "--ks", "2,3", "-o", "no/p.csv"], "The folder of no/p.csv"),
    "bad ks": (["path", "table.csv", "--ks", "2,,3"], "give for example --ks 5,10,20"),
    "large ks": (["path", "table.csv", "--ks", "2,30"], "--ks 30 must be between 1 and 12"),
    "large k": (["compare", "table.csv", "-k", "13"], "-k 13"),
    "unknown method of several": (["compare", "table.csv", "-k", "3", "--methods", "magic"], "--methods magic"),
    "nothing to certify": (["certify", "table.csv"], "-k is needed"),
    "preparing twice": (["certify", "table.csv", "--model", "fitted", "--scale", "yes"], "leave --scale"),
    "no such component": (["certify", "table.csv", "--model", "fitted", "--component", "3"], "has 2 component(s)"),
    "no model": (["transform", "none", "table.csv"], "none does not exist; give the model.npz"),
    "folder without a model": (["transform", "empty", "table.csv"], "model.npz does not exist"),
    "damaged model": (["transform", "damaged.npz", "table.csv"], "or it is damaged"),
    "a table for a model": (["report", "table.csv"], "or it is damaged"),
    "other features": (["transform", "fitted", "other.npy"], "X has 5 features"),
    "path of a report without data": (["report", "fitted", "--path", "2,3"], "give them with --data"),
    "label of a report without samples": (["report", "fitted", "--label", "labels.txt"], "--label needs samples"),
    "unknown dataset": (["datasets", "magic"], "dataset magic is not known"),
    "unknown command": (["fly"], "No such command 'fly'"),
    "unknown option": (["fit", "table.csv", "--wings"], "See rspca fit --help."),
    "missing option": (["fit", "table.csv"], "Missing option '-k'"),
    "seed of words": (["fit", "table.csv", "-k", "3", "--seed", "x"], "--seed"),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_is_one_line(folder, name):
    arguments, said = MISTAKES[name]
    before = sorted(os.listdir(folder))
    result = call(*arguments, cwd=folder)
    assert result.returncode == 2, result
    assert said in one_line(result.stderr)
    assert result.stdout == ""
    assert sorted(os.listdir(folder)) == before


def test_a_process_ends_the_same_way(folder):
    result = rspca_command("fit", "none.csv", "-k", "3", cwd=folder)
    assert result.returncode == 2
    assert "none.csv does not exist" in one_line(result.stderr)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_refused_before_the_work(folder, tmp_path):
    tmp_path.chmod(0o500)
    result = call("fit", folder / "table.csv", "-k", "3", "-o", tmp_path / "out")
    assert "cannot be written to" in one_line(result.stderr)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (MemoryError("8 GB were asked for."), 2, "not enough memory. 8 GB were asked for. Use fewer features"),
        (ImportError("That needs numba:\n pip install it."), 2, "That needs numba: pip install it."),
        (KeyError("x"), 1, "an error of rspca itself: KeyError('x')"),
    ],
    ids=["memory", "extra", "bug"],
)
def test_failures_are_one_line_and_debug_shows_where(folder, error, status, said):
    with mock.patch.object(k_path, "path", side_effect=error):
        result = call("path", "table.csv", "--ks", "2,3", cwd=folder)
        assert (result.returncode, said in one_line(result.stderr)) == (status, True), result.stderr
        with pytest.raises(type(error)):
            call("--debug", "path", "table.csv", "--ks", "2,3", cwd=folder)


def test_a_warning_is_one_line_without_source(folder, tmp_path):
    result = call("fit", "table.csv", "-k", "30", "-o", tmp_path / "out", "--no-report", cwd=folder)
    assert result.returncode == 0
    assert one_line(result.stderr) == "rspca: warning: -k 30 is more than the 12 features of X; using 12."


def test_a_closed_pipe_ends_quietly(tmp_path):
    np.save(tmp_path / "many.npy", np.random.default_rng(0).standard_normal((20000, 4)))
    model = rspca.SparsePCA(1, k=2, random_state=0).fit(rspca.read(tmp_path / "many.npy"))
    model.save(tmp_path / "model.npz")
    process = subprocess.Popen(
        [*START, "transform", "model.npz", "many.npy"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": source_folder()},
    )  # fmt: skip
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 128 + signal.SIGPIPE


def test_no_command_shows_the_help():
    result = call()
    assert result.returncode == 2
    assert "Commands:" in result.stdout
