"""What an unfinished fit has: one file, whole after each component and its halves, continued only for the same work."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rspca import __version__
from rspca.algorithm.results import Component
from rspca.analysis.halves import Halves
from rspca.base.arguments import argument
from rspca.base.atomic import written_atomically
from rspca.base.checks import reason, shown
from rspca.certificates.certificate import Certificate
from rspca.cli.options import Interrupted, plain
from rspca.cli.support.interrupts import answered_soon
from rspca.formats.archives import npz_arrays
from rspca.formats.table import Table

NAME = "partial.npz"
_META = "partial.json"
_HALVES = "halves."
_FORMAT = 1
_NUMBERS: dict[str, Any] = {
    "variance": float,
    "n_features": int,
    "n_iter": int,
    "converged": bool,
    "passes": float,
    "relaxed_variance": float | None,
    "swap_optimal": bool | None,
}


class Partial:
    """The components found so far in one folder, with the settings and the data they belong to."""

    def __init__(self, folder: Path, settings: dict[str, Any], data: dict[str, Any]) -> None:
        self.path = folder / NAME
        self.settings, self.data = _as_json(settings | {"rspca": __version__}), _as_json(data)
        self.components = list[Component]()
        self.halves: dict[str, np.ndarray] | None = None
        """What halves of the samples chose, where their stability was begun."""

    def resume(self) -> list[Component]:
        """Return the components to continue after, none where there is no file; refuse those of other work."""
        if not self.path.exists():
            return []
        try:
            stored = npz_arrays(self.path)
            meta = json.loads(bytes(stored[_META]))
            if meta["format"] != _FORMAT:
                raise ValueError(f"its format is {shown(meta['format'])}")
            self._check_same("data", meta["data"], self.data)
            self._check_same("settings", meta["settings"], self.settings)
            n = self.data["shape"][1]
            self.components = [
                _component(stored_numbers, stored, number, n)
                for number, stored_numbers in enumerate(meta["components"])
            ]
            known = {name.removeprefix(_HALVES): stored[name] for name in stored if name.startswith(_HALVES)}
            self.halves = Halves(self.components).continued(known, n).arrays() if known else None
        except (OtherWork, MemoryError, PermissionError):
            raise
        except Exception as error:  # a damaged file can fail anywhere inside of zipfile, zlib, json and NumPy
            raise ValueError(
                f"{self.path} cannot be continued, it is damaged: {reason(error)}. Begin again without --resume."
            ) from error
        return list(self.components)

    def add(self, component: Component) -> None:
        """Keep a component; the file is never without those before it."""
        self._write([*self.components, component], None)

    def add_halves(self, halves: Halves) -> None:
        """Keep what halves of the samples chose so far, next to all components."""
        self._write(self.components, halves.arrays())

    def halves_for(self, n_pairs: int) -> dict[str, np.ndarray] | None:
        """Return the halves to continue after; none if there are none, or more than are asked for."""
        return self.halves if self.halves is not None and self.halves["count"] <= 2 * n_pairs else None

    def _write(self, found: list[Component], halves: dict[str, np.ndarray] | None) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        arrays = dict[str, Any]()
        for number, component in enumerate(found):
            arrays |= {f"{number}.support": component.support, f"{number}.loadings": component.loadings}
            if component.inclusion_probability is not None:  # nearly all of them are zero
                used = np.flatnonzero(component.inclusion_probability)
                arrays |= {f"{number}.included": used, f"{number}.inclusion": component.inclusion_probability[used]}
        meta = {
            "format": _FORMAT,
            "settings": self.settings,
            "data": self.data,
            "components": [_numbers(component) for component in found],
        }
        arrays |= {f"{_HALVES}{name}": values for name, values in (halves or {}).items()}
        arrays[_META] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
        with written_atomically(self.path) as file:
            np.savez_compressed(file, **arrays)
        self.components, self.halves = found, halves

    @contextmanager
    def kept(self, wanted: int) -> Iterator[None]:
        """Remove the file when the block ends well; where the user interrupts it, say what the file has."""

        def last_words() -> str:
            found = f"{len(self.components)} of {wanted} component(s)"
            counted = "" if self.halves is None else f" and {self.halves['count']} halves of the samples"
            kept = f"{found}{counted} are kept in {self.path}"
            there = self.components and self.path.exists()
            return f"{kept}: the same command with --resume continues." if there else "no component was found yet."

        try:
            with answered_soon(last_words):
                yield
        except KeyboardInterrupt:
            raise Interrupted(last_words()) from None
        self.path.unlink(missing_ok=True)

    def _check_same(self, what: str, before: dict[str, Any], now: dict[str, Any]) -> None:
        for name in sorted(set(before) | set(now)):
            if before.get(name) != now.get(name):
                shown = f"{argument(name)} was {_short(before.get(name))} and is {_short(now.get(name))}"
                raise OtherWork(
                    f"{self.path} belongs to other {what}: {shown}. Give what it was, or begin again without --resume."
                )


class OtherWork(ValueError):
    """What was kept belongs to other data, or to other settings."""


def data_of(table: Table, inputs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what tells whether data are the same: shape, type, names and content, not where the files are."""
    return {
        "shape": list(table.shape),
        "dtype": str(table.operator.dtype),
        "feature names": _digest(table.feature_names),
        "sample names": _digest(table.sample_names),
        "content": [[file["bytes"], file["sha256"] or file["stamp"]] for file in inputs],
    }


