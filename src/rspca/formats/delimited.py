"""Delimited text: delimiter, names and columns of text are detected, and errors name the cell."""

from __future__ import annotations

import csv
import itertools
import math
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from rspca.base.arguments import argument
from rspca.base.checks import check_choice, reason
from rspca.base.files import lines, opened
from rspca.base.memory import GrowingRoom
from rspca.base.types import Array
from rspca.formats.columns import (
    DECIMAL_COMMA,
    advice_for_text,
    arrange_columns,
    check_labels,
    check_row_names,
    is_missing_cell,
    is_number,
    listed,
    not_text,
    row_column,
)
from rspca.formats.headers import ROW_NAMES, names_columns
from rspca.formats.named import Named

WHITE_SPACE = " "
"""Stands for any run of spaces and tabs."""
DELIMITERS = ("\t", ",", ";", "|", WHITE_SPACE)
LOOK_AHEAD, LOOK_AHEAD_CELLS = 20, 1 << 18
"""Rows by which the delimiter is chosen, and whether the first names the columns; of wide ones two, or those with so
many cells."""
TEXT_BYTES = 64
"""What a cell of text takes in memory, as a string and its place in a list."""
READ_MISSING = ("error", "keep")
"""What may be done with missing cells."""
LEAST_COUNTED = 5
"""Rows from which a first column 1, 2, 3, ... is more than chance."""
_TOKEN = re.compile(r'"((?:[^"]|"")*)"(?!\S)|(\S+)')


class Row(NamedTuple):
    """The cells of a row, and the line of the file where it ends."""

    line: int
    cells: list[str]


def read_delimited(
    path: Path,
    *,
    labels: str | Iterable[str] = (),
    transpose: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    row_names: str | bool | None = None,
    encoding: str = "utf-8",
    missing: str = "error",
) -> Named:
    """Return a table of numbers in text: .csv, .tsv, also gzipped.

    Columns of text describe the samples and are no features. The first column names the rows if it is text and its
    entries differ, or if its head is empty, id, index, name or sample. Missing cells are refused unless `missing` is
    "keep", and so are columns that mix text and numbers or write numbers as people do ($1, 10%, 1 234), unless they are
    labels.

    Parameters
    ----------
    path : path
        The file.
    labels : str, or names
        Columns that describe samples, text or numbers. Other columns of text become labels too, with a warning.
    transpose : bool
        Whether the file has features in rows, as tables of gene expression often do.
    delimiter : str
        Tab, comma, semicolon, bar, or " " for white space; None: detected.
    header : bool
        Whether the first line has the names of the columns; None: if it has text where the next line has a number, or
        counts 0, 1, 2, ..., as pandas names columns. Numbers that could be either (years, even steps, a long sorted
        list) are refused.
    row_names : str or bool
        The column that names the rows; True: the first; False: none; None: detected.
    encoding : str
        Encoding of the text.
    missing : {"error", "keep"}
        "keep": a missing cell (empty, NA, NaN, ...) of a column of numbers is NaN, for fits with missing="mean".
    """
    check_choice("missing", missing, READ_MISSING)
    if delimiter is not None:
        check_choice("delimiter", delimiter, DELIMITERS)
    check_row_names(row_names)
    _check_encoding(path)
    try:
        rows = _rows(path, delimiter or _found_delimiter(path, encoding), encoding)
        first = _beginning(rows)
        if not first:
            raise ValueError(f"{path} is empty; a table of numbers is needed.")
        found, note = (header, "") if header is not None else names_columns(path, [row.cells for row in first])
        names = first.pop(0).cells if found else None
        if not first:
            raise ValueError(f"{path} has a line of names and no numbers.")
        wanted = [labels] if isinstance(labels, str) else [str(name) for name in labels]
        cells = _Cells(path, names, first[0], wanted, row_names, keep_missing=missing == "keep")
        for row in itertools.chain(first, rows):
            cells.add(row)
    except csv.Error as error:
        raise ValueError(
            f"{path} cannot be split into cells: {reason(error)}. Look for a quote without its pair."
        ) from error
    named = cells.named(transpose)
    return replace(named, notes=(note, *named.notes)) if note else named


