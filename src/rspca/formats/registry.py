"""The file formats: one row each. Whatever depends on a format (rspca.read, commands, messages) asks this table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rspca.base.imports import load
from rspca.formats.conversions import Advice, anndata_command, belongs_to, plink_command, vcf_command

COMPRESSED = (".gz", ".bgz", ".zst", ".zip")


@dataclass(frozen=True, eq=False, kw_only=True)
class Reader:
    """A file format and the function that reads it.

    Functions are given by their place, "package.module:function", and are imported when they are used.
    """

    name: str  # what help texts and messages call such files
    suffixes: tuple[str, ...]
    read: str  # (path, **options) -> Named, or with `several` (list of paths, **options) -> Table
    options: tuple[str, ...] = ()  # keyword arguments of `read`
    about: str = ""  # one sentence for the docstring of rspca.read
    extra: str = ""  # what pip must install besides rspca
    several: bool = False  # whether several files make one table
    named: str = ""  # pattern of names, besides the suffixes; it is tried first
    mapped: bool = False  # whether files are read again and again after they were opened
    is_folder: str = ""  # (path) -> whether a folder is of this format
    companions: str = ""  # (path) -> the files that belong to this one
    complete: str = ""  # (path that does not exist) -> the path that it abbreviates
    subject: str = "table"  # what features and samples are called: a key of rspca.report.kinds.KINDS
    relatives: Mapping[str, Advice] = field(default_factory=dict)  # suffixes that are not read, and what to do

    def kind(self, path: Path) -> str:
        """Return what a message calls this file: its suffix, or the name of the format."""
        suffix = _suffix(path)
        return suffix if suffix in self.suffixes else self.name


_TABLE_OPTIONS = ("labels", "transpose", "row_names", "missing")
_TEXT_OPTIONS = (
    *("stop_words", "min_length", "max_length", "min_documents", "idf", "empty", "encoding"),
    *("term_weights", "vectorizer"),
)
_SELECTION = ("chromosomes", "min_frequency", "max_missing", "uncalled", "samples", "snps", "exclude")
READERS = (
    Reader(
        name="text tables",
        suffixes=(".csv", ".tsv"),
        read="rspca.formats.delimited:read_delimited",
        options=(*_TABLE_OPTIONS, "delimiter", "header", "encoding"),
        about="Numbers in text, also gzipped; delimiter, names and columns of text are detected.",
    ),
    Reader(
        name=".parquet",
        suffixes=(".parquet",),
        read="rspca.formats.frames:read_parquet",
        options=_TABLE_OPTIONS,
        about="A frame.",
        extra="parquet",
    ),
    Reader(
        name=".npy",
        suffixes=(".npy",),
        read="rspca.formats.matrices:read_npy",
        options=("transpose",),
        about="An array, mapped from disk.",
        mapped=True,
    ),
    Reader(
        name=".npz",
        suffixes=(".npz",),
        read="rspca.formats.matrices:read_npz",
        options=("transpose",),
        about="A SciPy sparse matrix, or the only matrix of an archive and its vectors.",
    ),
    Reader(
        name=".mtx",
        suffixes=(".mtx",),
        read="rspca.formats.matrices:read_mtx",
        options=("transpose",),
        about="Matrix Market, also gzipped, or a folder that Cell Ranger wrote, with the names in the same folder.",
        is_folder="rspca.formats.tenx:matrix_of_folder",
    ),
    Reader(
        name=".h5ad",
        suffixes=(".h5ad",),
        read="rspca.formats.h5ad:read_h5ad",
        options=("layer", "mask", "max_memory"),
        about="AnnData: X or a layer, all or some of the variables.",
        extra="anndata",
        mapped=True,
        subject="cells",
        relatives={".loom": anndata_command("io.read_loom")},
    ),
    Reader(
        name=".zarr",
        suffixes=(".zarr",),
        read="rspca.formats.anndata_zarr:read_anndata_zarr",
        options=("layer", "mask", "max_memory", "missing_chunks"),
        about="A Zarr store of AnnData, of format 2 or 3: X or a layer, all or some of the variables.",
        extra="zarr",
        mapped=True,
        subject="cells",
        is_folder="rspca.formats.anndata_zarr:is_anndata_store",
    ),
    Reader(
        name=".h5",
        suffixes=(".h5",),
        read="rspca.formats.tenx_h5:read_tenx_h5",
        options=("feature_type", "genome", "mask", "max_memory"),
        about="Counts of Cell Ranger (10x Genomics), cells by features.",
        extra="anndata",
        mapped=True,
        subject="cells",
    ),
    Reader(
        name=".bed",
        suffixes=(".bed",),
        read="rspca.formats.bed:read_bed",
        options=(*_SELECTION, "bim", "fam", "dtype", "encoding", "client", "on_step"),
        about="PLINK 1 genotypes with .bim and .fam; the suffix may be left out, and several files are one table.",
        extra="genetics",
        several=True,
        mapped=True,
        subject="genotypes",
        companions="rspca.genetics.plink:companions",
        complete="rspca.genetics.plink:with_bed_suffix",
        relatives={
            ".ped": plink_command("--pedmap {stem}"),
            **dict.fromkeys((".bim", ".fam"), belongs_to("bed")),
        },
    ),
    Reader(
        name=".pgen",
        suffixes=(".pgen",),
        read="rspca.formats.pgen:read_pgen",
        options=("dosages", *_SELECTION, "pvar", "psam", "max_memory", "cache", "dtype", "encoding", "on_step"),
        about="PLINK 2 genotypes with .pvar and .psam: hard calls, packed, or dosages; several files are one table.",
        extra="genetics",
        several=True,
        mapped=True,
        subject="genotypes",
        companions="rspca.genetics.pgen:pgen_companions",
        complete="rspca.genetics.pgen:with_pgen_suffix",
        relatives={
            **dict.fromkeys((".pvar", ".psam"), belongs_to("pgen")),
            ".vcf": vcf_command("--vcf {file}"),
            ".bcf": vcf_command("--bcf {file}"),
            ".bgen": plink_command("--bgen {file} ref-first --sample {stem}.sample", "pgen"),
        },
    ),
    Reader(
        name=".vcz",
        suffixes=(".vcz",),
        read="rspca.formats.vcf_zarr:read_vcf_zarr",
        options=(*_SELECTION, "max_memory", "cache", "missing_chunks", "dtype", "on_step"),
        about="A VCF Zarr store, a folder of any name: calls, packed, with their mask.",
        extra="zarr",
        mapped=True,
        subject="genotypes",
        is_folder="rspca.formats.vcf_zarr:is_vcf_store",
    ),
    Reader(
        name="documents",
        suffixes=(".txt",),
        read="rspca.formats.documents:read_documents",
        options=("pattern", *_TEXT_OPTIONS),
        about="Documents, one on each line, or a folder with one in each file, as tf-idf of their words.",
        subject="documents",
        is_folder="os.path:isdir",  # any folder that no row above takes
    ),
    Reader(
        name=".all",
        suffixes=(".all",),
        read="rspca.formats.smart_table:read_smart_table",
        options=_TEXT_OPTIONS,
        about="SMART collections (CISI.ALL, cran.all.1400), as tf-idf of titles and abstracts; several are one table.",
        subject="documents",
        several=True,
        named=r".+\.all(\.[0-9]+)?(\.gz)?",
    ),
    Reader(
        name="docword",
        suffixes=(),
        read="rspca.formats.docword:read_docword",
        options=("min_documents", "idf", "empty", "term_weights"),
        about="Bags of words of the UCI repository, ``docword.NAME.txt`` with ``vocab.NAME.txt``, as tf-idf.",
        subject="documents",
        named=r"docword\..+\.txt(\.gz)?",
        companions="rspca.formats.docword:vocabulary_file",
    ),
)
"""Every format, in the order of help texts. A folder belongs to the first row that takes it."""


def suffixes() -> Iterator[str]:
    """Yield the suffixes of all formats that are read."""
    for reader in READERS:
        yield from reader.suffixes


def files_with(option: str) -> str:
    """Return in words which files have a reading option."""
    return ", ".join(reader.name for reader in READERS if option in reader.options)


def reader_of(path: Path) -> Reader | None:
    """Return the row for a file or a folder; None if its format is not read."""
    if advice(path) is not None:
        return None
    if path.is_dir():
        return next((reader for reader in READERS if reader.is_folder and load(reader.is_folder)(path)), None)
    name = path.name.lower()
    named = next((reader for reader in READERS if reader.named and re.fullmatch(reader.named, name)), None)
    return named or next((reader for reader in READERS if _suffix(path) in reader.suffixes), None)


def are_documents(paths: Iterable[Path]) -> bool:
    """Return whether the samples of these files are documents."""
    readers = [reader_of(path) for path in paths]
    return bool(readers) and all(reader is not None and reader.subject == "documents" for reader in readers)


def accepts(path: Path, option: str) -> bool:
    """Return whether the reader of a file has this option."""
    reader = reader_of(path)
    return reader is not None and option in reader.options


def subject_of(paths: Sequence[Path]) -> str:
    """Return what the features and samples of files are called: that of the first file."""
    reader = reader_of(paths[0])
    return "table" if reader is None else reader.subject


def completed(path: Path) -> Path:
    """Return the file that a path abbreviates, where its format has such a custom; any other path unchanged."""
    for reader in READERS:
        if reader.complete and not path.exists():
            path = load(reader.complete)(path)
    return path


def with_companions(path: Path) -> list[Path]:
    """Return a file and those that belong to it."""
    reader = reader_of(path)
    return [path, *load(reader.companions)(path)] if reader is not None and reader.companions else [path]


def advice(path: Path) -> str | None:
    """Return what to do with a file of a related format that is not read; None for other files."""
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    suffix = name.suffix.lower()
    write = next((reader.relatives[suffix] for reader in READERS if suffix in reader.relatives), None)
    return None if write is None else f"rspca does not read {suffix} yet. {write(path, name.with_suffix(''))}"


def _suffix(path: Path) -> str:
    """Return the suffix of a file, without that of gzip, in small letters."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()
