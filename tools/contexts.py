"""A pytest plugin for reached.py: coverage notes a line under the test that runs it, and under the file between tests.

What a fixture or the import of a test file runs, any test of that file may depend on. Tests are timed in CPU seconds:
other processes do not count.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from coverage import Coverage

seconds: dict[str, float] = {}
skipped: set[str] = set()


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    began = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        seconds[item.nodeid] = sum(os.times()[:4]) - began


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        skipped.add(report.nodeid)


def pytest_sessionfinish() -> None:
    Path(os.environ["RSPCA_SECONDS"]).write_text(
        json.dumps({name: took for name, took in seconds.items() if name not in skipped})
    )
