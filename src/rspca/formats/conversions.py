"""What to do with files that rspca does not read: the command that converts them to one that it reads."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

Advice = Callable[[Path, Path], str]
"""Takes a file, and its path without suffix; returns a sentence."""
NAMED = "--set-missing-var-ids '@:#:$r:$a'"
"""Option of plink2: every variant needs an id."""


def plink_command(options: str, written: str = "bed") -> Advice:
    """Return advice to run plink2; {file} and {stem} in the options are the file and its path without suffix."""

    def advice(path: Path, stem: Path) -> str:
        return f"Convert it with: {_plink(options, path, stem, written)}; then give {stem}.{written}."

    return advice


def vcf_command(options: str) -> Advice:
    """Return advice to run plink2, or vcf2zarr of bio2zarr, on a VCF or BCF file."""

    def advice(path: Path, stem: Path) -> str:
        store = f"{stem}.vcz"
        zarr = f"vcf2zarr convert {shlex.quote(str(path))} {shlex.quote(store)}"
        command = _plink(options, path, stem, "pgen")
        return (
            f"Convert it with: {command}; then give {stem}.pgen. Or with: {zarr}; then give {store} (if it has several "
            "contigs, vcf2zarr needs an index: bgzip, then bcftools index)."
        )

    return advice


def _plink(options: str, path: Path, stem: Path, written: str) -> str:
    file, name = shlex.quote(str(path)), shlex.quote(str(stem))
    named = f" {NAMED}" if written == "pgen" else ""
    return f"plink2 {options.format(file=file, stem=name)}{named} --make-{written} --out {name}"


def anndata_command(reader: str) -> Advice:
    """Return advice to convert a file to .h5ad in Python; `reader` is a function of anndata."""

    def advice(path: Path, stem: Path) -> str:
        script = f"import anndata; anndata.{reader}({str(path)!r}).write_h5ad({f'{stem}.h5ad'!r})"
        return f"If it holds AnnData, convert it with: python -c {shlex.quote(script)}; then give {stem}.h5ad."

    return advice


def belongs_to(suffix: str) -> Advice:
    """Return the advice for a companion of a .bed or .pgen file."""

    def advice(path: Path, stem: Path) -> str:
        return f"It belongs to a .{suffix} file: give {stem}.{suffix}."

    return advice
