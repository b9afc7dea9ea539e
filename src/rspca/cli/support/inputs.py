"""What commands read: tables with the options of their format, labels of samples, groups of features, models."""

from __future__ import annotations

import csv
import itertools
import logging
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rspca.base.arguments import shown
from rspca.cli.options import MOST_DIGITS, Preparing, printable, whole
from rspca.formats import registry

if TYPE_CHECKING:
    from rspca.base.types import OnStep
    from rspca.cli.support.changed_files import Watched
    from rspca.estimator import SparsePCA
    from rspca.formats.table import Table

_BEGINNING = 20
"""Lines of a document that are read to show how it begins."""
_DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "\\t": "\t"}


def _option(name: str, text: str, *flags: str, of: str | None = None, **more: Any) -> Any:
    """Return an option whose help begins with the files that have it; `of` is the name that readers use."""
    files = registry.files_with(of or name)
    return typer.Option(*flags, help=f"{files[:1].upper()}{files[1:]}: {text}", **more)


@dataclass(frozen=True)
class Reading:
    """Options of ``rspca.read``; only those that were given reach it."""

    chromosomes: Annotated[
        str | None, _option("chromosomes", "autosomes (the default), all, or names and ranges: 1-5,X.")
    ] = None
    min_frequency: Annotated[float | None, _option("min_frequency", "least frequency of the rarer allele.")] = None
    max_missing: Annotated[float | None, _option("max_missing", "largest share of missing calls of a SNP.")] = None
    samples: Annotated[Path | None, _option("samples", "file of the people to use, IID or FID IID a line.")] = None
    snps: Annotated[Path | None, _option("snps", "file of the SNPs to use, one a line.")] = None
    exclude: Annotated[
        str | None, _option("exclude", "regions to leave out: a BED file, or long-range LD by its build's name.")
    ] = None
    dosages: Annotated[bool | None, _option("dosages", "use dosages, not hard calls.", "--dosages")] = None
    cache: Annotated[
        Path | None, _option("cache", "folder for packed calls beyond --max-memory, if not that of the result.")
    ] = None
    layer: Annotated[str | None, _option("layer", "a layer instead of X.")] = None
    mask: Annotated[str | None, _option("mask", "use only the features that this column of var marks.")] = None
    missing_chunks: Annotated[
        str | None, _option("missing_chunks", "what to do with absent ones.", metavar="error|fill")
    ] = None
    feature_type: Annotated[str | None, _option("feature_type", "only these, as 'Gene Expression'.")] = None
    genome: Annotated[str | None, _option("genome", "only features of this one.")] = None
    labels: Annotated[
        str | None, _option("labels", "columns that describe samples, no features.", metavar="NAME,...")
    ] = None
    transpose: Annotated[bool, typer.Option("--transpose", help="The file has features in rows.")] = False
    delimiter: Annotated[str | None, _option("delimiter", "what separates cells, or tab, semicolon.")] = None
    header: Annotated[
        bool | None, _option("header", "the first line names the columns, or not.", "--header/--no-header")
    ] = None
    row_names: Annotated[
        str | None, _option("row_names", "the column that names the samples.", metavar="NAME|none")
    ] = None
    encoding: Annotated[str | None, _option("encoding", "encoding of the text, if not UTF-8.")] = None
    pattern: Annotated[str | None, _option("pattern", "which files of a folder; *.txt if not given.")] = None
    stop_words: Annotated[Path | None, _option("stop_words", "file of words to leave out.")] = None
    empty: Annotated[str | None, _option("empty", "what to do with those without a word.", metavar="error|drop")] = None
    min_documents: Annotated[
        int | None, _option("min_documents", "least number that have a word.", parser=whole(1))
    ] = None
    max_memory: Annotated[str | None, _option("max_memory", "stream within this much memory, as 500MB.")] = None
    scheduler: Annotated[
        str | None, _option("scheduler", "address of a Dask scheduler whose workers read.", of="client")
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the options of ``rspca.read`` that were given, as it takes them."""
        left_out = {"scheduler"} | ({"transpose"} if not self.transpose else set())
        values = {name: getattr(self, name) for name in Reading.__dataclass_fields__ if name not in left_out}
        options = {name: value for name, value in values.items() if value is not None}
        if self.chromosomes not in (None, "autosomes", "all"):
            options["chromosomes"] = [name.strip() for name in str(self.chromosomes).split(",")]
        if self.row_names == "none":
            options["row_names"] = False
        if self.labels is not None:
            options["labels"] = [name.strip() for name in self.labels.split(",")]
        if self.delimiter is not None:
            options["delimiter"] = _DELIMITERS.get(self.delimiter, self.delimiter)
        return options


@dataclass(frozen=True)
class Source(Preparing, Reading):
    """How data are read and prepared."""


@contextmanager
def opened(
    data: list[Path],
    reading: Reading,
    on_step: OnStep | None = None,
    *,
    label: str | None = None,
    watched: Watched | None = None,
    model: SparsePCA | None = None,
    empty: str = "auto",
    for_scores: bool = False,
    missing: str = "error",
    beside: Sequence[str] = (),
    result: Path | None = None,
) -> Iterator[Table]:
    """Give the table that the files hold; a label that is not a file is a column of the data and not a feature.

    Documents get the weights of `model`, if it has some; `empty` is what to do with documents without a word that has a
    weight, unless the user says. For scores of a fitted model, SNPs without a single call are accepted: they count as
    the mean of the model. Missing cells are kept if `missing` is "mean", or where `model` counts them as means; columns
    `beside` the features describe samples. Packed calls that do not fit into memory go to a file next to the
    `result`, a file or a folder, unless the user names a folder. Files that change in the meantime are an error when
    the block ends; a caller that gives `watched` checks them itself.
    """
    from rspca.base.atomic import is_special
    from rspca.cli.support.changed_files import Watched
    from rspca.formats.reading import read

    def all_accept(option: str) -> bool:
        return all(registry.accepts(path, option) for path in data)

    if reading.scheduler is not None and not all_accept("client"):
        raise ValueError(f"--scheduler is for {registry.files_with('client')} files, which workers open themselves.")
    options = reading.given() | ({"on_step": on_step} if all_accept("on_step") else {})
    if for_scores and all_accept("uncalled"):
        options["uncalled"] = "keep"
    if result is not None and not is_special(result) and all_accept("cache"):
        options = {"cache": result if result.is_dir() else result.absolute().parent} | options
    if "mean" in (missing, getattr(model, "missing", None)) and all_accept("missing"):
        options["missing"] = "keep"
    named = [*([] if label is None or Path(label).is_file() else [label]), *beside]
    if named and registry.accepts(data[0], "labels"):
        options["labels"] = list(dict.fromkeys([*options.get("labels", ()), *named]))
    weights = getattr(model, "term_weights_", None)
    if weights is not None and all_accept("term_weights"):
        settled = [f"--{name.replace('_', '-')}" for name in ("stop_words", "min_documents") if name in options]
        if settled:
            raise ValueError(f"{', '.join(settled)} cannot be given: the model has its own from its fit.")
        options = {"empty": empty} | options | {"term_weights": weights}
    with ExitStack() as stack:
        if reading.scheduler is not None:
            options["client"] = _client(reading.scheduler, stack)
        states = watched or Watched(data)
        table = read(data if len(data) > 1 else data[0], **options)
        states.check("what was read is neither the old nor the new data. Run the command again.")
        if reading.chromosomes not in (None, "autosomes"):  # what autosomes leave out is a warning already
            for note in table.notes:
                typer.echo(f"rspca: {printable(note)}", err=True)
        yield table
        if watched is None:
            states.check("the results belong to neither the old nor the new data. Run the command again.", mapped=True)


class Documents(Sequence[str]):
    """The documents, each read when it is indexed."""

    def __init__(self, path: Path, names: Any, encoding: str) -> None:
        self.path, self.names, self.encoding = path, names, encoding
        self.lines = None if path.is_dir() else self._all_lines()

    def _all_lines(self) -> list[str]:
        from rspca.base.files import lines

        return list(lines(self.path, self.encoding))

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.names)

    def __getitem__(self, index: Any) -> Any:
        """Return the beginning of a document."""
        from rspca.base.files import lines

        name = str(self.names[index])
        if self.lines is not None:
            return self.lines[int(name.removeprefix("line ")) - 1]
        return " ".join(itertools.islice(lines(self.path / name, self.encoding), _BEGINNING))


def documents_of(data: list[Path], table: Table, reading: Reading) -> Sequence[str] | None:
    """Return the documents, if the samples have a text: files of a folder, lines, or those of SMART files."""
    reader, encoding = registry.reader_of(data[0]), reading.encoding or "utf-8"
    if table.terms is None or reader is None or "encoding" not in reader.options:
        return None
    if reader.several:
        from rspca.formats.smart_table import smart_texts

        texts = dict(zip(*smart_texts(data, encoding)[0], strict=True))
        return [texts[str(name)] for name in table.sample_names]
    return Documents(data[0], table.sample_names, encoding)


def loaded(model: Path) -> tuple[SparsePCA, Path]:
    """Return a saved model, named by its file or by the folder that `rspca fit` wrote, and the file."""
    from rspca.estimator import load

    file = model_file(model)
    return load(file), file


def model_file(model: Path) -> Path:
    """Return the file of a saved model, which may be named by its folder."""
    file = model / "model.npz" if model.is_dir() else model
    if not file.exists():
        raise FileNotFoundError(f"{file} does not exist; give the model.npz that rspca fit wrote, or its folder.")
    return file


def component_options(fitted: SparsePCA, component: int, table: Table) -> dict[str, Any]:
    """Return loadings of a component, counted from 1, those before it, and groups, in the order of the table."""
    import numpy as np

    from rspca.formats.matching import in_order_of

    known = [getattr(fitted, name, None) for name in ("feature_names_in_", "features_")]
    components = in_order_of(table, fitted.components_, *known)
    found: dict[str, Any] = {"loadings": components[component - 1]}
    if component > 1:
        found["after"] = components[: component - 1]
    groups = fitted.groups
    if groups is not None:
        if not isinstance(groups, int):
            order = in_order_of(table, np.arange(components.shape[1])[None], *known)[0]
            groups = [groups[place] for place in order]
        found |= {"groups": groups, "max_per_group": fitted.max_per_group}
    return found


def groups_of(text: str | None, table: Table) -> Any:
    """Return groups of features: a window in base pairs, a column of the features, or a file of labels."""
    if text is None or text in table.features:
        return None if text is None else table.features[text]
    if text.isascii() and text.isdigit() and len(text) < MOST_DIGITS:
        return int(text)
    if text.lower().startswith("r2:"):
        return text
    if not Path(text).is_file():
        known = f"a column of the features ({', '.join(table.features)}), " if table.features else ""
        raise ValueError(
            f"--groups {text} is not known; give {known}a file with one label a line, base pairs, or r2:0.2."
        )
    labels = _lines(Path(text))
    if len(labels) != table.shape[1]:
        raise ValueError(f"{text} has {len(labels)} lines; one label for each of the {table.shape[1]} features.")
    return labels


def labels_of(text: str | None, names: Any, samples: Any) -> tuple[str | None, dict[str, Any]]:
    """Return the name of the label, and the properties of the samples including it."""
    known = dict(samples)
    if text is None or text in known:
        return text, known
    path = Path(text)
    if not path.is_file():
        columns = f"one of {', '.join(known)}, or " if known else ""
        raise ValueError(f"--label {text} is not known; give {columns}a file of labels.")
    name = f"{path.stem}_label" if path.stem in known else path.stem
    known[name] = _labels(path, [str(sample) for sample in names], known)
    return name, known


def _labels(path: Path, names: list[str], samples: Mapping[str, Any]) -> list[str]:
    """Return a label for each sample: the last word of the line that names it, or one a line in their order."""
    lines = _lines(path)
    try:
        rows = [_words(line) for line in lines]
    except csv.Error as error:
        raise ValueError(
            f"{path} cannot be split into cells: {error}. Look for a quote or a line end inside."
        ) from error
    several = any(len(row) > 1 for row in rows)
    found = _by_name(path, rows, names, samples) if several else None
    if found is not None:
        return found
    if len(lines) == len(names):
        return lines
    if several:
        raise ValueError(f"{path} names none of the samples (the first is {names[0]}); its last column is the label.")
    raise ValueError(f"{path} has {len(rows)} lines; one label for each of the {len(names)} samples is needed.")


def _by_name(path: Path, rows: list[list[str]], names: list[str], samples: Mapping[str, Any]) -> list[str] | None:
    """Return the labels of lines that name a sample: by FID and IID, or in the column that names most; None if none."""
    if "fid" in samples and "iid" in samples:
        people = list(zip(map(str, samples["fid"]), map(str, samples["iid"]), strict=True))
        pairs = [((row[0], row[1]), row[-1]) for row in rows if len(row) > 2]
        if not {pair for pair, _ in pairs}.isdisjoint(people):
            return _label_each(path, pairs, people)
    wanted = set(names)
    columns = [[(row[j], row[-1]) for row in rows if len(row) > j + 1] for j in range(max(map(len, rows)) - 1)]
    column = max(columns, key=lambda column: sum(name in wanted for name, _ in column))
    if wanted.isdisjoint(name for name, _ in column):
        return None
    if len(wanted) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(
            f"{path} names samples by {twice!r}, which several have; give FID, IID and label on each line."
        )
    return _label_each(path, column, names)


def _label_each(path: Path, pairs: list[tuple[Any, str]], samples: Sequence[Any]) -> list[str]:
    """Return the label of each sample, empty where there is none; raise if a sample has two labels."""
    labels = dict[Any, str]()
    wanted = set(samples)
    for sample, label in pairs:
        if sample in wanted and labels.setdefault(sample, label) != label:
            name = sample if isinstance(sample, str) else " ".join(sample)
            both = f"{shown(labels[sample])} and {shown(label)}"
            raise ValueError(f"{path} has two labels for {shown(name)}: {both}. Remove one of them.")
    without = sum(sample not in labels for sample in samples)
    if without:
        warnings.warn(f"{path} has no label for {without} of the {len(samples)} samples.", UserWarning, stacklevel=2)
    return [labels.get(sample, "") for sample in samples]


def _words(line: str) -> list[str]:
    separator = next((mark for mark in "\t,;" if mark in line), None)
    return line.split() if separator is None else next(csv.reader([line], delimiter=separator))


def _lines(path: Path) -> list[str]:
    from rspca.base.files import lines

    return [line.strip() for line in lines(path) if line.strip()]


def _client(address: str, stack: ExitStack) -> Any:
    """Return a client of the scheduler at this address, closed with the stack."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("--scheduler needs Dask: pip install 'rspca[cluster]'.") from error
    connect: Any = Client
    for name in logging.root.manager.loggerDict:
        if name.split(".")[0] == "distributed":  # what it prints on its own, our errors say in one line
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return stack.enter_context(connect(address, timeout="10s"))
    except (OSError, ValueError, TimeoutError) as error:
        raise OSError(f"No Dask scheduler answers at {address}: {error}. Start one with: dask scheduler.") from error
