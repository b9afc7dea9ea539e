"""Real data for tests: RSPCA_DATA, or the folder shared/data beside the repository; tests skip where it is absent."""

from __future__ import annotations

import csv
import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

ROOT = Path(__file__).resolve().parent.parent


def data_path(*parts: str) -> Path:
    """Return the path of a shared data file, or skip the test that asked for it."""
    folder = Path(os.environ.get("RSPCA_DATA") or ROOT.parent / "shared" / "data")
    path = folder.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is absent; set RSPCA_DATA to a folder that has {'/'.join(parts)}")
    return path


@cache
def classic2() -> scipy.sparse.csr_array:
    """Classic-2 as in the paper: tf * log2(m / df), rows of unit length; 2,858 x 12,427, not centered."""
    with np.load(data_path("classic2", "classic2_counts.npz")) as stored:
        parts = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
        X = scipy.sparse.csr_array(parts, shape=tuple(stored["shape"]))
    df = np.bincount(X.indices, minlength=X.shape[1])
    X.data *= np.log2(X.shape[0] / df)[X.indices]
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X


@cache
def classic2_terms() -> list[str]:
    """The 12,427 terms of Classic-2, in the order of the columns."""
    with gzip.open(data_path("classic2", "classic2_vocab.txt.gz"), "rt") as lines:
        return lines.read().split()


@cache
def chowdary() -> np.ndarray:
    """Chowdary's gene expression: log2 of values floored at 16, control probes dropped; 104 x 22,215 float64."""
    with np.load(data_path("gene_expression", "chowdary.npz")) as stored:
        X, features = stored["X"], stored["features"]
    X = X[:, ~np.char.startswith(features, "AFFX")]
    return np.log2(np.maximum(X.astype(np.float64), 16.0))


@cache
def hapmap3() -> np.ndarray:
    """HapMap 3: minor-allele dosage 0, 1, 2, missing calls replaced by the mean; 957 x 14,389 float32."""
    people = len(data_path("hapmap3_flashpca", "data.fam").read_text().splitlines())
    return np.ascontiguousarray(plink(data_path("hapmap3_flashpca", "data.bed").read_bytes(), people))


@cache
def wine() -> np.ndarray:
    """The wine data of the reference outputs, 178 x 13, columns centered and of unit length."""
    return np.loadtxt(data_path("reference_outputs", "wine.csv"), delimiter=",")


@cache
def benchmark_matrix(name: str) -> np.ndarray:
    """Return a covariance or correlation matrix that papers on sparse PCA use, without its undefined rows.

    pitprops; wine (correlations); communities, miniBooNE, arrhythmia (covariances) and normCommunities,
    normMiniBooNE, normArrhythmia (correlations); Eisen1, Eisen2, buzz, dermatology, digits, gas, keggdirected, pol,
    song, spambase, wdbc.
    """
    if name == "pitprops":
        A = np.loadtxt(data_path("spca_benchmarks", "pitprops.csv"), delimiter=",")
    elif name == "wine":
        with data_path("spca_benchmarks", "wine.csv").open(newline="") as lines:
            rows = list(csv.reader(lines))[1:]
        A = np.corrcoef(np.array(rows, dtype=float)[:, :-1], rowvar=False)
    elif name.removeprefix("norm").lower() in ("communities", "miniboone", "arrhythmia"):
        file = {"communities": "communities", "miniboone": "miniBoone", "arrhythmia": "arrhythmia"}
        with np.load(data_path("spca_benchmarks", f"{file[name.removeprefix('norm').lower()]}.npz")) as stored:
            A = stored[next(key for key in stored if key.lower() == name.lower())]
    else:
        with gzip.open(data_path("spca_benchmarks", f"{name}_txt.gz"), "rt") as lines:
            next(lines)
            A = np.loadtxt(lines, delimiter=",")[:, 1:]
    defined = np.isnan(A).mean(axis=0) < 0.5  # a constant column has no correlation with any other
    return A[np.ix_(defined, defined)]


@cache
def gene_expression(name: str) -> np.ndarray:
    """Alon, golub, gordon, khan or lymphoma as published: samples by genes, float64."""
    with np.load(data_path("gene_expression", f"{name}.npz")) as stored:
        return stored["X"].astype(np.float64)


@cache
def kos() -> scipy.sparse.csr_array:
    """KOS blog entries: word counts, 3,430 x 6,906."""
    with gzip.open(data_path("kos_bag_of_words", "docword.kos.txt.gz"), "rt") as lines:
        shape = (int(next(lines)), int(next(lines)))
        next(lines)
        document, word, count = np.loadtxt(lines, dtype=np.int64).T
    return scipy.sparse.csr_array((count.astype(np.float64), (document - 1, word - 1)), shape=shape)


def plink(bed: bytes, people: int) -> np.ndarray:
    """Return a SNP-major PLINK 1 file as dosages of allele 1, missing calls replaced by the mean; float32."""
    assert bed[:3] == b"\x6c\x1b\x01", "not a SNP-major PLINK 1 file"
    packed = np.frombuffer(bed, dtype=np.uint8)[3:].reshape(-1, (people + 3) // 4)
    # Two bits a person, lowest first: 00 two copies of allele 1, 01 missing, 10 one copy, 11 none.
    dosage = np.array([2.0, np.nan, 1.0, 0.0], dtype=np.float32)
    codes = (packed[:, :, None] >> np.array([0, 2, 4, 6], dtype=np.uint8)) & 3
    return np.ascontiguousarray(imputed(dosage[codes.reshape(len(packed), -1)[:, :people]].T))


def imputed(X: np.ndarray) -> np.ndarray:
    """Return X with missing values replaced by the means of their columns."""
    missing = np.isnan(X)
    mean = np.where(missing, 0, X).sum(axis=0, dtype=np.float64) / np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, mean.astype(X.dtype), X)


@cache
def hgdp_euro() -> np.ndarray:
    """HGDP, Europeans: 156 x 66,147 float32."""
    people = len(data_path("hgdp_euro", "H938_Euro.LDprune.fam").read_text().splitlines())
    return plink(data_path("hgdp_euro", "H938_Euro.LDprune.bed").read_bytes(), people)


@cache
def hapmap_snprelate() -> np.ndarray:
    """The toy set of SNPRelate: 60 x 5,000 float32."""
    with gzip.open(data_path("hapmap_snprelate", "plinkhapmap.fam.gz"), "rt") as lines:
        people = len(lines.readlines())
    with gzip.open(data_path("hapmap_snprelate", "plinkhapmap.bed.gz")) as file:
        return plink(file.read(), people)


@cache
def hgdp_world_chr22() -> np.ndarray:
    """HGDP worldwide, part of chromosome 22: 238 x 7,652 float32."""
    with gzip.open(data_path("hgdp_world_chr22", "HGDP_238_chr22_subset.geno.gz"), "rt") as lines:
        X = np.array([line.split()[2:] for line in lines], dtype=np.float32)
    return imputed(np.where(X < 0, np.float32(np.nan), X))
