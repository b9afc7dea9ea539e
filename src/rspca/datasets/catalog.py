"""The data sets that can be fetched: name, size, files, and whether they are here already."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from rspca.datasets import registry
from rspca.datasets.download import cache_folder, found_in
from rspca.datasets.fetchers import Dataset, fetch_classic2, fetch_classic3, fetch_gse10072, fetch_hapmap3, fetch_hgdp
from rspca.datasets.registry import DataFile


class Entry(NamedTuple):
    """One data set."""

    fetch: Callable[[], Dataset]
    shape: tuple[int, int]
    about: str
    files: tuple[DataFile, ...]

    def hosts(self) -> list[str]:
        """Return where its files would come from, the first choice of each."""
        return sorted({urlsplit(file.remotes[0].url).netloc for file in self.files if file.remotes})

    def paths(self) -> list[Path | None]:
        """Return where its files are, below RSPCA_DATA or in the cache; their checksums are not looked at."""
        chosen = os.environ.get("RSPCA_DATA")
        folders = [Path(chosen)] if chosen else []
        with suppress(ImportError):  # without pooch there is no cache
            folders.append(cache_folder())
        return [next((path for folder in folders if (path := found_in(folder, file))), None) for file in self.files]


CATALOG: dict[str, Entry] = {
    "classic2": Entry(
        fetch_classic2,
        (2858, 12427),
        "abstracts on information science and aeronautics, tf-idf",
        (registry.CISI, registry.CRANFIELD, registry.TMG_STOP_WORDS),
    ),
    "classic3": Entry(
        fetch_classic3,
        (3891, 20020),
        "classic2 and medical abstracts, tf-idf",
        (registry.CISI, registry.CRANFIELD, registry.MEDLINE, registry.TMG_STOP_WORDS),
    ),
    "gse10072": Entry(
        fetch_gse10072, (107, 22215), "gene expression of lung tumours and normal tissue", (registry.GSE10072,)
    ),
    "hapmap3": Entry(
        fetch_hapmap3,
        (957, 14389),
        "genotypes of 11 populations",
        (registry.HAPMAP3_BED, registry.HAPMAP3_BIM, registry.HAPMAP3_FAM, registry.HAPMAP3_POPULATIONS),
    ),
    "hgdp-europe": Entry(
        fetch_hgdp,
        (156, 66147),
        "genotypes of 8 European populations",
        (registry.HGDP_BED, registry.HGDP_BIM, registry.HGDP_FAM, registry.HGDP_POPULATIONS),
    ),
    "hgdp-world": Entry(
        lambda: fetch_hgdp(subset="world"),
        (238, 7652),
        "genotypes of chromosome 22, about 50 populations",
        (registry.HGDP_CHR22_GENO, registry.HGDP_CHR22_SITE),
    ),
}
"""Data sets by the name that `rspca datasets` takes."""
