"""PLINK 1 genotypes: .bed files mapped from disk, with the SNPs and people of their .bim and .fam."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.files import PathLike
from rspca.base.types import Array, OnStep
from rspca.formats.genotype_tables import checked_selection, compile_kernels, genotype_table
from rspca.formats.table import Table
from rspca.genetics.plink import mapped_rows, next_to, read_bim
from rspca.genetics.selection import same_people
from rspca.operators.plink import PackedOperator, Part


def read_bed(
    paths: Sequence[Path],
    *,
    bim: PathLike | None = None,
    fam: PathLike | None = None,
    dtype: Any = np.float64,
    encoding: str = "utf-8",
    client: Any = None,
    on_step: OnStep | None = None,
    **selected: Any,
) -> Table:
    """Return PLINK 1 genotypes: copies of allele 1, in 2 bits each, mapped from disk and multiplied without unpacking.

    Parameters
    ----------
    paths : sequence of paths
        .bed files, of the same people.
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
    """
    if len(paths) > 1 and (bim or fam):
        raise ValueError("bim and fam belong to a single .bed; with several, each has its own in the same folder.")
    selection = checked_selection(dtype, **selected)
    people = same_people([Path(fam) if fam else next_to(path, "fam") for path in paths], encoding)
    tables = [read_bim(bim or next_to(path, "bim"), encoding) for path in paths]
    files = [
        mapped_rows(path, len(people["iid"]), len(table["snp"])) for path, table in zip(paths, tables, strict=True)
    ]

    def opened(rows: list[Array], chosen: Array | None) -> Any:
        """Return the genotypes as an operator: mapped here, or by the workers of a cluster."""
        n_people, used = len(people["iid"]), [i for i, some in enumerate(rows) if len(some)]
        if client is not None:
            from rspca.operators.dask import packed_on_cluster

            places = [paths[i].resolve() for i in used]
            return packed_on_cluster(client, places, [rows[i] for i in used], n_people, chosen, dtype)
        compile_kernels(dtype, on_step)
        return PackedOperator([Part(files[i], rows[i]) for i in used], n_people, chosen, dtype=dtype)

    return genotype_table(paths, people, tables, selection, opened)
