"""The .h5 files of Cell Ranger, 10x Genomics: counts of cells by features, stored cell by cell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.arguments import argument
from rspca.base.checks import RefusedFile, reason, shown
from rspca.base.types import Array
from rspca.formats.archives import checked_sparse
from rspca.formats.hdf5 import SPARSE_PARTS, check_columns_fit, check_self_contained, check_sparse_parts, read_hdf5
from rspca.formats.named import Named
from rspca.formats.tenx import named_features
from rspca.operators.stored_rows import SomeColumns, StoredRows
from rspca.operators.streamed import BlockOperator, memory_size

GROUP = "matrix"
"""The group of files from Cell Ranger 3 on; older files have one for each genome."""
COLUMNS = {"gene_id": ("features/id", "genes"), "gene_symbol": ("features/name", "gene_names"),
           "feature_type": ("features/feature_type",), "genome": ("features/genome",)}  # fmt: skip
"""Properties of features, with the datasets that hold them, those of Cell Ranger 2 last."""


def read_tenx_h5(
    path: Path,
    *,
    feature_type: str | None = None,
    genome: str | None = None,
    mask: Iterable[bool] | None = None,
    max_memory: int | str | None = None,
) -> Named:
    """Return the counts of a .h5 file of Cell Ranger, cells by features; it needs h5py (extra ``anndata``).

    Counts that take more than `max_memory` stay on disk and are read in blocks of cells.

    Parameters
    ----------
    path : path
        The file.
    feature_type : str
        Features of this type only, such as "Gene Expression"; all by default, with a warning if there are several.
    genome : str
        Features of this genome only, where there are several.
    mask : truth values
        Features to use, one truth value for each in the file; None: all.
    max_memory : int or str
        Such as "500MB": what the counts may take, or their blocks if they take more; None: 1 GiB.
    """
    limit = memory_size(max_memory)

    def read(file: Any) -> Named:
        try:
            return _read(file, path, feature_type, genome, mask, limit)
        except Exception as error:  # a damaged file can fail anywhere inside of h5py
            if isinstance(error, ValueError | MemoryError) and not isinstance(error, UnicodeError):
                raise
            raise ValueError(f"{path} is damaged: {reason(error)}.") from error

    return read_hdf5(path, ".h5", read)


def _read(file: Any, path: Path, feature_type: str | None, genome: str | None, mask: Any, limit: int) -> Named:
    check_self_contained(file, str(path))
    group = _matrix_group(file, path, genome)
    features = _vectors(group, path)
    shape = _shape(group, path)
    check_sparse_parts(group, (shape[1], shape[0]), True, str(path))
    n_features, n_cells = shape
    barcodes = _texts(group["barcodes"], path)
    for names, count, what in ((barcodes, n_cells, "barcodes"), (features["gene_id"], n_features, "features")):
        if len(names) != count:
            raise RefusedFile(f"{path} is damaged: it names {len(names)} {what}, and its shape has {count}.")
    chosen, notes = _chosen(features, feature_type, genome, mask, path)
    used = {name: column if chosen is None else column[chosen] for name, column in features.items()}
    symbols = used.get("gene_symbol", used["gene_id"])
    labels = named_features(used["gene_id"].tolist(), symbols.tolist())
    X = _counts(group, (n_cells, n_features), chosen, limit, path)
    return Named(X, labels, barcodes.tolist(), used, notes=notes)


def _matrix_group(file: Any, path: Path, genome: str | None) -> Any:
    """Return the group with the counts: "matrix", or in older files that of the genome."""
    if GROUP in file and hasattr(file[GROUP], "keys"):
        return file[GROUP]
    genomes = [name for name in file if hasattr(file[name], "keys") and "barcodes" in file[name]]
    if not genomes:
        there = ", ".join(shown(name) for name in list(file)[:5]) or "nothing"
        raise RefusedFile(
            f"{path} is not a file of Cell Ranger: it has no group {GROUP!r} but {there}. Of HDF5, .h5ad and 10x .h5 "
            "files are read."
        )
    if genome is None and len(genomes) > 1:
        raise RefusedFile(f"{path} has several genomes: {', '.join(genomes)}; give one as {argument('genome')}.")
    if genome is not None and genome not in genomes:
        raise RefusedFile(f"{path} has no genome {shown(genome)!r}; it has {', '.join(genomes)}.")
    return file[genomes[0] if genome is None else genome]


def _vectors(group: Any, path: Path) -> dict[str, Array]:
    for name in ("barcodes", "shape", *SPARSE_PARTS):
        if name not in group:
            raise RefusedFile(f"{path} is damaged: its group {shown(group.name)} has no {name}.")
    if "features" in group:
        check_columns_fit(group["features"], str(path))
    there = {name: next((place for place in places if place in group), None) for name, places in COLUMNS.items()}
    if there["gene_id"] is None:
        raise RefusedFile(f"{path} is damaged: it does not name its features.")
    columns = {name: _texts(group[place], path) for name, place in there.items() if place is not None}
    count = len(columns["gene_id"])
    wrong = next((name for name, column in columns.items() if len(column) != count), None)
    if wrong is not None:
        raise RefusedFile(f"{path} is damaged: it has {len(columns[wrong])} entries of {wrong} for {count} features.")
    return columns


def _texts(dataset: Any, path: Path) -> Array:
    """Return a vector of text, stored in bytes of one length or of any."""
    if len(getattr(dataset, "shape", ())) != 1:
        raise RefusedFile(f"{path} is damaged: {shown(dataset.name)} is not a vector of text.")
    values = dataset[...]
    if values.dtype.kind == "S":
        return np.char.decode(values, "utf-8", "replace")
    return np.array([text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text) for text in values])


def _shape(group: Any, path: Path) -> tuple[int, int]:
    """Return features and cells."""
    stored = np.asarray(group["shape"][...]) if hasattr(group["shape"], "dtype") else np.zeros(0)
    if stored.shape != (2,) or stored.dtype.kind not in "iu" or int(stored.min()) < 0:
        raise RefusedFile(f"{path} is damaged: its shape is not two whole numbers.")
    return int(stored[0]), int(stored[1])


def _chosen(
    features: dict[str, Array], feature_type: str | None, genome: str | None, mask: Any, path: Path
) -> tuple[Array | None, tuple[str, ...]]:
    """Return the positions of the features to use, None for all, and a note where types are mixed."""
    count, notes = len(features["gene_id"]), tuple[str, ...]()
    used = np.ones(count, dtype=bool)
    for name, wanted in (("feature_type", feature_type), ("genome", genome)):
        there = sorted(set(features.get(name, np.array([])).tolist()))
        if wanted is not None and there:
            if wanted not in there:
                raise ValueError(
                    f"{path} has no features with {argument(name, wanted)}; there are "
                    f"{', '.join(shown(value) for value in there)}."
                )
            used &= features[name] == wanted
        elif name == "feature_type" and len(there) > 1:
            listed = ", ".join(f"{shown(value)} ({int(np.sum(features[name] == value))})" for value in there)
            notes = (f"{path} has features of several types, all of which are used: {listed}. Choose one with "
                     f"{argument('feature_type', there[0])}.",)  # fmt: skip
    if mask is not None:
        marked = np.asarray(mask)
        if marked.shape != (count,) or marked.dtype != bool:
            raise ValueError(
                f"mask has {marked.shape} entries of {marked.dtype}; {count} truth values are needed, one per feature."
            )
        used &= marked
    if not used.any():
        raise ValueError(f"{path}: no feature is left; loosen {argument('mask')} and {argument('feature_type')}.")
    return (None if used.all() else np.flatnonzero(used)), notes


def _counts(group: Any, shape: tuple[int, int], chosen: Array | None, limit: int, path: Path) -> Any:
    """Return the counts, cells by features, in memory or streamed."""
    data, indices, indptr = (group[name] for name in SPARSE_PARTS)
    try:
        rows = StoredRows(data, indices, indptr, shape[1])
        if sum(group[name].size * group[name].dtype.itemsize for name in SPARSE_PARTS) > limit:
            return BlockOperator(rows if chosen is None else SomeColumns(rows, chosen), limit)
        whole = checked_sparse(scipy.sparse.csr_array((data[...], indices[...], rows.indptr), shape=shape))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged: {reason(error)}.") from error
    return whole if chosen is None else whole[:, chosen]
