"""Tables: files in, operators with the names of their rows and columns out."""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import check_choice, check_real, in_one_line, shown, spelled
from rspca.base.files import PathLike, with_bed_suffix
from rspca.base.types import COMPILE, Array, OnStep, Step
from rspca.formats.delimited import read_delimited
from rspca.formats.documents import read_documents
from rspca.formats.frames import read_parquet
from rspca.formats.h5ad import read_h5ad
from rspca.formats.matrices import read_mtx, read_npy, read_npz
from rspca.formats.named import Named
from rspca.formats.tenx import matrix_of_folder
from rspca.formats.term_weights import DocumentTerms
from rspca.formats.unsupported import ADVICE, conversion, unread_kind
from rspca.genetics.plink import beside, mapped_rows, read_bim
from rspca.genetics.selection import (
    check_called,
    check_distinct,
    chosen_people,
    chosen_snps,
    is_autosomes,
    kept_snps,
    nothing_left,
    same_people,
)
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import as_operator
from rspca.operators.plink import PackedOperator, Part

NAMES_SHOWN = 3
"""Names of features and of samples in the printed form of a table."""


@dataclass(frozen=True, repr=False, eq=False)  # arrays neither print nor compare in one line
class Table:
    """Data with names: an operator, and what is known of its columns (features) and rows (samples).

    `features` and `samples` map the name of a property to an array with one entry per column or row of X; give them
    to ``pandas.DataFrame`` as they are. `samples` has the names of the samples too, and labels from columns of text
    (.csv, .parquet), obs (.h5ad) or the folders of documents. For genotypes these are snp, chromosome, position,
    allele_1, allele_2, frequency (of allele 1) and missing (share of calls); fid and iid.
    """

    operator: OperatorMixin
    feature_names: Array
    sample_names: Array
    features: Mapping[str, Array] = field(default_factory=dict)
    samples: Mapping[str, Array] = field(default_factory=dict)
    terms: DocumentTerms | None = None
    """Of documents: all their words, and the weights in use."""
    notes: tuple[str, ...] = ()
    """What was left out of the file, in words."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        return self.operator.shape

    def __repr__(self) -> str:
        """Return a summary of a few lines: sizes, the first names, properties of both sides, and what was left out."""
        m, n = self.shape
        lines = [f"Table of {m:,} samples x {n:,} features ({type(self.operator).__name__}, {self.operator.dtype})"]
        sides = (("features", self.feature_names, self.features), ("samples", self.sample_names, self.samples))
        for side, names, properties in sides:
            more = ", ..." if len(names) > NAMES_SHOWN else ""
            known = f"; properties: {', '.join(shown(name) for name in properties)}" if properties else ""
            lines.append(f"  {side}: {', '.join(shown(name) for name in names[:NAMES_SHOWN])}{more}{known}")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)

    @property
    def has_feature_names(self) -> bool:
        """Whether features have names of their own, and not only numbers for want of them."""
        return any(str(name) != f"feature{j}" for j, name in enumerate(self.feature_names))


def read(path: PathLike | Sequence[PathLike], **options: Any) -> Table:
    r"""Return what a file or a folder holds as a table, with the names of features and samples.

    Parameters
    ----------
    path : path, or list of paths
        ``.csv``, ``.tsv``
            Numbers in text: delimiter, line of names, row names and columns of text are found out
            (:func:`~rspca.formats.delimited.read_delimited`).
        ``.parquet``
            A frame; extra ``parquet`` (:func:`~rspca.formats.frames.read_parquet`).
        ``.npy``, ``.npz``
            Arrays, mapped from disk, or SciPy sparse (:func:`~rspca.formats.matrices.read_npz`).
        ``.mtx``, or a folder that Cell Ranger wrote
            Matrix Market, with the names beside it (:func:`~rspca.formats.matrices.read_mtx`).
        ``.h5ad``
            AnnData, a layer of it, some of its variables; extra ``anndata`` (:func:`~rspca.formats.h5ad.read_h5ad`).
        ``.txt``, or a folder of them
            Documents, one on each line or one in each file, as tf-idf of their words
            (:func:`~rspca.formats.documents.read_documents`).
        ``.bed``, or the name of one without its suffix
            PLINK 1 genotypes with ``.bim`` and ``.fam`` beside them; several, one per chromosome, of the same people,
            are put side by side (:func:`read_bed`).

        Text and ``.mtx`` may be gzipped.
    **options
        Of the reader for this kind of file.

    Returns
    -------
    Table
        ``operator``, ``feature_names``, ``sample_names``, ``features`` and ``samples``.

    Examples
    --------
    >>> import pathlib, rspca, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "iris.csv")
    >>> _ = path.write_text("length,width,species\n5.1,3.5,setosa\n6.4,3.2,versicolor\n5.8,2.7,virginica\n")
    >>> table = rspca.read(path, labels="species")
    >>> table.shape, table.feature_names.tolist(), table.samples["species"].tolist()
    ((3, 2), ['length', 'width'], ['setosa', 'versicolor', 'virginica'])
    """
    paths = [with_bed_suffix(one) for one in _paths(path)]
    kinds = {_kind(one) for one in paths}
    absent = next((one for one in paths if not one.exists()), None)
    if absent is not None and (kinds <= {*READERS, *ADVICE} or not absent.suffix):
        raise FileNotFoundError(f"{absent} does not exist.")
    unread = next((one for one in paths if unread_kind(one)), None)
    if unread is not None:
        raise ValueError(conversion(unread))
    if len(kinds) > 1 or not kinds <= set(READERS):
        known = ", ".join(sorted(set(READERS) - {FOLDER}))
        names = ", ".join(map(str, paths))
        raise ValueError(f"{names}: files of one kind are needed, and the kinds known are {known}, or a folder.")
    kind = kinds.pop()
    reader = READERS[kind]
    allowed = [name for name, one in inspect.signature(reader).parameters.items() if one.kind is one.KEYWORD_ONLY]
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise TypeError(
            f"{', '.join(map(argument, unknown))} is no option for {kind}; its options are "
            f"{', '.join(map(argument, allowed))}."
        )
    return reader(paths, **options)


def holds_documents(path: Path) -> bool:
    """Tell whether a path is read as documents: a text file, or a folder that is not Cell Ranger's."""
    return _kind(path) in (".txt", FOLDER)


