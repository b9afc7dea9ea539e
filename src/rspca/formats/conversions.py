"""What to do with files that rspca does not read: the command that converts them to one that it reads."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

Advice = Callable[[Path, Path], str]
"""Takes a file, and its path without suffix; returns a sentence."""


def plink_command(options: str) -> Advice:
    """Return advice to run plink2; {file} and {stem} in the options are the file and its path without suffix."""

    def advice(path: Path, stem: Path) -> str:
        file, name = shlex.quote(str(path)), shlex.quote(str(stem))
        command = f"plink2 {options.format(file=file, stem=name)} --make-bed --out {name}"
        return f"Convert it with: {command}; then give {stem}.bed."

    return advice


def anndata_command(reader: str) -> Advice:
    """Return advice to convert a file to .h5ad in Python; `reader` is a function of anndata."""

    def advice(path: Path, stem: Path) -> str:
        script = f"import anndata; anndata.{reader}({str(path)!r}).write_h5ad({f'{stem}.h5ad'!r})"
        return f"If it holds AnnData, convert it with: python -c {shlex.quote(script)}; then give {stem}.h5ad."

    return advice


def belongs_to_bed(path: Path, stem: Path) -> str:
    """Return the advice for a companion of a .bed file."""
    return f"It belongs to a .bed file: give {stem}.bed."
