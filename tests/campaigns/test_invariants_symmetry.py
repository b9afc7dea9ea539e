"""What must not matter does not: order, sign, unit, rotation, repetition, constant columns, precision, threads.

The promise, for data whose leading direction is not tied: the variance to nine digits, and the same features unless
others have the same variance. Where the leading eigenvalues agree to 1e-6 or closer no direction leads, the ascent may
start in another one, and end in another local optimum; what is promised then is what every component is promised.
"""

import numpy as np
import pytest
import scipy.stats
import threadpoolctl
from hypothesis import strategies as st
from support.adversarial import SPECTRA, TIED, WARNINGS, invariant, problems

import rspca
import rspca.algorithm.component

pytestmark = WARNINGS

LEADING = sorted(set(SPECTRA) - {"flat", "tiny gaps", "clustered"})
"""Spectra of which one direction leads."""
SCHEMES = ["schur", "projection", "orthogonal"]
SAME = 1e-9
"""Relative difference of variances that counts as none."""


def run(X, problem, k, **options):
    return rspca.decompose(X, 1, **({"k": k, "center": problem.center, "random_state": 0} | options)).components[0]


def assert_same(found, expected, problem, k, *, factor=1.0, order=None, rel=SAME):
    """The same variance; the same features and sizes of loadings too, unless others are as good."""
    assert found.variance / factor / factor == pytest.approx(expected.variance, rel=rel)
    n = expected.n_features
    order = np.arange(n) if order is None else order
    back = np.zeros(n)
    used = found.support < n
    assert used.all()
    back[order[found.support]] = found.loadings
    if problem.kind not in TIED and set(np.flatnonzero(back)) != set(expected.support):
        # another support, so it must be as good in the data themselves, by its own refit
        A = problem.Z.T @ problem.Z
        S = np.flatnonzero(back)
        reached = np.linalg.eigvalsh(A[np.ix_(S, S)])[-1]
        assert reached == pytest.approx(expected.variance, rel=10 * rel)


cases = {"problem": problems(kinds=LEADING), "seed": st.integers(0, 10**6), "data": st.data()}


def drawn_k(problem, data):
    return data.draw(st.integers(1, problem.X.shape[1]), "k")


@invariant(50, **cases)
def test_the_order_of_the_features_does_not_matter(problem, seed, data):
    k = drawn_k(problem, data)
    order = np.random.default_rng(seed).permutation(problem.X.shape[1])
    found = run(problem.X[:, order], problem, k)
    assert_same(found, run(problem.X, problem, k), problem, k, order=order)


@invariant(50, **cases)
def test_the_signs_of_the_features_and_of_the_data_do_not_matter(problem, seed, data):
    k = drawn_k(problem, data)
    expected = run(problem.X, problem, k)
    flips = np.random.default_rng(seed).choice([-1.0, 1.0], problem.X.shape[1])
    assert_same(run(problem.X * flips, problem, k), expected, problem, k)
    opposite = run(-problem.X, problem, k)
    assert opposite.variance == pytest.approx(expected.variance, rel=SAME)
    if problem.kind not in TIED:
        np.testing.assert_allclose(opposite.dense(), expected.dense(), atol=1e-9)


@invariant(50, exponent=st.floats(-150.0, 150.0), **cases)
def test_the_unit_changes_nothing_but_the_variance(problem, seed, data, exponent):
    k = drawn_k(problem, data)
    largest = np.linalg.norm(problem.X, axis=0).max()
    factor = 10.0 ** min(exponent, 149.0) / largest
    expected = run(problem.X, problem, k)
    assert_same(run(problem.X * factor, problem, k), expected, problem, k, factor=factor, rel=1e-8)


@invariant(30, **cases)
def test_the_order_of_the_samples_and_a_rotation_of_them_do_not_matter(problem, seed, data):
    k = drawn_k(problem, data)
    rng = np.random.default_rng(seed)
    m = len(problem.X)
    expected = run(problem.X, problem, k)
    assert_same(run(problem.X[rng.permutation(m)], problem, k), expected, problem, k)
    if not problem.center:
        rotation = scipy.stats.ortho_group.rvs(m, random_state=seed) if m > 1 else -np.eye(1)
        assert_same(run(rotation @ problem.X, problem, k), expected, problem, k, rel=1e-8)


@invariant(30, **cases)
def test_repeated_samples_constant_and_zero_columns_do_not_matter(problem, seed, data):
    k = drawn_k(problem, data)
    expected = run(problem.X, problem, k)
    assert_same(run(np.vstack([problem.X] * 2), problem, k), expected, problem, k, factor=np.sqrt(2.0))
    m = len(problem.X)
    largest = np.abs(problem.X).max()
    for constant in (0.0, largest / 3.0) if problem.center else (0.0,):
        wide = np.hstack([problem.X, np.full((m, 3), constant)])
        assert_same(run(wide, problem, k), expected, problem, k)


