"""Clumps of linked SNPs, regions of both builds, sex chromosomes, and projection of another study."""

import json

import numpy as np
import pytest
from support.commandline import call

import rspca
from rspca.formats import write_plink
from rspca.genetics import clumps as module
from rspca.genetics.clumps import clumps
from rspca.genetics.regions import LONG_RANGE_LD

pytest.importorskip("numba")


def linked(seed=0, n_people=200, n_blocks=12, in_block=5):
    """Genotypes in blocks of linked SNPs, and the block of each."""
    rng = np.random.default_rng(seed)
    own = rng.binomial(2, 0.4, (n_people, n_blocks))
    X = np.repeat(own, in_block, axis=1)
    changed = rng.random(X.shape) < 0.08
    return np.where(changed, rng.binomial(2, 0.4, X.shape), X), np.repeat(np.arange(n_blocks), in_block)


def table_of(tmp_path, X, chromosome, position, name="a", **options):
    variants = {"chromosome": chromosome, "position": position}
    write_plink(tmp_path / f"{name}.bed", X, variants=variants)
    return rspca.read(tmp_path / f"{name}.bed", **options)


def slowly(X, chromosome, position, r2):
    """The definition, pair by pair."""
    squared = np.corrcoef(X.T) ** 2
    labels = np.full(X.shape[1], -1)
    for i in np.argsort(-np.sum((X - X.mean(axis=0)) ** 2, axis=0), kind="stable"):
        if labels[i] < 0:
            near = (chromosome == chromosome[i]) & (np.abs(position - position[i]) <= module.WINDOW)
            labels[near & (labels < 0) & (squared[i] > r2)] = i
            labels[i] = i
    return labels


