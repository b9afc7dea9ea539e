"""Several components as one problem: adjusted variance against components found one by one, shared supports, time.

    python benchmarks/joint.py                   every table, some minutes
    python benchmarks/joint.py small shared      some of them

Writes benchmarks/results/joint.txt. Data: the folder that RSPCA_DATA names, or shared/data beside the repository. Times
are CPU seconds: set OPENBLAS_NUM_THREADS=1. Khan and the digits are stated as in the literature: covariances divided by
the number of samples, and correlations.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from common import Report, data
from pairs import best_of_pairs, small_matrices
from quality import DATA
from sklearn.datasets import load_breast_cancer, load_digits

import rspca
from rspca.algorithm.feature_limits import Choice
from rspca.algorithm.joint.free import free
from rspca.algorithm.joint.shared import shared
from rspca.algorithm.joint.task import JointTask, SparseVector, Together
from rspca.algorithm.loop import eligible_features
from rspca.linalg.component_order import adjusted, best_order
from rspca.operators.base import OperatorMixin
from rspca.operators.prepared import prepared

SEEDS = range(5)


def correlations(X: np.ndarray) -> rspca.GramOperator:
    """Return the correlations of the columns that vary."""
    return rspca.GramOperator(np.corrcoef(X[:, X.std(axis=0) > 0.0], rowvar=False))


class Work(NamedTuple):
    """Data with k features for each of r components, the least that is wanted, and the best that is known."""

    name: str
    make: Callable[[], Any]
    k: int
    r: int
    bar: float
    best_known: float | None = None
    divisor: float = 1.0
    scale: bool | str = False


SMALL = [
    Work("pitprops", lambda: rspca.GramOperator(data.benchmark_matrix("pitprops")), 5, 3, 7.4550, 7.4595),
    Work("pitprops", lambda: rspca.GramOperator(data.benchmark_matrix("pitprops")), 5, 6, 10.2190, 10.2552),
    Work("wine", lambda: rspca.GramOperator(data.benchmark_matrix("wine")), 4, 3, 6.7919, 6.7919),
    Work("breast cancer", lambda: correlations(load_breast_cancer().data), 5, 3, 10.7790, 10.8334),
    Work("breast cancer", lambda: correlations(load_breast_cancer().data), 10, 4, 18.8390, 18.8400),
    Work("digits", lambda: correlations(load_digits().data), 10, 5, 19.3880, 19.3882),
]
LARGE = [
    Work("Khan", lambda: data.gene_expression("khan"), 20, 5, 76.84, divisor=63.0),
    Work("Classic-2", data.classic2, 20, 10, 119.8),
    Work("Classic-2", data.classic2, 60, 5, 85.88),
]
SHARED = [
    Work("digits", lambda: correlations(load_digits().data), 10, 5, 9.127),
    Work("Khan", lambda: data.gene_expression("khan"), 94, 5, 97.76, divisor=63.0),
    Work("Classic-2", data.classic2, 60, 5, 75.00),
    Work("HapMap3, Patterson", data.hapmap3, 50, 5, 23318.0, scale="patterson"),
]
TIMED = {"Classic-2": data.classic2, "Chowdary": data.chowdary, "HapMap3": data.hapmap3}


class Joint(NamedTuple):
    """One run: what was found one by one and together, and the CPU seconds of both."""

    op: OperatorMixin
    start: list[SparseVector]
    together: Together
    start_seconds: float
    seconds: float

    @property
    def variance_before(self) -> float:
        return variance(self.op, self.start)

    @property
    def variance(self) -> float:
        return variance(self.op, self.together.vectors)


def score_products(op: OperatorMixin, vectors: list[SparseVector]) -> np.ndarray:
    scores = np.column_stack([op.scores(vector.support, vector.loadings) for vector in vectors])
    return scores.T @ scores


def variance(op: OperatorMixin, vectors: list[SparseVector]) -> float:
    """Return the adjusted variance in the order of the vectors."""
    return float(adjusted(score_products(op, vectors)).sum())


def run(X: Any, k: int, r: int, seed: int, *, together: Callable[..., Together] = free, **options: Any) -> Joint:
    """Find components one by one, then together, on the same data."""
    started = time.process_time()
    found = rspca.decompose(X, r, k=k, random_state=seed, **options)
    middle = time.process_time()
    start = [SparseVector(c.support, np.asarray(c.loadings, dtype=np.float64)) for c in found.components]
    scale = options.get("scale", False)
    op = prepared(rspca.as_operator(X), center=True, scale=scale, n_components=r).operator
    task = JointTask(op, [k] * r, Choice(eligible_features(op)), np.random.default_rng(seed))
    before = time.process_time()
    result = together(task, start)
    return Joint(op, start, result, middle - started, time.process_time() - before)


def small(say: Report) -> None:
    """Adjusted variance of small data, the least of five seeds."""
    say("\nFree joint ascent, adjusted variance in the best order, least and most of five seeds\n")
    say(f"{'data':<20}{'k x r':>8}{'one by one':>12}{'least':>10}{'most':>10}{'wanted':>10}{'known':>10}{'seconds':>9}")
    for work in [*SMALL, *LARGE]:
        X = work.make()
        runs = [run(X, work.k, work.r, seed) for seed in SEEDS]
        before = max(variance_in_best_order(one.op, one.start) for one in runs) / work.divisor
        ends = [one.variance / work.divisor for one in runs]
        known = "" if work.best_known is None else f"{work.best_known:.4f}"
        seconds = min(one.seconds for one in runs)
        say(
            f"{work.name:<20}{work.k:>4} x {work.r}{before:>12.4f}{min(ends):>10.4f}{max(ends):>10.4f}"
            f"{work.bar:>10.4f}{known:>10}{seconds:>9.2f}" + ("" if min(ends) >= work.bar else "  BELOW")
        )


def variance_in_best_order(op: OperatorMixin, vectors: list[SparseVector]) -> float:
    products = score_products(op, vectors)
    return float(adjusted(products, best_order(products)).sum())


def times(say: Report) -> None:
    """Time of the joint part over that of one by one, best of three, in turn."""
    say("\nCPU seconds of the joint part over those of one by one, and its gain\n")
    say(f"{'data':<12}{'k':>6}{'r':>4}{'one by one':>12}{'joint':>8}{'ratio':>7}{'gain %':>8}")
    for name, make in TIMED.items():
        X = make()
        for k in (20, X.shape[1] // 100):
            for r in (5, 10):
                runs = [run(X, k, r, 0) for _ in range(3)]
                start, joint = min(one.start_seconds for one in runs), min(one.seconds for one in runs)
                gain = 100.0 * (runs[0].variance / runs[0].variance_before - 1.0)
                say(f"{name:<12}{k:>6}{r:>4}{start:>12.2f}{joint:>8.2f}{joint / start:>7.2f}{gain:>8.2f}")


def shared_supports(say: Report) -> None:
    """Sum of the r leading eigenvalues of one support."""
    say("\nShared support of k features: sum of the r leading eigenvalues, least of five seeds\n")
    say(f"{'data':<20}{'k':>5}{'r':>3}{'sum':>12}{'wanted':>12}{'seconds':>9}")
    for work in SHARED:
        X, sums, seconds = work.make(), [], []
        for seed in SEEDS:
            search = lambda task, start: shared(task, work.r, work.k, start)  # noqa: E731, B023
            one = run(X, work.k // work.r, work.r, seed, together=search, scale=work.scale)
            block = one.op.gram_block(one.together.vectors[0].support)
            sums.append(float(np.linalg.eigvalsh(block)[-work.r :].sum()) / work.divisor)
            seconds.append(one.seconds)
        below = "" if min(sums) >= work.bar else "  BELOW"
        say(f"{work.name:<20}{work.k:>5}{work.r:>3}{min(sums):>12.4f}{work.bar:>12.4f}{min(seconds):>9.2f}{below}")


def quality(say: Report) -> None:
    """Joint against one by one on every data set of benchmarks/quality.py."""
    say("\nFive components of k = 20 features (or n/4): gain of the joint ascent over one by one in the stored order\n")
    worst = np.inf
    for name, make in DATA.items():
        X = make()
        one = run(X, min(20, max(2, X.shape[1] // 4)), min(5, X.shape[1]), 0)
        gain = one.variance / one.variance_before - 1.0
        worst = min(worst, gain)
        say(f"{name:<18}{100.0 * gain:>9.4f} %  {one.seconds:>6.2f} s of {one.start_seconds:.2f} s")
    say(f"\nleast gain: {100.0 * worst:.4f} %")


def pairs(say: Report, count: int = 200) -> None:
    """Two components of few features against all pairs of supports."""
    say(f"\nr = 2, n <= 12, k <= 3, {count} random and real matrices: all pairs of supports, loadings refined\n")
    rng, missed, worst = np.random.default_rng(5), 0, 0.0
    real = [work.make().given for work in (SMALL[0], SMALL[2], SMALL[3], SMALL[5])]
    for number, (A, k) in enumerate(small_matrices(rng, count, real)):
        found = run(rspca.GramOperator(A), k, 2, number).variance
        best = best_of_pairs(A, k, found, rng)
        missed += best > (1.0 + 1e-7) * found
        worst = max(worst, best / found - 1.0)
    say(f"optimum reached in {count - missed} of {count}; at most {100.0 * worst:.4f} % below it")


SECTIONS: dict[str, Callable[[Report], None]] = {
    "small": small,
    "times": times,
    "shared": shared_supports,
    "pairs": pairs,
    "quality": quality,
}

if __name__ == "__main__":
    report = Report("joint.txt")
    for section in sys.argv[1:] or SECTIONS:
        SECTIONS[section](report)
