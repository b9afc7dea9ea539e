"""The invariants at length: every promise of docs/reliability.md on matrices with hard spectra, until one breaks.

    python tools/truth.py               more than 20,000 examples, about half an hour
    python tools/truth.py -k float32    a part of them: options go to pytest

Runs tests/campaigns/test_invariants*.py with the profile "long" of tests/conftest.py, and writes how many examples
each test tried and what failed to tools/results/invariants.txt.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["RSPCA_HYPOTHESIS"] = "long"

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

import pytest  # noqa: E402
from common import Report  # noqa: E402


class Outcomes:
    """Keeps what failed, and the seconds of each test."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.passed = 0

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed += 1


def main() -> int:
    outcomes, began = Outcomes(), time.perf_counter()
    tests = sorted(str(path) for path in (ROOT / "tests").rglob("test_invariants*.py"))
    pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", *tests, *sys.argv[1:]], plugins=[outcomes])
    from support.adversarial import TRIED

    say = Report("invariants.txt", ROOT / "tools" / "results")
    say(f"\n{sum(TRIED.values())} examples in {(time.perf_counter() - began) / 60:.0f} minutes of one core, shared")
    say(f"{outcomes.passed} tests passed, {len(outcomes.failed)} failed\n")
    for test, examples in sorted(TRIED.items(), key=lambda one: -one[1]):
        say(f"  {examples:6}  {test.removeprefix('test_').replace('_', ' ')}")
    for test in outcomes.failed:
        say(f"  FAILED  {test}")
    return len(outcomes.failed)


if __name__ == "__main__":
    raise SystemExit(main() > 0)
