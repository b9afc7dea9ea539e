"""Genotypes of any format as a table: the SNPs and people that are asked for, packed or streamed by the format."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import check_choice, check_real
from rspca.base.files import PathLike
from rspca.base.types import COMPILE, Array, OnStep, Step
from rspca.formats.table import Table
from rspca.genetics.selection import (
    check_called,
    check_distinct,
    frequent_snps,
    is_autosomes,
    no_snp_message,
    select_people,
    select_snps,
)

DESCRIBED = ("snp", "chromosome", "position", "allele_1", "allele_2")
"""Columns of the files that a table has of its features."""


class Selection(NamedTuple):
    """Which SNPs and people to use; :func:`~rspca.formats.bed.read_bed` describes them."""

    chromosomes: str | Iterable[str | int] = "autosomes"
    min_frequency: float = 0.0
    max_missing: float = 1.0
    uncalled: str = "error"
    samples: PathLike | Iterable[Any] | None = None
    snps: PathLike | Iterable[str] | None = None
    exclude: PathLike | None = None


def checked_selection(dtype: Any, **selected: Any) -> Selection:
    """Return a selection, or raise if it, or this type of products, cannot be, before files are read."""
    selection = Selection(**selected)
    if not 0.0 <= check_real("min_frequency", selection.min_frequency, 0.0) <= 0.5:
        raise ValueError(
            f"{argument('min_frequency', selection.min_frequency)} must lie between 0 and 0.5: it is that of the rarer "
            "allele."
        )
    if check_real("max_missing", selection.max_missing, 0.0) > 1.0:
        raise ValueError(f"{argument('max_missing', selection.max_missing)} must lie between 0 and 1.")
    check_choice("uncalled", selection.uncalled, ("error", "keep"))
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype={np.dtype(dtype)} must be float32 or float64.")
    return selection


def genotype_table(
    paths: Sequence[Path],
    people: Mapping[str, Array],
    tables: Sequence[Mapping[str, Array]],
    selection: Selection,
    opened: Callable[[list[Array], Array | None], Any],
    *,
    usable: Sequence[Array] | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """Return the table of the SNPs and people that are selected.

    Parameters
    ----------
    paths : sequence of paths
        The files, for errors.
    people : mapping
        fid and iid.
    tables : sequence of mappings
        For each file the columns of DESCRIBED.
    selection : Selection
        Which to use.
    opened : callable
        Takes the rows of each file and the positions of people (None: all), and returns an operator with ``mean``,
        ``missing`` (calls of each SNP) and ``select``.
    usable : sequence of arrays
        For each file which variants can be used at all.
    notes : sequence of str
        Warnings of the format.
    """
    rows, left_out, on_sex_chromosomes = select_snps(tables, selection.chromosomes, selection.snps, selection.exclude)
    if usable is not None:
        rows = [chosen[mask[chosen]] for chosen, mask in zip(rows, usable, strict=True)]
    if not any(map(len, rows)):
        raise ValueError(no_snp_message(tables, selection.chromosomes))
    described = {name: np.concatenate([t[name][r] for t, r in zip(tables, rows, strict=True)]) for name in DESCRIBED}
    where = ", ".join(map(str, paths[:3]))
    check_distinct(where, described["snp"], "SNP id", "name each apart, for example with plink2 --set-all-var-ids")
    chosen = select_people(people, selection.samples)
    op = opened(rows, chosen)
    frequency, missing = op.mean / 2.0, op.missing / op.shape[0]
    keep = selection.uncalled == "keep" or selection.max_missing < 1.0
    check_called(where, described["snp"], missing, keep=keep)
    passing = frequent_snps(where, frequency, missing, selection.min_frequency, selection.max_missing)
    if len(passing) < op.shape[1]:
        op = op.select(passing)
    features = {name: column[passing] for name, column in described.items()}
    features |= {"frequency": frequency[passing], "missing": missing[passing]}
    people = dict(people) if chosen is None else {name: column[chosen] for name, column in people.items()}
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=4)
    if left_out and is_autosomes(selection.chromosomes):
        warnings.warn(left_out, UserWarning, stacklevel=4)
    if on_sex_chromosomes:
        warnings.warn(on_sex_chromosomes, UserWarning, stacklevel=4)
    everything = (*notes, *(note for note in (left_out, on_sex_chromosomes) if note))
    return Table(op, features["snp"], people["iid"], features, people, notes=everything)


def compile_kernels(dtype: Any, on_step: OnStep | None) -> None:
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
