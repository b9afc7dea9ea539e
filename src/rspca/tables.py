"""Tables: files in, operators with the names of their rows and columns out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rspca.checks import check_real
from rspca.components import OnStep, Step
from rspca.formats.files import PathLike, lines
from rspca.formats.matrices import Named, read_delimited, read_mtx, read_npy, read_npz
from rspca.formats.plink import beside, mapped_rows, read_bim, read_fam
from rspca.formats.regions import LONG_RANGE_LD, bare_name, inside, read_regions
from rspca.operators.plink import PackedOperator, Part
from rspca.operators.protocol import OperatorMixin
from rspca.operators.sources import as_operator

Array = NDArray[Any]

AUTOSOMES = tuple(str(number) for number in range(1, 23))


@dataclass(frozen=True)
class Table:
    """Data with names: an operator, and what is known of its columns (features) and rows (samples).

    `features` and `samples` map the name of a property to an array with one entry per column or row of X; give them
    to ``pandas.DataFrame`` as they are. For genotypes these are snp, chromosome, position, allele_1, allele_2,
    frequency (of allele 1) and missing (share of calls); fid and iid.
    """

    operator: OperatorMixin
    feature_names: Array
    sample_names: Array
    features: Mapping[str, Array] = field(default_factory=dict)
    samples: Mapping[str, Array] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        return self.operator.shape


def read(path: PathLike | Sequence[PathLike], **options: Any) -> Table:
    """Return what a file holds, or several files side by side, as a table.

    Parameters
    ----------
    path : path, or list of paths
        A PLINK 1 ``.bed`` file with its ``.bim`` and ``.fam`` beside it. Several, one per chromosome, of the same
        people, are put side by side. Or a matrix: ``.npy`` (mapped from disk), ``.npz`` (dense or SciPy sparse),
        ``.mtx``, ``.csv`` or ``.tsv``, text also with ``.gz``.
    **options
        Of ``.bed`` files: see :func:`read_bed`.

    Examples
    --------
    >>> import os, rspca, tempfile
    >>> X, _ = rspca.datasets.make_genotypes(50, 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bed = os.path.join(folder, "toy.bed")
    ...     rspca.formats.write_plink(bed, X)
    ...     table = rspca.read(bed)
    ...     table.shape, str(table.feature_names[0])
    ((50, 100), 'snp0')
    """
    paths = [Path(path)] if isinstance(path, str | os.PathLike) else [Path(one) for one in path]
    if not paths:
        raise ValueError("path is an empty list; name at least one file.")
    suffixes = {Path(one.stem if one.suffix.lower() == ".gz" else one.name).suffix.lower() for one in paths}
    if len(suffixes) > 1 or not suffixes <= set(READERS):
        known = ", ".join(sorted(READERS))
        names = ", ".join(map(str, paths))
        raise ValueError(f"{names}: files of one kind are needed, and the kinds known are {known}.")
    for one in paths:
        if not one.exists():
            raise FileNotFoundError(f"{one} does not exist.")
    return READERS[suffixes.pop()](paths, **options)


def read_bed(
    paths: Sequence[Path],
    *,
    chromosomes: str | Iterable[str | int] = "autosomes",
    min_frequency: float = 0.0,
    max_missing: float = 1.0,
    samples: PathLike | Iterable[Any] | None = None,
    snps: PathLike | Iterable[str] | None = None,
    exclude: PathLike | None = None,
    bim: PathLike | None = None,
    fam: PathLike | None = None,
    dtype: Any = np.float64,
    client: Any = None,
    on_step: OnStep | None = None,
) -> Table:
    """Return PLINK 1 genotypes: copies of allele 1, in 2 bits each, mapped from disk and multiplied as they lie.

    Parameters
    ----------
    paths : sequence of paths
        .bed files, of the same people.
    chromosomes : "autosomes", "all", or names
        Which chromosomes to use, as the .bim names them, with or without "chr".
    min_frequency : float
        Least frequency of the rarer allele.
    max_missing : float
        Largest share of missing calls of a SNP. SNPs without a single call are an error unless this is below 1.
    samples : path or names
        People to keep: IIDs, or pairs (FID, IID); or a file with FID and IID, or IID alone, on each line.
    snps : path or names
        SNPs to keep; or a file with one id on each line.
    exclude : str or path
        Regions to leave out: "long-range-ld-hg18", "long-range-ld-hg19", or a BED file.
    bim, fam : path
        The files beside a single .bed, where they are named otherwise.
    dtype : data-type
        Of the products: float64, or float32, a little quicker.
    client : dask.distributed.Client
        Let its workers open the files, each its own range of SNPs; they must see them under the same path.
    on_step : callable
        Told with a Step of stage "compile" when kernels are compiled, the first time on a machine.
    """
    if len(paths) > 1 and (bim or fam):
        raise ValueError("bim and fam belong to a single .bed; several files are looked for beside theirs.")
    if not 0.0 <= check_real("min_frequency", min_frequency, 0.0) <= 0.5:
        raise ValueError(f"min_frequency={min_frequency} must lie between 0 and 0.5: it is that of the rarer allele.")
    if check_real("max_missing", max_missing, 0.0) > 1.0:
        raise ValueError(f"max_missing={max_missing} must lie between 0 and 1.")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype={np.dtype(dtype)} must be float32 or float64.")
    people = _same_people([Path(fam) if fam else beside(path, "fam") for path in paths])
    tables = [read_bim(bim or beside(path, "bim")) for path in paths]
    files = [mapped_rows(path, len(people["iid"]), len(one["snp"])) for path, one in zip(paths, tables, strict=True)]
    rows = [_chosen_snps(one, chromosomes, snps, exclude) for one in tables]
    if not any(len(one) for one in rows):
        raise ValueError(_nothing_left(tables, chromosomes))
    described = {name: np.concatenate([t[name][r] for t, r in zip(tables, rows, strict=True)]) for name in tables[0]}
    _check_distinct(described["snp"], "SNP id", "give each its own name, for example with plink2 --set-all-var-ids")
    chosen = _chosen_people(people, samples)
    op = _packed(paths, files, rows, len(people["iid"]), chosen, dtype, client, on_step)
    frequency, missing = op.mean / 2.0, op.calls.missing / op.shape[0]
    kept = _kept(described["snp"], frequency, missing, min_frequency, max_missing)
    if len(kept) < op.shape[1]:
        op = op.select(kept)
    features = {name: column[kept] for name, column in described.items()}
    features |= {"frequency": frequency[kept], "missing": missing[kept]}
    people = people if chosen is None else {name: column[chosen] for name, column in people.items()}
    return Table(op, features["snp"], people["iid"], features, people)


def _matrix_reader(reader: Callable[[Path], Named]) -> Callable[..., Table]:
    """Return a reader of one matrix as a table; columns and rows without names are numbered."""

    def read_one(paths: Sequence[Path]) -> Table:
        if len(paths) > 1:
            raise ValueError(f"{len(paths)} files were given; only .bed files are put side by side. Give one.")
        found = reader(paths[0])
        op = as_operator(found.X)
        m, n = op.shape
        columns = np.array(found.columns if found.columns is not None else [f"feature{j}" for j in range(n)])
        rows = np.array(found.rows if found.rows is not None else [f"sample{i}" for i in range(m)])
        _check_distinct(columns, "feature name", "give each its own")
        return Table(op, columns, rows)

    return read_one


READERS: dict[str, Callable[..., Table]] = {
    ".bed": read_bed,
    ".npy": _matrix_reader(read_npy),
    ".npz": _matrix_reader(read_npz),
    ".mtx": _matrix_reader(read_mtx),
    ".csv": _matrix_reader(read_delimited),
    ".tsv": _matrix_reader(read_delimited),
}
"""A reader for each kind of file, by suffix; it takes a list of paths, and options of its own."""


def _packed(
    paths: Sequence[Path], files: Sequence[Array], rows: Sequence[Array], n_people: int, chosen: Array | None,
    dtype: Any, client: Any, on_step: OnStep | None,
) -> Any:  # fmt: skip
    """Return the genotypes as an operator: mapped here, or by the workers of a cluster."""
    used = [i for i, one in enumerate(rows) if len(one)]
    if client is not None:
        from rspca.operators.cluster import packed_on_cluster

        return packed_on_cluster(
            client, [paths[i].resolve() for i in used], [rows[i] for i in used], n_people, chosen, dtype
        )
    _compile(dtype, on_step)
    return PackedOperator([Part(files[i], rows[i]) for i in used], n_people, chosen, dtype=dtype)


def _compile(dtype: Any, on_step: OnStep | None) -> None:
    """Have kernels ready before the data are touched, and say so where that takes seconds."""
    from rspca.operators import kernels

    if kernels.ready(dtype):
        return
    if on_step is not None:
        on_step(Step("compile", 0, 0, 0.0, None, 0.0))
    seconds = kernels.compile_all(dtype)
    if on_step is not None:
        on_step(Step("compile", 0, 1, 0.0, None, seconds))


# --- which SNPs and people --------------------------------------------------------------------------------------------


def _same_people(paths: Sequence[Path]) -> dict[str, Array]:
    """Return the people of one .fam, the same in all."""
    first, *others = (read_fam(path) for path in paths)
    for path, other in zip(paths[1:], others, strict=True):
        if not all(np.array_equal(first[name], other[name]) for name in ("fid", "iid")):
            raise ValueError(f"{path} and {paths[0]} do not list the same people in the same order.")
    pairs = np.char.add(np.char.add(first["fid"], " "), first["iid"])
    _check_distinct(pairs, "person (FID IID)", "give each a name of their own")
    return first


def _check_distinct(names: Array, what: str, advice: str) -> None:
    values, counts = np.unique(names, return_counts=True)
    if len(values) < len(names):
        twice = values[counts > 1]
        shown = ", ".join(map(str, twice[:3])) + (", ..." if len(twice) > 3 else "")
        raise ValueError(f"{len(twice)} {what}(s) occur more than once: {shown}; {advice}.")


def _chosen_snps(
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


def _nothing_left(tables: Sequence[Mapping[str, Array]], chromosomes: Any) -> str:
    there = dict.fromkeys(name for table in tables for name in table["chromosome"].tolist())
    return (
        f"No SNP is left: chromosomes={chromosomes!r}, and those there are {', '.join(there)}. "
        'Choose among these, give chromosomes="all", or loosen snps and exclude.'
    )


def _chosen_people(people: Mapping[str, Array], samples: Any) -> Array | None:
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


def _kept(snps: Array, frequency: Array, missing: Array, min_frequency: float, max_missing: float) -> Array:
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
