"""What the documentation says is true: every example in docstrings, README and pages runs."""

import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from support.extras import skip_without_extras
from support.joint import little_search

import rspca
from rspca import cli

ROOT = Path(__file__).resolve().parent.parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def module_names():
    found = [m.name for m in pkgutil.walk_packages(rspca.__path__, "rspca.")]
    return ["rspca", *found]


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    """Examples may write files: not into the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with np.printoptions(legacy=False):
        yield


def run_doctests(test):
    lines = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=lines.append)
    assert not runner.failures, "".join(lines)


@pytest.mark.parametrize("name", module_names())
def test_the_examples_of_a_module_run(name):
    skip_without_extras(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        run_doctests(test)


def callables():
    modules = ("datasets", "formats", "plotting", "report", "singlecell", "text")
    for name in [*rspca.__all__, *(f"{m}.{name}" for m in modules for name in getattr(rspca, m).__all__)]:
        value = rspca
        for part in name.split("."):
            value = getattr(value, part)
        ours = (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__.startswith("rspca")
        if ours and not name.rpartition(".")[2].startswith(("_", "check_")):
            yield name, value


@pytest.mark.parametrize(("name", "value"), [pytest.param(*pair, id=pair[0]) for pair in callables()])
def test_every_public_function_has_a_docstring_and_an_example(name, value):
    documentation = inspect.getdoc(value)
    assert documentation
    results = (  # what functions return, or build upon
        "Component", "Decomposition", "PermutationTest", "Stability", "Step", "OperatorMixin",
        "datasets.Counterexample", "datasets.Dataset",
        "formats.Genotypes", "formats.SeriesMatrix", "formats.SmartDocument", "text.Terms", "Table",
    )  # fmt: skip
    assert name in results or ">>>" in documentation


def test_parameters_and_attributes_of_the_estimator_are_documented():
    documentation = inspect.getdoc(rspca.SparsePCA)
    model = rspca.SparsePCA(2, k=2, random_state=0).fit(np.random.default_rng(0).standard_normal((9, 5)))
    for name in [*model.get_params(), *(name for name in vars(model) if name.endswith("_"))]:
        assert re.search(rf"^(\w+, )*{name}(, \w+)* :", documentation, re.MULTILINE), name


def pages():
    return [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if path.exists()]


FENCE = re.compile(r"^(?:<!-- (not run: .*?) -->\n)?```(.*)\n((?:.*\n)*?)^```\s*$", re.MULTILINE)
SHELLS = ("bash", "console", "sh")
BUILDING = {"pip", "make"}
"""Commands of a page that are not run: they install rspca or build it, which CI does."""


def blocks(path, *languages):
    """Return language and text of the blocks that are run, in their order."""
    found = FENCE.findall(path.read_text())
    return [
        (language.strip(), body) for reason, language, body in found if not reason and language.strip() in languages
    ]


def commands(body, *, console):
    """Return the commands of a block, as words; of a console session those behind a prompt."""
    lines = body.replace("\\\n", " ").splitlines()
    lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")] if console else lines
    found = [shlex.split(line, comments=True) for line in lines]
    return [words[2:] if words[:2] == ["python", "-m"] else words for words in found if words]


def run_command(words, monkeypatch):
    """Run a command of a page; those that install or build are CI's."""
    if words[0] in BUILDING:
        return
    assert words[0] == "rspca", f"nobody runs {words}: mark its block with <!-- not run: reason -->"
    monkeypatch.setattr(sys, "argv", words)
    status = 0
    try:
        cli.main()
    except SystemExit as stopped:
        status = stopped.code
    assert not status, f"{' '.join(words)} ends with {status}"


def test_there_are_pages_and_no_code_block_is_overlooked():
    assert ROOT / "README.md" in pages()
    for path in pages():
        for language in re.findall(r"^ *```+(\S.*)$", path.read_text(), re.MULTILINE):
            known = (
                "python",
                "{doctest}",
                "{eval-rst}",
                "{toctree}",
                "{literalinclude}",
                "bash",
                "console",
                "sh",
                "text",
                "bibtex",
                "make",
                "diff",  # tests/test_extending.py applies them
            )
            assert language.split()[0] in known, f"{path.name}: nobody runs ```{language}"
    assert sum(len(blocks(path, "python", "{doctest}")) for path in pages())
    assert sum(len(blocks(path, *SHELLS)) for path in pages())


def test_a_block_that_is_not_run_says_why():
    for path in pages():
        for reason in re.findall(r"<!-- not run(.*)-->", path.read_text()):
            assert re.fullmatch(r": \w.{9,} ", reason), f"{path.name}: {reason!r}"


