"""What the components of one fit share does not change what each would find alone."""

import weakref

import numpy as np
import pytest
import scipy.sparse as sp

import rspca
from rspca.algorithm.deflate import schur
from rspca.algorithm.shared_work import FitWork, SharedWork
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


def test_the_gram_matrix_that_components_leave_is_the_direct_one():
    op, everything = OPERATORS["Gram matrix"](), np.arange(290)
    work, whole = SharedWork(op, n_components=4), op.matrix.copy()
    for left in without_components(op, 3):
        gram = work.gram(left, everything, everything)
        np.testing.assert_allclose(gram, left.gram_matrix(everything), rtol=0, atol=1e-12 * whole.max())
        np.testing.assert_array_equal(
            gram, SharedWork(op).gram(left, everything, everything)
        )  # as in a fit that continues
    np.testing.assert_array_equal(op.matrix, whole)


def test_the_gram_matrix_is_that_of_the_components_asked_for_in_any_order():
    op, everything = OPERATORS["Gram matrix"](), np.arange(290)
    work, others = SharedWork(op, n_components=4), without_components(op, 2, seed=1)
    for left in (*without_components(op, 2), others[0], others[1], others[0]):
        np.testing.assert_array_equal(
            work.gram(left, everything, everything), SharedWork(op).gram(left, everything, everything)
        )


def test_a_gram_matrix_of_which_nearly_nothing_is_left_is_computed_from_columns():
    X = np.random.default_rng(0).standard_normal((600, 2)) @ np.random.default_rng(1).standard_normal((2, 40))
    X += 1e-6 * np.random.default_rng(2).standard_normal((600, 40))
    op, everything = FormedGram(rspca.as_operator(X)), np.arange(40)
    left = without_components(op, 2)[-1]
    assert left.nearly_all_taken_off
    gram = SharedWork(op, n_components=3).gram(left, everything, everything)
    np.testing.assert_array_equal(gram, left.gram_matrix(everything))


def test_where_proofs_come_no_gram_matrix_is_kept_and_the_next_has_the_same_bits():
    op, everything = OPERATORS["Gram matrix"](), np.arange(290)
    work, kept, left = FitWork(3, proves=True), FitWork(3), without_components(op, 2)
    freed = weakref.ref(work.of(left[0]).gram(left[0], everything, everything))
    there = weakref.ref(kept.of(left[0]).gram(left[0], everything, everything))
    assert freed() is None
    assert there() is not None
    gram = work.of(left[1]).gram(left[1], everything, everything)
    np.testing.assert_array_equal(gram, kept.of(left[1]).gram(left[1], everything, everything))
