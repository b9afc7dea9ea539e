"""AnnData files: names and masks come along, sparse stays sparse, what is large stays on disk."""

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.operators import streamed
from rspca.operators.streamed import BlockOperator

anndata = pytest.importorskip("anndata", reason="to read .h5ad needs anndata: pip install 'rspca[anndata]'")
h5py = pytest.importorskip("h5py")
pandas = pytest.importorskip("pandas")

M, N = 60, 20


def counts(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (M, N)).astype(np.float32)
    X[:, [3, 7, 11]] += rng.poisson(6, (M, 1))
    return X


def made(X, **more):
    obs = pandas.DataFrame(
        {"kind": pandas.Categorical(["u", "v", None] * (M // 3)), "depth": np.arange(M), "ok": np.arange(M) % 2 == 0},
        index=[f"cell{i}" for i in range(M)],
    )
    var = pandas.DataFrame(
        {"highly_variable": np.arange(N) % 2 == 1, "ensembl": [f"E{j}" for j in range(N)]},
        index=[f"g{j}" for j in range(N)],
    )
    return anndata.AnnData(X, obs=obs, var=var, **more)


@pytest.fixture
def stored(tmp_path):
    def write(X, **more):
        path = tmp_path / "x.h5ad"
        made(X, **more).write_h5ad(path)
        return path

    return write


def as_array(table):
    return np.asarray(table.operator.columns(np.arange(table.shape[1])))


KINDS = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix}


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_what_is_told_of_them_come_along(stored, kind):
    table = rspca.read(stored(KINDS[kind](counts())))
    np.testing.assert_array_equal(as_array(table), counts())
    assert table.operator.dtype == np.float32
    assert sp.issparse(table.operator.X) == (kind != "dense")
    assert table.feature_names[3] == "g3"
    assert table.sample_names[5] == "cell5"
    assert table.features["ensembl"][4] == "E4"
    assert table.samples["sample"][5] == "cell5"
    assert table.samples["kind"].tolist()[:3] == ["u", "v", ""]
    assert table.samples["depth"].tolist() == list(range(M))
    assert table.samples["ok"].dtype == bool
    assert all(column.dtype.kind in "biufU" for column in [*table.samples.values(), *table.features.values()])


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_and_a_mask_choose_what_is_read(stored, kind):
    path = stored(np.zeros((M, N), dtype=np.float32), layers={"counts": KINDS[kind](counts())})
    table = rspca.read(path, layer="counts", mask="highly_variable")
    np.testing.assert_array_equal(as_array(table), counts()[:, 1::2])
    assert table.feature_names.tolist() == [f"g{j}" for j in range(1, N, 2)]
    assert table.features["ensembl"][0] == "E1"
    by_hand = rspca.read(path, layer="counts", mask=np.arange(N) < 5)
    assert by_hand.shape == (M, 5)


def test_a_file_that_was_loaded_or_refused_is_closed(stored):
    path = stored(counts())
    table = rspca.read(path)
    with pytest.raises(ValueError, match="no layer"):
        rspca.read(path, layer="other")
    made(counts() + 1).write_h5ad(path)  # HDF5 would not let an open file be written
    np.testing.assert_array_equal(as_array(table), counts())


def test_names_reach_the_results(stored, tmp_path):
    table = rspca.read(stored(sp.csr_matrix(counts())), mask="highly_variable")
    model = rspca.SparsePCA(1, k=3, random_state=0).fit(table)
    assert {feature.name for feature in model.top_features()} == {"g3", "g7", "g11"}
    assert {feature.ensembl for feature in model.top_features()} == {"E3", "E7", "E11"}
    model.save(tmp_path / "model.npz")
    assert rspca.load(tmp_path / "model.npz").top_features() == model.top_features()
    assert model.score_table(table)["kind"][1] == "v"


class TestLarge:
    """Files that exceed max_memory; 1 MB is the least that can be given."""

    m, n = 9000, 40

    def data(self, kind):
        rng = np.random.default_rng(0)
        X = rng.poisson(0.8, (self.m, self.n)).astype(np.float32)
        X[:, [3, 9, 15]] += rng.poisson(5, (self.m, 1))
        return KINDS[kind](X), X

    @pytest.mark.parametrize("kind", ["dense", "csr"])
    @pytest.mark.parametrize("masked", [False, True])
    def test_they_are_streamed_in_blocks_that_fit(self, tmp_path, kind, masked):
        stored, X = self.data(kind)
        adata = anndata.AnnData(stored)
        adata.var["odd"] = np.arange(self.n) % 2 == 1
        adata.write_h5ad(tmp_path / "x.h5ad")
        table = rspca.read(tmp_path / "x.h5ad", max_memory="1MB", mask="odd" if masked else None)
        X = X[:, 1::2] if masked else X
        op = table.operator
        assert isinstance(op, BlockOperator)
        most = max(part.stop - part.start for part in op._slices())
        assert most * self.n * 4 <= 1e6 / streamed.BLOCKS_IN_MEMORY
        kinds = {sp.issparse(rows) for _, rows in op._stream()}
        assert kinds == {kind == "csr"}  # never made dense
        v = np.linspace(-1, 1, X.shape[1])
        np.testing.assert_allclose(op.gram(v), X.T @ (X @ v), rtol=1e-4)
        found = rspca.SparsePCA(1, k=3, random_state=0).fit(table)
        expected = rspca.SparsePCA(1, k=3, random_state=0).fit(X)
        assert found.supports_[0].tolist() == expected.supports_[0].tolist()
        np.testing.assert_allclose(found.transform(table), expected.transform(X), atol=1e-3)

    def test_what_is_stored_by_columns_is_loaded_or_refused(self, tmp_path):
        stored, X = self.data("csc")
        anndata.AnnData(stored).write_h5ad(tmp_path / "x.h5ad")
        np.testing.assert_array_equal(as_array(rspca.read(tmp_path / "x.h5ad", max_memory="10MB")), X)
        with pytest.raises(ValueError, match=r"stored by columns \(CSC\).*Raise max_memory"):
            rspca.read(tmp_path / "x.h5ad", max_memory="1MB")

    def test_indices_outside_of_the_matrix_are_refused(self, tmp_path):
        import h5py

        anndata.AnnData(self.data("csr")[0]).write_h5ad(tmp_path / "x.h5ad")
        with h5py.File(tmp_path / "x.h5ad", "r+") as file:
            file["X"]["indices"][5] = 10**6
        for limit in ("1MB", "100MB"):
            with pytest.raises(ValueError, match="is damaged"):
                rspca.read(tmp_path / "x.h5ad", max_memory=limit)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"layer": "raw"}, "has no layer 'raw'; its layers are none"),
        ({"mask": "hvg"}, "mask='hvg' is no column of var; its columns are highly_variable, ensembl"),
        ({"mask": "ensembl"}, "20 truth values are needed"),
        ({"mask": [True, False]}, "20 truth values are needed"),
        ({"mask": np.zeros(N, dtype=bool)}, "mask marks no variable"),
        ({"max_memory": "much"}, "max_memory='much' is not a size"),
    ],
)
def test_options_that_do_not_fit_are_told(stored, options, said):
    with pytest.raises(ValueError, match=said):
        rspca.read(stored(counts()), **options)


