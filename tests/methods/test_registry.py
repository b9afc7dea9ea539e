"""A row of the table of methods: its options, its checks, its random streams."""

import numpy as np
import pytest

import rspca
from rspca.algorithm.loop import Found
from rspca.methods import METHODS, Method

X = np.random.default_rng(0).standard_normal((30, 8)) * np.linspace(0.5, 2.0, 8)
OP = rspca.as_operator(X)


def first_k(op, k, report, *, first=0):
    return Found(np.arange(first, first + k), np.ones(k))


@pytest.mark.parametrize("name", METHODS)
def test_options_that_a_method_does_not_have_are_refused_with_those_it_has(name):
    method = METHODS[name]
    with pytest.raises(TypeError, match=f"method='{name}' has no option nonsense; its options are: ") as refused:
        method(OP, 1, 3, nonsense=1)
    assert all(option in str(refused.value) for option in method.options)


def test_options_and_their_defaults_are_the_keyword_arguments_of_the_finder():
    method = Method("first-k", first_k)
    assert method.options == {"first": 0}
    assert repr(method) == "Method('first-k', first=0)"
    assert method(OP, 1, 2)[0].support.tolist() == [0, 1]
    assert method(OP, 1, 2, first=5)[0].support.tolist() == [5, 6]


def test_the_loop_normalizes_unless_the_finder_does():
    def own(op, k, report, *, normalization):
        assert normalization == "naive"
        return Found(np.arange(2), np.array([0.6, 0.8]))

    np.testing.assert_allclose(Method("m", first_k)(OP, 1, 4, normalization="naive")[0].loadings, 0.5)
    np.testing.assert_array_equal(Method("m", own)(OP, 1, 4, normalization="naive")[0].loadings, [0.6, 0.8])


def test_each_component_has_its_own_random_stream_and_methods_without_one_leave_the_generator_alone():
    drawn = []

    def random(op, k, report, *, rng):
        drawn.append(rng.random())
        return first_k(op, k, report)

    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    Method("m", random)(OP, 3, 2, rng=rng)
    assert drawn == [stream.random() for stream in other.spawn(3)]
    earlier, seen = Method("m", random)(OP, 3, 2, rng=np.random.default_rng(3))[:2], drawn[:]
    Method("m", random)(OP, 3, 2, rng=np.random.default_rng(3), earlier=earlier)
    assert drawn[len(seen) :] == seen[2:3]
    Method("m", first_k)(OP, 3, 2, rng=rng)
    assert rng.spawn(1)[0].random() == other.spawn(1)[0].random()


def test_the_own_deflation_of_a_method_is_its_default_and_a_name_of_no_other():
    assert METHODS["gpower-l0"].deflation == "own"
    with pytest.raises(ValueError, match="deflation='own' is not known"):
        METHODS["tpower"](OP, 2, 3, deflation="own")
    with pytest.raises(ValueError, match="deflation='own' is not known"):
        rspca.decompose(X, 2, k=3, method="gpower-l0", deflation="own")


def test_components_with_all_features_or_found_together_are_not_certifiable():
    assert [name for name, method in METHODS.items() if not method.certifiable] == ["spasm", "rotation", "pca"]
    with pytest.raises(ValueError, match="method='pca' uses all features"):
        rspca.decompose(X, 1, k=3, method="pca", certify=True)


def test_values_that_no_data_allow_are_refused_by_the_method_itself():
    with pytest.raises(ValueError, match="solver='foo' is not known"):
        METHODS["rspca"](OP, 1, 3, solver="foo")
