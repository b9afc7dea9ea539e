"""Blocks of features that are alike outside of the leading directions are found, whatever the order and the kind."""

import numpy as np
import pytest
import scipy.sparse

import rspca
from rspca.algorithm import alike, budgets
from rspca.algorithm.deflate import schur
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.shared_work import FitWork, SharedWork
from rspca.operators.convert import as_operator

BLOCKS = [np.arange(1000, 1012), np.arange(300, 312), np.arange(2200, 2212)]


@pytest.fixture(autouse=True)
def _small_pools(monkeypatch):
    monkeypatch.setattr(budgets, "POOL_COMPLETE_FEATURES", 300)
    monkeypatch.setattr(budgets, "POOL_FEATURES", 100)
    monkeypatch.setattr(budgets, "POOL_MIN_FEATURES", 100)


def data(m=300, n=2400, seed=0):
    """Return genotypes of two populations, with blocks of linked features that no leading direction shows."""
    rng = np.random.default_rng(seed)
    frequency = np.clip(rng.uniform(0.2, 0.8, n) + 0.25 * rng.standard_normal((2, n)), 0.05, 0.95)
    X = rng.binomial(2, frequency[np.arange(m) % 2]).astype(np.int8)
    for block, flip in zip(BLOCKS, (0.05, 0.1, 0.15), strict=True):
        shared = rng.binomial(2, 0.5, (m, 1))
        X[:, block] = np.where(rng.random((m, len(block))) < flip, 2 - shared, shared)
    return X


def packed(X):
    pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")
    from rspca.operators.plink import PackedOperator, Part

    codes = np.array([3, 2, 0], dtype=np.uint8)[X.T]  # as .bed files store them
    codes = np.pad(codes, ((0, 0), (0, -codes.shape[1] % 4)))
    return PackedOperator, Part, codes


KINDS = {"dense": np.asarray, "float32": np.float32, "sparse": scipy.sparse.csr_array}


# issue 16, variance of sets
@pytest.mark.parametrize("order", ["neighbors", "shuffled"])
@pytest.mark.parametrize("kind", KINDS)
def test_later_components_find_linked_blocks_outside_of_the_leading_directions(kind, order):
    X = data()
    places = np.arange(X.shape[1]) if order == "neighbors" else np.random.default_rng(1).permutation(X.shape[1])
    made = KINDS[kind](X[:, places])
    wanted = [set(np.flatnonzero(np.isin(places, block)).tolist()) for block in BLOCKS]
    found = [set(c.support.tolist()) for c in rspca.decompose(made, 5, k=12, random_state=0).components]
    assert all(block in found for block in wanted[:2])


# issue 16, variance of sets
def test_blocks_are_completed_and_their_variances_are_those_of_the_data():
    X = data().astype(float)
    op = as_operator(X - X.mean(0))
    work = SharedWork(op, n_components=4)
    blocks = work.blocks(12)
    assert blocks is work.blocks(12)
    assert any(set(BLOCKS[0].tolist()) <= set(row.tolist()) for row in blocks.features)
    v = np.zeros(op.shape[1])
    v[BLOCKS[0]] = 12**-0.5
    left = schur(op, v, op.matmat(v), [])
    for deflated, best in ((op, BLOCKS[0]), (left, BLOCKS[1])):
        end = alike.block_ends(deflated, 12, Choice(np.arange(op.shape[1])), blocks)[0]
        assert end.support.tolist() == best.tolist()
        columns = deflated.columns(end.support)
        assert end.variance == pytest.approx(np.linalg.norm(columns @ end.loadings) ** 2, rel=1e-6)
        assert end.variance == pytest.approx(np.linalg.eigvalsh(columns.T @ columns)[-1], rel=1e-3)


# issue 16, variance of sets
def test_blocks_obey_groups_and_features_that_may_not_be_chosen():
    op = as_operator(data().astype(float))
    blocks = SharedWork(op, n_components=4).blocks(6)
    choice = Choice(np.delete(np.arange(op.shape[1]), BLOCKS[0][:6]), Groups(np.arange(op.shape[1]) // 2, 1))
    ends = alike.block_ends(op, 6, choice, blocks)
    assert ends
    for end in ends:
        assert choice.groups.allow(end.support)
        assert np.isin(end.support, choice.features).all()
    assert alike.block_ends(op, 6, Choice(np.arange(3)), blocks) == []


# issue 16, variance of sets
def test_one_component_and_deflations_that_begin_again_search_no_blocks():
    op = as_operator(data().astype(float))
    assert not len(SharedWork(op, n_components=1).blocks(6).features)
    works = FitWork(3)
    works.of(op)
    assert not len(works.of(as_operator(data(seed=1).astype(float))).blocks(6).features)


# issue 16, variance of sets
def test_nothing_is_alike_where_leading_directions_explain_everything():
    rng = np.random.default_rng(0)
    op = as_operator(rng.standard_normal((40, 3)) @ rng.standard_normal((3, 500)))
    assert not len(SharedWork(op, n_components=3).blocks(4).features)
