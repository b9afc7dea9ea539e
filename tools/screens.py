"""Look at four real reports in Chromium: where scores begin, sizes, what axe-core finds; keep pictures of all.

    python tools/screens.py            all of them; results/screens.txt
    python tools/screens.py NAME ...   some of them

Pictures go to tests/artifacts (or RSPCA_ARTIFACTS), as <name>-<width>-<theme>.png. Data that are not on this machine
are named and left out. About three minutes.
"""

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

import pytest  # noqa: E402
from common import Report  # noqa: E402
from support.browser import ARTIFACTS, launched  # noqa: E402
from support.real_reports import REPORTS  # noqa: E402
from support.screens import THEMES, axe_core, looked_at, violations  # noqa: E402

from benchmarks.data import DataAbsent  # noqa: E402


def main(wanted: list[str]) -> int:
    """Look at the reports; return 1 if axe-core finds something serious, or a page breaks its bars."""
    unknown = set(wanted) - set(REPORTS)
    if unknown:
        print(f"not known: {', '.join(sorted(unknown))}; choose of {', '.join(REPORTS)}")
        return 2
    failed, say = False, print if wanted else Report("screens.txt", ROOT / "tools" / "results")
    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        for name in wanted or REPORTS:
            began = time.process_time()
            try:
                page = REPORTS[name](Path(folder) / f"{name}.html")
            except (DataAbsent, pytest.skip.Exception) as reason:
                say(f"{name}: left out: {reason}")
                continue
            took = time.process_time() - began
            try:
                begin = looked_at(browser, page, name)
            except AssertionError as broken:
                say(f"{name}: {broken}")
                failed = True
                continue
            where = ", ".join(f"{y:.0f} px at {width}" for width, y in begin.items())
            say(f"{name}: made in {took:.1f} s, {page.stat().st_size / 1e3:.0f} kB; scores begin at {where}")
            failed |= any(_audited(browser, page, name, theme, say) for theme in THEMES)
    print(f"pictures in {ARTIFACTS}")
    return int(failed)


def _audited(browser, page, name, theme, say):
    """Say what axe-core finds; return whether that is serious."""
    try:
        found = violations(browser, page, axe_core(), color_scheme=theme)
    except pytest.skip.Exception as reason:
        say(f"{name}, {theme}: axe-core left out: {reason}")
        return False
    say(f"{name}, {theme}: axe-core finds {found or 'nothing serious'}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
