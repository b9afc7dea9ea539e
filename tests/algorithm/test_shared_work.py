"""What the components of one fit share does not change what each would find alone."""

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.algorithm.deflate import schur
from rspca.algorithm.shared_work import SharedWork
from rspca.linalg.eigen import pairs_within
from rspca.operators.tall import FormedGram


def data(m=300, n=290, dtype=np.float64):
    rng = np.random.default_rng(0)
    return (rng.standard_normal((m, n)) * np.arange(1, n + 1) ** -0.3).astype(dtype)


def without_components(op, count, seed=0):
    """Deflate by random vectors of ten features, and return all operators on the way."""
    rng, left, earlier = np.random.default_rng(seed), [], []
    for _ in range(count):
        v = np.zeros(op.shape[1])
        support = np.sort(rng.choice(op.shape[1], 10, replace=False))
        v[support] = rng.standard_normal(10)
        v /= np.linalg.norm(v)
        op = schur(op, v, op.scores(support, v[support]), list(earlier))
        earlier.append(v)
        left.append(op)
    return left


OPERATORS = {
    "dense": lambda: rspca.as_operator(data()),
    "float32": lambda: rspca.as_operator(data(dtype=np.float32)),
    "sparse": lambda: rspca.as_operator(sp.csr_array(np.where(np.abs(data()) > 0.3, data(), 0.0))),
    "Gram matrix": lambda: FormedGram(rspca.as_operator(data(600, 290))),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_leading_pairs_of_later_components_are_those_of_a_product_with_what_is_left(name):
    op = OPERATORS[name]()
    work = SharedWork(op, n_components=2)
    basis = work.leading_pairs(op).vectors[:, :10]
    for left in without_components(op, 3):
        direct, shared = pairs_within(basis, left.gram(basis)), work.leading_pairs(left)
        np.testing.assert_array_equal(shared.values, direct.values)
        np.testing.assert_array_equal(shared.vectors, direct.vectors)


def test_leading_pairs_of_all_later_components_take_one_product_with_the_data():
    op = OPERATORS["dense"]()
    work, left = SharedWork(op, n_components=2), without_components(op, 3)
    for each in (op, *left):
        each.sq_norms  # noqa: B018  # computed before passes are counted
    work.leading_pairs(op)
    before = op.passes
    for each in left:
        work.leading_pairs(each)
    assert op.passes - before <= 2.0
