"""AnnData in HDF5, the .h5ad files: opened, and refused where they lead to other files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rspca.base.checks import RefusedFile
from rspca.formats.annotated import damaged, read_annotated
from rspca.formats.hdf5 import check_columns_fit, check_self_contained, read_hdf5
from rspca.formats.named import Named
from rspca.operators.streamed import memory_size


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
    limit = memory_size(max_memory)
    return read_hdf5(path, ".h5ad", lambda file: _read(file, path, layer, mask, limit))


def _read(file: Any, path: Path, layer: str | None, mask: Any, limit: int) -> Named:
    try:
        check_self_contained(file, str(path))
    except RefusedFile:
        raise
    except Exception as error:  # a damaged file can fail anywhere inside of h5py
        raise damaged(path, ".h5ad", error) from error

    def check(element: Any) -> None:
        if element.name in ("/obs", "/var"):
            check_columns_fit(element, str(path))

    return read_annotated(file, path, layer, mask, limit, kind=".h5ad", check=check)
