"""Time of stability, cross-validation and permutation tests, in multiples of one fit with the same k and r.

    python benchmarks/resampling.py [name ...]

CPU time with one thread, best of three fits. All data sets are written to results/resampling.txt.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import data
import numpy as np
from common import Report
from threadpoolctl import threadpool_limits
from users_data import cells

import rspca

K, COMPONENTS, PAIRS, PERMUTATIONS, FOLDS = 50, 2, 50, 19, 5
SETS: dict[str, Callable[[], Any]] = {
    "Chowdary": data.chowdary,
    "Khan": partial(data.gene_expression, "khan"),
    "Classic-2": data.classic2,
    "HapMap3": data.hapmap3,
    "HapMap3 .bed": lambda: rspca.read(data.data_path("hapmap3_flashpca", "data.bed")),
    "12,000 x 2,000 sparse": cells,
}


def seconds(task: Callable[[], Any], repeats: int = 1) -> float:
    """Return the least CPU time of some repeats."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        task()
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    warnings.simplefilter("ignore")
    say = Report("resampling.txt" if len(sys.argv) == 1 else "resampling_part.txt")
    say(f"{COMPONENTS} components of {K} features: {PAIRS} pairs of halves, {FOLDS} folds of 20 k, over a fit")
    say(f"{'':<24}{'one fit, s':>11}{'stability':>11}{'path, cv':>10}{'100 perm.':>11}   (asked for: 40, 60, 150)")
    for name in sys.argv[1:] or SETS:
        X = SETS[name]()
        model = rspca.SparsePCA(COMPONENTS, k=K, random_state=0).fit(X)
        one = seconds(lambda model=model, X=X: model.fit(X), 3)
        stable = seconds(lambda model=model, X=X: model.stability(X, PAIRS, 0))
        ks = np.unique(np.geomspace(2, 200, 20).round().astype(int))
        first = seconds(lambda X=X: rspca.decompose(X, 1, k=K, random_state=0), 3)
        path = seconds(lambda X=X, ks=ks: rspca.path(X, ks.tolist(), cv=FOLDS))
        tested = seconds(lambda X=X: rspca.permutation_test(X, COMPONENTS, K, n_permutations=PERMUTATIONS))
        per_hundred = 100 * tested / (PERMUTATIONS + 1)
        say(f"{name:<24}{one:>11.3f}{stable / one:>11.1f}{path / first:>10.1f}{per_hundred / one:>11.1f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
