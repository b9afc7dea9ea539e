"""Which lines and branches of the package the quick tests run.

    python tools/covered.py

Writes tools/results/coverage.txt. Tests run with two workers; it takes about three times as long as they do.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from reading import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from common import machine

TESTS = ("run", "-m", "pytest", "-n", "2", "-q", "-m", "not slow")
TABLE = ("report", "--skip-covered", "--include=src/*")  # tests also run copies of the package
WORDS = "coverage run -m pytest -n 2 -m 'not slow'; coverage combine; coverage report --skip-covered --include='src/*'"


def coverage(data: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the tool with its data in a file of this run."""
    command = [sys.executable, "-m", "coverage", arguments[0], f"--data-file={data}", *arguments[1:]]
    return subprocess.run(command, cwd=ROOT, text=True, check=True, **options)  # type: ignore[call-overload, no-any-return]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "coverage")
        coverage(data, *TESTS)
        coverage(data, "combine", folder)
        table = coverage(data, *TABLE, stdout=subprocess.PIPE).stdout
    (ROOT / "tools" / "results" / "coverage.txt").write_text(f"{WORDS}\nmachine: {machine()}\n\n{table}")


if __name__ == "__main__":
    main()
