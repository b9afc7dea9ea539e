"""Find a data file in RSPCA_DATA or in the cache, or download it into the cache and check it."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from rspca.base.atomic import scratch_folder, unwritten
from rspca.base.checks import reason, shown
from rspca.base.files import GZIP_MAGIC, blocks
from rspca.datasets.registry import DataFile, Remote

RETRIES = 2
MOST_BYTES = 4 * 10**9
"""What a download may unpack to, far more than any of our data sets."""
TIMEOUT = 30.0  # seconds without a byte
_HEADERS = {"User-Agent": "rspca"}

Check = Callable[[Path], object]


def located(file: DataFile, check: Check | None = None) -> Path:
    """Return the path of a data file whose checksum is right, downloading it if it is nowhere.

    A file without a known checksum is read by `check`, which raises if it is not what it should be; the checksum of
    the checksum of the first download that passes is stored next to it and checked from then on.
    """
    if path := local(file):
        return path
    cache = cache_folder()
    if (path := found_in(cache, file)) and not _mismatch(path, file.sha256 or _remembered(path)):
        return path
    return _downloaded(file, cache, check)


def local(file: DataFile) -> Path | None:
    """Return the path of a data file below RSPCA_DATA, None where it is not there, or raise if it is another file."""
    folder = os.environ.get("RSPCA_DATA")
    if folder and not Path(folder).is_dir():
        raise ValueError(f"RSPCA_DATA={folder} is not a folder; correct it, or unset it to download data.")
    path = found_in(Path(folder), file) if folder else None
    if path and (wrong := _mismatch(path, file.sha256)):
        raise ValueError(
            f"{path} is not the file that rspca knows ({wrong}). Put the right one there, or unset RSPCA_DATA to "
            "download it."
        )
    return path


def cache_folder() -> Path:
    """Return the folder of downloaded files: RSPCA_CACHE, or rspca in the user's cache."""
    chosen = os.environ.get("RSPCA_CACHE")
    return Path(chosen) if chosen else Path(_pooch().os_cache("rspca"))


def found_in(folder: Path, file: DataFile) -> Path | None:
    """Return where a file is below this folder, gzipped or not; its content is not looked at."""
    candidates = (folder / file.path, folder / f"{file.path}.gz")
    return next((path for path in candidates if path.is_file()), None)


def _mismatch(path: Path, sha256: str | None) -> str | None:
    """Return in words how the content differs from the size and checksum that are known, or None."""
    if sha256 is None:
        return None
    try:
        return _difference(_digest(path), sha256)
    except ValueError:
        return "it is damaged or cut off"


def _digest(path: Path) -> str:
    """Return the SHA-256 of the uncompressed content, which is read piece by piece and never beyond MOST_BYTES."""
    digest, size = hashlib.sha256(), 0
    for block in blocks(path):
        digest.update(block)
        size += len(block)
        if size > MOST_BYTES:
            raise ValueError(f"{path} unpacks to more than {MOST_BYTES:,} bytes")
    return digest.hexdigest()


def _difference(found: str, expected: str) -> str | None:
    return None if found == expected else f"SHA-256 {found[:12]}... instead of {expected[:12]}..."


