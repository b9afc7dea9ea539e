"""Regions of the genome: a built-in list of those with linkage over long range, and BED files of the user's own.

The list is that of Price and others (2008), Long-range LD can confound genome scans in admixed populations, American
Journal of Human Genetics 83, 132-135: twenty-four regions, printed in half megabases.
"hg18" has them as printed, "hg19" lifted over from there, "hg38" from there again. All that plinkQC ships
(inst/extdata/high-LD-regions-hg19-GRCh37.bed, eighteen regions) are the same to the base. A list that goes through
NCBI build 35 instead (genome.sph.umich.edu, "Regions of high linkage disequilibrium", also LD.wiki34 of bigsnpr) has
six regions of chromosomes 1, 2, 7 and 12 up to 0.2 Mb next to ours: little against their 2.5 Mb and more, but an edge
is not exact. Of "hg38", seventeen are those that plinkQC ships (high-LD-regions-hg38-GRCh38.bed, the longest piece of
each). Seven are hg19 moved by the offset of known positions on either side, and were compared with other lists that
were lifted over: 5:98 Mb, 5:136 Mb and the start of 12:110 Mb are those of GrindeLab/PCA (which joins lists, so that
the other edge is not Price's); 3:88 Mb, 6:57 Mb and 11:46 Mb are those of a third list, to the base or the next one;
2:134 Mb and the end of 12:113 Mb have the offset that edges 0.1 Mb away have, those of genome.sph.umich.edu. Of 6:57 Mb
plinkQC has only pieces from 57.8 to 61.4 Mb.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rspca.base.checks import shown
from rspca.base.files import PathLike, lines
from rspca.base.types import Array

_PLACE = re.compile("[0-9]{1,18}")


class Region(NamedTuple):
    """Positions first to last, both included, of one chromosome."""

    chromosome: str
    first: int
    last: int


def _regions(table: str) -> tuple[Region, ...]:
    rows = (line.split() for line in table.split(";"))
    return tuple(Region(chromosome, int(first), int(last)) for chromosome, first, last in rows)


# Principal components of unpruned SNPs tend to show these instead of ancestry.
LONG_RANGE_LD = {
    "long-range-ld-hg18": _regions(
        "1 48000000 52000000; 2 86000000 100500000; 2 134500000 138000000; 2 183000000 190000000; 3 47500000 50000000;"
        "3 83500000 87000000; 3 89000000 97500000; 5 44500000 50500000; 5 98000000 100500000; 5 129000000 132000000;"
        "5 135500000 138500000; 6 25500000 33500000; 6 57000000 64000000; 6 140000000 142500000; 7 55000000 66000000;"
        "8 8000000 12000000; 8 43000000 50000000; 8 112000000 115000000; 10 37000000 43000000; 11 46000000 57000000;"
        "11 87500000 90500000; 12 33000000 40000000; 12 109500000 112000000; 20 32000000 34500000"
    ),
    "long-range-ld-hg19": _regions(
        "1 48227413 52227412; 2 86146489 101133568; 2 134783530 138283530; 2 183291755 190291755; 3 47524996 50024996;"
        "3 83417310 86917310; 3 88917310 96017310; 5 44464243 50464243; 5 97972100 100472101; 5 128972101 131972101;"
        "5 135472101 138472101; 6 25392021 33392022; 6 56892041 63942041; 6 139958307 142458307; 7 55032506 66362565;"
        "8 7962590 11962591; 8 42880843 49837447; 8 111930824 114930824; 10 36959994 43679994; 11 46043424 57243424;"
        "11 87860352 90860352; 12 33108733 41713733; 12 111015617 113515617; 20 32536339 35066586"
    ),
    "long-range-ld-hg38": _regions(
        "1 47761741 51761740; 2 85919366 100517106; 2 134025960 137525960; 2 182427028 189427029; 3 47483506 49987563;"
        "3 83368159 86868160; 3 88868160 96298466; 5 44464141 51168409; 5 98636396 101136397; 5 129636408 132636409;"
        "5 136136412 139136412; 6 25391793 33424245; 6 57027244 63232136; 6 139637170 142137170; 7 54964813 66897578;"
        "8 8105068 12105082; 8 43025700 48924888; 8 110918595 113918595; 10 36671066 43184546; 11 46021874 57475951;"
        "11 88127184 91127184; 12 32955799 41319931; 12 110577813 113077813; 20 33948533 36438183"
    ),
}
LONG_RANGE_LD["long-range-ld-grch37"] = LONG_RANGE_LD["long-range-ld-hg19"]
LONG_RANGE_LD["long-range-ld-grch38"] = LONG_RANGE_LD["long-range-ld-hg38"]


def read_regions(path: PathLike) -> tuple[Region, ...]:
    """Return the regions of a BED file (chromosome, start, end; starts count from 0, ends are not included)."""
    found = []
    for number, line in enumerate(lines(path), 1):
        fields = line.split()
        if not fields or fields[0].startswith("#") or fields[0] in ("track", "browser"):
            continue
        if len(fields) < 3 or not (_PLACE.fullmatch(fields[1]) and _PLACE.fullmatch(fields[2])):
            got = shown(line)
            raise ValueError(f"{path}, line {number}: a BED line has a chromosome, a start and an end; got {got!r}.")
        if int(fields[1]) > int(fields[2]):
            raise ValueError(f"{path}, line {number}: the region ends at {fields[2]}, before its start {fields[1]}.")
        found.append(Region(fields[0], int(fields[1]) + 1, int(fields[2])))
    if not found:
        raise ValueError(f"{path} has no regions: a BED file has lines of chromosome, start and end.")
    return tuple(found)


def inside(names: Array, positions: Array, regions: Iterable[Region]) -> Array:
    """Return which of these places lie in any of the regions; chromosomes are compared by name as they are."""
    found = np.zeros(len(names), dtype=bool)
    for region in regions:
        found |= (names == region.chromosome) & (positions >= region.first) & (positions <= region.last)
    return found
