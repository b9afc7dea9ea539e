"""Matrices known by their products (SciPy LinearOperators) and DataArrays of xarray are data like any other."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from support.operators import MatvecAndRmatvec, assert_agrees

import rspca
from benchmarks.data import hapmap3
from rspca.operators import multiplied

RNG = np.random.default_rng(0)
TALL, WIDE = RNG.standard_normal((60, 12)) + 1.0, RNG.standard_normal((15, 40)) * np.linspace(0.5, 2.0, 40)


# issue 20, item 4
@pytest.mark.parametrize("wrap", [aslinearoperator, MatvecAndRmatvec])
@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
def test_a_fit_of_products_is_the_fit_of_the_matrix(X, wrap):
    dense = rspca.SparsePCA(2, k=4, certify=True, scale=True, random_state=0).fit(X)
    model = rspca.SparsePCA(2, k=4, certify=True, scale=True, random_state=0).fit(wrap(X))
    assert [s.tolist() for s in model.supports_] == [s.tolist() for s in dense.supports_]
    np.testing.assert_allclose(model.components_, dense.components_, atol=1e-10)
    np.testing.assert_allclose(model.transform(wrap(X)), dense.transform(X), atol=1e-10)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-12)
    assert model.score(wrap(X)) == pytest.approx(dense.score(X))
    for ours, theirs in zip(model.certificates_, dense.certificates_, strict=True):
        assert ours.upper == pytest.approx(theirs.upper, rel=1e-6)
    assert model.certificates_[0].verify(X)


# issue 20, item 4
def test_products_of_two_factors_need_no_matrix():
    A, B = RNG.standard_normal((50, 3)), RNG.standard_normal((3, 200)) * (RNG.random(200) < 0.2)
    product = aslinearoperator(A) @ aslinearoperator(B)
    components = rspca.decompose(product, 2, k=5, random_state=0)
    dense = rspca.decompose(A @ B, 2, k=5, random_state=0)
    for ours, theirs in zip(components.components, dense.components, strict=True):
        assert ours.support.tolist() == theirs.support.tolist()
    assert rspca.as_operator(aslinearoperator(np.arange(6).reshape(2, 3))).dtype == np.float64
    assert rspca.as_operator(aslinearoperator(A.astype(np.float32))).dtype == np.float32


# issue 20, item 4
def test_large_columns_and_gram_matrices_are_the_same_without_a_cache(monkeypatch):
    monkeypatch.setattr(multiplied, "CACHE_BYTES", 0)
    for X in (TALL, WIDE):
        assert_agrees(rspca.as_operator(aslinearoperator(X)), X)


# issue 20, item 4
def test_products_that_are_not_those_of_one_real_matrix_are_refused():
    no_adjoint = LinearOperator((3, 4), matvec=lambda v: np.ones(3), dtype=float)
    with pytest.raises(TypeError, match="without rmatvec"):
        rspca.SparsePCA(1, k=2).fit(no_adjoint)
    wrong = LinearOperator((60, 12), matvec=lambda v: TALL @ v, rmatvec=lambda u: -TALL.T @ u, dtype=float)
    with pytest.raises(ValueError, match="belong to different matrices"):
        rspca.SparsePCA(1, k=2).fit(wrong)
    with pytest.raises(TypeError, match="complex"):
        rspca.SparsePCA(1, k=2).fit(aslinearoperator(TALL * 1j))
    flat = MatvecAndRmatvec(TALL)
    flat.matvec = lambda v: v
    with pytest.raises(ValueError, match=r"matvec of X.*returned shape \(12,\)"):
        rspca.decompose(flat, 1, k=2)
    with pytest.raises(ValueError, match="NaN or infinite"):
        rspca.decompose(aslinearoperator(np.where(TALL > 3.0, np.nan, TALL)), 1, k=2)
    with pytest.raises(ValueError, match="at least one sample"):
        rspca.as_operator(MatvecAndRmatvec(np.zeros((0, 3))))


# issue 20, item 4: HapMap3 as a LinearOperator has the supports of the array
@pytest.mark.slow
def test_hapmap3_as_products_has_the_supports_of_the_array():
    X = hapmap3()
    dense = rspca.SparsePCA(3, k=100, random_state=0).fit(X)
    model = rspca.SparsePCA(3, k=100, random_state=0).fit(aslinearoperator(X))
    assert [s.tolist() for s in model.supports_] == [s.tolist() for s in dense.supports_]


# issue 20, item 4
def test_a_data_array_names_its_features_and_refuses_dims_by_name():
    xarray = pytest.importorskip("xarray", reason="DataArrays need xarray")
    names = [f"gene {j}" for j in range(12)]
    X = xarray.DataArray(TALL, dims=("cell", "gene"), coords={"gene": names})
    model = rspca.SparsePCA(1, k=3, random_state=0).fit(X)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.components_, rspca.SparsePCA(1, k=3, random_state=0).fit(TALL).components_)
    np.testing.assert_allclose(model.transform(X[:, ::-1]), model.transform(X), atol=1e-12)
    assert rspca.decompose(X, 1, k=3, random_state=0).components[0].support.tolist() == model.supports_[0].tolist()
    for wrong, message in (
        (X.T, r"dims \(gene, cell\), features before samples; give X.transpose\('cell', 'gene'\)"),
        (xarray.DataArray(TALL), r"dims \(dim_0, dim_1\), which do not say"),
        (xarray.DataArray(TALL[None], dims=("a", "b", "c")), r"dims \(a, b, c\); two are needed"),
    ):
        with pytest.raises(ValueError, match=message):
            rspca.SparsePCA(1, k=2).fit(wrong)
        with pytest.raises(ValueError, match=message):
            rspca.decompose(wrong, 1, k=2)
    with pytest.raises(TypeError, match="xarray Dataset; give one of its arrays"):
        rspca.SparsePCA(1, k=2).fit(xarray.Dataset({"a": X}))
    unnamed = xarray.DataArray(TALL, dims=("sample", "feature"))
    assert not hasattr(rspca.SparsePCA(1, k=2, random_state=0).fit(unnamed), "feature_names_in_")
