"""Five definitions of explained variance, each against its formula in dense matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rspca
from rspca.linalg.explained_variance import cosines, gram_schmidt, largest_cosine

DEFINITIONS = ["adjusted", "subspace", "reconstruction", "sum", "pca_share"]


def example(seed, r=3, m=14, n=9):
    """Return data and r sparse unit vectors as rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) @ rng.standard_normal((n, n)) + 1.0
    V = np.zeros((r, n))
    for row in V:
        row[rng.choice(n, 4, replace=False)] = rng.standard_normal(4)
    return X, V / np.linalg.norm(V, axis=1, keepdims=True)


def formula(definition, X, V):
    """The definitions as in the literature, from dense matrices."""
    A = X.T @ X
    if definition == "adjusted":  # Zou, Hastie, Tibshirani: QR of the scores
        return np.diag(np.linalg.qr(X @ V.T)[1]) ** 2
    if definition == "subspace":  # Shen, Huang: |X P_j|_F^2, P_j the projection on the first j components
        shares = [np.trace(A @ np.linalg.pinv(V[:j]) @ V[:j]) for j in range(1, len(V) + 1)]
        return np.diff([0.0, *shares])
    if definition == "reconstruction":  # what a regression of X on the first j scores explains
        fits = [X @ V[:j].T for j in range(1, len(V) + 1)]
        return np.diff([0.0, *(np.sum((S @ np.linalg.lstsq(S, X)[0]) ** 2) for S in fits)])
    sums = np.array([v @ A @ v for v in V])
    return sums if definition == "sum" else sums / np.linalg.eigvalsh(A)[::-1][: len(V)].sum()


seeds = st.integers(0, 10**6)


