"""The command line: what it prints and writes, how it refuses, and what it does not import."""

import csv
import os
import subprocess
import sys

import numpy as np
import pytest
from support.commandline import call, rspca_command, write_table
from typer.testing import CliRunner

import rspca
from rspca.cli.app import app

HEAVY = ("numba", "dask", "distributed", "anndata", "matplotlib", "pandas", "polars")


def loaded_by(statement):
    """Names of the modules in memory after a statement in a new process, those of SciPy's packages too."""
    program = f"import sys; {statement}; print(*(m for m in sys.modules if '.' not in m or m.startswith('scipy.')))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(run.stdout.splitlines()[-1].split())


def check_demo(output, folder):
    for title in ("pitprops", "synthetic family", "breast cancer"):
        assert title in output
    assert output.count("non-zeros") == 3  # three tables
    assert "maxcomp" in output
    assert "rspca" in output
    assert "whorls" in output  # a feature by its name
    figure = folder / "shares.png"
    assert str(figure) in output
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def small_demo(monkeypatch):
    """Put a small matrix in the place of the largest one of the demo."""
    small = np.random.default_rng(0).standard_normal((20, 64)) * 0.8 ** np.arange(64)
    monkeypatch.setattr("rspca.cli.support.demonstration.make_hadamard", lambda: small)


def test_the_demo_prints_its_tables_and_writes_its_figure(tmp_path, small_demo):
    pytest.importorskip("matplotlib").use("Agg")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "new" / "folder")])
    assert result.exit_code == 0
    check_demo(result.output, tmp_path / "new" / "folder")


@pytest.mark.slow
def test_the_installed_command_runs_the_demo_and_compiles_nothing_on_a_new_machine(tmp_path):
    pytest.importorskip("matplotlib")
    cache = tmp_path / "numba"
    cache.mkdir()
    environment = {"MPLBACKEND": "Agg", "NUMBA_CACHE_DIR": str(cache)}
    result = rspca_command("demo", "-o", "out", "--seed", "1", cwd=tmp_path, **environment)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    check_demo(result.stdout.replace("Figure: out", f"Figure: {tmp_path / 'out'}"), tmp_path / "out")
    assert "proven optimal" in result.stdout
    assert sorted(os.listdir(tmp_path)) == ["numba", "out"]
    assert not list(cache.iterdir())  # issue 14, item 21


def test_help_lists_the_commands():
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output
    assert "--version" in result.output
    assert "--seed" in CliRunner().invoke(app, ["demo", "--help"]).output


def test_the_version_is_printed():
    result = rspca_command("--version")
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, rspca.__version__, "")


