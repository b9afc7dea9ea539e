"""certify from end to end: against every support, at any stopping time, on any data, and what it refuses."""

import json
import re
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commandline import TESTS
from support.enumeration import KINDS, NOTHING, case, centered, operator, optima, optimum, product
from support.published_optima import BEST_KNOWN, CERTIFIED, PITPROPS

import rspca
from benchmarks.data import benchmark_matrix
from rspca.certificates import budgets, in_memory
from rspca.certificates import certify as module
from rspca.operators.prepared import prepared

CASES = 600
"""Cases (matrix, k) that are compared with enumeration."""


def check(found, A, k, best=None):
    """Assert that a certificate is true of the matrix."""
    best = optimum(A, k) if best is None else best
    assert found.upper >= best * (1.0 - NOTHING)
    assert found.lower <= best * (1.0 + 1e-9)
    assert found.lower <= found.upper
    if found.status == "optimal":
        assert best <= (1.0 + found.tol) * found.lower * (1.0 + NOTHING)
    else:
        assert found.gap > found.tol
    assert 1 <= len(found.support) <= k
    assert np.linalg.norm(found.loadings) == pytest.approx(1.0)
    inside = A[np.ix_(found.support, found.support)]
    assert found.loadings @ inside @ found.loadings == pytest.approx(found.lower, rel=1e-9)


@pytest.mark.parametrize("part", range(4))
def test_no_bound_is_below_the_best_of_all_supports_and_no_optimum_is_wrong(part):
    checked, optimal, seed = 0, 0, part
    while checked < CASES // 4:
        one = case(seed, 9 + part if seed % 40 < 4 else None)  # n = 4 ... 8, and some of 9 ... 12
        for k, best in enumerate(optima(one.A), 1):
            found = rspca.certify(one.given, k, **one.options)
            check(found, one.A, k, best)
            checked += 1
            optimal += found.status == "optimal"
        seed += 4
    assert seed >= 4 * len(KINDS)
    assert optimal >= 0.99 * checked


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.data())
def test_any_matrix_any_k_any_loadings_to_begin_with(seed, draw):
    one = case(seed)
    k = draw.draw(st.integers(1, one.n))
    loadings = np.zeros(one.n)
    loadings[draw.draw(st.lists(st.integers(0, one.n - 1), min_size=1, max_size=k, unique=True))] = 1.0
    check(rspca.certify(one.given, k, loadings=loadings, **one.options), one.A, k)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.data())