class _Cells:
    """Cells as they come: numbers in one flat array, columns of text as strings."""

    def __init__(
        self,
        path: Path,
        names: list[str] | None,
        first: Row,
        labels: list[str],
        row_names: str | bool | None,
        *,
        keep_missing: bool,
    ) -> None:
        self.path, self.width, self.labels, self.keep_missing = path, len(first.cells), labels, keep_missing
        if names is not None and len(names) == self.width - 1:
            names = ["", *names]
        if names is not None and len(names) != self.width:
            raise ValueError(f"{path}, line {first.line} has {self.width} fields; the line of names has {len(names)}.")
        self.has_names = names is not None
        self.names = [name.strip() or f"column{j}" for j, name in enumerate(names or [""] * self.width, 1)]
        check_labels(path, labels, self.names)
        text = {j for j, cell in enumerate(first.cells) if self.names[j] in labels or not is_number(cell)}
        self.given_rows = row_column(path, row_names, self.names, labels)
        self.row_names = self.given_rows
        headed = names is not None and names[0].strip().lower() in ROW_NAMES and self.names[0] not in labels
        if row_names is None and headed:
            self.row_names = self.names[0]
        if self.row_names is not None:
            text.add(self.names.index(self.row_names))
        self.may_be_named = row_names is None
        self.text: dict[int, list[str]] = {j: [] for j in sorted(text)}
        self.numeric = [j for j in range(self.width) if j not in text]
        self.values, self.lines = array("d"), array("q")
        self.room = GrowingRoom(f"the table in {path}", "Store it as .npy: then it is mapped.")

    def add(self, row: Row) -> None:
        """Take in a row, or refuse it."""
        if len(row.cells) != self.width:
            raise ValueError(
                f"{self.path}, line {row.line} has {len(row.cells)} fields; the first row of numbers has {self.width}."
            )
        for j, column in self.text.items():
            column.append(row.cells[j])
        cells = [row.cells[j] for j in self.numeric]
        if self.keep_missing:
            cells = ["nan" if is_missing_cell(cell) else cell for cell in cells]
        try:
            found = [float(cell) for cell in cells]
        except ValueError:
            self._refuse(row)
        finite = all(map(math.isfinite, found)) or (self.keep_missing and not any(map(math.isinf, found)))
        if "_" in "".join(cells) or not finite:  # Python reads 1_000, other programs do not
            self._refuse(row)
        self.values.extend(found)
        self.lines.append(row.line)
        self.room.check(8 * len(self.values) + len(self.lines) * (8 + TEXT_BYTES * len(self.text)))

    def named(self, transpose: bool) -> Named:
        """Return what was read: numbers as a matrix, text as names and labels."""
        last = self.width - 1
        if last in self.text and self.names[last] == f"column{self.width}" and not any(map(str.strip, self.text[last])):
            del self.text[last]  # each line ends with a delimiter
        values = np.frombuffer(self.values).reshape(len(self.lines), -1) if self.numeric else np.empty((0, 0))
        if self.keep_missing:
            values = self._with_numbers_found_late(values)
        rows = self.row_names
        if rows is None and self.may_be_named and 0 in self.text and self.names[0] not in self.labels:
            rows = self.names[0]
        for j, column in self.text.items():
            if self.names[j] not in (*self.labels, self.row_names):
                self._check_text(j, column)
        found = arrange_columns(
            self.path,
            values,
            [self.names[j] for j in self.numeric] if self.has_names else None,
            {self.names[j]: column for j, column in self.text.items()},
            labels=self.labels,
            first=rows,
            transpose=transpose,
            given=self.given_rows is not None,
        )
        counts = self.may_be_named and 0 in self.numeric and _counts_rows(values[:, 0])
        return replace(found, notes=(*found.notes, self._counted())) if counts else found

    def _with_numbers_found_late(self, values: Array) -> Array:
        """Return the numbers, with columns that began with a missing cell and hold nothing but numbers."""
        late = [
            j
            for j, column in self.text.items()
            if self.names[j] not in (*self.labels, self.row_names)
            and all(is_missing_cell(cell) or is_number(cell) for cell in column)
        ]
        columns = {j: values[:, place] for place, j in enumerate(self.numeric)}
        for j in late:
            cells = self.text.pop(j)
            columns[j] = np.array([np.nan if is_missing_cell(cell) else float(cell) for cell in cells])
        self.numeric = sorted(columns)
        return np.column_stack([columns[j] for j in self.numeric]) if late else values

    def _counted(self) -> str:
        name = self.names[0]
        return (
            f"{self.path}: column {listed([name], 1)} counts the rows and is taken as a feature. If it names them, "
            f"give {argument('row_names', name)}; if it is a feature, {argument('row_names', False)}."
        )

    def _check_text(self, j: int, column: list[str]) -> None:
        """Raise unless a column is text: not empty, without numbers, however they are written."""
        missing = next((i for i, cell in enumerate(column) if is_missing_cell(cell)), None)
        if missing is not None and all(is_missing_cell(cell) or is_number(cell) for cell in column):
            raise ValueError(self._missing(self.lines[missing], j, column[missing]))
        wrong = not_text(column, first=j == 0)  # of the first column, too: names, or measurements such as <0.1?
        if wrong is not None:
            raise ValueError(self._no_number(self.lines[wrong], j, column[wrong]))

    def _refuse(self, row: Row) -> NoReturn:
        for j in self.numeric:
            cell = row.cells[j]
            if is_missing_cell(cell):
                if self.keep_missing:
                    continue
                raise ValueError(self._missing(row.line, j, cell))
            if not is_number(cell):
                raise ValueError(self._no_number(row.line, j, cell))
            if not math.isfinite(float(cell)):
                raise ValueError(f"{self._place(row.line, j)}: {cell[:40]!r} is not a finite number. Fix or drop it.")
        raise AssertionError("a row was refused without a reason")

    def _missing(self, line: int, j: int, cell: str) -> str:
        what = f"{cell!r} is not a number" if cell.strip() else "the cell is empty"
        option = argument("missing", "mean")
        how = f"give {option}" if option.startswith("-") else "read with missing='keep' and fit with missing='mean'"
        return (
            f"{self._place(line, j)}: {what}. Impute or drop what is missing first; or, for it to count as the mean of "
            f"its column, {how}."
        )

    def _no_number(self, line: int, j: int, cell: str) -> str:
        advice = advice_for_text(cell, self.names[j], first=j == 0)
        return f"{self._place(line, j)}: {cell[:40]!r} is not a number. {advice}"

    def _place(self, line: int, j: int) -> str:
        return f"{self.path}, line {line}, column {listed([self.names[j]], 1) if self.has_names else j + 1}"


