"""Time, passes and memory of one sparse component, as ratios to one ordinary principal component.

    python benchmarks/speed.py            everything but the rivals, some minutes
    python benchmarks/speed.py --rivals   the other packages too

Each ratio is the median of 7 ratios: of a run to a run of scipy.sparse.linalg.svds(X, 1) on the same centered operator
right before it, because the speed of a machine changes within seconds. Our time includes means, column norms,
polishing, refit and explained variance; svds gets the centered operator ready-made. The two run strictly in turn, in
one process, with the threads that BLAS takes by itself.

NumPy and SciPy bring a BLAS each, and only svds uses both: its threads spin for a while into our turn. So two other
ways to measure are printed beside it. At rest: a turn is a pause and then three runs, of which the quickest counts, for
both alike. One thread: strictly in turn again, in a process with one thread of BLAS, where nothing spins.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from common import WORKLOADS, Report
from scipy.sparse.linalg import LinearOperator, svds

import rspca
from rspca.operators import Centered, as_operator

RUNS, IN_A_ROW = 7, 3
PAUSE = 0.15
"""NumPy and SciPy bring a BLAS each, whose threads spin for a while after the last call: let them come to rest."""
SHARES = (0.01, 0.05, 0.20)
RIVAL_SECONDS = 90


class Ratio(NamedTuple):
    """The median of ratios, and those of both times in seconds."""

    ratio: float
    ours: float
    reference: float


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def seconds_at_rest(work: Callable[[], Any]) -> float:
    """Return the time of the quickest of several runs after a pause."""
    time.sleep(PAUSE)
    return min(seconds(work) for _ in range(IN_A_ROW))


def one_svds(X: Any) -> Callable[[], Any]:
    op = Centered(as_operator(X))
    linear = LinearOperator(
        op.shape, matvec=op.matmat, rmatvec=op.rmatmat, matmat=op.matmat, rmatmat=op.rmatmat, dtype=op.dtype
    )
    return lambda: svds(linear, 1)


def compared(
    ours: Callable[[], Any], reference: Callable[[], Any], timed: Callable[[Callable[[], Any]], float]
) -> Ratio:
    """Return what runs in turn take, after one of each to warm up."""
    reference(), ours()
    pairs = [(timed(reference), timed(ours)) for _ in range(RUNS)]
    theirs, mine = zip(*pairs, strict=True)
    ratio = statistics.median(one / other for other, one in pairs)
    return Ratio(ratio, statistics.median(mine), statistics.median(theirs))


def in_one_thread(name: str) -> list[float]:
    """Return the same for each k with one thread of BLAS, which it must be told before it is loaded."""
    command = [sys.executable, __file__, "--in-turn", "--workload", name]
    variables = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS")
    environment = os.environ | dict.fromkeys(variables, "1")
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [float(word) for word in done.stdout.split()]


def print_in_turn(name: str) -> None:
    X = WORKLOADS[name]()
    for share in SHARES:
        ours, reference = partial(rspca.decompose, X, 1, k=int(share * X.shape[1]), random_state=0), one_svds(X)
        print(compared(ours, reference, seconds).ratio)


def nbytes(X: Any) -> int:
    return X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def peak_memory(work: Callable[[], Any]) -> int:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main_table(say: Report) -> None:
    say("\nOne polished, refitted component; time over svds(X, 1), passes over X, peak memory beyond X\n")
    say(
        f"{'data':<20}{'k':>6}{'time/svds':>11}{'at rest':>9}{'one thread':>12}{'ms':>9}{'svds ms':>9}"
        f"{'passes':>8}{'MB':>8}{'allowed':>9}{'share':>9}"
    )
    for name, make in WORKLOADS.items():
        quiet = in_one_thread(name)
        X = make()
        m, n = X.shape
        largest = float(one_svds(X)()[1][0]) ** 2
        for share, one_thread in zip(SHARES, quiet, strict=True):
            k = int(share * n)
            found = rspca.decompose(X, 1, k=k, random_state=0)
            ours, reference = partial(rspca.decompose, X, 1, k=k, random_state=0), one_svds(X)
            in_turn, at_rest = (compared(ours, reference, timed) for timed in (seconds, seconds_at_rest))
            extra = peak_memory(ours) / 1e6
            item = X.dtype.itemsize
            allowed = 0.1 * nbytes(X) / 1e6 + 50 + m * k * item / 1e6 + 8 * min(m, k) ** 2 / 1e6
            say(
                f"{name:<20}{k:>6}{in_turn.ratio:>11.2f}{at_rest.ratio:>9.2f}{one_thread:>12.2f}"
                f"{1e3 * in_turn.ours:>9.1f}{1e3 * in_turn.reference:>9.1f}{found.passes:>8.1f}"
                f"{extra:>8.1f}{allowed:>9.1f}{found.components[0].variance / largest:>9.4f}"
            )


def two_components(say: Report) -> None:
    say("\nTwo components: time of the second over the first, and passes of the second\n")
    say(f"{'data':<20}{'k':>6}{'second/first':>14}{'passes':>8}{'steps':>7}")
    for name, make in WORKLOADS.items():
        X = make()
        for share in SHARES:
            k = int(share * X.shape[1])
            found = rspca.decompose(X, 2, k=k, random_state=0)
            once = lambda X=X, k=k: rspca.decompose(X, 1, k=k, random_state=0)  # noqa: E731
            twice = lambda X=X, k=k: rspca.decompose(X, 2, k=k, random_state=0)  # noqa: E731
            both_over_one = compared(twice, once, seconds_at_rest).ratio
            second = found.components[1]
            say(f"{name:<20}{k:>6}{both_over_one - 1:>14.2f}{second.passes:>8.1f}{second.n_iter:>7}")


def growth(say: Report) -> None:
    say("\nGrowth at k = 5 % of n, simulated genotypes in float32: time against size, slope on log-log axes\n")
    sizes = {
        "n": [(1000, n) for n in (5000, 10000, 20000, 40000, 80000)],
        "m": [(m, 10000) for m in (500, 1000, 2000, 4000, 8000)],
    }
    for axis, shapes in sizes.items():
        times = []
        for m, n in shapes:
            X = rspca.datasets.make_genotypes(m, n, dtype=np.float32)[0]
            work = lambda X=X, n=n: rspca.decompose(X, 1, k=n // 20, random_state=0)  # noqa: E731
            work()
            times.append(statistics.median(seconds_at_rest(work) for _ in range(RUNS)))
        size = [shape[0 if axis == "m" else 1] for shape in shapes]
        slope = np.polyfit(np.log(size), np.log(times), 1)[0]
        say(f"{axis} = {size}: {[round(1e3 * t, 1) for t in times]} ms, slope {slope:.2f}")


def rivals(say: Report) -> None:
    say(f"\nOther packages at k = 1 % of n: time over svds, share of the first component; {RIVAL_SECONDS} s at most\n")
    for name in WORKLOADS:
        # a package that refuses says so itself: its last line of complaint is printed
        for rival in ("rspca", "sklearn-SparsePCA", "sklearn-MiniBatchSparsePCA", "abess-SparsePCA"):
            command = [sys.executable, __file__, "--one-rival", rival, "--workload", name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=RIVAL_SECONDS, check=False)
                said = done.stdout.strip().splitlines() or done.stderr.strip().splitlines()[-1:]
                say(f"{name:<20}{rival:<28}{said[-1] if said else 'died without a word'}")
            except subprocess.TimeoutExpired:
                say(f"{name:<20}{rival:<28}not finished after {RIVAL_SECONDS} s")


def one_rival(rival: str, workload: str) -> None:
    """Fit one component with about k non-zeros by another package, and print what it has after a refit."""
    import scipy.sparse

    X = WORKLOADS[workload]()
    k = X.shape[1] // 100
    op = Centered(as_operator(X))
    reference = statistics.median(seconds(one_svds(X)) for _ in range(3))
    largest = float(rspca.decompose(X, 1, method="pca", k=k).components[0].variance)
    started = time.perf_counter()
    if rival == "rspca":
        v, spent = rspca.decompose(X, 1, k=k, random_state=0).components[0].dense(), time.perf_counter() - started
    elif rival.startswith("sklearn"):
        v, spent = _sklearn(rival, X if scipy.sparse.issparse(X) else X - X.mean(axis=0), k)
    else:
        v, spent = _abess(X, k)
    support = np.flatnonzero(v)
    if len(support) > 2 * k:
        print(
            f"{spent / reference:>9.1f} x svds, and {len(support)} non-zeros where {k} were asked for: not comparable"
        )
        return
    refitted = op.scores(support, rspca.normalize(X, v)[support])
    plain = op.scores(support, v[support] / np.linalg.norm(v))
    print(
        f"{spent / reference:>9.1f} x svds, {len(support)} non-zeros (k = {k}), share {plain @ plain / largest:.4f}, "
        f"refitted {refitted @ refitted / largest:.4f}"
    )


def _sklearn(rival: str, X: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    """Bisect the penalty for about k non-zeros; the time reported is that of the one fit that is kept."""
    import sklearn.decomposition as decomposition

    kind = getattr(decomposition, rival.split("-")[1])
    low, high, best = 0.0, None, None
    alpha = 1.0
    for _ in range(12):
        started = time.perf_counter()
        v = kind(n_components=1, alpha=alpha, random_state=0).fit(X).components_[0]
        spent, nonzeros = time.perf_counter() - started, np.count_nonzero(v)
        if nonzeros and (best is None or abs(nonzeros - k) < abs(np.count_nonzero(best[0]) - k)):
            best = (v, spent)
        if nonzeros == k:
            break
        low, high = (alpha, high) if nonzeros > k else (low, alpha)
        alpha = alpha * 4 if high is None else (low + high) / 2
    assert best is not None
    return best


def _abess(X: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    from abess.decomposition import SparsePCA

    started = time.perf_counter()
    model = SparsePCA(support_size=k)
    model.fit(X if X.dtype == np.float64 else X.astype(np.float64))
    return np.asarray(model.coef_, dtype=float).reshape(-1, X.shape[1])[0], time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", action="store_true", help="time the other packages, to speed_rivals.txt")
    parser.add_argument("--in-turn", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one-rival", help=argparse.SUPPRESS)
    parser.add_argument("--workload", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.in_turn:
        print_in_turn(chosen.workload)
    elif chosen.one_rival:
        one_rival(chosen.one_rival, chosen.workload)
    elif chosen.rivals:
        rivals(Report("speed_rivals.txt"))
    else:
        say = Report("speed.txt")
        main_table(say)
        two_components(say)
        growth(say)


if __name__ == "__main__":
    main()
