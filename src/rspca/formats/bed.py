"""PLINK 1 genotypes: .bed files mapped from disk, with the SNPs and people of their .bim and .fam."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import check_choice, check_real
from rspca.base.files import PathLike
from rspca.base.types import COMPILE, Array, OnStep, Step
from rspca.formats.table import Table
from rspca.genetics.plink import mapped_rows, next_to, read_bim
from rspca.genetics.selection import (
    check_called,
    check_distinct,
    frequent_snps,
    is_autosomes,
    no_snp_message,
    same_people,
    select_people,
    select_snps,
)
from rspca.operators.plink import PackedOperator, Part


def read_bed(
    paths: Sequence[Path],
    *,
    chromosomes: str | Iterable[str | int] = "autosomes",
    min_frequency: float = 0.0,
    max_missing: float = 1.0,
    uncalled: str = "error",
    samples: PathLike | Iterable[Any] | None = None,
    snps: PathLike | Iterable[str] | None = None,
    exclude: PathLike | None = None,
    bim: PathLike | None = None,
    fam: PathLike | None = None,
    dtype: Any = np.float64,
    encoding: str = "utf-8",
    client: Any = None,
    on_step: OnStep | None = None,
) -> Table:
    """Return PLINK 1 genotypes: copies of allele 1, in 2 bits each, mapped from disk and multiplied without unpacking.

    Parameters
    ----------
    paths : sequence of paths
        .bed files, of the same people.
    chromosomes : "autosomes", "all", or names
        Which chromosomes to use, as the .bim names them, with or without "chr", or ranges such as "1-5". "autosomes"
        leaves out what is named X, Y, XY, Z, W, MT or unplaced (0), and numbers 23 to 26 where they are human codes: no
        chromosome has a larger number, none is named X, Y, XY or MT, and 26 is as short as mitochondria are. Then "X"
        is 23, and all but 1 to 22 is left out. A warning counts what is left out.
    min_frequency : float
        Smallest frequency of the rarer allele.
    max_missing : float
        Largest share of missing calls of a SNP.
    uncalled : {"error", "keep"}
        What to do with SNPs without a single call that `max_missing` does not leave out. Keep them to score people with
        a model that may not use them.
    samples : path or names
        People to keep: IIDs, or pairs (FID, IID); or a file with FID and IID, or IID alone, on each line.
    snps : path or names
        SNPs to keep; or a file with one id on each line.
    exclude : str or path
        Regions to leave out: "long-range-ld-hg18", "-hg19" (or "-grch37"), "-hg38" ("-grch38"), or a BED file.
    bim, fam : path
        The other two files of a single .bed, where they have another name.
    dtype : data-type
        Of the products: float64, or float32, a little quicker.
    encoding : str
        Of the text in .bim and .fam.
    client : dask.distributed.Client
        Let its workers open the files, each its own range of SNPs; they must see them under the same path.
    on_step : callable
        Called with a Step of stage "compile" before and after kernels are compiled, the first time on a machine.
    """
    if len(paths) > 1 and (bim or fam):
        raise ValueError("bim and fam belong to a single .bed; with several, each has its own in the same folder.")
    if not 0.0 <= check_real("min_frequency", min_frequency, 0.0) <= 0.5:
        raise ValueError(
            f"{argument('min_frequency', min_frequency)} must lie between 0 and 0.5: it is that of the rarer allele."
        )
    if check_real("max_missing", max_missing, 0.0) > 1.0:
        raise ValueError(f"{argument('max_missing', max_missing)} must lie between 0 and 1.")
    check_choice("uncalled", uncalled, ("error", "keep"))
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype={np.dtype(dtype)} must be float32 or float64.")
    people = same_people([Path(fam) if fam else next_to(path, "fam") for path in paths], encoding)
    tables = [read_bim(bim or next_to(path, "bim"), encoding) for path in paths]
    files = [
        mapped_rows(path, len(people["iid"]), len(table["snp"])) for path, table in zip(paths, tables, strict=True)
    ]
    rows, left_out, on_sex_chromosomes = select_snps(tables, chromosomes, snps, exclude)
    if not any(map(len, rows)):
        raise ValueError(no_snp_message(tables, chromosomes))
    described = {name: np.concatenate([t[name][r] for t, r in zip(tables, rows, strict=True)]) for name in tables[0]}
    where = ", ".join(map(str, paths[:3]))
    check_distinct(where, described["snp"], "SNP id", "name each apart, for example with plink2 --set-all-var-ids")
    chosen = select_people(people, samples)
    op = _packed(paths, files, rows, len(people["iid"]), chosen, dtype, client, on_step)
    frequency, missing = op.mean / 2.0, op.calls.missing / op.shape[0]
    check_called(where, described["snp"], missing, keep=uncalled == "keep" or max_missing < 1.0)
    passing = frequent_snps(where, frequency, missing, min_frequency, max_missing)
    if len(passing) < op.shape[1]:
        op = op.select(passing)
    features = {name: column[passing] for name, column in described.items()}
    features |= {"frequency": frequency[passing], "missing": missing[passing]}
    people = people if chosen is None else {name: column[chosen] for name, column in people.items()}
    if left_out and is_autosomes(chromosomes):
        warnings.warn(left_out, UserWarning, stacklevel=3)
    if on_sex_chromosomes:
        warnings.warn(on_sex_chromosomes, UserWarning, stacklevel=3)
    notes = tuple(note for note in (left_out, on_sex_chromosomes) if note)
    return Table(op, features["snp"], people["iid"], features, people, notes=notes)


def _packed(
    paths: Sequence[Path],
    files: Sequence[Array],
    rows: Sequence[Array],
    n_people: int,
    chosen: Array | None,
    dtype: Any,
    client: Any,
    on_step: OnStep | None,
) -> Any:
    """Return the genotypes as an operator: mapped here, or by the workers of a cluster."""
    used = [i for i, chosen in enumerate(rows) if len(chosen)]
    if client is not None:
        from rspca.operators.dask import packed_on_cluster

        return packed_on_cluster(
            client, [paths[i].resolve() for i in used], [rows[i] for i in used], n_people, chosen, dtype
        )
    _compile(dtype, on_step)
    return PackedOperator([Part(files[i], rows[i]) for i in used], n_people, chosen, dtype=dtype)


def _compile(dtype: Any, on_step: OnStep | None) -> None:
    """Compile the kernels before the data are read, and report it where that takes seconds."""
    from rspca.operators import kernels

    if kernels.ready(dtype):
        return
    on_step = None if kernels.are_kept(dtype) else on_step
    if on_step is not None:
        on_step(Step(COMPILE, 0, 0, 0.0, None, 0.0))
    seconds = kernels.compile_all(dtype)
    if on_step is not None:
        on_step(Step(COMPILE, 0, 1, 0.0, None, seconds))
