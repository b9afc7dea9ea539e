"""What certify proves, and how fast: every bar with the value achieved, CPU seconds of one thread.

    python benchmarks/certificates.py
    python benchmarks/certificates.py --middle --seconds 10 --rows alon,khan   some rows of the middle, with less time

Writes benchmarks/results/certificates.txt. Small matrices: best of three runs; where a budget is given: one run with
that budget. Compilation is excluded by a run before the first. Data: the folder that RSPCA_DATA names, or shared/data
beside the repository. Takes about ten minutes; --quick leaves out what needs more than a few seconds.
"""

from __future__ import annotations

import os
import sys

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS")
if any(os.environ.get(name) != "1" for name in THREADS):  # numpy reads them when it is imported
    os.environ.update(dict.fromkeys(THREADS, "1"))
    os.execv(sys.executable, [sys.executable, *sys.argv])

import argparse  # noqa: E402
import csv  # noqa: E402
import resource  # noqa: E402
import subprocess  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from common import Report, data, genotypes  # noqa: E402

import rspca  # noqa: E402
from rspca.base.machine_code import can_compile  # noqa: E402
from rspca.certificates.certify import certified_steps, rounding_margin  # noqa: E402
from rspca.certificates.progress import Progress  # noqa: E402
from rspca.certificates.proof_state import ProofState  # noqa: E402
from rspca.operators.convert import prepare  # noqa: E402

time.perf_counter = time.process_time  # budgets too are CPU time: other processes must not change what is proven
TOL = 1e-6
EXACT = {
    "wine": (3, 5, 10), "wine covariance": (5, 10),
    "normMiniBooNE": (3, 5, 10, 15), "miniBooNE": (5, 10),
    "normCommunities": (5, 10, 20), "communities": (5, 10, 20),
    "keggdirected": (5, 10), "pol": (5, 10, 20), "wdbc": (5, 10, 20), "dermatology": (5, 10, 20),
    "spambase": (5, 10, 20), "digits": (5, 10, 20), "buzz": (5, 10, 20), "song": (5, 10, 20), "gas": (5, 10, 20),
    "Eisen1": (5, 10, 20), "Eisen2": (5, 10, 20),
}  # fmt: skip


def matrix(name: str) -> rspca.GramOperator:
    if name == "wine covariance":
        with data.data_path("spca_benchmarks", "wine.csv").open(newline="") as lines:
            rows = np.array(list(csv.reader(lines))[1:], dtype=float)
        return rspca.GramOperator(np.cov(rows[:, :-1], rowvar=False))
    return rspca.GramOperator(data.benchmark_matrix(name))


