"""Files that rspca does not read yet, each with the command that converts it to one that it reads."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

GENOTYPE_CALLS = "--max-alleles 2 --set-missing-var-ids '@:#:$r:$a'"
""".bed has variants of two alleles, and every one needs an id."""


def _plink(options: str) -> Callable[[Path, Path], str]:
    """Return what writes a plink2 command; {file} and {stem} stand for the file and its name without suffix."""

    def advice(path: Path, stem: Path) -> str:
        file, name = shlex.quote(str(path)), shlex.quote(str(stem))
        command = f"plink2 {options.format(file=file, stem=name)} --make-bed --out {name}"
        return f"Convert it with: {command}; then give {stem}.bed."

    return advice


def _anndata(reader: str) -> Callable[[Path, Path], str]:
    """Return what writes a conversion to .h5ad in Python."""

    def advice(path: Path, stem: Path) -> str:
        script = f"import anndata; anndata.{reader}({str(path)!r}).write_h5ad({f'{stem}.h5ad'!r})"
        return f"If it holds AnnData, convert it with: python -c {shlex.quote(script)}; then give {stem}.h5ad."

    return advice


def _beside(path: Path, stem: Path) -> str:
    return f"It belongs to a .bed file: give {stem}.bed."


ADVICE: dict[str, Callable[[Path, Path], str]] = {
    ".pgen": _plink("--pfile {stem}"),
    ".pvar": _plink("--pfile {stem}"),
    ".psam": _plink("--pfile {stem}"),
    ".vcf": _plink(f"--vcf {{file}} {GENOTYPE_CALLS}"),
    ".bcf": _plink(f"--bcf {{file}} {GENOTYPE_CALLS}"),
    ".bgen": _plink(f"--bgen {{file}} ref-first --sample {{stem}}.sample {GENOTYPE_CALLS}"),
    ".ped": _plink("--pedmap {stem}"),
    ".bim": _beside,
    ".fam": _beside,
    ".zarr": _anndata("read_zarr"),
    ".loom": _anndata("io.read_loom"),
}
"""What to do with a file, by its suffix without that of compression."""
COMPRESSED = (".gz", ".bgz", ".zst", ".zip")


def unread_kind(path: Path) -> str | None:
    """Return the suffix of a file that is known here, or None."""
    suffix = _uncompressed(path).suffix.lower()
    return suffix if suffix in ADVICE else None


def conversion(path: Path) -> str:
    """Return in words what to do with a file of such a kind."""
    name = _uncompressed(path)
    suffix = name.suffix.lower()
    return f"{path}: rspca does not read {suffix} yet. {ADVICE[suffix](path, name.with_suffix(''))}"


def _uncompressed(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
