"""rspca.spca follows scanpy: its slots, its defaults, its plots and its neighbors."""

import json
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import rspca

anndata = pytest.importorskip("anndata", reason="rspca.spca needs anndata: pip install 'rspca[anndata]'")

M, N = 120, 40
PROGRAM = [3, 9, 15, 21]


def logged(m=M, seed=0):
    rng = np.random.default_rng(seed)
    X = np.log1p(rng.poisson(0.6, (m, N)))
    X[:, PROGRAM] += 3 * rng.random((m, 1))
    X[:, [4, 8, 12]] += 2 * rng.random((m, 1))
    return X.astype(np.float32)


KINDS = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix, "csr array": sp.csr_array}


def cells(kind="csr", m=M):
    adata = anndata.AnnData(KINDS[kind](logged(m)))
    adata.obs_names = [f"cell{i}" for i in range(m)]
    adata.var_names = [f"g{j}" for j in range(N)]
    adata.obs["group"] = np.array(["a", "b"])[np.arange(m) % 2]
    return adata


def support(adata, component=0, key="sPCs"):
    return np.flatnonzero(adata.varm[key][:, component]).tolist()


# Slots


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_where_scanpy_puts_its_own_and_agree_with_the_estimator(kind):
    adata = cells(kind)
    assert rspca.spca(adata, n_comps=2, k=4) is None
    model = rspca.SparsePCA(2, k=4, random_state=0).fit(logged())
    assert support(adata) == PROGRAM
    np.testing.assert_allclose(adata.varm["sPCs"], model.components_.T, atol=1e-5)
    np.testing.assert_allclose(adata.obsm["X_spca"], model.transform(logged()), atol=1e-4)
    assert adata.obsm["X_spca"].dtype == np.float32
    np.testing.assert_allclose(adata.uns["spca"]["variance"], model.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(adata.uns["spca"]["variance_ratio"], model.explained_variance_ratio_, rtol=1e-5)
    params = adata.uns["spca"]["params"]
    assert (params["zero_center"], params["use_highly_variable"], params["k"]) == (True, False, 4)
    assert "mask_var" not in params
    assert type(adata.X) is type(KINDS[kind](logged()))


def test_slots_and_settings_are_named_as_scanpy_names_them():
    scanpy = pytest.importorskip("scanpy", reason="held against scanpy's own pca")
    adata = cells()
    adata.var["highly_variable"] = np.arange(N) % 2 == 1
    scanpy.pp.pca(adata, n_comps=3)
    rspca.spca(adata, n_comps=3, k=4)
    for ours, theirs, slot in (("X_spca", "X_pca", adata.obsm), ("sPCs", "PCs", adata.varm)):
        assert slot[ours].shape == slot[theirs].shape
    assert adata.obsm["X_spca"].dtype == adata.obsm["X_pca"].dtype
    assert set(adata.uns["pca"]) <= set(adata.uns["spca"])
    assert set(adata.uns["pca"]["params"]) <= set(adata.uns["spca"]["params"])
    for name, value in adata.uns["pca"]["params"].items():
        assert adata.uns["spca"]["params"][name] == value
    assert (adata.uns["spca"]["variance"] <= adata.uns["pca"]["variance"][0] * (1 + 1e-6)).all()


def test_with_every_gene_the_first_component_is_that_of_scanpy():
    scanpy = pytest.importorskip("scanpy")
    adata = cells()
    scanpy.pp.pca(adata, n_comps=1)
    rspca.spca(adata, n_comps=1, k=N)
    cosine = abs(adata.varm["PCs"][:, 0] @ adata.varm["sPCs"][:, 0])
    assert cosine == pytest.approx(1, abs=1e-4)
    np.testing.assert_allclose(adata.uns["spca"]["variance"], adata.uns["pca"]["variance"], rtol=1e-4)


def test_one_key_serves_all_three_slots():
    adata = cells()
    rspca.spca(adata, n_comps=1, k=4, key_added="mine")
    assert {"mine"} == set(adata.obsm) == set(adata.varm) == set(adata.uns)


def test_a_copy_leaves_the_original_alone():
    adata = cells()
    other = rspca.spca(adata, n_comps=1, k=4, copy=True)
    assert not adata.obsm
    assert not adata.uns
    assert support(other) == PROGRAM


# What is chosen


def test_highly_variable_genes_are_the_default_where_they_are_marked():
    adata = cells()
    adata.var["highly_variable"] = np.arange(N) % 2 == 0
    rspca.spca(adata, n_comps=1, k=3)
    assert support(adata) == [4, 8, 12]
    assert adata.uns["spca"]["params"]["use_highly_variable"]
    assert adata.varm["sPCs"].shape == (N, 1)
    rspca.spca(adata, n_comps=1, k=4, mask_var=None)
    assert support(adata) == PROGRAM
    assert not adata.uns["spca"]["params"]["use_highly_variable"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_may_be_a_column_or_an_array(kind):
    adata = cells(kind)
    adata.var["first"] = np.arange(N) < 14
    rspca.spca(adata, n_comps=1, k=2, mask_var="first")
    assert support(adata) == [3, 9]
    rspca.spca(adata, n_comps=1, k=2, mask_var=np.arange(N) >= 14, key_added="last")
    assert support(adata, key="last") == [15, 21]
    assert adata.uns["last"]["params"]["mask_var"].sum() == N - 14


def test_a_layer_is_used_instead_of_x():
    adata = cells()
    adata.layers["log"] = adata.X.copy()
    adata.X = sp.csr_matrix((M, N), dtype=np.float32)
    rspca.spca(adata, n_comps=1, k=4, layer="log")
    assert support(adata) == PROGRAM
    assert adata.uns["spca"]["params"]["layer"] == "log"


def test_options_go_to_the_estimator():
    adata = cells()
    adata.var["family"] = ["p" if j in PROGRAM else f"f{j}" for j in range(N)]
    adata.var["used"] = np.arange(N) < 30
    rspca.spca(adata, n_comps=1, k=4, groups="family", mask_var="used")
    assert len(set(support(adata)) & set(PROGRAM)) == 1
    rspca.spca(adata, n_comps=1, k=4, method="maxcomp", scale=True, center=False)
    params = adata.uns["spca"]["params"]
    assert (params["method"], params["scale"], params["zero_center"]) == ("maxcomp", True, False)
    rspca.spca(adata, n_comps=2, k=[3, 2])
    assert [len(support(adata, j)) for j in range(2)] == [3, 2]


# Raw counts


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_raw_counts_draw_a_warning_that_says_what_to_do(kind, dtype):
    adata = anndata.AnnData(KINDS[kind](np.random.default_rng(0).poisson(2, (30, 9)).astype(dtype)))
    with pytest.warns(UserWarning, match=r"X holds whole numbers.*sc\.pp\.log1p") as told:
        rspca.spca(adata, n_comps=1, k=2)
    assert told[0].filename == __file__


def test_normalized_centered_and_binary_data_draw_none():
    binary = (np.random.default_rng(0).random((30, 9)) > 0.5).astype(np.float32)
    for X in (logged(), binary, binary - 3):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            rspca.spca(anndata.AnnData(X), n_comps=1, k=2)


# Files, views, backed data


def test_what_is_stored_can_be_written_and_read(tmp_path):
    adata = cells()
    rspca.spca(adata, n_comps=2, k=4, certify=True, mask_var=np.ones(N, dtype=bool))
    rspca.spca(adata, n_comps=2, k=[4, 3], key_added="other", scale=True, layer=None)
    adata.write_h5ad(tmp_path / "x.h5ad")
    again = anndata.read_h5ad(tmp_path / "x.h5ad")
    np.testing.assert_array_equal(again.obsm["X_spca"], adata.obsm["X_spca"])
    np.testing.assert_array_equal(again.varm["sPCs"], adata.varm["sPCs"])
    np.testing.assert_array_equal(again.uns["spca"]["variance"], adata.uns["spca"]["variance"])
    assert again.uns["other"]["params"]["k"].tolist() == [4, 3]
    proven = again.uns["spca"]["certificates"]
    assert proven["status"][0] == "optimal"
    assert (proven["lower"] <= proven["upper"]).all()
    certificate = rspca.Certificate.from_json(json.loads(proven["json"][0]))
    assert certificate.support.tolist() == PROGRAM
    assert certificate.verify(logged())


def test_a_view_becomes_actual_as_with_scanpy():
    adata = cells()
    for view in (adata[:100], adata[:, :30], cells("dense")[10:90, 2:]):
        part = np.asarray(view.X.toarray() if sp.issparse(view.X) else view.X)
        with pytest.warns(Warning, match="initializing view as actual"):
            rspca.spca(view, n_comps=1, k=4)
        assert not view.is_view
        expected = rspca.SparsePCA(1, k=4, random_state=0).fit(part)
        assert support(view) == expected.supports_[0].tolist()
    assert not adata.obsm


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
@pytest.mark.parametrize("masked", [False, True])
def test_a_backed_file_is_not_changed(tmp_path, kind, masked):
    adata = cells(kind)
    adata.var["odd"] = np.arange(N) % 2 == 1
    adata.write_h5ad(tmp_path / "x.h5ad")
    before = (tmp_path / "x.h5ad").read_bytes()
    backed = anndata.read_h5ad(tmp_path / "x.h5ad", backed="r")
    rspca.spca(backed, n_comps=2, k=4, mask_var="odd" if masked else None)
    rspca.spca(adata, n_comps=2, k=4, mask_var="odd" if masked else None)
    assert backed.isbacked
    assert support(backed) == support(adata) == PROGRAM
    np.testing.assert_allclose(backed.obsm["X_spca"], adata.obsm["X_spca"], atol=1e-4)
    backed.file.close()
    assert (tmp_path / "x.h5ad").read_bytes() == before


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_backed_matrix_larger_than_max_memory_is_streamed(tmp_path, kind, monkeypatch):
    from rspca.operators import streamed as blocks

    streamed = []
    monkeypatch.setattr(blocks.BlockOperator, "_floats", lambda self, rows: streamed.append(sp.issparse(rows)) or rows)
    adata = cells(kind, m=8000)
    adata.var["odd"] = np.arange(N) % 2 == 1
    adata.write_h5ad(tmp_path / "x.h5ad")
    backed = anndata.read_h5ad(tmp_path / "x.h5ad", backed="r")
    rspca.spca(backed, n_comps=1, k=4, mask_var="odd", max_memory="1MB", polish=False)
    assert support(backed) == PROGRAM
    assert set(streamed) == {kind == "csr"}
    backed.file.close()


def test_views_and_copies_of_backed_files_are_refused(tmp_path):
    cells().write_h5ad(tmp_path / "x.h5ad")
    backed = anndata.read_h5ad(tmp_path / "x.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"copy=True of a backed file .*to_memory"):
        rspca.spca(backed, n_comps=1, k=2, copy=True)
    with pytest.raises(ValueError, match="a view of a backed file"):
        rspca.spca(backed[:10], n_comps=1, k=2)


# scanpy on top


def test_scanpy_plots_and_finds_neighbors_with_the_results():
    scanpy = pytest.importorskip("scanpy", reason="its plots and neighbors are used on the results")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    adata = cells()
    adata.obs["group"] = adata.obs["group"].astype("category")
    rspca.spca(adata, n_comps=3, k=4)
    scanpy.pp.neighbors(adata, n_neighbors=5, use_rep="X_spca", method="gauss")  # umap would be compiled first
    assert adata.uns["neighbors"]["params"]["use_rep"] == "X_spca"
    assert adata.obsp["distances"].shape == (M, M)
    for basis in ("spca", "X_spca"):
        axes = scanpy.pl.embedding(adata, basis=basis, color="group", show=False)
        offsets = axes.collections[0].get_offsets()
        np.testing.assert_allclose(np.sort(offsets[:, 0]), np.sort(adata.obsm["X_spca"][:, 0]), rtol=1e-6)
    scanpy.pl.ranking(adata, "varm", "sPCs", indices=[0, 1, 2], n_points=4, show=False)
    shown = [text.get_text() for text in pyplot.gcf().axes[0].texts]
    assert set(shown) >= {f"g{j}" for j in PROGRAM if adata.varm["sPCs"][j, 0] > 0}
    pyplot.close("all")


def test_scanpy_is_not_imported():
    for path in Path(rspca.__file__).parent.rglob("*.py"):
        assert not re.search(r"^\s*(import|from) scanpy", path.read_text(), re.MULTILINE), path


# Refusals


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"n_comps": 0}, ValueError, "n_comps=0 must be between 1 and 40"),
        ({"n_comps": 41}, ValueError, r"n_comps=41 must be between 1 and 40 \(of 120 cells and 40 genes\)"),
        ({"n_comps": 2.0}, TypeError, "n_comps=2.0 must be an integer"),
        ({"layer": "raw"}, ValueError, "no layer 'raw'; its layers are none"),
        ({"mask_var": "hvg"}, ValueError, "mask_var='hvg' is no column of var"),
        ({"mask_var": np.zeros(N, dtype=bool)}, ValueError, "mask_var marks no variable"),
        ({"mask_var": [1, 2]}, ValueError, "40 truth values are needed"),
        ({"zero_center": False}, TypeError, "no option zero_center.*zero_center of scanpy is center here"),
        ({"groups": "family"}, ValueError, "groups='family' is no column of var"),
        ({"key_added": 3}, TypeError, "key_added=3 must be a string"),
        ({"method": "magic"}, ValueError, "method='magic'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_stored(options, error, said):
    adata = cells()
    with pytest.raises(error, match=said):
        rspca.spca(adata, **({"k": 3, "n_comps": 1} | options))
    assert not adata.obsm
    assert not adata.uns


def test_what_is_no_anndata_is_refused():
    with pytest.raises(TypeError, match="adata is a ndarray; an AnnData object is needed"):
        rspca.spca(np.ones((3, 3)))
    with pytest.raises(ValueError, match="adata has no X"):
        rspca.spca(anndata.AnnData(obs={"a": [1, 2]}, var={"b": [1, 2, 3]}))


def test_x_among_the_layers_is_not_named_as_one():
    slots = {name: {} for name in ("obsm", "varm", "uns", "var")}
    adata = SimpleNamespace(
        **slots, X=np.eye(2), layers={None: np.eye(2), "counts": np.eye(2)}, isbacked=False, is_view=False
    )
    with pytest.raises(ValueError, match=r"no layer 'other'; its layers are counts\."):
        rspca.spca(adata, k=1, layer="other")
