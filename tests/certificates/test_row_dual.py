"""The row dual of one component: never below the optimum, and better than the semidefinite dual it starts from."""

import numpy as np
import pytest
from support.enumeration import optimum

import rspca
from rspca.certificates.bounds.row_dual import best_row_dual_of_one, from_multiplier
from rspca.certificates.bounds.semidefinite import semidefinite

FIVE = [0, 1, 6, 8, 9]  # the best five features of pitprops


def never():
    return False


@pytest.mark.parametrize("seed", range(12))
def test_it_is_between_the_optimum_and_the_semidefinite_dual(seed):  # issue 18, items 4 and 8
    rng = np.random.default_rng([4, seed])
    n, k = int(rng.integers(4, 10)), int(rng.integers(2, 4))
    X = rng.standard_normal((n + 3, 2)) @ rng.standard_normal((2, n)) + 0.5 * rng.standard_normal((n + 3, n))
    X = X * 10.0 ** rng.uniform(-1, 1, n) if seed % 2 else X
    A = X.T @ X
    solved = semidefinite(A, k)
    found = best_row_dual_of_one(A, k, from_multiplier(A, k, solved.multiplier), enough=0.0, out_of_time=never).upper
    assert optimum(A, k) * (1.0 - 1e-12) <= found
    assert found <= solved.upper * (1.0 + 1e-9) or not solved.multiplier.any()  # where it is the largest eigenvalue


def test_it_nearly_proves_five_features_of_pitprops_optimal():  # issue 18, item 4
    A = rspca.datasets.load_pitprops()
    solved = semidefinite(A, 5, max_iter=300)
    found = best_row_dual_of_one(A, 5, from_multiplier(A, 5, solved.multiplier), enough=0.0, out_of_time=never).upper
    best = float(np.linalg.eigvalsh(A[np.ix_(FIVE, FIVE)])[-1])
    assert best <= found < 1.002 * best < 1.01 * best < solved.upper


def test_it_says_nothing_without_a_multiplier_and_stops_in_time():  # issue 18, item 4
    A = rspca.datasets.load_pitprops()
    nothing = from_multiplier(A, 5, np.zeros_like(A))
    assert nothing.upper == best_row_dual_of_one(A, 5, nothing, enough=0.0, out_of_time=never).upper == np.inf
    stopped = best_row_dual_of_one(A, 5, from_multiplier(A, 5, 0.1 * A), enough=0.0, out_of_time=lambda: True)
    assert stopped.upper >= np.linalg.eigvalsh(A[np.ix_(FIVE, FIVE)])[-1]
