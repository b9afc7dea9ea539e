"""What `print` and the interactive prompt show of results: a few lines, never whole arrays."""

import numpy as np
import pytest
from support.commandline import rspca_command, write_table

import rspca


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"a_gene_with_a_very_long_name_that_goes_on_{j}" for j in range(200)]
    lines = [",".join(["id", "tissue", *names])]
    lines += [",".join([f"s{i}", "lung", *map(repr, rng.standard_normal(200).tolist())]) for i in range(300)]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    return rspca.read(tmp_path / "x.csv", labels="tissue")


# issue 14, item 19
def test_a_table_prints_as_a_short_summary(table):
    for said in (str(table), repr(table)):
        lines = said.splitlines()
        assert lines[0] == "Table of 300 samples x 200 features (DenseOperator, float64)"
        assert lines[1].startswith("  features: a_gene_with_a_very_long_name_that_goes_o...,")
        assert lines[2] == "  samples: s0, s1, s2, ...; properties: sample, tissue"
        assert len(lines) == 3
        assert len(said) < 400


def test_results_print_in_one_line_for_each_component():
    X = np.random.default_rng(0).standard_normal((30, 2000))
    found = rspca.decompose(X, 2, k=5, side="both", k_samples=3, random_state=0)
    lines = repr(found).splitlines()
    assert lines[0] == "Decomposition by 'rspca', 2 component(s), 2 of samples:"
    assert [line.startswith("  Component(5 of 2000 features, variance=") for line in lines[1:]] == [True, True]
    words = rspca.text.term_matrix(["heat flow", "heat wing", "wing flow"] * 20)
    assert repr(words) == "Terms(60 documents x 3 terms)"


def test_tables_are_compared_by_identity(table):
    assert table == table
    assert table != rspca.Table(table.operator, table.feature_names, table.sample_names)
    assert len({table, table}) == 1


# issue 14, item 19
def test_python_dash_m_runs_the_command_line(tmp_path):
    program = "import runpy; runpy.run_module('rspca', run_name='__main__', alter_sys=True)"
    write_table(tmp_path / "x.csv")
    result = rspca_command("fit", "none.csv", "-k", "3", cwd=tmp_path, program=program)
    assert (result.returncode, result.stderr) == (2, "rspca: none.csv does not exist.\n")
    result = rspca_command("path", "x.csv", "--ks", "1,2", cwd=tmp_path, program=program)
    assert result.returncode == 0
