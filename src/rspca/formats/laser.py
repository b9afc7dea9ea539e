"""The .geno and .site text files of LASER: a line of genotypes per person, a line per variant."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rspca.base.checks import shown
from rspca.base.files import PathLike, lines
from rspca.base.types import Array
from rspca.genetics.plink import Genotypes, with_means

_CALLS = {"0": 0.0, "1": 1.0, "2": 2.0, "-9": np.nan}


def read_laser(geno: PathLike, site: PathLike) -> tuple[Genotypes, Array]:
    r"""Return the genotypes (missing calls as means, float32) and the population of each person.

    Parameters
    ----------
    geno : path
        One line per person: population, name, then a count 0, 1, 2 per variant, -9 where missing.
    site : path
        A title line, then chromosome, position, name and two alleles of each variant.

    Examples
    --------
    >>> import os, rspca.formats, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     geno, site = os.path.join(folder, "toy.geno"), os.path.join(folder, "toy.site")
    ...     with open(geno, "w") as file:
    ...         print("Tuscan P1 0 2", "Tuscan P2 1 -9", sep="\n", file=file)
    ...     with open(site, "w") as file:
    ...         print("CHR POS ID REF ALT", "22 100 rs1 A C", "22 200 rs2 G T", sep="\n", file=file)
    ...     toy, populations = rspca.formats.read_laser(geno, site)
    >>> toy.matrix.tolist(), populations.tolist()
    ([[0.0, 2.0], [1.0, 2.0]], ['Tuscan', 'Tuscan'])
    """
    sites = [line.split() for line in lines(site)]
    if not sites or sites[0][:3] != ["CHR", "POS", "ID"] or any(len(fields) != len(sites[0]) for fields in sites):
        raise ValueError(f"{Path(site)} is not a .site file: the title CHR POS ID ..., then so many columns a line.")
    populations, people, rows = [], [], []
    for number, line in enumerate(lines(geno), 1):
        fields = line.split()
        if len(fields) != len(sites) + 1:
            raise ValueError(
                f"{Path(geno)}, line {number}: {len(fields) - 2} genotypes for the {len(sites) - 1} variants of "
                f"{Path(site).name}; one of the files is cut off or of another set."
            )
        populations.append(fields[0])
        people.append(fields[1])
        strange = set(fields[2:]) - set(_CALLS)
        if strange:
            raise ValueError(
                f"{Path(geno)}, line {number}: {shown(sorted(strange)[0])!r} is not a genotype 0, 1, 2 or -9."
            )
        rows.append(np.array([_CALLS[call] for call in fields[2:]], dtype=np.float32))
    if not rows:
        raise ValueError(f"{Path(geno)} is empty.")
    X = with_means(np.vstack(rows))
    variants, chromosomes = tuple(fields[2] for fields in sites[1:]), tuple(fields[0] for fields in sites[1:])
    return Genotypes(X, tuple(people), variants, chromosomes), np.array(populations)
