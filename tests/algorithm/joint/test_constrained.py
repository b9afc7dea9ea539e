"""Components under a constraint are exact, have k features each, and are as good as enumeration on small cases."""

import numpy as np
import pytest
from support.operators import FiveMembers
from support.pairs_by_enumeration import best_pair

import rspca
from rspca.algorithm import budgets
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.joint.constrained import CONSTRAINTS, check_feasible, constrained
from rspca.algorithm.joint.task import JointTask, SparseVector
from rspca.linalg.component_order import adjusted, best_order
from rspca.operators import Centered, GramOperator
from rspca.operators.convert import as_operator


@pytest.fixture(autouse=True)
def _less_search(monkeypatch):
    monkeypatch.setattr(budgets, "CONSTRAINED_WORK", 5 * 10**4)  # microseconds
    monkeypatch.setattr(budgets, "DISJOINT_STARTS", 4)


def factor_data(m=40, n=9, rank=3, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n)) + noise * rng.standard_normal((m, n))
    return X - X.mean(axis=0)


def task_of(op, ks, *, seed=0, groups=None, nonnegative=False):
    choice = Choice(np.flatnonzero(op.sq_norms), groups)
    return JointTask(op, ks, choice, np.random.default_rng(seed), nonnegative)


def start_of(op, ks):
    found = (
        rspca.decompose(op, len(ks), k=ks, center=False, random_state=0)
        if op.has_samples
        else rspca.decompose(op, len(ks), k=ks, random_state=0)
    )
    return [SparseVector(component.support, component.loadings) for component in found.components]


def run(op, ks, constraint, **options):
    return constrained(task_of(op, ks, **options), start_of(op, ks), constraint)


def dense(vectors, n):
    V = np.zeros((n, len(vectors)))
    for j, (support, loadings) in enumerate(vectors):
        V[support, j] = loadings
    return V


def objective(A, vectors, constraint):
    V = dense(vectors, len(A))
    M = V.T @ A @ V
    return adjusted(M).sum() if constraint == "disjoint" else np.trace(M)


def assert_valid(A, together, ks, constraint, tol=1e-12):
    """Check unit loadings, numbers of features, the constraint, and the reported violation."""
    V = dense(together.vectors, len(A))
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1.0, rtol=1e-12)
    assert [len(vector.support) for vector in together.vectors] == ks
    assert all((np.diff(support) > 0).all() and loadings.all() for support, loadings in together.vectors)
    if constraint == "disjoint":
        assert ((V != 0.0).sum(axis=1) <= 1).all()
    else:
        M = V.T @ A @ V if constraint == "uncorrelated" else V.T @ V
        lengths = np.sqrt(M.diagonal())
        cosines = np.abs(M / np.outer(lengths, lengths) - np.eye(len(M))).max()
        assert cosines <= tol
        assert together.violation <= tol


# issue 17, item 2
@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("ks", [[3, 3, 3], [4, 2, 3]])
def test_the_constraint_holds_exactly_with_k_features_each(constraint, ks):
    X = factor_data(n=12)
    together = run(as_operator(X), ks, constraint)
    assert_valid(X.T @ X, together, ks, constraint)


# issue 17, item 2
@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_two_components_are_as_good_as_enumeration(constraint, seed):
    A = np.corrcoef(factor_data(n=6, seed=seed), rowvar=False)
    together = run(GramOperator(A), [2, 2], constraint, seed=seed)
    assert objective(A, together.vectors, constraint) >= (1.0 - 1e-6) * best_pair(A, 2, constraint)


# issue 17, item 2
@pytest.mark.parametrize("constraint", ["orthogonal", "uncorrelated"])
def test_components_are_ordered_by_variance_among_those_of_the_same_size(constraint):
    X = factor_data(n=12)
    A, ks = X.T @ X, [3, 4, 3, 4]
    V = dense(run(as_operator(X), ks, constraint).vectors, 12)
    variances = (V.T @ A @ V).diagonal()
    assert variances[0] >= variances[2]
    assert variances[1] >= variances[3]


# issue 17, item 2
def test_disjoint_components_are_in_the_best_order():
    X = factor_data(n=12)
    V = dense(run(as_operator(X), [3, 3, 3], "disjoint").vectors, 12)
    M = V.T @ (X.T @ X) @ V
    assert adjusted(M).sum() >= (1.0 - 1e-12) * adjusted(M, best_order(M)).sum()


