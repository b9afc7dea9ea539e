"""What is proven of one component, in numbers and in words; saved as JSON, checked again from the data."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.atomic import written_atomically
from rspca.base.checks import reason, shown
from rspca.base.types import Array
from rspca.certificates.stored import CONVERSIONS, MOST_BOUNDS, Bound, value_of
from rspca.certificates.words import ENDED, features_have, times
from rspca.operators.prepared import SampleArguments

FORMAT = "rspca certificate 1"
STOPPED_BY = tuple(ENDED)
ENGINES = ("numba", "numpy")
REACHED_TOL = 1e-9
"""Relative difference at which two computations of one variance agree."""


_CONFIRMATIONS: list[Callable[..., bool]] = []
"""What `Certificate.verify` calls: proofs are made by a module above this one, which registers the function."""


def confirms(function: Callable[..., bool]) -> Callable[..., bool]:
    """Register the function that proves again what a certificate says; the package imports it."""
    _CONFIRMATIONS[:] = [function]
    return function


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A lower and an upper bound on the largest variance that k features can have.

    ``lower`` is reached by the support and loadings given here; ``upper`` is exceeded by no vector of k features.
    Both are v'X'Xv, without a divisor, of the data as they were taken: centered, scaled, deflated.

    Examples
    --------
    >>> import rspca
    >>> pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    >>> certificate = rspca.certify(pitprops, 3)
    >>> certificate.support.tolist(), certificate.status, certificate.verify(pitprops)
    ([0, 1, 8], 'optimal', True)
    """

    k: int
    lower: float
    upper: float
    status: str
    """"optimal" if the gap is at most the tolerance, otherwise "gap"."""
    stopped_by: str
    """"proof", "nothing left to try", "time" or "interrupt"."""
    support: Array
    loadings: Array
    bounds: tuple[Bound, ...]
    """Every bound that was proven, in order."""
    assumptions: tuple[str, ...]
    margin: float
    """What was added to the upper bound for rounding."""
    survivors: int
    """Features that elimination could not exclude from the best support."""
    nodes: int
    """Nodes of the exact search."""
    engine: str
    """Program that ran the exact search, "numpy", or "numba" once it was long enough to be compiled."""
    seconds: float
    n_features: int
    center: bool = True
    scale: bool | str = False
    tol: float = 1e-6
    max_per_group: int = 0
    """Features of one group in the supports that are compared, at most; 0 without groups."""

    @property
    def gap(self) -> float:
        """(upper - lower) / lower."""
        return (self.upper - self.lower) / self.lower if self.lower > 0.0 else math.inf

    def of(self, support: Array, loadings: Array, lower: float) -> Certificate:
        """Return the same bound for another vector, of this variance: status and gap are then those of that vector."""
        status = status_of(lower, self.upper, self.tol)
        ended = "nothing left to try" if self.stopped_by == "proof" else self.stopped_by
        return replace(
            self,
            support=support,
            loadings=loadings,
            lower=lower,
            upper=max(self.upper, lower),
            status=status,
            stopped_by="proof" if status == "optimal" else ended,
        )

    def in_units(self, factor: float) -> Certificate:
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
            said = f"no {features_have(self.k, self.max_per_group)} more than {times(self.gap)} times this variance"
            said += f" (bound by {best.name}; {ENDED[self.stopped_by]})"
        return f"{self.k} feature{'s' if self.k > 1 else ''}, variance {self.lower:.6g}: {said}, {self.seconds:.1f} s"

    def verify(
        self,
        X: Any,
        *,
        after: Any = None,
        deflation: str = "schur",
        groups: Any = None,
        sample_weight: Any = None,
        covariates: Any = None,
        missing: str = "error",
        seconds: float = 60.0,
        tol: float = 1e-6,
    ) -> bool:
        """Return whether the data confirm what the certificate says: variance, bound and status.

        Nothing is taken from the certificate but what it claims. The variance of its loadings is computed again from
        the data, and bounds are proven again within the time given. It is confirmed if its `lower` is that variance,
        if a bound no larger than its `upper`, up to the relative tolerance `tol` of the caller, is proven, and if
        "optimal" stands only where upper and lower agree to `tol`. A certificate that depends on earlier components
        needs them, `after`, and how they were removed, as :func:`certify` does; one for supports that groups limit
        needs the `groups`, one of weighted samples the weights, and one of data without covariates these.
        """
        given = SampleArguments(sample_weight, covariates, missing)
        return _CONFIRMATIONS[0](
            self, X, after=after, deflation=deflation, groups=groups, of_samples=given, seconds=seconds, tol=tol
        )

    def as_json(self) -> dict[str, Any]:
        """Return the certificate as JSON knows it."""
        content = asdict(self)
        if not self.max_per_group:  # earlier versions do not know it
            del content["max_per_group"]
        return content | {
            "format": FORMAT,
            "support": self.support.tolist(),
            "loadings": self.loadings.tolist(),
            "bounds": [list(bound) for bound in self.bounds],
            "assumptions": list(self.assumptions),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Certificate:
        """Return the certificate that `as_json` described."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("its format is unknown")
        known = {field.name: str(field.type) for field in fields(cls)}
        if set(content) - {"format"} - set(known):
            raise ValueError("it has entries that a certificate has not")
        read = cls(
            **{
                name: value_of(name, kind, content[name], CONVERSIONS)
                for name, kind in known.items()
                if name in content
            }
        )
        _check_consistent(read)
        return read

    def save(self, path: Any) -> None:
        """Write the certificate as JSON, to a temporary file first."""
        with written_atomically(Path(path)) as file:
            file.write(json.dumps(self.as_json(), indent=1).encode())

    @classmethod
    def load(cls, path: Any) -> Certificate:
        """Read what `save` wrote."""
        content = Path(path).read_bytes()
        try:
            return cls.from_json(json.loads(content))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"{path} is not a certificate that rspca wrote, or damaged: {reason(error)}.") from error


def status_of(lower: float, upper: float, tol: float) -> str:
    """Return "optimal" if upper and lower agree to a relative tolerance, otherwise "gap"."""
    return "optimal" if upper <= (1.0 + tol) * lower else "gap"


def _check_consistent(read: Certificate) -> None:
    """Raise if the numbers of a certificate contradict each other."""
    S, v = read.support, read.loadings
    features = 1 <= len(S) <= read.k <= read.n_features and (np.diff(S) > 0).all() and S[-1] < read.n_features
    unit = len(v) == len(S) and abs(float(np.linalg.norm(v)) - 1.0) <= 1e-6
    ordered = 0.0 < read.lower <= read.upper and read.bounds and math.isfinite(read.gap) and read.tol > 0.0
    counts = read.survivors <= read.n_features and len(read.assumptions) <= MOST_BOUNDS
    if not (features and unit and ordered and counts):
        raise ValueError("its numbers contradict each other")
    if min(bound.value for bound in read.bounds) > read.upper * (1.0 + REACHED_TOL):
        raise ValueError(f"its upper bound {read.upper:.6g} is below every bound that it lists")
    if read.status not in ("optimal", "gap"):
        raise ValueError(f"its status {shown(read.status)!r} is unknown")
    if read.status != status_of(read.lower, read.upper, read.tol):
        raise ValueError(f"its status is {read.status!r}, but its gap is {read.gap:.3g} and its tolerance {read.tol:g}")
    if read.stopped_by not in STOPPED_BY or (read.stopped_by == "proof") != (read.status == "optimal"):
        raise ValueError(
            f"it ended by {shown(read.stopped_by)!r} with status {read.status!r}, which do not go together"
        )
    if read.engine not in ENGINES:
        raise ValueError(f"its engine {shown(read.engine)!r} is unknown")
