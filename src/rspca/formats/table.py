"""Tables: an operator with the names and properties of its features and samples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rspca.base.checks import in_one_line, shown
from rspca.base.types import Array
from rspca.formats.named import Named
from rspca.formats.term_weights import DocumentTerms
from rspca.genetics.selection import check_distinct
from rspca.operators.base import OperatorMixin
from rspca.operators.convert import as_operator

NAMES_SHOWN = 3
"""Names of features and of samples in the printed form of a table."""


@dataclass(frozen=True, repr=False, eq=False)  # arrays neither print nor compare in one line
class Table:
    """Data with names: an operator, and names and properties of its columns (features) and rows (samples).

    `features` and `samples` map the name of a property to an array with one entry per column or row of X; give them
    to ``pandas.DataFrame`` as they are. `samples` has the names of the samples too, and labels from columns of text
    (.csv, .parquet), obs (.h5ad) or the folders of documents. For genotypes these are snp, chromosome, position,
    allele_1, allele_2, frequency (of allele 1) and missing (share of calls); fid and iid.
    """

    operator: OperatorMixin
    feature_names: Array
    sample_names: Array
    features: Mapping[str, Array] = field(default_factory=dict)
    samples: Mapping[str, Array] = field(default_factory=dict)
    terms: DocumentTerms | None = None
    """Of documents: all their words, and the weights in use."""
    notes: tuple[str, ...] = ()
    """What was left out of the file, in words."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        return self.operator.shape

    def __repr__(self) -> str:
        """Return a summary of a few lines: sizes, the first names, properties of both sides, and what was left out."""
        m, n = self.shape
        lines = [f"Table of {m:,} samples x {n:,} features ({type(self.operator).__name__}, {self.operator.dtype})"]
        sides = (("features", self.feature_names, self.features), ("samples", self.sample_names, self.samples))
        for side, names, properties in sides:
            more = ", ..." if len(names) > NAMES_SHOWN else ""
            known = f"; properties: {', '.join(shown(name) for name in properties)}" if properties else ""
            lines.append(f"  {side}: {', '.join(shown(name) for name in names[:NAMES_SHOWN])}{more}{known}")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)

    @property
    def has_feature_names(self) -> bool:
        """Whether features have names of their own, and not only numbers."""
        return any(str(name) != f"feature{j}" for j, name in enumerate(self.feature_names))


def table_of(found: Named, path: object) -> Table:
    """Return what a reader found in a file as a table; columns and rows without names are numbered."""
    for note in found.notes:
        warnings.warn(note, UserWarning, stacklevel=3)
    try:
        op = as_operator(found.X)
    except (ValueError, TypeError) as error:
        raise in_one_line(error, path) from error
    m, n = op.shape
    columns = np.array(found.columns if found.columns is not None else [f"feature{j}" for j in range(n)])
    rows = np.array(found.rows if found.rows is not None else [f"sample{i}" for i in range(m)])
    check_distinct(path, columns, "feature name", "give each its own")
    key = "sample"
    while key in found.samples:
        key += "_name"
    return Table(op, columns, rows, dict(found.features), {key: rows, **found.samples}, found.terms, found.notes)