def test_commands_of_a_page_are_found():
    assert commands("$ rspca fit x.csv \\\n  -k 4\ncomponent 1\n", console=True) == [
        ["rspca", "fit", "x.csv", "-k", "4"]
    ]
    assert commands("# why\npython -m pip install '.[plot]'  # so\n", console=False) == [["pip", "install", ".[plot]"]]
    with pytest.raises(AssertionError, match="nobody runs"):
        run_command(["dask", "scheduler"], None)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_the_code_and_the_commands_of_a_page_run(path, monkeypatch):
    skip_without_extras(*(block for _, block in blocks(path, "python", *SHELLS)))
    names = {"__name__": "__main__"}
    for number, (language, block) in enumerate(blocks(path, "python", *SHELLS), 1):
        if language in SHELLS:
            for words in commands(block, console=language == "console"):
                run_command(words, monkeypatch)
        elif ">>>" in block:
            run_doctests(doctest.DocTestParser().get_doctest(block, names, f"{path.name} {number}", str(path), 0))
        else:
            with little_search():  # no number of it is shown
                exec(compile(block, f"{path.name}, block {number}", "exec"), names)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_the_sessions_of_a_page_give_what_they_show(path):
    skip_without_extras(*(block for _, block in blocks(path, "{doctest}")))
    names = {}
    for number, (_, block) in enumerate(blocks(path, "{doctest}"), 1):
        test = doctest.DocTestParser().get_doctest(block, names, f"{path.name} {number}", str(path), 0)
        lines = []
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(test, out=lines.append, clear_globs=False)
        names = test.globs
        assert not runner.failures, "".join(lines)


@pytest.mark.parametrize("path", [*pages(), ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_links_to_files_of_the_repository_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", FENCE.sub("", path.read_text())):
        assert (path.parent / target).exists(), target


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "api.md").read_text()
    modules = [name for name in rspca.__all__ if inspect.ismodule(getattr(rspca, name))]
    names = [name for name in rspca.__all__ if name not in modules and name != "__version__"]
    names += [f"{module}.{name}" for module in modules for name in getattr(getattr(rspca, module), "__all__", ())]
    listed = set(re.findall(r"^ {3}([\w.]+)$", text, re.MULTILINE)) | set(re.findall(r"\.\. data:: ([\w.]+)", text))
    assert not sorted(set(names) - listed)


EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_the_gallery_runs(path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    runpy.run_path(str(path))
    assert plt.get_fignums()
    plt.close("all")


@pytest.mark.parametrize(
    "name",
    [
        "performance.md",
        "README.md",
        "scale.md",
        "reliability.md",
        "certificates.md",
        "deflation.md",
        "comparison.md",
        "several.md",
        "choosing-k.md",
        "files.md",
        "statistics.md",
        "reliability_input.md",
        "reliability_faults.md",
        "text.md",
    ],
)
def test_the_numbers_of_the_benchmarks_are_those_of_their_results(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    pages = {path.name: (path, text) for path, text in importlib.import_module("page").pages().items()}
    path, text = pages[name]
    assert path.read_text() == text, "run python tools/page.py"


def test_what_is_cited_is_the_version_at_hand():
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"version: {rspca.__version__}\n" in cited
    assert "arXiv:1508.03337" in cited
    assert f"Version {rspca.__version__}" in (ROOT / "README.md").read_text()


def test_the_changelog_has_a_dated_section_of_the_version_at_hand():
    sections = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[0] == ("Unreleased", "")
    assert sections[1][0] == rspca.__version__
    assert sections[1][1]


# issue 15, item 7
@pytest.mark.parametrize("path", [*pages(), ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"], ids=lambda path: path.name)
def test_a_page_for_users_has_no_goals_no_past_defects_and_no_dialect(path):
    words = (
        r"\b(anew|mend(ed|s)?|beside|go(es)? the same way|(is|was|unless) told|bars? (set|missed)|the goal|not met)\b"
    )
    found = re.findall(words, FENCE.sub("", path.read_text()), re.IGNORECASE)
    assert not found


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_a_page_links_raw_results_instead_of_pasting_them(path):
    text = path.read_text()
    assert "literalinclude} ../" not in text
    assert not re.search(r"^machine: ", text, re.MULTILINE)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_a_page_installs_rspca_from_a_checkout_while_no_index_has_it(path):
    assert not re.search(r"pip install '?rspca\b", path.read_text())


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_picture_of_a_report_is_that_of_the_command_above_it(page):
    command = re.search(r'^COMMAND = "(.*)"$', (ROOT / "docs" / "report_figure.py").read_text(), re.MULTILINE)[1]
    text = (ROOT / page).read_text()
    assert 0 <= text.find(command) < text.index("figures/report.png")


# issue 21, item 4
def test_the_first_screen_of_the_readme_has_a_picture_an_installation_code_and_what_comes_out():
    text = (ROOT / "README.md").read_text()
    expected = ("figures/analysis_cells.png", "pip install", "```python", "`report.html`")
    places = [text.index(words) for words in expected]
    assert places == sorted(places)
    assert text[: places[-1]].count("\n") < 50
    assert "shields.io" not in text  # no badge: there is no public address that one could speak of
