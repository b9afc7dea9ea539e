"""The table of file formats: every row is complete, and what is said of formats is taken from it."""

import inspect
import re
from pathlib import Path

import pytest
from support.commandline import call

import rspca
from rspca.base.imports import load
from rspca.formats import registry
from rspca.formats.genotype_tables import Selection
from rspca.report.kinds import KINDS

ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = {reader.name: reader for reader in registry.READERS}


@pytest.mark.parametrize("name", ROWS)
def test_the_options_of_a_row_are_those_of_its_function(name):
    parameters = inspect.signature(load(ROWS[name].read)).parameters.values()
    keywords = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    if ROWS[name].subject == "genotypes":
        keywords.update(Selection._fields)
    elif any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):  # documents: handed on
        keywords.update(set(inspect.signature(rspca.text.term_matrix).parameters) - {"documents"})
        keywords -= {"pattern"} - set(ROWS[name].options)  # only folders have several files to choose from
    assert keywords == set(ROWS[name].options)


@pytest.mark.parametrize("name", ROWS)
def test_every_place_of_a_row_is_a_function_and_its_extra_exists(name):
    row = ROWS[name]
    assert all(callable(load(place)) for place in (row.read, row.is_folder, row.companions, row.complete) if place)
    assert f"\n{row.extra} = [" in (ROOT / "pyproject.toml").read_text() or not row.extra


def test_every_suffix_belongs_to_one_row():
    known = [*registry.suffixes(), *(suffix for row in registry.READERS for suffix in row.relatives)]
    assert len(known) == len(set(known))
    assert all(re.fullmatch(r"\.[a-z0-9]+", suffix) for suffix in known)


def test_help_and_messages_list_every_format(tmp_path):
    (tmp_path / "a.docx").write_text("x")
    said = call("fit", "a.docx", "-k", "2", cwd=tmp_path).stderr
    shown = " ".join(call("fit", "--help").stdout.split())
    for suffix in registry.suffixes():
        assert suffix in said
        assert suffix in shown
        assert f"``{suffix}``" in rspca.read.__doc__


def test_the_page_on_files_lists_the_formats_with_options_that_they_have():
    page = (ROOT / "docs" / "files.md").read_text()
    rows = re.findall(r"^\| (`\.[^|]*) \|[^|]*\|([^|]*)\|$", page, flags=re.MULTILINE)
    listed = set()
    for files, options in rows:
        suffixes = re.findall(r"`(\.\w+)`", files)
        listed.update(suffixes)
        for suffix in suffixes:
            reader = registry.reader_of(Path(f"x{suffix}"))
            assert set(re.findall(r"`(\w+)`", options)) <= set(reader.options), suffix
    assert listed <= set(registry.suffixes())  # the docstring of rspca.read has all of them


def test_folders_and_gzipped_files_are_recognized(tmp_path):
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "matrix.mtx.gz").touch()
    assert registry.reader_of(tmp_path / "cells").name == ".mtx"
    assert registry.reader_of(tmp_path).name == "documents"
    assert registry.reader_of(Path("X.CSV.GZ")).name == "text tables"
    assert registry.reader_of(Path("x.vcf.gz")) is None
    assert "plink2 --vcf x.vcf.gz" in registry.advice(Path("x.vcf.gz"))
    assert registry.advice(Path("x.docx")) is None


# issue 21, item 1
def test_the_subject_of_every_format_has_words_on_the_page():
    assert {row.subject for row in registry.READERS} <= set(KINDS)
    assert registry.subject_of([Path("cells.h5ad")]) == "cells"
    assert registry.subject_of([Path("study.bed")]) == "genotypes"
    assert registry.subject_of([Path("table.csv.gz")]) == "table"