def timed(compute: Callable[[], Any], runs: int = 1) -> tuple[Any, float]:
    """Return the last result, and the least CPU time of so many runs."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        found = compute()
        times.append(time.process_time() - began)
    return found, min(times)


class Table:
    """Prints one line a case, and counts those that miss their bar."""

    def __init__(self, say: Report) -> None:
        self.say, self.missed = say, 0
        say(f"{'data':<24}{'k':>5}{'variance':>14}{'gap':>10}{'nodes':>7}{'CPU s':>8}  bar")

    def row(self, name: str, found: rspca.Certificate, seconds: float, gap: float, limit: float | None) -> None:
        within = found.gap <= gap and (limit is None or seconds <= limit)
        self.missed += not within
        bar = "reported only" if gap == np.inf else f"gap <= {gap:.2g}" + (f", <= {limit:g} s" if limit else "")
        self.say(
            f"{name:<24}{found.k:>5}{found.lower:>14.7g}{found.gap:>10.1e}{found.nodes:>7}{seconds:>8.2f}  {bar}"
            + ("" if within else "  MISSED")
        )


def small(table: Table) -> None:
    pitprops = rspca.GramOperator(rspca.datasets.load_pitprops())
    for k in range(1, 14):
        table.row("pitprops", *timed(lambda k=k: rspca.certify(pitprops, k), 3), TOL, 1.0)
    for name, ks in EXACT.items():
        op = matrix(name)
        for k in ks:
            table.row(name, *timed(lambda op=op, k=k: rspca.certify(op, k), 3), TOL, 5.0)
    hadamard = rspca.datasets.make_hadamard()
    for k in (41, 410, 1024):
        found = timed(lambda k=k: rspca.certify(hadamard, k, center=False), 3)
        table.row("make_hadamard()", *found, TOL, None)


def large(table: Table) -> None:
    arrhythmia = matrix("normArrhythmia")
    for k, gap in ((5, TOL), (10, TOL), (20, 5e-4)):
        table.row("normArrhythmia", *timed(lambda k=k: rspca.certify(arrhythmia, k, seconds=29)), gap, 30.0)
    for k, gap in ((68, 0.10), (290, 0.055), (573, 0.025)):
        table.row("Classic-2", *timed(lambda k=k: rspca.certify(data.classic2(), k, seconds=58)), gap, 60.0)
    for k, gap in ((20, 0.15), (500, np.inf), (5000, np.inf)):
        found = timed(lambda k=k: rspca.certify(data.hapmap3(), k, scale="patterson", seconds=58))
        table.row("HapMap3, Patterson", *found, gap, 60.0 if gap < np.inf else None)


def spike() -> np.ndarray:
    """200 x 2,000 noise and one planted component of 30 features, strength 4."""
    rng = np.random.default_rng(0)
    loadings = np.where(np.arange(2000) < 30, 1.0 / np.sqrt(30.0), 0.0)
    return rng.standard_normal((200, 2000)) + 4.0 * np.outer(rng.standard_normal(200), loadings)


MIDDLE: dict[str, tuple[Callable[[], Any], dict[str, Any], dict[int, tuple[float, float]]]] = {
    "alon": (lambda: data.gene_expression("alon"), {}, {20: (13.7, 2.0), 50: (5.7, 0.4), 100: (3.5, 0.1)}),
    "khan": (lambda: data.gene_expression("khan"), {}, {50: (23.4, 5.0), 100: (27.3, 11.0), 462: (10.7, 8.5)}),
    "lymphoma": (lambda: data.gene_expression("lymphoma"), {}, {20: (15.1, 1e-4), 50: (7.8, 1.8), 201: (6.7, 0.3)}),
    "golub": (lambda: data.gene_expression("golub"), {}, {71: (5.9, 0.2), 356: (1.3, 0.01)}),
    "gordon": (lambda: data.gene_expression("gordon"), {}, {20: (0.7, 0.4), 125: (0.9, 0.35)}),
    "chowdary": (data.chowdary, {}, {222: (3.3, 0.2), 1111: (7.1, 3.0), 4443: (1.9, 1.9)}),
    "classic2": (
        data.classic2,
        {},
        {20: (18.1, 8.0), 50: (11.0, 1.7), 68: (9.0, 1.2), 100: (7.8, 1.4), 290: (3.8, 0.1)},
    ),
    "kos": (data.kos, {}, {50: (4.0, 0.8), 100: (0.7, 0.01)}),
    "hapmap3": (data.hapmap3, {"scale": "patterson"}, {20: (9.6, 7.7), 100: (9.5, 9.5), 500: (30.0, 15.5)}),
    "hgdp": (data.hgdp_world_chr22, {"scale": "patterson"}, {20: (20.7, 10.3), 100: (14.5, 8.0), 383: (17.2, 10.8)}),
    "spike": (spike, {}, {20: (24.7, 13.5), 30: (38.9, 21.0), 50: (73.9, 40.0)}),
}
"""Data of issue 18, with the options of certify, and by k the gap before it and the bar, in percent."""


def middle(say: Report, seconds: float, rows: set[str]) -> int:
    """Print the gaps where thousands of features are certified for tens to hundreds; return how many miss their bar."""
    say(f"{'data':<12}{'k':>6}{'before %':>10}{'bar %':>9}{'gap %':>10}{'nodes':>8}{'CPU s':>8}  least bound")
    missed = 0
    for name, (load, options, bars) in MIDDLE.items():
        for k, (before, bar) in bars.items():
            if rows and not rows & {name, f"{name}:{k}"}:
                continue
            X = load()
            found, used = timed(lambda X=X, k=k, options=options: rspca.certify(X, k, seconds=seconds, **options))
            best = min(found.bounds, key=lambda bound: bound.value).name
            is_missed = 100.0 * found.gap > bar
            missed += is_missed
            say(
                f"{name:<12}{k:>6}{before:>10.1f}{bar:>9.4g}{100.0 * found.gap:>10.4f}{found.nodes:>8}{used:>8.1f}  "
                f"{best}{', proven' if found.status == 'optimal' else ''}{'  MISSED' if is_missed else ''}"
            )
    return missed


def path(say: Report, table: Table) -> None:
    op, began = prepare(data.classic2()), time.process_time()
    run = Progress(np.arange(1), 0.0, tol=TOL, deadline=time.perf_counter() + 60.0)
    last = 0
    for step in certified_steps(ProofState(op), 40, run):
        upper = step.upper + rounding_margin(op, step.k, step.upper, np.arange(op.shape[1]))
        if upper > (1.0 + TOL) * step.lower or time.process_time() - began > 60.0:
            break
        last = step.k
    table.missed += last < 10
    say(f"\nClassic-2, every k from 1 proven optimal in one minute up to k = {last} (bar: 10)")


def genotypes_case(say: Report, table: Table) -> None:
    output = subprocess.run([sys.executable, __file__, "--genotypes"], check=True, capture_output=True, text=True)
    gap, variance, seconds, memory, bound = output.stdout.split(maxsplit=4)
    table.missed += float(gap) > 0.20 or float(memory) > 4.0
    say(
        f"\nmake_genotypes(2500, 37493), float32, k = 2000, two minutes: variance {float(variance):.7g}, gap "
        f"{100 * float(gap):.1f} % (bar: 20 %) by {bound.strip()}, {float(seconds):.0f} CPU s, "
        f"peak memory {float(memory):.2f} GB (bar: 4 GB)"
    )


def genotypes_alone() -> None:
    X = genotypes()
    found, seconds = timed(lambda: rspca.certify(X, 2000, seconds=118))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(found.gap, found.lower, seconds, peak, min(found.bounds, key=lambda bound: bound.value).name)


if __name__ == "__main__":
    rspca.certify(matrix("digits"), 5, seconds=20)  # compiles
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--middle", action="store_true", help="only the table of issue 18")
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds for each row of that table")
    parser.add_argument("--rows", default="", help="its rows, such as alon or alon:50, separated by commas")
    chosen = parser.parse_known_args()[0]
    if "--genotypes" in sys.argv:
        genotypes_alone()
    elif chosen.middle:
        say = Report(f"certificates-middle-{chosen.seconds:g}s.txt")
        say(f"\nbars missed: {middle(say, chosen.seconds, set(filter(None, chosen.rows.split(','))))}")
    else:
        say = Report("certificates.txt" if "--quick" not in sys.argv else "certificates-quick.txt")
        say(f"long exact searches by {'numba' if can_compile() else 'numpy'}, one thread\n")
        table = Table(say)
        small(table)
        if "--quick" not in sys.argv:
            large(table)
            path(say, table)
            genotypes_case(say, table)
        say(f"\nbars missed: {table.missed}")
