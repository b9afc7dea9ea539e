"""Files of cells by genes for rspca.spca: what describes them as AnnData without a matrix, and the matrix apart."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.types import Array
from rspca.formats.reading import read
from rspca.formats.registry import reader_of
from rspca.operators.base import OperatorMixin

FORMATS = (".h5ad", ".zarr", ".h5")
"""Names of the formats that hold cells by genes with what describes them."""


def annotated_path(adata: Any) -> Path | None:
    """Return the path of a file of cells by genes that exists; None for anything else."""
    if not isinstance(adata, str | os.PathLike) or "\0" in str(adata):
        return None
    path = Path(adata)
    reader = reader_of(path) if path.exists() else None
    return path if reader is not None and reader.name in FORMATS else None


def annotation_of(path: Path, layer: str | None, max_memory: int | str | None) -> Any:
    """Return an AnnData object with the obs and var of a file, and no matrix."""
    import anndata
    import pandas

    table = read(path, **_options(path, layer, max_memory))
    samples = {name: column for name, column in table.samples.items() if column is not table.sample_names}
    obs = pandas.DataFrame(samples, index=[str(name) for name in table.sample_names])
    var = pandas.DataFrame(dict(table.features), index=[str(name) for name in table.feature_names])
    return anndata.AnnData(obs=obs, var=var)


def matrix_of(
    path: Path, layer: str | None, genes: Array | None, n_genes: int, max_memory: int | str | None
) -> OperatorMixin:
    """Return the matrix of a file as an operator, all genes or those at some positions."""
    options = _options(path, layer, max_memory)
    if genes is not None:
        options["mask"] = np.isin(np.arange(n_genes), genes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `annotation_of` has given them
        return read(path, **options).operator


def stored_rows_of(op: Any) -> Any:
    """Return what rows of the data can be sliced from."""
    return op.X if hasattr(op, "X") else op.source


def _options(path: Path, layer: str | None, max_memory: int | str | None) -> dict[str, Any]:
    given = {"layer": layer, "max_memory": max_memory}
    return {name: value for name, value in given.items() if value is not None}
