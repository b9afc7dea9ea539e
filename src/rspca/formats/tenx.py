"""Names of a Matrix Market file, as Cell Ranger of 10x Genomics writes them: features.tsv and barcodes.tsv."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.files import lines
from rspca.base.types import Array
from rspca.formats.named import Named

FEATURE_FILES = ("features.tsv", "genes.tsv")
SAMPLE_FILES = ("barcodes.tsv",)
FEATURE_COLUMNS = ("gene_id", "gene_symbol", "feature_type")
MATRIX_FILES = ("matrix.mtx", "matrix.mtx.gz")


def matrix_of_folder(folder: Path) -> Path | None:
    """Return the matrix of a folder that Cell Ranger wrote, if it is one."""
    return next((folder / name for name in MATRIX_FILES if (folder / name).is_file()), None)


def named_by_neighbors(path: Path, X: Any, transpose: bool | None) -> Named:
    """Return a matrix with the names in the files of its folder, turned so that samples are its rows."""
    feature_file, sample_file = _next_to(path, FEATURE_FILES), _next_to(path, SAMPLE_FILES)
    described = _split(feature_file) if feature_file else None
    barcodes = [cells[0] for cells in _split(sample_file)] if sample_file else None
    turned = _is_turned(path, X.shape, described, barcodes) if transpose is None else transpose
    X = X.T if turned else X
    for file, names, side in ((sample_file, barcodes, 0), (feature_file, described, 1)):
        if names is not None and len(names) != X.shape[side]:
            there = f"{X.shape[side]} {('samples', 'features')[side]}"
            raise ValueError(f"{file} has {len(names)} lines, and {path} has {there}; leave transpose out.")
    columns, features = (None, {}) if described is None else _described(described)
    return Named(X, columns, barcodes, features)


def _next_to(path: Path, names: Sequence[str]) -> Path | None:
    """Return a file in the folder of the matrix: with the prefix of "matrix.mtx", or without."""
    prefix = path.name.lower().removesuffix(".gz").removesuffix(".mtx").removesuffix("matrix")
    prefix = path.name[: len(prefix)]
    starts = dict.fromkeys((prefix, ""))
    candidates = [f"{start}{name}{end}" for start in starts for name in names for end in ("", ".gz")]
    return next((path.with_name(name) for name in candidates if path.with_name(name).is_file()), None)


def _split(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in lines(path) if line.strip()]


def _is_turned(path: Path, shape: tuple[int, int], features: Any, samples: Any) -> bool:
    """Return whether features are in rows, by the number of names; a square matrix is as Cell Ranger writes it."""
    if features is None and samples is None:
        return False

    def fits(rows: Any, columns: Any) -> bool:
        return all(names is None or len(names) == side for names, side in zip((rows, columns), shape, strict=True))

    if fits(features, samples):
        return True
    if fits(samples, features):
        return False
    counts = " and ".join(
        f"{len(names)} {what}" for names, what in ((features, "features"), (samples, "barcodes")) if names is not None
    )
    raise ValueError(f"{path} is {shape[0]} x {shape[1]}, and the files next to it name {counts}; they do not fit.")


def _described(rows: list[list[str]]) -> tuple[list[str], dict[str, Array]]:
    """Return the names of features and their columns: the symbol, with its id where several have the same."""
    width = min(len(row) for row in rows) if rows else 0
    if width < 2:
        return [row[0] for row in rows], {}
    names = named_features([row[0] for row in rows], [row[1] for row in rows])
    known = FEATURE_COLUMNS[:width]
    return names, {name: np.array([row[j] for row in rows], dtype=str) for j, name in enumerate(known)}


def named_features(ids: Sequence[str], symbols: Sequence[str]) -> list[str]:
    """Return the names of features: the symbol, with the id in brackets where several have the same."""
    often = Counter(symbols)
    pairs = zip(ids, symbols, strict=True)
    return [symbol if often[symbol] == 1 else f"{symbol} ({name})" for name, symbol in pairs]
