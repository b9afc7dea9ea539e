"""Fitted models with weights, covariates and missing values: scores, files, frames, cells, scikit-learn, commands."""

import csv
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate
from support.commandline import call, one_line
from support.samples import factors, filled, repeated, residual

import rspca

M, N = 60, 9


def study(seed=0):
    """Return data with an effect of batch and age, and both."""
    rng = np.random.default_rng(seed)
    batch, age = np.array(["a", "b", "c"])[rng.integers(0, 3, M)], rng.normal(50.0, 10.0, M)
    X = factors(rng, M, N)
    X[:, :5] += 4.0 * (batch == "a")[:, None] + 0.1 * age[:, None]
    return X, batch, age


# issue 19, item 2
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_and_shares_are_those_of_the_residual(make, scale, weighted, tmp_path):
    X, batch, age = study()
    weights = np.random.default_rng(1).uniform(0.5, 3.0, M) if weighted else None
    given = {"batch": batch, "age": age}
    model = rspca.SparsePCA(3, k=3, scale=scale, random_state=0).fit(make(X), sample_weight=weights, covariates=given)
    Z = residual(X, np.column_stack([batch == "b", batch == "c", age]).astype(float), weights, scale)
    root = np.ones(M) if weights is None else np.sqrt(weights)
    np.testing.assert_allclose(
        root[:, None] * model.transform(make(X), covariates=given), Z @ model.components_.T, atol=1e-10
    )
    basis = np.linalg.qr(model.components_.T)[0]
    share = np.sum((Z @ basis) ** 2) / np.sum(Z**2)
    assert model.score(make(X), covariates=given, sample_weight=weights) == pytest.approx(share, rel=1e-10)
    again = rspca.SparsePCA(3, k=3, scale=scale, random_state=0)
    scores = again.fit_transform(make(X), sample_weight=weights, covariates=given)
    np.testing.assert_allclose(scores, model.transform(make(X), covariates=given), atol=1e-12)
    model.save(tmp_path / "model.npz")
    read = rspca.load(tmp_path / "model.npz")
    one = {"age": age[:1], "batch": batch[:1]}  # by name, in any order; one sample is enough
    np.testing.assert_allclose(read.transform(make(X)[:1], covariates=one), scores[:1], atol=1e-12)
    assert read.preparation_ == model.preparation_
    assert read.total_weight_ == pytest.approx(M if weights is None else weights.sum())
    with pytest.raises(ValueError, match=r"Covariate batch has categories that the fit did not see: z\."):
        read.transform(X[:1], covariates={"age": age[:1], "batch": ["z"]})


def test_an_effect_of_batch_is_gone_after_it_is_a_covariate():  # issue 19, what it must show
    rng = np.random.default_rng(0)
    batch = rng.integers(0, 2, 200)
    X = rng.standard_normal((200, 30))
    X[:, :10] += 1.0 * batch[:, None]
    X[:, 20:25] += rng.standard_normal((200, 1))
    before = rspca.SparsePCA(3, k=8, random_state=0).fit_transform(X)
    assert max(abs(np.corrcoef(scores, batch)[0, 1]) for scores in before.T) > 0.7
    after = rspca.SparsePCA(3, k=8, random_state=0).fit_transform(X, covariates=batch.astype(str))
    assert max(abs(np.corrcoef(scores, batch)[0, 1]) for scores in after.T) < 1e-12


def test_covariates_that_follow_from_others_are_left_out_with_a_warning():  # issue 19, item 2
    X, _, age = study()
    once = rspca.decompose(X, 2, k=3, covariates={"age": age}, random_state=0)
    with pytest.warns(UserWarning, match=r"have 3 column\(s\) and rank 1: 2 of them are constant or follow"):
        twice = rspca.decompose(
            X, 2, k=3, covariates={"age": age, "months": 12.0 * age, "one": np.ones(M)}, random_state=0
        )
    np.testing.assert_allclose(twice.loadings, once.loadings, atol=1e-10)


# issue 19, item 2
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_covariates_have_categories_and_numbers(library):
    frames = pytest.importorskip(library)
    X, batch, age = study()
    codes = {"batch": batch, "age": age, "treated": age > 50}
    plain = rspca.SparsePCA(2, k=3, random_state=0).fit(X, covariates=codes)
    frame = frames.DataFrame(codes)
    if library == "pandas":
        frame["batch"] = frame["batch"].astype("category")
    found = rspca.SparsePCA(2, k=3, random_state=0).fit(X, covariates=frame)
    np.testing.assert_allclose(found.components_, plain.components_, atol=1e-12)
    assert [covariate.levels for covariate in found.covariates_.covariates] == [("a", "b", "c"), None, None]
    reordered = frame[["treated", "age", "batch"]]
    np.testing.assert_allclose(
        found.transform(X, covariates=reordered), plain.transform(X, covariates=codes), atol=1e-10
    )


