"""A real report at three widths, light and dark: scores early, no request, nothing that axe-core calls serious."""

import pytest
from support.browser import launched
from support.real_reports import wine
from support.screens import THEMES, WIDTHS, axe_core, looked_at, violations


@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory, browser):
    return wine(tmp_path_factory.mktemp("screens") / "wine.html")


# issue 21, what it must show; tools/screens.py does the same for people, cells and documents
def test_the_scores_of_wine_come_early_at_every_width_and_in_both_themes(browser, report):
    assert set(looked_at(browser, report, "wine", 2000)) == set(WIDTHS)


# issue 21, what it must show
def test_axe_core_finds_nothing_serious(browser, report):
    axe = axe_core()
    for theme in THEMES:
        assert violations(browser, report, axe, color_scheme=theme) == []
