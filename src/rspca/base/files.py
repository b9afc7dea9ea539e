"""Files as bytes or lines of text, gzipped or not: bounded while they are read, damage reported by the file's name."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from rspca.base.arguments import argument
from rspca.base.checks import RefusedFile, reason
from rspca.base.memory import check_room, readable

PathLike = str | os.PathLike[str]

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
MOST_LINE = 1 << 26
"""Bytes of a line: a row of three million numbers of twenty characters."""
MOST_UNPACKED = 32 * 10**9
"""Bytes that a gzipped file may unpack to."""
MOST_RATIO, RATIO_FROM = 250, 1 << 24
"""How many times its size a gzipped file may unpack to, once it has unpacked to so many bytes.

Tables of numbers shrink to a third, sparse ones to a hundredth; deflate can make a thousand bytes of one.
"""
MOST_WINDOW = 1 << 27
"""Bytes that zstd may look back: 128 MB, its own limit unless --long is given."""
ZSTD_PIECE = 1 << 10
"""Packed bytes that zstd unpacks at a time; it makes at most some 30,000 bytes of one."""
_MEMORY_FROM = 1 << 26
_BLOCK = 1 << 20


@contextmanager
def opened(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file for reading, through gzip or zstd where its first bytes say so; damage becomes a ValueError.

    What unpacks to far more than it takes is refused while it is read, and so is what the memory has no room for.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; a file is needed.")
    with path.open("rb") as raw:
        start = raw.read(4)
        raw.seek(0)
        unpacking = _unpacking(path, raw, start)
        if start[:2] == GZIP_MAGIC:
            _check_beginning(path, raw)
        try:
            unpacked = raw if unpacking is None else io.BufferedReader(_Unpacked(path, raw, unpacking), _BLOCK)
            with cast(IO[bytes], unpacked) as file:
                yield file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} is damaged or cut off ({reason(error)}); get it again.") from error


def _unpacking(path: Path, raw: IO[bytes], start: bytes) -> Any:
    """Return a stream of the content of a compressed file, None for any other; `start` are its first bytes."""
    if start[:2] == GZIP_MAGIC:
        return gzip.GzipFile(fileobj=raw)
    return _Zstd(path, raw) if start == ZSTD_MAGIC else None


class _Zstd:
    """The content of a file compressed by zstd; what zstandard makes of damage becomes a ValueError."""

    def __init__(self, path: Path, raw: IO[bytes]) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise ImportError(f"{path} is compressed by zstd: pip install 'rspca[genetics]', or unpack it.") from error
        self.path, self.raw, self.kind = path, raw, zstandard.ZstdError
        self.new_frame = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).decompressobj
        self.frame: Any = None
        self.ready, self.packed = b"", b""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; raise if the file is damaged, or ends inside of a frame."""
        try:
            while not self.ready:
                self.packed = self.packed or self.raw.read(ZSTD_PIECE)
                if not self.packed:
                    break
                self.frame = self.frame or self.new_frame()
                self.ready, self.packed = self.frame.decompress(self.packed), b""
                if self.frame.eof:
                    self.packed, self.frame = self.frame.unused_data, None
        except self.kind as error:
            raise ValueError(f"{self.path} is damaged or cut off ({reason(error)}); get it again.") from error
        if not self.ready and self.frame is not None:
            raise ValueError(f"{self.path} is damaged or cut off (its last frame is not complete); get it again.")
        taken, self.ready = self.ready[:size], self.ready[size:]
        return taken

    def close(self) -> None:
        """Forget what was unpacked; the file below stays open."""
        self.ready = self.packed = b""


def _too_much(path: Path, limit: str) -> RefusedFile:
    return RefusedFile(
        f"{path} unpacks to more than {limit}, like a file made to fill the memory; if you trust it, unpack it with "
        "gunzip (or unzstd) and read that."
    )


def _check_beginning(path: Path, raw: IO[bytes]) -> None:
    """Raise if the first bytes of a gzipped file unpack to far too much."""
    packed, size = raw.read(RATIO_FROM // MOST_RATIO), 0
    raw.seek(0)
    member = zlib.decompressobj(wbits=31)
    with suppress(zlib.error):  # reading it will say so
        while packed:
            size += len(member.decompress(packed, _BLOCK))
            if size >= RATIO_FROM:
                raise _too_much(path, f"{MOST_RATIO} times its size")
            packed = member.unused_data if member.eof else member.unconsumed_tail
            member = zlib.decompressobj(wbits=31) if member.eof else member


class _Unpacked(io.RawIOBase):
    """The content of a compressed file, refused when it becomes too large."""

    def __init__(self, path: Path, raw: IO[bytes], file: Any) -> None:
        self.path, self.raw, self.file = path, raw, file
        self.size, self.next_look = 0, _MEMORY_FROM

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a part of the buffer, and return how much; raise where the file has become too large."""
        content = self.file.read(len(buffer))
        buffer[: len(content)] = content
        self.size += len(content)
        if self.size > MOST_UNPACKED or (self.size > RATIO_FROM and self.size > MOST_RATIO * self.raw.tell()):
            limit = f"{MOST_RATIO} times its size" if self.size <= MOST_UNPACKED else readable(MOST_UNPACKED)
            raise _too_much(self.path, limit)
        if self.size > self.next_look:  # its reader needs about as much memory
            check_room(self.size // 2, f"the rest of {self.path}, unpacked,", "Choose fewer rows or columns first.")
            self.next_look = 2 * self.size
        return len(content)

    def close(self) -> None:
        """Close the unpacking stream, but not the file below it."""
        self.file.close()
        super().close()


def is_gzipped(path: PathLike) -> bool:
    """Return whether a file is gzipped, by its first bytes."""
    with Path(path).open("rb") as file:
        return file.read(2) == GZIP_MAGIC


def read_bytes(path: PathLike) -> bytes:
    """Return the uncompressed content of a file."""
    with opened(path) as file:
        return file.read()


def blocks(path: PathLike) -> Iterator[bytes]:
    """Yield the uncompressed content of a file piece by piece."""
    with opened(path) as file:
        while block := file.read(_BLOCK):
            yield block


def lines(path: PathLike, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the lines of a text file without their ends (LF or CR LF) and without a byte order mark.

    A line of more than MOST_LINE bytes is refused as soon as so much of it is read.
    """
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ValueError(
            f"{argument('encoding', encoding)} is not known; give for example 'utf-8' or 'latin-1'."
        ) from error
    with opened(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(MOST_LINE + 1), b""), 1):
            if len(line) > MOST_LINE:
                raise RefusedFile(
                    f"{Path(path)}, line {number} is longer than {readable(MOST_LINE)}, which no table or document of "
                    "text is; store a table this wide as .npy, or with features in rows."
                )
            try:
                text = line.decode(encoding)
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{Path(path)}, line {number}: byte {error.object[error.start]:#04x} is not {encoding}; give the "
                    f"encoding of the file, for example {argument('encoding', 'latin-1')}."
                ) from error
            text = text.removesuffix("\n").removesuffix("\r")
            yield text.removeprefix("\ufeff") if number == 1 else text
