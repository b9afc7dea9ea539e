"""A new user's path: a fresh environment, the demonstration, a file of their own, and its page in a browser."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.browser import keep, launched, opened

import rspca

ROOT = Path(__file__).resolve().parent.parent
NAMES = ["rainfall", "altitude", "pH", "nitrogen", "slope", "sunshine", "soil depth"]


def run(*command, **options):
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(command, capture_output=True, text=True, timeout=400, env=clean, **options)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A new virtual environment with rspca from this checkout and what it needs, nothing else."""
    folder = tmp_path_factory.mktemp("new-user")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", check=True)  # the pip that is here is quicker
    pip = [sys.executable, "-m", "pip", "--python", folder / "venv/bin/python", "install"]
    done = run(*pip, "--quiet", "--no-compile", "--disable-pip-version-check", ROOT)
    if done.returncode and any(words in done.stderr for words in ("Connection", "No matching distribution")):
        pytest.skip("the package index cannot be reached, so nothing can be installed")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def own_file(installed):
    """A table with names of rows and columns, two of which go together."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, len(NAMES))) + 3.0 * np.outer(rng.standard_normal(60), [1, 0, 0, 0.8, 0, 0, 0])
    path = installed / "sites.csv"
    lines = [
        ",".join(["site", *NAMES]),
        *(f"site{i}," + ",".join(map(repr, map(float, row))) for i, row in enumerate(X)),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.slow
def test_from_an_empty_environment_to_a_page(installed, own_file):
    """One test, not three: each process of pytest would install an environment of its own."""
    the_demonstration_runs_where_nothing_but_rspca_is_installed(installed)
    a_file_becomes_components_and_a_page_with_the_name_of_the_top_feature(installed, own_file)
    a_model_saved_by_one_process_gives_another_the_same_scores(installed, own_file)


def the_demonstration_runs_where_nothing_but_rspca_is_installed(installed):
    done = run(installed / "venv/bin/rspca", "demo", cwd=installed)
    assert done.returncode == 0, done.stderr
    assert "pitprops" in done.stdout
    assert "rspca" in done.stdout


def a_file_becomes_components_and_a_page_with_the_name_of_the_top_feature(installed, own_file):
    done = run(installed / "venv/bin/rspca", "fit", own_file, "-k", "2", "-n", "2", "-o", "out", cwd=installed)
    assert done.returncode == 0, done.stderr
    assert {"components.csv", "scores.csv", "model.npz", "report.html"} <= {
        f.name for f in (installed / "out").iterdir()
    }
    assert (installed / "out/components.csv").read_text().splitlines()[1].startswith("1,rainfall,")
    assert (installed / "out/scores.csv").read_text().splitlines()[1].startswith("site0,")
    with launched() as browser, opened(browser, installed / "out/report.html") as page:
        first = page.locator("#component-1 .features tbody th").first
        assert first.inner_text() == "rainfall"
        keep(page, "new-user")


def a_model_saved_by_one_process_gives_another_the_same_scores(installed, own_file):
    there = (
        "import numpy, rspca; model = rspca.load('out/model.npz');"
        f"numpy.save('scores.npy', model.transform(rspca.read({str(own_file)!r})))"
    )
    assert run(installed / "venv/bin/python", "-c", there, cwd=installed).returncode == 0
    here = rspca.load(installed / "out/model.npz").transform(rspca.read(own_file))
    scores = np.load(installed / "scores.npy")
    np.testing.assert_allclose(scores, here, rtol=1e-12)  # another BLAS may sum in another order
    again = run(installed / "venv/bin/rspca", "transform", "out/model.npz", own_file, cwd=installed)
    written = [line.split(",")[1:] for line in again.stdout.splitlines()[1:]]
    np.testing.assert_array_equal(np.array(written, dtype=float), scores)
