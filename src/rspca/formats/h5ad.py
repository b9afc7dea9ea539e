"""AnnData files: X or a layer, some of the variables, read into memory if small and streamed from disk if not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.arguments import argument
from rspca.base.checks import RefusedFile, reason
from rspca.base.types import Array
from rspca.formats.archives import checked_sparse
from rspca.formats.hdf5 import SPARSE_PARTS, check_columns_fit, check_self_contained, check_sparse_group
from rspca.formats.named import Named, plain
from rspca.operators.stored_rows import SomeColumns, StoredRows
from rspca.operators.streamed import BlockOperator, memory_size


def read_h5ad(
    path: Path,
    *,
    layer: str | None = None,
    mask: str | Iterable[bool] | None = None,
    max_memory: int | str | None = None,
) -> Named:
    """Return the matrix of an AnnData file; it needs anndata, the extra ``anndata``.

    Nothing else in the file is read but obs, which describes the samples, and var, which describes the features. A
    matrix that is larger than `max_memory`, dense or by rows (CSR), stays on disk and is read in blocks of rows. A file
    that leads to others (external storage, external links, virtual datasets) is refused.

    Parameters
    ----------
    path : path
        The file.
    layer : str
        A layer to read instead of X.
    mask : str, or truth values
        Variables to use: a column of var such as "highly_variable", or one truth value each; None: all.
    max_memory : int or str
        Such as "500MB": what a matrix may take, or its blocks if it takes more; None: 1 GiB.
    """
    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"{path}: to read .h5ad needs anndata: pip install 'rspca[anndata]'.") from error
    limit = memory_size(max_memory)
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise ValueError(f"{path} is not a .h5ad file, or it is cut off: {reason(error)}") from error
    found = None
    try:
        found = _read(file, path, layer, mask, limit)
        return found
    finally:
        if found is None or not isinstance(found.X, BlockOperator):
            with suppress(Exception):  # a damaged file may fail even here
                file.close()


def _read(file: Any, path: Path, layer: str | None, mask: Any, limit: int) -> Named:
    try:
        from anndata.io import read_elem, sparse_dataset
    except ImportError as error:
        raise ImportError(f"{path}: to read .h5ad needs anndata 0.11: pip install 'rspca[anndata]'.") from error
    try:
        check_self_contained(file, str(path))
        stored = _element(file, path, layer)
        if hasattr(stored, "keys"):
            check_sparse_group(stored, str(path))
        for group in (file["obs"], file["var"]):
            check_columns_fit(group, str(path))
    except (RefusedFile, MemoryError):
        raise
    except Exception as error:  # a damaged file can fail anywhere inside of h5py
        raise _damaged(path, error) from error
    try:
        obs, var = read_elem(file["obs"]), read_elem(file["var"])
        X = sparse_dataset(stored) if hasattr(stored, "keys") else stored
        shape, _ = tuple(X.shape), np.dtype(X.dtype)
    except Exception as error:  # and of anndata
        raise _damaged(path, error) from error
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
    X : HDF5 dataset, or sparse dataset of anndata
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
        rows = StoredRows(group["data"], group["indices"], group["indptr"], X.shape[1])
    except ValueError as error:
        raise ValueError(f"{where} is damaged: {error}.") from error
    return BlockOperator(rows if columns is None else SomeColumns(rows, columns), limit)


def _loaded(load: Callable[[], Any], where: str) -> Any:
    """Return what is loaded; what SciPy and h5py make of damage, and of contradictions, becomes one line."""
    try:
        return load()
    except (ValueError, IndexError, TypeError, OSError) as error:
        raise ValueError(f"{where} is damaged: {reason(error)}.") from error


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is not a .h5ad file of this layout, or it is damaged: {reason(error)}")


def _element(file: Any, path: Path, layer: str | None) -> Any:
    missing = [name for name in ("obs", "var") if name not in file]
    if missing:
        raise RefusedFile(f"{path} has no {' and no '.join(missing)}, so it is no AnnData file.")
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