# issue 19, item 3
@pytest.mark.parametrize("kind", ["array", "masked", "pandas", "polars", "csr", "integers masked"])
def test_missing_values_of_every_kind_count_as_means(kind):
    X, _, _ = study()
    X = np.round(10.0 * X)
    holes = np.random.default_rng(2).random(X.shape) < 0.1
    Z = np.where(holes, np.nan, X)
    if kind in ("pandas", "polars"):
        given = pytest.importorskip(kind).DataFrame({f"f{j}": Z[:, j] for j in range(N)})
    else:
        given = {
            "array": lambda: Z,
            "masked": lambda: np.ma.masked_array(X, holes),
            "csr": lambda: sp.csr_array(Z),
            "integers masked": lambda: np.ma.masked_array(X.astype(int), holes),
        }[kind]()
    model = rspca.SparsePCA(2, k=3, missing="mean", random_state=0).fit(given)
    other = rspca.SparsePCA(2, k=3, random_state=0).fit(filled(Z))
    np.testing.assert_allclose(model.components_, other.components_, atol=1e-10)
    np.testing.assert_allclose(model.missing_share_, holes.mean(axis=0))
    np.testing.assert_allclose(model.transform(given), other.transform(filled(Z)), atol=1e-9)
    assert model.score(given) == pytest.approx(other.score(filled(Z)), rel=1e-10)
    with pytest.raises(ValueError, match="missing='mean'"):
        rspca.SparsePCA(2, k=3).fit(given)


def test_a_column_with_nothing_observed_is_never_chosen():  # issue 19, item 3
    X, _, _ = study()
    X[:, 4] = np.nan
    model = rspca.SparsePCA(2, k=4, missing="mean", random_state=0).fit(X)
    assert all(4 not in support for support in model.supports_)
    assert model.missing_share_[4] == 1.0
    assert any(words.startswith("missing values count as the mean") for words in model.preparation_)


# issue 19, item 1
def test_weights_are_routed_through_scikit_learn():
    X, _, _ = study()
    weights = np.random.default_rng(0).integers(1, 4, M)
    with sklearn.config_context(enable_metadata_routing=True):
        model = rspca.SparsePCA(1, k=3, random_state=0)
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"k": [2, 3]}, cv=3).fit(X, sample_weight=weights)
        assert set(search.best_params_) == {"k"}
        scores = cross_validate(model, X, params={"sample_weight": weights}, cv=3)["test_score"]
    rows = np.arange(M)
    for fold, score in enumerate(scores):
        test = (rows >= fold * M // 3) & (rows < (fold + 1) * M // 3)
        fitted = rspca.SparsePCA(1, k=3, random_state=0).fit(repeated(X[~test], weights[~test]))
        assert score == pytest.approx(fitted.score(repeated(X[test], weights[test])), rel=1e-10)


def test_a_sparse_matrix_can_have_names():  # issue 19, item 8
    X, _, _ = study()
    names = [f"gene{j}" for j in range(N)]
    model = rspca.SparsePCA(1, k=3, random_state=0).fit(sp.csr_array(X), feature_names=names)
    assert {feature.name for feature in model.top_features()} <= set(names)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=names)
    with pytest.raises(ValueError, match="X has names of features of its own"):
        rspca.SparsePCA(1, k=3).fit(frame, feature_names=names)


# issue 19, item 8
@pytest.mark.parametrize(
    ("option", "hint"),
    [("alpha", r"give k"), ("ridge_alpha", "k features"), ("n_jobs", "BLAS"), ("verbose", "on_step")],
)
def test_options_of_the_class_of_scikit_learn_have_hints(option, hint):
    with pytest.raises(TypeError, match=f"SparsePCA has no option {option}. {option}: .*{hint}"):
        rspca.SparsePCA(2, **{option: 1})


