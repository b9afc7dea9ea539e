"""The bounds of one node of the exact search, each against its definition written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.enumeration import case

from rspca.certificates import nodes
from rspca.certificates.bounds import gram as B
from rspca.certificates.nodes import NO_LABELS

NO_GROUPS = NO_LABELS, np.zeros(1, dtype=np.int64)

seeds = st.integers(0, 10**6)


def largest(values, k):
    """Return the sum of the k largest."""
    return float(sum(sorted(map(float, values))[::-1][: max(k, 0)]))


@st.composite
def made(draw):
    """Return A, the number of features that are in every support, and how many come to them."""
    A = case(draw(seeds), 7).A
    fixed = draw(st.integers(0, 4))
    return A, fixed, draw(st.integers(1, 7 - fixed))


def frobenius_parts(A, fixed, picks, shift):
    """Return the square of |A_SS - c I|_F that F has, and what each feature outside F adds to it at most."""
    inside = np.sum(np.square(A[:fixed, :fixed] - shift * np.eye(fixed)))
    gains = [
        (A[j, j] - shift) ** 2 + 2.0 * np.sum(A[j, :fixed] ** 2)
        + largest([A[j, i] ** 2 for i in range(fixed, len(A)) if i != j], picks - 1)
        for j in range(fixed, len(A))
    ]  # fmt: skip
    return inside, np.array(gains)


def frobenius(A, fixed, picks):
    """Return the bound and the shift that gives it."""
    shifts = np.linspace(0.0, np.diagonal(A).max(), nodes.NODE_SHIFTS)
    bounds = []
    for shift in shifts:
        inside, gains = frobenius_parts(A, fixed, picks, shift)
        bounds.append(shift + np.sqrt(inside + largest(gains, picks)))
    return min(bounds), shifts[int(np.argmin(bounds))]


def row_sums(A, fixed, picks):
    return max(
        abs(A[i, i]) + sum(abs(A[i, j]) for j in range(fixed) if j != i)
        + largest([abs(A[i, j]) for j in range(fixed, len(A)) if j != i], picks - (i >= fixed))
        for i in range(len(A))
    )  # fmt: skip


@given(made())
def test_the_frobenius_norm_of_a_node_is_its_formula_and_drops_what_cannot_reach_enough(node):
    A, fixed, picks = node
    bound, shift = frobenius(A, fixed, picks)
    inside, gains = frobenius_parts(A, fixed, picks, shift)
    reached = shift + np.sqrt(inside + largest(gains, picks - 1) + gains)
    for least in (0.9 * reached.min(), 0.5 * (reached.min() + reached.max()), 1.1 * reached.max()):
        if np.abs(reached - least).min() > 1e-9 * least:
            alive = np.ones(len(gains), dtype=bool)
            assert nodes._frobenius(A, fixed, picks, least, alive, *NO_GROUPS) == pytest.approx(bound, rel=1e-9)
            assert alive.tolist() == (reached >= least).tolist()


@given(made())
def test_the_row_sums_of_a_node_are_their_formula(node):
    A, fixed, picks = node
    assert nodes._rows(A, fixed, picks, *NO_GROUPS) == pytest.approx(row_sums(A, fixed, picks), rel=1e-12)


@given(made())
def test_two_blocks_are_the_two_by_two_matrix_of_their_norms(node):
    A, fixed, picks = node
    if fixed == 0:
        return
    outer = A[fixed:, fixed:]
    e = min(frobenius(outer, 0, picks)[0], row_sums(outer, 0, picks), largest(np.diagonal(outer), picks))
    b = np.linalg.eigvalsh(A[:fixed, :fixed])[-1]
    g = np.sqrt(largest((A[:fixed, fixed:] ** 2).sum(axis=0), picks))
    expected = np.linalg.eigvalsh([[b, g], [g, e]])[-1]
    assert nodes._two_blocks(A, fixed, picks, *NO_GROUPS) == pytest.approx(expected, rel=1e-9)


@given(made())
def test_the_remainder_of_a_node_is_its_formula(node):
    A, fixed, picks = node
    R = (A - np.diag(np.diagonal(A))) / (1.0 + np.abs(A).sum())
    rows = [
        np.abs(R[i, :fixed]).sum() + largest(np.abs(R[i, fixed:]), picks - (i >= fixed)) for i in range(len(R))
    ]  # fmt: skip
    assert nodes._remainder(R, fixed, picks, *NO_GROUPS) == pytest.approx(max(rows), rel=1e-12)
    assert max(rows) <= (fixed + picks - 1) * np.abs(R).max() * (1.0 + 1e-12)  # no simpler bound is better


@given(made(), st.floats(0.3, 1.2))
def test_the_spectral_fill_of_a_node_has_the_fixed_features_in_every_share(node, share):
    A, fixed, picks = node
    values, vectors = np.linalg.eigh(A)
    weights, free, constant = vectors**2, range(fixed, len(A)), 0.25
    inside = weights[:fixed].sum(axis=0)

    def fill(shares):
        return constant + float(B.filled(values[::-1], shares[::-1], values[0]))

    bound = fill(inside + [largest(column, picks) for column in weights[fixed:].T])
    fewer = inside + [largest(column, picks - 1) for column in weights[fixed:].T]
    with_j = np.array([
        fill(fewer + np.minimum(weights[j], [np.sort(column)[-picks] for column in weights[fixed:].T])) for j in free
    ])  # fmt: skip
    for least in (share * bound, 0.5 * (with_j.min() + with_j.max())):
        if np.abs(np.append(with_j, bound) - least).min() > 1e-9 * np.abs(values).max():
            alive = np.ones(len(free), dtype=bool)
            found = nodes._spectral(values, weights, constant, fixed, picks, least, alive, *NO_GROUPS)
            assert found == pytest.approx(bound, rel=1e-9)
            assert alive.tolist() == ((with_j >= least) & (bound >= least)).tolist()


@given(seeds, st.integers(0, 9))
def test_both_sums_of_the_largest_are_that(seed, k):
    values = np.random.default_rng(seed).integers(-3, 4, 1 + seed % 7).astype(float)
    for function in (nodes._top_sum, nodes._top_sum_loop):
        assert function(values, k) == largest(values, k)


def test_a_node_takes_the_least_of_its_bounds_and_ranks_by_the_leading_eigenvector():
    for seed in range(17):
        A = case(seed, 8).A
        S = B.soft_thresholded(A, 0.3 * np.abs(A).max())
        fixed, free, k = np.array([2]), np.array([7, 0, 5, 4, 3]), 3
        order = np.append(fixed, free)
        inner = np.ascontiguousarray(A[np.ix_(order, order)])
        values, vectors = np.linalg.eigh(S[np.ix_(order, order)])
        remainder = nodes._remainder(inner - S[np.ix_(order, order)], 1, 2, *NO_GROUPS)
        everyone = np.ones(5, dtype=bool)
        bounds = [
            frobenius(inner, 1, 2)[0], row_sums(inner, 1, 2), nodes._two_blocks(inner, 1, 2, *NO_GROUPS),
            nodes._spectral(values, vectors**2, remainder, 1, 2, 0.0, everyone, *NO_GROUPS),
        ]  # fmt: skip
        bound, left, ranking = nodes.examine(A, S[None], fixed, free, k, 0.0, NO_LABELS, 0)
        assert bound == pytest.approx(min(bounds), rel=1e-9)
        assert left.tolist() == free.tolist()  # nothing is too little to be left out
        np.testing.assert_allclose(ranking, np.abs(vectors[:, -1]), atol=1e-6)


def test_the_ranking_is_that_of_the_part_with_the_least_bound():
    A = case(0, 8).A
    nothing, everyone = np.empty(0, dtype=np.intp), np.arange(8)
    poor = np.diag(np.diagonal(A))  # all that is off the diagonal is bounded crudely
    good = np.abs(np.linalg.eigh(A)[1][:, -1])
    assert B.spectral_fill(B.spectrum(A), 6) < B.spectral_fill(B.spectrum(poor), 6) + B.remainder(A - poor, 6)
    for parts in ([A, poor], [poor, A]):
        ranking = nodes.examine(A, np.stack(parts), nothing, everyone, 6, 0.0, NO_LABELS, 0)[2]
        np.testing.assert_allclose(ranking, good, atol=1e-9)
