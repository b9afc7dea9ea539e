"""Several components under a constraint: variance, violation and time on the cases that msPCA is known for.

    python benchmarks/joint_constrained.py             five seeds of each case, some minutes
    python benchmarks/joint_constrained.py --seeds 1   one seed

Writes benchmarks/results/joint_constrained.txt. Times are of CPU; run it with one thread of BLAS.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from common import Report, data
from sklearn.datasets import load_breast_cancer, load_digits

import rspca
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.constrained import constrained
from rspca.algorithm.joint.task import JointTask, SparseVector
from rspca.linalg.component_order import adjusted
from rspca.operators.convert import as_operator

SP500_K = (5, 10, 15, 20, 25, 30, 35)


class Case(NamedTuple):
    """Data, sizes, and the least objective that is expected of each constraint."""

    name: str
    k: int
    r: int
    bars: dict[str, float]
    seconds: float
    unit: float = 1.0


def correlations(X: np.ndarray) -> np.ndarray:
    return np.corrcoef(X[:, X.std(axis=0) > 0.0], rowvar=False)


def sp500() -> np.ndarray:
    """Correlations of 423 companies, the market factor removed."""
    with lzma.open(data.data_path("sp500_correlations", "snp500_corr.csv.xz"), "rt") as lines:
        return np.array([row[1:] for row in list(csv.reader(lines))[1:]], dtype=float)


def khan() -> np.ndarray:
    """Gene expression of 63 samples, centered, divided by the root of their number."""
    X = data.gene_expression("khan")
    return (X - X.mean(axis=0)) / np.sqrt(len(X))


DATA = {
    "pitprops": lambda: rspca.GramOperator(data.benchmark_matrix("pitprops")),
    "wine": lambda: rspca.GramOperator(data.benchmark_matrix("wine")),
    "breast": lambda: rspca.GramOperator(correlations(load_breast_cancer().data)),
    "digits": lambda: rspca.GramOperator(correlations(load_digits().data)),
    "khan": lambda: as_operator(khan()),
    "sp500": lambda: rspca.GramOperator(sp500()),
}
BARS = {
    ("pitprops", 5, 3): (7.7092, 7.1775),
    ("pitprops", 5, 6): (10.8500, 9.7170),
    ("wine", 4, 3): (7.3337, 6.47863),
    ("breast", 5, 3): (13.1987, 10.1700),
    ("breast", 10, 4): (21.6700, 17.2060),
    ("digits", 10, 5): (20.4480, 18.1120),
    ("khan", 20, 5): (80.10, 72.45),
}
SHARES = (0.0431, 0.0691, 0.0860, 0.1000, 0.1093, 0.1113, 0.1142)


def cases() -> Iterator[Case]:
    for (name, k, r), (orthogonal, uncorrelated) in BARS.items():
        bars = {"orthogonal": orthogonal, "uncorrelated": uncorrelated, "disjoint": 0.0}
        yield Case(name, k, r, bars, 5.0 if name == "khan" else 2.0)
    trace = float(np.trace(sp500()))
    for k, share in zip(SP500_K, SHARES, strict=True):
        yield Case("sp500", k, 4, {"orthogonal": share}, 2.0, trace)


def components_one_by_one(op: Any, k: int, r: int) -> list[SparseVector]:
    centering = {"center": False} if op.has_samples else {}
    found = rspca.decompose(op, r, k=k, random_state=0, **centering)
    return [SparseVector(component.support, component.loadings) for component in found.components]


def measure(
    op: Any, case: Case, constraint: str, start: list[SparseVector], seed: int
) -> tuple[float, float, bool, float]:
    """Return objective, violation, whether all components have k features, and CPU seconds."""
    task = JointTask(op, [case.k] * case.r, Choice(np.flatnonzero(op.sq_norms)), np.random.default_rng(seed))
    began = time.process_time()
    together = constrained(task, start, constraint)
    seconds = time.process_time() - began
    scores = np.column_stack([op.scores(*vector) for vector in together.vectors])
    M = scores.T @ scores
    value = float(adjusted(M).sum() if constraint == "disjoint" else np.trace(M)) / case.unit
    full = all(len(vector.support) == case.k for vector in together.vectors)
    return value, together.violation, full, seconds


def main(say: Report, seeds: int) -> None:
    say("\nSeveral components under a constraint, least and largest of all seeds: sum v'Av (disjoint: adjusted),")
    say("S&P 500: share of the trace; k features in all components; largest violation; CPU seconds\n")
    say(
        f"{'data':<10}{'k x r':>7} {'constraint':<14}{'bar':>9}{'least':>10}{'largest':>10}{'k each':>8}"
        f"{'violation':>11}{'s':>6}"
    )
    for case in cases():
        op = DATA[case.name]()
        start = components_one_by_one(op, case.k, case.r)
        for constraint, bar in case.bars.items():
            if constraint == "disjoint" and case.k * case.r > op.shape[1]:
                continue
            runs = [measure(op, case, constraint, start, seed) for seed in range(seeds)]
            values, violations, full, seconds = zip(*runs, strict=True)
            missed = " BELOW" * (min(values) < bar) + " SLOW" * (max(seconds) > case.seconds)
            say(
                f"{case.name:<10}{f'{case.k} x {case.r}':>7} {constraint:<14}{bar:>9.4f}{min(values):>10.5f}"
                f"{max(values):>10.5f}{'yes' if all(full) else 'no':>8}{max(violations):>11.1e}"
                f"{max(seconds):>6.2f}{missed}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    main(Report("joint_constrained.txt"), parser.parse_args().seeds)
