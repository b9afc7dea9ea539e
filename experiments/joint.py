"""The SNPs that HapMap3 and HGDP (Europeans) share, as one matrix of all people: matched by name, alleles aligned.

    python experiments/joint.py

prints how many there are and why others are left out; the experiments on genotypes use the matrix.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np
from kept import data, needed, say

from rspca.base.files import lines
from rspca.datasets import fetch_hapmap3
from rspca.formats import read_plink
from rspca.genetics.plink import with_means

COMPLEMENT = dict(zip("ACGT", "TGCA", strict=True))
FILES = {
    "HapMap3": ("hapmap3_flashpca", "data.bed", "data.bim.gz", "data.fam"),
    "HGDP": ("hgdp_euro", "H938_Euro.LDprune.bed", "H938_Euro.LDprune.bim.gz", "H938_Euro.LDprune.fam"),
}


class Joint(NamedTuple):
    """Allele counts of all people at the shared SNPs, and what became of every name that both sets have."""

    matrix: np.ndarray
    panels: np.ndarray
    fates: Counter[str]


def fate(one: tuple[str, str], other: tuple[str, str]) -> str:
    """Return how the alleles of a SNP in one set relate to those in another.

    "same", "swapped" (the other allele is counted), the same two "on the other strand", "ambiguous" (A/T and C/G read
    alike on both strands) or "different".
    """
    if COMPLEMENT.get(one[0]) == one[1] or COMPLEMENT.get(other[0]) == other[1]:
        return "ambiguous"
    turned = tuple(COMPLEMENT.get(allele, allele) for allele in other)
    for alleles, strand in ((other, ""), (turned, ", other strand")):
        if alleles == one:
            return "same" + strand
        if alleles[::-1] == one:
            return "swapped" + strand
    return "different"


@cache
def joint_genotypes() -> Joint:
    """Return the joint matrix, autosomes only; missing calls become means over all people."""
    sites, counts = [], []
    for folder, bed, bim, fam in FILES.values():
        paths = {"bim": data.data_path(folder, bim), "fam": data.data_path(folder, fam)}
        fields = [line.split() for line in lines(paths["bim"])]
        sites.append({
            f[1]: (column, (f[4], f[5])) for column, f in enumerate(fields) if f[0].isdigit() and 1 <= int(f[0]) <= 22
        })  # fmt: skip
        counts.append(read_plink(data.data_path(folder, bed), missing="nan", **paths).matrix)
    fates: Counter[str] = Counter()
    columns = []
    for name in sites[0].keys() & sites[1].keys():
        (one, alleles), (other, their_alleles) = sites[0][name], sites[1][name]
        what = fate(alleles, their_alleles)
        fates[what] += 1
        if what.startswith(("same", "swapped")):
            columns.append((one, other, what.startswith("swapped")))
    columns.sort()
    here, there, swapped = (np.array(column) for column in zip(*columns, strict=True))
    second = counts[1][:, there]
    second[:, swapped] = 2.0 - second[:, swapped]
    panels = np.repeat(list(FILES), [len(X) for X in counts])
    return Joint(with_means(np.vstack([counts[0][:, here], second])), panels, fates)


def agreement(found: Joint) -> float:
    """Return the correlation of allele frequencies in Europeans of either set: alignment gone wrong would show."""
    europeans = np.isin(data.fetched(fetch_hapmap3, "hapmap3_flashpca/data.bed").labels, ("CEU", "TSI"))
    frequencies = found.matrix[found.panels == "HapMap3"][europeans], found.matrix[found.panels == "HGDP"]
    return float(np.corrcoef([part.mean(axis=0) for part in frequencies])[0, 1])


def joint() -> np.ndarray:
    return joint_genotypes().matrix


if __name__ == "__main__":
    found = needed(joint_genotypes)
    say(f"{found.fates.total()} names on autosomes that both sets have: {dict(found.fates)}")
    say(f"joint matrix: {found.matrix.shape[0]} people x {found.matrix.shape[1]} SNPs")
    say(f"correlation of allele frequencies, Europeans of HapMap3 with those of HGDP: {agreement(found):.4f}")
