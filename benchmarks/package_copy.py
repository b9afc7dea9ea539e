"""A copy of the package and its tests in which one file at a time is changed, and pytest in it."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mutations import SOURCE

ROOT = Path(__file__).resolve().parent.parent
MEMORY = 8 << 30
"""Bytes of addresses a process may have: a wrong size ends the process, not the machine."""


COMPILING = ["tests/test_nodes.py", "tests/test_groups.py"]


class Copy:
    """A copy of the package in a folder that is kept, with what numba compiled there: good until a file changes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.keeps = folder, True
        for source, name in ((SOURCE, "rspca"), (ROOT / "tests", "tests")):
            for old in (folder / name).rglob("*.py"):
                old.unlink()
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        shutil.copy(ROOT / "pyproject.toml", folder)

    def warm(self) -> None:
        """Compile what numba compiles: later it is no part of the time of a test."""
        self.pytest(COMPILING, seconds=1000)

    def changed(self, file: str, source: bytes) -> Changed:
        """Return a context in which a file has another text."""
        return Changed(self, self.folder / "rspca" / file, source)

    def pytest(
        self, options: Sequence[str], *, seconds: float, compiled: bool = True, coverage: Sequence[str] = (),
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Run pytest in the copy, for so many seconds of CPU time at most."""
        environment |= {
            "PYTHONPATH": f"{self.folder}{os.pathsep}{Path(__file__).parent}",
            "RSPCA_HYPOTHESIS": "mutants",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis"),
            "RSPCA_DATA": os.environ.get("RSPCA_DATA", str(ROOT.parent / "shared" / "data")),
            **{f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")},
            **({} if compiled else {"NUMBA_DISABLE_JIT": "1"}),
            **({} if self.keeps else {"PYTHONDONTWRITEBYTECODE": "1"}),
        }

        def limited() -> None:
            """Let the operating system end the process: the time of other processes does not count."""
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 20))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

        command = [
            sys.executable, *coverage, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--tb=no",
            "-rfE", *options,
        ]  # fmt: skip
        ended = subprocess.run(
            command, cwd=self.folder, env=os.environ | environment, capture_output=True, text=True, preexec_fn=limited
        )
        if ended.returncode in (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP):
            raise SystemExit("stopped from outside")
        return ended


class Changed:
    """A file with another text, and with the old one, as old as it was, at the end.

    The time differs too, so that neither Python nor numba takes what was compiled of the old text for the new one, and
    nothing is kept of the new one. What was compiled of the old text is still good afterwards.
    """

    def __init__(self, copy: Copy, target: Path, source: bytes) -> None:
        self.copy, self.target, self.source = copy, target, source
        self.before, self.time = target.read_bytes(), target.stat().st_mtime_ns

    def __enter__(self) -> None:
        self.copy.keeps = False
        self.write(self.source, time.time_ns())

    def __exit__(self, *_: object) -> None:
        self.write(self.before, self.time)
        self.copy.keeps = True

    def write(self, source: bytes, time: int) -> None:
        self.target.write_bytes(source)
        os.utime(self.target, ns=(time, time))
