"""What commands read: tables with the options of their kind, labels of samples, groups of features, models."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rspca.components import OnStep
    from rspca.estimator import SparsePCA
    from rspca.tables import Table

_DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "\\t": "\t"}


@dataclass(frozen=True)
class Reading:
    """Options of ``rspca.read``; only those that were given reach it."""

    chromosomes: Annotated[
        str | None, typer.Option(help=".bed: autosomes (the default), all, or names such as 1,2,X.")
    ] = None
    min_frequency: Annotated[float | None, typer.Option(help=".bed: least frequency of the rarer allele.")] = None
    max_missing: Annotated[float | None, typer.Option(help=".bed: largest share of missing calls of a SNP.")] = None
    samples: Annotated[Path | None, typer.Option(help=".bed: file of the people to use, IID or FID IID a line.")] = None
    snps: Annotated[Path | None, typer.Option(help=".bed: file of the SNPs to use, one a line.")] = None
    exclude: Annotated[
        str | None, typer.Option(help=".bed: regions to leave out: a BED file, or long-range LD by its build's name.")
    ] = None
    layer: Annotated[str | None, typer.Option(help=".h5ad: a layer instead of X.")] = None
    mask: Annotated[str | None, typer.Option(help=".h5ad: use only the features that this column of var marks.")] = None
    delimiter: Annotated[str | None, typer.Option(help="Text tables: what separates cells, or tab, semicolon.")] = None
    max_memory: Annotated[str | None, typer.Option(help="Stream the file within so much memory, as 500MB.")] = None
    scheduler: Annotated[str | None, typer.Option(help=".bed: address of a Dask scheduler whose workers read.")] = None

    def given(self) -> dict[str, Any]:
        """Return the options of ``rspca.read`` that were given, as it takes them."""
        options = {name: value for name, value in vars(self).items() if value is not None and name != "scheduler"}
        if self.chromosomes not in (None, "autosomes", "all"):
            options["chromosomes"] = [name.strip() for name in str(self.chromosomes).split(",")]
        if self.delimiter is not None:
            options["delimiter"] = _DELIMITERS.get(self.delimiter, self.delimiter)
        return options


@contextmanager
def opened(data: list[Path], reading: Reading, on_step: OnStep | None = None) -> Iterator[Table]:
    """Give the table that the files hold."""
    from rspca.tables import read

    genotypes = all(path.suffix.lower() == ".bed" for path in data)
    if reading.scheduler is not None and not genotypes:
        raise ValueError("--scheduler is for .bed files, which workers open themselves.")
    more: dict[str, Any] = {"on_step": on_step} if genotypes else {}
    with ExitStack() as stack:
        if reading.scheduler is not None:
            more["client"] = _client(reading.scheduler, stack)
        try:
            table = read(data if len(data) > 1 else data[0], **reading.given(), **more)
        except TypeError as error:
            unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
            if unknown is None:
                raise
            option = unknown[1].replace("_", "-")
            raise ValueError(f"--{option} is not an option of {data[0].name}: leave it out.") from error
        yield table


def are_documents(data: list[Path]) -> bool:
    """Tell whether the samples are documents: a folder, or a file of text."""
    return len(data) == 1 and (data[0].is_dir() or data[0].suffix.lower() in (".txt", ".jsonl"))


def loaded(model: Path) -> tuple[SparsePCA, Path]:
    """Return a saved model, named by its file or by the folder that `rspca fit` wrote, and the file."""
    from rspca.models import load

    file = model / "model.npz" if model.is_dir() else model
    if not file.exists():
        raise FileNotFoundError(f"{file} does not exist; give the model.npz that rspca fit wrote, or its folder.")
    return load(file), file


def groups_of(text: str | None, table: Table) -> Any:
    """Return groups of features: a window in base pairs, a column of the features, or a file of labels."""
    if text is None or text in table.features:
        return None if text is None else table.features[text]
    if text.isascii() and text.isdigit():
        return int(text)
    if not Path(text).is_file():
        known = f"a column of the features ({', '.join(table.features)}), " if table.features else ""
        raise ValueError(f"--groups {text} is not known; give {known}a file with one label a line, or base pairs.")
    labels = _lines(Path(text))
    if len(labels) != table.shape[1]:
        raise ValueError(f"{text} has {len(labels)} lines; one label for each of the {table.shape[1]} features.")
    return labels


def labels_of(text: str | None, names: Any, samples: Any) -> tuple[str | None, dict[str, Any]]:
    """Return the name of the label, and what is known of the samples together with it."""
    known = dict(samples)
    if text is None or text in known:
        return text, known
    path = Path(text)
    if not path.is_file():
        columns = f"one of {', '.join(known)}, or " if known else ""
        raise ValueError(f"--label {text} is not known; give {columns}a file of labels.")
    known[path.stem] = _labels(path, [str(name) for name in names])
    return path.stem, known


def _labels(path: Path, names: list[str]) -> list[str]:
    """Return a label for each sample: one a line in their order, or the last word of the line that names it."""
    rows = [_words(line) for line in _lines(path)]
    if all(len(row) == 1 for row in rows):
        if len(rows) != len(names):
            raise ValueError(f"{path} has {len(rows)} lines; one label for each of the {len(names)} samples is needed.")
        return [row[0] for row in rows]
    wanted, found = set(names), dict[str, str]()
    for row in rows:
        found |= {word: row[-1] for word in row[:-1] if word in wanted}
    if not found:
        raise ValueError(f"{path} names none of the samples (the first is {names[0]}); its last column is the label.")
    return [found.get(name, "") for name in names]


def _words(line: str) -> list[str]:
    separator = next((one for one in "\t," if one in line), None)
    return line.split() if separator is None else next(csv.reader([line], delimiter=separator))


def _lines(path: Path) -> list[str]:
    from rspca.formats.files import lines

    return [line.strip() for line in lines(path) if line.strip()]


def _client(address: str, stack: ExitStack) -> Any:
    """Return a client of the scheduler at this address, closed with the stack."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("--scheduler needs Dask: pip install 'rspca[cluster]'.") from error
    connect: Any = Client
    try:
        return stack.enter_context(connect(address, timeout="10s"))
    except (OSError, ValueError, TimeoutError) as error:
        raise OSError(f"No Dask scheduler answers at {address}: {error}. Start one with: dask scheduler.") from error
