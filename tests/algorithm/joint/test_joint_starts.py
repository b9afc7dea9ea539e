"""Starts of joint searches: rotations of the leading directions, truncated as groups and signs allow."""

import numpy as np
import pytest
from support.joint import assert_well_formed, gram_of, task_of

import rspca
from benchmarks.data import benchmark_matrix
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.joint.starts import leading_directions, random_starts, truncated, varimax_starts


def directions(A, count):
    return leading_directions(rspca.GramOperator(A), count)


def test_the_leading_directions_are_those_above_rounding():
    values, vectors = directions(gram_of(4), 6)  # of rank three
    assert len(values) == vectors.shape[1] == 3


@pytest.mark.parametrize("nonnegative", [False, True])  # issue 17, items 1 and 4
def test_starts_are_sparse_unit_vectors(nonnegative):
    A = benchmark_matrix("pitprops")
    values, vectors = directions(A, 5)
    choice, ks = Choice(np.arange(13)), [5, 4, 3]
    starts = varimax_starts(values, vectors, ks, choice, nonnegative=nonnegative)
    rng = np.random.default_rng(0)
    starts += random_starts(values, vectors, ks, choice, count=4, rng=rng, nonnegative=nonnegative)
    assert len(starts) == 10
    for start in starts:
        assert_well_formed(start, ks, choice.features, nonnegative)


def test_varimax_of_blocks_gives_the_blocks():  # issue 17, item 1
    A = np.kron(np.diag([3.0, 2.0]), np.ones((3, 3))) + 0.1 * np.eye(6)
    turned = varimax_starts(*directions(A, 2), [3, 3], Choice(np.arange(6)))
    for start in turned:
        assert [vector.support.tolist() for vector in start] == [[0, 1, 2], [3, 4, 5]]


def test_there_is_no_start_of_more_components_than_directions():
    values, vectors = directions(gram_of(4), 6)
    choice, rng = Choice(np.arange(8)), np.random.default_rng(0)
    assert varimax_starts(values, vectors, [2] * 4, choice) == []
    assert random_starts(values, vectors, [2] * 4, choice, count=3, rng=rng) == []


def test_truncation_keeps_the_larger_side_and_the_groups():
    x = np.array([0.9, -2.0, 0.5, -1.0, 0.0])
    assert truncated(x, 2, Choice(np.arange(5))).support.tolist() == [1, 3]
    kept = truncated(x, 3, Choice(np.arange(5)), nonnegative=True)
    assert (kept.loadings >= 0.0).all()
    assert set(kept.support.tolist()) >= {1, 3}
    groups = Groups(np.array([0, 1, 2, 1, 3]), 1)
    assert truncated(x, 2, Choice(np.arange(5), groups)).support.tolist() == [0, 1]


def test_nothing_is_truncated_to_equal_loadings():
    vector = truncated(np.zeros(4), 2, task_of(rspca.GramOperator(np.eye(4)), [2]).choice)
    np.testing.assert_allclose(vector.loadings, np.sqrt(0.5))
