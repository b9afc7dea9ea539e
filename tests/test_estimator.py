"""SparsePCA as scikit-learn sees it: its checks, its tools, and what each fitted attribute means."""

import io
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rspca
from rspca import SparsePCA

PAPER = {
    "solver": "projected", "rounding": "bernoulli", "n_draws": 1, "polish": False, "normalization": "naive",
    "deflation": "projection",
}  # fmt: skip

WINE = load_wine(as_frame=True).data


def planted(m=40, n=12, seed=0):
    """Columns of different size with two groups that move together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * np.linspace(0.5, 1.5, n)
    X[:, [1, 4, 7]] += 3.0 * rng.standard_normal((m, 1))
    X[:, [2, 9]] += 2.0 * rng.standard_normal((m, 1))
    return X + np.arange(n)


def fitted(X, n_components=2, **options):
    return SparsePCA(n_components, **{"k": 3, "random_state": 0} | options).fit(X)


@pytest.mark.filterwarnings("ignore:k=10 is more than", "ignore:invalid value:RuntimeWarning")
@parametrize_with_checks(
    [
        SparsePCA(),
        SparsePCA(n_components=2, method="maxcomp"),
        SparsePCA(**PAPER),
        SparsePCA(k=2, scale=True, deflation="orthogonal"),
    ],
    expected_failed_checks=lambda estimator: {},
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


# Tools of scikit-learn


def test_it_is_a_step_of_a_pipeline():
    pipe = make_pipeline(StandardScaler(), SparsePCA(2, k=3, random_state=0)).fit(WINE)
    assert pipe.transform(WINE).shape == (len(WINE), 2)
    np.testing.assert_array_equal(pipe[-1].components_ != 0, fitted(WINE, scale=True).components_ != 0)
    assert pipe.get_feature_names_out().tolist() == ["sparsepca0", "sparsepca1"]


def test_grid_search_chooses_k_by_the_held_out_share():
    search = GridSearchCV(SparsePCA(random_state=0), {"k": [1, 3, 12]}, cv=3).fit(planted(90))
    assert search.best_params_["k"] in (3, 12)  # the first component has three features: one is too few
    assert np.all(search.cv_results_["mean_test_score"] > 0)
    assert search.best_estimator_.score(planted(90, seed=1)) > 0


def test_a_clone_has_the_parameters_and_no_fit():
    model = fitted(planted(), k=[3, 2], scale=True)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "components_")


@pytest.mark.parametrize(("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output_gives_frames_with_named_scores(library, kind):
    model = fitted(planted()).set_output(transform=library)
    scores = model.transform(planted())
    assert isinstance(scores, kind)
    assert list(scores.columns) == model.get_feature_names_out().tolist() == ["sparsepca0", "sparsepca1"]
    np.testing.assert_array_equal(scores.to_numpy(), fitted(planted()).transform(planted()))


def test_pickle_and_joblib_bring_back_the_same_model():
    X = planted()
    model = fitted(X, k=[3, 2])
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    for other in (pickle.loads(pickle.dumps(model)), joblib.load(buffer)):
        np.testing.assert_array_equal(other.transform(X), model.transform(X))
        assert other.top_features() == model.top_features()


def test_feature_names_come_from_frames_and_are_checked():
    model = fitted(WINE, scale=True)
    assert model.feature_names_in_.tolist() == list(WINE.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(WINE[WINE.columns[::-1]])
    assert not hasattr(fitted(WINE.to_numpy(), scale=True), "feature_names_in_")


@pytest.mark.parametrize(
    "make", [lambda frame: pl.DataFrame(frame.to_dict("list")), lambda frame: frame], ids=["polars", "pandas"]
)
def test_frames_give_what_their_array_gives(make):
    np.testing.assert_allclose(fitted(make(WINE)).components_, fitted(WINE.to_numpy()).components_, atol=1e-12)


# What fit takes


@pytest.mark.parametrize("method", ["rspca", "maxcomp"])
def test_k_is_the_exact_number_of_features(method):
    model = fitted(planted(), 3, k=4, method=method)
    assert [len(support) for support in model.supports_] == [4, 4, 4]
    for row, support in zip(model.components_, model.supports_, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(row), support)


@pytest.mark.parametrize("k", [[5, 1, 2], (5, 1, 2), np.array([5, 1, 2])], ids=["list", "tuple", "array"])
def test_k_may_differ_between_components(k):
    assert np.count_nonzero(fitted(planted(), 3, k=k).components_, axis=1).tolist() == [5, 1, 2]


def test_more_k_than_features_means_all_of_them_with_a_warning():
    with pytest.warns(UserWarning, match=r"k=50.*12 features.*using 12"):
        model = fitted(planted(), 1, k=50)
    assert len(model.supports_[0]) == 12
    with pytest.warns(UserWarning, match="using 12"):
        assert [len(s) for s in fitted(planted(), k=[2, 13]).supports_] == [2, 12]


def test_all_features_is_ordinary_pca():
    X = planted()
    model = fitted(X, 1, k=X.shape[1])
    v = np.linalg.svd(X - X.mean(0))[2][0]
    np.testing.assert_allclose(np.abs(model.components_[0]), np.abs(v), atol=1e-6)


@pytest.mark.parametrize("scale", [False, True])
def test_operators_and_arrays_give_the_same_model(scale):
    X = planted()
    expected = fitted(X, scale=scale)

    class Mine:
        shape, dtype = X.shape, X.dtype

        def matmat(self, V):
            return X @ V

        def rmatmat(self, U):
            return X.T @ U

        def columns(self, support):
            return X[:, support]

    for given in (rspca.as_operator(X), Mine()):
        model = fitted(given, scale=scale)
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-10)
        np.testing.assert_allclose(model.transform(given), expected.transform(X), atol=1e-9)
        np.testing.assert_allclose(model.score(given), expected.score(X))
        assert model.n_features_in_ == X.shape[1]


def test_a_gram_matrix_gives_the_components_of_its_data():
    X = planted() - planted().mean(0)
    data, gram = fitted(X), fitted(rspca.GramOperator(X.T @ X))
    np.testing.assert_allclose(gram.components_, data.components_, atol=1e-7)
    np.testing.assert_allclose(gram.explained_variance_, data.explained_variance_ * (len(X) - 1))
    np.testing.assert_allclose(gram.explained_variance_ratio_, data.explained_variance_ratio_)
    assert gram.n_samples_ == 0
    assert data.n_samples_ == len(X)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix, sp.coo_array])
def test_sparse_data_give_what_dense_data_give(make, scale):
    X = np.random.default_rng(0).poisson(0.4, (50, 20)).astype(float)
    dense, sparse = fitted(X, scale=scale), fitted(make(X), scale=scale)
    for name in ("components_", "explained_variance_", "mean_", "scale_"):
        np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), atol=1e-8)
    np.testing.assert_allclose(sparse.transform(make(X)), dense.transform(X), atol=1e-8)
    np.testing.assert_allclose(sparse.score(make(X)), dense.score(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_float_type_of_the_data_is_kept(dtype):
    X = planted().astype(dtype)
    model = fitted(X, scale=True)
    for values in (model.components_, model.scale_, model.transform(X)):
        assert values.dtype == dtype
    assert model.mean_.dtype == np.float64  # in single precision it could be off by more than the spread
    assert model.inverse_transform(model.transform(X)).dtype == dtype
    np.testing.assert_allclose(model.components_, fitted(planted(), scale=True).components_, atol=1e-4)


def test_integers_are_taken_as_numbers():
    X = np.random.default_rng(0).integers(0, 100, (30, 8))
    np.testing.assert_allclose(fitted(X).components_, fitted(X.astype(float)).components_, atol=1e-10)
    assert fitted(X).transform(X).dtype == np.float64


def test_progress_is_reported_and_an_exception_in_it_stops_the_fit():
    steps = []
    SparsePCA(2, k=3, random_state=0).fit(planted(), on_step=steps.append)
    assert {step.component for step in steps} == {0, 1}

    def stop(step):
        raise KeyboardInterrupt

    model = SparsePCA(2, k=3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(planted(), on_step=stop)
    assert not hasattr(model, "components_")


# What fit returns


@pytest.mark.parametrize("options", [{}, {"method": "maxcomp"}, {"method": "pca"}, PAPER], ids=str)
def test_components_are_unit_rows_whose_largest_loading_is_positive(options):
    for seed in range(5):
        V = fitted(planted(seed=seed), 3, random_state=seed, **options).components_
        np.testing.assert_allclose(np.linalg.norm(V, axis=1), 1.0)
        for v in V:
            assert v[np.argmax(np.abs(v) > np.abs(v).max() * (1 - 1e-9))] > 0


def test_opposite_data_have_the_same_components():
    np.testing.assert_allclose(fitted(-planted()).components_, fitted(planted()).components_, atol=1e-12)


def test_equal_loadings_are_signed_by_the_first_of_them():
    x = np.random.default_rng(0).standard_normal((30, 1))
    v = fitted(np.hstack([x, -x, -x]), 1, k=3).components_[0]
    np.testing.assert_allclose(v, np.array([1, -1, -1]) / np.sqrt(3), atol=1e-12)


def test_explained_variance_is_the_adjusted_variance_over_m_minus_one():
    X = planted()
    for scale in (False, True):
        model = fitted(X, 3, k=4, scale=scale, deflation="projection")
        Z = (X - X.mean(0)) / (X.std(0) if scale else 1.0)
        R = np.linalg.qr(Z @ model.components_.T)[1]
        np.testing.assert_allclose(model.explained_variance_, np.diag(R) ** 2 / (len(X) - 1))
        total = np.sum(Z**2) / (len(X) - 1)
        np.testing.assert_allclose(model.explained_variance_ratio_, model.explained_variance_ / total)
        assert model.explained_variance_ratio_.sum() <= 1


def test_inclusion_probabilities_are_sparse_and_between_zero_and_one():
    model = fitted(planted(), k=[2, 4])
    P = model.inclusion_probability_
    assert sp.issparse(P)
    assert P.shape == model.components_.shape
    assert P.data.min() > 0
    assert P.data.max() <= 1
    assert np.all(P.sum(axis=1) <= [2 + 1e-9, 4 + 1e-9])
    assert not hasattr(fitted(planted(), method="maxcomp"), "inclusion_probability_")


def test_inclusion_probabilities_are_those_of_the_relaxed_vector():
    X, k = planted(), 3
    x = np.abs(rspca.relax(X, k, start=np.linalg.svd(X - X.mean(0))[2][0], tol=1e-13).x)
    p = fitted(X, 1, k=k, tol=1e-13).inclusion_probability_.toarray()[0]
    np.testing.assert_allclose(p, np.minimum(k * x / x.sum(), 1), atol=1e-4)


def test_mean_and_scale_are_what_was_taken_from_the_columns():
    X = planted()
    plain, scaled, raw = fitted(X), fitted(X, scale=True), fitted(X, center=False)
    np.testing.assert_allclose(plain.mean_, X.mean(0))
    np.testing.assert_array_equal(plain.scale_, 1)
    np.testing.assert_allclose(scaled.scale_, X.std(0))
    np.testing.assert_array_equal(raw.mean_, 0)


def test_scaling_is_standardizing_the_columns_beforehand():
    X = planted()
    Z = (X - X.mean(0)) / X.std(0)
    scaled, explicit = fitted(X, scale=True), fitted(Z)
    np.testing.assert_allclose(scaled.components_, explicit.components_, atol=1e-7)
    np.testing.assert_allclose(scaled.explained_variance_, explicit.explained_variance_)
    np.testing.assert_allclose(scaled.transform(X), explicit.transform(Z), atol=1e-6)


def test_patterson_scaling_divides_genotypes_by_their_binomial_spread():
    X, _ = rspca.datasets.make_genotypes(60, 40, 3, random_state=1)
    p = X.mean(0) / 2
    spread = np.sqrt(2 * p * (1 - p))
    varies = X.std(0) > 0
    assert varies.any()
    scaled = fitted(X, k=5, scale="patterson")
    np.testing.assert_allclose(scaled.scale_[varies], spread[varies])
    Z = (X - X.mean(0)) / np.where(varies, spread, 1)
    explicit = fitted(Z, k=5)
    np.testing.assert_allclose(scaled.components_, explicit.components_, atol=1e-7)
    np.testing.assert_allclose(scaled.transform(X), Z @ explicit.components_.T, atol=1e-6)


def test_without_centering_the_scores_are_plain_products():
    X = planted()
    model = fitted(X, center=False)
    np.testing.assert_allclose(model.transform(X), X @ model.components_.T)


@pytest.mark.parametrize("options", [{}, PAPER], ids=["default", "paper"])
def test_the_same_seed_gives_the_same_model(options):
    X = planted(60, 30)
    for make in (lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)):
        a, b = fitted(X, random_state=make(), **options), fitted(X, random_state=make(), **options)
        np.testing.assert_array_equal(a.components_, b.components_)


def test_another_seed_gives_another_draw_of_the_papers_rounding():
    X = np.random.default_rng(0).standard_normal((30, 40))
    supports = {tuple(fitted(X, 1, k=10, random_state=seed, **PAPER).supports_[0]) for seed in range(5)}
    assert len(supports) > 1


def test_fitting_does_not_use_or_change_the_global_random_state():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    SparsePCA(k=3).fit(planted())
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# Using a fitted model


def test_transform_projects_centered_scaled_data_on_the_components():
    X, new = planted(), planted(7, seed=5)
    model = fitted(X, scale=True)
    np.testing.assert_allclose(model.transform(new), ((new - X.mean(0)) / X.std(0)) @ model.components_.T)
    np.testing.assert_allclose(model.fit_transform(X), model.transform(X))


def test_inverse_transform_is_the_least_squares_reconstruction():
    X = planted()
    model = fitted(X, 3, k=4, scale=True)
    T = model.transform(X)
    V = model.components_
    Z = T @ np.linalg.pinv(V.T)
    np.testing.assert_allclose(model.inverse_transform(T), Z * X.std(0) + X.mean(0))
    np.testing.assert_allclose(model.transform(model.inverse_transform(T)), T, atol=1e-10)


def test_score_is_the_share_of_variance_in_the_span_of_the_components():
    X, new = planted(), planted(25, seed=8)
    for scale in (False, True):
        model = fitted(X, 3, k=4, scale=scale)
        Z = (new - X.mean(0)) / (X.std(0) if scale else 1.0)
        Q = np.linalg.qr(model.components_.T)[0]
        np.testing.assert_allclose(model.score(new), np.sum((Z @ Q) ** 2) / np.sum(Z**2))
    assert fitted(X, 3, k=4).score(X) > fitted(X, 1, k=4).score(X)


def test_top_features_are_named_and_ordered_by_size():
    model = fitted(WINE, scale=True, k=4)
    for component in (0, 1, -1):
        top = model.top_features(component)
        sizes = [abs(feature.loading) for feature in top]
        assert sizes == sorted(sizes, reverse=True)
        assert {f.name for f in top} == set(WINE.columns[model.supports_[component]])
        for f in top:
            column = list(WINE.columns).index(f.name)
            assert f.loading == model.components_[component, column]
            assert f.inclusion_probability == model.inclusion_probability_.toarray()[component, column]
    assert model.top_features(0, n=2) == model.top_features(0)[:2]


def test_top_features_take_names_or_give_indices():
    model = fitted(planted())
    assert {f.name for f in model.top_features()} == set(model.supports_[0].tolist())
    letters = list("abcdefghijkl")
    assert {f.name for f in model.top_features(names=letters)} == {letters[i] for i in model.supports_[0]}
    assert fitted(planted(), method="maxcomp").top_features()[0].inclusion_probability is None


def test_top_features_make_a_frame():
    frame = pd.DataFrame(fitted(WINE, scale=True).top_features())
    assert list(frame.columns) == ["name", "loading", "inclusion_probability", "structure", "share"]
    assert len(frame) == 3


def test_certified_components_carry_their_proofs():
    model = SparsePCA(2, k=3, scale=True, certify=True, random_state=0).fit(WINE)
    first, second = model.certificates_
    assert first.status == second.status == "optimal"
    assert first.support.tolist() == model.supports_[0].tolist()
    assert first.lower == pytest.approx(model.explained_variance_[0] * (len(WINE) - 1))
    assert second.lower == pytest.approx(model.explained_variance_[1] * (len(WINE) - 1))  # the next adjusted variance
    assert any("before it" in said for said in second.assumptions)
    assert not hasattr(SparsePCA(1, k=3).fit(WINE), "certificates_")


def test_certificates_stay_with_a_saved_model(tmp_path):
    model = SparsePCA(1, k=3, scale=True, certify=True, random_state=0).fit(WINE)
    model.save(tmp_path / "model.npz")
    again = rspca.load(tmp_path / "model.npz").certificates_[0]
    assert (again.lower, again.upper, again.bounds) == (
        model.certificates_[0].lower, model.certificates_[0].upper, model.certificates_[0].bounds,
    )  # fmt: skip
    assert again.verify(WINE)


def test_what_cannot_be_certified_is_refused_before_work_starts():
    with pytest.raises(ValueError, match="method='spasm' finds them together"):
        SparsePCA(certify=True, method="spasm", k=2).fit(planted())
    with pytest.raises(ValueError, match="'schur'"):
        rspca.decompose(rspca.GramOperator(np.eye(3)), 1, k=2, certify=True, deflation="hotelling")


def test_a_fit_that_runs_out_of_iterations_says_so():
    X = np.random.default_rng(0).standard_normal((40, 30))
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations; raise max_iter"):
        rspca.SparsePCA(1, k=5, max_iter=1, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rspca.SparsePCA(1, k=5, random_state=0).fit(X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_scaling_without_centering_divides_by_the_standard_deviation(container):
    X = WINE.to_numpy() + 5.0
    model = SparsePCA(1, k=3, center=False, scale=True, random_state=0).fit(container(X))
    expected = StandardScaler(with_mean=False).fit(X)
    np.testing.assert_allclose(model.scale_, expected.scale_, rtol=1e-9)
    same = SparsePCA(1, k=3, center=False, random_state=0).fit(expected.transform(X))
    np.testing.assert_allclose(model.components_, same.components_, atol=1e-7)


def test_a_constant_column_that_is_not_centered_is_not_scaled():
    X = np.column_stack([WINE.to_numpy()[:, :3], np.full(len(WINE), 7.0)])
    assert SparsePCA(1, k=2, center=False, scale=True, random_state=0).fit(X).scale_[3] == 1.0


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = SparsePCA(1, k=3, random_state=0).fit(WINE)
    expected = model.transform(WINE)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(WINE[WINE.columns[::-1]].assign(proline=np.nan))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((9, 5), np.nan))
    np.testing.assert_array_equal(model.transform(WINE), expected)
    fresh = SparsePCA(1, k=3)
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(np.full((9, 5), np.nan))
    assert not hasattr(fresh, "n_features_in_")


def test_features_without_names_are_no_names(tmp_path):
    np.save(tmp_path / "x.npy", WINE.to_numpy())
    model = SparsePCA(1, k=3, random_state=0).fit(rspca.read(tmp_path / "x.npy"))
    assert not hasattr(model, "feature_names_in_")
    WINE.to_csv(tmp_path / "x.csv", index=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*feature names, but")
        expected = model.transform(WINE.to_numpy())
    for other in (rspca.read(tmp_path / "x.csv"), WINE.to_numpy()):
        np.testing.assert_allclose(model.transform(other), expected)


def test_scores_of_a_model_of_a_gram_matrix_are_not_centered_and_it_says_so():
    model = SparsePCA(1, k=3, random_state=0).fit(rspca.GramOperator(np.cov(WINE.T)))
    for use in (model.transform, model.score):
        with pytest.warns(UserWarning, match="fitted to a Gram matrix"):
            use(WINE.to_numpy())


@pytest.mark.parametrize("function", [rspca.as_operator, rspca.decompose, rspca.certify])
def test_functions_say_what_to_give_of_an_anndata(function):
    class AnnData:
        X, obs, var, shape = np.eye(3), {}, {}, (3, 3)

    with pytest.raises(TypeError, match="X is an AnnData; give its matrix"):
        function(AnnData(), **({} if function is rspca.as_operator else {"k": 2}))