def test_data_too_large_for_a_search_get_a_true_bound(seed, draw):
    # With so low a limit these small matrices take the way of large ones: feature by feature, then products.
    one = case(seed)
    k = draw.draw(st.integers(1, one.n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budgets, "GRAM_FEATURES", draw.draw(st.integers(1, 4)))
        patch.setattr(budgets, "STEP_BY_STEP_MAX_K", draw.draw(st.sampled_from([0, 20])))
        found = rspca.certify(one.given, k, seconds=0.3, **one.options)
    check(found, one.A, k)


@pytest.mark.parametrize("kind", ["plain", "far from zero", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_features_and_pairs_of_large_data_are_the_best_of_all(kind, dtype):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((40, 1600)) * np.exp(0.1 * rng.standard_normal(1600))
    X = {"plain": X, "far from zero": X + rng.uniform(-300, 300, 1600), "sparse": np.maximum(X - 1.0, 0.0)}[kind]
    X = X.astype(dtype)
    A = product(centered(X))
    d = np.diagonal(A)
    pairs = (d[:, None] + d) / 2 + np.sqrt(((d[:, None] - d) / 2) ** 2 + A**2)
    np.fill_diagonal(pairs, 0.0)
    for k, best in ((1, d.max()), (2, pairs.max())):
        found = rspca.certify(scipy.sparse.csr_array(X) if kind == "sparse" else X, k)
        assert found.status == "optimal"
        check(found, A, k, best)


def test_large_means_hide_nothing():
    # X X' about the mean is a difference of numbers 1e12 times as large: taken as such, it is off by one percent.
    X = np.random.default_rng(0).standard_normal((30, 1600)) + 1e6
    true = np.linalg.norm(X - X.mean(axis=0), 2) ** 2
    found = rspca.certify(X, 1599, seconds=20)
    largest = [bound.value for bound in found.bounds if bound.name == "largest eigenvalue"]
    assert largest[0] == pytest.approx(true, rel=1e-4)
    assert largest[0] >= true
    assert found.upper >= np.linalg.norm((X - X.mean(axis=0))[:, :1599], 2) ** 2


def test_single_precision_is_certified_to_the_same_gap():
    X = case(KINDS.index("float32 far from zero"), 8).given
    assert X.dtype == np.float32
    found, double = (rspca.certify(data, 3) for data in (X, X.astype(float)))
    assert found.status == double.status == "optimal"
    assert found.lower == pytest.approx(double.lower, rel=1e-10)


@pytest.mark.parametrize("calls", range(8))
def test_an_interrupt_at_any_step_returns_what_is_proven(calls):
    one, seen = case(KINDS.index("noise"), 10), []

    def on_step(step):
        seen.append(step)
        if len(seen) > calls:
            raise KeyboardInterrupt

    found = rspca.certify(one.given, 4, tol=1e-12, on_step=on_step, **one.options)
    check(found, one.A, 4)
    assert found.stopped_by == "interrupt"
    assert len(found.bounds) == calls + 1
    assert seen[-1].stage == f"certify: {found.bounds[-1].name}"


@pytest.mark.parametrize("where", ["rspca_component", "_prove"])
def test_an_interrupt_before_the_first_step_returns_the_trace(monkeypatch, where):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, where, interrupt)
    one = case(KINDS.index("zero columns"), 9)
    found = rspca.certify(one.given, 3, **one.options)
    check(found, one.A, 3)
    assert found.stopped_by == "interrupt"
    assert [bound.name for bound in found.bounds] == ["trace"]


def test_an_interrupt_inside_a_bound_keeps_the_earlier_ones(monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(in_memory, "search", interrupt)
    one = case(KINDS.index("noise"), 10)
    found = rspca.certify(one.given, 4, tol=1e-12, **one.options)
    check(found, one.A, 4)
    assert found.stopped_by == "interrupt"
    assert found.bounds[-1].name == "semidefinite dual"


@pytest.mark.parametrize("seconds", [1e-9, 1e-3, 0.01, 0.05])
@pytest.mark.parametrize("seed", range(0, 51, 3))
def test_however_little_time_there_is_the_bound_is_true(seed, seconds):
    one = case(seed, 9)
    found = rspca.certify(one.given, 4, seconds=seconds, **one.options)
    check(found, one.A, 4)
    assert found.status == "optimal" or found.stopped_by in ("time", "nothing left to try")


def test_time_is_kept():
    X = np.random.default_rng(0).standard_normal((300, 1200))  # hopeless: no structure
    began = time.perf_counter()
    found = rspca.certify(X, 40, seconds=2.0)
    assert found.status == "gap"
    assert found.stopped_by == "time"
    assert time.perf_counter() - began < 15.0


def test_k_of_one_and_of_all_features():
    for seed in range(2 * len(KINDS)):
        one = case(seed)
        assert rspca.certify(one.given, 1, **one.options).lower == pytest.approx(np.diag(one.A).max())
        every = rspca.certify(one.given, one.n, **one.options)
        assert every.lower == pytest.approx(np.linalg.eigvalsh(one.A)[-1])
        assert every.status == "optimal"


def test_loadings_that_were_given_are_improved_and_constant_features_among_them_are_left_out():
    X = np.random.default_rng(0).standard_normal((30, 6)) * [1, 1, 5, 5, 1, 0]
    poor = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    found = rspca.certify(X, 3, loadings=poor)
    assert {2, 3} <= set(found.support.tolist())
    check(found, operator(case(0)._replace(given=X, options={})).gram_block(np.arange(6)), 3)
    assert rspca.certify(X, 6, loadings=[0, 0, 0, 0, 0, 1.0]).k == 5


def test_the_order_of_the_features_and_the_unit_do_not_matter():
    one = case(KINDS.index("correlations"), 9)
    order = np.random.default_rng(1).permutation(9)
    plain, turned = rspca.certify(one.given, 4), rspca.certify(rspca.GramOperator(one.A[np.ix_(order, order)]), 4)
    assert plain.lower == pytest.approx(turned.lower)
    assert set(order[turned.support]) == set(plain.support.tolist())
    for unit in (1e-200, 1e-90, 1e90):
        scaled = rspca.certify(rspca.GramOperator(unit * one.A), 4)
        assert scaled.lower == pytest.approx(unit * plain.lower)
        assert scaled.status == "optimal"


@pytest.mark.parametrize("kind", ["tall", "duplicates", "small integers", "correlations", "noise"])
def test_the_same_call_twice_gives_the_same_certificate(kind):
    one = case(KINDS.index(kind), 10)
    first, second = (rspca.certify(one.given, 4, **one.options) for _ in range(2))
    assert (first.lower, first.upper, first.nodes) == (second.lower, second.upper, second.nodes)
    assert first.support.tolist() == second.support.tolist()


SCRIPT = """
import sys, json
if sys.argv[1] == "hidden":
    sys.modules["numba"] = None
sys.path.insert(0, sys.argv[2])
from support.enumeration import case
import rspca
from rspca.certificates import budgets
budgets.PLAIN_FEATURES = 0
rows = []
for seed in range(34):
    one = case(seed, 10)
    found = rspca.certify(one.given, 4, **one.options)
    rows.append([found.engine, found.lower, found.upper, found.status, found.nodes])
print(json.dumps(rows))
"""


def test_numba_and_numpy_give_the_same_result():
    pytest.importorskip("numba")
    with_numba, without = (
        json.loads(subprocess.run([sys.executable, "-c", SCRIPT, mode, TESTS], check=True, capture_output=True).stdout)
        for mode in ("shown", "hidden")
    )
    assert {row[0] for row in with_numba if row[4] > 1} == {"numba"}  # other proofs needed no search
    assert {row[0] for row in without} == {"numpy"}
    for one, other in zip(with_numba, without, strict=True):
        assert one[1:3] == pytest.approx(other[1:3], rel=1e-12)
        assert one[3:] == other[3:]


@pytest.fixture
def certified():
    X = np.random.default_rng(3).standard_normal((40, 9)) @ np.diag(np.arange(1.0, 10.0))
    return X, rspca.certify(X, 3)


def test_a_certificate_is_verified_on_its_data_and_on_no_others(certified):
    X, found = certified
    assert found.verify(X)
    assert found.verify(scipy.sparse.csr_array(X))
    assert not found.verify(X * 1.01)
    assert not found.verify(X[::2])
    changed = X.copy()
    changed[:, 0] += 100.0 * np.random.default_rng(0).standard_normal(40)  # a better feature than all that are in it
    assert not found.verify(changed)
    with pytest.raises(ValueError, match="X has 8 features; the certificate is of data with 9"):
        found.verify(X[:, :8])


@pytest.mark.parametrize(("name", "factor"), [("lower", 0.9), ("lower", 1.1), ("upper", 0.9)])
def test_a_certificate_that_claims_too_much_is_not_verified(certified, name, factor):
    from dataclasses import replace

    X, found = certified
    assert not replace(found, **{name: factor * getattr(found, name)}).verify(X)


def test_a_bound_that_is_not_tight_is_verified_too(certified):
    from dataclasses import replace

    X, found = certified
    assert replace(found, upper=1.2 * found.upper, status="gap").verify(X)


def test_saving_and_loading_changes_nothing(certified, tmp_path):
    X, found = certified
    found.save(tmp_path / "certificate.json")
    read = rspca.Certificate.load(tmp_path / "certificate.json")
    for name, value in vars(found).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(getattr(read, name), value)
            assert getattr(read, name).dtype == value.dtype
        else:
            assert getattr(read, name) == value, name
    assert str(read) == str(found)
    assert read.verify(X)
    assert [path.name for path in tmp_path.iterdir()] == ["certificate.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: "7",
        lambda text: text.replace("rspca certificate 1", "rspca certificate 9"),
        lambda text: text.replace('"lower"', '"lowest"'),
        lambda text: json.dumps(json.loads(text) | {"loadings": [1.0]}),
        lambda text: json.dumps(json.loads(text) | {"upper": 0.5 * json.loads(text)["lower"]}),
        lambda text: json.dumps(json.loads(text) | {"upper": float("nan")}),
        lambda text: json.dumps(json.loads(text) | {"bounds": []}),
        lambda text: json.dumps(json.loads(text) | {"bounds": [["trace"]]}),
        lambda text: json.dumps(json.loads(text) | {"support": "none"}),
        lambda text: "\udc80",
    ],
)
def test_a_damaged_file_is_refused(certified, tmp_path, damage):
    path = tmp_path / "certificate.json"
    certified[1].save(path)
    path.write_bytes(damage(path.read_text()).encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match="is not a certificate that rspca wrote"):
        rspca.Certificate.load(path)


def test_what_it_says_can_be_read(certified):
    said = str(certified[1])
    assert said.startswith("3 features, variance ")
    assert "proven optimal (gap " in said
    X = np.random.default_rng(0).standard_normal((60, 200))
    hard = rspca.certify(X, 20, seconds=0.3)  # issue 18, item 7
    ratio = float(re.search(r": no 20 features have more than ([\d.]+) times this variance \(bound by ", str(hard))[1])
    assert hard.upper <= ratio * hard.lower <= hard.upper + 0.01 * hard.lower
    assert str(hard).rpartition(",")[0].endswith(("; the time was up)", "; nothing left to try)"))


X5 = np.random.default_rng(0).standard_normal((10, 5))
BAD = {
    "k of zero": (lambda: rspca.certify(X5, 0), ValueError, "k=0 must be between 1 and 5"),
    "k too large": (lambda: rspca.certify(X5, 6), ValueError, "k=6 must be between 1 and 5"),
    "k not whole": (lambda: rspca.certify(X5, 2.0), TypeError, "k=2.0 must be an integer"),
    "no time": (lambda: rspca.certify(X5, 2, seconds=0), ValueError, "seconds=0 must be finite and above 0"),
    "negative time": (lambda: rspca.certify(X5, 2, seconds=-1.0), ValueError, "seconds=-1.0 must be finite"),
    "endless time": (lambda: rspca.certify(X5, 2, seconds=np.inf), ValueError, "seconds=inf must be finite"),
    "tol of zero": (lambda: rspca.certify(X5, 2, tol=0.0), ValueError, "tol=0.0 must be finite and above 0"),
    "NaN": (lambda: rspca.certify(np.where(X5 > 1, np.nan, X5), 2), ValueError, "X contains NaN or infinite values"),
    "infinite": (lambda: rspca.certify(np.where(X5 > 1, np.inf, X5), 2), ValueError, "X contains NaN or infinite"),
    "NaN in a covariance": (lambda: rspca.GramOperator([[1.0, np.nan], [np.nan, 1.0]]), ValueError, "A contains NaN"),
    "not semidefinite": (lambda: rspca.GramOperator([[1.0, 2.0], [2.0, 1.0]]), ValueError, "not positive semidefinite"),
    "no variance": (lambda: rspca.certify(np.ones((5, 3)), 1), ValueError, "X has no variance"),
    "loadings too short": (lambda: rspca.certify(X5, 2, loadings=[1.0]), ValueError, "loadings"),
    "loadings with too many": (lambda: rspca.certify(X5, 2, loadings=np.ones(5)), ValueError, "has 5 non-zeros"),
    "loadings of zeros": (lambda: rspca.certify(X5, 2, loadings=np.zeros(5)), ValueError, "loadings is zero"),
    "loadings with NaN": (lambda: rspca.certify(X5, 2, loadings=[np.nan, 1, 0, 0, 0]), ValueError, "loadings"),
    "a list of k": (lambda: rspca.certify(X5, [2, 3]), ValueError, "k has 2 entries"),
    "one dimension": (lambda: rspca.certify(np.ones(4), 1), ValueError, "X has 1 dimension"),
    "unknown scale": (lambda: rspca.certify(X5, 2, scale="much"), ValueError, "scale='much' is not known"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_clear_error(name):
    call, kind, message = BAD[name]
    with pytest.raises(kind, match=message.replace("(", r"\(")):
        call()


def test_hotelling_deflation_is_refused():
    from rspca.certificates.certify import certify_prepared

    data = prepared(rspca.GramOperator(np.eye(4), offset=0.5), center=True, scale=False)
    with pytest.raises(ValueError, match="Hotelling deflation leaves a matrix that is not semidefinite"):
        certify_prepared(data, 2, None, deadline=np.inf, tol=1e-6, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("k", "value"), list(enumerate(PITPROPS, 1)))
def test_pitprops_is_solved_for_every_k(k, value):
    found = rspca.certify(rspca.GramOperator(rspca.datasets.load_pitprops()), k)
    assert found.status == "optimal"
    assert found.lower == pytest.approx(value, abs=5.1e-7)


PUBLISHED = {name: values for name, values in CERTIFIED.items() if name != "normArrhythmia"} | {
    "communities": BEST_KNOWN["communities"],
    "miniBooNE": {5: BEST_KNOWN["miniBooNE"][5]},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_optima_are_proven(name):
    op = rspca.GramOperator(benchmark_matrix(name))
    for k, value in PUBLISHED[name].items():
        found = rspca.certify(op, k, seconds=60)
        assert found.status == "optimal", str(found)
        assert found.lower == pytest.approx(value, rel=2e-6 if value > 1 else 5e-6)


def test_what_rounding_leaves_of_features_used_up_is_in_no_support():
    # After deflation features 1, 7 and 8 are used up. Stage 1 had 1e-48 of them, rounding chose one for want of others,
    # and the proof looked for it among the features that vary.
    X = np.zeros((6, 9))
    X[[0, 0, 0, 1, 1, 1, 2, 3, 4], [0, 4, 6, 1, 7, 8, 5, 2, 3]] = 1, 1, 2, 2, 2, 2, 1, 1, 2
    for deflation in ("schur", "projection", "orthogonal"):
        found = rspca.decompose(X, 2, k=7, center=False, deflation=deflation, certify=True, random_state=0)
        assert found.components[1].support.tolist() == [0, 4, 6]
        assert found.components[1].certificate.status == "optimal"
        assert not found.components[1].inclusion_probability[[1, 7, 8]].any()


def test_the_variance_of_single_precision_data_far_from_zero_is_about_the_exact_mean():
    # The mean was summed in single precision; about another point the variance is larger, here than its own bound.
    for seed in range(5):
        X = (np.random.default_rng(seed).standard_normal((14, 3)) + 2e4).astype(np.float32)
        found = rspca.decompose(X, 1, k=2, random_state=0).components[0]
        assert found.variance <= rspca.certify(X, 2).upper * (1.0 + 1e-12)


# --- components before it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deflation", ["schur", "projection", "orthogonal"])
@pytest.mark.parametrize("again", [[1.0], [2.0], [-1.0, 1.0]])
def test_vectors_that_say_the_same_twice_change_nothing(deflation, again):
    X = np.random.default_rng(1).standard_normal((9, 5)) + 50.0
    v = np.array([1.0, 2.0, 0.0, 0.0, 0.0])
    once = rspca.certify(X, 2, after=v, deflation=deflation)
    twice = rspca.certify(X, 2, after=[v, *(factor * v for factor in again)], deflation=deflation)
    assert (twice.lower, twice.upper) == (pytest.approx(once.lower, rel=1e-9), pytest.approx(once.upper, rel=1e-9))


@pytest.mark.parametrize("unit", [2.0**-400, 2.0**400])
def test_components_in_extreme_units_are_proven_as_in_usual_ones(unit):
    X = np.random.default_rng(0).standard_normal((12, 7))
    usual, other = (rspca.decompose(scale * X, 2, k=3, certify=True, random_state=0) for scale in (1.0, unit))
    for one, same in zip(usual.components, other.components, strict=True):
        assert same.support.tolist() == one.support.tolist()
        assert (same.certificate.status, one.certificate.status) == ("optimal", "optimal")
        assert same.certificate.gap == pytest.approx(one.certificate.gap, abs=1e-9)


@pytest.mark.parametrize("length", [1e-200, 1e200])
def test_the_length_of_a_vector_before_it_does_not_matter(length):
    X = np.random.default_rng(0).standard_normal((30, 8))
    v = np.eye(8)[0] + np.eye(8)[3]
    assert rspca.certify(X, 2, after=length * v).lower == pytest.approx(rspca.certify(X, 2, after=v).lower, rel=1e-12)


def test_no_vector_before_it_is_none():
    X = np.random.default_rng(0).standard_normal((30, 8))
    assert rspca.certify(X, 2, after=[]).assumptions == rspca.certify(X, 2).assumptions


@pytest.mark.parametrize("deflation", ["schur", "projection"])
def test_certificates_of_later_components_are_verified_given_the_earlier_ones(deflation):
    X = np.random.default_rng(0).standard_normal((30, 8)) * np.arange(1, 9)
    model = rspca.SparsePCA(3, k=3, certify=True, deflation=deflation, random_state=0).fit(X)
    for number, one in enumerate(model.certificates_):
        assert one.verify(X, after=model.components_[:number], deflation=deflation)
    with pytest.raises(ValueError, match="after holds 0 component"):
        model.certificates_[1].verify(X)
    with pytest.raises(ValueError, match="after holds 1 component"):
        model.certificates_[0].verify(X, after=model.components_[:1])


# --- columns that strain the precision --------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "offset"), [(100, 0.0), (2000, 1000.0), (5000, 1e5)])
@pytest.mark.parametrize("k", [1, 4])
def test_no_bound_of_scaled_single_precision_data_is_below_the_optimum(m, offset, k):
    X = (np.random.default_rng(m).standard_normal((m, 4)) + offset).astype(np.float32)
    Y = X.astype(float) - X.astype(float).mean(axis=0)
    Y /= Y.std(axis=0)
    best = m if k == 1 else float(np.linalg.eigvalsh(Y.T @ Y)[-1])
    assert rspca.certify(X, k, scale=True).upper >= best * (1.0 - 1e-12)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("constant", [1.7123456789e12, 1.7123456789123e18, 1e100])
def test_a_constant_column_changes_nothing_however_large(scale, constant):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((37, 6)) + rng.standard_normal((37, 1))
    Y = np.column_stack([X, np.full(37, constant)])
    one, two = rspca.certify(X, 3, scale=scale), rspca.certify(Y, 3, scale=scale)
    assert (two.status, two.lower) == ("optimal", pytest.approx(one.lower, rel=1e-9))
    for method in rspca.METHODS:
        a, b = (rspca.decompose(M, 1, k=3, method=method, scale=scale, random_state=0).components[0] for M in (X, Y))
        assert b.variance == pytest.approx(a.variance, rel=1e-7), method
        assert method == "pca" or b.support.tolist() == a.support.tolist(), method
    relaxed = [rspca.decompose(M, 1, k=3, scale=scale, random_state=0).components[0].relaxed_variance for M in (X, Y)]
    assert relaxed[1] == pytest.approx(relaxed[0], rel=1e-6)
    assert rspca.path(Y, [3], scale=scale)[0].share == pytest.approx(rspca.path(X, [3], scale=scale)[0].share, rel=1e-7)
    scores = [rspca.SparsePCA(1, k=3, scale=scale, random_state=0).fit(M).score(M) for M in (X, Y)]
    assert scores[1] == pytest.approx(scores[0], rel=1e-7)


@pytest.mark.parametrize(
    ("dtype", "short", "enough"), [(float, (-155, -160, -165), -140), (np.float32, (-37, -40), -30)]
)
def test_columns_too_short_to_be_scaled_are_refused(dtype, short, enough):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5)) + 2.0 * rng.standard_normal((30, 1))
    expected = rspca.certify(X, 5, scale=True).lower
    Y = X.copy()
    Y[:, 0] *= 10.0**enough
    assert rspca.certify(Y.astype(dtype), 5, scale=True).lower == pytest.approx(expected, rel=1e-5)
    for exponent in short:
        Y = X.copy()
        Y[:, 0] *= 10.0**exponent
        with pytest.raises(ValueError, match="Column 0 of X has a spread below"):
            rspca.certify(Y.astype(dtype), 5, scale=True)
