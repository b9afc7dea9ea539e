"""The built-in data against their definitions: the paper's appendix by explicit matrices, genetics by statistics."""

import numpy as np
import pytest
import scipy.linalg
from data import data_path

import rspca
from rspca.datasets import PITPROPS_FEATURES, load_pitprops, make_genotypes, make_hadamard

# The paper's synthetic family


def appendix(m, n, theta):
    """U S V' of the appendix with every matrix written out."""
    U = scipy.linalg.hadamard(m) / np.sqrt(m)
    S = np.zeros((m, n))
    S[np.diag_indices(m)] = [100.0, *(np.exp(-i) for i in range(2, m + 1))]
    G = np.eye(n)
    for k in range(1, n // 4 + 1):
        i, j = n // 2 + 2 * k - 2, n // 2 + 2 * k - 1  # the paper counts from one
        rotation = np.eye(n)
        rotation[[i, j], [i, j]] = np.cos(theta)
        rotation[i, j], rotation[j, i] = -np.sin(theta), np.sin(theta)
        G = G @ rotation
    V = G @ scipy.linalg.hadamard(n) / np.sqrt(n)
    return U @ S @ V.T


@pytest.mark.parametrize(("m", "n"), [(1, 4), (2, 4), (4, 4), (4, 16), (8, 64), (32, 32)])
@pytest.mark.parametrize("theta", [0.27 * np.pi, 0.0, 1.0])
def test_the_synthetic_family_is_that_of_the_appendix(m, n, theta):
    np.testing.assert_allclose(make_hadamard(m, n, theta, noise=0.0), appendix(m, n, theta), atol=1e-12)


def test_the_defaults_are_the_papers():
    X = make_hadamard()
    assert X.shape == (128, 4096)
    noise = X - make_hadamard(noise=0.0)
    np.testing.assert_allclose(noise.std(), 1e-3, rtol=0.01)
    np.testing.assert_allclose(np.linalg.norm(X, 2), 100, rtol=1e-4)
    v = np.abs(np.linalg.svd(make_hadamard(16, 256, noise=0.0))[2][0]) * 16  # in units of the unrotated entries
    quarters = [np.mean(np.isclose(v, size)) for size in (np.cos(0.27 * np.pi) + np.sin(0.27 * np.pi), 1.0)]
    assert quarters == [0.25, 0.5]
    assert np.mean(v < 0.1) == 0.25  # the rest is close to zero


def test_the_signal_column_carries_the_largest_singular_value():
    for column in (0, 3, 7):
        X = make_hadamard(8, 32, noise=0.0, signal_column=column)
        u = np.linalg.svd(X)[0][:, 0]
        np.testing.assert_allclose(np.abs(u @ scipy.linalg.hadamard(8)[:, column]), np.sqrt(8))
        np.testing.assert_allclose(np.linalg.svd(X)[1], np.linalg.svd(make_hadamard(8, 32, noise=0.0))[1], atol=1e-12)


def test_centering_deletes_the_papers_signal_but_no_other():
    def left(column):
        X = make_hadamard(16, 64, signal_column=column)
        return np.linalg.norm(X - X.mean(0), 2)

    assert left(0) < 1
    np.testing.assert_allclose(left(1), 100, rtol=1e-3)


@pytest.mark.parametrize("make", [lambda seed: make_hadamard(8, 32, random_state=seed),
                                  lambda seed: make_genotypes(20, 30, random_state=seed)[0]])  # fmt: skip
def test_the_seed_decides_the_data(make):
    np.testing.assert_array_equal(make(1), make(1))
    np.testing.assert_array_equal(make(1), make(np.random.default_rng(1)))
    assert np.any(make(1) != make(2))
    assert np.any(make(None) != make(None))


# Genotypes


def test_genotypes_are_counts_of_two_alleles_with_labels_in_equal_groups():
    X, population = make_genotypes(61, 101, 4)
    assert X.shape == (61, 101)
    assert X.dtype == np.int8
    assert set(np.unique(X)) == {0, 1, 2}
    sizes = np.bincount(population)
    assert len(population) == 61
    assert len(sizes) == 4
    assert sizes.max() - sizes.min() <= 1
    assert make_genotypes(4, 5, 2, dtype=np.float32)[0].dtype == np.float32


def test_allele_frequencies_cover_the_range_of_the_ancestors():
    X, _ = make_genotypes(400, 3000, 6, linkage=0.0)
    p = X.mean(0) / 2
    np.testing.assert_allclose(p.mean(), 0.5, atol=0.02)  # ancestral: uniform on [0.05, 0.95]
    np.testing.assert_allclose(p.var(), 0.9**2 / 12 + 0.1 * 0.1825 / 6, rtol=0.1)  # E p(1-p) = 0.1825


@pytest.mark.parametrize("fst", [0.02, 0.1, 0.3])
def test_populations_differ_by_fst(fst):
    m, populations = 3000, 6
    X, population = make_genotypes(m, 1500, populations, fst=fst, linkage=0.0, random_state=3)
    p = np.vstack([X[population == j].mean(0) / 2 for j in range(populations)])
    size = m // populations
    sampling = (p * (1 - p)).mean(0) / (2 * size - 1)
    between = p.var(0, ddof=1) - sampling
    within = p.mean(0) * (1 - p.mean(0)) + between / populations
    np.testing.assert_allclose(between.sum() / within.sum(), fst, rtol=0.08)


def test_the_two_alleles_of_a_person_are_independent():
    X, population = make_genotypes(4000, 200, 2, linkage=0.0)
    group = X[population == 0]
    p = group.mean(0) / 2
    np.testing.assert_allclose(group.var(0).sum(), (2 * p * (1 - p)).sum(), rtol=0.03)


def correlations(X, lag):
    """Mean squared correlation of SNPs `lag` apart that vary, and the pairs' first positions."""
    Z = (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1)
    return np.mean(Z[:, :-lag] * Z[:, lag:], axis=0) ** 2


def test_neighbors_are_linked_within_blocks_only():
    X, _ = make_genotypes(800, 2000, 1, block=10, linkage=0.9)
    r2 = correlations(X.astype(float), 1)
    across = np.arange(1999) % 10 == 9
    assert r2[~across].mean() > 0.2
    assert r2[across].mean() < 0.01
    assert correlations(X.astype(float), 4)[np.arange(1996) % 10 < 6].mean() < r2[~across].mean()


def test_without_linkage_neighbors_are_independent():
    X, _ = make_genotypes(800, 1000, 1, linkage=0.0)
    assert correlations(X.astype(float), 1).mean() < 0.01


def test_the_leading_components_separate_the_populations():
    X, population = make_genotypes(120, 800, 3)
    scores = rspca.SparsePCA(2, k=60, random_state=0).fit_transform(X)
    centers = np.vstack([scores[population == j].mean(0) for j in range(3)])
    nearest = np.argmin(((scores[:, None] - centers) ** 2).sum(-1), axis=1)
    assert np.mean(nearest == population) > 0.95


# Pit props


def test_pitprops_is_the_correlation_matrix_of_jeffers():
    A = load_pitprops()
    np.testing.assert_array_equal(A, A.T)
    np.testing.assert_array_equal(np.diag(A), 1)
    np.testing.assert_allclose(np.linalg.eigvalsh(A)[::-1][:3], [4.2186, 2.3781, 1.8782], atol=1e-4)
    assert len(set(PITPROPS_FEATURES)) == 13
    assert A[PITPROPS_FEATURES.index("topdiam"), PITPROPS_FEATURES.index("length")] == 0.954


def test_pitprops_equals_the_published_file():
    published = np.loadtxt(data_path("spca_benchmarks", "pitprops.csv"), delimiter=",", ndmin=2)
    assert published.shape in ((13, 13), (12, 13))
    np.testing.assert_array_equal(load_pitprops()[:, : published.shape[1]], published)


def test_pitprops_may_be_changed_without_changing_the_next():
    load_pitprops()[0, 0] = 9.0
    assert load_pitprops()[0, 0] == 1.0
