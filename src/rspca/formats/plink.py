"""PLINK 1 genotypes (.bed, .bim, .fam) as a matrix of allele counts: the plain reading, in NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rspca.checks import check_choice
from rspca.formats.files import PathLike, lines, read_bytes

Array = NDArray[Any]

MISSING = ("mean", "nan")
_BLOCK = 2048
# Two bits a person, the lowest first: 00 two copies of allele 1, 01 missing, 10 one copy, 11 none.
_COUNTS = np.array([2.0, np.nan, 1.0, 0.0], dtype=np.float32)
_COUNTS_OF_BYTE = _COUNTS[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]


class Genotypes(NamedTuple):
    """Allele counts of people by variants, and who and what they are."""

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
) -> Genotypes:
    r"""Return the genotypes of a PLINK 1 file: copies (0, 1, 2) of allele 1 of each variant.

    Parameters
    ----------
    bed : path
        The .bed file; it and the other two may be gzipped.
    bim, fam : path, optional
        The other two files; by default those beside `bed`, with or without ``.gz``.
    chromosome : int or str, optional
        Only the variants of this chromosome, as column 1 of the .bim names it.
    missing : {"mean", "nan"}
        What stands for a missing call: the mean of its variant (0 where no call was made), or NaN.
    dtype : data-type
        A floating-point type.

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
    chromosomes, variants = _columns(bim or _beside(bed, "bim"), (0, 1))
    _, people = _columns(fam or _beside(bed, "fam"), (0, 1))
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
    if content[:2] != b"\x6c\x1b":
        raise ValueError(f"{name} is not a PLINK 1 .bed file: it does not begin with 6c 1b.")
    if content[2:3] != b"\x01":
        raise ValueError(f"{name} lists people first, not variants; convert it with plink --make-bed.")
    width = (n_people + 3) // 4
    expected = 3 + n_variants * width
    if len(content) != expected:
        raise ValueError(
            f"{name} has {len(content)} bytes; {n_variants} variants of {n_people} people take {expected}. "
            "It is cut off, or its .bim or .fam belongs to another file."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=3).reshape(n_variants, width)


def allele_counts(packed: NDArray[np.uint8], n_people: int, missing: str, dtype: DTypeLike) -> Array:
    """Return rows of a .bed (variants by bytes) as counts of allele 1, people by variants."""
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


def _beside(bed: Path, suffix: str) -> Path:
    """Return the file of another suffix beside a .bed or .bed.gz, as it is or gzipped."""
    stem = bed.name.removesuffix(".gz").removesuffix(".bed")
    plain, packed = bed.with_name(f"{stem}.{suffix}"), bed.with_name(f"{stem}.{suffix}.gz")
    if not plain.exists() and not packed.exists():
        raise FileNotFoundError(f"{bed} has no {plain.name} beside it; name it with {suffix}=...")
    return plain if plain.exists() else packed


def _columns(path: PathLike, which: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two columns of a .bim or .fam; both have six."""
    rows = []
    for number, line in enumerate(lines(path), 1):
        fields = line.split()
        if len(fields) != 6:
            raise ValueError(f"{Path(path)}, line {number}: {len(fields)} columns; a .bim and a .fam have 6.")
        rows.append(tuple(fields[i] for i in which))
    if not rows:
        raise ValueError(f"{Path(path)} is empty.")
    first, second = zip(*rows, strict=True)
    return first, second
