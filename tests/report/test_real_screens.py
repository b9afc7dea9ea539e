"""Reports of people, cells and documents at three widths, light and dark; tools/screens.py also runs axe-core."""

import pytest
from support.browser import launched
from support.real_reports import REPORTS
from support.screens import WIDTHS, looked_at


@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in REPORTS if name != "wine"])  # test_screens.py has wine
def test_the_scores_of_real_data_come_early_at_every_width_and_in_both_themes(browser, tmp_path, name):
    page = REPORTS[name](tmp_path / f"{name}.html")  # DataAbsent skips the test
    assert set(looked_at(browser, page, name)) == set(WIDTHS)