@invariant(50, problem=problems(kinds=sorted(LEADING)), data=st.data())
def test_single_precision_is_double_precision_to_its_own_rounding(problem, data):
    """The variance to 1e-4, and of data rounded to float32 beforehand to 1e-5, of the total variance."""
    k = drawn_k(problem, data)
    X32 = problem.X.astype(np.float32)
    found, expected = run(X32, problem, k), run(problem.X, problem, k)
    rounded = run(X32.astype(float), problem, k)
    total = np.sum(problem.Z**2)
    if problem.kind != "far from zero":  # rounding such data to float32 changes them by more
        assert found.variance == pytest.approx(expected.variance, abs=1e-4 * total)
    assert found.variance == pytest.approx(rounded.variance, abs=1e-5 * total)


@invariant(
    30,
    problem=problems(),
    method=st.sampled_from(sorted(rspca.METHODS)),
    scheme=st.sampled_from(SCHEMES),
    rounding=st.sampled_from(["exact", "bernoulli"]),
    seed=st.integers(0, 10**6),
)
def test_the_same_seed_gives_the_same_bits(problem, method, scheme, rounding, seed):
    m, n = problem.X.shape
    own = {"rounding": rounding, "polish": rounding == "exact"} if method == "rspca" else {}
    one, two = (
        rspca.decompose(
            problem.X, min(2, m, n), k=max(1, n // 2), method=method, deflation=scheme, center=problem.center,
            random_state=seed, **own,
        )
        for _ in range(2)
    )  # fmt: skip
    assert one.loadings.tobytes() == two.loadings.tobytes()
    assert one.explained_variance.tobytes() == two.explained_variance.tobytes()
    assert [c.variance for c in one.components] == [c.variance for c in two.components]


# --- the same where data are large enough for a sketch ---------------------------------------------------------------


def planted(seed=0, m=90, n=700):
    """Return data of three groups of features of different strength; a sketch of them begins with 512 features."""
    rng = np.random.default_rng(seed)
    X = 0.5 * rng.standard_normal((m, n))
    for strength, group in zip((3.0, 2.0, 1.4), rng.permutation(n)[:90].reshape(3, 30), strict=True):
        X[:, group] += strength * rng.standard_normal((m, 1)) * (0.5 + rng.random(30))
    return X


@pytest.fixture
def sketched(monkeypatch):
    """Every matrix is large."""
    monkeypatch.setattr(rspca.algorithm.budgets, "SKETCH_MIN_ENTRIES", 0)


@pytest.mark.parametrize("k", [1, 7, 40, 300])
@pytest.mark.parametrize("seed", range(3))
def test_on_a_sketch_order_sign_unit_and_repetition_do_not_matter_either(sketched, seed, k):
    X = planted(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(X.shape[1])
    options = {"k": k, "random_state": 0}
    expected = rspca.decompose(X, 1, **options).components[0]
    changed = {
        "order": (X[:, order], 1.0),
        "signs": (X * rng.choice([-1.0, 1.0], X.shape[1]), 1.0),
        "small": (X * 1e-140, 1e-140),
        "large": (X * 1e140, 1e140),
        "samples": (X[rng.permutation(len(X))], 1.0),
        "twice": (np.vstack([X, X]), np.sqrt(2.0)),
        "zeros": (np.hstack([X, np.zeros((len(X), 50))]), 1.0),
    }
    for name, (Y, factor) in changed.items():
        found = rspca.decompose(Y, 1, **options).components[0]
        assert found.variance / factor / factor == pytest.approx(expected.variance, rel=1e-6), name
        places = order[found.support] if name == "order" else found.support
        assert len(np.intersect1d(places, expected.support)) >= len(expected.support) - 1 - k // 50, name


def test_on_a_sketch_of_noise_the_order_of_the_features_does_not_matter(sketched):
    # Many supports are about as good: the numbers with which a sketch begins decided by the place of a feature.
    X = np.random.default_rng(0).standard_normal((60, 600))
    order = np.random.default_rng(1).permutation(600)
    found, expected = (rspca.decompose(Y, 1, k=30, random_state=0).components[0] for Y in (X[:, order], X))
    assert sorted(order[found.support]) == expected.support.tolist()
    assert found.variance == pytest.approx(expected.variance, rel=1e-9)


@pytest.mark.parametrize("shape", [(300, 200), (90, 3000)])
def test_the_number_of_threads_changes_no_digit_of_ten(shape):
    X = planted(3, *shape)
    found = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            found.append(rspca.decompose(X, 2, k=20, random_state=0))
    one, two = found
    assert [c.support.tolist() for c in one.components] == [c.support.tolist() for c in two.components]
    np.testing.assert_allclose(one.loadings, two.loadings, atol=1e-10)