@pytest.mark.parametrize("definition", DEFINITIONS)
@given(seeds)
def test_each_definition_agrees_with_its_formula(definition, seed):
    X, V = example(seed)
    Z = X - X.mean(axis=0)
    expected = formula(definition, Z, V)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(rspca.explained_variance(X, V, definition), expected, atol=1e-9 * scale)
    by_gram = rspca.explained_variance(rspca.GramOperator(Z.T @ Z), V, definition)
    np.testing.assert_allclose(by_gram, expected, atol=1e-7 * scale)
    not_centered = rspca.explained_variance(X, V, definition, center=False)
    np.testing.assert_allclose(not_centered, formula(definition, X, V), rtol=1e-6)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_scaling_is_applied_before_variance_is_measured(definition):
    X, V = example(0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(
        rspca.explained_variance(X, V, definition, scale=True), formula(definition, Z, V), rtol=1e-9
    )


def test_a_column_of_zeros_and_one_that_adds_nothing_have_no_direction():
    columns = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    directions, parts = gram_schmidt(columns)
    np.testing.assert_array_equal(directions, [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(parts, directions)


def test_the_default_is_the_adjusted_variance():
    X, V = example(1)
    np.testing.assert_array_equal(rspca.explained_variance(X, V), rspca.explained_variance(X, V, "adjusted"))


@given(seeds)
def test_components_beyond_the_first_add_to_the_subspace_and_never_take_away(seed):
    X, V = example(seed, r=5)
    added = rspca.explained_variance(X, V, "subspace")
    total = np.sum((X - X.mean(axis=0)) ** 2)
    assert np.all(added >= -1e-9 * total)
    assert added.sum() <= total * (1.0 + 1e-9)


@given(seeds)
def test_neither_adjusted_nor_subspace_variance_can_exceed_the_total(seed):
    X, V = example(seed, r=9)
    total = np.sum((X - X.mean(axis=0)) ** 2)
    assert rspca.explained_variance(X, V, "adjusted").sum() <= total * (1.0 + 1e-9)
    subspace = rspca.explained_variance(X, V, "subspace").sum()
    assert subspace <= total * (1.0 + 1e-9)
    if np.linalg.cond(V) < 1e6:  # then nine vectors span everything
        assert subspace == pytest.approx(total)


@given(seeds)
def test_adjusted_variance_never_exceeds_the_plain_one(seed):
    X, V = example(seed)
    adjusted, plain = rspca.explained_variance(X, V, "adjusted"), rspca.explained_variance(X, V, "sum")
    assert adjusted[0] == pytest.approx(plain[0])
    assert np.all(adjusted <= plain * (1.0 + 1e-9))


def test_all_definitions_agree_on_principal_components():
    X, _ = example(2)
    Z = X - X.mean(axis=0)
    _, singular, V = np.linalg.svd(Z, full_matrices=False)
    for definition in ("adjusted", "subspace", "sum"):
        np.testing.assert_allclose(rspca.explained_variance(X, V[:4], definition), singular[:4] ** 2)
    np.testing.assert_allclose(rspca.explained_variance(X, V[:4], "pca_share").sum(), 1.0)


@pytest.mark.parametrize("definition", ["adjusted", "subspace"])
@pytest.mark.parametrize("gram", [False, True])
def test_a_component_given_twice_adds_nothing_the_second_time(definition, gram):
    X, V = example(3, r=2)
    Z = X - X.mean(axis=0)
    data = rspca.GramOperator(Z.T @ Z) if gram else X
    once = rspca.explained_variance(data, V, definition)
    again = rspca.explained_variance(data, V[[0, 0, 1, 1]], definition)
    np.testing.assert_allclose(again, [once[0], 0.0, once[1], 0.0], atol=1e-6 * once[0])


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_there_is_one_value_for_each_component_even_with_fewer_samples_than_components(definition):
    X, V = example(4, r=5, m=3)
    values = rspca.explained_variance(X, V, definition, center=False)
    assert values.shape == (5,)
    if definition == "adjusted":
        np.testing.assert_allclose(values[3:], 0.0, atol=1e-9 * values[0])


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_a_single_vector_is_one_component(definition):
    X, V = example(5, r=1)
    np.testing.assert_allclose(
        rspca.explained_variance(X, V[0], definition), formula(definition, X - X.mean(axis=0), V), rtol=1e-9
    )


def test_a_decomposition_reports_adjusted_variance_total_and_overlaps():
    X, _ = example(6, m=30)
    Z = X - X.mean(axis=0)
    found = rspca.decompose(X, 3, k=4, deflation="projection", random_state=0)
    V = found.loadings
    np.testing.assert_allclose(found.explained_variance, formula("adjusted", Z, V))
    assert found.total_variance == pytest.approx(np.sum(Z**2))
    cosines = np.abs(V @ V.T) - np.eye(3)
    correlations = np.abs(np.corrcoef((Z @ V.T).T)) - np.eye(3)
    assert found.orthogonality == pytest.approx(cosines.max())
    assert found.score_correlation == pytest.approx(correlations.max())


def test_an_unknown_definition_is_refused():
    X, V = example(0)
    with pytest.raises(ValueError, match="definition='trace' is not known"):
        rspca.explained_variance(X, V, "trace")


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_columns_of_zeros_are_orthogonal_to_all():
    columns = np.array([[3.0, 0.0, -1.0], [4.0, 0.0, 1.0]])
    assert cosines(columns)[1].tolist() == [0.0, 0.0, 0.0]
    assert cosines(columns)[0] == pytest.approx([1.0, 0.0, np.sqrt(0.02)])
    assert largest_cosine(columns) == pytest.approx(np.sqrt(0.02))
    assert largest_cosine(columns[:, :2]) == 0.0
    assert largest_cosine(columns[:, :1]) == 0.0


@pytest.mark.parametrize("length", [1e-200, 2.0, 1e200])
def test_the_span_of_a_vector_does_not_depend_on_its_length(length):
    X = np.random.default_rng(0).standard_normal((30, 8))
    v = np.eye(8)[2] - np.eye(8)[5]
    expected = rspca.explained_variance(X, v, "subspace")
    np.testing.assert_allclose(rspca.explained_variance(X, length * v, "subspace"), expected, rtol=1e-12)
    np.testing.assert_allclose(rspca.normalize(X, length * v, how="naive"), v / np.sqrt(2.0), rtol=1e-12)
