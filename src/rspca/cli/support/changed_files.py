"""Input files that change while a command works on them: noticed before anything is reported."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from rspca.cli.support.provenance import files_of
from rspca.formats.registry import READERS, reader_of

MAPPED = tuple(suffix for reader in READERS if reader.mapped for suffix in reader.suffixes)
"""Suffixes of files that are read again and again during the work; the others are in memory after the first time."""


class State(NamedTuple):
    """What is compared to see whether a file has changed."""

    size: int
    modified: int
    inode: int


class Watched:
    """Input files as they are now."""

    def __init__(self, data: list[Path]) -> None:
        self.states = {path: _state(path) for path in files_of(data)}
        folders = [path for path in data if path.is_dir()]
        self.stores = {
            file for folder in folders if (reader := reader_of(folder)) and reader.mapped for file in files_of([folder])
        }

    def check(self, consequence: str, *, mapped: bool = False) -> None:
        """Raise if an input file has changed; with `mapped`, only files that are still read are checked.

        `consequence` is the end of the message.
        """
        for path, before in self.states.items():
            still_read = path.suffix.lower() in MAPPED or path in self.stores
            if (still_read or not mapped) and (now := _state(path)) != before:
                raise OSError(f"{path} {_change(before, now)} while it was being read: {consequence}")


def _state(path: Path) -> State | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):  # a pipe has no state to compare
        return None
    return State(found.st_size, found.st_mtime_ns, found.st_ino)


def _change(before: State | None, now: State | None) -> str:
    if before is None or now is None:
        return "came or went"
    if now.size != before.size:
        return f"changed from {before.size} to {now.size} bytes"
    return "was written to" if now.inode == before.inode else "was replaced"
