"""PLINK 2 files: the header of a .pgen, the variants of a .pvar and the people of a .psam."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rspca.base.arguments import where_known
from rspca.base.checks import RefusedFile, shown
from rspca.base.files import PathLike, lines
from rspca.base.types import Array

MAGIC = b"\x6c\x1b"
VARIABLE_WIDTH = 0x10
"""Storage mode of the files that plink2 writes: records of any length, with their types and lengths in the header."""
FIXED_HEADER = 12
"""Bytes before the offsets of the blocks."""
VARIANTS_A_BLOCK = 65536
"""Variants that share an offset in the header: the format."""
MULTIALLELIC, PHASED, DOSAGES = 0x08, 0x10, 0x60
"""Bits of the type of a record: more than two alleles, phased calls, dosages."""
LINES_AT_ONCE = 1 << 13
"""Lines of a .pvar that are split before they become arrays, which take a tenth as much: limit of memory."""
_POSITION = re.compile("-?[0-9]{1,18}")
_SUFFIXES = {"pvar": (".pvar", ".pvar.zst", ".pvar.gz", ".bim"), "psam": (".psam", ".psam.zst", ".psam.gz", ".fam")}


class PgenHeader(NamedTuple):
    """Sizes of a .pgen, and what its records hold."""

    n_variants: int
    n_people: int
    record_types: Array

    @property
    def has_dosages(self) -> bool:
        """Whether a variant has dosages."""
        return bool((self.record_types & DOSAGES).any())

    @property
    def is_phased(self) -> bool:
        """Whether a variant has phased calls."""
        return bool((self.record_types & PHASED).any())


def read_pgen_header(path: Path) -> PgenHeader:
    """Return the header of a .pgen, or raise if it contradicts the size of the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(FIXED_HEADER)
        if start[:2] != MAGIC:
            raise RefusedFile(f"{path} is not a PLINK 2 .pgen file: it does not begin with 6c 1b.")
        if start[2:3] == b"\x01":
            raise RefusedFile(f"{path} is a PLINK 1 .bed file; name it {path.stem}.bed, next to its .bim and .fam.")
        if len(start) < FIXED_HEADER:
            raise _cut_off(path, size)
        if start[2] != VARIABLE_WIDTH:
            raise RefusedFile(
                f"{path} has storage mode {start[2]:#04x}, or it is damaged; only {VARIABLE_WIDTH:#04x} is read. "
                f"Write it again with plink2 --pfile {path.stem} --make-pgen --out {path.stem}2."
            )
        n_variants, n_people = (int(count) for count in np.frombuffer(start, "<u4", 2, 3))
        layout = start[11]
        if not (0 < n_variants < 2**31 and 0 < n_people < 2**31) or layout & 0x0F > 7:
            raise RefusedFile(f"{path} is damaged: its header has {n_variants} variants of {n_people} people.")
        n_blocks = -(-n_variants // VARIANTS_A_BLOCK)
        type_bits, length_bytes, allele_bytes = 4 if layout & 0x0F < 4 else 8, 1 + (layout & 3), (layout >> 4) & 3
        flags = layout >> 6 == 3
        most = n_variants * (type_bits + 8 * (length_bytes + allele_bytes) + flags) // 8
        if FIXED_HEADER + 8 * n_blocks + most > size:
            raise _cut_off(path, size)
        offsets = np.frombuffer(file.read(8 * n_blocks), "<u8")
        types = []
        for number in range(n_blocks):
            count = min(VARIANTS_A_BLOCK, n_variants - number * VARIANTS_A_BLOCK)
            packed = np.frombuffer(file.read((count * type_bits + 7) // 8), np.uint8)
            each = packed if type_bits == 8 else np.stack([packed & 15, packed >> 4], axis=1).ravel()[:count]
            raw = np.frombuffer(file.read(count * length_bytes), np.uint8).reshape(-1, length_bytes)
            file.read(count * allele_bytes + (-(-count // 8) if flags else 0))
            lengths = (raw.astype(np.int64) << (8 * np.arange(length_bytes))).sum()
            following = size if number == n_blocks - 1 else int(offsets[number + 1])
            if len(each) < count or int(offsets[number]) + int(lengths) != following:
                raise _cut_off(path, size)
            types.append(each)
        if int(offsets[0]) != file.tell():
            raise _cut_off(path, size)
    return PgenHeader(n_variants, n_people, np.concatenate(types))


def _cut_off(path: Path, size: int) -> RefusedFile:
    return RefusedFile(f"{path} is cut off or damaged: its {size:,} bytes are not those that its header describes.")


def check_counts(path: Path, header: PgenHeader, n_variants: int, n_people: int) -> None:
    """Raise unless the .pvar and the .psam have the variants and the people of the .pgen."""
    for there, here, what, other in (
        (header.n_variants, n_variants, "variants", "pvar"),
        (header.n_people, n_people, "people", "psam"),
    ):
        if there != here:
            raise RefusedFile(f"{path} has {there} {what}, and its .{other} lists {here}; it belongs to another file.")


def read_pvar(path: PathLike, encoding: str = "utf-8") -> dict[str, Array]:
    """Return the columns of a .pvar, or of a .bim: those of `read_bim`, and the number of alleles of each variant.

    Allele 1, which is counted, is ALT; allele 2 is REF. Of more than two alleles, allele 1 has all ALT alleles.
    """
    rows, parts = _pvar_rows(Path(path), encoding), list[list[Array]]()
    while block := list(itertools.islice(rows, LINES_AT_ONCE)):
        parts.append([np.array(column) for column in zip(*block, strict=True)])
    if not parts:
        raise ValueError(f"{path} is empty.")
    chromosome, snp, position, alt, ref = (np.concatenate(column) for column in zip(*parts, strict=True))
    return {
        "snp": snp,
        "chromosome": chromosome,
        "position": position.astype(np.int64),
        "allele_1": alt,
        "allele_2": ref,
        "n_alleles": 2 + np.char.count(alt, ","),
    }


def _pvar_rows(path: Path, encoding: str) -> Iterator[list[str]]:
    """Yield chromosome, id, position, ALT and REF of each variant."""
    places, begun = {"CHROM": 0, "ID": 1, "POS": 3, "ALT": 4, "REF": 5}, False
    width, headed = 6, False
    for number, line in enumerate(lines(path, encoding), 1):
        if line.startswith("##") or not line.strip():
            continue
        if line.startswith("#"):
            names = line[1:].split()
            missing = [name for name in places if name not in names]
            if missing or begun:
                raise ValueError(f"{path}, line {number}: its header has no {', '.join(missing) or 'place here'}.")
            places, width, headed = {name: names.index(name) for name in places}, len(names), True
            continue
        cells = line.split()
        if not headed and not begun and len(cells) == 5:  # a .bim without centimorgans
            places, width = {"CHROM": 0, "ID": 1, "POS": 2, "ALT": 3, "REF": 4}, 5
        if len(cells) < width:
            raise ValueError(f"{path}, line {number}: {len(cells)} columns; {width} are needed.")
        row = [cells[place] for place in places.values()]
        if not _POSITION.fullmatch(row[2]):
            raise ValueError(f"{path}, line {number}: position {shown(row[2])!r} is not a whole number.")
        begun = True
        yield row


def read_psam(path: PathLike, encoding: str = "utf-8") -> dict[str, Array]:
    """Return the people of a .psam, or of a .fam: fid ("0" where there is none) and iid."""
    path = Path(path)
    fid, iid, width, rows = 0, 1, 2, list[tuple[str, str]]()
    for number, line in enumerate(lines(path, encoding), 1):
        if not line.strip() or (line.startswith("#") and line[1:4] not in ("FID", "IID")):
            continue
        cells = line.split()
        if line.startswith("#"):
            names = line[1:].split()
            if rows or "IID" not in names:
                raise ValueError(f"{path}, line {number}: a header must come first and name the column IID.")
            fid, iid, width = names.index("FID") if "FID" in names else -1, names.index("IID"), len(names)
            continue
        if len(cells) < width:
            raise ValueError(f"{path}, line {number}: {len(cells)} columns; {width} are needed.")
        rows.append(("0" if fid < 0 else cells[fid], cells[iid]))
    if not rows:
        raise ValueError(f"{path} is empty.")
    return {name: np.array(column) for name, column in zip(("fid", "iid"), zip(*rows, strict=True), strict=True)}


def next_to_pgen(pgen: Path, kind: str) -> Path:
    """Return the .pvar or .psam next to a .pgen, plain or compressed, or the .bim or .fam in their place."""
    stem = pgen.name[: -len(pgen.suffix)] if pgen.suffix else pgen.name
    there = [file for file in (pgen.with_name(stem + suffix) for suffix in _SUFFIXES[kind]) if file.exists()]
    if not pgen.exists():
        raise FileNotFoundError(f"{pgen} does not exist.")
    if not there:
        raise FileNotFoundError(
            f"{pgen} has no {stem}.{kind} next to it; put it there{where_known(kind, f', or name it with {kind}=')}."
        )
    return there[0]


def pgen_companions(pgen: Path) -> list[Path]:
    """Return the .pvar and the .psam of a .pgen."""
    return [next_to_pgen(pgen, "pvar"), next_to_pgen(pgen, "psam")]


def with_pgen_suffix(path: Path) -> Path:
    """Return the .pgen file that a name without suffix means; any other path as it is."""
    pgen = path.with_name(f"{path.name}.pgen")
    return pgen if not path.exists() and pgen.is_file() else path


class PgenFile:
    """Variants of a .pgen, some of its people: hard calls or dosages of allele 1 in blocks. It needs Pgenlib."""

    def __init__(self, path: Path, header: PgenHeader, n_alleles: Array, people: Array | None) -> None:
        self.path, self.header = path, header
        self.people = None if people is None else np.asarray(people, dtype=np.uint32)
        several = bool((n_alleles > 2).any())
        self.offsets = np.concatenate([[0], np.cumsum(n_alleles)]).astype(np.uintp) if several else None
        self.n_people = header.n_people if people is None else len(people)
        self._opened: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what opens the file again."""
        return self.__dict__ | {"_opened": None}

    def calls(self, variants: Array) -> Array:
        """Return copies of allele 1, variants by people, in int8; -9 is missing."""
        out = np.empty((len(variants), self.n_people), dtype=np.int8)
        self._read("read_list", variants, out)
        return out

    def dosages(self, variants: Array) -> Array:
        """Return dosages of allele 1, variants by people, in float32; NaN is missing."""
        out = np.empty((len(variants), self.n_people), dtype=np.float32)
        self._read("read_dosages_list", variants, out)
        out[out < 0.0] = np.nan
        return out

    def _read(self, method: str, variants: Array, out: Array) -> None:
        try:
            getattr(self._reader(), method)(np.asarray(variants, dtype=np.uint32), out)
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"{self.path} is damaged: {' '.join(str(error).split())[:160]}.") from error

    def _reader(self) -> Any:
        if self._opened is None:
            try:
                import pgenlib
            except ImportError as error:
                raise ImportError(
                    f"{self.path}: to read .pgen needs Pgenlib: pip install 'rspca[genetics]'."
                ) from error
            self._opened = pgenlib.PgenReader(
                str(self.path).encode(),
                raw_sample_ct=self.header.n_people,
                variant_ct=self.header.n_variants,
                sample_subset=self.people,
                allele_idx_offsets=self.offsets,
            )
        return self._opened
