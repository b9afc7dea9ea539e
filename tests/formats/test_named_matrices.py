"""Matrices with names: models of sparse data carry them, tables return their matrix, labels reach scores.csv."""

import csv

import numpy as np
import pytest
import scipy.sparse as sp
from support.commandline import call

import rspca
from rspca.operators.streamed import BlockOperator

X = np.abs(np.random.default_rng(0).standard_normal((30, 6))) * (np.random.default_rng(1).random((30, 6)) < 0.5)
NAMES = [f"word {j}" for j in range(6)]


# issue 20, item 9
@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, np.asarray])
def test_a_model_of_a_named_matrix_carries_the_names(tmp_path, make):
    table = rspca.Table.from_matrix(make(X), feature_names=NAMES, sample_names=[f"d{i}" for i in range(30)])
    model = rspca.SparsePCA(2, k=3, random_state=0).fit(table)
    assert model.feature_names_in_.tolist() == NAMES
    assert {feature.name for feature in model.top_features()} <= set(NAMES)
    model.save(tmp_path / "model.npz")
    assert rspca.load(tmp_path / "model.npz").feature_names_in_.tolist() == NAMES
    turned = rspca.Table.from_matrix(make(X[:, ::-1]), feature_names=NAMES[::-1])
    np.testing.assert_allclose(model.transform(turned), model.transform(table), atol=1e-12)
    assert model.score_table(table)["sample"][3] == "d3"


# issue 20, item 9
def test_a_table_returns_its_matrix():
    sparse = sp.csr_array(X)
    assert rspca.Table.from_matrix(sparse).matrix is sparse
    assert rspca.Table.from_matrix(sparse).feature_names[2] == "feature2"
    streamed = rspca.Table.from_matrix(BlockOperator(X))
    np.testing.assert_array_equal(streamed.matrix, X)


# issue 20, item 9
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (NAMES[:3], "feature_names has 3 entries for 6 features"),
        (["a"] * 6, "occur more than once"),
        (3, "feature_names"),
    ],
)
def test_names_that_do_not_fit_are_refused(names, said):
    with pytest.raises((ValueError, TypeError), match=said):
        rspca.Table.from_matrix(X, feature_names=names)


# issue 20, item 9
def test_labels_of_a_file_are_a_column_of_the_scores(tmp_path):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "tissue.txt").write_text("".join(f"{'ab'[i % 2]}\n" for i in range(30)))
    assert call("fit", "x.npy", "-k", "2", "-o", "out", "--label", "tissue.txt", cwd=tmp_path).returncode == 0
    with (tmp_path / "out" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["tissue"] for row in rows[:3]] == ["a", "b", "a"]
    assert rows[3]["sample"] == "sample3"
    assert call("report", "out", "--label", "tissue", cwd=tmp_path).returncode == 0