@pytest.mark.parametrize(
    "arguments", [["fly"], ["demo", "--wings"], ["demo", "--seed", "-1"], ["demo", "--seed", "x"], ["demo", "extra"]]
)
def test_a_mistake_on_the_command_line_exits_with_two_and_no_traceback(arguments):
    result = call(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert arguments[-1] in result.stderr or "seed" in result.stderr


def test_a_failure_is_one_line_without_traceback(tmp_path):
    (tmp_path / "taken").write_text("a file where the folder should be")
    result = call("demo", "--out", "taken", cwd=tmp_path)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("rspca: ")
    assert "taken" in lines[0]


def test_errors_of_the_library_become_one_line(monkeypatch, capsys, tmp_path):
    from rspca import cli
    from rspca.cli.support import demonstration

    def broken(*_, **__):
        raise ValueError("k=0 must be at least 1.")

    monkeypatch.setattr(demonstration, "run", broken)
    monkeypatch.setattr(sys, "argv", ["rspca", "demo", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "rspca: k=0 must be at least 1.\n"


def test_the_demo_works_without_matplotlib(monkeypatch, tmp_path, small_demo):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.delitem(sys.modules, "rspca.plotting", raising=False)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "pip install 'rspca[plot]'" in result.output
    assert os.listdir(tmp_path) == []


def test_importing_rspca_loads_nothing_heavy():
    loaded = loaded_by("import rspca; rspca.__version__; dir(rspca)")
    assert "rspca" in loaded
    assert loaded.isdisjoint({*HEAVY, "sklearn", "scipy", "numpy", "typer"})


def test_help_loads_nothing_heavy():
    statement = "sys.argv = ['rspca', '--help']; from rspca.cli.app import app; app(standalone_mode=False)"
    assert loaded_by(statement).isdisjoint({*HEAVY, "sklearn", "scipy", "numpy", "rich", "jinja2"})


def test_fitting_loads_no_extra():
    loaded = loaded_by(
        "import numpy as np, rspca; rspca.SparsePCA(k=2).fit(np.random.default_rng(0).normal(size=(9, 5)))"
    )
    assert "sklearn" in loaded
    assert loaded.isdisjoint({"numba", "dask", "distributed", "anndata", "matplotlib"})


def test_a_decomposition_loads_neither_scikit_learn_nor_the_solvers_of_proofs():
    loaded = loaded_by(
        "import numpy as np, rspca; rspca.decompose(np.random.default_rng(0).normal(size=(9, 5)), 1, k=2)"
    )
    assert "scipy.sparse" in loaded
    assert loaded.isdisjoint({"sklearn", "scipy.optimize"})


def test_every_public_name_can_be_reached_and_is_listed():
    for name in rspca.__all__:
        assert getattr(rspca, name) is not None
        assert name in dir(rspca)


@pytest.fixture
def table(tmp_path):
    """A file of 40 samples with names by 12 features with names, the first three of which go together."""
    return write_table(tmp_path / "table.csv")


def test_fit_writes_components_scores_and_a_model_with_the_names_of_the_file(table, tmp_path):
    out = tmp_path / "new" / "out"
    result = CliRunner().invoke(app, ["fit", str(table), "-k", "3", "-n", "2", "-o", str(out), "--certify"])
    assert result.exit_code == 0, result.output
    assert "proven optimal" in result.output
    components = list(csv.DictReader((out / "components.csv").read_text().splitlines()))
    assert {row["feature"] for row in components if row["component"] == "1"} == {"gene0", "gene1", "gene2"}
    scores = list(csv.DictReader((out / "scores.csv").read_text().splitlines()))
    assert [row["sample"] for row in scores] == [f"s{i}" for i in range(40)]
    model = rspca.load(out / "model.npz")
    assert model.certificates_[0].status == "optimal"
    np.testing.assert_allclose(
        [[float(row["component1"]), float(row["component2"])] for row in scores],
        model.transform(rspca.read(table)),
        rtol=1e-9,
    )
    assert sorted(os.listdir(out)) == ["components.csv", "model.npz", "report.html", "scores.csv"]


@pytest.mark.parametrize("method", sorted(rspca.METHODS))
def test_every_method_can_be_chosen(table, tmp_path, method):
    result = CliRunner().invoke(app, ["fit", str(table), "-k", "3", "--method", method, "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output


def test_compare_prints_every_method_and_the_bound(table):
    result = CliRunner().invoke(app, ["compare", str(table), "-k", "3", "--scale", "yes"])
    assert result.exit_code == 0, result.output
    assert all(f"{method} " in result.output for method in rspca.METHODS)
    assert "proven: " in result.output
    few = CliRunner().invoke(app, ["compare", str(table), "-k", "3", "--methods", "rspca, tpower", "--seconds", "0"])
    assert "maxcomp" not in few.output
    assert "proven" not in few.output


def test_genotypes_keep_what_is_known_of_their_snps(tmp_path):
    pytest.importorskip("numba")
    X, _ = rspca.datasets.make_genotypes(60, 50)
    rspca.formats.write_plink(tmp_path / "toy.bed", X)
    out = tmp_path / "out"
    result = CliRunner().invoke(
        app, ["fit", str(tmp_path / "toy.bed"), "-k", "4", "--scale", "patterson", "-o", str(out)]
    )
    assert result.exit_code == 0, result.output
    head = (out / "components.csv").read_text().splitlines()[0]
    known = ["snp", "chromosome", "position", "allele_1", "allele_2", "frequency", "missing"]
    assert head.split(",")[4:] == ["structure", *known]
    assert (out / "scores.csv").read_text().startswith("fid,iid,component1")
