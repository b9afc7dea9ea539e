"""What is proven of several components as a set, in numbers and in words; saved as JSON, checked from the data."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from rspca.algorithm.joint.constraints import CONSTRAINTS
from rspca.base.atomic import written_atomically
from rspca.base.checks import reason, shown
from rspca.base.types import Array
from rspca.certificates.certificate import REACHED_TOL, STOPPED_BY, status_of
from rspca.certificates.stored import CONVERSIONS, MOST_BOUNDS, Bound, features_of, loadings_of, value_of, whole, word
from rspca.operators.prepared import SampleArguments

FORMAT = "rspca joint certificate 1"
MEASURES = ("adjusted", "sum", "shared")
MEASURED_BY = {None: "adjusted", "orthogonal": "sum", "uncorrelated": "sum", "disjoint": "adjusted"}
"""What a set is measured by, for each constraint; a shared support is measured by "shared"."""

_CONFIRMATIONS: list[Callable[..., bool]] = []
"""What `JointCertificate.verify` calls: proofs are made by a module above this one, which registers the function."""


def confirms_sets(function: Callable[..., bool]) -> Callable[..., bool]:
    """Register the function that proves again what a joint certificate says; the package imports it."""
    _CONFIRMATIONS[:] = [function]
    return function


@dataclass(frozen=True, kw_only=True, eq=False)
class JointCertificate:
    """A lower and an upper bound on the largest variance that r components can have together.

    ``lower`` is what the components given here have; no set of components of so many features, under the same
    constraint, has more than ``upper``. Both are without a divisor, of the data as they were taken: centered, scaled.

    Examples
    --------
    >>> import rspca
    >>> pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    >>> proof = rspca.certify(pitprops, 2, n_components=2, constraint="disjoint")
    >>> proof.measure, proof.status, proof.verify(pitprops)
    ('adjusted', 'gap', True)
    """

    ks: tuple[int, ...]
    """Features of each component, at most; of all together where they share a support."""
    lower: float
    upper: float
    status: str
    """"optimal" if the gap is at most the tolerance, otherwise "gap"."""
    stopped_by: str
    """"proof", "exhausted" (nothing left to try), "time" or "interrupt"."""
    measure: str
    """"adjusted" variance (R_jj^2 of the QR of the scores), the "sum" of v'X'Xv, or the sum on a "shared" support."""
    constraint: str | None
    """"orthogonal", "uncorrelated", "disjoint", or None."""
    supports: tuple[Array, ...]
    loadings: tuple[Array, ...]
    violation: float
    """Largest |cosine| of two loadings or scores that the constraint wants to be zero; `upper` allows for it."""
    bounds: tuple[Bound, ...]
    """Every bound tried, in order."""
    assumptions: tuple[str, ...]
    margin: float
    """What was added to the upper bound for rounding and for the violation."""
    seconds: float
    n_features: int
    center: bool = True
    scale: bool | str = False
    tol: float = 1e-6

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.ks)

    @property
    def gap(self) -> float:
        """(upper - lower) / lower."""
        return (self.upper - self.lower) / self.lower if self.lower > 0.0 else math.inf

    def __eq__(self, other: object) -> bool:
        """Return whether two certificates say the same, to the last bit."""
        return isinstance(other, JointCertificate) and self.as_json() == other.as_json()

    def __hash__(self) -> int:
        """Return a hash of its numbers."""
        return hash((self.ks, self.lower, self.upper, self.measure, self.constraint))

    def in_units(self, factor: float) -> JointCertificate:
        """Return the certificate with all variances multiplied by a factor."""
        if factor == 1.0:
            return self
        bounds = tuple(bound._replace(value=factor * bound.value) for bound in self.bounds)
        return replace(
            self, lower=factor * self.lower, upper=factor * self.upper, margin=factor * self.margin, bounds=bounds
        )

    def __str__(self) -> str:
        """Return the certificate in words."""
        best = min(self.bounds, key=lambda bound: bound.value)
        if self.status == "optimal":
            said = f"proven optimal (gap {self.gap:.1e}, by {best.name})"
        else:
            said = f"within {100 * self.gap:.3g} % of the optimum (bound by {best.name}, stopped by {self.stopped_by})"
        kind = {"adjusted": "adjusted variance", "sum": "variance", "shared": "variance on shared features"}[
            self.measure
        ]
        constraint = "" if self.constraint is None else f", {self.constraint}"
        return f"{self.n_components} components{constraint}, {kind} {self.lower:.6g}: {said}, {self.seconds:.1f} s"

    def verify(
        self,
        X: Any,
        *,
        sample_weight: Any = None,
        covariates: Any = None,
        missing: str = "error",
        seconds: float = 60.0,
        tol: float = 1e-6,
    ) -> bool:
        """Return whether the data confirm what the certificate says: variance, constraint, bound and status.

        Nothing is taken from the certificate but what it claims. The variance of its loadings is computed again from
        the data, and bounds are proven again within the time given. It is confirmed if its `lower` is that variance,
        if its loadings keep the constraint as well as it says, if a bound no larger than its `upper`, up to the
        relative tolerance `tol` of the caller, is proven, and if "optimal" stands only where both agree to `tol`.
        Weights and covariates must be those of the certificate.
        """
        given = SampleArguments(sample_weight, covariates, missing)
        return _CONFIRMATIONS[0](self, X, of_samples=given, seconds=seconds, tol=tol)

    def dense(self) -> Array:
        """Return the components as rows, (n_components, n_features)."""
        rows = np.zeros((self.n_components, self.n_features))
        for row, support, loadings in zip(rows, self.supports, self.loadings, strict=True):
            row[support] = loadings
        return rows

    def as_json(self) -> dict[str, Any]:
        """Return the certificate as JSON knows it."""
        return asdict(self) | {
            "format": FORMAT,
            "ks": list(self.ks),
            "supports": [support.tolist() for support in self.supports],
            "loadings": [loadings.tolist() for loadings in self.loadings],
            "bounds": [list(bound) for bound in self.bounds],
            "assumptions": list(self.assumptions),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> JointCertificate:
        """Return the certificate that `as_json` described."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("its format is unknown")
        known = {field.name: str(field.type) for field in fields(cls)}
        if set(content) - {"format"} - set(known):
            raise ValueError("it has entries that a joint certificate has not")
        present = {name: kind for name, kind in known.items() if name in content}
        read = cls(**{name: value_of(name, kind, content[name], _CONVERSIONS) for name, kind in present.items()})
        _check_consistent(read)
        return read

    def save(self, path: Any) -> None:
        """Write the certificate as JSON, to a temporary file first."""
        with written_atomically(Path(path)) as file:
            file.write(json.dumps(self.as_json(), indent=1).encode())

    @classmethod
    def load(cls, path: Any) -> JointCertificate:
        """Read what `save` wrote."""
        content = Path(path).read_bytes()
        try:
            return cls.from_json(json.loads(content))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"{path} is not a certificate that rspca wrote, or damaged: {reason(error)}.") from error