@pytest.mark.parametrize("block", [3, 7, 512])
@pytest.mark.parametrize("seed", range(3))
def test_clumps_are_those_of_the_definition_whatever_the_block(monkeypatch, block, seed):  # issue 20, item 5
    monkeypatch.setattr(module, "BLOCK", block)
    X, _ = linked(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(X.shape[1])  # files need not be sorted
    X = X[:, order].astype(float)
    chromosome, position = np.where(order < 30, "1", "2"), 60_000 * (order % 30)
    found = clumps(rspca.as_operator(X), {"chromosome": chromosome, "position": position}, 0.2)
    expected = slowly(X, chromosome, position, 0.2)
    np.testing.assert_array_equal(found[:, None] == found, expected[:, None] == expected)


def test_a_component_has_one_snp_of_each_clump(tmp_path):
    X, block = linked()
    table = table_of(tmp_path, X, np.full(60, "1"), 1_000 * np.arange(60))
    model = rspca.SparsePCA(2, k=6, groups="r2:0.2", random_state=0).fit(table)
    for support in model.supports_:
        assert len(set(block[support])) == 6
    assert rspca.SparsePCA(1, k=6, random_state=0).fit(table).supports_[0].tolist() != model.supports_[0].tolist()
    done = call("fit", tmp_path / "a.bed", "-k", 6, "-n", 2, "--groups", "r2:0.2", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    saved = rspca.load(tmp_path / "out" / "model.npz")
    assert saved.groups == "r2:0.2"
    assert [support.tolist() for support in saved.supports_] == [support.tolist() for support in model.supports_]


@pytest.mark.parametrize("groups", ["r2:", "r2:1", "r2:0", "r2:x", "r2:-0.1", "r2:."])
def test_other_limits_are_refused_before_anything_is_read(groups):
    with pytest.raises(ValueError, match=r"a squared correlation between 0 and 1, as in r2:0\.2"):
        rspca.SparsePCA(1, k=2, groups=groups).fit(np.eye(4))
    with pytest.raises(ValueError, match="needs positions"):
        rspca.SparsePCA(1, k=2, groups="r2:0.2").fit(np.eye(4))


def test_regions_are_known_for_every_build():
    counts = {name: len(regions) for name, regions in LONG_RANGE_LD.items()}
    assert set(counts.values()) == {24}
    assert LONG_RANGE_LD["long-range-ld-grch37"] == LONG_RANGE_LD["long-range-ld-hg19"]
    for old, new in zip(LONG_RANGE_LD["long-range-ld-hg19"], LONG_RANGE_LD["long-range-ld-grch38"], strict=True):
        assert old.chromosome == new.chromosome
        assert abs(old.first - new.first) < 1_500_000
        assert abs(old.last - new.last) < 1_500_000


def test_sex_chromosomes_in_use_are_said(tmp_path, recwarn):
    X = np.random.default_rng(0).binomial(2, 0.3, (20, 5))
    chromosome = np.array(["1", "2", "23", "23", "25"])
    with pytest.warns(UserWarning, match="2 of the SNPs in use are on sex chromosomes .2 on X."):
        table = table_of(tmp_path, X, chromosome, np.arange(1, 6), chromosomes="all")
    assert table.shape[1] == 5
    assert any("sex chromosomes" in note for note in table.notes)
    recwarn.clear()
    table_of(tmp_path, X, chromosome, np.arange(1, 6), chromosomes="1,2,XY")
    assert not [warning for warning in recwarn if "sex" in str(warning.message)]


def test_every_contig_of_a_dog_is_used_or_counted(tmp_path):  # issue 20, item 5
    names = [*map(str, range(1, 39)), "X", "Y", "MT", "JH373233.1", "Un_scaffold7"]
    X = np.random.default_rng(0).binomial(2, 0.4, (30, len(names)))
    with pytest.warns(UserWarning, match="3 of 43 SNPs are left out by their chromosome: 1 on X, 1 on Y, 1 on MT"):
        table = table_of(tmp_path, X, np.array(names), np.arange(1, len(names) + 1))
    assert table.shape[1] == 40
    assert len(np.unique(clumps(table.operator, table.features, 0.5))) == 40


def test_a_projection_says_what_of_each_component_is_there(tmp_path, capsys):
    X, _ = linked()
    chromosome, position = np.full(60, "1"), 1_000 * np.arange(60)
    table = table_of(tmp_path, X, chromosome, position)
    model = rspca.SparsePCA(2, k=8, random_state=0).fit(table)
    whole = model.projected(table)
    assert [(part.snps, part.used, part.shrinkage) for part in whole] == [(8, 8, pytest.approx(1.0))] * 2
    assert whole[0].spread == pytest.approx(1.0, rel=1e-6)
    absent = model.supports_[0][:3]
    kept = [str(name) for name in np.delete(table.feature_names, absent)]
    parts = model.projected(rspca.read(tmp_path / "a.bed", snps=kept))
    assert (parts[0].snps, parts[0].used) == (8, 5)
    assert parts[0].shrinkage == pytest.approx(1.0 - np.sum(model.components_[0, absent] ** 2))
    assert parts[0].spread < 1.0
    model.save(tmp_path / "model.npz")
    done = call("transform", tmp_path / "model.npz", tmp_path / "a.bed", "-o", tmp_path / "scores.csv")
    assert "component 2: 8 of its 8 SNPs, shrinkage of the scores 1.000" in done.stderr
    answer = json.loads(call("transform", tmp_path / "model.npz", tmp_path / "a.bed", "--json").stdout)
    assert [(part["component"], part["used"]) for part in answer["projected"]] == [(1, 8), (2, 8)]


def test_loadings_are_drawn_along_the_genome_and_a_reference_in_grey(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    X, _ = linked()
    names = np.array(["10", "2", "X"])[np.arange(60) // 20]
    with pytest.warns(UserWarning, match="sex chromosomes"):
        table = table_of(tmp_path, X, names, 1_000 * np.arange(60), chromosomes="all")
    model = rspca.SparsePCA(2, k=30, random_state=0).fit(table)
    axes = rspca.plotting.GenomeDisplay.from_estimator(model).ax_
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "10", "X"]
    display = rspca.plotting.GenomeDisplay.from_estimator(model, component=1)
    assert sum(len(points.get_offsets()) for points in display.points_) == len(model.supports_[1])
    scores = model.transform(table)
    shown = rspca.plotting.ScoresDisplay.from_scores(scores[:50], reference=scores)
    assert len(shown.reference_.get_offsets()) == 200
    assert shown.reference_.get_zorder() < shown.points_[None].get_zorder()
    with pytest.raises(ValueError, match="reference has shape"):
        rspca.plotting.ScoresDisplay.from_scores(scores, reference=scores[:, :1])
    with pytest.raises(ValueError, match="does not know where its features are"):
        rspca.plotting.GenomeDisplay.from_estimator(rspca.SparsePCA(k=2).fit(X))
    plt.close("all")
