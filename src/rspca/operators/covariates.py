"""What is known of samples and is not of interest, such as batch and age: from columns to numbers, and their span."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import is_missing, rectangular, shown
from rspca.base.dataframes import NUMBERS, is_dataframe_like, named_columns, numeric_array
from rspca.base.types import Array

RANK_TOL = 1e-9
"""Arithmetic: length of what is new in a covariate, relative to the covariates, below which it is a combination of the
others: half of the digits of float64, and one more because a sum over samples loses some."""
EPS = float(np.finfo(np.float64).eps)
"""Arithmetic: twice the unit roundoff of float64, in which sums are bounded."""
NAMED_AT_MOST = 5
"""Covariates or categories that a message names."""


class Covariate(NamedTuple):
    """One covariate: its name, and its categories in order; None for numbers."""

    name: str
    levels: tuple[str, ...] | None = None

    @property
    def width(self) -> int:
        """Columns of numbers: one, or one for each category but the first."""
        return 1 if self.levels is None else len(self.levels) - 1

    def in_words(self) -> str:
        """Return name and number of categories."""
        return (
            shown(self.name, 40) if self.levels is None else f"{shown(self.name, 40)} ({len(self.levels)} categories)"
        )


class Design(NamedTuple):
    """Covariates as numbers, samples by columns, and what each column is."""

    covariates: tuple[Covariate, ...]
    matrix: Array

    def in_words(self) -> str:
        """Return what was projected out, in words."""
        words = [covariate.in_words() for covariate in self.covariates[:NAMED_AT_MOST]]
        more = len(self.covariates) - NAMED_AT_MOST
        return f"covariates projected out: {', '.join(words)}{f' and {more} more' if more > 0 else ''}"


class Basis(NamedTuple):
    """Orthonormal basis of the weighted, centered covariates, and what expresses it by them."""

    Q: Array
    errors: Array
    """Bounds on the distance of each column of Q from the exact one."""
    means: Array
    """Mean of each column of the design, weighted."""
    combination: Array
    """T with Q = diag(sqrt(w)) (design - 1 means') T."""


def design_of(covariates: Any, n_samples: int) -> Design:
    """Return covariates as numbers: an array, a frame, or a mapping from names to columns; texts are categories."""
    columns = _named(covariates, n_samples)
    known, parts = [], []
    for name, column in columns:
        numbers = _as_numbers(name, column)
        if numbers is None:
            labels = _labels(name, column)
            covariate = Covariate(name, tuple(sorted(set(labels.tolist()))))
        else:
            covariate = Covariate(name)
        known.append(covariate)
        parts.append(numbers[:, None] if numbers is not None else _one_hot(labels, covariate))
    return Design(tuple(known), np.column_stack(parts))


def design_as(covariates: Any, known: tuple[Covariate, ...], n_samples: int) -> Array:
    """Return covariates of new samples as numbers, in the columns of those of a fit; refuse unseen categories."""
    columns = _named(covariates, n_samples)
    if _has_names(covariates):
        given = dict(columns)
        absent = [covariate.name for covariate in known if covariate.name not in given]
        if absent:
            raise ValueError(
                f"{argument('covariates')} do not have {_listed(absent)}, which the fit had; give these for the new "
                "samples."
            )
        columns = [(covariate.name, given[covariate.name]) for covariate in known]
    elif len(columns) != len(known):
        raise ValueError(
            f"{argument('covariates')} has {len(columns)} column(s); the fit had {len(known)}: "
            f"{_listed([covariate.name for covariate in known])}."
        )
    parts = []
    for covariate, (_, column) in zip(known, columns, strict=True):
        numbers = _as_numbers(covariate.name, column)
        if covariate.levels is None:
            if numbers is None:
                raise ValueError(f"Covariate {shown(covariate.name)} held numbers in the fit, and holds texts here.")
            parts.append(numbers[:, None])
            continue
        labels = _labels(covariate.name, column)
        unseen = sorted(set(labels.tolist()) - set(covariate.levels))
        if unseen:
            raise ValueError(
                f"Covariate {shown(covariate.name)} has categories that the fit did not see: {_listed(unseen)}. It "
                f"knows {_listed(covariate.levels)}; what it does not know cannot be taken off. Fit again with these "
                "samples, or leave them out."
            )
        parts.append(_one_hot(labels, covariate))
    return np.column_stack(parts)


def basis_of(design: Design, weights: Array | None) -> Basis:
    """Return an orthonormal basis of the covariates about their means; columns that others explain are left out.

    With weights it is that of weighted least squares. A warning says what was left out.
    """
    D = design.matrix
    m = len(D)
    w = np.ones(m) if weights is None else weights
    means = w @ D / w.sum()
    about = D - means
    rest = w @ about / w.sum()  # a mean of large numbers has the rounding of their sum
    means, about = means + rest, about - rest
    weighted = np.sqrt(w)[:, None] * about
    lengths = np.linalg.norm(weighted, axis=0)
    raw = np.sqrt(w @ np.square(D))
    varies = lengths > np.maximum(RANK_TOL, 8 * m * EPS) * raw
    standard = weighted[:, varies] / lengths[varies]
    left, values, right = np.linalg.svd(standard, full_matrices=False)
    rank = int(np.count_nonzero(values > RANK_TOL * values.max(initial=0.0)))
    if rank < D.shape[1]:
        constant = int(np.count_nonzero(~varies))
        message = (
            f"The covariates have {D.shape[1]} column(s) and rank {rank}: {D.shape[1] - rank} of them "
            f"{'are constant or follow' if constant else 'follow'} from the others, and add nothing."
        )
        warnings.warn(message, UserWarning, stacklevel=6)
    used = int(np.count_nonzero(w))
    if rank > used - 2:
        raise ValueError(
            f"{argument('covariates')} of rank {rank} explain all of {used} samples; nothing would be left. Give fewer "
            "covariates or categories."
        )
    combination = np.zeros((D.shape[1], rank))
    combination[varies] = (right[:rank].T / values[:rank]) / lengths[varies][:, None]
    amplified = np.max(np.divide(raw, lengths, out=np.ones(len(raw)), where=varies), initial=1.0)
    errors = (m + 64) * EPS * amplified * values.max(initial=1.0) / values[:rank]
    return Basis(left[:, :rank], errors, means, combination)


def _has_names(covariates: Any) -> bool:
    return isinstance(covariates, Mapping) or (is_dataframe_like(covariates) and hasattr(covariates, "columns"))


def _named(covariates: Any, n_samples: int) -> list[tuple[str, Any]]:
    """Return the columns of covariates with their names, after checking how many entries they have."""
    if isinstance(covariates, str | bytes) or covariates is None:
        raise TypeError(
            f"{argument('covariates', covariates)} must be an array, a frame, or a mapping from names to columns, with "
            "one row for each sample."
        )
    columns: list[tuple[str, Any]]
    if isinstance(covariates, Mapping):
        columns = [(str(name), np.asarray(column)) for name, column in covariates.items()]
    elif _has_names(covariates):
        columns = [(str(name), column) for name, column in named_columns(covariates)]
    elif is_dataframe_like(covariates):  # a series
        columns = [(str(getattr(covariates, "name", None) or "covariate 0"), covariates)]
    else:
        table = rectangular("covariates", covariates)
        if table.ndim not in (1, 2):
            raise ValueError(f"{argument('covariates')} has {table.ndim} dimensions; give samples by covariates.")
        table = table[:, None] if table.ndim == 1 else table
        columns = [(f"covariate {j}", table[:, j]) for j in range(table.shape[1])]
    if not columns:
        raise ValueError(f"{argument('covariates')} has no columns; leave it out if there are none.")
    names = [name for name, _ in columns]
    if len(set(names)) < len(names):
        raise ValueError(f"{argument('covariates')} has two columns of the same name; rename one of them.")
    for name, column in columns:
        if np.ndim(column) != 1 or len(column) != n_samples:
            raise ValueError(
                f"Covariate {shown(name)} has shape {np.shape(column)}; one entry for each of the {n_samples} samples "
                "is needed."
            )
    return columns


def _as_numbers(name: str, column: Any) -> Array | None:
    """Return a column as finite numbers, or None if it holds texts or categories."""
    if is_dataframe_like(column):
        if str(column.dtype).lower().startswith(("categor", "enum")):
            return None
        try:
            values = numeric_array(name, column)
        except TypeError:
            values = np.asarray(column.to_numpy(), dtype=object)
    else:
        values = np.asarray(column)
    if values.dtype == object and all(isinstance(v, bool | int | float | np.number) for v in values if v is not None):
        values = np.array([np.nan if is_missing(v) else float(v) for v in values])
    if values.dtype.kind not in NUMBERS:
        return None
    numbers = values.astype(np.float64)
    absent = int(np.count_nonzero(~np.isfinite(numbers)))
    if absent:
        raise ValueError(_missing_words(name, absent))
    return numbers


def _labels(name: str, column: Any) -> Array:
    """Return the categories of a column as texts."""
    values = column.to_numpy() if is_dataframe_like(column) else np.asarray(column)
    values = values.tolist()
    absent = sum(1 for value in values if is_missing(value))
    if absent:
        raise ValueError(_missing_words(name, absent))
    return np.array([str(value) for value in values], dtype=object)


def _missing_words(name: str, absent: int) -> str:
    return (
        f"Covariate {shown(name)} is missing or not finite for {absent} sample(s). Leave these samples out, or fill it."
    )


def _one_hot(labels: Array, covariate: Covariate) -> Array:
    """Return a column for each category but the first, which the intercept stands for."""
    levels = covariate.levels or ()
    return np.column_stack([np.zeros((len(labels), 0)), *((labels == level).astype(float) for level in levels[1:])])


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    more = len(known) - NAMED_AT_MOST
    return ", ".join(shown(name, 40) for name in known[:NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