def test_genes_of_one_name_are_refused(tmp_path):
    adata = made(counts())
    adata.var_names = ["g"] * N
    adata.write_h5ad(tmp_path / "x.h5ad")
    with pytest.raises(ValueError, match=r"occur more than once: g.*var_names_make_unique"):
        rspca.read(tmp_path / "x.h5ad")


def test_a_file_of_an_early_anndata_is_answered_with_what_to_do(tmp_path):  # issue 20, item 3
    path, records = tmp_path / "early.h5ad", np.array([(b"a", 1.0), (b"b", 2.0)], dtype=[("index", "S1"), ("n", "f4")])
    with h5py.File(path, "w") as file:
        file["X"], file["obs"], file["var"] = np.eye(2), records, records
    with pytest.raises(ValueError, match=r"anndata before 0.7.*read_h5ad\('early.h5ad'\).write_h5ad"):
        rspca.read(path)


def test_a_file_without_x_or_of_another_kind_is_refused(tmp_path, stored):
    import h5py

    path = stored(counts(), layers={"log": counts()})
    with h5py.File(path, "r+") as file:
        del file["X"]
    with pytest.raises(ValueError, match="has no X; give one of its layers as layer: log"):
        rspca.read(path)
    with h5py.File(tmp_path / "y.h5ad", "w") as file:
        file["data"] = np.ones(3)
    with pytest.raises(ValueError, match="has no obs and no var, so it is no AnnData file"):
        rspca.read(tmp_path / "y.h5ad")
    content = stored(counts()).read_bytes()
    (tmp_path / "z.h5ad").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"z\.h5ad is not an HDF5 file, or it is cut off"):
        rspca.read(tmp_path / "z.h5ad")
