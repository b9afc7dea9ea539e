"""HDF5 files that hold all of their data themselves: what leads to other files is refused, and never opened.

External storage, external links and virtual datasets let a file name any other file of the system, whose bytes would
be taken for data. Soft links stay inside of their file, and what they point to is looked at where it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.checks import RefusedFile, reason, shown
from rspca.base.memory import check_room
from rspca.formats.named import Named
from rspca.operators.streamed import BlockOperator

SPARSE_PARTS = ("data", "indices", "indptr")
"""Datasets of a sparse matrix, as anndata stores it."""
ADVICE = "Copy the data into one file, for example with anndata.read_h5ad and write_h5ad where you trust it."


def read_hdf5(path: Path, kind: str, read: Callable[[Any], Named]) -> Named:
    """Return what `read` makes of an HDF5 file, which stays open if data are streamed from it.

    Parameters
    ----------
    path : path
        The file.
    kind : str
        What errors call such files.
    read : callable
        Takes the root group.
    """
    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"{path}: to read {kind} needs h5py and anndata: pip install 'rspca[anndata]'.") from error
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise ValueError(f"{path} is not an HDF5 file, or it is cut off: {reason(error)}") from error
    found = None
    try:
        found = read(file)
        return found
    finally:
        if found is None or not isinstance(found.X, BlockOperator):
            with suppress(Exception):  # a damaged file may fail even here
                file.close()


def check_self_contained(root: Any, where: str) -> None:
    """Raise if anything in an HDF5 file leads to another file; nothing that does is opened.

    Parameters
    ----------
    root : h5py.File, or its root group
        The file.
    where : str
        What an error calls it.
    """
    import h5py

    for name, link in _links(root):
        if isinstance(link, h5py.ExternalLink):
            raise RefusedFile(f"{where}: {shown(name)} is a link to {shown(link.filename)}, another file. {ADVICE}")
        if link is None:
            raise RefusedFile(f"{where}: {shown(name)} is a link of a kind that is not known. {ADVICE}")
        if not isinstance(link, h5py.Dataset):
            continue
        if link.is_virtual:
            raise RefusedFile(f"{where}: {shown(name)} is a virtual dataset, a view of other files. {ADVICE}")
        if link.external is not None:
            other = shown(link.external[0][0])
            raise RefusedFile(f"{where}: the data of {shown(name)} are in {other}, another file. {ADVICE}")


def _links(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path of every link in a file with what it is: a dataset, a link to elsewhere, or None if not known.

    Groups that several links lead to are entered once, so that circles end.
    """
    import h5py

    entered, pending = set[Any](), [("", root)]
    while pending:
        path, group = pending.pop()
        place = h5py.h5o.get_info(group.id)
        if (place.fileno, place.addr) in entered:
            continue
        entered.add((place.fileno, place.addr))
        for name in group:
            here = f"{path}/{name}"
            try:
                link = group.get(name, getlink=True)
            except TypeError:  # h5py knows hard, soft and external links
                link = None
            if not isinstance(link, h5py.HardLink):
                yield here, link
                continue
            found = group[name]
            if isinstance(found, h5py.Group):
                pending.append((here, found))
            else:
                yield here, found


def check_sparse_group(group: Any, where: str) -> None:
    """Raise unless a group holds a sparse matrix as anndata stores it: three vectors whose lengths and types fit."""
    by_rows = str(group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", ""))).startswith("csr")
    check_sparse_parts(group, _stored_shape(group), by_rows, where)


def check_sparse_parts(group: Any, shape: tuple[int, int] | None, by_rows: bool, where: str) -> None:
    """Raise unless a group holds the three vectors of a sparse matrix of this shape, stored by rows or by columns."""
    name = shown(str(getattr(group, "name", "X")).lstrip("/") or "X")
    for part in SPARSE_PARTS:
        if part not in group:
            raise RefusedFile(
                f"{where} is damaged: {name} has no {part}; a sparse matrix has {', '.join(SPARSE_PARTS)}."
            )
        stored = group[part]
        allowed = "biuf" if part == "data" else "iu"
        if not hasattr(stored, "dtype") or len(stored.shape or ()) != 1 or stored.dtype.kind not in allowed:
            kind = f"has shape {stored.shape} and type {stored.dtype}" if hasattr(stored, "dtype") else "is a group"
            needed = "numbers" if part == "data" else "whole numbers"
            raise RefusedFile(f"{where} is damaged: {name}/{part} {shown(kind, 80)}; a vector of {needed} is needed.")
    if shape is None:
        raise RefusedFile(f"{where} is damaged: {name} has no attribute shape of two whole numbers.")
    entries, pointers = (group[part].shape[0] for part in ("data", "indptr"))
    if group["indices"].shape[0] != entries:
        raise RefusedFile(
            f"{where} is damaged: {name}/indices has {group['indices'].shape[0]} entries, {name}/data {entries}."
        )
    if pointers != (shape[0] if by_rows else shape[1]) + 1:
        sides = f"{shape[0]} x {shape[1]}, by {'rows' if by_rows else 'columns'}"
        raise RefusedFile(f"{where} is damaged: {name}/indptr has {pointers} entries for a matrix of {sides}.")


def _stored_shape(group: Any) -> tuple[int, int] | None:
    stored = np.asarray(group.attrs.get("shape", group.attrs.get("h5sparse_shape", ())))
    if stored.shape != (2,) or stored.dtype.kind not in "iu" or int(stored.min()) < 0:
        return None
    return int(stored[0]), int(stored[1])


def check_columns_fit(group: Any, where: str) -> None:
    """Raise unless there is memory for all datasets of a group, which compressed may be small."""
    sizes = [
        dataset.size * max(dataset.dtype.itemsize, 16) for _, dataset in _links(group) if getattr(dataset, "size", None)
    ]
    check_room(
        sum(sizes), f"{shown(group.name.lstrip('/'))} of {where}, unpacked,", "Drop columns that are not needed."
    )
