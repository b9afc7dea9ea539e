"""Every tuned number of the algorithm as it is, halved and doubled: variance, time and passes of one component.

    python benchmarks/budgets.py              all numbers, some minutes
    python benchmarks/budgets.py NAME ...     some of them

Writes benchmarks/results/budgets.csv: a row for each number, value and case in which the algorithm reads the number.
Ratios are those of the changed number to the number as it is. The two runs follow each other, because the speed of a
machine changes within seconds. Numbers are those whose docstring names this script.
"""

from __future__ import annotations

import ast
import csv
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

from common import HERE, data

import rspca
from rspca.algorithm import budgets
from rspca.linalg import eigen, vectors

CASES: dict[str, tuple[Callable[[], Any], int, bool]] = {
    "HapMap3, k=20": (data.hapmap3, 20, False),
    "HapMap3, k=700": (data.hapmap3, 700, False),
    "Classic-2, k=50": (data.classic2, 50, False),
    "Classic-2, k=600": (data.classic2, 600, False),
    "Chowdary, k=20": (data.chowdary, 20, False),
    "alon, k=100": (lambda: data.gene_expression("alon"), 100, False),
    "HapMap3 scaled, k=8": (data.hapmap3, 8, True),
    "HGDP Europeans, k=20": (data.hgdp_euro, 20, False),
    "Golub scaled, k=5": (lambda: data.gene_expression("golub"), 5, True),
    "digits, k=10": (lambda: rspca.GramOperator(data.benchmark_matrix("digits")), 10, False),
}
COLUMNS = ("number", "value", "tried", "case", "variance_ratio", "time_ratio", "passes", "passes_tried")


class Run(NamedTuple):
    variance: float
    seconds: float
    passes: float


class Reads(ModuleType):
    """A module that records which of its names are read."""

    names: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        Reads.names.add(name)
        return super().__getattribute__(name)


def tuned_numbers(module: ModuleType) -> Iterator[str]:
    """Yield the names of a module whose docstring says that this script measured them."""
    body = ast.parse(Path(str(module.__file__)).read_text()).body
    for assignment, following in itertools.pairwise(body):
        if isinstance(assignment, ast.Assign) and isinstance(following, ast.Expr):
            text = getattr(following.value, "value", "")
            if isinstance(assignment.targets[0], ast.Name) and "benchmarks/budgets.py" in str(text):
                yield assignment.targets[0].id


def half_and_double(value: float) -> tuple[float, float]:
    """Return half and twice a number: of counts at least 1, of shares at most 1."""
    if isinstance(value, int):
        return max(1, value // 2), 2 * value
    return value / 2.0, min(2.0 * value, 1.0) if value < 1.0 else 2.0 * value


@contextmanager
def replaced(module: ModuleType, name: str, value: float) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def run(X: Any, k: int, scale: bool) -> Run:
    options = {"n_draws": budgets.DRAWS, "max_iter": budgets.MAX_ITER, "tol": budgets.TOL}
    started = time.perf_counter()
    component = rspca.decompose(X, 1, k=k, scale=scale, random_state=0, **options).components[0]
    return Run(component.variance, time.perf_counter() - started, component.passes)


def names_read(X: Any, k: int, scale: bool) -> set[str]:
    """Return the names of `budgets` that one fit reads; everything is loaded and warm after it."""
    Reads.names = set()
    budgets.__class__ = Reads
    try:
        run(X, k, scale)
    finally:
        budgets.__class__ = ModuleType
    return Reads.names


def measured(module: ModuleType, name: str, read: dict[str, set[str]]) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each value and case of one number."""
    value = getattr(module, name)
    for case, (make, k, scale) in CASES.items():
        if module is budgets and name not in read[case]:
            continue
        for tried in half_and_double(value):
            as_it_is = run(make(), k, scale)
            with replaced(module, name, tried):
                changed = run(make(), k, scale)
            ratios = (changed.variance / as_it_is.variance, round(changed.seconds / as_it_is.seconds, 3))
            yield name, value, tried, case, *ratios, round(as_it_is.passes, 3), round(changed.passes, 3)


def summary(rows: list[tuple[Any, ...]]) -> str:
    """Return one line for a number and a value: the range of variances, the median time, all passes."""
    name, value, tried = rows[0][:3]
    variances, times, passes, passes_tried = zip(*(row[4:] for row in rows), strict=True)
    return (
        f"{name:<26}{value:>14.6g}{tried:>14.6g}{len(rows):>6}"
        f"{min(variances) - 1.0:>+11.1e}{max(variances) - 1.0:>+11.1e}"
        f"{statistics.median(times):>7.2f}{sum(passes):>9.1f}{sum(passes_tried):>9.1f}"
    )


def main(wanted: list[str]) -> None:
    numbers = [(module, name) for module in (budgets, eigen, vectors) for name in tuned_numbers(module)]
    read = {case: names_read(make(), k, scale) for case, (make, k, scale) in CASES.items()}
    heads = ("number", "value", "tried", "cases", "variance", "to", "time", "passes", "tried")
    widths = (-26, 14, 14, 6, 11, 11, 7, 9, 9)
    print(
        "".join(f"{head:<26}" if width < 0 else f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))
    )
    rows = []
    for module, name in numbers:
        if not wanted or name in wanted:
            found = list(measured(module, name, read))
            rows += found
            for tried in dict.fromkeys(row[2] for row in found):
                print(summary([row for row in found if row[2] == tried]), flush=True)
    if not wanted:
        with (HERE / "results" / "budgets.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main(sys.argv[1:])
