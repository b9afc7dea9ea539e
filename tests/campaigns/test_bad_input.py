"""Bad input gets one error that names the offender and the remedy; where mathematics allows, the right answer."""

import warnings
from functools import cache, partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import rspca
from rspca import SparsePCA

M, N = 10, 6
X = np.random.default_rng(0).standard_normal((M, N))
GRAM = rspca.GramOperator(np.eye(N) + 0.1)
RNG = np.random.default_rng(0)
V = np.eye(N)[:2]
ONES = np.ones(N)
NAN, INF, BOTH = X.copy(), X.copy(), X.copy()
NAN[3, 2], INF[3, 2], BOTH[3:5, 2] = np.nan, np.inf, [np.inf, -np.inf]


@cache
def model():
    return SparsePCA(2, k=3, random_state=0).fit(X)


def fit(X, **options):
    return SparsePCA(**{"k": 2, "random_state": 0} | options).fit(X)


def decompose(X, **options):
    return rspca.decompose(X, **{"k": 2, "random_state": 0} | options)


def relax(X, k=2, **options):
    return rspca.relax(X, k, **options)


def normalize(X, x=ONES, how="svd", **options):
    return rspca.normalize(X, x, how, **options)


def explained(X, V=V, **options):
    return rspca.explained_variance(X, V, **options)


def compare(X, k=2, **options):
    return rspca.compare(X, k, **options)


CORE = {
    "decompose": decompose, "relax": relax, "normalize": normalize, "explained_variance": explained,
    "compare": compare,
}  # fmt: skip
FITS = {"SparsePCA": fit, **CORE}
USES = {"transform": lambda X: model().transform(X), "score": lambda X: model().score(X)}

SMALL_HADAMARD = partial(rspca.datasets.make_hadamard, 8, 16)
GENOTYPES = partial(rspca.datasets.make_genotypes, 20, 16)


def cases(table):
    return pytest.mark.parametrize(("call", "error", "message"), [pytest.param(*row, id=name) for name, *row in table])


