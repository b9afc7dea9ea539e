"""Names of chromosomes: which are autosomes, whether codes are human, and which ones a request means.

PLINK writes human chromosomes X, Y, XY (the pseudo-autosomal region) and MT as 23, 24, 25 and 26. In dog, cattle, sheep
or salmon these numbers are autosomes. Codes 23 to 26 are taken as human where nothing in the files speaks against it:
no chromosome has a larger number, none is named by the letters X, Y, XY or MT, and no position on 26 is beyond
`MITOCHONDRIAL_END`.
"""

from __future__ import annotations

import numbers
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import shown
from rspca.base.types import Array

HUMAN_AUTOSOMES = 22
HUMAN_CODES = {"23": "X", "24": "Y", "25": "XY", "26": "MT"}
MITOCHONDRIAL_END = 1_000_000
"""Bases; the human mitochondrial genome has 16,569, chromosome 26 of sheep 44 million."""
_SAME = {
    **{name: name for name in ("X", "Y", "XY", "Z", "W", "MT", "PT", "0")},
    **dict.fromkeys(("PAR", "PAR1", "PAR2"), "XY"),
    **dict.fromkeys(("M", "MITO", "MITOCHONDRION"), "MT"),
    **{"CHLOROPLAST": "PT", "UN": "0"},
}
"""Sex chromosomes, mitochondria, chloroplasts and what has no place, by their names in capitals."""
SEX = ("X", "Y", "Z", "W")
"""Chromosomes that the sexes have in different numbers; XY, the pseudo-autosomal region, is none."""
_RANGE = re.compile(r"(?:chr)?([0-9]{1,4}) *- *(?:chr)?([0-9]{1,4})", re.IGNORECASE)
_SHOWN = 6
"""Chromosomes that a message lists."""
_MOST_DIGITS = 9


class Naming(NamedTuple):
    """How the .bim files of one study name chromosomes."""

    human: bool  # 23 to 26 are X, Y, XY and MT
    largest: int  # number of a chromosome, 0 if there is none
    roman: bool  # X is the tenth

    def of_file(self, chromosome: str) -> str:
        """Return the name by which a chromosome of the files is compared."""
        return _plain_name(chromosome, self.human)

    def of_request(self, chromosome: str) -> str:
        """Return the name by which a chromosome that the user names is compared."""
        return _plain_name(chromosome, self.human or self.largest <= HUMAN_AUTOSOMES)

    def is_autosome(self, name: str) -> bool:
        """Return whether the chromosome of this compared name is an autosome.

        Of human files these are 1 to 22. Of others they are all but those named as sex chromosomes, mitochondria,
        chloroplasts or unplaced: contigs with names of their own are kept.
        """
        if self.human:
            number = _number(name)
            return number is not None and 1 <= number <= HUMAN_AUTOSOMES
        return name not in _SAME.values() or (self.roman and name == "X")


def naming_of(tables: Sequence[Mapping[str, Array]]) -> Naming:
    """Return how chromosomes are named in the .bim files of one study."""
    names = {bare_name(str(label)) for table in tables for label in np.unique(table["chromosome"])}
    largest = max((number for name in names if (number := _number(name)) is not None), default=0)
    lettered = any(_SAME.get(name.upper(), "0") in HUMAN_CODES.values() for name in names)
    coded = not names.isdisjoint(HUMAN_CODES) and largest <= max(map(int, HUMAN_CODES)) and not lettered
    return Naming(coded and _last_position(tables, "26") <= MITOCHONDRIAL_END, largest, {"IX", "XI"} <= names)


def _last_position(tables: Sequence[Mapping[str, Array]], name: str) -> int:
    """Return the largest position on a chromosome, 0 if no SNP is there."""
    last = 0
    for table in tables:
        labels, inverse = np.unique(table["chromosome"], return_inverse=True)
        there = np.array([bare_name(str(label)) == name for label in labels])[inverse.reshape(-1)]
        last = max(last, int(table["position"][there].max(initial=0)))
    return last


