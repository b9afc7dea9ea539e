"""The number of BLAS threads, and with it the rounding of products, decides no component."""

import numpy as np
import pytest
from support.near_ties import near_tied_factors
from threadpoolctl import threadpool_limits

import rspca


# issue 14, item 8; tools/blas_threads.py has two hundred of these
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("seed", "noise"), [(0, 0.3), (2, 0.3), (3, 1.0)])
def test_near_tied_factors_give_the_same_components_with_one_and_two_blas_threads(seed, noise, dtype):
    X = near_tied_factors(seed, 500, 2100, noise=noise, dtype=dtype)
    supports = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found = rspca.decompose(X, 2, k=12, scale=True, random_state=0)
        supports.append([component.support.tolist() for component in found.components])
    assert supports[0] == supports[1]


# issue 14, item 8: the last digits of the variances must not order features that are scaled to the same variance
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_the_data_changes_no_component_of_near_tied_factors(dtype):
    X = near_tied_factors(7, 500, 2100, noise=0.3, dtype=dtype)
    noise = np.random.default_rng(0).uniform(-1.0, 1.0, X.shape).astype(dtype)
    nearly = X * (1 + np.finfo(dtype).eps * noise)
    one, other = (rspca.decompose(data, 2, k=12, scale=True, random_state=0) for data in (X, nearly))
    assert [c.support.tolist() for c in one.components] == [c.support.tolist() for c in other.components]
