"""Where results come from: input files by name, size and SHA-256, version, seed, command line, date."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rspca import __version__
from rspca.cli.support.locks import LOCK
from rspca.formats.registry import with_companions

LARGE = 2 * 10**9
"""Bytes beyond which a file is not read once more for its checksum; its ends, size and date stand for it."""
_BLOCK = 1 << 20


def provenance(inputs: list[dict[str, Any]], *, seed: int | None = None) -> dict[str, Any]:
    """Return what is needed to reproduce a result; the only paths are those that were typed."""
    return {
        "inputs": [{name: entry[name] for name in ("name", "bytes", "sha256")} for entry in inputs],
        "rspca": __version__,
        "seed": seed,
        "command": shlex.join(["rspca", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def described(data: Iterable[Path]) -> list[dict[str, Any]]:
    """Return name, size and SHA-256 of each input and its companions, such as the .bim and .fam of a .bed.

    The SHA-256 of a folder is that of the names and SHA-256 of its files. For a file larger than LARGE it is None, and
    `stamp` has the date and the SHA-256 of the first and last MiB instead.
    """
    return [_folder(path) if path.is_dir() else _file(path) for given in data for path in with_companions(given)]


def files_of(data: Iterable[Path]) -> list[Path]:
    """Return every input file with its companions; of a folder, all files in it."""
    return [
        file
        for given in data
        for path in with_companions(given)
        for file in (_files_in(path) if path.is_dir() else [path])
    ]


def _file(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    if size <= LARGE:
        with path.open("rb") as file:
            return {"name": path.name, "bytes": size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    with path.open("rb") as file:
        ends = hashlib.sha256(file.read(_BLOCK))
        file.seek(-_BLOCK, 2)
        ends.update(file.read())
    return {"name": path.name, "bytes": size, "sha256": None, "stamp": [path.stat().st_mtime_ns, ends.hexdigest()]}


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)  # results may go there


def _folder(folder: Path) -> dict[str, Any]:
    each = [_file(path) | {"name": path.relative_to(folder).as_posix()} for path in _files_in(folder)]
    whole = hashlib.sha256(
        "".join(f"{entry['name']}\0{entry['sha256']}\n" for entry in each).encode("utf-8", "replace")
    )
    return {"name": folder.name, "bytes": sum(entry["bytes"] for entry in each), "sha256": whole.hexdigest()}
