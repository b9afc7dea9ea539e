"""Maxima over unit vectors without negative entries, against all faces of the orthant."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rspca.linalg.nonnegative import best_nonnegative, nonnegative_maximum, positive_step
from rspca.linalg.vectors import unit

seeds = st.integers(0, 10**6)


def matrix(seed, n=None):
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(1, 8))
    X = rng.standard_normal((int(rng.integers(1, 10)), n))
    return X.T @ X, rng


def best_of_faces(A, k):
    """Return the largest variance of k features without negative loadings: leading vectors of faces, if positive."""
    best = 0.0
    for size in range(1, k + 1):
        for face in combinations(range(len(A)), size):
            values, vectors = np.linalg.eigh(A[np.ix_(face, face)])
            w = vectors[:, -1]
            if (w >= -1e-12).all() or (w <= 1e-12).all():
                best = max(best, float(values[-1]))
    return best


# issue 17, item 4
@given(seeds)
def test_a_refit_ends_at_a_local_maximum_and_loses_nothing(seed):
    A, rng = matrix(seed)
    start = np.abs(rng.standard_normal(len(A)))
    value, v = nonnegative_maximum(A, start)
    assert (v >= 0.0).all()
    assert abs(np.linalg.norm(v) - 1.0) <= 1e-12
    assert value >= unit(start) @ A @ unit(start) * (1.0 - 1e-12)
    gradient = A @ v
    assert np.allclose(gradient[v > 0], value * v[v > 0], atol=1e-6 * max(value, 1e-300))
    assert (gradient[v == 0] <= 1e-6 * value).all()
    used = np.flatnonzero(v)
    assert value >= np.linalg.eigvalsh(A[np.ix_(used, used)])[-1] * (1.0 - 1e-9)


# issue 17, item 4
def test_both_signs_of_the_leading_vector_nearly_always_lead_to_the_best_face():
    reached = []
    for seed in range(200):
        A, rng = matrix(seed)
        value, _ = best_nonnegative(A, np.abs(rng.standard_normal(len(A))))
        best = best_of_faces(A, len(A))
        assert value <= best * (1.0 + 1e-9)
        reached.append(value >= best * (1.0 - 1e-9))
    assert np.mean(reached) >= 0.95


# issue 17, item 4
@given(seeds)
def test_the_positive_part_of_the_gradient_gains(seed):
    A, rng = matrix(seed)
    x = unit(np.abs(rng.standard_normal(len(A))))
    v = positive_step(A @ x)
    assert v @ A @ v >= x @ A @ x * (1.0 - 1e-12)
    assert (positive_step(-np.ones(3)) == [1.0, 0.0, 0.0]).all()
