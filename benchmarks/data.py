"""Real data for benchmarks, experiments and tests: from RSPCA_DATA, or from shared/data next to the repository."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from unittest import mock

import numpy as np
import scipy.sparse

from rspca.datasets import Dataset, fetch_classic2, fetch_hapmap3, fetch_hgdp
from rspca.formats import read_plink

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("RSPCA_DATA") or ROOT.parent / "shared" / "data")  # may be absent


class DataAbsent(FileNotFoundError):
    """A data file is not on this machine: scripts leave it out, tests are skipped."""


def data_path(*parts: str) -> Path:
    """Return the path of a shared data file; raise DataAbsent where there is none."""
    path = FOLDER.joinpath(*parts)
    if not path.exists():
        raise DataAbsent(f"{path} is absent; set RSPCA_DATA to a folder that has {'/'.join(parts)}")
    return path


def fetched(fetch: Callable[[], Dataset], *needed: str) -> Dataset:
    """Return what a fetch_ function finds in the shared data, or raise DataAbsent where a file is missing."""
    for path in needed:
        data_path(*path.split("/"))
    with mock.patch.dict(os.environ, RSPCA_DATA=str(FOLDER)):
        return fetch()


@cache
def classic2() -> scipy.sparse.csr_array:
    """Classic-2 as in the paper: tf * log2(m / df), rows of unit length; 2,858 x 12,427, not centered."""
    return fetched(fetch_classic2, "classic2/classic2_counts.npz", "classic2/classic2_vocab.txt.gz").matrix


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
    return fetched(fetch_hapmap3, "hapmap3_flashpca/data.bed", "hapmap3_flashpca/data.bim.gz").matrix


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


@cache
def hgdp_euro() -> np.ndarray:
    """HGDP, Europeans: 156 x 66,147 float32."""
    return fetched(fetch_hgdp, "hgdp_euro/H938_Euro.LDprune.bed", "hgdp_euro/H938_Euro.LDprune.bim.gz").matrix


@cache
def hapmap_snprelate() -> np.ndarray:
    """The toy set of SNPRelate: 60 x 5,000 float32."""
    return read_plink(data_path("hapmap_snprelate", "plinkhapmap.bed.gz")).matrix


@cache
def hgdp_world_chr22() -> np.ndarray:
    """HGDP worldwide, part of chromosome 22: 238 x 7,652 float32."""
    world = partial(fetch_hgdp, subset="world")
    return fetched(world, *(f"hgdp_world_chr22/HGDP_238_chr22_subset.{kind}.gz" for kind in ("geno", "site"))).matrix
