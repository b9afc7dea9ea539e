"""Blocks of features that are alike outside of the leading directions are found, whatever the order and the kind."""

import numpy as np
import pytest
import scipy.sparse

import rspca
from rspca.algorithm import alike, budgets
from rspca.algorithm.deflate import schur
from rspca.algorithm.feature_limits import Choice, Groups
from rspca.algorithm.shared_work import FitWork, SharedWork
from rspca.formats import write_plink
from rspca.operators.convert import as_operator

M, N, BLOCK = 300, 4800, 12
GENOTYPES = rspca.datasets.make_genotypes(M, N, 3, block=BLOCK, linkage=0.95, random_state=0)[0]
"""400 blocks of linked SNPs; after the populations, the components are blocks, and leading directions show few."""
ORDERS = {"neighbors": np.arange(N), "shuffled": np.random.default_rng(1).permutation(N)}


@pytest.fixture(scope="module", autouse=True)
def small_pools():
    """Few of the features are in a pool, as on larger data."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("POOL_COMPLETE_FEATURES", 300), ("POOL_FEATURES", 100), ("POOL_MIN_FEATURES", 100)):
            patch.setattr(budgets, name, value)
        yield


def packed(X, folder):
    pytest.importorskip("numba", reason="packed genotypes need numba: pip install 'rspca[genetics]'")
    write_plink(folder / "x.bed", X)
    return rspca.read(folder / "x.bed")


KINDS = {
    "dense": lambda X, _: X.astype(float),
    "float32": lambda X, _: X.astype(np.float32),
    "sparse": lambda X, _: scipy.sparse.csr_array(X.astype(float)),
    "packed": packed,
}


def variance_of_set(X):
    return sum(component.variance for component in rspca.decompose(X, 10, k=BLOCK, random_state=0).components)


@pytest.fixture(scope="module")
def without_blocks(small_pools):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budgets, "ALIKE_STARTS", 0)
        return variance_of_set(GENOTYPES.astype(float))


# issue 16, variance of sets
@pytest.mark.parametrize(
    ("kind", "order"),
    [
        ("dense", "neighbors"),
        ("dense", "shuffled"),
        ("float32", "shuffled"),
        ("sparse", "shuffled"),
        ("packed", "shuffled"),
    ],
)
def test_later_components_find_linked_blocks_outside_of_the_leading_directions(kind, order, without_blocks, tmp_path):
    X = KINDS[kind](GENOTYPES[:, ORDERS[order]], tmp_path)
    assert variance_of_set(X) > 1.03 * without_blocks


def centered():
    X = GENOTYPES.astype(float)
    return as_operator(X - X.mean(axis=0))


# issue 16, variance of sets
def test_blocks_are_completed_and_their_variances_are_those_of_the_data():
    op = centered()
    work = SharedWork(op, n_components=6)
    blocks = work.blocks(BLOCK)
    assert blocks is work.blocks(BLOCK)
    numbers = blocks.features // BLOCK
    whole = [max(np.bincount(row)) == BLOCK for row in numbers]
    assert np.count_nonzero(whole) >= 4  # have all features of one block of the data
    v = np.zeros(N)
    v[::200] = BLOCK**-0.5
    left = schur(op, v, op.matmat(v), [])
    ends = alike.block_ends(left, BLOCK, Choice(np.arange(N)), blocks)
    assert len(ends) == budgets.ALIKE_STARTS
    assert sorted((end.variance for end in ends), reverse=True) == [end.variance for end in ends]
    for end in ends:
        columns = left.columns(end.support)
        assert end.variance == pytest.approx(np.linalg.norm(columns @ end.loadings) ** 2, rel=1e-6)
        assert end.variance == pytest.approx(np.linalg.eigvalsh(columns.T @ columns)[-1], rel=0.01)


# issue 16, variance of sets
def test_blocks_obey_groups_and_features_that_may_not_be_chosen():
    op, groups = centered(), Groups(np.arange(N) // 2, 1)
    blocks = SharedWork(op, n_components=4).blocks(6)
    choice = Choice(np.delete(np.arange(N), blocks.features[0][:3]), groups)
    ends = alike.block_ends(op, 6, choice, blocks)
    assert ends
    for end in ends:
        assert groups.allow(end.support)
        assert np.isin(end.support, choice.features).all()
    assert alike.block_ends(op, 6, Choice(np.arange(3)), blocks) == []


# issue 16, variance of sets
def test_one_component_and_deflations_that_begin_again_search_fewer_blocks():
    op, works = centered(), FitWork(3)
    assert works.of(op) is works.of(op)
    several, one = (len(work.blocks(6).features) for work in (works.of(op), works.of(centered())))
    assert several > one == len(SharedWork(op, n_components=1).blocks(6).features) > 0


# issue 16, variance of sets
def test_nothing_is_alike_besides_where_leading_directions_explain_everything():
    rng = np.random.default_rng(0)
    op = as_operator(rng.standard_normal((40, 3)) @ rng.standard_normal((3, 500)))
    work = SharedWork(op, n_components=3)
    assert not len(work._lasting.alike.beyond_leading.features)
    assert len(work.blocks(4).features)
