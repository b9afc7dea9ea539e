"""Warnings of the package point at the line of the user's code that led to them."""

import warnings

import numpy as np
import pytest

import rspca
from rspca.base.user_warnings import warn_caller

X = np.random.default_rng(0).standard_normal((20, 6))


def from_fit():
    rspca.SparsePCA(1, k=9, random_state=0).fit(X)


def from_transform():
    rspca.SparsePCA(1, k=2, random_state=0).fit(rspca.GramOperator(X.T @ X)).transform(X)


def from_score():
    rspca.SparsePCA(1, k=2, random_state=0).fit(rspca.GramOperator(X.T @ X)).score(X)


def from_here():
    warn_caller("said here")


@pytest.mark.parametrize("work", [from_fit, from_transform, from_score, from_here])
def test_a_warning_names_the_line_of_the_caller(work):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        work()
    assert [warning.filename for warning in said] == [__file__]


def test_a_warning_has_the_category_that_was_asked_for():
    with pytest.warns(DeprecationWarning, match="old"):
        warn_caller("old", DeprecationWarning)
