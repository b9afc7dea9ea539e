"""What was prepared: the operator, its numbers, and the words of certificates."""

import numpy as np
import pytest
import scipy.sparse

import rspca
from rspca.operators.prepared import prepared

X = np.random.default_rng(0).standard_normal((20, 4)) + 3.0


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_mean_and_divisor_lead_to_the_columns_of_the_operator(make, center, scale):
    data = prepared(rspca.as_operator(make(X)), center=center, scale=scale, n_components=0)
    Z = (X - data.mean) / data.divisor
    np.testing.assert_allclose(data.operator.columns(np.arange(4)), Z, atol=1e-12)
    assert (data.center, data.scale, data.n_samples) == (center, scale, 20)
    formed = prepared(rspca.as_operator(make(X)), center=center, scale=scale)  # issue 16, item 3
    R = formed.operator.columns(np.arange(4))
    np.testing.assert_allclose(R.T @ R, Z.T @ Z, atol=1e-12 * len(X))
    np.testing.assert_allclose((formed.mean, formed.divisor), (data.mean, data.divisor), atol=1e-12)
    assert (formed.n_samples, formed.description) == (20, data.description)


@pytest.mark.parametrize(
    ("center", "scale", "words"),
    [
        (True, False, ("columns centered", "columns not scaled")),
        (np.bool_(False), 1, ("columns not centered", "columns scaled (True)")),
    ],
)
def test_certificates_say_how_columns_were_prepared(center, scale, words):
    found = rspca.certify(X, 2, center=center, scale=scale)
    assert found.assumptions == words
    assert (found.center, found.scale) == (bool(center), bool(scale))


def test_a_gram_matrix_is_taken_as_given():
    data = prepared(rspca.GramOperator(np.eye(3)), center=True, scale=False)
    assert data.description == ("the Gram matrix is taken as given",)


def test_what_is_made_of_the_operator_is_said_after_what_was_said_before():
    data = prepared(rspca.as_operator(X), center=True, scale=False)
    later = data.with_operator(data.operator, "given one component")
    assert later.description == (*data.description, "given one component")
    assert later.mean is data.mean
