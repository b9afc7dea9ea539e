"""Nonnegative loadings of one component: power steps that never lose, and single swaps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.joint import gram_of, task_of

import rspca
from rspca.algorithm.joint.nonnegative import nonnegative_by_power_steps, nonnegative_swaps
from rspca.algorithm.polish import Polished


@given(st.integers(0, 10**6))  # issue 17, item 4
def test_power_steps_without_negative_entries_never_lose(seed):
    A = gram_of(seed)
    start = np.abs(np.random.default_rng(seed).standard_normal(8))
    start /= np.linalg.norm(start)
    value, v = nonnegative_by_power_steps(A.__matmul__, start)
    assert (v >= 0.0).all()
    assert np.linalg.norm(v) == pytest.approx(1.0)
    assert value == pytest.approx(float(v @ A @ v), rel=1e-9)
    assert value >= float(start @ A @ start) * (1.0 - 1e-12)


def test_a_matrix_without_negative_entries_has_its_leading_eigenvector():
    A = np.abs(gram_of(1)) + 9.0 * np.eye(8)  # positive definite with positive entries: Perron and Frobenius
    value, _ = nonnegative_by_power_steps(A.__matmul__, np.ones(8))
    assert value == pytest.approx(np.linalg.eigvalsh(A)[-1], rel=1e-6)


def test_a_start_without_positive_entries_still_has_an_end():
    value, v = nonnegative_by_power_steps(np.diag([2.0, 1.0]).__matmul__, -np.ones(2))
    assert value > 0.0
    assert (v >= 0.0).all()


@given(st.integers(0, 10**6))  # issue 17, item 4
def test_single_swaps_never_lose_and_keep_their_signs(seed):
    A = gram_of(seed)
    op = rspca.GramOperator(A)
    support = np.array([0, 3, 5])
    value, loadings = nonnegative_by_power_steps(A[np.ix_(support, support)].__matmul__, np.ones(3))
    gradient = A[:, support] @ loadings
    end = nonnegative_swaps(op, Polished(support, loadings, value, 0, None), gradient, task_of(op, [3]).choice)
    assert (end.loadings >= 0.0).all()
    assert np.all(np.diff(end.support) > 0)
    assert end.variance >= value * (1.0 - 1e-12)
    found = float(end.loadings @ A[np.ix_(end.support, end.support)] @ end.loadings)
    assert end.variance == pytest.approx(found, rel=1e-8)
