"""Files that are either whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_atomically(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to; it takes the place of `path` when the block ends, and vanishes if it fails."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            os.fchmod(file.fileno(), _mode(path))  # mkstemp makes private files; a result is an ordinary one
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(path: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new one."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0o666 & ~_umask()


def _umask() -> int:
    """Return the permissions that the user takes away from new files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
