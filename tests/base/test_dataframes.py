"""Frames of pandas and polars, with nullable, Arrow-backed and sparse columns, in every function that takes X."""

from decimal import Decimal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import rspca
from rspca.operators.sparse import SparseOperator

M, N = 24, 5
NUMBERS = np.random.default_rng(0).integers(-9, 10, (M, N)) * [[3.0, 3.0, 2.0, 1.0, 1.0]]
NAMES = list("abcde")
PLAIN = pd.DataFrame(NUMBERS, columns=NAMES)
SIGNS = PLAIN > 0
FRAMES = {
    "Int64": (PLAIN.astype("Int64"), NUMBERS),
    "Float64": (PLAIN.astype("Float64"), NUMBERS),
    "Float32": (PLAIN.astype("Float32"), NUMBERS),
    "boolean": (SIGNS.astype("boolean"), SIGNS.to_numpy()),
    "double[pyarrow]": (PLAIN.astype("double[pyarrow]"), NUMBERS),
    "int16[pyarrow]": (PLAIN.astype("int16[pyarrow]"), NUMBERS),
    "bool[pyarrow]": (SIGNS.astype("bool[pyarrow]"), SIGNS.to_numpy()),
    "decimal[pyarrow]": (PLAIN.map(Decimal).astype(pd.ArrowDtype(pa.decimal128(6, 1))), NUMBERS),
    "mixed": (PLAIN.astype({"a": "Int64", "b": "double[pyarrow]", "c": "int8"}), NUMBERS),
    "sparse": (PLAIN.astype(pd.SparseDtype(float, 0)), NUMBERS),
    "sparse with NaN left out": (PLAIN.astype(pd.SparseDtype(float, np.nan)), NUMBERS),
    "polars": (pl.DataFrame(NUMBERS, schema=NAMES), NUMBERS),
    "polars boolean": (pl.DataFrame(SIGNS.to_numpy(), schema=NAMES), SIGNS.to_numpy()),
}
V = np.array([1.0, -1.0, 0.0, 0.0, 0.0])
FUNCTIONS = {
    "fit": lambda X: rspca.SparsePCA(2, k=2, random_state=0).fit(X).components_,
    "fit_transform": lambda X: rspca.SparsePCA(2, k=2, random_state=0).fit_transform(X),
    "transform": lambda X: rspca.SparsePCA(1, k=2, random_state=0).fit(X).transform(X),
    "score": lambda X: rspca.SparsePCA(1, k=2, random_state=0).fit(X).score(X),
    "decompose": lambda X: rspca.decompose(X, 2, k=2, random_state=0).loadings,
    "relax": lambda X: rspca.relax(X, 2).x,
    "normalize": lambda X: rspca.normalize(X, V),
    "explained_variance": lambda X: rspca.explained_variance(X, V),
    "certify": lambda X: (lambda c: [c.lower, c.upper])(rspca.certify(X, 2)),
    "verify": lambda X: rspca.certify(X, 2).verify(X, seconds=5),
    "path": lambda X: [point.variance for point in rspca.path(X, [1, 2])],
    "compare": lambda X: [one.variance for one in rspca.compare(X, 2, methods=["rspca", "tpower"])],
    "as_operator": lambda X: rspca.as_operator(X).columns(np.arange(N)),
    "ScoresDisplay": lambda X: (
        rspca.plotting.ScoresDisplay.from_estimator(rspca.SparsePCA(2, k=2, random_state=0).fit(X), X)
        .points_[None]
        .get_offsets()
    ),
}


# issue 14, item 19
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_frame_of_any_kind_gives_what_its_numbers_give(function, kind):
    frame, numbers = FRAMES[kind]
    numbers = numbers.astype(np.float32 if kind == "Float32" else float)
    expected, found = FUNCTIONS[function](numbers), FUNCTIONS[function](frame)
    np.testing.assert_allclose(np.asarray(found, dtype=float), np.asarray(expected, dtype=float), atol=1e-6)
    plt.close("all")


MISSING = {
    "Int64": PLAIN.astype("Int64").mask(PLAIN > 20),
    "boolean": SIGNS.astype("boolean").mask(PLAIN > 20),
    "double[pyarrow]": PLAIN.astype("double[pyarrow]").mask(PLAIN > 20),
    "bool[pyarrow]": SIGNS.astype("bool[pyarrow]").mask(PLAIN > 20),
    "sparse": PLAIN.mask(PLAIN > 20).astype(pd.SparseDtype(float, 0)),
    "polars": pl.DataFrame({"a": [1, None, 3] * 8, "b": [2.0, 1.0, 0.5] * 8}),
    "polars boolean": pl.DataFrame({"a": [True, None, False] * 8, "b": [True, False, False] * 8}),
}


# issue 14, item 19
@pytest.mark.parametrize("kind", MISSING)
@pytest.mark.parametrize("function", ["fit", "decompose", "relax", "certify", "path", "compare"])
def test_missing_values_of_a_frame_are_refused_by_column(function, kind):
    with pytest.raises(ValueError, match=r"NaN or infinite values \(first in column 0\). Impute them first"):
        FUNCTIONS[function](MISSING[kind])


@pytest.mark.parametrize("frame", [
    PLAIN.assign(c="x"), PLAIN.assign(c=pd.Categorical(["x"] * M)), PLAIN.astype("Int64").assign(c="x"),
    pl.DataFrame({"a": [1.0, 2.0], "c": ["x", "y"]}),
], ids=["object", "category", "nullable", "polars"])  # fmt: skip
@pytest.mark.parametrize("function", [rspca.as_operator, lambda X: rspca.certify(X, 1)])
def test_a_column_without_numbers_is_named(frame, function):
    with pytest.raises(TypeError, match=r"column c of X has dtype .*; only real numbers can be used. Leave it out"):
        function(frame)


def test_a_sparse_frame_stays_sparse_and_a_gram_matrix_may_be_a_nullable_frame():
    assert isinstance(rspca.as_operator(FRAMES["sparse"][0]), SparseOperator)
    assert scipy.sparse.issparse(rspca.as_operator(FRAMES["sparse"][0]).X)
    A = pd.DataFrame(np.cov(NUMBERS.T))
    expected = rspca.certify(rspca.GramOperator(A.to_numpy()), 2).lower
    assert rspca.certify(rspca.GramOperator(A.astype("Float64")), 2).lower == expected
    assert rspca.normalize(NUMBERS, pd.Series(V, dtype="Float64")).tolist() == rspca.normalize(NUMBERS, V).tolist()


def test_names_of_a_nullable_frame_are_kept_and_wanted_again():
    model = rspca.SparsePCA(1, k=2, random_state=0).fit(FRAMES["mixed"][0])
    assert model.feature_names_in_.tolist() == NAMES
    scores = model.set_output(transform="pandas").transform(FRAMES["Int64"][0].set_index(PLAIN.index + 7))
    assert scores.index.tolist() == list(range(7, 7 + M))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(FRAMES["Int64"][0].rename(columns={"a": "z"}))