def compared_names(chromosomes: Array, naming: Naming) -> Array:
    """Return the name by which each SNP's chromosome is compared."""
    labels, inverse = np.unique(chromosomes, return_inverse=True)
    return np.array([naming.of_file(str(label)) for label in labels])[inverse.reshape(-1)]


def requested_names(chromosomes: Any, naming: Naming, there: Collection[str]) -> tuple[str, ...]:
    """Return the compared names of chromosomes that the user names: singly, as "1,2,X", or as a range "1-5"."""
    if isinstance(chromosomes, str):
        chromosomes = chromosomes.split(",")
    if isinstance(chromosomes, numbers.Integral):
        chromosomes = [chromosomes]
    if not isinstance(chromosomes, Iterable):
        raise TypeError(
            f'{argument("chromosomes", chromosomes)} is not known; give "autosomes", "all", names, or a range "1-5".'
        )
    found: list[str] = []
    for chromosome in chromosomes:
        text = str(chromosome).strip()
        ends = _RANGE.fullmatch(text)
        if ends is None or naming.of_file(text) in there:
            found.append(naming.of_request(text))
            continue
        first, last = int(ends[1]), int(ends[2])
        if first > last:
            raise ValueError(f"{argument('chromosomes', text)} ends before it begins; give for example 1-5.")
        found += [naming.of_request(str(number)) for number in range(first, last + 1)]
    return tuple(dict.fromkeys(found))


def left_out_note(chromosomes: Sequence[Array], selected: Sequence[Array], naming: Naming, *, autosomes: bool) -> str:
    """Return in words how many SNPs lie on chromosomes that are not used; nothing if none does."""
    total = sum(map(len, chromosomes))
    counts = Counter(
        str(label)
        for names, used in zip(chromosomes, selected, strict=True)
        for label in np.asarray(names)[~used].tolist()
    )
    if not counts:
        return ""
    each = [f"{count:,} on {_described(name, naming)}" for name, count in counts.most_common(_SHOWN)]
    listed = ", ".join(each) + (f", and {len(counts) - _SHOWN} other chromosomes" if len(counts) > _SHOWN else "")
    said = f"{counts.total():,} of {total:,} SNPs are left out by their chromosome: {listed}."
    if not autosomes:
        return said
    why = " Numbers 23 to 26 are taken as human X, Y, XY and MT." if naming.human else ""
    return f"{said}{why} Only autosomes are used; {argument('chromosomes', 'all')} uses all, or name those to use."


def sex_note(names: Sequence[Array], selected: Sequence[Array], naming: Naming) -> str:
    """Return in words how many of the SNPs in use lie on sex chromosomes; nothing if none does."""
    counts = Counter(
        str(name)
        for each, used in zip(names, selected, strict=True)
        for name in each[used & np.isin(each, SEX)].tolist()
        if not naming.is_autosome(str(name))
    )
    if not counts:
        return ""
    listed = ", ".join(f"{count:,} on {name}" for name, count in sorted(counts.items()))
    return (
        f"{counts.total():,} of the SNPs in use are on sex chromosomes ({listed}), where the sexes have different "
        f"numbers of copies: components can show sex. {argument('chromosomes', 'autosomes')} leaves them out."
    )


def _described(name: str, naming: Naming) -> str:
    plain = naming.of_file(name)
    return shown(name, 80) if plain == bare_name(name) or plain == "0" else f"{shown(name, 80)} ({plain})"


def _plain_name(chromosome: str, human: bool) -> str:
    name = bare_name(chromosome)
    if human and name in HUMAN_CODES:
        return HUMAN_CODES[name]
    return _SAME.get(name.upper(), name)


def _number(name: str) -> int | None:
    return int(name) if name.isascii() and name.isdigit() and len(name) <= _MOST_DIGITS else None


def bare_name(chromosome: str) -> str:
    """Return the name of a chromosome without "chr" or "chromosome", and a number without zeros before it."""
    name = re.sub(r"^chr(omosome)?[ _]?", "", chromosome, flags=re.IGNORECASE)
    return (name.lstrip("0") or "0") if name.isdigit() else name
