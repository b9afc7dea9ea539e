"""Links inside of the repository lead somewhere: files, headings, figures, and files that a page names."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")])
BLOCK = re.compile(r"^```.*?^```\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?:\]\(|src=\")(?!https?:|mailto:)([^)\s\"]+)[)\"]")
NAMED_FILE = re.compile(r"`((?:benchmarks|docs|examples|experiments|src|tests|tools)/[\w./-]+\.\w+)`")


def prose(path):
    """Return a page without its blocks of code."""
    return BLOCK.sub("", path.read_text())


def anchors(path):
    """Return the anchors that Sphinx and GitHub give to the headings of a page."""
    headings = re.findall(r"^#{1,3} (.+)$", prose(path), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def broken_links(path):
    """Return the links of a page that lead nowhere."""
    broken = []
    for link in LINK.findall(prose(path)):
        place, _, anchor = link.partition("#")
        target = path if not place else (path.parent / place).resolve()
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    return broken


# issue 21, what it must show: a link checker over internal links
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_internal_link_leads_to_a_file_and_a_heading(path):
    assert broken_links(path) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_file_that_a_page_names_exists(path):
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout of the repository")
    made = {"benchmarks/results/users.txt", "benchmarks/results/users.csv"}  # by the next run of make pages
    named = set(NAMED_FILE.findall(path.read_text())) - made
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_every_page_is_in_one_table_of_contents():
    index = (DOCS / "index.md").read_text()
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL)
    names = [line for block in blocks for line in block.splitlines() if not line.startswith(":")]
    for path in DOCS.glob("*.md"):
        assert path.stem == "index" or names.count(path.stem) == 1, path.stem


def test_the_checker_finds_a_wrong_file_and_a_wrong_heading(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('# One heading\n\n[a](page.md#one-heading) [b](#none) [c](gone.md) <img src="gone.png">\n')
    assert broken_links(page) == ["#none", "gone.md", "gone.png"]


# issue 21, what it must show: every figure has its script
def test_every_figure_has_a_script_that_names_it():
    scripts = [
        *DOCS.glob("*.py"),
        *DOCS.glob("analyses/*.py"),
        *ROOT.glob("experiments/*.py"),
        *ROOT.glob("benchmarks/*.py"),
    ]
    text = "".join(script.read_text() for script in scripts)
    analyses = {f"analysis_{script.stem}" for script in DOCS.glob("analyses/*.py")}
    for figure in [*DOCS.glob("figures/*.png"), *DOCS.glob("_static/*.*g")]:
        named = f'"{figure.stem}"' in text or figure.name in text
        assert named or figure.stem in analyses, figure.name
