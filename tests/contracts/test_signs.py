"""The sign of loadings: wherever they are returned, the largest is positive, and the first of those that tie."""

import anndata
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rspca
from rspca.linalg.vectors import oriented


def data(seed, dtype, negative):
    """Return data in which pairs of features go together or against each other, so that loadings tie in size."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((30, 3)) * [3.0, 2.0, 1.5]
    signs = -1.0 if negative else rng.choice([-1.0, 1.0], 6)
    X = np.repeat(factors, 2, axis=1) * signs + 0.1 * rng.standard_normal((30, 6))
    return np.ascontiguousarray(X.astype(dtype))


def methods(X, k):
    op = rspca.as_operator(X - X.mean(axis=0))
    for method in rspca.METHODS.values():
        for normalization in ("svd", "naive"):
            for one in method(op, 2, k, normalization=normalization, rng=np.random.default_rng(0)):
                yield one.dense()


def path(X, k):
    for certify in (False, True):
        for scale in (False, True):
            seen = []
            found = rspca.path(X, [1, 2, k], certify=certify, scale=scale, seconds=5, on_rows=seen.append)
            yield from (point.loadings for rows in (found, *seen) for point in rows)


def certificates(X, k):
    first = rspca.certify(X, k, scale=True, seconds=5)
    before = np.zeros(X.shape[1])
    before[first.support] = -first.loadings
    second = rspca.certify(X, k, scale=True, after=before, loadings=-np.eye(X.shape[1])[0], seconds=5)
    stored = (rspca.Certificate.from_json(one.as_json()) for one in (first, second))
    yield from (one.loadings for one in (first, second, *stored))


def decompositions(X, k):
    for scale in (False, True):
        both = rspca.decompose(X, 2, k=k, side="both", k_samples=4, scale=scale, random_state=0)
        yield from (one.loadings for one in (*both.components, *both.sample_components))
    proven = rspca.decompose(X, 2, k=k, certify=True, random_state=0)
    yield from (one.certificate.loadings for one in proven.components)


def estimators(X, k, folder):
    model = rspca.SparsePCA(2, k=k, scale=True, random_state=0).fit(X)
    assert model.components_.dtype == X.dtype
    model.save(folder / "model.npz")
    yield from (*model.components_, *rspca.load(folder / "model.npz").components_)
    yield from ([f.loading for f in model.top_features(j)] for j in range(2))
    adata = anndata.AnnData(X)
    rspca.spca(adata, 2, k=k)
    yield from adata.varm["sPCs"].T


def functions(X, k):
    x = -np.ones(X.shape[1])
    yield from (rspca.normalize(X, x, how) for how in ("svd", "naive"))
    yield from (rspca.relax(X, k, solver=solver, start=x).x for solver in ("linearized", "projected"))
    yield rspca.compare(X, k, certify_seconds=5).certificate.loadings


# issue 14, item 11
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), negative=st.booleans(), k=st.integers(2, 4))
def test_the_largest_loading_is_positive_wherever_loadings_are_returned(tmp_path_factory, dtype, seed, negative, k):
    X, folder = data(seed, dtype, negative), tmp_path_factory.mktemp("signs")
    sources = {
        "methods": methods(X, k), "path": path(X, k), "certify": certificates(X, k),
        "decompose": decompositions(X, k), "estimator": estimators(X, k, folder), "functions": functions(X, k),
    }  # fmt: skip
    for name, vectors in sources.items():
        for vector in map(np.asarray, vectors):
            first = int(np.argmax(np.abs(vector)))  # of exact ties the lowest index
            assert vector[first] > 0.0, (name, vector)
            assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6) or name == "functions"


# issue 14, item 11
@pytest.mark.parametrize(("dtype", "nudge"), [(np.float64, 3e-16), (np.float32, 1e-7), (np.float32, 1e-12)])
def test_loadings_that_tie_up_to_rounding_get_one_magnitude_and_the_first_is_positive(dtype, nudge):
    x = np.array([0.1, -0.5, 0.5 * (1.0 + nudge), -0.3])
    for given_x in (x, -x):
        y = oriented(given_x / np.linalg.norm(x), dtype).astype(dtype)
        assert y[1] == -y[2] > 0.0
        assert np.linalg.norm(y) == pytest.approx(1.0, abs=1e-12 if dtype is np.float64 else 1e-7)
