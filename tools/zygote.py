"""A process that has imported what tests import, and that forks for each run of pytest: most of a run is imports.

A run is one line of JSON on its input, and one on its output. It holds nothing of rspca or of the tests themselves.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import tempfile
from typing import Any

import numba
import pytest

for name in ("hypothesis.extra.numpy", "pandas", "scipy.linalg", "scipy.sparse", "sklearn.utils.estimator_checks"):
    importlib.import_module(name)

MEMORY = 8 << 30
"""Bytes of addresses a run may have: a wrong size ends the run, not the machine."""


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run pytest in a fork, and return its output and how it ended."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            work(job, output.fileno())
        status = os.waitpid(child, 0)[1]
        output.seek(0)
        return {"code": os.waitstatus_to_exitcode(status), "output": output.read().decode(errors="replace")}


def work(job: dict[str, Any], output: int) -> None:
    """Let the operating system end a run that takes too long: the time of other processes does not count."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(job["seconds"]), int(job["seconds"]) + 20))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    numba.config.DISABLE_JIT = not job["compiled"]
    sys.dont_write_bytecode = not job["keeps"]
    code = 3  # pytest's own for an error inside it
    try:
        code = int(pytest.main(job["arguments"]))
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
