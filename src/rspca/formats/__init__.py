"""Readers of file formats; each checks what it reads, and errors name the place in the file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see; the table below is what is imported
    from rspca.formats.geo import SeriesMatrix as SeriesMatrix
    from rspca.formats.geo import read_series_matrix as read_series_matrix
    from rspca.formats.laser import read_laser as read_laser
    from rspca.formats.smart import SmartDocument as SmartDocument
    from rspca.formats.smart import read_smart as read_smart
    from rspca.genetics.plink import Genotypes as Genotypes
    from rspca.genetics.plink import read_plink as read_plink
    from rspca.genetics.plink import write_plink as write_plink

_HOMES = {
    "Genotypes": "rspca.genetics.plink",
    "SeriesMatrix": "rspca.formats.geo",
    "SmartDocument": "rspca.formats.smart",
    "read_laser": "rspca.formats.laser",
    "read_plink": "rspca.genetics.plink",
    "read_series_matrix": "rspca.formats.geo",
    "read_smart": "rspca.formats.smart",
    "write_plink": "rspca.genetics.plink",
}
__all__ = sorted(_HOMES)


if not TYPE_CHECKING:  # otherwise every misspelled name would have the type Any

    def __getattr__(name: str) -> Any:
        """Import a reader when it is first used: help texts need the table of formats, and no numpy."""
        if name not in _HOMES:
            raise AttributeError(f"module 'rspca.formats' has no attribute {name!r}; it has {', '.join(__all__)}")
        globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return globals()[name]
