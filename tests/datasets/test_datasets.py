"""The built-in data against their definitions: the paper's appendix by explicit matrices, genetics by statistics."""

import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.linalg

import rspca
from benchmarks.data import data_path
from rspca.datasets import (
    PITPROPS_FEATURES,
    load_pitprops,
    make_counterexample,
    make_genotypes,
    make_hadamard,
    make_planted_spikes,
)

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


def test_wide_data_are_made_in_no_more_memory_than_they_take():
    tracemalloc.start()
    X = make_hadamard(128, 2**16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert X.shape == (128, 65536)
    assert peak < 1.2 * X.nbytes


@pytest.mark.parametrize("make", [lambda seed: make_hadamard(8, 32, random_state=seed),
                                  lambda seed: make_genotypes(20, 30, random_state=seed)[0],
                                  lambda seed: make_planted_spikes(20, 30, 5, random_state=seed)[0],
                                  lambda seed: make_planted_spikes(20, 30, 5, random_state=seed)[1],
                                  lambda seed: make_counterexample("greedy", 30, 4, random_state=seed).covariance,
                                  ])  # fmt: skip
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


# Planted spikes


@pytest.mark.parametrize(("k", "n_spikes", "overlap", "shared"), [(10, 2, 0.0, 0), (10, 3, 0.4, 4), (7, 4, 0.5, 2),
                                                                  (1, 3, 0.5, 0), (12, 5, 0.5, 6)])  # fmt: skip
def test_planted_spikes_are_orthonormal_sparse_and_overlap_as_asked(k, n_spikes, overlap, shared):
    _, V = make_planted_spikes(5, 80, k, n_spikes, overlap=overlap)
    np.testing.assert_allclose(V @ V.T, np.eye(n_spikes), atol=1e-12)
    np.testing.assert_allclose(np.abs(V[V != 0]), 1 / np.sqrt(k))
    assert ((V != 0).sum(axis=1) == k).all()
    common = (V != 0).astype(int) @ (V != 0).T
    assert (np.diag(common, 1) == shared).all()
    assert not np.triu(common, 2).any()


def test_planted_spikes_have_the_stated_covariance():
    X, V = make_planted_spikes(40000, 12, 4, 2, overlap=0.5, strength=3.0, decay=0.5, noise=2.0)
    expected = 4 * (np.eye(12) + 3 * np.outer(V[0], V[0]) + 1.5 * np.outer(V[1], V[1]))
    np.testing.assert_allclose(X.T @ X / len(X), expected, atol=0.35)


def test_planted_spikes_are_found():
    X, V = make_planted_spikes(300, 400, 8, 2, overlap=0.5)
    found = rspca.decompose(X, 2, k=8, random_state=0)
    supports = [set(np.flatnonzero(v)) for v in V]
    assert [set(c.support) for c in found.components] == supports


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"overlap": 0.6}, "overlap=0.6 must lie between 0 and 0.5"),
        ({"decay": 1.1}, r"decay=1.1 must lie in \(0, 1\]"),
        ({"noise": 0.0}, "noise=0.0 must be finite and above 0"),
        ({"strength": -1.0}, "strength=-1.0 must be"),
        ({"n_spikes": 9}, "9 spikes of k=10 features with 0 shared need 90 features and n=50; raise n"),
        ({"k": 0}, "k=0 must be at least 1"),
    ],
)
def test_planted_spikes_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_planted_spikes(**{"m": 5, "n": 50, **options})


# Counter-examples


def best_of_all(A, k):
    """The largest variance of k features, over all supports."""
    supports = itertools.combinations(range(len(A)), k)
    return max(np.linalg.eigvalsh(A[np.ix_(s, s)])[-1] for s in supports)


def variance(A, v):
    return float(v @ A @ v)


CASES = [("maxcomp", 12, 3), ("greedy", 9, 4), ("deflation", 10, 3)]


