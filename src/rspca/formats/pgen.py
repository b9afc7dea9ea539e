"""PLINK 2 genotypes: .pgen files with their .pvar and .psam, hard calls packed once or dosages streamed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.base.files import PathLike
from rspca.base.types import Array, OnStep
from rspca.formats.genotype_tables import checked_selection, compile_kernels, genotype_table
from rspca.formats.table import Table
from rspca.genetics.packing import packed_once
from rspca.genetics.pgen import PgenFile, check_counts, next_to_pgen, read_pgen_header, read_psam, read_pvar
from rspca.genetics.selection import same_people
from rspca.operators.plink import PackedOperator, Part
from rspca.operators.streamed import memory_size
from rspca.operators.variants import DosageOperator, VariantPart


def read_pgen(
    paths: Sequence[Path],
    *,
    dosages: bool = False,
    pvar: PathLike | None = None,
    psam: PathLike | None = None,
    max_memory: int | str | None = None,
    cache: PathLike | None = None,
    dtype: Any = np.float64,
    encoding: str = "utf-8",
    on_step: OnStep | None = None,
    **selected: Any,
) -> Table:
    """Return PLINK 2 genotypes: copies of the ALT allele, in 2 bits each, or dosages; it needs Pgenlib (``genetics``).

    Hard calls are decoded in blocks and packed once; products are then those of a .bed file. The phase of phased calls
    is not used. Variants of more than two alleles are left out, and a warning counts them.

    Parameters
    ----------
    paths : sequence of paths
        .pgen files, of the same people; the suffix may be left out.
    dosages : bool
        Use dosages where the file has them, read from disk for every product, instead of hard calls.
    pvar, psam : path
        The other two files of a single .pgen, where they have another name; .bim and .fam do as well.
    max_memory : int or str
        Such as "500MB": what the packed calls may take in memory; more go to a cache file. Of dosages, the blocks in
        memory. None: 1 GiB.
    cache : path
        Folder of that file, which has no name there and is gone when the process ends; None: the system's folder for
        temporary files. Commands put it next to their result.
    dtype : data-type
        Of the products: float64, or float32, a little quicker.
    encoding : str
        Of the text in .pvar and .psam.
    on_step : callable
        Called with a Step of stage "compile" before and after kernels are compiled, the first time on a machine.
    chromosomes, min_frequency, max_missing, uncalled, samples, snps, exclude
        Which variants and people to use: as for .bed files.
    """
    if len(paths) > 1 and (pvar or psam):
        raise ValueError("pvar and psam belong to a single .pgen; with several, each has its own in the same folder.")
    selection = checked_selection(dtype, **selected)
    limit = memory_size(max_memory)
    if not isinstance(dosages, bool):
        raise TypeError(f"{argument('dosages', dosages)} must be True or False.")
    headers = [read_pgen_header(path) for path in paths]
    people = same_people([Path(psam) if psam else next_to_pgen(path, "psam") for path in paths], encoding, read_psam)
    tables = [read_pvar(pvar or next_to_pgen(path, "pvar"), encoding) for path in paths]
    for path, header, table in zip(paths, headers, tables, strict=True):
        check_counts(path, header, len(table["snp"]), len(people["iid"]))

    def opened(rows: list[Array], chosen: Array | None) -> Any:
        used = [i for i, some in enumerate(rows) if len(some)]
        files = {i: PgenFile(paths[i], headers[i], tables[i]["n_alleles"], chosen) for i in used}
        if dosages:
            return DosageOperator([VariantPart(files[i], rows[i]) for i in used], limit, dtype=dtype)
        compile_kernels(dtype, on_step)
        n_people = files[used[0]].n_people
        folder = None if cache is None else Path(cache)
        sources = [(files[i].calls, rows[i]) for i in used]
        packed = packed_once(sources, n_people, limit, folder, ", ".join(str(paths[i]) for i in used[:3]))
        return PackedOperator([Part(packed, np.arange(len(packed)))], n_people, dtype=dtype)

    usable = [table["n_alleles"] <= 2 for table in tables]
    notes = _notes(headers, usable, dosages)
    return genotype_table(paths, people, tables, selection, opened, usable=usable, notes=notes)


def _notes(headers: Sequence[Any], usable: Sequence[Array], dosages: bool) -> list[str]:
    """Return what is left out of the files, in words."""
    notes = []
    left_out, n_variants = sum(int(np.sum(~mask)) for mask in usable), sum(header.n_variants for header in headers)
    if left_out:
        notes.append(
            f"{left_out} of the {n_variants} variants have more than two alleles and are left out; split them first "
            "with plink2 --make-pgen multiallelics=-."
        )
    if any(header.is_phased for header in headers):
        notes.append("The calls are phased; their phase is not used.")
    if not dosages and any(header.has_dosages for header in headers):
        notes.append(f"The file has dosages; hard calls are used. Give {argument('dosages', True)} to use dosages.")
    return notes
