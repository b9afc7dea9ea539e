"""rspca.read: files in, tables out, by the reader that the registry has for them."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rspca.base.arguments import argument
from rspca.base.checks import spelled
from rspca.base.files import PathLike
from rspca.base.imports import load
from rspca.formats import registry
from rspca.formats.table import Table, table_of


def read(path: PathLike | Sequence[PathLike], **options: Any) -> Table:
    r"""Return what a file or a folder holds as a table, with the names of features and samples.

    Parameters
    ----------
    path : path, or list of paths
        {formats}
    **options
        Options of the reader of this format.

    Returns
    -------
    Table
        ``operator``, ``feature_names``, ``sample_names``, ``features`` and ``samples``.

    Examples
    --------
    >>> import pathlib, rspca, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "iris.csv")
    >>> _ = path.write_text("length,width,species\n5.1,3.5,setosa\n6.4,3.2,versicolor\n5.8,2.7,virginica\n")
    >>> table = rspca.read(path, labels="species")
    >>> table.shape, table.feature_names.tolist(), table.samples["species"].tolist()
    ((3, 2), ['length', 'width'], ['setosa', 'versicolor', 'virginica'])
    """
    paths = [registry.completed(path) for path in _paths(path)]
    readers = [registry.reader_of(path) for path in paths]
    advice = [registry.advice(path) for path in paths]
    absent = next((path for path in paths if not path.exists()), None)
    if absent is not None and (all(map(any, zip(readers, advice, strict=True))) or not absent.suffix):
        raise FileNotFoundError(f"{absent} does not exist.")
    for path, unread in zip(paths, advice, strict=True):
        if unread is not None:
            raise ValueError(f"{path}: {unread}")
    reader = readers[0]
    if reader is None or any(other is not reader for other in readers):
        names, known = ", ".join(map(str, paths)), ", ".join(sorted(registry.suffixes()))
        if len(paths) == 1:
            raise ValueError(f"{names}: this format is not known. Give a file of {known}, or a folder of documents.")
        raise ValueError(f"{names}: files of one format are needed. Formats that can be read: {known}, or a folder.")
    if len(paths) > 1 and not reader.several:
        *others, last = (reader.name for reader in registry.READERS if reader.several)
        together = f"{', '.join(others)} and {last}"
        raise ValueError(f"{len(paths)} files were given; only {together} files are put side by side. Give one.")
    unknown = sorted(set(options) - set(reader.options))
    if unknown:
        raise TypeError(
            f"{', '.join(map(argument, unknown))} is no option for {reader.kind(paths[0])}; its options are "
            f"{', '.join(map(argument, reader.options))}."
        )
    found = load(reader.read)(paths if reader.several else paths[0], **options)
    return found if isinstance(found, Table) else table_of(found, paths[0])


def _described(reader: registry.Reader) -> str:
    """Return the lines on a format in the docstring of `read`."""
    extra = f" Needs the extra ``{reader.extra}``." if reader.extra else ""
    function = reader.read.replace(":", ".")
    suffixes = ", ".join(f"``{suffix}``" for suffix in reader.suffixes) or reader.name
    lines = textwrap.wrap(f"{reader.about}{extra} Options: :func:`~{function}`.", 106, break_on_hyphens=False)
    return "\n            ".join([suffixes, *lines])


if read.__doc__:  # python -OO has none
    read.__doc__ = read.__doc__.replace("{formats}", "\n        ".join(map(_described, registry.READERS)))


def _paths(path: Any) -> list[Path]:
    """Return one path, or several, as a list."""
    if isinstance(path, str | os.PathLike):
        return [Path(path)]
    if not isinstance(path, Iterable) or hasattr(path, "shape") or hasattr(path, "columns"):
        raise TypeError(f"path is a {type(path).__name__}; read takes the name of a file. Data need no reading.")
    paths = list(path)
    if not paths:
        raise ValueError("path is an empty list; name at least one file.")
    wrong = next((path for path in paths if not isinstance(path, str | os.PathLike)), None)
    if wrong is not None:
        raise TypeError(f"path has an entry {spelled(wrong)}, which is not the name of a file.")
    return [Path(path) for path in paths]