# issue 17, item 2
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_same_generator_gives_the_same_components(constraint):
    X = factor_data(n=12)
    first, second = (run(as_operator(X), [3, 3], constraint, seed=5) for _ in range(2))
    for one, other in zip(first.vectors, second.vectors, strict=True):
        np.testing.assert_array_equal(one.support, other.support)
        np.testing.assert_array_equal(one.loadings, other.loadings)


# issue 17, item 2: k = 1 is feasible for uncorrelated scores only where features are uncorrelated
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_single_features_are_those_of_largest_variance_where_features_are_uncorrelated(constraint):
    A = np.diag([1.0, 4.0, 2.0, 3.0])
    together = run(GramOperator(A), [1, 1], constraint)
    assert [vector.support.tolist() for vector in together.vectors] == [[1], [3]]
    assert_valid(A, together, [1, 1], constraint)


# issue 17, item 2
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_one_component_is_the_best_of_its_size(constraint):
    A = np.corrcoef(factor_data(), rowvar=False)
    single = rspca.decompose(GramOperator(A), 1, k=3, random_state=0).components[0].variance
    assert objective(A, run(GramOperator(A), [3], constraint).vectors, constraint) == pytest.approx(single, rel=1e-9)


# issue 17, item 2: with k = n and r = n both constraints give the whole trace or the eigenvectors
@pytest.mark.parametrize("constraint", ["orthogonal", "uncorrelated"])
@pytest.mark.parametrize("r", [2, 4])
def test_all_features_give_at_most_the_leading_eigenvalues_and_nearly_reach_them(constraint, r):
    A = np.cov(factor_data(n=4, noise=1.0), rowvar=False)
    values = np.linalg.eigvalsh(A)[::-1]
    together = run(GramOperator(A), [4] * r, constraint)
    assert objective(A, together.vectors, constraint) == pytest.approx(values[:r].sum(), rel=1e-8)


# issue 17, item 2
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_ties_are_no_obstacle(constraint):
    A = np.kron(np.eye(4), np.array([[1.0, 0.5], [0.5, 1.0]]))
    together = run(GramOperator(A), [2, 2, 2], constraint)
    assert objective(A, together.vectors, constraint) == pytest.approx(4.5)
    assert_valid(A, together, [2, 2, 2], constraint)


# issue 17, item 2: more components than the rank can be orthogonal, and the start has only one
@pytest.mark.parametrize("constraint", ["orthogonal", "disjoint"])
def test_data_of_rank_one_have_components_beyond_the_first(constraint):
    x = np.array([3.0, 2.5, 2.0, 1.5, 1.0])
    op = as_operator(np.outer([1.0, -1.0, 2.0], x))
    start = [SparseVector(np.array([0, 1]), np.array([3.0, 2.5]) / np.hypot(3.0, 2.5))]
    together = constrained(task_of(op, [2, 2]), start, constraint)
    A = 6.0 * np.outer(x, x)
    assert_valid(A, together, [2, 2], constraint)
    if constraint == "orthogonal":
        assert objective(A, together.vectors, constraint) == pytest.approx(6.0 * (x[:4] ** 2).sum(), rel=1e-9)


# issue 17, items 1 and 2
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_every_kind_of_data_gives_the_same_components(constraint):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    X = factor_data(n=10)
    kinds = {
        "sparse": as_operator(scipy_sparse.csr_array(X)),
        "five members": as_operator(FiveMembers(X)),
        "centered": Centered(as_operator(X + 5.0), np.full(10, 5.0)),
    }
    expected = objective(X.T @ X, run(as_operator(X), [3, 3], constraint).vectors, constraint)
    for name, op in kinds.items():
        together = run(op, [3, 3], constraint)
        assert objective(X.T @ X, together.vectors, constraint) == pytest.approx(expected, rel=1e-8), name
        assert together.violation <= 1e-12, name


# issue 17, item 2
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_loadings_of_float32_data_are_exact_in_float64(constraint):
    X = factor_data(n=10).astype(np.float32)
    together = run(as_operator(X), [3, 3], constraint)
    wide = X.astype(np.float64)
    assert_valid(wide.T @ wide, together, [3, 3], constraint)
    assert all(vector.loadings.dtype == np.float64 for vector in together.vectors)


# issue 17, item 2: more features than a complete pool has
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_pools_of_many_features_lose_little(constraint, monkeypatch):
    X = factor_data(n=80, rank=6)
    expected = objective(X.T @ X, run(as_operator(X), [4, 4], constraint).vectors, constraint)
    monkeypatch.setattr(budgets, "CONSTRAINED_POOL_COMPLETE", 20)
    monkeypatch.setattr(budgets, "JOINT_POOL_FEATURES", 16)
    together = run(as_operator(X), [4, 4], constraint)
    assert_valid(X.T @ X, together, [4, 4], constraint)
    assert objective(X.T @ X, together.vectors, constraint) >= 0.99 * expected