_CONVERSIONS: dict[str, Callable[[Any], Any]] = CONVERSIONS | {
    "ks": lambda value: tuple(whole(entry) for entry in value),
    "supports": lambda value: tuple(features_of(entry) for entry in value),
    "loadings": lambda value: tuple(loadings_of(entry) for entry in value),
    "constraint": lambda value: None if value is None else word(value),
}
"""How entries are read: by the name of a field, else by its type."""


def _check_consistent(read: JointCertificate) -> None:
    """Raise if the numbers of a certificate contradict each other."""
    counts = len(read.ks) == len(read.supports) == len(read.loadings) >= 2 and len(read.assumptions) <= MOST_BOUNDS
    ordered = 0.0 < read.lower <= read.upper and read.bounds and math.isfinite(read.gap) and read.tol > 0.0
    if not (counts and ordered and all(map(_is_component, read.ks, read.supports, read.loadings, _sizes(read)))):
        raise ValueError("its numbers contradict each other")
    if min(bound.value for bound in read.bounds) > read.upper * (1.0 + REACHED_TOL):
        raise ValueError(f"its upper bound {read.upper:.6g} is below every bound that it lists")
    if read.measure not in MEASURES or read.constraint not in (None, *CONSTRAINTS):
        raise ValueError(f"its measure {shown(read.measure)!r} or its constraint {shown(read.constraint)!r} is unknown")
    if read.measure != "shared" and read.measure != MEASURED_BY[read.constraint]:
        raise ValueError(f"its constraint {read.constraint!r} is not measured by {read.measure!r}")
    if read.status not in ("optimal", "gap"):
        raise ValueError(f"its status {shown(read.status)!r} is unknown")
    if read.status != status_of(read.lower, read.upper, read.tol):
        raise ValueError(f"its status is {read.status!r}, but its gap is {read.gap:.3g} and its tolerance {read.tol:g}")
    if read.stopped_by not in STOPPED_BY or (read.stopped_by == "proof") != (read.status == "optimal"):
        raise ValueError(
            f"it ended by {shown(read.stopped_by)!r} with status {read.status!r}, which do not go together"
        )


def _sizes(read: JointCertificate) -> list[int]:
    return [read.n_features] * len(read.ks)


def _is_component(k: int, support: Array, loadings: Array, n: int) -> bool:
    """Return whether a support has at most k of n features, in order, and a loading of each, of unit length."""
    features = 1 <= len(support) <= k <= n and bool((np.diff(support) > 0).all()) and support[-1] < n
    return features and len(loadings) == len(support) and abs(float(np.linalg.norm(loadings)) - 1.0) <= 1e-6
