"""A copy of the package and its tests in which one file at a time is changed, and pytest in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mutations import SOURCE

ROOT = Path(__file__).resolve().parent.parent
COMPILING = ["tests/certificates/test_nodes.py", "tests/algorithm/test_feature_limits.py"]
OPTIONS = ["-q", "-p", "no:cacheprovider", "-m", "not slow", "--tb=no", "-rfE"]


class Copy:
    """A copy of the package in a folder that is kept, with what numba compiled there: good until a file changes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.keeps = folder, True
        for source, name in ((SOURCE, "rspca"), (ROOT / "tests", "tests")):
            for old in (folder / name).rglob("*.py"):
                old.unlink()
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        shutil.copy(ROOT / "pyproject.toml", folder)
        (folder / "benchmarks").mkdir(exist_ok=True)
        shutil.copy(ROOT / "benchmarks" / "data.py", folder / "benchmarks")
        self.environment = os.environ | {
            "PYTHONPATH": f"{folder}{os.pathsep}{Path(__file__).parent}",
            "RSPCA_HYPOTHESIS": "mutants",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
            "RSPCA_DATA": os.environ.get("RSPCA_DATA", str(ROOT.parent / "shared" / "data")),
            **{f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")},
        }
        self.zygote = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))], cwd=folder, env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.pytest(COMPILING, seconds=1000)  # later it is no part of the time of a test

    def changed(self, file: str, source: bytes) -> Changed:
        """Return a context in which a file has another text."""
        return Changed(self, self.folder / "rspca" / file, source)

    def pytest(self, tests: Sequence[str], *, seconds: float, compiled: bool = True) -> tuple[int, str]:
        """Run pytest until a test fails, for so many seconds of CPU time at most; return its code and its output."""
        job = {"arguments": ["-x", *OPTIONS, *tests], "seconds": seconds, "compiled": compiled, "keeps": self.keeps}
        assert self.zygote.stdin is not None
        assert self.zygote.stdout is not None
        self.zygote.stdin.write(json.dumps(job) + "\n")
        self.zygote.stdin.flush()
        ended = json.loads(self.zygote.stdout.readline())
        return ended["code"], ended["output"]

    def covered(self, configuration: Path, test: str, *, compiled: bool, **environment: str) -> None:
        """Run a test file under coverage, with the plugin that tells tests apart."""
        command = ["coverage", "run", f"--rcfile={configuration}", "-m", "pytest", *OPTIONS, "-p", "contexts"]
        environment |= {} if compiled else {"NUMBA_DISABLE_JIT": "1"}
        ended = subprocess.run(
            [sys.executable, "-m", *command, f"tests/{test}"], cwd=self.folder, env=self.environment | environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ended.returncode:
            raise SystemExit(f"{test} fails without any mutant: mend that first.\n{ended.stdout}{ended.stderr}")


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
