"""Zarr stores, folders of format 2 or 3: opened, and every array looked at before it is read.

A chunk that is not stored reads as the fill value, so a store that lost files would read as zeros. A codec named in the
metadata can run code (pickle), and a link can lead to any other file. All three are refused, but for chunks of what
only describes the data: zarr itself leaves out a chunk of zeros, and a column of one category is nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.arguments import argument, where_known
from rspca.base.checks import RefusedFile, check_choice, reason, shown
from rspca.base.memory import check_room, has_room, readable
from rspca.formats.zarr_arrays import chunk_bytes

ROOT_FILES = ("zarr.json", ".zgroup")
"""Files that the root of a store has, in format 3 and in format 2."""
METADATA_FILES = {*ROOT_FILES, ".zarray", ".zattrs", ".zmetadata"}
"""Files that hold no chunk."""
MISSING_CHUNKS = ("error", "fill")
"""What to do with chunks that are not stored."""
SAFE_CODECS = {
    "adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "fixedscaleoffset",
    "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits", "pcodec", "quantize", "sharding_indexed",
    "shuffle", "transpose", "vlen-array", "vlen-bytes", "vlen-utf8", "zfpy", "zlib", "zstd",
}  # fmt: skip
"""Codecs that only unpack numbers and text."""
BLOSC_HEADER = 16
"""Bytes of the header of a Blosc buffer, which holds its unpacked and its packed size."""


def is_store(path: Path) -> bool:
    """Return whether a folder is a Zarr store, by its name or by the files in it."""
    return path.is_dir() and (path.suffix.lower() == ".zarr" or any((path / name).is_file() for name in ROOT_FILES))


def opened_store(path: Path, kind: str, extra: str) -> Any:
    """Return the root group of a store; `kind` and `extra` are what errors call the format and what installs it."""
    try:
        import zarr
        from zarr.storage import LocalStore
    except ImportError as error:
        raise ImportError(f"{path}: to read {kind} needs zarr 3: pip install 'rspca[{extra}]'.") from error
    if not path.is_dir():
        raise RefusedFile(f"{path} is not a Zarr store, which is a folder; unpack it first if it is an archive.")
    if not any((path / name).is_file() for name in ROOT_FILES):
        raise RefusedFile(f"{path} is not a Zarr store, or it is damaged: it has no {' and no '.join(ROOT_FILES)}.")
    try:
        return zarr.open_group(LocalStore(path, read_only=True), mode="r", use_consolidated=False)
    except Exception as error:  # metadata that is no JSON, or of an unknown version
        raise ValueError(f"{path} is not a Zarr store, or it is damaged: {reason(error)}") from error


def check_arrays(element: Any, path: Path, missing_chunks: str) -> None:
    """Raise unless all arrays of a group, or an array, are stored in this folder, whole, with codecs that are known."""
    check_choice("missing_chunks", missing_chunks, MISSING_CHUNKS)
    for array in arrays_of(element, path):
        check_array(array, path, missing_chunks)


def check_fits(element: Any, path: Path) -> None:
    """Raise unless there is memory for all arrays of a group."""
    size = sum(prod(array.shape) * max(array.dtype.itemsize, 16) for array in arrays_of(element, path))
    check_room(size, f"{shown(element.path)} of {path}, unpacked,", "Drop columns that are not needed.")


def arrays_of(element: Any, path: Path) -> Iterator[Any]:
    """Yield an array, or all arrays of a group, opened one after another.

    zarr opens members at the same time, and prints the errors of all but the first.
    """
    if not hasattr(element, "members"):
        yield element
        return
    folder = path / element.path
    for place, folders, files in os.walk(folder):
        folders.sort()
        _check_no_links(place, folders, path)
        name = Path(place).relative_to(folder).as_posix()
        if not METADATA_FILES.isdisjoint(files) and name != ".":
            member = element[name]
            if not hasattr(member, "members"):
                folders.clear()
                yield member


def check_array(array: Any, path: Path, missing_chunks: str = "error") -> int:
    """Raise unless an array has known codecs and all its chunks are files of the store; return how many are not."""
    unknown = sorted(set(_codec_names(array)) - SAFE_CODECS)
    if unknown:
        raise RefusedFile(
            f"{path}: {shown(array.path)} is packed with {shown(', '.join(unknown))}, which is not known to be safe to "
            "unpack. Write it with zstd or blosc where you trust it."
        )
    folder = path / array.path
    if folder.resolve() != path.resolve() / array.path:
        raise RefusedFile(f"{path}: {shown(array.path)} is a link to another place. Copy the data into the store.")
    grid = array.shards or array.chunks
    if min((*grid, *array.chunks), default=1) < 1:
        raise RefusedFile(f"{path} is damaged: {shown(array.path)} has chunks of shape {shown(grid)}.")
    expected = prod(-(-side // step) for side, step in zip(array.shape, grid, strict=True))
    if not has_room(chunk_bytes(array)):
        size = readable(chunk_bytes(array))
        raise RefusedFile(f"{path}: a chunk of {shown(array.path)} takes {size}. Write it with smaller chunks.")
    stored = 0
    blosc = _is_blosc(array)
    for file in _chunk_files(folder, path):
        stored += 1
        if blosc:
            _check_blosc(file, chunk_bytes(array), path)
    if stored < expected and missing_chunks == "error":
        raise incomplete(path, array, f"{expected - stored:,} of the {expected:,}")
    return max(0, expected - stored)


def incomplete(path: Path, array: Any, count: str) -> RefusedFile:
    """Return what to say of a store whose chunks are not all there."""
    fill = where_known(
        "missing_chunks", f", or give {argument('missing_chunks', 'fill')} if they are meant to be empty"
    )
    return RefusedFile(
        f"{path} is incomplete: {count} chunks of {shown(array.path)} are not stored, and would be read as "
        f"{array.fill_value or 0}. Copy it again{fill}."
    )


def _chunk_files(folder: Path, path: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        _check_no_links(place, [*folders, *files], path)
        for name in files:
            if name not in METADATA_FILES:
                yield Path(place, name)


def _check_no_links(place: str, names: list[str], path: Path) -> None:
    for name in names:
        if os.path.islink(os.path.join(place, name)):
            raise RefusedFile(f"{path}: {shown(name)} is a link to another place. Copy the data into the store.")


def _codec_names(array: Any) -> Iterator[str]:
    """Yield the names of all codecs of an array, of format 2 or 3, those inside of shards included."""
    described = array.metadata.to_dict()
    pending = [*(described.get("filters") or ()), *(described.get("codecs") or ()), described.get("compressor")]
    while pending:
        codec = pending.pop()
        if codec is None:
            continue
        yield str(codec.get("id", codec.get("name"))).removeprefix("numcodecs.")
        inner = codec.get("configuration") or {}
        pending += [*inner.get("codecs", ()), *inner.get("index_codecs", ())]


def _is_blosc(array: Any) -> bool:
    """Return whether chunk files are Blosc buffers of numbers."""
    described = array.metadata.to_dict()
    last = described.get("compressor") or (described.get("codecs") or [None])[-1]
    return last is not None and last.get("id", last.get("name")) == "blosc" and array.dtype.kind in "biuf"


def _check_blosc(file: Path, size: int, path: Path) -> None:
    """Raise unless the sizes in the header of a Blosc buffer are true: it is unpacked without another look at them."""
    with file.open("rb") as opened:
        header = np.frombuffer(opened.read(BLOSC_HEADER).ljust(BLOSC_HEADER, b"\0"), dtype="<u4")
    if int(header[3]) != file.stat().st_size or int(header[1]) > size:
        raise RefusedFile(
            f"{path} is damaged: {file.relative_to(path)} has {readable(file.stat().st_size)}, its header says "
            f"{readable(int(header[3]))}, {readable(int(header[1]))} unpacked."
        )
