"""Readers of other people's file formats; each checks what it reads and says where a file is wrong."""

from rspca.formats.geo import SeriesMatrix, read_series_matrix
from rspca.formats.laser import read_laser
from rspca.formats.smart import SmartDocument, read_smart
from rspca.genetics.plink import Genotypes, read_plink, write_plink

__all__ = [
    "Genotypes",
    "SeriesMatrix",
    "SmartDocument",
    "read_laser",
    "read_plink",
    "read_series_matrix",
    "read_smart",
    "write_plink",
]