def settings_of(options: dict[str, Any], reading: dict[str, Any]) -> dict[str, Any]:
    """Return settings as they are compared; labels of groups by their checksum."""
    groups = options.get("groups")
    labels = _digest(groups) if isinstance(groups, list | np.ndarray) else groups
    known = dict[str, Any]()
    if options.get("covariates") is not None:
        known["covariates"] = {name: _digest(column) for name, column in options["covariates"].items()}
    if options.get("sample_weight") is not None:
        known["sample_weight"] = _digest(options["sample_weight"])
    return (
        options
        | {"groups": labels}
        | known
        | {f"--{name}".replace("_", "-"): str(value) for name, value in reading.items()}
    )


def _digest(names: Any) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _numbers(component: Component) -> dict[str, Any]:
    certificate = component.certificate
    numbers = {name: _plain_number(getattr(component, name)) for name in _NUMBERS}
    return numbers | {"certificate": None if certificate is None else certificate.as_json()}


def _component(numbers: dict[str, Any], stored: dict[str, Any], number: int, n: int) -> Component:
    """Return a component that was kept, or raise if it cannot be one of n features."""
    for name, kind in _NUMBERS.items():
        value = numbers[name]
        if not isinstance(value, kind) or (isinstance(value, float) and not 0.0 <= value < math.inf):
            raise ValueError(f"{name} is {shown(value)}")
    if numbers["n_features"] != n:
        raise ValueError(f"a component of {shown(numbers['n_features'])} features where the data have {n}")
    certificate, inclusion = numbers["certificate"], None
    if f"{number}.inclusion" in stored:
        inclusion = np.zeros(n)
        inclusion[stored[f"{number}.included"]] = stored[f"{number}.inclusion"]
    component = Component(
        support=stored[f"{number}.support"],
        loadings=stored[f"{number}.loadings"],
        inclusion_probability=inclusion,
        certificate=None if certificate is None else Certificate.from_json(certificate),
        **{name: numbers[name] for name in _NUMBERS},
    )
    if not _is_whole(component):
        raise ValueError(f"the numbers of component {number + 1} contradict each other")
    return component


def _is_whole(component: Component) -> bool:
    """Tell whether support, loadings and rounding probabilities fit each other and the number of features."""
    S, v, p, n = component.support, component.loadings, component.inclusion_probability, component.n_features
    if S.ndim != 1 or S.dtype.kind != "i" or not len(S):
        return False
    chosen = (np.diff(S) > 0).all() and S[0] >= 0 and S[-1] < n
    unit = v.shape == S.shape and v.dtype.kind == "f" and abs(float(np.linalg.norm(v)) - 1.0) <= 1e-6
    chances = p is None or (p.shape == (n,) and p.dtype.kind == "f" and ((p >= 0.0) & (p <= 1.0)).all())
    return bool(chosen and unit and chances)


def _plain_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _as_json(value: dict[str, Any]) -> Any:
    """Return a value as it comes back from a file, so that the two can be compared."""
    return json.loads(json.dumps(plain(value)))


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
