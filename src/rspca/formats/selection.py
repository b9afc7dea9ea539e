"""Which SNPs and people of PLINK files are used: by chromosome, name, region, frequency and missing calls."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rspca.checks import shown
from rspca.formats.files import PathLike, lines
from rspca.formats.named import Array
from rspca.formats.plink import read_fam
from rspca.formats.regions import LONG_RANGE_LD, bare_name, inside, read_regions

AUTOSOMES = tuple(str(number) for number in range(1, 23))


def same_people(paths: Sequence[Path]) -> dict[str, Array]:
    """Return the people of one .fam, the same in all."""
    first, *others = (read_fam(path) for path in paths)
    for path, other in zip(paths[1:], others, strict=True):
        if not all(np.array_equal(first[name], other[name]) for name in ("fid", "iid")):
            raise ValueError(f"{path} and {paths[0]} do not list the same people in the same order.")
    pairs = np.char.add(np.char.add(first["fid"], " "), first["iid"])
    check_distinct(paths[0], pairs, "person (FID IID)", "give each a name of their own")
    return first


def check_distinct(path: object, names: Array, what: str, advice: str) -> None:
    """Raise if a name occurs more than once."""
    values, counts = np.unique(names, return_counts=True)
    if len(values) < len(names):
        twice = values[counts > 1]
        some = ", ".join(shown(one, 80) for one in twice[:3]) + (", ..." if len(twice) > 3 else "")
        raise ValueError(f"{path}: {len(twice)} {what}(s) occur more than once: {some}; {advice}.")


def chosen_snps(
    table: Mapping[str, Array], chromosomes: str | Iterable[str | int], snps: Any, exclude: PathLike | None
) -> Array:
    """Return the rows of one .bim that are to be used."""
    kept = np.ones(len(table["snp"]), dtype=bool)
    if chromosomes != "all":
        names = {str(c) for c in np.unique(table["chromosome"])}
        wanted = {bare_name(one) for one in (AUTOSOMES if chromosomes == "autosomes" else _names(chromosomes))}
        kept &= np.isin(table["chromosome"], [one for one in names if bare_name(one) in wanted])
    if snps is not None:
        kept &= np.isin(table["snp"], [line[0] for line in _listed(snps)])
    if exclude is not None:
        regions = LONG_RANGE_LD[str(exclude)] if str(exclude) in LONG_RANGE_LD else _regions_of(exclude)
        kept &= ~inside(table["chromosome"], table["position"], regions)
    return np.flatnonzero(kept)


def _regions_of(exclude: PathLike) -> Any:
    if not Path(exclude).exists():
        known = ", ".join(LONG_RANGE_LD)
        raise FileNotFoundError(f"exclude={str(exclude)!r} is neither one of {known} nor a BED file that exists.")
    return read_regions(exclude)


def _names(chromosomes: str | Iterable[str | int]) -> list[str]:
    return [chromosomes] if isinstance(chromosomes, str | int) else [str(one) for one in chromosomes]


def nothing_left(tables: Sequence[Mapping[str, Array]], chromosomes: Any) -> str:
    """Return what to say where no SNP was chosen."""
    there = dict.fromkeys(name for table in tables for name in table["chromosome"].tolist())
    return (
        f"No SNP is left: chromosomes={chromosomes!r}, and those there are {', '.join(there)}. "
        'Choose among these, give chromosomes="all", or loosen snps and exclude.'
    )


def chosen_people(people: Mapping[str, Array], samples: Any) -> Array | None:
    """Return the rows of the .fam that are to be used, or None for all."""
    if samples is None:
        return None
    wanted = _listed(samples)
    pairs = {line for line in wanted if len(line) > 1}
    singles = {line[0] for line in wanted if len(line) == 1}
    names = list(zip(people["fid"].tolist(), people["iid"].tolist(), strict=True))
    chosen = np.array([i for i, (f, one) in enumerate(names) if (f, one) in pairs or one in singles], dtype=np.intp)
    if not len(chosen):
        raise ValueError(f"None of the {len(wanted)} samples asked for is in the .fam; give IIDs, or FID and IID.")
    if len(chosen) < len(wanted):
        warnings.warn(f"{len(wanted) - len(chosen)} of the {len(wanted)} samples asked for are not in the .fam.",
                      UserWarning, stacklevel=4)  # fmt: skip
    return chosen


def _listed(names: Any) -> list[tuple[str, ...]]:
    """Return a list of names, or of pairs of them, given as such or as a file of lines."""
    if isinstance(names, str | os.PathLike):
        return [tuple(line.split()[:2]) for line in lines(names) if line.strip()]
    return [(str(one),) if isinstance(one, str | int | np.generic) else tuple(map(str, one)) for one in names]


def kept_snps(snps: Array, frequency: Array, missing: Array, min_frequency: float, max_missing: float) -> Array:
    """Return the SNPs that are common enough and called often enough."""
    if max_missing == 1.0 and np.any(missing == 1.0):
        empty = snps[missing == 1.0]
        raise ValueError(
            f"{len(empty)} SNP(s) have no call at all, the first is {empty[0]}; leave them out with max_missing=0.99."
        )
    kept = np.flatnonzero((np.minimum(frequency, 1.0 - frequency) >= min_frequency) & (missing <= max_missing))
    if not len(kept):
        raise ValueError(f"No SNP has min_frequency={min_frequency} and max_missing={max_missing}; loosen them.")
    return kept
