"""AnnData in Zarr stores of format 2 and 3: the same layout as .h5ad, in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rspca.base.checks import check_choice, shown
from rspca.formats.annotated import read_annotated
from rspca.formats.named import Named
from rspca.formats.zarr_store import (
    MISSING_CHUNKS,
    arrays_of,
    check_array,
    check_arrays,
    check_fits,
    is_store,
    opened_store,
)
from rspca.operators.streamed import memory_size


def is_anndata_store(path: Path) -> bool:
    """Return whether a folder is a Zarr store of AnnData, or a damaged one by its name."""
    return is_store(path) and path.suffix.lower() != ".vcz" and not (path / "call_genotype").exists()


def read_anndata_zarr(
    path: Path,
    *,
    layer: str | None = None,
    mask: str | Iterable[bool] | None = None,
    max_memory: int | str | None = None,
    missing_chunks: str = "error",
) -> Named:
    """Return the matrix of a Zarr store of AnnData; it needs anndata and zarr, the extras ``anndata`` and ``zarr``.

    A matrix that is larger than `max_memory`, dense or by rows (CSR), stays on disk and is read in blocks of rows.
    Stores with links to other places, or with codecs that could run code, are refused.

    Parameters
    ----------
    path : path
        The folder.
    layer : str
        A layer to read instead of X.
    mask : str, or truth values
        Variables to use: a column of var such as "highly_variable", or one truth value each; None: all.
    max_memory : int or str
        Such as "500MB": what a matrix may take, or its blocks if it takes more; None: 1 GiB.
    missing_chunks : {"error", "fill"}
        What to do with chunks that are not stored: refuse the store, which may have lost them, or read them as the fill
        value. Writers leave out chunks of zeros. Columns of obs and var that lack some, but for the names and the mask,
        are read in any case, and a warning names them.
    """
    limit = memory_size(max_memory)
    check_choice("missing_chunks", missing_chunks, MISSING_CHUNKS)
    root = opened_store(path, ".zarr", "anndata,zarr")

    partial = list[str]()

    def check(element: Any) -> None:
        if element.path not in ("obs", "var"):
            check_arrays(element, path, missing_chunks)
            return
        partial.extend(_columns_with_absent_chunks(element, path, f"var/{mask}", missing_chunks))
        check_fits(element, path)

    named = read_annotated(root, path, layer, mask, limit, kind=".zarr", check=check)
    return replace(named, notes=_notes(path, partial) if missing_chunks == "error" else ())


def _columns_with_absent_chunks(element: Any, path: Path, mask: str, missing_chunks: str) -> list[str]:
    """Return the columns of obs or var that are not stored as a whole; raise if names or the mask are not."""
    names, found = str(element.attrs.get("_index", "_index")), dict[str, None]()
    for array in arrays_of(element, path):
        column = "/".join(array.path.split("/")[:2])
        needed = column in (f"{element.path}/{names}", mask) or array.size > element[names].size
        if check_array(array, path, missing_chunks if needed else "fill"):
            found[column] = None
    return list(found)


def _notes(path: Path, columns: list[str]) -> tuple[str, ...]:
    if not columns:
        return ()
    named = shown(", ".join(columns[:5])) + (", ..." if len(columns) > 5 else "")
    return (f"{path}: chunks of {named} are not stored, and are read as 0 or empty, as what writers leave out.",)
