"""Parquet files: columns of numbers are features, an index names the samples, other columns are their labels."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.checks import RefusedFile, check_choice, reason, shown
from rspca.base.files import is_gzipped
from rspca.base.memory import check_room
from rspca.formats.columns import (
    advice_for_text,
    arrange_columns,
    check_labels,
    check_row_names,
    is_truth,
    listed,
    looks_numeric,
    not_text,
    row_column,
)
from rspca.formats.named import Named, plain

CELL_BYTES = 8
"""What a cell takes in memory at least, however well the file is compressed."""


def read_parquet(
    path: Path,
    *,
    labels: str | Iterable[str] = (),
    transpose: bool = False,
    row_names: str | bool | None = None,
    missing: str = "error",
) -> Named:
    """Return a frame in a .parquet file; it needs pyarrow, the extra ``parquet``.

    Columns of numbers or truth values are features. The index that pandas stored names the samples (its levels, joined,
    if it has several, which are labels too); without one, a first column of text whose entries differ does. Other
    columns describe the samples. Missing entries are refused unless `missing` is "keep", and so are columns of lists or
    records, and text that may be numbers, such as 10%, unless `labels` or `row_names` name it.

    Parameters
    ----------
    path : path
        The file.
    labels : str, or names
        Columns that describe samples, of any kind. Other columns without numbers become labels too, with a warning.
    transpose : bool
        Whether the file has features in rows.
    row_names : str or bool
        The column that names the samples; True: the first; False: none; None: detected.
    missing : {"error", "keep"}
        "keep": a missing entry of a column of numbers is NaN, for fits with missing="mean".
    """
    if missing != "error":
        check_choice("missing", missing, ("error", "keep"))
    check_row_names(row_names)
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path}: to read .parquet needs pyarrow: pip install 'rspca[parquet]'.") from error
    if is_gzipped(path):
        raise ValueError(f"{path} is gzipped; unpack it with gunzip.")
    try:
        with parquet.ParquetFile(path) as stored:
            schema, rows = stored.schema_arrow, int(stored.metadata.num_rows)
        _check_columns(path, schema, rows)
        table = parquet.read_table(path, use_threads=False, read_dictionary=_text_columns(schema))
        table.validate(full=True)  # a damaged file may refer to texts that it does not have
        names, index = [str(name) for name in table.column_names], _stored_index(table)
    except (FileNotFoundError, PermissionError, MemoryError, RefusedFile):
        raise
    except Exception as error:  # a damaged file can fail anywhere inside of pyarrow, and in what pandas stored in it
        raise ValueError(f"{path} is not a .parquet file, or it is damaged: {reason(error)}") from error
    wanted = [labels] if isinstance(labels, str) else [str(name) for name in labels]
    check_labels(path, wanted, names)
    given = row_column(path, row_names, names, wanted) if names else None
    text = [name for name in names if name in (*wanted, *index, given) or not _is_numeric(table, name)]
    numeric = [name for name in names if name not in set(text)]
    if not table.num_rows:
        raise ValueError(f"{path} has names and no rows.")
    described = {name: plain(np.array(_cells(path, table, name))).tolist() for name in text}
    first = next((name for name in (index or names[:1]) if name in text and name not in wanted), None)
    for name in text:
        if name not in (*wanted, *index, given):
            _check_text(path, name, described[name], first=name == names[0])
    if row_names is not None:
        first, wanted = given, [*wanted, *(name for name in index if name != given)]
    elif len(index) > 1:  # of an index of several levels, each is a label, and all together name the samples
        first = joined = "/".join(index)
        levels = zip(*(described[level] for level in index), strict=True)
        described[joined] = ["/".join(map(str, labels_of_row)) for labels_of_row in levels]
        wanted = [*wanted, *index]
    return arrange_columns(
        path,
        _matrix(path, table, numeric, keep_missing=missing == "keep"),
        numeric,
        described,
        labels=wanted,
        first=first,
        transpose=transpose,
        given=given is not None,
    )


def _check_text(path: Path, name: str, cells: list[Any], *, first: bool) -> None:
    """Raise if a column of text may hold numbers; those that are plain were stored as text on purpose."""
    texts = [str(cell) for cell in cells]
    wrong = not_text(texts, first=first)
    if wrong is not None and (looks_numeric(texts[wrong]) or is_truth(texts[wrong])):
        advice = advice_for_text(texts[wrong], name, first=first)
        place = f"{path}, row {wrong + 1}, column {shown(name)}"
        raise ValueError(f"{place}: {texts[wrong][:40]!r} is not a number. {advice}")


def _check_columns(path: Path, schema: Any, rows: int) -> None:
    """Raise if a column has lists or records for cells, or all together more cells than there is memory for."""
    from pyarrow import types

    nested = [field.name for field in schema if types.is_nested(field.type)]
    if nested:
        kind = shown(schema.field(nested[0]).type, 60) if schema.names.count(nested[0]) == 1 else "nested"
        raise RefusedFile(
            f"{path}: {len(nested)} column(s) have lists or records for cells ({listed(nested, 3)}: {kind}); spread "
            "each over columns of its own, or leave it out."
        )
    size = rows * len(schema) * CELL_BYTES
    check_room(size, f"{path}, unpacked to {rows} rows and {len(schema)} columns,", "Choose fewer of them first.")


def _text_columns(schema: Any) -> list[str]:
    """Return the columns of text, which are read as a dictionary: one long text in all rows is read once."""
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return [field.name for field in schema if any(test(field.type) for test in tests)]


def _cells(path: Path, table: Any, name: str) -> list[Any]:
    """Return the cells of a column that is no feature, if there is memory for them: texts as long as the longest."""
    from pyarrow import types

    column = table[name]
    if types.is_dictionary(column.type):
        longest = max(
            (len(text) for chunk in column.chunks for text in chunk.dictionary.to_pylist() if text), default=0
        )
        check_room(4 * longest * len(column), f"column {shown(name)} of {path}", "Shorten its texts, or leave it out.")
    cells: list[Any] = column.to_pylist()
    return cells


def _stored_index(table: Any) -> list[str]:
    """Return the columns that pandas stored as levels of its index."""
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in stored if isinstance(name, str) and name in table.column_names]


def _is_numeric(table: Any, name: str) -> bool:
    from pyarrow import types

    kind = table.schema.field(name).type
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _matrix(path: Path, table: Any, names: list[str], *, keep_missing: bool) -> Any:
    """Return columns of numbers side by side: in single precision if all are, else in double."""
    from pyarrow import types

    kinds = [table.schema.field(name).type for name in names]
    single = bool(kinds) and all(types.is_float32(kind) or types.is_float16(kind) for kind in kinds)
    size = table.num_rows * len(names) * (4 if single else 8)
    check_room(size, f"the matrix of {path}", "Store it as .npy: then it is mapped.")
    X = np.empty((table.num_rows, len(names)), dtype=np.float32 if single else np.float64)
    for j, name in enumerate(names):
        column = table[name]
        if column.null_count and not keep_missing:
            row = next(i for i, value in enumerate(column.to_pylist()) if value is None)
            raise ValueError(
                f"{path}, row {row + 1}, column {shown(name)}: the cell is empty. Impute or drop it first."
            )
        as_list = types.is_decimal(kinds[j]) or column.null_count
        X[:, j] = np.array(column.to_pylist(), dtype=float) if as_list else column.to_numpy()
        finite = np.isfinite(X[:, j]) | (np.isnan(X[:, j]) & keep_missing)
        if not finite.all():
            row = int(np.argmin(finite))
            place = f"{path}, row {row + 1}, column {shown(name)}"
            raise ValueError(f"{place}: {X[row, j]} is not a finite number. Impute or drop it first.")
    return X