def test_cells_have_covariates_and_weights():  # issue 19, item 2
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    X, batch, age = study()
    obs = pandas.DataFrame({"batch": batch, "age": age, "w": np.arange(M) % 3 + 1.0}, index=[f"c{i}" for i in range(M)])
    adata = anndata.AnnData(X, obs=obs)
    rspca.spca(adata, n_comps=2, k=3, covariates=["batch", "age"], sample_weight="w")
    model = rspca.SparsePCA(2, k=3, random_state=0)
    model.fit(X, covariates={"batch": batch, "age": age}, sample_weight=obs["w"].to_numpy())
    np.testing.assert_allclose(adata.varm["sPCs"].T, model.components_, atol=1e-10)
    assert adata.uns["spca"]["params"]["covariates"].tolist() == ["batch", "age"]
    with pytest.raises(ValueError, match=r"covariates 'plate' are no columns of obs; its columns are batch, age, w\."):
        rspca.spca(adata, n_comps=2, k=3, covariates=["plate"])


def run(*arguments):
    """Run a command that must end well."""
    done = call(*arguments)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A table with missing cells and weights, and a table of covariates in another order."""
    monkeypatch.chdir(tmp_path)
    X, batch, age = study()
    X[::7, 2] = np.nan
    X[0, 0] = np.nan
    cells = [["NA" if np.isnan(x) else repr(float(x)) for x in row] for row in X]
    with open("x.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "w", *(f"f{j}" for j in range(N))])
        rows.writerows([f"s{i}", i % 3 + 1, *cells[i]] for i in range(M))
    with open("samples.tsv", "w", newline="") as file:
        rows = csv.writer(file, delimiter="\t")
        rows.writerow(["age", "sample", "batch"])
        rows.writerows([repr(float(age[i])), f"s{i}", batch[i]] for i in np.random.default_rng(0).permutation(M))
    return X, batch, age, np.arange(M) % 3 + 1.0


def test_the_command_line_takes_covariates_weights_and_missing_cells(files):  # issue 19, items 1 to 3
    X, batch, age, weights = files
    given = ["--covariates", "samples.tsv", "--covariate", "batch,age", "--weights", "w"]
    run("fit", "x.csv", "-k", "3", "-n", "2", "-o", "out", "--missing", "mean", *given)
    model = rspca.SparsePCA(2, k=3, missing="mean", random_state=0)
    known = {"batch": batch, "age": age}
    model.fit(X, sample_weight=weights, covariates=known)
    read = rspca.load("out/model.npz")
    np.testing.assert_allclose(read.components_, model.components_, atol=1e-10)
    with open("out/scores.csv") as file:
        scores = np.array([[float(row["component1"]), float(row["component2"])] for row in csv.DictReader(file)])
    np.testing.assert_allclose(scores, model.transform(X, covariates=known), atol=1e-9)
    with open("out/components.csv") as file:
        shares = {row["feature"]: float(row["missing"]) for row in csv.DictReader(file)}
    for name, share in shares.items():
        assert share == pytest.approx(model.missing_share_[int(name[1:])])
    page = Path("out/report.html").read_text()
    assert "Covariates projected out: batch (3 categories), age" in page
    run("transform", "out", "x.csv", "--labels", "w", "--covariates", "samples.tsv", "-o", "again.csv")
    assert Path("again.csv").read_text() == Path("out/scores.csv").read_text()
    proven = run("certify", "x.csv", "--model", "out", "--component", "2", "--seconds", "5", *given)
    assert "3 features, variance" in proven.stdout
    run("path", "x.csv", "--ks", "1,2", "--missing", "mean", *given)
    run("compare", "x.csv", "-k", "2", "--methods", "rspca", "--missing", "mean", *given)


# issue 19, items 1 to 3
@pytest.mark.parametrize(("arguments", "message"), [
    (["fit", "x.csv", "-k", "3", "--labels", "w"], "give --missing mean"),
    (["fit", "x.csv", "-k", "3", "--missing", "zero"], "--missing zero is not known; choose error or mean."),
    (["fit", "x.csv", "-k", "3", "--missing", "mean", "--covariates", "none.csv"], "none.csv does not exist"),
    (["fit", "x.csv", "-k", "3", "--missing", "mean", "--covariates", "samples.tsv", "--covariate", "plate"],
     "samples.tsv has no such column; it has age, batch."),
    (["fit", "x.csv", "-k", "3", "--missing", "mean", "--weights", "heavy.txt"], "heavy.txt"),
])  # fmt: skip
def test_the_command_line_says_what_is_wrong_with_samples(files, arguments, message):
    failed = call(*arguments)
    assert failed.returncode == 2
    assert message in one_line(failed.stderr)