def _memory(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _remembered(path: Path) -> str | None:
    memory = _memory(path)
    return memory.read_text("ascii").strip() if memory.is_file() else None


def _downloaded(file: DataFile, cache: Path, check: Check | None) -> Path:
    """Download a file from the first public copy that is right; the cache changes only when all of it is there."""
    target = cache / file.path
    reasons, network_only = [], True
    pooch = _pooch()
    new = [folder for folder in (target.parent, cache) if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(target.parent, ".download-") as scratch:
            for remote in file.remotes:
                try:
                    raw = _retrieve(pooch, remote, scratch)
                    return _install(unpacked(raw, remote), file, target, scratch, check)
                except (OSError, ValueError) as error:
                    if isinstance(error, OSError) and not _from_requests(error):
                        raise
                    network_only = network_only and _from_requests(error)
                    reasons.append(f"{remote.url} ({_reason(error).replace(f'{scratch}{os.sep}', '')})")
    except PermissionError as error:
        raise PermissionError(
            f"{target.parent} cannot be written to; set RSPCA_CACHE to a folder for downloads."
        ) from error
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise unwritten(target, error, "Set RSPCA_CACHE to another folder.") from error
    finally:
        _remove_empty(new)
    message = (
        f"{target.name} could not be had from {'; '.join(reasons)}. Save it by hand as {target}, or set RSPCA_DATA to "
        f"a folder that has {file.path}."
    )
    raise ConnectionError(message) if network_only else ValueError(message)


def _retrieve(pooch: Any, remote: Remote, folder: Path) -> bytes:
    """Download a public copy with pooch, which checks it and tries again, and return its bytes."""
    name = PurePosixPath(remote.url).name
    fetcher = pooch.create(
        path=folder, base_url="", registry={name: remote.sha256}, urls={name: remote.url}, retry_if_failed=RETRIES
    )
    with _quiet(pooch.get_logger()):
        path = fetcher.fetch(name, downloader=pooch.HTTPDownloader(headers=_HEADERS, timeout=TIMEOUT))
    return Path(path).read_bytes()


def unpacked(raw: bytes, remote: Remote) -> bytes:
    """Return the file that a public copy holds, its known edits undone."""
    if remote.member is not None:
        raw = _member(raw, remote.member)
    for wrong, right in remote.repairs:
        raw = raw.replace(wrong, right)
    return raw


def _member(archive: bytes, name: str) -> bytes:
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            passed = 0
            for entry in tar:  # no member is ever written: links and names that lead elsewhere are read past
                passed += entry.size
                if passed > MOST_BYTES:
                    raise ValueError(f"more than {MOST_BYTES:,} bytes up to {shown(entry.name)}")
                if entry.isfile() and PurePosixPath(entry.name).name == name:
                    return tar.extractfile(entry).read()  # type: ignore[union-attr]  # a file has content
    except Exception as error:  # a damaged archive can fail anywhere inside of tarfile, gzip, bz2 and lzma
        raise ValueError(f"a damaged archive: {reason(error)}") from error
    raise ValueError(f"an archive without {name}")


def _install(content: bytes, file: DataFile, target: Path, scratch: Path, check: Check | None) -> Path:
    """Check the content, then move it into the cache in one step."""
    if content.startswith(GZIP_MAGIC):
        target = target.with_name(f"{target.name}.gz")
    draft = scratch / target.name
    draft.write_bytes(content)
    digest = _digest(draft)
    if file.sha256 and (wrong := _difference(digest, file.sha256)):
        raise ValueError(wrong)
    if check:
        check(draft)
    if file.sha256 is None:
        memory = scratch / _memory(target).name
        memory.write_text(f"{digest}\n", "ascii")
        os.replace(memory, _memory(target))
    os.replace(draft, target)
    return target


def _remove_empty(folders: list[Path]) -> None:
    """Remove the folders that were made for a download that failed, the innermost first."""
    for folder in folders:
        with suppress(OSError):  # it has files, or was never made
            folder.rmdir()


def _from_requests(error: Exception) -> bool:
    return type(error).__module__.startswith(("requests", "urllib3"))


def _reason(error: Exception) -> str:
    """Return one short line for what went wrong; the messages of requests run over several."""
    kind = type(error).__name__
    known = {
        "ConnectionError": "no connection",
        "SSLError": "no secure connection",
        "ConnectTimeout": "no answer in time",
        "ReadTimeout": "no answer in time",
        "ChunkedEncodingError": "the transfer broke off",
    }
    if kind in known:
        return known[kind]
    if "does not match the known hash" in str(error):  # pooch
        return "wrong checksum"
    return " ".join(str(error).split())[:300].rstrip(".")


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep a logger silent for a while: below the command line nothing prints."""
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            "Downloads need pooch: pip install 'rspca[data]', or set RSPCA_DATA to a folder that has the files."
        ) from error
    return pooch
