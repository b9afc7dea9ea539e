"""PLINK 1 genotypes (.bed, .bim, .fam) as a matrix of allele counts: the plain reading, in NumPy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rspca.base.arguments import where_known
from rspca.base.atomic import replaced_together, written_atomically
from rspca.base.checks import check_choice, rectangular, shown
from rspca.base.files import GZIP_MAGIC, PathLike, lines, read_bytes
from rspca.base.memory import check_room
from rspca.base.types import Array

MISSING = ("mean", "nan")
_POSITION = re.compile("-?[0-9]{1,18}")
_BLOCK = 2048
# Two bits a person, the lowest first: 00 two copies of allele 1, 01 missing, 10 one copy, 11 none.
_COUNTS = np.array([2.0, np.nan, 1.0, 0.0], dtype=np.float32)
_CODES = np.array([3, 2, 0], dtype=np.uint8)
_COUNTS_OF_BYTE = _COUNTS[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]


class Genotypes(NamedTuple):
    """Allele counts of people by variants, with the names of both."""

    matrix: Array  # people x variants: copies of allele 1
    people: tuple[str, ...]  # IID, column 2 of the .fam
    variants: tuple[str, ...]  # column 2 of the .bim
    chromosomes: tuple[str, ...]  # column 1 of the .bim, one per variant


def read_plink(
    bed: PathLike,
    *,
    bim: PathLike | None = None,
    fam: PathLike | None = None,
    chromosome: int | str | None = None,
    missing: str = "mean",
    dtype: DTypeLike = np.float32,
    encoding: str = "utf-8",
) -> Genotypes:
    r"""Return the genotypes of a PLINK 1 file: copies (0, 1, 2) of allele 1 of each variant.

    Parameters
    ----------
    bed : path
        The .bed file; it and the other two may be gzipped.
    bim, fam : path, optional
        The other two files; by default those next to `bed`, with or without ``.gz``.
    chromosome : int or str, optional
        Only the variants of this chromosome, as column 1 of the .bim names it.
    missing : {"mean", "nan"}
        What stands for a missing call: the mean of its variant (0 where no call was made), or NaN.
    dtype : data-type
        A floating-point type.
    encoding : str
        Of the text in .bim and .fam.

    Examples
    --------
    >>> import os, rspca.formats, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bed = os.path.join(folder, "toy.bed")
    ...     with open(bed, "wb") as file:
    ...         _ = file.write(bytes([0x6C, 0x1B, 0x01, 0b01_10_11_00]))  # people from right to left
    ...     with open(os.path.join(folder, "toy.bim"), "w") as file:
    ...         print("1 rs1 0 100 A G", file=file)
    ...     with open(os.path.join(folder, "toy.fam"), "w") as file:
    ...         print(*(f"F P{i} 0 0 1 -9" for i in range(4)), sep="\n", file=file)
    ...     toy = rspca.formats.read_plink(bed)
    >>> toy.matrix.ravel().tolist(), toy.variants
    ([2.0, 0.0, 1.0, 1.0], ('rs1',))
    """
    check_choice("missing", missing, MISSING)
    if np.dtype(dtype).kind != "f":
        raise TypeError(f"dtype={np.dtype(dtype)} must be a floating-point type: missing calls become means or NaN.")
    bed = Path(bed)
    chromosomes, variants, *_ = _table(bim or next_to(bed, "bim"), encoding)
    _, people, *_ = _table(fam or next_to(bed, "fam"), encoding)
    packed = packed_rows(read_bytes(bed), len(people), len(variants), str(bed))
    if chromosome is not None:
        chosen = np.flatnonzero(np.array(chromosomes) == str(chromosome))
        if not len(chosen):
            known = ", ".join(dict.fromkeys(chromosomes))
            raise ValueError(f"chromosome={chromosome!r} has no variants in {bed}; it has {known}.")
        packed = packed[chosen]
        variants = tuple(variants[i] for i in chosen)
        chromosomes = tuple(chromosomes[i] for i in chosen)
    return Genotypes(allele_counts(packed, len(people), missing, dtype), people, variants, chromosomes)


def packed_rows(content: bytes, n_people: int, n_variants: int, name: str) -> NDArray[np.uint8]:
    """Return the bytes of a .bed as one row per variant, or raise if they cannot be such a file."""
    _check_bed(content[:3], len(content), n_people, n_variants, name)
    return np.frombuffer(content, dtype=np.uint8, offset=3).reshape(n_variants, -1)


def mapped_rows(bed: PathLike, n_people: int, n_variants: int) -> NDArray[np.uint8]:
    """Return the rows of a .bed, one per variant, mapped from disk."""
    bed = Path(bed)
    with bed.open("rb") as file:
        start = file.read(3)
    if start[:2] == GZIP_MAGIC:
        raise ValueError(f"{bed} is gzipped; a file that is mapped from disk must not be: gunzip it first.")
    _check_bed(start, bed.stat().st_size, n_people, n_variants, str(bed))
    return np.memmap(bed, dtype=np.uint8, mode="r", offset=3).reshape(n_variants, -1)


def _check_bed(start: bytes, size: int, n_people: int, n_variants: int, name: str) -> None:
    if start[:2] != b"\x6c\x1b":
        raise ValueError(f"{name} is not a PLINK 1 .bed file: it does not begin with 6c 1b.")
    if start[2:3] == b"\x00":
        raise ValueError(f"{name} lists people first, not variants; convert it with plink --make-bed.")
    if start[2:3] != b"\x01":
        raise ValueError(f"{name} is not a PLINK 1 .bed file, or it is damaged: its third byte is neither 00 nor 01.")
    expected = 3 + n_variants * ((n_people + 3) // 4)
    if size != expected:
        raise ValueError(
            f"{name} has {size} bytes; {n_variants} variants of {n_people} people take {expected}. "
            "It is cut off, or its .bim or .fam belongs to another file."
        )


def allele_counts(packed: NDArray[np.uint8], n_people: int, missing: str, dtype: DTypeLike) -> Array:
    """Return rows of a .bed (variants by bytes) as counts of allele 1, people by variants."""
    check_room(
        n_people * len(packed) * np.dtype(dtype).itemsize,
        f"{n_people} people by {len(packed)} variants, unpacked,",
        "rspca.read keeps genotypes packed, in 2 bits each.",
    )
    X = np.empty((n_people, len(packed)), dtype=dtype)
    for start in range(0, len(packed), _BLOCK):
        rows = packed[start : start + _BLOCK]
        block = _COUNTS_OF_BYTE[rows].reshape(len(rows), -1)[:, :n_people].T
        X[:, start : start + _BLOCK] = with_means(block) if missing == "mean" else block
    return X


def with_means(X: Array) -> Array:
    """Return X with every NaN replaced by the mean of its column; 0 where a column has nothing else."""
    missing = np.isnan(X)
    mean = np.where(missing, 0, X).sum(axis=0, dtype=np.float64) / np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, mean.astype(X.dtype), X)


def next_to(bed: Path, suffix: str) -> Path:
    """Return the file of another suffix next to a .bed or .bed.gz, plain or gzipped, in lower or upper case."""
    stem = re.sub(r"\.bed(\.gz)?$", "", bed.name, flags=re.IGNORECASE)
    endings = (suffix, f"{suffix}.gz", suffix.upper(), f"{suffix.upper()}.GZ")
    there = [file for file in (bed.with_name(f"{stem}.{ending}") for ending in endings) if file.exists()]
    if not there:
        raise FileNotFoundError(
            f"{bed} has no {stem}.{suffix} next to it; put it there"
            f"{where_known(suffix, f', or name it with {suffix}=')}."
        )
    return there[0]


def companions(bed: Path) -> list[Path]:
    """Return the .bim and the .fam of a .bed."""
    return [next_to(bed, "bim"), next_to(bed, "fam")]


def with_bed_suffix(path: Path) -> Path:
    """Return the .bed file that a name without suffix means, as PLINK takes it; any other path as it is."""
    if path.exists():
        return path
    beds = (path.with_name(f"{path.name}{suffix}") for suffix in (".bed", ".bed.gz", ".BED"))
    return next((bed for bed in beds if bed.is_file()), path)


def read_bim(path: PathLike, encoding: str = "utf-8") -> dict[str, Array]:
    """Return the columns of a .bim that describe variants: chromosome, snp, position, allele_1, allele_2."""
    chromosome, snp, _, position, allele_1, allele_2 = _table(path, encoding)
    for line, cell in enumerate(position, 1):
        if not _POSITION.fullmatch(cell):
            raise ValueError(f"{Path(path)}, line {line}: position {shown(cell)!r} is not a whole number.")
    return {
        "snp": np.array(snp),
        "chromosome": np.array(chromosome),
        "position": np.array(position, dtype=np.int64),
        "allele_1": np.array(allele_1),
        "allele_2": np.array(allele_2),
    }


def read_fam(path: PathLike, encoding: str = "utf-8") -> dict[str, Array]:
    """Return the columns of a .fam that name people: fid and iid."""
    fid, iid, *_ = _table(path, encoding)
    return {"fid": np.array(fid), "iid": np.array(iid)}


def write_plink(
    bed: PathLike, X: Any, *, variants: Mapping[str, Any] | None = None, people: Mapping[str, Any] | None = None
) -> None:
    """Write genotypes (0, 1, 2 copies of allele 1; NaN or negative: missing) as .bed, .bim and .fam.

    Parameters
    ----------
    bed : path
        The .bed file; the other two are written next to it; all three replace what was there.
    X : array
        People by variants.
    variants, people : mappings
        Columns as `read_bim` and `read_fam` return them (and cm, of variants); made-up names and positions for those
        not given.

    Examples
    --------
    >>> import os, rspca.formats, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rspca.formats.write_plink(os.path.join(folder, "toy.bed"), [[0, 2], [1, float("nan")], [2, 2]])
    ...     rspca.formats.read_plink(os.path.join(folder, "toy.bed"), missing="nan").matrix
    array([[ 0.,  2.],
           [ 1., nan],
           [ 2.,  2.]], dtype=float32)
    """
    bed, X = Path(bed), rectangular("X", X)
    if X.ndim != 2 or X.size == 0 or X.dtype.kind not in "biuf":
        raise ValueError(f"X has shape {X.shape} and dtype {X.dtype}; people by variants are needed, as numbers.")
    m, n = X.shape
    for start in range(0, n, _BLOCK):
        _check_genotypes(X[:, start : start + _BLOCK])
    number = np.arange(n)
    bim = _written(
        "variants",
        variants,
        n,
        {
            "chromosome": np.full(n, "1"),
            "snp": np.char.add("snp", number.astype(str)),
            "cm": np.zeros(n, dtype=int),
            "position": 1000 * (number + 1),
            "allele_1": np.full(n, "A"),
            "allele_2": np.full(n, "G"),
        },
    )
    names = np.arange(m).astype(str)
    fam = _written("people", people, m, {"fid": np.char.add("F", names), "iid": np.char.add("I", names)})
    text = {
        "bim": "".join("\t".join(line) + "\n" for line in zip(*bim, strict=True)),
        "fam": "".join(f"{f}\t{i}\t0\t0\t0\t-9\n" for f, i in zip(*fam, strict=True)),
    }
    with replaced_together():
        with written_atomically(bed) as file:
            file.write(b"\x6c\x1b\x01")
            for start in range(0, n, _BLOCK):
                file.write(pack(X[:, start : start + _BLOCK]).tobytes())
        for suffix, content in text.items():
            with written_atomically(bed.with_suffix(f".{suffix}")) as beside_it:
                beside_it.write(content.encode())


def _written(what: str, given: Mapping[str, Any] | None, count: int, columns: dict[str, Array]) -> list[list[str]]:
    """Return columns as text, those given in place of those made up, or raise if they could not be read again."""
    given = {} if given is None else {str(name): given[name] for name in given}
    unknown = sorted(set(given) - set(columns) - {"frequency", "missing"})  # these two are in a table, not in a .bim
    if unknown:
        raise ValueError(f"{what} has {', '.join(unknown)}; the columns that can be written are {', '.join(columns)}.")
    texts = []
    for name, made_up in columns.items():
        column = np.asarray(given.get(name, made_up))
        if column.shape != (count,):
            raise ValueError(f"{what}[{name!r}] has shape {column.shape}; {count} entries are needed.")
        if name == "position" and column.dtype.kind == "f" and np.all(column == np.rint(column)):
            column = column.astype(np.int64)
        text = [str(cell) for cell in column.tolist()]
        wrong = next((cell for cell in text if len(cell.split()) != 1 or cell.split()[0] != cell), None)
        if wrong is not None:
            raise ValueError(f"{what}[{name!r}] has {shown(wrong)!r}; an entry must not be empty or have white space.")
        wrong = next((cell for cell in text if name == "position" and not _POSITION.fullmatch(cell)), None)
        if wrong is not None:
            raise ValueError(f"{what}['position'] has {shown(wrong)!r}, which is not a whole number.")
        texts.append(text)
    return texts


def pack(X: Array) -> NDArray[np.uint8]:
    """Return genotypes (people by variants; NaN or negative: missing) as rows of a .bed."""
    observed = _check_genotypes(X)
    codes = np.ones((X.shape[1], -(-X.shape[0] // 4) * 4), dtype=np.uint8)
    codes[:, X.shape[0] :] = 0
    people = codes[:, : X.shape[0]]
    people[observed.T] = _CODES[X.T[observed.T].astype(np.intp)]
    return np.bitwise_or.reduce(codes.reshape(len(codes), -1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8), axis=2)


def _check_genotypes(X: Array) -> Array:
    """Return which genotypes were called, or raise if some are none."""
    observed = X >= 0  # False for NaN
    if not np.isin(X[observed], (0, 1, 2)).all():
        raise ValueError("X holds values other than 0, 1, 2 and missing (NaN or negative): those are not genotypes.")
    return np.asarray(observed)


def _table(path: PathLike, encoding: str) -> list[tuple[str, ...]]:
    """Return the columns of a .bim or .fam; both have six. Empty lines are none of their rows."""
    rows = []
    for number, line in enumerate(lines(path, encoding), 1):
        fields = line.split()
        if fields and len(fields) != 6:
            raise ValueError(f"{Path(path)}, line {number}: {len(fields)} columns; a .bim and a .fam have 6.")
        if fields:
            rows.append(fields)
    if not rows:
        raise ValueError(f"{Path(path)} is empty.")
    return list(zip(*rows, strict=True))
