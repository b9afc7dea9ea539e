"""The eight analyses: pages state what the scripts found, and every script has its figure."""

import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "analyses"))
import write_pages  # noqa: E402

FACTS = json.loads(write_pages.RESULTS.read_text())


# issue 21, item 5
@pytest.mark.parametrize("path", write_pages.pages(), ids=lambda path: path.name)
def test_a_page_shows_what_the_analyses_found(path):
    assert path.read_text() == write_pages.pages()[path], "run python docs/analyses/write_pages.py"


def test_there_are_eight_analyses_each_with_a_small_figure():
    assert len(write_pages.NAMES) == len(FACTS) == 8
    for name in write_pages.NAMES:
        assert (write_pages.DOCS / "figures" / f"analysis_{name}.png").stat().st_size < 60_000


# issue 21, item 5
@pytest.mark.parametrize("guide", ["genotypes", "singlecell", "text", "sklearn", "statistics"])
def test_a_guide_begins_with_a_question_and_a_figure(guide):
    text = (ROOT / "docs" / f"{guide}.md").read_text()
    assert re.match(r"# .+\n\n\*\*.+\?\*\*\n\n<!-- analysis \w+", text)


@pytest.mark.parametrize("name", write_pages.NAMES)
def test_the_code_of_an_analysis_is_the_code_that_its_script_runs(name):
    script = write_pages.module(name)
    code = write_pages.shown_code(script.fitted)
    assert "rspca." in code
    assert not re.search(r"^\s*return\b", code, re.MULTILINE)
    compile(code, name, "exec")


def test_the_proof_is_quick_and_says_what_its_page_says():
    found = write_pages.module("proof").analysis()
    assert found.facts["best"] == pytest.approx(found.facts["found"], rel=1e-9)
    assert write_pages.module("proof").caption(found.facts) == write_pages.module("proof").caption(FACTS["proof"])
