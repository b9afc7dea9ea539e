"""Files of every release are read for ever, as docs/public.md promises: one folder in tests/stored for each version.

A folder has table.csv and what that version made of it: model.npz and certificate.json of
`SparsePCA(2, k=3, certify=True, random_state=0)`, and partial.npz of a `rspca fit` of three components that was
stopped after two. A version that changes a format adds a folder and leaves the others as they are.
"""

import csv
import shutil
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from support.commandline import call, one_line

import rspca
from rspca.cli.support import checkpoint

RELEASES = sorted((Path(__file__).resolve().parents[1] / "stored").glob("[0-9]*"))
FIT = ("fit", "table.csv", "-k", "3,2,2", "--no-report", "--seed", "0", "-o", "out", "--resume")


@pytest.fixture(params=RELEASES, ids=lambda folder: folder.name)
def release(request):
    return request.param


@pytest.fixture
def stopped(release, tmp_path):
    (tmp_path / "out").mkdir()
    shutil.copy(release / "table.csv", tmp_path)
    shutil.copy(release / "partial.npz", tmp_path / "out")
    return tmp_path


def test_a_model_of_a_release_loads_and_gives_its_scores(release):
    table = rspca.read(release / "table.csv")
    model = rspca.load(release / "model.npz")
    X = table.operator.columns(np.arange(table.shape[1]))
    np.testing.assert_allclose(model.transform(table), (X - X.mean(axis=0)) @ model.components_.T, atol=1e-12)
    assert model.feature_names_in_.tolist() == table.feature_names.tolist()
    assert [len(support) for support in model.supports_] == [3, 3]


def test_a_certificate_of_a_release_loads_and_is_verified(release):
    certificate = rspca.Certificate.load(release / "certificate.json")
    assert certificate.status == "optimal"
    assert certificate.verify(rspca.read(release / "table.csv"))


def test_a_checkpoint_of_a_release_is_resumed_by_that_release(release, stopped):
    with mock.patch.object(checkpoint, "__version__", release.name):
        resumed = call(*FIT, cwd=stopped)
    assert resumed.returncode == 0, resumed.stderr
    rows = list(csv.DictReader((stopped / "out" / "components.csv").read_text().splitlines()))
    assert [row["component"] for row in rows] == ["1"] * 3 + ["2"] * 2 + ["3"] * 2
    with np.load(release / "partial.npz") as stored:
        for number, component in enumerate(("1", "2")):
            ours = sorted(float(row["loading"]) for row in rows if row["component"] == component)
            np.testing.assert_array_equal(ours, np.sort(stored[f"{number}.loadings"]))


def test_a_checkpoint_of_another_version_is_refused_with_both_versions(release, stopped):
    with mock.patch.object(checkpoint, "__version__", "9.9.9"):
        refused = call(*FIT, cwd=stopped)
    assert refused.returncode == 2
    line = one_line(refused.stderr)
    assert release.name in line
    assert "9.9.9" in line
