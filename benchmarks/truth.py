"""The invariants at length: every promise of docs/reliability.md on matrices with hard spectra, until one breaks.

    python benchmarks/truth.py               more than 20,000 examples, about half an hour
    python benchmarks/truth.py -k float32    a part of them: options go to pytest

Runs tests/test_invariants*.py with the profile "long" of tests/conftest.py, and writes how many examples each test
tried and what failed to benchmarks/results/invariants.txt.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

os.environ["RSPCA_HYPOTHESIS"] = "long"

import pytest
from common import HERE, Report


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


def main() -> None:
    outcomes, began = Outcomes(), time.perf_counter()
    tests = sorted(str(path) for path in (HERE.parent / "tests").glob("test_invariants*.py"))
    pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", *tests, *sys.argv[1:]], plugins=[outcomes])
    from adversarial import TRIED

    say = Report("invariants.txt")
    say(f"\n{sum(TRIED.values())} examples in {(time.perf_counter() - began) / 60:.0f} minutes of one core, shared")
    say(f"{outcomes.passed} tests passed, {len(outcomes.failed)} failed\n")
    for test, examples in sorted(TRIED.items(), key=lambda one: -one[1]):
        say(f"  {examples:6}  {test.removeprefix('test_').replace('_', ' ')}")
    for test in outcomes.failed:
        say(f"  FAILED  {test}")


if __name__ == "__main__":
    main()
