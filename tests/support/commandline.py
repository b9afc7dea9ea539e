"""The command line as a user runs it, and small files to run it on."""

import contextlib
import inspect
import io
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

import rspca
from rspca import cli
from rspca.base.imports import load
from rspca.formats.genotype_tables import Selection
from rspca.formats.registry import READERS

TESTS = str(Path(__file__).resolve().parent.parent)
"""Folder of the tests, for other processes that import `support`."""
START = [sys.executable, "-c", "from rspca.cli import main; main()"]


def rspca_command(*arguments, cwd=None, program=None, **environment):
    """Run the command in a process of its own; `program` is Python to run instead, with the same arguments."""
    start = [sys.executable, "-c", program] if program else START
    return subprocess.run(
        [*start, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": source_folder()} | environment, timeout=120,
    )  # fmt: skip


def source_folder():
    """Where the package under test is, for processes that start in another folder."""
    return str(Path(rspca.__file__).resolve().parent.parent)


def write_table(path, m=40, n=12, seed=0):
    """Write samples with names by features with names, the first three of which go together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    X[:, :3] += 3.0 * rng.standard_normal((m, 1))
    rows = [",".join(["id", *(f"gene{j}" for j in range(n))])]
    rows += [",".join([f"s{i}", *map(repr, map(float, row))]) for i, row in enumerate(X)]
    path.write_text("\n".join(rows) + "\n")
    return path


FUNCTIONS = (
    rspca.SparsePCA, rspca.path, rspca.compare, rspca.certify, rspca.decompose, rspca.text.term_matrix, Selection,
    *(load(reader.read) for reader in READERS),
)  # fmt: skip
ARGUMENTS = sorted({name for one in FUNCTIONS for name in inspect.signature(one).parameters} | {"n_components"})
PYTHON = re.compile(rf"\b({'|'.join(ARGUMENTS)})=|\b({'|'.join(name for name in ARGUMENTS if '_' in name)})\b")
"""Arguments as Python has them: with a value, or with an underscore in the name."""


def one_line(stderr):
    """Return the only line that was said, without traceback, in the words of the command line."""
    lines = stderr.strip().splitlines()
    assert len(lines) == 1, stderr
    assert lines[0].startswith("rspca: ")
    assert not PYTHON.search(lines[0]), lines[0]
    return lines[0]


class Outcome(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def call(*arguments, cwd="."):
    """Run the command in this process, which saves starting another; errors and signals end it as they do there."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["rspca", *map(str, arguments)]),
        mock.patch.object(warnings, "showwarning"),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    return Outcome(ended.value.code, out.getvalue(), err.getvalue())


def interrupt(*_):
    """Do what Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)
