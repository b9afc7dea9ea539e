"""What commands know of samples beside the data: covariates and weights, from columns of the data or from a file."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rspca.formats.table import Table


@dataclass(frozen=True)
class OfSamples:
    """Options for what is known of samples beside the data."""

    covariates: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table of what to project out: a line for each sample, named.")
    ] = None
    covariate: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Which columns of it, or of the data; texts are categories.")
    ] = None
    weights: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="How often samples count: a column, or a file of numbers.")
    ] = None

    def names(self) -> list[str]:
        """Return the names of covariates that were given."""
        names = [] if self.covariate is None else [name.strip() for name in self.covariate.split(",")]
        if any(not name for name in names):
            raise ValueError(f"--covariate {self.covariate} has a name that is empty; give for example batch,age.")
        return names

    def columns(self) -> list[str]:
        """Return the columns of the data that are no features: covariates and weights that no file has."""
        weights = [] if self.weights is None or Path(self.weights).is_file() else [self.weights]
        return [*([] if self.covariates is not None else self.names()), *weights]

    def arguments(self, table: Table) -> dict[str, Any]:
        """Return the arguments of the library, for the samples of a table."""
        found: dict[str, Any] = {}
        if self.covariates is not None or self.covariate is not None:
            found["covariates"] = covariates_of(self.covariates, self.names() or None, table)
        if self.weights is not None:
            found["sample_weight"] = _weights(self.weights, table)
        return found


def covariates_of(file: Path | None, names: list[str] | None, table: Table) -> dict[str, Any]:
    """Return columns by name, one entry for each sample: of a file, or of what the data know of their samples.

    Without names they are all columns of the file.
    """
    known = dict(table.samples) if file is None else _columns_of(file, table)
    where = "the data" if file is None else str(file)
    wanted = list(known) if names is None else names
    absent = [name for name in wanted if name not in known]
    if absent:
        others = ", ".join(map(str, known)) or "none"
        raise ValueError(f"--covariate {','.join(absent)}: {where} has no such column; it has {others}.")
    return {name: known[name] for name in wanted}


CovariatesOption = Annotated[
    Path | None,
    typer.Option("--covariates", metavar="FILE", help="Covariates of these samples, for a model that has some."),
]


def covariate_columns(fitted: Any, file: Path | None) -> list[str]:
    """Return the columns of the data that are covariates of a model: all of them, unless a file has them."""
    known = getattr(fitted, "covariates_", None)
    return [] if known is None or file is not None else [covariate.name for covariate in known.covariates]


def model_covariates(fitted: Any, file: Path | None, table: Table) -> dict[str, Any] | None:
    """Return the covariates that a model needs of the samples of a table; None if it needs none."""
    known = getattr(fitted, "covariates_", None)
    if known is None:
        if file is not None:
            raise ValueError(f"--covariates {file} is given, but the model was fitted without any. Leave it out.")
        return None
    names = [covariate.name for covariate in known.covariates]
    if file is None and not set(names) <= set(table.samples):
        raise ValueError(
            f"The model was fitted with covariates ({', '.join(names)}): give --covariates FILE with those of these "
            "samples."
        )
    return covariates_of(file, names, table)


def _columns_of(file: Path, table: Table) -> dict[str, Any]:
    """Return the columns of a table in text, its lines in the order of the samples, which it names."""
    from rspca.base.files import lines

    if not file.is_file():
        raise FileNotFoundError(f"--covariates {file} does not exist; give a table with a line for each sample.")
    rows = [_cells(line) for line in lines(file) if line.strip()]
    if len(rows) < 2:
        raise ValueError(f"{file} has no line of names with lines of values below it.")
    head, body = [name.strip().lstrip("#") for name in rows[0]], rows[1:]
    short = next((number for number, row in enumerate(body, 2) if len(row) != len(head)), None)
    if short is not None:
        raise ValueError(f"{file}, line {short} has {len(body[short - 2])} fields; the line of names has {len(head)}.")
    places, keys = _order(file, head, body, table)
    ordered = [body[place] for place in places]
    values = {name: [row[j].strip() for row in ordered] for j, name in enumerate(head) if j not in keys}
    if not values:
        raise ValueError(f"{file} names samples and says nothing of them; add a column for each covariate.")
    return {name: _numbers_or_texts(file, name, column) for name, column in values.items()}


def _order(file: Path, head: list[str], body: list[list[str]], table: Table) -> tuple[list[int], list[int]]:
    """Return the line of each sample, and which columns name samples."""
    small = [name.lower() for name in head]
    if {"fid", "iid"} <= set(small) and {"fid", "iid"} <= set(table.samples):
        keys = [small.index("fid"), small.index("iid")]
        wanted = [tuple(map(str, pair)) for pair in zip(table.samples["fid"], table.samples["iid"], strict=True)]
    else:
        names = {str(name) for name in table.sample_names}
        hits = [sum(row[j].strip() in names for row in body) for j in range(len(head))]
        if not any(hits):
            raise ValueError(
                f"{file} names none of the samples (the first is {table.sample_names[0]}); one of its columns must."
            )
        keys = [max(range(len(head)), key=lambda j: hits[j])]
        wanted = [(str(name),) for name in table.sample_names]
    where: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(body):
        key = tuple(row[j].strip() for j in keys)
        if key in where:
            raise ValueError(f"{file} has two lines for sample {' '.join(key)}; keep one of them.")
        where[key] = number
    absent = [" ".join(key) for key in wanted if key not in where]
    if absent:
        raise ValueError(f"{file} has no line for {len(absent)} of the {len(wanted)} samples, such as {absent[0]}.")
    return [where[key] for key in wanted], keys


def _numbers_or_texts(file: Path, name: str, cells: list[str]) -> Any:
    """Return a column as numbers where all its cells are; missing cells are refused."""
    import numpy as np

    from rspca.formats.columns import is_missing_cell, is_number

    missing = sum(is_missing_cell(cell) for cell in cells)
    if missing:
        raise ValueError(
            f"{file}, column {name}: {missing} of the {len(cells)} samples have no value. Fill them, or leave these "
            "samples out of the data."
        )
    return np.array(cells, dtype=float) if all(map(is_number, cells)) else np.array(cells, dtype=object)


def _weights(text: str, table: Table) -> Any:
    """Return the weight of each sample: a column of the data, or a file with a number a line in their order."""
    import numpy as np

    from rspca.base.files import lines
    from rspca.formats.columns import is_number

    if not Path(text).is_file():
        if text not in table.samples:
            known = ", ".join(map(str, table.samples)) or "none"
            raise ValueError(f"--weights {text} is neither a file nor a column of the data; its columns are {known}.")
        return np.asarray(table.samples[text])
    cells = [line.strip() for line in lines(Path(text)) if line.strip()]
    wrong = next((number for number, cell in enumerate(cells, 1) if not is_number(cell)), None)
    if wrong is not None or len(cells) != table.shape[0]:
        why = f"has {len(cells)} lines" if wrong is None else f"has no number in line {wrong}"
        raise ValueError(f"{text} {why}; one number for each of the {table.shape[0]} samples is needed.")
    return np.array(cells, dtype=float)


def _cells(line: str) -> list[str]:
    separator = next((mark for mark in "\t,;" if mark in line), None)
    return line.split() if separator is None else next(csv.reader([line], delimiter=separator))
