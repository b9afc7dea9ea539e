"""New cells are projected as those of the fit: the model is returned, stored and restored."""

import numpy as np
import pytest

import rspca

anndata = pytest.importorskip("anndata", reason="rspca.spca needs anndata: pip install 'rspca[anndata]'")


@pytest.fixture
def cells():
    rng = np.random.default_rng(0)
    X = np.log1p(rng.poisson(0.6, (120, 40))).astype(np.float32)
    X[:, [3, 9, 15, 21]] += 3 * rng.random((120, 1)).astype(np.float32)
    adata = anndata.AnnData(X)
    adata.var_names = [f"g{j}" for j in range(40)]
    adata.var["mine"] = np.arange(40) % 5 != 0
    return adata


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"mask_var": "mine"}, {"center": False, "key_added": "own"}])
def test_stored_means_score_cells_as_in_the_fit(cells, tmp_path, options):  # issue 20, item 6
    model = rspca.spca(cells, n_comps=2, k=4, return_model=True, **options)
    key = options.get("key_added", "spca")
    slot = key if key != "spca" else "X_spca"
    cells.write_h5ad(tmp_path / "cells.h5ad")
    stored = anndata.read_h5ad(tmp_path / "cells.h5ad")
    new = cells[30:50, ::-1].copy()
    for reference in (cells, stored, model):
        del new.obsm
        assert rspca.singlecell.project(new, reference, key=key) is None
        np.testing.assert_allclose(new.obsm[slot], cells.obsm[slot][30:50], atol=1e-5)
    restored = rspca.singlecell.model_of(stored, key)
    np.testing.assert_array_equal(restored.components_, model.components_)
    np.testing.assert_array_equal(restored.feature_names_in_, model.feature_names_in_)
    assert restored.get_params()["scale"] == model.scale
    restored.save(tmp_path / "model.npz")
    assert rspca.load(tmp_path / "model.npz").center == options.get("center", True)


def test_a_copy_and_the_model_are_returned_together(cells):
    copied, model = rspca.spca(cells, n_comps=1, k=4, return_model=True, copy=True)
    assert "spca" not in cells.uns
    assert [feature.name for feature in model.top_features(0)] == rspca.singlecell.programs(copied)["gene"].tolist()


def test_programs_are_a_table_of_genes(cells):
    rspca.spca(cells, n_comps=2, k=4)
    table = rspca.singlecell.programs(cells)
    assert table["program"].tolist() == [1] * 4 + [2] * 4
    assert set(table["gene"][:4]) == {"g3", "g9", "g15", "g21"}
    assert (np.diff(table["loading"].abs()[:4]) <= 0).all()
    assert len(rspca.singlecell.programs(cells, n=1)) == 2


def test_a_backed_file_is_projected(cells, tmp_path):
    rspca.spca(cells, n_comps=2, k=4)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    del backed.obsm["X_spca"]
    rspca.singlecell.project(backed, cells)
    np.testing.assert_allclose(backed.obsm["X_spca"], cells.obsm["X_spca"], atol=1e-5)
    backed.file.close()


def test_what_cannot_be_projected_is_refused_by_name(cells):
    with pytest.raises(ValueError, match=r"has no 'spca'; run rspca\.spca first"):
        rspca.singlecell.project(cells, cells)
    rspca.spca(cells, n_comps=1, k=4)
    with pytest.raises(ValueError, match="does not have 1 of the 4 genes that the components use, such as g3"):
        rspca.singlecell.project(cells[:, [j for j in range(40) if j != 3]].copy(), cells)
    twice = cells.copy()
    twice.var_names = ["g1", *twice.var_names[1:]]
    with pytest.raises(ValueError, match="two genes of one name"):
        rspca.singlecell.project(twice, cells)
    with pytest.raises(ValueError, match="does not know its genes by name"):
        rspca.singlecell.project(cells, rspca.SparsePCA(1, k=2).fit(cells.X))
    del cells.uns["spca"]["mean"]
    with pytest.raises(ValueError, match="stored by an earlier version"):
        rspca.singlecell.programs(cells)