# issue 17, item 6
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_groups_hold_in_every_mode(constraint):
    X = factor_data(n=12)
    groups = Groups(np.repeat(np.arange(6), 2), 1)
    together = run(as_operator(X), [3, 3], constraint, groups=groups)
    assert_valid(X.T @ X, together, [3, 3], constraint)
    assert all(groups.allow(vector.support) for vector in together.vectors)


# issue 17, item 2: the only supports that groups and disjointness allow
def test_disjoint_supports_are_found_where_groups_leave_little_room():
    X = factor_data(n=8)
    groups = Groups(np.array([0, 0, 0, 0, 1, 1, 2, 2]), 1)
    together = run(as_operator(X), [2, 2, 2, 2], "disjoint", groups=groups)
    assert_valid(X.T @ X, together, [2, 2, 2, 2], "disjoint")
    assert all(groups.allow(vector.support) for vector in together.vectors)


# issue 17, item 4
@pytest.mark.parametrize("constraint", ["orthogonal", "disjoint"])
def test_nonnegative_orthogonal_components_are_disjoint(constraint):
    X = factor_data(n=10)
    A = X.T @ X
    together = run(as_operator(X), [3, 3], constraint, nonnegative=True)
    V = dense(together.vectors, 10)
    assert (V >= 0.0).all()
    assert ((V != 0.0).sum(axis=1) <= 1).all()
    assert together.violation == 0.0
    free = objective(A, run(as_operator(X), [3, 3], constraint).vectors, constraint)
    assert objective(A, together.vectors, constraint) <= (1.0 + 1e-9) * free


# issue 17, item 4
def test_nonnegative_uncorrelated_components_have_no_negative_loading():
    X = factor_data(n=12, rank=4, noise=1.0, seed=3)
    together = run(as_operator(X), [4, 4], "uncorrelated", nonnegative=True)
    V = dense(together.vectors, 12)
    M = V.T @ (X.T @ X) @ V
    assert (V >= 0.0).all()
    assert abs(M[0, 1]) <= 1e-12 * np.sqrt(M[0, 0] * M[1, 1])


# issue 17, item 4: v'Aw > 0 for all v, w >= 0 if A > 0
def test_nonnegative_uncorrelated_components_of_positive_products_are_reported_infeasible():
    A = 0.5 + 0.5 * np.eye(6)
    with pytest.raises(ValueError, match=r"(?s)uncorrelated.*cosine of 0\.\d+.*Raise k"):
        run(GramOperator(A), [2, 2], "uncorrelated", nonnegative=True)


# issue 17, item 2: reported after the search
def test_uncorrelated_single_features_that_correlate_are_reported_with_how_close_they_came():
    A = 0.3 + 0.7 * np.eye(5)
    with pytest.raises(ValueError, match=r"uncorrelated.*could not be satisfied.*cosine of 0\.3"):
        run(GramOperator(A), [1, 1], "uncorrelated")


# issue 17, item 2: refused before any work
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("parallel", [2, 2], 9), "parallel.*choose one of orthogonal, uncorrelated, disjoint"),
        (("orthogonal", [1] * 5, 4), "5 components.*4 features.*at most 4 components"),
        (("uncorrelated", [2] * 5, 4), "5 components.*4 features"),
        (("uncorrelated", [2] * 4, 9, None, False, 3), "3 samples.*at most 3 components"),
        (("disjoint", [3, 3], 5), "needs 6 features.*there are 5.*Lower k"),
        (("orthogonal", [3, 3], 5, None, True), "no two components share a feature.*needs 6 features"),
        (("disjoint", [2, 2], 5, Groups(np.array([0, 0, 0, 0, 1]), 1)), "at most 1 feature.*Lower k"),
    ],
)
def test_what_is_provably_infeasible_is_refused(arguments, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        check_feasible(*arguments)


# issue 17, item 2: no more is refused than is infeasible
@pytest.mark.parametrize(
    "arguments",
    [
        ("orthogonal", [3, 3], 5),
        ("orthogonal", [1] * 4, 4),
        ("uncorrelated", [1, 1], 2),
        ("disjoint", [3, 2], 5),
        ("disjoint", [2, 2, 2], 6, Groups(np.array([0, 0, 0, 1, 1, 2]), 1)),
    ],
)
def test_what_may_be_feasible_is_not_refused(arguments):
    check_feasible(*arguments)
