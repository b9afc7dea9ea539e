"""What commands write: a fitted table as components.csv, scores.csv and model.npz, each whole or not there."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rspca.atomic import written_atomically
from rspca.components import OnStep
from rspca.estimator import SparsePCA
from rspca.tables import Table, read


def fit_files(
    data: Sequence[Path], out: Path, *, scheduler: str | None, echo: Callable[[str], Any], tell: OnStep, **options: Any
) -> SparsePCA:
    """Fit a model on files, write what it found to a folder, and return it."""
    if scheduler is not None and any(path.suffix.lower() != ".bed" for path in data):
        raise ValueError("--scheduler is for .bed files, which workers open themselves.")
    with ExitStack() as stack:
        more = {"client": _client(scheduler, stack)} if scheduler is not None else {}
        table = read(data, **more)
        model = SparsePCA(**options).fit(table, on_step=tell)
        scores = model.transform(table)
    out.mkdir(parents=True, exist_ok=True)
    model.save(out / "model.npz")
    write_components(out / "components.csv", model, table)
    heads = list(table.samples) or ["sample"]
    columns = [table.samples[name] for name in table.samples] or [table.sample_names]
    numbered = [f"component{j + 1}" for j in range(model.n_components_)]
    write_csv(out / "scores.csv", [*heads, *numbered], zip(*columns, *scores.T, strict=True))
    for j in range(model.n_components_):
        names = ", ".join(str(table.feature_names[feature.name]) for feature in _ranked(model, j)[:5])
        proof = f"; {model.certificates_[j]}" if options.get("certify") else ""
        echo(
            f"component {j + 1}: {100 * model.explained_variance_ratio_[j]:.3g} % of the variance; {names}, ...{proof}"
        )
    echo(f"written to {out}: components.csv, scores.csv, model.npz")
    return model


def write_components(path: Path, model: SparsePCA, table: Table) -> None:
    """Write one line for each feature of each component, the largest loadings first, with what is known of it."""
    more = list(table.features)
    rows = (
        [
            j + 1, table.feature_names[feature.name], repr(feature.loading), feature.inclusion_probability,
            *(table.features[name][feature.name] for name in more),
        ]
        for j in range(model.n_components_)
        for feature in _ranked(model, j)
    )  # fmt: skip
    write_csv(path, ["component", "feature", "loading", "inclusion_probability", *more], rows)


def write_csv(path: Path, head: list[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table of text."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows(rows)
    with written_atomically(path) as file:
        file.write(text.getvalue().encode())


def _ranked(model: SparsePCA, component: int) -> list[Any]:
    return model.top_features(component, names=range(model.n_features_in_))


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
