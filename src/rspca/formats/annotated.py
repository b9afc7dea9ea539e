"""AnnData on disk, in HDF5 or Zarr: X or a layer, some of the variables, in memory if small and streamed if not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.arguments import argument
from rspca.base.checks import RefusedFile, reason
from rspca.base.types import Array
from rspca.formats.archives import checked_sparse
from rspca.formats.hdf5 import SPARSE_PARTS, check_sparse_group
from rspca.formats.named import Named, plain
from rspca.formats.zarr_arrays import is_zarr_array, vector_of, with_bands
from rspca.operators.stored_rows import SomeColumns, StoredRows
from rspca.operators.streamed import BlockOperator


def read_annotated(
    root: Any,
    path: Path,
    layer: str | None,
    mask: Any,
    limit: int,
    *,
    kind: str,
    check: Callable[[Any], None],
) -> Named:
    """Return the matrix of AnnData on disk, with obs and var as properties of samples and features.

    Parameters
    ----------
    root : group of h5py or zarr
        The root of the file.
    path : path
        What errors call it.
    layer, mask
        A layer instead of X, and the variables to use.
    limit : int
        Bytes that the matrix, or its blocks, may take.
    kind : str
        The format, in errors.
    check : callable
        Called with X or the layer, with obs and with var before they are read; raises if one must not be read.
    """
    try:
        from anndata.io import read_elem, sparse_dataset
    except ImportError as error:
        raise ImportError(f"{path}: to read {kind} needs anndata 0.11: pip install 'rspca[anndata]'.") from error
    try:
        stored = _element(root, path, layer)
        if hasattr(stored, "keys"):
            check_sparse_group(stored, str(path))
        for element in (stored, root["obs"], root["var"]):
            check(element)
    except (RefusedFile, MemoryError):
        raise
    except Exception as error:  # a damaged file can fail anywhere inside of h5py or zarr
        raise damaged(path, kind, error) from error
    try:
        obs, var = read_elem(root["obs"]), read_elem(root["var"])
        X = sparse_dataset(stored) if hasattr(stored, "keys") else stored
        shape, _ = tuple(X.shape), np.dtype(X.dtype)
    except Exception as error:  # and of anndata
        raise damaged(path, kind, error) from error
    if shape != (len(obs), len(var)):
        raise ValueError(f"{path}: the matrix has shape {shape}, and obs and var have {len(obs)} and {len(var)} rows.")
    chosen = chosen_variables(var, mask, "mask")
    variables = var if chosen is None else var.iloc[chosen]
    twice = variables.index[variables.index.duplicated()]
    if len(twice):
        raise ValueError(f"{path}: variables occur more than once: {twice[0]}, ...; use adata.var_names_make_unique().")
    return Named(
        load_or_stream(X, chosen, limit, str(path)),
        [str(name) for name in variables.index],
        [str(name) for name in obs.index],
        {str(name): plain(variables[name]) for name in variables},
        {str(name): plain(obs[name]) for name in obs},
    )


def damaged(path: Path, kind: str, error: Exception) -> ValueError:
    """Return what to say of a file that another package could not read."""
    return ValueError(f"{path} is not a {kind} file of this layout, or it is damaged: {reason(error)}")


def is_on_disk(X: Any) -> bool:
    """Return whether X is a matrix of AnnData that is read when it is sliced: a sparse dataset, or an array of Zarr."""
    return is_zarr_array(X) or (hasattr(X, "group") and hasattr(X, "to_memory"))


def chosen_variables(var: Any, mask: Any, name: str) -> Array | None:
    """Return the positions of the variables that a column of var, or an array of truth values, marks; None for all."""
    if mask is None:
        return None
    if isinstance(mask, str):
        if mask not in var:
            there = ", ".join(map(str, var)) or "none"
            raise ValueError(f"{name}={mask!r} is no column of var; its columns are {there}.")
        marked, what = np.asarray(var[mask]), f"{name}={mask!r}"
    else:
        index: Any = getattr(mask, "index", None)
        if hasattr(index, "equals") and not index.equals(var.index):  # a pandas Series in another order
            raise ValueError(f"{name} has another index than var; give it as {name}.reindex(adata.var_names).")
        marked, what = np.asarray(mask), name
    if marked.shape != (len(var),) or marked.dtype != bool:
        raise ValueError(f"{what} has {marked.shape} entries of {marked.dtype}; {len(var)} truth values are needed.")
    if not marked.any():
        raise ValueError(f"{what} marks no variable; at least one is needed.")
    return np.flatnonzero(marked)


def load_or_stream(X: Any, columns: Array | None, limit: int, where: str) -> Any:
    """Return a matrix on disk in memory if it takes no more than `limit` bytes, else streamed in as much.

    Parameters
    ----------
    X : HDF5 dataset, Zarr array, or sparse dataset of anndata
        The matrix on disk.
    columns : array
        Columns to use, or None.
    limit : int
        Bytes.
    where : str
        What an error calls the file.
    """
    group = getattr(X, "group", None)
    if group is None:
        if int(np.prod(X.shape, dtype=object)) * X.dtype.itemsize <= limit:
            dense = _loaded(lambda: X[...], where)
            return dense if columns is None else dense[:, columns]
        X = with_bands(X, limit, where) if is_zarr_array(X) else X
        return BlockOperator(X if columns is None else SomeColumns(X, columns), limit)
    check_sparse_group(group, where)
    size = sum(group[name].size * group[name].dtype.itemsize for name in SPARSE_PARTS)
    if size <= limit:
        loaded = _checked(_loaded(X.to_memory, where), where)
        return loaded if columns is None else loaded[:, columns]
    if X.format != "csr":
        raise ValueError(
            f"{where}: its matrix takes {size:,} bytes and is stored by columns (CSC), so its rows cannot be read in "
            f"blocks. Raise {argument('max_memory')}, or write it by rows with scipy.sparse.csr_matrix."
        )
    try:
        data, indices, indptr = (vector_of(group[name], limit, where) for name in SPARSE_PARTS)
        rows = StoredRows(data, indices, indptr, X.shape[1])
    except ValueError as error:
        raise ValueError(f"{where} is damaged: {error}.") from error
    return BlockOperator(rows if columns is None else SomeColumns(rows, columns), limit)


def _loaded(load: Callable[[], Any], where: str) -> Any:
    """Return what is loaded; what SciPy, h5py and zarr make of damage, and of contradictions, becomes one line."""
    try:
        return load()
    except (ValueError, IndexError, TypeError, OSError, RuntimeError, KeyError) as error:
        raise ValueError(f"{where} is damaged: {reason(error)}.") from error


def _element(file: Any, path: Path, layer: str | None) -> Any:
    missing = [name for name in ("obs", "var") if name not in file]
    if missing:
        raise RefusedFile(f"{path} has no {' and no '.join(missing)}, so it is no AnnData file.")
    if any(not hasattr(file[name], "keys") for name in ("obs", "var")):  # one array of records each, before anndata 0.7
        raise RefusedFile(
            f"{path} has the layout of anndata before 0.7. Write it again with a new one: "
            f"anndata.read_h5ad({path.name!r}).write_h5ad('new.h5ad')."
        )
    layers = list(file["layers"]) if "layers" in file else []
    if layer is None:
        if "X" not in file or file["X"].attrs.get("encoding-type") == "null":
            raise RefusedFile(
                f"{path} has no X; give one of its layers as {argument('layer')}: {', '.join(layers) or 'none'}."
            )
        return file["X"]
    if layer not in layers:
        raise RefusedFile(f"{path} has no layer {layer!r}; its layers are {', '.join(layers) or 'none'}.")
    return file["layers"][layer]


def _checked(X: Any, where: str) -> Any:
    """Return a sparse matrix after a look at every index: products do not look."""
    try:
        return checked_sparse(scipy.sparse.csc_array(X) if X.format == "csc" else scipy.sparse.csr_array(X))
    except ValueError as error:
        raise ValueError(f"{where} is damaged: {reason(error)}.") from error
