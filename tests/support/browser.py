"""Chromium for tests, driven by Playwright: offline, and with everything that a page complains about kept."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

ARTIFACTS = Path(os.environ.get("RSPCA_ARTIFACTS", Path(__file__).parent.parent / "artifacts"))


def chromium():
    """Return the path of a browser of the system, or skip the test."""
    found = os.environ.get("RSPCA_CHROMIUM") or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        pytest.skip("no Chromium found; install the package chromium, or set RSPCA_CHROMIUM to its path")
    return found


@contextmanager
def launched():
    """Give a browser without a window; it ends with the block."""
    api = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright: pip install playwright")
    path = chromium()
    with api.sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []  # root cannot have Chromium's sandbox
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


@contextmanager
def opened(browser, file, **options):
    """Give a page of a file, offline; at the end it must have asked for nothing else and complained of nothing."""
    context = browser.new_context(offline=True, **options)
    page = context.new_page()
    page.set_default_timeout(30_000)
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    page.goto(Path(file).as_uri())
    yield page
    assert requests == [Path(file).as_uri()], requests
    assert not complaints, complaints
    context.close()


def keep(page, name, height=None):
    """Keep a picture of the page, or of so many pixels from its top, among the artifacts of the tests."""
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    top = {} if height is None else {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
    page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=True, clip=top or None)
