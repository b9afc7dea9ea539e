"""What commands write: components.csv and scores.csv, and checks that they can be written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.atomic import is_special
from rspca.base.checks import reason
from rspca.base.types import Array
from rspca.cli.support.spreadsheets import read_csv, write_csv
from rspca.estimator import SparsePCA
from rspca.formats.table import Table

RESULTS = ("components.csv", "scores.csv", "model.npz", "shares.csv", "report.html")
"""What a fit writes."""
_SCORE = "component"


def write_components(path: Path, model: SparsePCA, table: Table) -> None:
    """Write one line for each feature of each component, the largest loadings first, with its properties."""
    stable = hasattr(model, "stability_")
    more, missing = list(table.features), missing_shares(model, table)
    rows = (
        [
            j + 1,
            table.feature_names[feature.name],
            feature.loading,
            feature.inclusion_probability,
            feature.structure,
            *([feature.share] if stable else []),
            *(table.features[name][feature.name] for name in more),
            *(column[feature.name] for column in missing.values()),
        ]
        for j in range(model.n_components_)
        for feature in ranked(model, j)
    )
    known = ["loading", "inclusion_probability", "structure", *(["stability"] if stable else [])]
    write_csv(path, ["component", "feature", *known, *more, *missing], rows)


def missing_shares(model: SparsePCA, table: Table) -> dict[str, Array]:
    """Return the share of each feature that was missing, where it is not a property of the features already."""
    shares = getattr(model, "missing_share_", None)
    return {} if shares is None or "missing" in table.features else {"missing": shares}


def ranked(model: SparsePCA, component: int) -> list[Any]:
    """Return the features of a component by decreasing |loading|, numbered."""
    return model.top_features(component, names=range(model.n_features_in_))


def write_scores(path: Path | None, scores: Any, names: Any, samples: Mapping[str, Any]) -> None:
    """Write one line for each sample: its properties, then its scores; to stdout where there is no path."""
    heads = list(samples) or ["sample"]
    columns = [samples[name] for name in samples] or [names]
    numbered = [f"{_SCORE}{j + 1}" for j in range(scores.shape[1])]
    heads = [f"{name}_label" if name in numbered else name for name in heads]
    write_csv(path, [*heads, *numbered], zip(*columns, *np.asarray(scores).T, strict=True))


def write_shares(path: Path | None, scores: Any, names: Any, samples: Mapping[str, Any]) -> None:
    """Write one line for each document: its properties, its leading topic, and the share of each topic."""
    from rspca.text import shares_of

    shares = shares_of(scores)
    leading = np.where(shares.any(axis=1), np.argmax(shares, axis=1) + 1, 0)
    known = dict(samples) or {"sample": names}
    heads = ["leading_topic", *(f"topic{j + 1}" for j in range(shares.shape[1]))]
    columns = [f"{name}_label" if name in heads else name for name in known]
    write_csv(path, [*columns, *heads], zip(*known.values(), leading.tolist(), *shares.T, strict=True))


def read_scores(path: Path, n_components: int) -> tuple[Array, list[str], dict[str, list[str]]]:
    """Return the scores, the names and the properties of the samples from a file of `write_scores`."""
    head, rows = read_csv(path)
    known = len(head) - n_components
    if head[known:] != [f"{_SCORE}{j + 1}" for j in range(n_components)] or known < 1:
        raise ValueError(f"{path} does not hold the scores of {n_components} component(s); give --data instead.")
    try:
        scores = np.array([[float(cell) for cell in row[known:]] for row in rows])
    except ValueError as error:
        raise ValueError(f"{path} holds scores that are no numbers: {reason(error)}; give --data instead.") from error
    if not len(rows) or not np.isfinite(scores).all():
        raise ValueError(f"{path} holds no scores, or some that are not finite; give --data instead.")
    samples = {name: [row[j] for row in rows] for j, name in enumerate(head[:known])}
    names = samples.get("iid") or samples[head[0]]
    return scores, names, {} if head[:known] == ["sample"] else samples


def check_folder(folder: Path, names: Iterable[str] = ()) -> None:
    """Refuse a folder that cannot be made or written to, before any work; make nothing.

    `names` are the files that will be put there: in a folder such as /tmp those of others cannot be replaced.
    """
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise NotADirectoryError(f"{there} is a file, so {folder} cannot be a folder; choose another with -o.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(f"{there} cannot be written to; choose another folder with -o.")
    me = os.geteuid() if hasattr(os, "geteuid") else 0  # Windows has no folders that are guarded in this way
    taken = [folder / name for name in names if os.path.lexists(folder / name)]
    guarded = bool(there.stat().st_mode & stat.S_ISVTX) and me not in (0, there.stat().st_uid)
    for path in taken:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder, where a file is to be written; choose another with -o.")
        if guarded and path.lstat().st_uid != me:
            raise PermissionError(f"{path} is another user's and cannot be replaced; choose another with -o.")


def check_file(path: Path | None) -> None:
    """Refuse a file that cannot be written, before any work."""
    if path is None or is_special(path):
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file with -o.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"The folder of {path} does not exist; make it first.")
    check_folder(path.absolute().parent, [path.name])
