"""One run at a time in a folder of results: a lock file that says who holds it, and a lock that ends with its process.

The system releases the lock of a process that dies, however it dies. The file may stay behind; it counts for nothing
without the lock, and the next run takes it over. Where the system has no POSIX locks, as on Windows, filelock locks.
"""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from rspca.base.atomic import has_posix_locks, unwritten
from rspca.base.checks import shown

LOCK = ".rspca.lock"
_ATTEMPTS = 100
"""Each is one more run that ended just now, or a folder that cannot be made."""
_MOST_BYTES = 1000
"""Of a lock file, which has one short line."""


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold a folder for this run, making it if need be; raise an OSError that says who holds it otherwise.

    What was made is removed again where the block leaves nothing in it.
    """
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    path = folder / LOCK
    try:
        with _posix_lock(path) if has_posix_locks() else _other_lock(path):
            yield
    finally:
        for parent in made:
            with suppress(OSError):  # it has files
                parent.rmdir()


@contextmanager
def _posix_lock(path: Path) -> Iterator[None]:
    """Hold a lock file by a lock of the system."""
    handle = _acquired(path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before the lock is given up: whoever opened it meanwhile sees that it is gone
        os.close(handle)


@contextmanager
def _other_lock(path: Path) -> Iterator[None]:
    """Hold a lock file by filelock, which knows the locks of Windows."""
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise ImportError("This system has no POSIX locks; install filelock: pip install filelock.") from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0)
        lock.acquire()
    except Timeout as error:
        raise OSError(
            f"{path.parent} is in use by another run; wait until it ends, or choose another folder with -o."
        ) from error
    except OSError as error:
        raise unwritten(path, error, "Choose another folder with -o, or remove this file.") from error
    try:
        yield
    finally:
        lock.release()
        with suppress(OSError):  # another run holds it already
            path.unlink()


def _acquired(path: Path) -> int:
    """Return the lock file, open and locked, with this process named in it."""
    for _ in range(_ATTEMPTS):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:  # whoever made the folder has just removed it
            continue
        except OSError as error:
            raise unwritten(path, error, "Choose another folder with -o, or remove this file.") from error
        try:
            if _lock(handle, path) and not _is_at(handle, path):
                os.close(handle)
                continue
            with suppress(OSError):  # a full disk: the lock holds all the same
                os.truncate(handle, 0)
                os.pwrite(handle, _description().encode(), 0)
        except BaseException:
            os.close(handle)
            raise
        return handle
    raise OSError(f"{path.parent} is made and removed again and again by other runs; choose another folder with -o.")


def _lock(handle: int, path: Path) -> bool:
    """Lock an open file; return whether its file system can do so; raise if another process holds it."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OSError(
            f"{path.parent} is in use by another run, {_holder(handle)}; wait until it ends, or choose another folder "
            "with -o."
        ) from error
    except OSError as error:
        message = (error.strerror or str(error)).lower()
        warnings.warn(
            f"{path.parent} cannot be locked ({message}); do not start a second run into it.", UserWarning, stacklevel=2
        )
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Return whether an open file still has this name, and was not removed by its last holder."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _description() -> str:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"pid": os.getpid(), "host": platform.node(), "since": since}) + "\n"


def _holder(handle: int) -> str:
    """Return in words which process holds a lock, as it wrote into the file."""
    try:
        owner = json.loads(os.pread(handle, _MOST_BYTES, 0))
        pid, host, since = (shown(owner[name]) for name in ("pid", "host", "since"))
    except (OSError, ValueError, KeyError, TypeError):  # it has not written that yet, or could not
        return "which does not say its name"
    return f"process {pid} on {host} since {since}"
