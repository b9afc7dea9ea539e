"""A report looked at as readers do: three widths, two themes, a picture of each, and axe-core where npm can get it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.browser import keep, opened

WIDTHS, THEMES = (1400, 1024, 400), ("light", "dark")
HIGHEST = 1600
"""Pixels from the top within which the scores must begin."""
AXE = "axe-core@4"


def looked_at(browser, file, name, height=None):
    """Open a report in every width and theme, keep pictures; return where its scores begin in each width.

    Pictures are of the whole page, or of so many pixels from its top.

    ``opened`` holds that the page asks for nothing and that its console stays empty.
    """
    begin = {}
    for width in WIDTHS:
        for theme in THEMES:
            with opened(browser, file, viewport={"width": width, "height": 900}, color_scheme=theme) as page:
                assert page.evaluate("document.documentElement.scrollWidth") == width, "nothing is wider than the page"
                begin[width] = page.locator("#scatter").bounding_box()["y"]
                assert begin[width] < HIGHEST, f"{name}: scores begin at {begin[width]:.0f} px of {width} px"
                keep(page, f"{name}-{width}-{theme}", height)
    return begin


def axe_core():
    """Return the text of axe-core, which npm installs into the cache of the user, or skip."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rspca-axe-core"
    script = home / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("axe-core comes from npm, which is not installed")
        home.mkdir(parents=True, exist_ok=True)
        wanted = [npm, "install", "--prefix", str(home), "--no-audit", "--no-fund", "--silent", AXE]
        try:
            subprocess.run(wanted, check=True, timeout=90, capture_output=True)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"npm could not install axe-core: {type(error).__name__}")
    return script.read_text(encoding="utf-8")


def violations(browser, file, axe, **options):
    """Return what axe-core finds serious or critical on a report: the rule, and the first element."""
    with opened(browser, file, **options) as page:
        page.locator("details:not([open]) > summary").evaluate_all("all => all.forEach((one) => one.click())")
        page.evaluate(axe)
        found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")["violations"]
        return [(one["id"], one["nodes"][0]["html"][:120]) for one in found if one["impact"] in ("serious", "critical")]