def _counts_rows(values: Array) -> bool:
    """Return whether numbers are 0, 1, 2, ... or 1, 2, 3, ..., enough of them not to be so by chance."""
    return len(values) >= LEAST_COUNTED and values[0] in (0.0, 1.0) and bool((np.diff(values) == 1.0).all())


def _check_encoding(path: Path) -> None:
    with opened(path) as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(f"{path} is UTF-16 text, not utf-8; save it as UTF-8 text.")


# --- rows -------------------------------------------------------------------------------------------------------------


def _found_delimiter(path: Path, encoding: str) -> str:
    """Return the delimiter that cuts the first rows into the most cells, the same number each."""
    widths: dict[str, int] = {}
    for delimiter in DELIMITERS:
        try:
            rows = [row.cells for row in _beginning(_rows(path, delimiter, encoding))]
        except csv.Error:
            continue
        if not rows or len({len(cells) for cells in rows[1:]}) > 1 or len(rows[-1]) - len(rows[0]) not in (0, 1):
            continue
        commas = [DECIMAL_COMMA.fullmatch(cell.strip()) is not None for cell in rows[-1]]
        if delimiter != "," and len(commas) > 1 and (all if delimiter == WHITE_SPACE else any)(commas):
            return delimiter  # commas inside of cells cut just as evenly
        widths[delimiter] = len(rows[-1])
    space = widths.pop(WHITE_SPACE, 0)
    best = max(widths, key=lambda mark: widths[mark], default=WHITE_SPACE)
    if widths.get(best, 0) > 1:
        return best
    if space > 1:
        return WHITE_SPACE
    first = next((line for line in lines(path, encoding) if line.strip()), "")
    return max(
        DELIMITERS[:-1], key=first.count
    )  # rows differ in length: the error is reported for the delimiter that cuts most


def _beginning(rows: Iterator[Row]) -> list[Row]:
    """Return the next few rows, from which the layout of the table is detected."""
    found, count = list[Row](), 0
    for row in itertools.islice(rows, LOOK_AHEAD):
        found.append(row)
        count += len(row.cells)
        if count > LOOK_AHEAD_CELLS and len(found) > 1:
            break
    return found


def _rows(path: Path, delimiter: str, encoding: str) -> Iterator[Row]:
    """Yield rows that are not blank."""
    if delimiter == WHITE_SPACE:
        for number, line in enumerate(lines(path, encoding), 1):
            if line.strip():
                yield Row(number, [plain or quoted.replace('""', '"') for quoted, plain in _TOKEN.findall(line)])
        return
    reader = csv.reader((f"{line}\n" for line in lines(path, encoding)), delimiter=delimiter, strict=True)
    for cells in reader:
        if len(cells) > 1 or (cells and cells[0].strip()):
            yield Row(reader.line_num, cells)
