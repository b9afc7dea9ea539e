"""Which tests run a line of the package, and how long they take: measured once for each test file, and kept.

Kept in tools/.reached until the package, the test file or the helpers of the tests change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from coverage import CoverageData
from package_copy import ROOT, Copy

KEPT = ROOT / "tools" / ".reached"
CONFIGURATION = "[run]\nsource = rspca\ndata_file = {folder}/measured\n"


class Reached:
    """Lines -> tests, and tests -> seconds, of several test files."""

    def __init__(self, files: Iterable[dict[str, Any]]) -> None:
        self.seconds: dict[str, float] = {}
        self.lines: dict[tuple[str, int], set[str]] = {}
        for one in files:
            self.seconds |= one["seconds"]
            for file, lines in one["lines"].items():
                for line, contexts in lines.items():
                    self.lines.setdefault((file, int(line)), set()).update(contexts)

    def tests(self, file: str, lines: Iterable[int], most: float) -> list[str]:
        """Return the tests that run one of these lines, the quickest first, until they take `most` seconds in all."""
        contexts = set().union(*(self.lines.get((file, line), ()) for line in lines))
        found = [name for name in self.seconds if name in contexts or name.split("::")[0] in contexts]
        chosen, total = [], 0.0
        for name in sorted(found, key=lambda name: (self.seconds[name], name)):
            total += self.seconds[name]
            if chosen and total > most:
                break
            chosen.append(name)
        return chosen


def measured(place: Copy, test: str, files: Iterable[str], compiled: bool = True) -> dict[str, Any]:
    """Return the lines of these files that each test of a test file runs, and the seconds it takes."""
    target = KEPT / (test.replace(".py", "").replace("/", "-") + ("" if compiled else "-interpreted") + ".json")
    key = key_of(place, test)
    if target.exists() and (kept := json.loads(target.read_text()))["key"] == key:
        return dict(kept)
    configuration, durations = place.folder / "coverage.ini", place.folder / "seconds.json"
    configuration.write_text(CONFIGURATION.format(folder=place.folder))
    place.covered(configuration, test, compiled=compiled, RSPCA_SECONDS=str(durations), COVERAGE_CORE="ctrace")
    data = CoverageData(str(place.folder / "measured"))
    data.read()
    lines = {file: data.contexts_by_lineno(str(place.folder / "rspca" / file)) for file in files}
    found = {"key": key, "seconds": json.loads(durations.read_text()), "lines": lines}
    data.close()
    KEPT.mkdir(exist_ok=True)
    target.write_text(json.dumps(found))
    return dict(json.loads(target.read_text()))


def key_of(place: Copy, test: str) -> str:
    """Return what the measurement of a test file depends on, in the copy, which nobody edits meanwhile."""
    tests = place.folder / "tests"
    helpers = [tests / "conftest.py", *(tests / "support").glob("*.py")]
    whole = hashlib.sha256()
    for path in sorted([*(place.folder / "rspca").rglob("*.py"), *helpers, tests / test]):
        whole.update(path.relative_to(place.folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()