def _paths(path: Any) -> list[Path]:
    """Return one path, or several, as a list."""
    if isinstance(path, str | os.PathLike):
        return [Path(path)]
    if not isinstance(path, Iterable) or hasattr(path, "shape") or hasattr(path, "columns"):
        raise TypeError(f"path is a {type(path).__name__}; read takes the name of a file. Data need no reading.")
    paths = list(path)
    if not paths:
        raise ValueError("path is an empty list; name at least one file.")
    wrong = next((one for one in paths if not isinstance(one, str | os.PathLike)), None)
    if wrong is not None:
        raise TypeError(f"path has an entry {spelled(wrong)}, which is not the name of a file.")
    return [Path(one) for one in paths]


def _kind(path: Path) -> str:
    """Return what a path is read as: its suffix, without that of compression, or a folder."""
    unread = unread_kind(path)
    if unread is not None:
        return unread
    if path.is_dir():
        return ".mtx" if matrix_of_folder(path) else FOLDER
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


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
    """Return PLINK 1 genotypes: copies of allele 1, in 2 bits each, mapped from disk and multiplied as they lie.

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
        Least frequency of the rarer allele.
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
        Regions to leave out: "long-range-ld-hg18", "long-range-ld-hg19", or a BED file.
    bim, fam : path
        The files beside a single .bed, where they are named otherwise.
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
        raise ValueError("bim and fam belong to a single .bed; several files are looked for beside theirs.")
    if not 0.0 <= check_real("min_frequency", min_frequency, 0.0) <= 0.5:
        raise ValueError(
            f"{argument('min_frequency', min_frequency)} must lie between 0 and 0.5: it is that of the rarer allele."
        )
    if check_real("max_missing", max_missing, 0.0) > 1.0:
        raise ValueError(f"{argument('max_missing', max_missing)} must lie between 0 and 1.")
    check_choice("uncalled", uncalled, ("error", "keep"))
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype={np.dtype(dtype)} must be float32 or float64.")
    people = same_people([Path(fam) if fam else beside(path, "fam") for path in paths], encoding)
    tables = [read_bim(bim or beside(path, "bim"), encoding) for path in paths]
    files = [mapped_rows(path, len(people["iid"]), len(one["snp"])) for path, one in zip(paths, tables, strict=True)]
    rows, left_out = chosen_snps(tables, chromosomes, snps, exclude)
    if not any(len(one) for one in rows):
        raise ValueError(nothing_left(tables, chromosomes))
    described = {name: np.concatenate([t[name][r] for t, r in zip(tables, rows, strict=True)]) for name in tables[0]}
    where = ", ".join(map(str, paths[:3]))
    check_distinct(where, described["snp"], "SNP id", "name each apart, for example with plink2 --set-all-var-ids")
    chosen = chosen_people(people, samples)
    op = _packed(paths, files, rows, len(people["iid"]), chosen, dtype, client, on_step)
    frequency, missing = op.mean / 2.0, op.calls.missing / op.shape[0]
    check_called(where, described["snp"], missing, keep=uncalled == "keep" or max_missing < 1.0)
    kept = kept_snps(where, frequency, missing, min_frequency, max_missing)
    if len(kept) < op.shape[1]:
        op = op.select(kept)
    features = {name: column[kept] for name, column in described.items()}
    features |= {"frequency": frequency[kept], "missing": missing[kept]}
    people = people if chosen is None else {name: column[chosen] for name, column in people.items()}
    if left_out and is_autosomes(chromosomes):
        warnings.warn(left_out, UserWarning, stacklevel=3)
    notes = (left_out,) if left_out else ()
    return Table(op, features["snp"], people["iid"], features, people, notes=notes)


def _matrix_reader(reader: Callable[..., Named]) -> Callable[..., Table]:
    """Return a reader of one file as a table; columns and rows without names are numbered."""

    @functools.wraps(reader)  # its signature has the options
    def read_one(paths: Sequence[Path], **options: Any) -> Table:
        if len(paths) > 1:
            raise ValueError(f"{len(paths)} files were given; only .bed files are put side by side. Give one.")
        found = reader(paths[0], **options)
        for note in found.notes:
            warnings.warn(note, UserWarning, stacklevel=3)
        try:
            op = as_operator(found.X)
        except (ValueError, TypeError) as error:
            raise in_one_line(error, paths[0]) from error
        m, n = op.shape
        columns = np.array(found.columns if found.columns is not None else [f"feature{j}" for j in range(n)])
        rows = np.array(found.rows if found.rows is not None else [f"sample{i}" for i in range(m)])
        check_distinct(paths[0], columns, "feature name", "give each its own")
        key = "sample"
        while key in found.samples:
            key += "_name"
        return Table(op, columns, rows, dict(found.features), {key: rows, **found.samples}, found.terms, found.notes)

    return read_one


FOLDER = "a folder"

READERS: dict[str, Callable[..., Table]] = {
    ".bed": read_bed,
    ".npy": _matrix_reader(read_npy),
    ".npz": _matrix_reader(read_npz),
    ".mtx": _matrix_reader(read_mtx),
    ".csv": _matrix_reader(read_delimited),
    ".tsv": _matrix_reader(read_delimited),
    ".parquet": _matrix_reader(read_parquet),
    ".h5ad": _matrix_reader(read_h5ad),
    ".txt": _matrix_reader(read_documents),
    FOLDER: _matrix_reader(read_documents),
}
"""A reader for each kind of file, by suffix; it takes a list of paths, and keyword options of its own."""


def _packed(
    paths: Sequence[Path], files: Sequence[Array], rows: Sequence[Array], n_people: int, chosen: Array | None,
    dtype: Any, client: Any, on_step: OnStep | None,
) -> Any:  # fmt: skip
    """Return the genotypes as an operator: mapped here, or by the workers of a cluster."""
    used = [i for i, one in enumerate(rows) if len(one)]
    if client is not None:
        from rspca.operators.dask import packed_on_cluster

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
    on_step = None if kernels.are_kept(dtype) else on_step
    if on_step is not None:
        on_step(Step(COMPILE, 0, 0, 0.0, None, 0.0))
    seconds = kernels.compile_all(dtype)
    if on_step is not None:
        on_step(Step(COMPILE, 0, 1, 0.0, None, seconds))