@pytest.mark.parametrize(("kind", "n", "k"), CASES)
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_stated_optimum_is_the_best_of_all_supports(kind, n, k, noise):
    case = make_counterexample(kind, n, k, noise=noise)
    assert np.linalg.eigvalsh(case.covariance)[0] > noise**2 - 1e-12
    np.testing.assert_allclose(np.linalg.norm(case.components, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(case.decoys, axis=1), 1)
    assert ((case.components != 0).sum(axis=1) == k).all()
    np.testing.assert_allclose([variance(case.covariance, v) for v in case.components], case.variances)
    np.testing.assert_allclose(best_of_all(case.covariance, k), case.variances[0])


@pytest.mark.parametrize("n", [40, 400])
def test_the_largest_entries_of_the_leading_eigenvector_are_the_wrong_ones(n):
    case = make_counterexample("maxcomp", n, 5, margin=0.2)
    op = rspca.GramOperator(case.covariance)
    fooled = rspca.decompose(op, k=5, method="maxcomp").components[0]
    np.testing.assert_allclose(fooled.variance, 1.2 * 5 / (n - 5), rtol=1e-6)
    np.testing.assert_allclose(variance(case.covariance, case.decoys[0]), fooled.variance, rtol=1e-6)
    found = rspca.decompose(op, k=5, random_state=0).components[0]
    np.testing.assert_allclose(found.variance, 1.0)


def forward_selection(A, k):
    """Add the feature that raises the leading eigenvalue most, k times."""
    support = []
    for _ in range(k):
        rest = [j for j in range(len(A)) if j not in support]
        support.append(max(rest, key=lambda j: np.linalg.eigvalsh(A[np.ix_([*support, j], [*support, j])])[-1]))
    return set(support)


def test_features_chosen_by_variance_or_one_at_a_time_are_the_wrong_ones():
    case = make_counterexample("greedy", 30, 6, noise=0.1)
    A, decoys = case.covariance, set(np.flatnonzero(case.decoys[0]))
    assert set(np.argsort(np.diag(A))[-6:]) == decoys
    assert forward_selection(A, 6) == decoys
    np.testing.assert_allclose(variance(A, case.decoys[0]), 1.1 * (1 + 0.1 * 5 / 6) + 0.01)
    for method in ("rspca", "maxcomp"):  # the leading eigenvector itself is sparse
        found = rspca.decompose(rspca.GramOperator(A), k=6, method=method).components[0]
        np.testing.assert_allclose(found.variance, 6.01)


def test_projection_deflation_returns_what_the_first_component_missed():
    case = make_counterexample("deflation", 30, 4)
    op = rspca.GramOperator(case.covariance)
    supports = [set(np.flatnonzero(v)) for v in case.components]
    fooled = rspca.decompose(op, 2, k=4, deflation="projection", random_state=0).components
    assert [set(c.support) for c in fooled] == [supports[0], set(np.flatnonzero(case.decoys[1]))]
    np.testing.assert_allclose(fooled[1].variance, 4.1 / 3)
    found = rspca.decompose(op, 2, k=4, deflation="schur", random_state=0).components
    assert [set(c.support) for c in found] == supports
    u, v = case.decoys
    A = case.covariance
    np.testing.assert_allclose((u @ A @ v) ** 2, variance(A, u) * variance(A, v))  # the same scores twice


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("other",), "kind='other' is not known; choose one of 'deflation', 'greedy', 'maxcomp'"),
        (("maxcomp", 10, 5), "raise n above"),
        (("greedy", 10, 1), "raise k or lower margin"),
        (("greedy", 7, 4), "'greedy' needs n of at least 2k"),
        (("deflation", 8, 3), "'deflation' needs n of at least 3k"),
    ],
)
def test_counterexamples_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_counterexample(*arguments)
    with pytest.raises(ValueError, match=r"margin=1.0 must lie in \(0, 1\)"):
        make_counterexample(margin=1.0)


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
