"""What the documentation says is true: every example in docstrings, README and pages runs."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import rspca

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
    if name == "rspca.plotting":
        pytest.importorskip("matplotlib")
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        run_doctests(test)


def callables():
    modules = ("datasets", "formats", "text")
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
        "Component", "Decomposition", "Step", "OperatorMixin", "datasets.Counterexample", "datasets.Dataset",
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


def blocks(path, *languages):
    fence = re.compile(r"^```(.*)\n((?:.*\n)*?)^```\s*$", re.MULTILINE)
    return [body for language, body in fence.findall(path.read_text()) if language.strip() in languages]


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
            )
            assert language.split()[0] in known, f"{path.name}: nobody runs ```{language}"
    assert sum(len(blocks(path, "python", "{doctest}")) for path in pages())


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_the_code_of_a_page_runs(path):
    if any("matplotlib" in block or "plotting" in block for block in blocks(path, "python")):
        pytest.importorskip("matplotlib")
    names = {"__name__": "__main__"}
    for number, block in enumerate(blocks(path, "python"), 1):
        if ">>>" in block:
            run_doctests(doctest.DocTestParser().get_doctest(block, names, f"{path.name} {number}", str(path), 0))
        else:
            exec(compile(block, f"{path.name}, block {number}", "exec"), names)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_the_sessions_of_a_page_give_what_they_show(path):
    names = {}
    for number, block in enumerate(blocks(path, "{doctest}"), 1):
        test = doctest.DocTestParser().get_doctest(block, names, f"{path.name} {number}", str(path), 0)
        lines = []
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(test, out=lines.append, clear_globs=False)
        names = test.globs
        assert not runner.failures, "".join(lines)


@pytest.mark.parametrize("path", [*pages(), ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_links_to_files_of_the_repository_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text()):
        assert (path.parent / target).exists(), target
