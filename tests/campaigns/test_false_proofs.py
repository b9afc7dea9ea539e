"""Proofs that were false, each with its family of hard data; tools/false_proofs.py runs the families at length."""

import json

import numpy as np
import pytest
from support.enumeration import optimum, product
from support.exact_cases import DATA, check_case, check_fit, exact_case, exact_gram, rounded

import rspca
from rspca.certificates.certificate import Certificate

SEEDS = 96
"""Cases of hard families; tools/false_proofs.py tries thousands."""


@pytest.mark.parametrize("part", range(6))
def test_hard_families_have_no_false_proof(part):  # issue 14, item 6
    optimal = total = 0
    for seed in range(part, SEEDS, 6):
        for result in check_case(seed):
            assert not result.wrong, f"seed {seed}, {exact_case(seed).family}: {result.wrong}"
            optimal, total = optimal + result.optimal, total + 1
    assert optimal >= 0.85 * total  # a bound that is always loose would be true too


@pytest.mark.parametrize("part", range(6))
def test_tall_data_have_no_false_proof(part):  # issue 16, item 3
    optimal = total = 0
    for seed in range(part, 30, 6):
        for result in check_case(seed, tall=True) + check_fit(seed):
            assert not result.wrong, f"seed {seed}, {exact_case(seed, tall=True).family}: {result.wrong}"
            optimal, total = optimal + result.optimal, total + 1
    assert optimal >= 0.85 * total


def test_the_families_are_all_there():
    families = {exact_case(seed).family.split(",")[0] for seed in range(SEEDS)}
    assert families == {*DATA, "clipped Gram matrix"}


@pytest.mark.parametrize(("dtype", "mean"), [(np.float32, 1e6), (np.float32, 1.6e7), (np.float64, 1e15)])
@pytest.mark.parametrize("m", [5, 300])
def test_columns_whose_mean_is_far_beyond_their_spread_stay_in_the_bound(dtype, mean, m):  # issue 14, item 1
    rng = np.random.default_rng(0)
    near = np.column_stack([2.0 * (np.arange(m) % 2), np.round(rng.uniform(0, 0.2, m), 1)])
    Y = (near + np.array([mean, 0.0])).astype(dtype)
    A = rounded(exact_gram(Y, True))
    for k in (1, 2):
        found = rspca.certify(Y, k)
        assert found.status == "optimal"
        assert optimum(A, k) * (1.0 - 1e-12) <= found.upper <= optimum(A, k) * (1.0 + 1e-6)
        assert found.verify(Y)
        assert rspca.path(Y, [k], certify=True)[0].upper == pytest.approx(found.upper, rel=1e-9)
    model = rspca.SparsePCA(1, k=1).fit(Y)
    assert model.supports_[0].tolist() == [0]
    assert model.explained_variance_[0] == pytest.approx(A[0, 0] / (m - 1), rel=1e-6)
    np.testing.assert_allclose(
        model.transform(Y)[:, 0], near[:, 0] - near[:, 0].mean(), atol=max(1e-6, np.spacing(mean))
    )
    assert model.score(Y) == pytest.approx(A[0, 0] / np.trace(A), rel=max(1e-6, np.spacing(mean) ** 2))


@pytest.mark.parametrize("seed", [36, *range(12)])
def test_a_vector_given_twice_removes_nothing_more(seed):  # issue 14, item 2
    X = np.random.default_rng(seed).standard_normal((8, 3)) * [1, 1, 1e-5]
    once = rspca.certify(X, 1, after=[[1, 0, 0], [0, 1, 0]])
    twice = rspca.certify(X, 1, after=[[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    Z = X - X.mean(axis=0)
    left = Z - Z[:, :2] @ np.linalg.lstsq(Z[:, :2], Z, rcond=None)[0]
    assert once.upper == pytest.approx(float(left[:, 2] @ left[:, 2]), rel=1e-6)
    assert twice.upper == pytest.approx(once.upper, rel=1e-6)


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9, 1e-11])
def test_what_a_nearly_dependent_vector_adds_is_found_to_working_precision(apart):  # issue 14, item 2
    X = np.random.default_rng(0).standard_normal((9, 4)) * [1, 1, 1e-3, 1e-4]
    found = rspca.certify(X, 1, after=[[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, apart, 0]])
    Z = X - X.mean(axis=0)
    left = Z - Z[:, :3] @ np.linalg.lstsq(Z[:, :3], Z, rcond=None)[0]
    assert found.upper == pytest.approx(float(left[:, 3] @ left[:, 3]), rel=1e-6)


def pitprops_certificate():
    return rspca.certify(rspca.GramOperator(rspca.datasets.load_pitprops()), 5)


EDITS = {
    "status optimal with a gap": {"upper": 4.4, "bounds": [["trace", 4.4, 0.1]]},
    "upper below every bound": {"upper": 3.5, "status": "gap", "stopped_by": "time", "bounds": [["trace", 4.0, 0.1]]},
    "not a number": {"lower": float("nan")},
    "negative margin": {"margin": -1.0},
    "negative seconds": {"seconds": -1.0},
    "tolerance of zero": {"tol": 0.0},
    "more survivors than features": {"survivors": 99},
    "stopped by nothing known": {"stopped_by": "miracle"},
    "stopped by time though optimal": {"stopped_by": "time"},
    "unknown engine": {"engine": "abacus"},
    "escape sequence in a name": {"bounds": [["\x1b[31mtrace", 4.0, 0.1]]},
    "a name without end": {"bounds": [["x" * 10_000, 4.0, 0.1]]},
    "bounds without end": {"bounds": [["trace", 4.0, 0.1]] * 20_000},
    "negative bound": {"bounds": [["trace", -4.0, 0.1]]},
}


@pytest.mark.parametrize("name", EDITS)
def test_a_certificate_whose_fields_contradict_each_other_is_refused(name, tmp_path):  # issue 14, item 3
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(pitprops_certificate().as_json() | EDITS[name]))
    with pytest.raises(ValueError, match="is not a certificate that rspca wrote, or damaged"):
        Certificate.load(path)


