"""Genotypes without calls: a file of nothing else is one line, a SNP that the model does not use changes nothing."""

import numpy as np
import pytest
from support.commandline import call, one_line
from support.extras import skip_without_extras

import rspca
from rspca.formats import write_plink

M, N = 40, 20


@pytest.fixture
def genotypes(tmp_path):
    """Genotypes of which the first three SNPs go together, and a model of them."""
    skip_without_extras("a.bed")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (M, N)).astype(float)
    X[:, 1] = X[:, 2] = X[:, 0]
    variants = {
        "allele_1": ["A"] * N,
        "allele_2": ["T"] * 10 + ["G"] * (N - 10),
    }  # the first ten look alike on both strands
    write_plink(tmp_path / "x.bed", X, variants=variants)
    result = call("fit", "x.bed", "-k", "3", "-o", "out", "--no-report", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    return tmp_path, X, variants


# issue 14, item 17
def test_a_file_without_a_single_call_is_one_line_with_its_name(genotypes):
    folder, X, variants = genotypes
    write_plink(folder / "empty.bed", np.full_like(X, np.nan), variants=variants)
    for arguments in (
        ("fit", "empty.bed", "-k", "3"), ("fit", "empty.bed", "-k", "3", "--max-missing", "0.99"),
        ("path", "empty.bed", "--ks", "2"), ("transform", "out", "empty.bed", "-o", "scores.csv"),
    ):  # fmt: skip
        result = call(*arguments, cwd=folder)
        assert result.returncode == 2
        assert "empty.bed: none of the 20 SNPs has a single call" in one_line(result.stderr)
    assert not (folder / "rspca-out").exists()
    assert not (folder / "scores.csv").exists()


# issue 14, item 17
def test_a_snp_without_calls_that_the_model_does_not_use_does_not_stop_transform(genotypes):
    folder, X, variants = genotypes
    whole = call("transform", "out", "x.bed", cwd=folder)
    X[:, 15] = np.nan
    write_plink(folder / "y.bed", X, variants=variants)
    result = call("transform", "out", "y.bed", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout == whole.stdout
    assert "3 of the 3 SNPs of the model are used" in one_line(result.stderr)
    page = call("report", "out", "--data", "y.bed", "-o", "page.html", cwd=folder)
    assert page.returncode == 0, page.stderr


def test_a_snp_without_calls_that_the_model_uses_counts_as_its_mean_and_that_is_said(genotypes):
    folder, X, variants = genotypes
    X[:, 1] = np.nan
    write_plink(folder / "y.bed", X, variants=variants)
    result = call("transform", "out", "y.bed", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "1 of these have no call at all and count as their mean in the model" in result.stderr
    X[:, :3] = np.nan
    write_plink(folder / "y.bed", X, variants=variants)
    result = call("transform", "out", "y.bed", "-o", "scores.csv", cwd=folder)
    assert result.returncode == 2
    assert "y.bed: none of the 3 SNPs that the model uses has a single call" in one_line(result.stderr)
    assert not (folder / "scores.csv").exists()


def test_one_person_is_scored_whatever_calls_are_missing(genotypes):
    folder, X, variants = genotypes
    X[0, 4:9] = np.nan
    write_plink(folder / "y.bed", X[:1], variants=variants)
    assert call("transform", "out", "y.bed", cwd=folder).returncode == 0


def test_reading_names_the_file_and_keeps_snps_without_calls_where_asked_to(genotypes):
    folder, X, variants = genotypes
    X[:, 15] = np.nan
    write_plink(folder / "y.bed", X, variants=variants)
    with pytest.raises(ValueError, match=r"y\.bed: 1 of the 20 SNPs have no call at all, the first is snp15; leave"):
        rspca.read(folder / "y.bed")
    assert rspca.read(folder / "y.bed", uncalled="keep").shape == (M, N)
    assert rspca.read(folder / "y.bed", max_missing=0.99).shape == (M, N - 1)
    with pytest.raises(ValueError, match="uncalled='drop' is not known; choose one of 'error', 'keep'"):
        rspca.read(folder / "y.bed", uncalled="drop")
    with pytest.raises(ValueError, match=r"y\.bed: no SNP has min_frequency=0\.5"):
        rspca.read(folder / "y.bed", min_frequency=0.5, max_missing=0.0)