def refused(call, error, message):
    """Check that exactly one error of a built-in type comes out, and no warning before it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=message):
            call()


# The matrix

MATRICES = [
    ("NaN", NAN, ValueError, "SimpleImputer"),
    ("infinity", INF, ValueError, "SimpleImputer"),
    ("both infinities", BOTH, ValueError, "SimpleImputer"),
    ("NaN in a sparse matrix", sp.csr_array(NAN), ValueError, "SimpleImputer"),
    ("NaN in an operator", rspca.as_operator(NAN), ValueError, "SimpleImputer"),
    ("no samples", X[:0], ValueError, r"\(0, 6\)"),
    ("no features", X[:, :0], ValueError, r"\(10, 0\)"),
    ("one dimension", X[0], ValueError, "(?i)1 ?D(imension)?.*reshape"),
    ("three dimensions", X[None], ValueError, "3 dimension|dim 3"),
    ("complex", X + 1j, (ValueError, TypeError), "(?i)complex"),
    ("complex and sparse", sp.csr_array(X + 1j), (ValueError, TypeError), "(?i)complex"),
    ("strings", np.full((M, N), "word"), (ValueError, TypeError), "(?i)convert"),
    ("dates", np.zeros((M, N), "datetime64[s]"), TypeError, "datetime.*real numbers"),
    ("None", None, ValueError, "(?i)reshape"),
    ("a number", 3.0, ValueError, "(?i)reshape"),
    ("numbers beyond the range of squares", X * 1e200, ValueError, "divide X by a constant"),
]


@pytest.mark.parametrize("entry", FITS)
@pytest.mark.parametrize(("given", "error", "message"), [pytest.param(*r, id=n) for n, *r in MATRICES])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_matrix_that_cannot_be_worked_on_is_refused(entry, given, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        FITS[entry](given)


@pytest.mark.parametrize("entry", FITS)
def test_one_sample_is_refused_when_it_would_be_centered(entry):
    refused(lambda: FITS[entry](X[:1]), ValueError, r"one sample.*center=False|1 sample\(s\).*minimum of 2")


@pytest.mark.parametrize("entry", ["SparsePCA", "decompose", "relax", "compare"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, rspca.as_operator])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1])
def test_a_constant_matrix_has_no_component(entry, make, value):
    refused(lambda: FITS[entry](make(np.full((M, N), value))), ValueError, "no variance: every column is constant")


def test_explained_variance_of_a_constant_matrix_is_zero_and_has_no_share():
    for definition in ("adjusted", "subspace", "sum"):
        np.testing.assert_array_equal(explained(np.ones((M, N)), definition=definition), 0)
    refused(lambda: explained(np.ones((M, N)), definition="pca_share"), ValueError, "no variance")


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(("given", "error", "message"), [pytest.param(*r, id=n) for n, *r in MATRICES[:-1]])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_fitted_model_refuses_the_same_matrices(use, given, error, message):
    if given is not None and np.shape(given) == (M, 0):
        message = "0 feature"
    with pytest.raises(error, match=f"(?s){message}"):
        USES[use](given)


@pytest.mark.parametrize("use", USES)
def test_a_fitted_model_refuses_another_number_of_features(use):
    for given in (np.ones((3, 7)), sp.csr_array(np.ones((3, 7))), rspca.as_operator(np.ones((3, 7)))):
        refused(lambda given=given: USES[use](given), ValueError, "7 features.*expecting 6")


@pytest.mark.parametrize("use", USES)
def test_a_gram_matrix_has_no_scores(use):
    refused(lambda: USES[use](GRAM), ValueError, "Gram matrix has no samples.*data matrix")


@cases([
    ("too many columns", lambda: model().inverse_transform(np.ones((3, 3))), ValueError, r"T has shape \(3, 3\).*2 "),
    ("one dimension", lambda: model().inverse_transform(np.ones(2)), ValueError, r"T has shape \(2,\)"),
    ("NaN", lambda: model().inverse_transform([[np.nan, 1.0]]), ValueError, "T .*NaN"),
    ("strings", lambda: model().inverse_transform([["a", "b"]]), (ValueError, TypeError), r"\bT\b.*number"),
    ("complex", lambda: model().inverse_transform([[1j, 1.0]]), (ValueError, TypeError), r"\bT\b.*real|omplex data"),
])  # fmt: skip
def test_scores_that_are_none_are_refused(call, error, message):
    refused(call, error, message)


@pytest.mark.parametrize("use", ["transform", "inverse_transform", "score", "top_features", "save"])
def test_a_model_must_be_fitted_first(use):
    refused(lambda: getattr(SparsePCA(), use)(*([X] if use != "top_features" else [])), NotFittedError, "Call 'fit'")


# issue 14, item 9
def test_arguments_that_fit_does_not_have_are_refused():
    refused(lambda: SparsePCA(k=2).fit(X, on_stp=print), TypeError, "does not take on_stp; .*on_step")


# issue 19, items 1 to 3
@pytest.mark.parametrize(("given", "error", "message"), [
    ({"sample_weight": 2.0}, TypeError, "one entry for each of the"),
    ({"sample_weight": np.ones(M + 1)}, ValueError, f"has {M + 1} entries for {M} samples"),
    ({"sample_weight": np.ones((M, 2))}, ValueError, "2 dimensions"),
    ({"sample_weight": -np.ones(M)}, ValueError, "is negative for sample 0"),
    ({"sample_weight": np.full(M, np.nan)}, ValueError, "NaN or infinite"),
    ({"sample_weight": np.zeros(M)}, ValueError, "is zero for every sample"),
    ({"sample_weight": np.full(M, 1.0 / M)}, ValueError, "Multiply normalized weights by the number of samples"),
    ({"sample_weight": ["a"] * M}, TypeError, "sample_weight has dtype"),
    ({"sample_weight": np.append(np.ones(M - 1), 1e-20)}, ValueError, "at most a factor of"),
    ({"covariates": "batch"}, TypeError, "a mapping from names to columns"),
    ({"covariates": np.ones((M + 1, 2))}, ValueError, f"one entry for each of the {M} samples"),
    ({"covariates": {"age": np.full(M, np.nan)}}, ValueError, "Covariate age is missing or not finite"),
    ({"covariates": {"batch": ["a", None] * (M // 2) + ["a"] * (M % 2)}}, ValueError, "Covariate batch is missing"),
    ({"covariates": np.eye(M)}, ValueError, "explain all of"),
    ({"covariates": {}}, ValueError, "has no columns"),
    ({"feature_names": ["a"]}, ValueError, "feature_names has 1 entries"),
    ({"feature_names": ["a"] * X.shape[1]}, ValueError, "has 'a' twice"),
])  # fmt: skip
def test_what_does_not_fit_the_samples_is_refused(given, error, message):
    refused(lambda: SparsePCA(k=2).fit(X, **given), error, message)


# issue 19, items 1 to 3
def test_what_cannot_be_weighted_projected_or_filled_is_refused():
    ages = np.arange(M, dtype=float)
    refused(lambda: SparsePCA(k=2, center=False).fit(X, covariates=ages), ValueError, "need center=True")
    refused(lambda: SparsePCA(k=2, missing="median").fit(X), ValueError, "missing='median' is not known")
    gram = rspca.GramOperator(np.eye(3))
    refused(lambda: SparsePCA(k=2).fit(gram, sample_weight=np.ones(3)), ValueError, "a Gram matrix has none")
    refused(lambda: SparsePCA(k=2).fit(gram, covariates=np.ones(3)), ValueError, "a Gram matrix has none")
    both = partial(rspca.decompose, X, 1, k=2, side="both", k_samples=2)
    refused(lambda: both(sample_weight=np.ones(M)), ValueError, "side='both' chooses samples too")
    refused(lambda: model().transform(X, covariates=ages), ValueError, "fitted without any")
    taken = SparsePCA(k=2).fit(X, covariates={"age": ages})
    refused(lambda: taken.transform(X), ValueError, r"fitted with covariates \(age\)")
    refused(lambda: taken.score(X), ValueError, r"fitted with covariates \(age\)")
    refused(lambda: taken.transform(X, covariates={"weight": ages}), ValueError, "do not have age")
    refused(lambda: taken.transform(X, covariates=np.ones((M, 2))), ValueError, r"has 2 column\(s\); the fit had 1")


# The number of features, components and the other options

SPARSITIES = [
    ("zero", 0, ValueError, "k=0 must be between 1 and 6"),
    ("negative", -1, ValueError, "k=-1 must be between 1 and 6"),
    ("float", 2.0, TypeError, r"k=2\.0 must be an integer"),
    ("NaN", np.nan, TypeError, "k=nan must be an integer"),
    ("bool", True, TypeError, "k=True must be an integer, not bool"),
    ("string", "2", TypeError, "k='2' must be an integer"),
    ("None", None, TypeError, "k=None must be an integer"),
    ("too many", [2, 2], ValueError, "k has 2 entries.*one integer per component"),
    ("none", [], ValueError, "k has 0 entries"),
    ("float inside", [2.5], TypeError, r"k=2\.5 must be an integer"),
    ("string inside", ["a"], TypeError, "k='a' must be an integer"),
    ("zero inside", [0], ValueError, "k=0 must be between 1 and 6"),
]


@pytest.mark.parametrize("entry", ["SparsePCA", "decompose", "compare"])
@cases(SPARSITIES)
def test_k_must_be_a_whole_number_between_one_and_n(entry, call, error, message):
    refused(lambda: FITS[entry](X, k=call), error, message)


@pytest.mark.parametrize("entry", ["decompose", "compare"])
def test_more_k_than_features_is_an_error_below_the_estimator(entry):
    refused(lambda: CORE[entry](X, k=7), ValueError, "k=7 must be between 1 and 6.*6 features")


@pytest.mark.parametrize("method", sorted(rspca.METHODS.keys() - {"pca"}))
def test_methods_check_k_themselves(method):
    refused(lambda: rspca.METHODS[method](rspca.as_operator(X), 1, 7, rng=RNG), ValueError, "k=7 must be between 1 and")


@cases([
    ("below one", 0.5, ValueError, r"k=0\.5 must be finite and at least 1"),
    ("infinite", np.inf, ValueError, "k=inf must be finite"),
    ("NaN", np.nan, ValueError, "k=nan"),
    ("bool", True, TypeError, "k=True must be a number"),
    ("string", "2", TypeError, "k='2' must be a number"),
    ("list", [2], TypeError, r"k=\[2\] must be a number"),
])  # fmt: skip
def test_relax_takes_any_real_k_from_one(call, error, message):
    refused(lambda: relax(X, call), error, message)


@pytest.mark.parametrize("entry", ["SparsePCA", "decompose"])
@cases([
    ("zero", 0, ValueError, "n_components=0 must be between 1 and 6"),
    ("more than features", 7, ValueError, "n_components=7 must be between 1 and 6.*10 samples and 6 features"),
    ("float", 2.0, TypeError, r"n_components=2\.0 must be an integer"),
    ("bool", True, TypeError, "n_components=True must be an integer"),
    ("string", "2", TypeError, "n_components='2' must be an integer"),
    ("None", None, TypeError, "n_components=None must be an integer"),
])  # fmt: skip
def test_n_components_must_be_possible(entry, call, error, message):
    refused(lambda: FITS[entry](X, n_components=call), error, message)


def test_there_are_no_more_components_than_samples():
    for call in (fit, decompose):
        refused(partial(call, X[:4], n_components=5), ValueError, "n_components=5 must be between 1 and 4.*4 samples")


OPTIONS = [
    ("method", {"method": "lasso"}, ValueError, "method='lasso' is not known; choose .*'maxcomp', 'pca', .*'rspca'"),
    ("method list", {"method": ["rspca"]}, ValueError, "method=.* is not known"),
    ("solver", {"solver": "cvx"}, ValueError, "solver='cvx' is not known; choose one of 'linearized', 'projected'"),
    ("rounding", {"rounding": "best"}, ValueError, "rounding='best' is not known; choose one of 'bernoulli', 'exact'"),
    ("normalization", {"normalization": "l1"}, ValueError, "normalization='l1' .* choose one of 'naive', 'svd'"),
    ("deflation", {"deflation": "x"}, ValueError, "deflation='x' .* choose one of 'hotelling', 'orthogonal', 'proj"),
    ("polish", {"polish": "yes"}, ValueError, "polish='yes' .* choose one of False, True"),
    ("center word", {"center": "yes"}, ValueError, "center='yes' .* choose one of False, True"),
    ("center None", {"center": None}, ValueError, "center=None .* choose one of False, True"),
    ("scale word", {"scale": "unit"}, ValueError, "scale='unit' .* choose one of False, True, 'patterson'"),
    ("scale None", {"scale": None}, ValueError, "scale=None .* choose one of False, True, 'patterson'"),
    ("scale array", {"scale": np.ones(N)}, (ValueError, TypeError), "scale=.* choose one of False, True, 'patterson'"),
    ("s zero", {"s": 0}, ValueError, "s=0 must be finite and above 0"),
    ("s word", {"s": "k"}, TypeError, "s='k' must be a number"),
    ("s NaN", {"s": np.nan}, ValueError, "s=nan must be finite"),
    ("no draws", {"n_draws": 0}, ValueError, "n_draws=0 must be at least 1"),
    ("half a draw", {"n_draws": 1.5}, TypeError, r"n_draws=1\.5 must be an integer"),
    ("max_iter", {"max_iter": 0}, ValueError, "max_iter=0 must be at least 1"),
    ("tol", {"tol": -1e-3}, ValueError, r"tol=-0\.001 must be finite and at least 0"),
    ("tol word", {"tol": "small"}, TypeError, "tol='small' must be a number"),
    ("negative seed", {"random_state": -1}, ValueError, "random_state=-1 must be at least 0"),
    ("seed word", {"random_state": "a"}, TypeError, "random_state='a' must be an integer"),
    ("foreign solver", {"method": "maxcomp", "solver": "projected"}, ValueError, "solver belong.*method='rspca'"),
    ("foreign rounding", {"method": "maxcomp", "rounding": "bernoulli"}, ValueError, "rounding belong.*'maxcomp'"),
    ("foreign s", {"method": "pca", "s": 3}, ValueError, "s belong.*method='rspca'.*method='pca'"),
    ("foreign draws", {"method": "pca", "n_draws": 3}, ValueError, "n_draws belong.*method='rspca'"),
    ("foreign polish", {"method": "maxcomp", "polish": False}, ValueError, "polish belong.*method='rspca'"),
    ("hotelling", {"deflation": "hotelling"}, ValueError, "hotelling.*GramOperator.*or choose 'schur'"),
    ("k", {"k": 0}, ValueError, "k=0 must be"),
    ("n_components", {"n_components": 7}, ValueError, "n_components=7 must be"),
]  # fmt: skip


@pytest.mark.parametrize("entry", ["SparsePCA", "decompose"])
@cases(OPTIONS)
def test_a_wrong_option_is_refused(entry, call, error, message):
    refused(lambda: FITS[entry](X, **call), error, message)


@pytest.mark.parametrize("entry", ["SparsePCA", "decompose"])
@cases(OPTIONS)
def test_a_wrong_option_is_refused_before_the_data_are_read(entry, call, error, message):
    op = rspca.as_operator(X.copy())
    with pytest.raises(error):
        FITS[entry](op, **call)
    assert op.passes == 0


@cases([
    ("relax solver", lambda op: rspca.relax(op, 2, solver="cvx"), ValueError, "solver='cvx'"),
    ("relax k", lambda op: rspca.relax(op, 0), ValueError, "k=0"),
    ("relax start", lambda op: rspca.relax(op, 2, start=np.ones(5)), ValueError, r"start has shape \(5,\)"),
    ("relax center", lambda op: rspca.relax(op, 2, center="yes"), ValueError, "center='yes'"),
    ("normalize how", lambda op: rspca.normalize(op, np.ones(N), "l1"), ValueError, "how='l1'.*'naive', 'svd'"),
    ("normalize x", lambda op: rspca.normalize(op, np.ones(5)), ValueError, r"x has shape \(5,\)"),
    ("definition", lambda op: explained(op, definition="r2"), ValueError, "definition='r2'.*'adjusted', 'pca_share'"),
    ("V", lambda op: explained(op, np.ones((2, 5))), ValueError, "V has .*5.*6"),
    ("compare methods", lambda op: compare(op, methods=["lasso"]), ValueError, "method='lasso'.*'maxcomp'"),
    ("compare one name", lambda op: compare(op, methods="rspca"), (ValueError, TypeError), "methods?='r"),
    ("compare k", lambda op: compare(op, k=0), ValueError, "k=0"),
    ("compare seed", lambda op: compare(op, random_state=-1), ValueError, "random_state=-1"),
    ("compare scale", lambda op: compare(op, scale="unit"), ValueError, "scale='unit'"),
    ("side", lambda op: decompose(op, side="left"), ValueError, "side='left' .*'both', 'features'"),
    ("side without k_samples", lambda op: decompose(op, side="both"), ValueError, "side='both' needs k_samples"),
    ("k_samples without side", lambda op: decompose(op, k_samples=3), ValueError, "k_samples.*needs side='both'"),
    ("k_samples 0", lambda op: decompose(op, side="both", k_samples=0), ValueError, "k_samples=0 must be between"),
    ("k_samples 11", lambda op: decompose(op, side="both", k_samples=11), ValueError, "k_samples=11 .*10 samples"),
    ("k_samples float", lambda op: decompose(op, side="both", k_samples=2.5), TypeError, r"k_samples=2\.5"),
])  # fmt: skip
def test_functions_refuse_wrong_arguments_before_the_data_are_read(call, error, message):
    op = rspca.as_operator(X.copy())
    refused(lambda: call(op), error, message)
    assert op.passes == 0


@pytest.mark.parametrize("make", [SparsePCA, partial(rspca.decompose, X), partial(rspca.relax, X, 2)])
def test_an_unknown_option_is_a_type_error_with_its_name(make):
    refused(lambda: make(alpha=1), TypeError, "alpha")


@cases([
    ("certify word", {"certify": "yes"}, ValueError, "certify='yes'.*False, True"),
    ("no seconds", {"certify_seconds": 0}, ValueError, "certify_seconds=0 must be finite and above 0"),
])  # fmt: skip
def test_the_certificate_options_are_checked(call, error, message):
    refused(lambda: fit(X, **call), error, message)


@pytest.mark.parametrize("scale", [True, False, np.True_, np.False_, 1, 0])
def test_truth_values_of_any_type_mean_the_same_scaling(scale):
    Z = np.abs(X)
    assert Z.mean(0).max() < 2  # where the scale of genotypes would be possible too
    np.testing.assert_allclose(fit(Z, scale=scale).scale_, Z.std(0) if scale else np.ones(N))


@cases([
    ("means above two", X + 5, ValueError, "patterson.*genotypes.*between 0 and 2"),
    ("means below zero", X - 5, ValueError, "patterson.*genotypes.*between 0 and 2"),
    ("variance beyond 0..2", np.repeat([[-3.0, 5.0]], 6, 0).reshape(-1, 1) * np.ones(3), ValueError, "patterson"),
    ("mean zero but varying", np.tile([[-1.0], [1.0]], (5, 3)), ValueError, "patterson"),
])  # fmt: skip
def test_the_scale_of_genotypes_is_refused_for_other_data(call, error, message):
    for entry in (fit, decompose):
        refused(partial(entry, call, scale="patterson"), error, message)


# Covariance matrices


@cases([
    ("not square", np.ones((2, 3)), ValueError, r"A has shape \(2, 3\).*square"),
    ("one dimension", np.ones(3), ValueError, r"A has shape \(3,\).*square"),
    ("three dimensions", np.ones((2, 2, 2)), ValueError, r"A has shape \(2, 2, 2\)"),
    ("empty", np.ones((0, 0)), ValueError, r"A has shape \(0, 0\)"),
    ("not symmetric", [[1.0, 2.0], [0.0, 1.0]], ValueError, r"A is not symmetric.*\(A \+ A'\) / 2"),
    ("indefinite", [[1.0, 2.0], [2.0, 1.0]], ValueError, "not positive semidefinite: .*-1.*clip"),
    ("NaN", np.full((2, 2), np.nan), ValueError, "A contains NaN.*drop such columns or set these entries to 0"),
    ("infinity", np.diag([1.0, np.inf]), ValueError, "A contains NaN or infinite"),
    ("complex", np.array([[1.0, 1j], [-1j, 1.0]]), (ValueError, TypeError), "A .*complex.*real"),
    ("strings", np.full((2, 2), "a"), (ValueError, TypeError), "A .*number"),
    ("sparse", sp.csr_array(np.eye(3)), (ValueError, TypeError), r"A .*sparse.*toarray"),
    ("operator", rspca.as_operator(np.eye(3)), (ValueError, TypeError), "A |DenseOperator"),
])  # fmt: skip
def test_a_gram_operator_needs_a_covariance_matrix(call, error, message):
    refused(lambda: rspca.GramOperator(call), error, message)


@cases([
    ("scale", lambda: decompose(GRAM, scale=True), ValueError, "Gram matrix is taken as given.*Scale the matrix"),
    ("patterson", lambda: fit(GRAM, scale="patterson"), ValueError, "Gram matrix is taken as given"),
    ("compare", lambda: compare(GRAM, scale=True), ValueError, "Gram matrix is taken as given"),
    ("relax", lambda: relax(GRAM, scale=True), ValueError, "Gram matrix is taken as given"),
    ("both sides", lambda: decompose(GRAM, side="both", k_samples=2), ValueError, "side='both' needs samples"),
])  # fmt: skip
def test_a_gram_matrix_is_not_used_as_if_it_were_data(call, error, message):
    refused(call, error, message)


def test_a_zero_gram_matrix_has_no_component():
    refused(lambda: decompose(rspca.GramOperator(np.zeros((3, 3))), k=1), ValueError, "no variance")


def test_as_operator_refuses_what_is_not_a_matrix_of_numbers():
    refused(lambda: rspca.as_operator(X[0]), ValueError, "1 dimension.*Reshape")
    refused(lambda: rspca.as_operator(X[None]), ValueError, "3 dimension")
    for given in (X + 1j, X.astype(str), X.astype(object), sp.csr_array(X + 1j)):
        refused(lambda given=given: rspca.as_operator(given), TypeError, r"X has dtype .*X\.astype\(float\)")


# Vectors


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("x", lambda x: rspca.normalize(X, x)),
        ("x", lambda x: rspca.round_vector(x, 2, RNG)),
        ("start", lambda x: rspca.relax(X, 2, start=x)),
        ("V", lambda x: rspca.explained_variance(X, x)),
    ],
    ids=["normalize", "round_vector", "relax", "explained_variance"],
)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(N), "is zero; a direction is needed"),
        (np.array([1, np.nan, 0, 0, 0, 0]), "contains NaN or infinite"),
        (np.array([1, np.inf, 0, 0, 0, 0]), "contains NaN or infinite"),
        (np.ones((1, 1, N)), "has shape"),
        (np.ones(N) * (1 + 1j), ".*complex"),
        (["a"] * N, ".*number"),
    ],
    ids=["zero", "NaN", "infinity", "3-D", "complex", "strings"],
)
def test_a_vector_must_be_a_direction(name, call, given, message):
    refused(lambda: call(given), (ValueError, TypeError), rf"\b{name} {message}")


def test_no_components_have_no_explained_variance():
    refused(lambda: explained(X, np.ones((0, N))), ValueError, r"\bV\b")


def test_dependent_components_add_nothing():
    twice = np.vstack([V, V[0]])
    for definition in ("adjusted", "subspace"):
        values = explained(X, twice, definition=definition)
        assert values[2] <= 1e-12 * values[0]


def test_there_is_one_explained_variance_for_each_component():
    few = X[:4]
    for definition in ("adjusted", "subspace", "sum", "pca_share"):
        assert explained(few, np.eye(N), definition=definition).shape == (N,)


@cases([
    ("s zero", lambda: rspca.round_vector(np.ones(3), 0, RNG), ValueError, "s=0 must be finite and above 0"),
    ("s NaN", lambda: rspca.round_vector(np.ones(3), np.nan, RNG), ValueError, "s=nan"),
    ("s bool", lambda: rspca.round_vector(np.ones(3), True, RNG), TypeError, "s=True must be a number"),
    ("seed as rng", lambda: rspca.round_vector(np.ones(3), 2, 0), TypeError, "rng.*Generator"),
    ("no rng", lambda: rspca.round_vector(np.ones(3), 2, None), TypeError, "rng.*Generator"),
])  # fmt: skip
def test_rounding_refuses_wrong_arguments(call, error, message):
    refused(call, error, message)


@cases([
    (name, partial(rspca.theorem1, *args, **options), error, message)
    for name, args, options, error, message in [
        ("k zero", (0, 0.5), {}, ValueError, "k=0 must be at least 1"),
        ("k float", (2.5, 0.5), {}, TypeError, r"k=2\.5 must be an integer"),
        ("epsilon zero", (2, 0), {}, ValueError, "epsilon=0 must be finite and above 0"),
        ("epsilon above one", (2, 1.5), {}, ValueError, r"epsilon=1\.5 must lie in \(0, 1\]"),
        ("epsilon word", (2, "a"), {}, TypeError, "epsilon='a' must be a number"),
        ("draws", (2, 0.5), {"n_draws": 0}, ValueError, "n_draws=0 must be at least 1"),
        ("row norm", (2, 0.5), {"row_norm": 0}, ValueError, "row_norm=0 must be finite and above 0"),
        ("row norm infinite", (2, 0.5), {"row_norm": np.inf}, ValueError, "row_norm=inf"),
    ]
])  # fmt: skip
def test_the_theorem_is_not_quoted_outside_its_range(call, error, message):
    refused(call, error, message)


# Data sets, models, features


@cases([
    ("m not a power", lambda: rspca.datasets.make_hadamard(3, 16), ValueError, "m=3 must be a power of two"),
    ("n not a power", lambda: rspca.datasets.make_hadamard(8, 12), ValueError, "n=12 must be a power of two"),
    ("m above n", lambda: rspca.datasets.make_hadamard(16, 8), ValueError, "m=16, n=8: m must not exceed n"),
    ("m zero", lambda: rspca.datasets.make_hadamard(0, 8), ValueError, "m=0 must be at least 1"),
    ("m float", lambda: rspca.datasets.make_hadamard(8.0, 16), TypeError, r"m=8\.0 must be an integer"),
    ("column", lambda: SMALL_HADAMARD(signal_column=8), ValueError, "signal_column=8 must be between 0 and 7"),
    ("noise", lambda: SMALL_HADAMARD(noise=-1), ValueError, "noise=-1 must be finite and at least 0"),
    ("theta NaN", lambda: SMALL_HADAMARD(theta=np.nan), ValueError, "theta=nan must be finite"),
    ("theta word", lambda: SMALL_HADAMARD(theta="a"), TypeError, "theta='a' must be a number"),
    ("negative seed", lambda: SMALL_HADAMARD(random_state=-1), ValueError, "random_state=-1 must be at least 0"),
    ("seed word", lambda: SMALL_HADAMARD(random_state="a"), TypeError, "random_state='a' must be an integer"),
])  # fmt: skip
def test_the_synthetic_family_refuses_wrong_arguments(call, error, message):
    refused(call, error, message)


@cases([
    ("no people", lambda: rspca.datasets.make_genotypes(0, 5), ValueError, "m=0 must be at least 1"),
    ("half a SNP", lambda: rspca.datasets.make_genotypes(5, 2.5), TypeError, r"n=2\.5 must be an integer"),
    ("no population", lambda: GENOTYPES(0), ValueError, "n_populations=0 must be at least 1"),
    ("fst one", lambda: GENOTYPES(fst=1.0), ValueError, r"fst=1\.0 must lie in \(0, 1\)"),
    ("fst word", lambda: GENOTYPES(fst="a"), TypeError, "fst='a' must be a number"),
    ("linkage one", lambda: GENOTYPES(linkage=1.0), ValueError, r"linkage=1\.0 .*\[0, 1\)"),
    ("block", lambda: GENOTYPES(block=0), ValueError, "block=0 must be at least 1"),
    ("negative seed", lambda: GENOTYPES(random_state=-1), ValueError, "random_state=-1 must be at least 0"),
])  # fmt: skip
def test_simulated_genotypes_refuse_wrong_arguments(call, error, message):
    refused(call, error, message)


@cases([
    ("component", lambda: model().top_features(2), ValueError, "component=2 .*model has 2"),
    ("component before the first", lambda: model().top_features(-3), ValueError, "component=-3 .*model has 2"),
    ("component float", lambda: model().top_features(1.5), TypeError, r"component=1\.5 must be an integer"),
    ("component word", lambda: model().top_features("a"), TypeError, "component='a' must be an integer"),
    ("n negative", lambda: model().top_features(0, -1), ValueError, "n=-1 must be at least"),
    ("names", lambda: model().top_features(names=["a"]), ValueError, "names has 1 entries for 6 features"),
])  # fmt: skip
def test_top_features_refuses_what_is_not_there(call, error, message):
    refused(call, error, message)


def test_loading_a_file_that_is_not_there_says_so(tmp_path):
    refused(lambda: rspca.load(tmp_path / "none.npz"), FileNotFoundError, r"none\.npz")
    refused(lambda: rspca.load(tmp_path), ValueError, "is not a model")
    refused(lambda: rspca.load(None), (ValueError, TypeError), "None")


def test_an_unknown_name_of_the_package_lists_the_known_ones():
    refused(lambda: rspca.SparcePCA, AttributeError, "SparcePCA.*SparsePCA")


# Where mathematics allows, the right answer


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("method", ["rspca", "maxcomp"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_constant_column_is_never_chosen(make, method, scale):
    Z = np.hstack([X[:, :3], np.full((M, 1), 0.1), np.zeros((M, 1)), X[:, 3:]])
    fitted = fit(make(Z), n_components=3, k=7, method=method, scale=scale)
    for support in fitted.supports_:
        assert not {3, 4} & set(support.tolist())
    assert len(fitted.supports_[0]) == N  # all that vary
    assert np.isfinite(fitted.transform(make(Z))).all()
    np.testing.assert_array_equal(fitted.scale_[3:5], 1)


@pytest.mark.parametrize("options", [{"rounding": "bernoulli"}, {"polish": False}, {"solver": "projected"}], ids=str)
def test_no_option_brings_constant_columns_in(options):
    Z = np.hstack([np.full((M, 3), 7.7), X])
    for seed in range(5):
        support = fit(Z, k=8, random_state=seed, **options).supports_[0]
        assert support.min() >= 3


@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("method", ["rspca", "maxcomp", "pca"])
def test_a_matrix_of_rank_r_gives_r_components_and_a_warning(rank, make, method):
    rng = np.random.default_rng(rank)
    Z = rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 8))
    with pytest.warns(UserWarning, match=f"rank {rank}.*only {rank} of the 5"):
        fitted = fit(make(Z), n_components=5, k=3, method=method)
    assert fitted.n_components_ == len(fitted.components_) == len(fitted.supports_) == rank
    assert fitted.transform(make(Z)).shape == (30, rank)
    assert np.linalg.matrix_rank(fitted.transform(make(Z)), tol=1e-3) == rank  # the scores span all there is


def test_a_gram_matrix_of_rank_r_gives_r_components():
    F = np.random.default_rng(0).standard_normal((2, 7))
    with pytest.warns(UserWarning, match="rank 2"):
        assert len(decompose(rspca.GramOperator(F.T @ F), n_components=4, k=3)) == 2


def test_centering_costs_one_component():
    with pytest.warns(UserWarning, match="rank 3"):
        assert fit(X[:4], n_components=4, k=3).n_components_ == 3


def test_one_sample_is_a_component_when_it_is_not_centered():
    fitted = fit(X[:1], center=False, k=2)
    largest = np.sort(np.argsort(-np.abs(X[0]))[:2])
    np.testing.assert_array_equal(fitted.supports_[0], largest)
    np.testing.assert_allclose(
        np.abs(fitted.components_[0, largest]), np.abs(X[0, largest]) / np.linalg.norm(X[0, largest])
    )


def test_one_feature_is_its_own_component():
    fitted = fit(X[:, :1], k=1)
    np.testing.assert_array_equal(fitted.components_, [[1.0]])
    np.testing.assert_allclose(fitted.explained_variance_, X[:, 0].var(ddof=1))


def test_duplicate_columns_are_no_obstacle():
    Z = np.hstack([X, X, X])
    found = decompose(Z, k=3)
    twin = X[:, np.argmax(X.var(0))]
    assert found.components[0].variance >= 3 * np.sum((twin - twin.mean()) ** 2) * (1 - 1e-9)


@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1e30, 1e140])
def test_units_do_not_matter(factor):
    plain, other = decompose(X, n_components=2, k=3), decompose(X * factor, n_components=2, k=3)
    np.testing.assert_allclose(other.loadings, plain.loadings, atol=1e-7)
    np.testing.assert_allclose(other.explained_variance / factor**2, plain.explained_variance)


# Arrays of other kinds


@pytest.mark.parametrize(
    "use",
    [
        lambda X: rspca.decompose(X, 1, k=3, random_state=0).components[0].variance,
        lambda X: rspca.certify(X, 3).lower,
        lambda X: rspca.path(X, [3])[0].variance,
        lambda X: rspca.SparsePCA(1, k=3, random_state=0).fit(X).explained_variance_[0],
        lambda X: rspca.SparsePCA(1, k=3, random_state=0).fit(np.asarray(X)).transform(X).std(),
    ],
    ids=["decompose", "certify", "path", "fit", "transform"],
)
def test_what_a_mask_hides_is_never_used(use):
    X = np.random.default_rng(0).standard_normal((30, 6))
    assert use(np.ma.masked_array(X)) == use(X)
    hidden = X.copy()
    hidden[[0, 3], 2] = -999.0
    with pytest.raises(ValueError, match=r"X hides 2 value\(s\) under a mask"):
        use(np.ma.masked_equal(hidden, -999.0))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_numpy_matrix_is_a_matrix():
    X = np.random.default_rng(0).standard_normal((30, 6))
    found = rspca.decompose(np.matrix(X), 1, k=3, random_state=0).components[0]
    assert found.variance == rspca.decompose(X, 1, k=3, random_state=0).components[0].variance


def test_an_anndata_is_told_where_to_go():
    anndata = pytest.importorskip("anndata")
    with pytest.raises(TypeError, match=r"AnnData; give its matrix, adata.X, or use rspca.spca"):
        rspca.SparsePCA(1, k=2).fit(anndata.AnnData(np.random.default_rng(0).standard_normal((8, 5))))


def test_k_may_be_an_array_without_dimensions_and_any_number_too_large():
    X = np.random.default_rng(0).standard_normal((30, 6))
    assert len(rspca.SparsePCA(1, k=np.array(3)).fit(X).supports_[0]) == 3
    with pytest.warns(UserWarning, match="more than the 6 features"):
        assert len(rspca.SparsePCA(1, k=2**70).fit(X).supports_[0]) == 6


def test_names_may_be_a_column_with_an_index_of_its_own():
    pd = pytest.importorskip("pandas")
    model = rspca.SparsePCA(1, k=2, random_state=0).fit(np.random.default_rng(0).standard_normal((30, 6)))
    names = pd.Series(list("abcdef"), index=range(10, 16))
    assert [one.name for one in model.top_features(0, names=names)] == [
        "abcdef"[one.name] for one in model.top_features(0)
    ]
