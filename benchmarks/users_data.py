"""Data of benchmarks/users.py: public sets, and simulated ones of the shapes that users have. All are deterministic."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from common import data, genotypes

BLOCK_ROWS = 50_000
MAPPED_FEATURES = 20_000


class Source(NamedTuple):
    """A data set: how it is called in tables, and the function that makes it in a folder, of a size in GB."""

    label: str
    make: Callable[[Path, float], Any]


def tall(m: int, n: int, dtype: str) -> np.ndarray:
    """Return correlated columns with means: a decaying spectrum, no clear gap."""
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((n, n)) / np.sqrt(n) * np.arange(1, n + 1) ** -0.5
    mean = rng.standard_normal(n)
    X = np.empty((m, n), dtype)
    for start in range(0, m, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, m))
        X[rows] = rng.standard_normal((rows.stop - start, n)) @ mixing + mean
    return X


def cells() -> scipy.sparse.csr_matrix:
    """Return 12,000 cells of eight kinds by 2,000 genes, logarithms of counts, one value in ten not zero."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(12_000, 2_000, density=0.1, format="csr", random_state=0, dtype=np.float32)
    kind, profile = rng.integers(0, 8, 12_000), rng.gamma(0.5, size=(8, 2_000)).astype(np.float32)
    X.data = np.log1p(X.data * 3 * profile[np.repeat(kind, np.diff(X.indptr)), X.indices])
    return X


def documents() -> scipy.sparse.csr_array:
    """Return 2,000 documents by 5,000,000 features; 1e7 entries are drawn, half of them of frequent features."""
    rng = np.random.default_rng(0)
    m, n, count = 2_000, 5_000_000, 5_000_000
    column = np.concatenate([rng.integers(0, n, count), (n * rng.random(count) ** 4).astype(np.int64)])
    row = rng.integers(0, m, 2 * count)
    value = 1 + rng.standard_exponential(2 * count, dtype=np.float32) * (1 + (column + row) % 7 == row % 5)
    X = scipy.sparse.csr_array((value.astype(np.float32), (row, column)), shape=(m, n))
    X.sum_duplicates()
    return X


def planted_rows(m: int, n: int, start: int) -> np.ndarray:
    """Return rows of noise with five directions of 40 features each, in float32."""
    rng = np.random.default_rng([0, start])
    X = rng.standard_normal((m, n), dtype=np.float32)
    for number in range(5):
        features = np.random.default_rng([1, number]).choice(n, 40, replace=False)
        X[:, features] += (1.5 - 0.2 * number) * rng.standard_normal((m, 1), dtype=np.float32)
    return X


def mapped(folder: Path, gigabytes: float) -> np.memmap:
    """Return a mapped float32 file of rows as in `planted_rows`, written if it is not there."""
    m = int(gigabytes * 1e9) // (4 * MAPPED_FEATURES)
    path = folder / f"mapped_{m}.npy"
    if not path.exists():
        if shutil.disk_usage(folder).free < 1.2 * gigabytes * 1e9:
            raise OSError(f"{folder} has no room for {gigabytes:g} GB; set TMPDIR to another, or use --size.")
        draft = folder / "draft.npy"
        X = np.lib.format.open_memmap(draft, mode="w+", dtype=np.float32, shape=(m, MAPPED_FEATURES))
        for start in range(0, m, 1000):
            X[start : start + 1000] = planted_rows(min(1000, m - start), MAPPED_FEATURES, start)
        X.flush()
        draft.rename(path)
    return np.load(path, mmap_mode="r")


def hapmap3_bed(folder: Path) -> Path:
    """Return HapMap3 as .bed, .bim and .fam in one folder, as plink2 needs them."""
    bed = folder / "hapmap3.bed"
    if not bed.exists():
        stored = data.data_path("hapmap3_flashpca", "data.bed")
        bed.with_suffix(".fam").write_bytes(stored.with_suffix(".fam").read_bytes())
        bed.with_suffix(".bim").write_bytes(gzip.decompress(stored.with_suffix(".bim.gz").read_bytes()))
        bed.write_bytes(stored.read_bytes())
    return bed


def _toy(name: str) -> np.ndarray:
    import sklearn.datasets

    return getattr(sklearn.datasets, f"load_{name}")().data.astype(float)


def _anywhere(make: Callable[[], Any]) -> Callable[[Path, float], Any]:
    return lambda folder, gigabytes: make()


DATA: dict[str, Source] = {
    "hapmap3": Source("HapMap3, 957 x 14,389 float32", _anywhere(data.hapmap3)),
    "genotypes": Source("simulated genotypes, 2,500 x 37,493 float32", _anywhere(genotypes)),
    "classic2": Source("Classic-2, 2,858 x 12,427 sparse", _anywhere(data.classic2)),
    "chowdary": Source("Chowdary, 104 x 22,215 float64", _anywhere(data.chowdary)),
    **{
        f"tall_{m}_{n}_{dtype}": Source(f"{m:,} x {n:,} {dtype}", _anywhere(partial(tall, m, n, dtype)))
        for m, n in ((1_000_000, 20), (100_000, 200), (1_000_000, 200), (20_000, 2_000))
        for dtype in ("float32", "float64")
    },
    "cells": Source("cells, 12,000 x 2,000 sparse, 10 % non-zeros", _anywhere(cells)),
    "bed": Source("HapMap3 .bed, 957 x 14,389", lambda folder, gigabytes: hapmap3_bed(folder)),
    "wine": Source("wine, 178 x 13", _anywhere(partial(_toy, "wine"))),
    "breast": Source("breast cancer, 569 x 30", _anywhere(partial(_toy, "breast_cancer"))),
    "digits": Source("digits, 1,797 x 64", _anywhere(partial(_toy, "digits"))),
    "cluster": Source("4,000 x 6,000 float32, two workers", _anywhere(partial(planted_rows, 4_000, 6_000, 0))),
    "mapped": Source("mapped float32 file", mapped),
    "documents": Source("2,000 x 5,000,000 sparse, 1e7 non-zeros", _anywhere(documents)),
    "rows": Source("5,000,000 x 20 float32", _anywhere(partial(tall, 5_000_000, 20, "float32"))),
}
