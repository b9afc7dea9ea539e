"""Tables: an operator with the names and properties of its features and samples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.checks import check_length, in_one_line, shown
from rspca.base.memory import check_room
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
    (.csv, .parquet), obs (.h5ad, .zarr) or the folders of documents. For genotypes these are snp, chromosome, position,
    allele_1, allele_2, frequency (of allele 1) and missing (share of calls); fid and iid. `matrix` is X itself, and
    `from_matrix` gives names to a matrix, sparse or not.
    """

    operator: OperatorMixin
    feature_names: Array
    sample_names: Array
    features: Mapping[str, Array] = field(default_factory=dict)
    samples: Mapping[str, Array] = field(default_factory=dict)
    terms: DocumentTerms | None = None
    """All words of the documents, and the weights in use; None for other data."""
    notes: tuple[str, ...] = ()
    """What was left out of the file, in words."""

    @classmethod
    def from_matrix(cls, X: Any, feature_names: Any = None, sample_names: Any = None) -> Table:
        """Return a matrix of any kind with names, so that models fitted on it carry them.

        Parameters
        ----------
        X : array, SciPy sparse matrix, operator, ...
            Samples by features: whatever ``as_operator`` takes.
        feature_names, sample_names : sequences of str
            A name for each column and each row; numbered where not given.

        Examples
        --------
        >>> import rspca, scipy.sparse
        >>> X = scipy.sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [4.0, 0.0, 0.0]])
        >>> model = rspca.SparsePCA(1, k=2, random_state=0).fit(rspca.Table.from_matrix(X, ["wing", "flow", "heat"]))
        >>> model.feature_names_in_.tolist()
        ['wing', 'flow', 'heat']
        """
        op = as_operator(X)
        names = []
        for given, name, count, kind in (
            (feature_names, "feature_names", op.shape[1], "feature"),
            (sample_names, "sample_names", op.shape[0], "sample"),
        ):
            listed = [f"{kind}{i}" for i in range(count)] if given is None else given
            check_length(name, listed, count, f"{kind}s")
            names.append(np.array([str(each) for each in listed]))
        check_distinct("feature_names", names[0], "name", "give each feature its own")
        return cls(op, names[0], names[1], {}, {"sample": names[1]})

    @property
    def shape(self) -> tuple[int, int]:
        """Samples by features."""
        return self.operator.shape

    @property
    def matrix(self) -> Any:
        """X as an array or a SciPy sparse matrix, samples by features.

        Data in memory are returned as they are, not as a copy. Packed and streamed data are unpacked, if there is room;
        a missing call is the mean of its SNP, as in products. A Gram matrix has no samples: its factor is returned.
        """
        held = getattr(self.operator, "X", None)
        if isinstance(held, np.ndarray) or scipy.sparse.issparse(held):
            return held
        m, n = self.shape
        size = m * n * self.operator.dtype.itemsize
        check_room(size, f"{m} samples by {n} features, dense,", "Use table.operator, which does not unpack them.")
        return self.operator.all_columns()

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
