"""The series-matrix format of the Gene Expression Omnibus: a header about a study, then a table of values."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rspca.base.checks import reason, shown
from rspca.base.files import PathLike, lines
from rspca.base.memory import GrowingRoom
from rspca.base.types import Array

_BEGIN, _END = "!series_matrix_table_begin", "!series_matrix_table_end"
_MISSING = {"": "nan", "null": "nan", "NULL": "nan", "NA": "nan"}

Table = dict[str, list[tuple[str, ...]]]


class SeriesMatrix(NamedTuple):
    """A study: values of samples by features, and what the header says of the study and of its samples."""

    matrix: Array  # samples x features; missing values are NaN
    feature_names: tuple[str, ...]  # as in ID_REF: probes of the platform
    sample_names: tuple[str, ...]  # accessions GSM...
    series: Table  # without the prefix !Series_; one tuple per line of that name
    samples: Table  # without the prefix !Sample_; one tuple per line, an entry per sample


def read_series_matrix(path: PathLike, *, encoding: str = "utf-8") -> SeriesMatrix:
    r"""Return the content of a GEO series-matrix file, plain or gzipped.

    The file is read line by line. It is refused unless the table has its end mark, every row and every line about
    samples has one entry per sample, and the samples and the number of rows agree with the header where that names
    them: a file that was cut off anywhere does not pass.

    Parameters
    ----------
    path : path
        The file, as ``GSE10072_series_matrix.txt.gz``.
    encoding : str
        Encoding of the header.

    Examples
    --------
    >>> import os, rspca.formats, tempfile
    >>> text = '''!Series_geo_accession\t"GSE1"
    ... !Sample_geo_accession\t"GSM1"\t"GSM2"
    ... !series_matrix_table_begin
    ... "ID_REF"\t"GSM1"\t"GSM2"
    ... "1007_s_at"\t5.5\t6
    ... !series_matrix_table_end
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "GSE1_series_matrix.txt")
    ...     with open(path, "w") as file:
    ...         _ = file.write(text)
    ...     study = rspca.formats.read_series_matrix(path)
    >>> study.matrix.tolist(), study.feature_names, study.samples["geo_accession"]
    ([[5.5], [6.0]], ('1007_s_at',), [('GSM1', 'GSM2')])
    """
    path = Path(path)
    rows = enumerate(lines(path, encoding), 1)
    series, samples = _header(path, rows)
    names, features, values = _table(path, rows)
    _check_samples(path, names, samples)
    expected = {count for line in samples.get("data_row_count", []) for count in line}
    if expected - {str(len(features))}:
        announced = shown(", ".join(sorted(expected)))
        raise ValueError(f"{path} has {len(features)} rows where its header announces {announced}; download it again.")
    matrix = np.frombuffer(values, dtype=np.float64).reshape(len(features), len(names)).T
    return SeriesMatrix(np.ascontiguousarray(matrix), tuple(features), names, series, samples)


def _header(path: Path, rows: Iterator[tuple[int, str]]) -> tuple[Table, Table]:
    tables: dict[str, Table] = {"!Series": {}, "!Sample": {}}
    for number, line in rows:
        if line == _BEGIN:
            return tables["!Series"], tables["!Sample"]
        label, *fields = line.split("\t")
        kind, _, name = label.partition("_")
        if kind in tables:
            tables[kind].setdefault(name, []).append(tuple(_unquoted(field) for field in fields))
        elif line.strip():
            raise ValueError(
                f"{path}, line {number}: {line[:40]!r} is neither !Series_, !Sample_ nor {_BEGIN}; "
                "this is not a series-matrix file."
            )
    raise ValueError(f"{path} has no {_BEGIN}; it is cut off, or not a series-matrix file.")


def _table(path: Path, rows: Iterator[tuple[int, str]]) -> tuple[tuple[str, ...], list[str], array[float]]:
    number, line = next(rows, (0, _END))
    label, *names = (_unquoted(field) for field in line.split("\t"))
    if label != "ID_REF" or not names or len(set(names)) < len(names):
        raise ValueError(f"{path}, after {_BEGIN}: a line ID_REF with the names of the samples, all different, is due.")
    features: list[str] = []
    values: array[float] = array("d")
    room = GrowingRoom(f"the table in {path}", "Choose fewer rows or samples first.")
    for number, line in rows:
        if line == _END:
            break
        feature, *fields = line.split("\t")
        if len(fields) != len(names):
            raise ValueError(
                f"{path}, line {number}: {len(fields)} values for {len(names)} samples; download it again."
            )
        features.append(_unquoted(feature))
        try:
            values.extend(_number(field) for field in map(_unquoted, fields))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}, {shown(features[-1])}: {reason(error)}.") from error
        room.check(8 * len(values))
    else:
        raise ValueError(f"{path} has no {_END}: it is cut off after {len(features)} rows; download it again.")
    for number, line in rows:
        if line.strip():
            raise ValueError(f"{path}, line {number}: {line[:40]!r} after the end of the table.")
    if not features:
        raise ValueError(f"{path} has an empty table: the values of this study are in other files.")
    if len(set(features)) < len(features):
        raise ValueError(f"{path}: a feature occurs in two rows.")
    return tuple(names), features, values


def _check_samples(path: Path, names: tuple[str, ...], samples: Table) -> None:
    for name, entries in samples.items():
        for entry in entries:
            if len(entry) != len(names):
                raise ValueError(f"{path}: !Sample_{shown(name)} has {len(entry)} entries for {len(names)} samples.")
    for accession in samples.get("geo_accession", []):
        if accession != names:
            raise ValueError(f"{path}: the samples of the header are not those of the table.")


def _number(field: str) -> float:
    """Return a value, NaN where it is missing; refuse what only Python takes for a number, and infinity."""
    number = float(_MISSING.get(field, field))
    if math.isinf(number) or "_" in field:
        raise ValueError(f"{shown(field)!r} is not a finite number")
    return number


def _unquoted(field: str) -> str:
    """Return a field without the quotation marks round it; GEO does not double those inside."""
    return field[1:-1] if len(field) > 1 and field[0] == field[-1] == '"' else field
