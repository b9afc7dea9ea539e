"""The command line as a user runs it, and small files to run it on."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

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
    import rspca

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


def one_line(stderr):
    """Return the only line that was said, without traceback."""
    lines = stderr.strip().splitlines()
    assert len(lines) == 1, stderr
    assert lines[0].startswith("rspca: ")
    return lines[0]
