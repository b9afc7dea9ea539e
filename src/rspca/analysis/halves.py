"""What the halves of the samples chose so far: counts and sums, from which a run that was stopped goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rspca.analysis.resampling import Loadings, absolute_cosines, matched
from rspca.base.types import Array, OnStep


class Halves:
    """Counts of chosen features, and sums of cosines and overlaps, of the halves so far."""

    def __init__(self, found: Sequence[Loadings]) -> None:
        self.found = found
        self.count = 0
        self.chosen = [dict[int, int]() for _ in found]
        """For each component how many halves chose each feature."""
        self.cosines, self.overlaps = np.zeros(len(found)), np.zeros(len(found))

    def add(self, components: Sequence[Loadings]) -> None:
        """Match the components of one half with those of all samples, and count."""
        self.count += 1
        cosines = absolute_cosines(self.found, components)
        for j, other in enumerate(matched(cosines)):
            if other < 0:  # a half may have a lower rank
                continue
            own, theirs = self.found[j], components[other]
            self.cosines[j] += cosines[j, other]
            self.overlaps[j] += len(np.intersect1d(own.support, theirs.support)) / len(own.support)
            for feature in theirs.support.tolist():
                self.chosen[j][feature] = self.chosen[j].get(feature, 0) + 1

    def arrays(self) -> dict[str, Array]:
        """Return all of it as arrays, for a file; `continued` takes it back."""
        return {
            "count": np.array(self.count),
            "cosines": self.cosines.copy(),
            "overlaps": self.overlaps.copy(),
            "lengths": np.array([len(counts) for counts in self.chosen], dtype=np.int64),
            "features": np.array([i for counts in self.chosen for i in sorted(counts)], dtype=np.int64),
            "times": np.array([counts[i] for counts in self.chosen for i in sorted(counts)], dtype=np.int64),
        }

    def continued(self, arrays: dict[str, Array], n: int) -> Halves:
        """Take back what `arrays` returned, of the same components of n features; raise if it cannot be theirs."""
        if not isinstance(arrays, dict) or any(not isinstance(arrays.get(name), np.ndarray) for name in self.arrays()):
            raise ValueError("these are not the arrays of halves that Halves.arrays returns")
        count, lengths, features, times = (arrays[name] for name in ("count", "lengths", "features", "times"))
        r, sums = len(self.found), [arrays["cosines"].copy(), arrays["overlaps"].copy()]
        if any(numbers.dtype.kind != "i" for numbers in (count, lengths, features, times)) or count.shape or count < 1:
            raise ValueError("the counts of halves are not whole numbers")
        if lengths.shape != (r,) or (lengths < 0).any() or not features.shape == times.shape == (lengths.sum(),):
            raise ValueError("the counts of halves do not fit the components")
        if not ((features >= 0) & (features < n) & (times >= 1) & (times <= count)).all():
            raise ValueError("the halves chose features that there are not, or too often")
        if any(values.shape != (r,) or not ((values >= 0.0) & (values <= count + 1e-9)).all() for values in sums):
            raise ValueError("the sums over halves are impossible")
        ends = np.cumsum(lengths)[:-1]
        rows = zip(np.split(features, ends), np.split(times, ends), strict=True)
        self.count, (self.cosines, self.overlaps) = int(count), sums
        self.chosen = [dict(zip(row.tolist(), often.tolist(), strict=True)) for row, often in rows]
        return self


class HalvesOptions(NamedTuple):
    """What a caller may add to a stability: a listener, what to keep after each part, and what was kept before."""

    on_step: OnStep | None = None
    on_halves: Callable[[Halves], None] | None = None
    """Called with what was counted so far."""
    earlier: dict[str, Array] | None = None
    """Arrays of the halves of a run with the same arguments that was stopped."""