def test_a_gap_that_is_called_optimal_by_a_large_tolerance_does_not_verify(tmp_path):  # issue 14, item 3
    pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    edited = pitprops_certificate().as_json() | {"upper": 4.4, "bounds": [["trace", 4.4, 0.1]], "tol": 1.0}
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(edited))
    read = Certificate.load(path)
    assert read.status == "optimal"
    assert read.gap > 0.29
    assert not read.verify(pitprops)
    assert read.verify(pitprops, tol=0.5)  # what the caller calls optimal


@pytest.mark.parametrize("factor", [1.0 + 1e-6, 1.3])
def test_a_variance_that_the_loadings_do_not_have_does_not_verify(factor):  # issue 14, item 3
    import dataclasses

    found = pitprops_certificate()
    claimed = dataclasses.replace(found, lower=factor * found.lower, upper=factor * found.upper)
    assert not claimed.verify(rspca.GramOperator(rspca.datasets.load_pitprops()))


@pytest.mark.parametrize("scale", [True, "patterson"])
@pytest.mark.parametrize("m", [20, 20_000])
def test_the_rounding_of_scales_is_in_the_margin(scale, m):  # issue 14, item 4
    rng = np.random.default_rng(0)
    X = rng.binomial(2, [0.5, 0.3, 0.999], (m, 3)).astype(float)
    X[0], X[1] = 0.0, 2.0
    op = rspca.operators.convert.prepare(X, scale=scale)
    spread = np.sqrt(X.mean(axis=0) * (1 - X.mean(axis=0) / 2)) if scale == "patterson" else X.std(axis=0)
    errors = op.rounding() - op.weights * op.inner.rounding()
    assert (errors >= np.finfo(float).eps * np.sqrt(op.sq_norms)).all()
    assert (np.abs(op.weights * spread - 1.0) * np.sqrt(op.sq_norms) <= errors).all()


def test_lower_is_what_the_vector_has_in_a_matrix_that_was_clipped():  # issue 14, item 4
    for seed in range(40):
        A = np.round(np.corrcoef(np.random.default_rng(seed).standard_normal((3, 6)), rowvar=False), 9)
        if np.linalg.eigvalsh(A)[0] < -5e-8:
            continue
        found = rspca.certify(rspca.GramOperator(A), 3)
        reached = found.loadings @ A[np.ix_(found.support, found.support)] @ found.loadings
        assert found.lower <= reached * (1.0 + 1e-14)
        assert found.lower == pytest.approx(reached, rel=1e-13)


def test_a_certificate_with_groups_describes_the_component_that_is_returned():  # issue 14, item 5
    from sklearn.datasets import load_breast_cancer

    X = load_breast_cancer().data / load_breast_cancer().data.std(axis=0)
    labels = np.arange(30) // 3
    found = rspca.decompose(X, 2, k=5, groups=labels, max_per_group=1, certify=True, certify_seconds=4, random_state=0)
    for component in found.components:
        proof = component.certificate
        np.testing.assert_array_equal(proof.support, component.support)
        np.testing.assert_allclose(proof.loadings, component.loadings)
        assert proof.lower == pytest.approx(component.variance, rel=1e-9)
        assert len(set(labels[component.support])) == 5
        assert (proof.status == "optimal") == (proof.gap <= proof.tol)
    Z = X - X.mean(axis=0)
    assert found.components[0].certificate.upper >= optimum(product(Z), 2)


@pytest.mark.parametrize("options", [{"normalization": "naive"}, {"method": "maxcomp"}, {"rounding": "bernoulli"}])
def test_a_certificate_describes_the_component_whatever_found_it(options):  # issue 14, item 5
    X = np.random.default_rng(0).standard_normal((30, 12)) @ np.random.default_rng(1).standard_normal((12, 12))
    found = rspca.decompose(X, 2, k=4, certify=True, certify_seconds=2, random_state=0, **options)
    for component in found.components:
        np.testing.assert_array_equal(component.certificate.support, component.support)
        assert component.certificate.lower == pytest.approx(component.variance, rel=1e-9)


def test_what_a_proof_finds_has_rounding_probabilities_of_its_own():  # issue 14, items 5 and 10
    X = np.random.default_rng(7).standard_normal((15, 20))
    options = {"k": 4, "polish": False, "n_draws": 1, "rounding": "exact", "random_state": 0}
    drawn = rspca.decompose(X, 1, **options).components[0]
    found = rspca.decompose(X, 1, certify=True, certify_seconds=2, **options).components[0]
    assert found.variance > drawn.variance
    assert (found.inclusion_probability[found.support] > 0.0).all()
