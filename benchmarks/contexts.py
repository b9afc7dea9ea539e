"""A pytest plugin for reached.py: coverage notes a line under the test that runs it, and under the file between tests.

What a fixture or the import of a test file runs, any test of that file may depend on.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from coverage import Coverage

seconds: Counter[str] = Counter()


def note_under(context: str) -> None:
    running = Coverage.current()
    if running is None:
        raise SystemExit("This plugin needs `coverage run -m pytest`.")
    running.switch_context(context)


def pytest_collectstart(collector: pytest.Collector) -> None:
    if isinstance(collector, pytest.Module):
        note_under(collector.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    note_under(item.nodeid)
    try:
        return (yield)
    finally:
        note_under(item.nodeid.split("::")[0])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.passed and report.when in ("setup", "call"):
        seconds[report.nodeid] += report.duration
    elif report.skipped:
        seconds.pop(report.nodeid, None)


def pytest_sessionfinish() -> None:
    Path(os.environ["RSPCA_SECONDS"]).write_text(json.dumps(seconds))
