"""Going on after components that were found before gives what one run gives, to the last bit."""

import numpy as np
import pytest
import scipy.sparse

import rspca

JOINT = sorted(name for name, method in rspca.METHODS.items() if method.joint)
ONE_BY_ONE = sorted(set(rspca.METHODS) - set(JOINT))


class Stopped(Exception):
    pass


def data(m=40, n=25, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)) * rng.uniform(0.5, 2.0, n)


def kept_until(count, X, *arguments, **options):
    """Return the components that were told before the work was stopped."""
    kept = []

    def keep(component):
        kept.append(component)
        if len(kept) == count:
            raise Stopped

    with pytest.raises(Stopped):
        rspca.decompose(X, *arguments, on_component=keep, **options)
    return kept


def check_same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found.components, wanted.components, strict=True):
        np.testing.assert_array_equal(one.support, other.support)
        np.testing.assert_array_equal(one.loadings, other.loadings)
        assert (one.variance, one.n_iter, one.converged) == (other.variance, other.n_iter, other.converged)
        np.testing.assert_array_equal(one.inclusion_probability, other.inclusion_probability)
    np.testing.assert_array_equal(found.explained_variance, wanted.explained_variance)


@pytest.mark.parametrize("deflation", ["schur", "projection", "orthogonal"])
@pytest.mark.parametrize("stop", [1, 3, 4])
def test_a_continued_decomposition_is_the_uninterrupted_one(deflation, stop):
    options = {"k": [5, 4, 3, 2], "deflation": deflation, "random_state": 3, "scale": True, "n_draws": 4}
    earlier = kept_until(stop, data(), 4, **options)
    check_same(rspca.decompose(data(), 4, earlier=earlier, **options), rspca.decompose(data(), 4, **options))


@pytest.mark.parametrize("method", ONE_BY_ONE)
def test_every_method_that_finds_one_after_another_can_go_on(method):
    options = {"k": 4, "method": method, "random_state": 0}
    earlier = kept_until(1, data(), 3, **options)
    check_same(rspca.decompose(data(), 3, earlier=earlier, **options), rspca.decompose(data(), 3, **options))


def test_data_on_a_sketch_and_in_single_precision_go_on_too():
    X = scipy.sparse.random(600, 2000, density=0.02, random_state=0, dtype=np.float32, format="csr")
    earlier = kept_until(2, X, 3, k=20, random_state=1)
    check_same(
        rspca.decompose(X, 3, k=20, random_state=1, earlier=earlier), rspca.decompose(X, 3, k=20, random_state=1)
    )


def test_the_roundings_are_those_of_one_run_where_they_decide():
    """Without polishing the draws show in the result: a stream that began anew would give another one."""
    options = {"k": 6, "rounding": "bernoulli", "polish": False, "n_draws": 1, "random_state": 5}
    whole = rspca.decompose(data(), 3, **options)
    check_same(rspca.decompose(data(), 3, earlier=kept_until(2, data(), 3, **options), **options), whole)
    other = rspca.decompose(data(), 3, **options | {"random_state": 6})
    assert any(
        not np.array_equal(a.support, b.support) for a, b in zip(whole.components, other.components, strict=True)
    )


def test_the_first_components_do_not_depend_on_how_many_are_asked_for():
    options = {"k": 6, "rounding": "bernoulli", "polish": False, "n_draws": 1, "random_state": 5}
    few, many = rspca.decompose(data(), 2, **options), rspca.decompose(data(), 4, **options)
    for one, other in zip(few.components, many.components[:2], strict=True):
        np.testing.assert_array_equal(one.loadings, other.loadings)


def test_certified_components_go_on_with_the_right_assumption():
    options = {"k": 3, "certify": True, "random_state": 0}
    earlier = kept_until(1, data(), 2, **options)
    assert earlier[0].certificate.status == "optimal"
    found, whole = rspca.decompose(data(), 2, earlier=earlier, **options), rspca.decompose(data(), 2, **options)
    check_same(found, whole)
    assert found.components[1].certificate.assumptions == whole.components[1].certificate.assumptions
    assert "given the 1 component(s)" in " ".join(found.components[1].certificate.assumptions)


def test_a_proof_tells_its_bounds_and_its_component():
    steps = []
    rspca.decompose(data(), 2, k=3, certify=True, random_state=0, on_step=steps.append)
    proofs = [step for step in steps if step.upper is not None]
    assert {step.component for step in proofs} == {0, 1}
    assert all(step.upper >= step.variance * (1 - 1e-9) for step in proofs)
    assert any(step.stage == "relax" and step.component == 1 for step in steps)


def test_the_estimator_goes_on_too():
    kept = []
    whole = rspca.SparsePCA(3, k=4, random_state=0).fit(data(), on_component=kept.append)
    again = rspca.SparsePCA(3, k=4, random_state=0).fit(data(), earlier=kept[:2])
    np.testing.assert_array_equal(again.components_, whole.components_)
    np.testing.assert_array_equal(again.explained_variance_, whole.explained_variance_)


@pytest.mark.parametrize("method", JOINT)
def test_methods_that_find_all_together_refuse_to_go_on(method):
    earlier = rspca.decompose(data(), 1, k=4).components
    with pytest.raises(ValueError, match="finds all components together"):
        rspca.decompose(data(), 2, k=4, method=method, earlier=earlier)


def test_components_of_other_data_or_too_many_are_refused():
    earlier = rspca.decompose(data(n=20), 2, k=4).components
    with pytest.raises(ValueError, match="earlier holds 2 component"):
        rspca.decompose(data(), 3, k=4, earlier=earlier)
    with pytest.raises(ValueError, match="at most n_components=1"):
        rspca.decompose(data(n=20), 1, k=4, earlier=earlier)


def test_a_later_component_can_be_certified_by_itself():
    found = rspca.decompose(data(), 2, k=3, certify=True, random_state=0)
    one = rspca.certify(data(), 3, loadings=found.loadings[1], after=found.loadings[:1])
    assert one.status == "optimal"
    assert one.upper == pytest.approx(found.components[1].certificate.upper, rel=1e-6)
    assert one.assumptions == found.components[1].certificate.assumptions
    with pytest.raises(ValueError, match="deflation='hotelling'"):
        rspca.certify(data(), 3, deflation="hotelling")
