"""Which SNPs and people of PLINK files are used: by chromosome, name, region, frequency and missing calls."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import shown
from rspca.base.files import PathLike, lines
from rspca.base.types import Array
from rspca.genetics.chromosomes import Naming, compared_names, left_out_note, naming_of, requested_names, sex_note
from rspca.genetics.plink import read_fam
from rspca.genetics.regions import LONG_RANGE_LD, inside, read_regions


def same_people(
    paths: Sequence[Path], encoding: str, read: Callable[[Path, str], dict[str, Array]] = read_fam
) -> dict[str, Array]:
    """Return the people of the .fam files, or of what `read` reads, which must list the same ones."""
    first, *others = (read(path, encoding) for path in paths)
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
        some = ", ".join(shown(name, 80) for name in twice[:3]) + (", ..." if len(twice) > 3 else "")
        raise ValueError(f"{path}: {len(twice)} {what}(s) occur more than once: {some}; {advice}.")


class Chosen(NamedTuple):
    """The rows of each .bim that are to be used, and what was left out by chromosome, in words."""

    rows: list[Array]
    note: str
    sex_note: str
    """What to say of SNPs in use on sex chromosomes."""


def select_snps(tables: Sequence[Mapping[str, Array]], chromosomes: Any, snps: Any, exclude: PathLike | None) -> Chosen:
    """Return the rows of each .bim that are used; warn of chromosomes and SNPs that are in none."""
    asked = None if snps is None else list(dict.fromkeys(line[0] for line in _listed("snps", snps)))
    naming = naming_of(tables)
    names = [compared_names(table["chromosome"], naming) for table in tables]
    on_chromosomes = _on_chromosomes(names, chromosomes, naming)
    regions = None if exclude is None else _regions_of(exclude, naming)
    found = set[str]()
    rows = []
    for table, places, used in zip(tables, names, on_chromosomes, strict=True):
        mask = used.copy()
        if asked is not None:
            listed = np.isin(table["snp"], asked)
            found.update(table["snp"][listed].tolist())
            mask &= listed
        if regions is not None:
            mask &= ~inside(places, table["position"], regions)
        rows.append(np.flatnonzero(mask))
    if asked is not None:
        _warn_of_absent("SNPs", [name for name in asked if name not in found], len(asked), stacklevel=6)
    labels = [table["chromosome"] for table in tables]
    in_use = [np.isin(np.arange(len(places)), chosen) for places, chosen in zip(names, rows, strict=True)]
    left_out = left_out_note(labels, on_chromosomes, naming, autosomes=is_autosomes(chromosomes))
    return Chosen(rows, left_out, sex_note(names, in_use, naming))


def is_autosomes(chromosomes: Any) -> bool:
    """Return whether the autosomes are asked for, and not chromosomes by name."""
    return isinstance(chromosomes, str) and chromosomes == "autosomes"


def _on_chromosomes(names: Sequence[Array], chromosomes: Any, naming: Naming) -> list[Array]:
    """Return which SNPs of each .bim lie on the chromosomes asked for; warn of those that are not there."""
    there = {str(name) for each in names for name in np.unique(each)}
    if isinstance(chromosomes, str) and chromosomes == "all":
        used = there
    elif is_autosomes(chromosomes):
        used = {name for name in there if naming.is_autosome(name)}
    else:
        wanted = requested_names(chromosomes, naming, there)
        used = there & set(wanted)
        absent = [name for name in wanted if name not in there]
        if used:  # if none is there, nothing is left, which is an error
            _warn_of_absent("chromosomes", absent, len(wanted), stacklevel=7)
    return [np.isin(each, list(used)) for each in names]


def _warn_of_absent(what: str, absent: Sequence[str], asked: int, *, stacklevel: int) -> None:
    if absent:
        some = ", ".join(shown(name, 80) for name in absent[:3]) + (", ..." if len(absent) > 3 else "")
        warnings.warn(
            f"{len(absent)} of the {asked} {what} asked for are not in the data: {some}.",
            UserWarning,
            stacklevel=stacklevel,
        )


def _regions_of(exclude: PathLike, naming: Naming) -> Any:
    """Return regions with their chromosomes named as those of the .bim are compared."""
    if str(exclude) in LONG_RANGE_LD:
        return LONG_RANGE_LD[str(exclude)]
    if not Path(exclude).exists():
        known = ", ".join(LONG_RANGE_LD)
        raise FileNotFoundError(
            f"{argument('exclude', str(exclude))} is neither one of {known} nor a BED file that exists."
        )
    return [region._replace(chromosome=naming.of_request(region.chromosome)) for region in read_regions(exclude)]


def no_snp_message(tables: Sequence[Mapping[str, Array]], chromosomes: Any) -> str:
    """Return what to say where no SNP was chosen."""
    there = dict.fromkeys(name for table in tables for name in table["chromosome"].tolist())
    return (
        f"No SNP is left: {argument('chromosomes', chromosomes)}, and those there are {', '.join(there)}. "
        f"Choose among these, give {argument('chromosomes', 'all')}, or loosen {argument('snps')} and "
        f"{argument('exclude')}."
    )


def select_people(people: Mapping[str, Array], samples: Any) -> Array | None:
    """Return the rows of the .fam that are to be used, or None for all."""
    if samples is None:
        return None
    wanted = set(_listed("samples", samples))
    pairs = list(zip(people["fid"].tolist(), people["iid"].tolist(), strict=True))
    chosen = np.array([i for i, person in enumerate(pairs) if person in wanted or person[1:] in wanted], dtype=np.intp)
    if not len(chosen):
        raise ValueError(f"None of the {len(wanted)} samples asked for is in the data; give IIDs, or FID and IID.")
    absent = len(wanted - set(pairs) - {person[1:] for person in pairs})
    if absent:
        warnings.warn(
            f"{absent} of the {len(wanted)} samples asked for are not in the data.", UserWarning, stacklevel=5
        )
    shared = [iid for iid, count in Counter(people["iid"][chosen].tolist()).items() if count > 1 and (iid,) in wanted]
    if shared:
        what = f"{len(shared)} of the IIDs asked for are those of several people, such as {shown(shared[0])}"
        message = f"{what}: all of them are used. Give FID and IID to distinguish them."
        warnings.warn(message, UserWarning, stacklevel=5)
    return chosen


def _listed(what: str, names: Any) -> list[tuple[str, ...]]:
    """Return a list of names, or of pairs of them, given as such or as a file of lines."""
    if isinstance(names, str | os.PathLike):
        return [tuple(line.split()[:2]) for line in lines(names) if line.strip()]
    if not isinstance(names, Iterable):
        raise TypeError(f"{argument(what, names)} is neither a file nor a list of names.")
    return [(str(name),) if isinstance(name, str | int | np.generic) else tuple(map(str, name)) for name in names]


def check_called(where: str, snps: Array, missing: Array, keep: bool) -> None:
    """Raise if no SNP has a call; unless `keep`, raise also if one has none."""
    empty = snps[missing == 1.0]
    if len(empty) == len(snps):
        raise ValueError(f"{where}: none of the {len(snps)} SNPs has a single call; there is nothing to work on.")
    if len(empty) and not keep:
        raise ValueError(
            f"{where}: {len(empty)} of the {len(snps)} SNPs have no call at all, the first is {shown(empty[0], 80)}; "
            f"leave them out with {argument('max_missing', 0.99)}."
        )


def frequent_snps(where: str, frequency: Array, missing: Array, min_frequency: float, max_missing: float) -> Array:
    """Return the SNPs that are common enough and called often enough; `where` names the files in errors."""
    # 1 - 0.9 is a little less than 0.1: which allele is counted must not decide
    common = np.minimum(frequency, 1.0 - frequency) >= min_frequency - 1e-12
    passing = np.flatnonzero(common & (missing <= max_missing))
    if not len(passing):
        raise ValueError(
            f"{where}: no SNP has {argument('min_frequency', min_frequency)} and "
            f"{argument('max_missing', max_missing)}; loosen them."
        )
    return passing
