"""Files that are either complete or absent: written under a temporary name next to their place, then renamed.

A process that is killed leaves what it was writing behind. Every draft is locked by the process that writes it, and a
lock ends with its process: whoever writes to the same place next removes the drafts that nobody holds. Windows has no
such locks, but does not remove or rename a file that is open: there a draft that is written is open, and is closed
before it is renamed.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, NamedTuple

_DRAFT, _RANDOM = ".tmp", "[a-z0-9_]{8}"
"""How names of drafts end, and what tempfile puts before that."""


@contextmanager
def written_atomically(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to; it takes the place of `path` when the block ends, and vanishes if it fails.

    A pipe or a device is no place that something can take: it is written to as it is. Inside of `replaced_together`
    the file takes its place when that block ends.
    """
    if is_special(path):
        try:
            with path.open("wb") as file:
                yield file
        except OSError as error:
            if error.filename is not None or error.errno in (None, errno.EPIPE):
                raise
            raise unwritten(path, error, "Choose another place.") from error
        return
    remove_abandoned(path.parent, f".{path.name}.", folders=False)
    handle, temporary = _draft(path)
    locks, held_back = has_posix_locks(), _held_back.get()
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), _mode(path))  # mkstemp makes private files; a result is an ordinary one
            file.flush()
            os.fsync(file.fileno())
            if held_back is not None:
                held_back.append(Draft(os.dup(file.fileno()) if locks else None, temporary, path))
                return
            if locks:
                os.replace(temporary, path)  # before the lock is given up with the file
        if not locks:
            os.replace(temporary, path)
    except BaseException as error:
        with suppress(FileNotFoundError):  # moved into place, and then interrupted
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is None and error.errno is not None:  # a write knows no name
            raise unwritten(path, error, "What was there before is untouched.") from error
        raise
    _keep_name(path.parent)


class Draft(NamedTuple):
    """A file that is written and not yet renamed; the handle holds its lock, where there are locks."""

    handle: int | None
    temporary: str
    path: Path


_held_back: ContextVar[list[Draft] | None] = ContextVar("_held_back", default=None)


@contextmanager
def replaced_together() -> Iterator[None]:
    """Rename all files that the block writes when it ends; none of them if it fails.

    So the files of a result are never mixed with those of an earlier result because a write failed. A
    process that is killed between two of the moves at the end can leave such a folder; nothing else can.
    """
    drafts = list[Draft]()
    token = _held_back.set(drafts)
    try:
        try:
            yield
        finally:
            _held_back.reset(token)
        for draft in drafts:
            os.replace(draft.temporary, draft.path)
        for folder in dict.fromkeys(draft.path.parent for draft in drafts):
            _keep_name(folder)
    finally:
        for draft in drafts:
            with suppress(FileNotFoundError):  # in its place
                os.unlink(draft.temporary)
            if draft.handle is not None:
                os.close(draft.handle)


@contextmanager
def scratch_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Give a private folder that is removed when the block ends; first remove those of killed processes."""
    remove_abandoned(parent, prefix, folders=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=prefix, suffix=_DRAFT) as folder:
        if not has_posix_locks():  # the folder of a killed process stays until somebody removes it
            yield Path(folder)
            return
        handle = os.open(folder, os.O_RDONLY)
        try:
            _lock(handle, wait=True)
            yield Path(folder)
        finally:
            os.close(handle)


def unwritten(path: Path | str, error: OSError, advice: str) -> OSError:
    """Return an error that names the file that could not be written, with the system's words for it and its number."""
    named = OSError(f"{path} could not be written: {(error.strerror or str(error)).lower()}. {advice}")
    named.errno = error.errno
    return named


def remove_abandoned(folder: Path, prefix: str, *, folders: bool) -> None:
    """Remove drafts with this prefix, files or folders, whose processes have ended."""
    draft = re.compile(re.escape(prefix) + _RANDOM + re.escape(_DRAFT))
    with suppress(OSError):  # a folder that cannot be listed: whether it can be written to shows next
        for entry in os.scandir(folder):
            kind = entry.is_dir if folders else entry.is_file
            if draft.fullmatch(entry.name) and kind(follow_symlinks=False):
                _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(draft: Path) -> None:
    with suppress(OSError):  # gone meanwhile, or another user's, or open on Windows
        if not has_posix_locks():
            if not draft.is_dir():
                draft.unlink()
            return
        handle = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            if not _lock(handle):
                return
            if draft.is_dir():
                shutil.rmtree(draft, ignore_errors=True)
            else:
                draft.unlink()
        finally:
            os.close(handle)


def _draft(path: Path) -> tuple[int, str]:
    """Return a new locked file next to `path`; it is created again if another run removed it before it was locked."""
    while True:
        try:
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_DRAFT)
        except OSError as error:  # which names the draft
            raise type(error)(error.errno, error.strerror, str(path)) from error
        if not has_posix_locks():
            return handle, name
        _lock(handle, wait=True)
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)


def is_special(path: Path) -> bool:
    """Return whether this is a pipe, a device, or a link of the system such as /dev/stdout."""
    system = path.is_symlink() and path.absolute().is_relative_to("/dev")
    return path.exists() and not path.is_dir() and (system or not path.is_file())


def has_posix_locks() -> bool:
    """Return whether the system locks open files, as Linux and macOS do; Windows does not."""
    return importlib.util.find_spec("fcntl") is not None


def _lock(handle: int, *, wait: bool = False) -> bool:
    """Lock an open file for this process; return whether that was possible."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another process writes it, or the file system knows no locks: then nothing counts as abandoned
        return False
    return True


def _keep_name(folder: Path) -> None:
    """Flush the folder of a file, so that its new name survives a power cut."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
