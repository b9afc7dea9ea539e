"""Files as bytes or lines of text, gzipped or not; damage is reported with the name of the file."""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from rspca.arguments import argument
from rspca.checks import reason

PathLike = str | os.PathLike[str]

GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 20


@contextmanager
def opened(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file for reading, through gzip where its first bytes say so; damage becomes a ValueError."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; a file is needed.")
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        try:
            with cast(IO[bytes], gzip.open(raw)) if packed else raw as file:
                yield file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} is damaged or cut off ({reason(error)}); get it again.") from error


def is_gzipped(path: PathLike) -> bool:
    """Tell whether a file is gzipped, by its first bytes."""
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
    """Yield the lines of a text file without their ends (LF or CR LF) and without a byte order mark."""
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ValueError(
            f"{argument('encoding', encoding)} is not known; give for example 'utf-8' or 'latin-1'."
        ) from error
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode(encoding)
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{Path(path)}, line {number}: byte {error.object[error.start]:#04x} is not {encoding}; give the "
                    f"encoding of the file, for example {argument('encoding', 'latin-1')}."
                ) from error
            text = text.removesuffix("\n").removesuffix("\r")
            yield text.removeprefix("\ufeff") if number == 1 else text


def with_bed_suffix(path: Path) -> Path:
    """Return the .bed file that a name without suffix means, as PLINK takes it; any other path as it is."""
    if path.exists():
        return path
    beds = (path.with_name(f"{path.name}{suffix}") for suffix in (".bed", ".bed.gz", ".BED"))
    return next((bed for bed in beds if bed.is_file()), path)
