"""`make pages`: every result file, figure and page has a step that writes it, and finished steps are not run again."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import pages  # noqa: E402

ONCE = {"benchmarks/results/users_reference.json"}
"""Values of the code before issue 16, which nothing may write again."""
RECORD = {"tools/results/pages.json"}
"""Which steps have finished with which code: written by `make pages` itself."""


def tracked(*folders):
    """Return the files of the repository in these folders."""
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout of the repository")
    return set(listed.stdout.split())


# issue 21, item 6
def test_every_result_and_figure_has_a_step():
    written = {place for step in pages.STEPS for place in pages.contents(step.files())}
    folders = ("benchmarks/results", "tools/results", "experiments/results", "docs/figures", "docs/_static")
    assert tracked(*folders) - written - ONCE - RECORD == set()


def test_every_step_runs_a_script_that_exists():
    assert all(step.script.is_file() for step in pages.STEPS)
    assert len({step.name for step in pages.STEPS}) == len(pages.STEPS)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A repository of two scripts: one measures, one puts the number on a page."""
    (tmp_path / "src").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "measure.py").write_text("open('number.txt', 'a').write('1')\n")
    (tmp_path / "tools" / "page.py").write_text("open('page.md', 'w').write(open('number.txt').read())\n")
    steps = (
        pages.Step("measure", ("tools/measure.py",), ("number.txt",)),
        pages.Step("page", ("tools/page.py",), ("page.md",), is_page=True),
    )
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "DONE", tmp_path / "tools" / "results" / "pages.json")
    monkeypatch.setattr(pages, "STEPS", steps)
    return tmp_path


# issue 21, item 6
def test_a_finished_step_runs_again_only_after_its_code_changed(small, capfd):
    assert pages.main([]) == 0
    assert "new      number.txt" in capfd.readouterr().out
    assert pages.main([]) == 0
    assert "Nothing changed." in capfd.readouterr().out
    (small / "src" / "package.py").write_text("changed = True\n")
    assert pages.main([]) == 0
    assert {"changed  number.txt", "changed  page.md"} <= set(capfd.readouterr().out.splitlines())
    assert (small / "page.md").read_text() == "11"


def test_a_step_that_fails_is_named_and_run_again(small, capfd):
    (small / "tools" / "measure.py").write_text("open('number.txt', 'w').write('1')\nraise SystemExit(3)\n")
    assert pages.main([]) == 1
    assert "failed: measure" in capfd.readouterr().out
    assert "measure" not in pages.finished_steps()


def test_pages_are_written_before_the_tests_hold_them_against_results(small, monkeypatch):
    tests = pages.Step("tests", ("tools/measure.py",), (), runs_tests=True)
    monkeypatch.setattr(pages, "STEPS", (tests, *pages.STEPS))
    assert [step.name for step in pages.chosen_steps([], {})] == ["measure", "page", "tests", "page"]
    assert [step.name for step in pages.chosen_steps(["measure"], {})] == ["measure", "page"]


def test_a_step_without_a_name_in_the_table_is_refused(small):
    with pytest.raises(SystemExit, match="There is no step misspelt; there are measure, page"):
        pages.main(["misspelt"])


def test_comments_and_docstrings_are_no_code(small):
    step, source = pages.STEPS[0], small / "src" / "package.py"
    source.write_text("def f():\n    return 1\n")
    before = pages.code_digest(step)
    source.write_text('"""A module."""\n\ndef f():\n    """Return one."""  # always\n    return 1\n')
    assert pages.code_digest(step) == before
    source.write_text("def f():\n    return 2\n")
    assert pages.code_digest(step) != before


def test_command_line_report_and_plots_do_not_count_where_they_are_not_used(small):
    library, whole = (pages.Step("measure", ("tools/measure.py",), (), shells=some) for some in ((), ("report",)))
    before = pages.code_digest(library), pages.code_digest(whole)
    (small / "src" / "report").mkdir()
    (small / "src" / "report" / "page.py").write_text("colors = 3\n")
    after = pages.code_digest(library), pages.code_digest(whole)
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_a_module_that_reads_one_kind_of_file_counts_for_steps_with_such_files(small):
    measure, fuzz = (pages.Step(name, ("tools/measure.py",), ()) for name in ("measure", "fuzz"))
    before = pages.code_digest(measure), pages.code_digest(fuzz)
    (small / "src" / "formats").mkdir()
    (small / "src" / "formats" / "frames.py").write_text("rows = 3\n")
    assert pages.code_digest(measure) == before[0]
    assert pages.code_digest(fuzz) != before[1]


def test_ways_to_a_proof_do_not_count_where_nothing_is_proven(small):
    measures, proves = (pages.Step("measure", ("tools/measure.py",), (), proves=proves) for proves in (False, True))
    folder = small / "src" / "certificates"
    (folder / "bounds").mkdir(parents=True)
    for name, counts in (("strategy.py", False), ("certify.py", True), ("bounds/duals.py", True)):
        before = pages.code_digest(measures), pages.code_digest(proves)
        (folder / name).write_text("levels = 3\n")
        after = pages.code_digest(measures), pages.code_digest(proves)
        assert (after[0] != before[0]) == counts
        assert after[1] != before[1]


def test_scripts_count_that_a_script_runs_by_name(small):
    step = pages.Step("measure", ("tools/measure.py",), (), runs=("tools/story*.py",))
    before = pages.code_digest(step)
    (small / "tools" / "story.py").write_text("import deeper\n")
    named = pages.code_digest(step)
    (small / "tools" / "deeper.py").write_text("levels = 3\n")
    assert len({before, named, pages.code_digest(step)}) == 3


def test_scripts_count_that_a_script_imports_and_no_others(small):
    step, folder = pages.STEPS[0], small / "tools"
    (folder / "common.py").write_text("import deeper\n")
    (folder / "deeper.py").write_text("depth = 1\n")
    (folder / "measure.py").write_text("from common import deeper\n")
    before = pages.code_digest(step)
    (folder / "page.py").write_text("other = 1\n")
    assert pages.code_digest(step) == before
    (folder / "deeper.py").write_text("depth = 2\n")
    assert pages.code_digest(step) != before


def test_no_step_is_begun_that_would_end_too_late(small, capfd):
    assert pages.main([]) == 0
    (small / "src" / "package.py").write_text("changed = True\n")
    done = pages.finished_steps()
    pages.DONE.write_text(f'{{"measure": {{"code": "{done["measure"].code}", "minutes": 30.0}}}}')
    capfd.readouterr()
    assert pages.main(["--minutes", "20"]) == 0
    assert "not begun, for want of time: measure" in capfd.readouterr().out
    assert (small / "number.txt").read_text() == "1"
