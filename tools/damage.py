"""Damage to files, for the fuzzer: what disks, transfers, editors and enemies do to bytes."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

Content = bytes | dict[str, bytes]
"""A file, or the members of an archive, each of which is damaged by itself and packed again with right checksums."""
Files = dict[str, Content]

_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_NUMBERS = (
    b"0", b"-1", b"1", b"2", b"-9", b"3.5", b"1e999", b"-1e999", b"1e308", b"nan", b"NaN", b"inf", b"Infinity", b"null",
    b"true", b"1_000", b"007", b"4294967296", b"2147483648", b"9223372036854775807", b"9223372036854775808",
    b"1" * 30, b"9" * 4500, "\u0663".encode(), "\u00b2".encode(), b"1,5", b"0x10", b"[]", b"{}", b'"a"', b"1e-400",
)  # fmt: skip
_TOKENS = (
    b"\t", b"\n", b"\r", b"\r\n", b" ", b",", b";", b"|", b'"', b'""', b"'", b"\0", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\x80", b"#", b"%", b"!", b".", b"..", b"../", b"/", b"\\", b"-", b"=", b"{", b"[", b"\x1f\x8b", b"PK\x03\x04",
    b"\x93NUMPY", b"PAR1", b"\x89HDF", "\u2028".encode(), "\u0085".encode(), b"\xed\xa0\x80", b"\x1c", b"\x0b",
)  # fmt: skip
_INTEGERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
LARGEST = 20_000
"""Bytes that a file may grow to: absurd sizes must come from headers, not from the fuzzer."""


def damaged(files: Files, others: list[Files], words: tuple[bytes, ...], rng: random.Random) -> Files:
    """Return the files with one to several kinds of damage; `others` are what can be spliced in."""
    found: Files = {name: dict(one) if isinstance(one, dict) else one for name, one in files.items()}
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        name = rng.choice(list(found))
        content = found[name]
        if isinstance(content, dict):
            _damage_archive(content, [o[name] for o in others if name in o], words, rng)
        else:
            donors = [one for o in others if isinstance(one := o.get(name, b""), bytes)]
            found[name] = _changed(content, donors, words, rng)
    return found


def write(folder: Path, files: Mapping[str, Content]) -> None:
    """Write the files into a folder, archives packed without compression; empty archives become empty files."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(packed(content) if isinstance(content, dict) else content)


def packed(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a ZIP archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def _damage_archive(
    members: dict[str, bytes], others: list[Content], words: tuple[bytes, ...], rng: random.Random
) -> None:
    names = list(members)
    if not names:
        return
    name, act = rng.choice(names), rng.random()
    if act < 0.06:
        del members[name]
    elif act < 0.12:
        members[name] = members[rng.choice(names)]
    elif act < 0.15:
        members[rng.choice(("other.npy", "../evil.npy", "/abs.npy", f"{name}.npy"))] = members[name]
    else:
        donors = [one[name] for one in others if isinstance(one, dict) and name in one]
        members[name] = _changed(members[name], donors, words, rng)


def _changed(content: bytes, donors: list[bytes], words: tuple[bytes, ...], rng: random.Random) -> bytes:
    changed = rng.choice(_CHANGES)(content, donors, words, rng)
    return changed[:LARGEST]


def _flip(content: bytes, _: list[bytes], __: tuple[bytes, ...], rng: random.Random) -> bytes:
    if not content:
        return b"\0"
    out = bytearray(content)
    for _i in range(rng.choice((1, 1, 2, 8))):
        out[_place(content, rng) % len(out)] ^= 1 << rng.randrange(8)
    return bytes(out)


def _random_byte(content: bytes, _: list[bytes], __: tuple[bytes, ...], rng: random.Random) -> bytes:
    if not content:
        return bytes([rng.randrange(256)])
    i = _place(content, rng)
    return content[:i] + bytes([rng.randrange(256)]) + content[i + 1 :]


def _delete(content: bytes, _: list[bytes], __: tuple[bytes, ...], rng: random.Random) -> bytes:
    i = _place(content, rng)
    return content[:i] + content[i + rng.choice((1, 1, 2, 4, 16, 100)) :]


def _repeat(content: bytes, _: list[bytes], __: tuple[bytes, ...], rng: random.Random) -> bytes:
    i = _place(content, rng)
    chunk = content[i : i + rng.choice((1, 4, 16, 64, 300))]
    return content[:i] + chunk * rng.choice((2, 2, 3, 20)) + content[i + len(chunk) :]


def _cut(content: bytes, _: list[bytes], __: tuple[bytes, ...], rng: random.Random) -> bytes:
    return content[: _place(content, rng)] if rng.random() < 0.9 else b""


def _insert(content: bytes, _: list[bytes], words: tuple[bytes, ...], rng: random.Random) -> bytes:
    i = _place(content, rng)
    return content[:i] + rng.choice((*_TOKENS, *words, *words)) + content[i + rng.choice((0, 0, 1)) :]


def _number(content: bytes, _: list[bytes], __: tuple[bytes, ...], rng: random.Random) -> bytes:
    spots = list(_NUMBER.finditer(content))
    if not spots:
        return _integer(content, [], (), rng)
    spot = rng.choice(spots)
    return content[: spot.start()] + rng.choice(_NUMBERS) + content[spot.end() :]


def _integer(content: bytes, _: list[bytes], __: tuple[bytes, ...], rng: random.Random) -> bytes:
    size = rng.choice((1, 2, 4, 8))
    value = (rng.choice(_INTEGERS) & ((1 << 8 * size) - 1)).to_bytes(size, rng.choice(("little", "big")))
    i = _place(content, rng)
    return content[:i] + value + content[i + size :]


def _splice(content: bytes, donors: list[bytes], __: tuple[bytes, ...], rng: random.Random) -> bytes:
    donor = rng.choice(donors) if donors else content
    return content[: _place(content, rng)] + donor[_place(donor, rng) :]


def _lines(content: bytes, _: list[bytes], __: tuple[bytes, ...], rng: random.Random) -> bytes:
    rows = content.splitlines(keepends=True)
    if len(rows) < 2:
        return content + content
    i, j = rng.randrange(len(rows)), rng.randrange(len(rows))
    rows[i], rows[j] = rows[j], rng.choice((rows[i], rows[j], b""))
    return b"".join(rows)


def _place(content: bytes, rng: random.Random) -> int:
    """Return a place in the content; headers are at its beginning, and get half of the damage."""
    if not content:
        return 0
    return rng.randrange(min(len(content), 128)) if rng.random() < 0.5 else rng.randrange(len(content))


_CHANGES = (_flip, _random_byte, _delete, _repeat, _cut, _insert, _insert, _number, _number, _integer, _splice, _lines)
