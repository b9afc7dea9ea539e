"""Packed genotypes, data larger than memory, and a cluster: time, passes and memory, as ratios in one run.

    python benchmarks/scale.py                      everything, some minutes; results/scale.txt and a figure
    python benchmarks/scale.py kernels component    some parts; see PARTS
    python benchmarks/scale.py stream --gigabytes 8
    python benchmarks/scale.py --draw               the figure again, from results/scale.txt

Ratios are medians of runs in turn; of products, which take milliseconds, a run is the quickest of three. plink2 and
matplotlib are used where they are installed. `plink2 --pca approx` is meant for more than 5,000 samples: on fewer it
does more work than it needs, and its own manual says so.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, Report, data
from scipy.sparse.linalg import svds

import rspca
from rspca.algorithm.polish import swaps_affordable
from rspca.formats import write_plink
from rspca.operators import as_operator

PAPER = (2500, 37_493)
"""People and SNPs of the paper's chromosome 1."""
K = 1875
RUNS = 7
SAMPLE = 0.02


def seconds(work: Callable[[], Any], in_a_row: int = 1) -> float:
    """Return the seconds of the quickest of so many runs, after a pause."""
    time.sleep(0.1)  # let threads of BLAS come to rest
    stamps = [time.perf_counter()]
    for _ in range(in_a_row):
        work()
        stamps.append(time.perf_counter())
    return min(after - before for before, after in itertools.pairwise(stamps))


def medians(*works: Callable[[], Any], runs: int = RUNS, in_a_row: int = 1) -> list[float]:
    """Return the median seconds of each, run in turn after one warm-up each."""
    for work in works:
        work()
    turns = [[seconds(work, in_a_row) for work in works] for _ in range(runs)]
    return [statistics.median(column) for column in zip(*turns, strict=True)]


def python(code: str, **environment: str) -> str:
    """Run a script in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=os.environ | environment
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


WATCH = """
import threading, time
class Watch:
    '''The largest anonymous resident memory while it is open, in MB.'''
    def now(self):
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024
    def __enter__(self):
        self.before = self.peak = self.now()
        self.open = True
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        return self
    def work(self):
        while self.open:
            self.peak = max(self.peak, self.now())
            time.sleep(0.005)
    def __exit__(self, *error):
        self.open = False
        self.thread.join()
"""


def paper_file(folder: Path) -> Path:
    bed = folder / "paper.bed"
    if not bed.exists():
        write_plink(bed, rspca.datasets.make_genotypes(*PAPER)[0])
    return bed


# --- parts ------------------------------------------------------------------------------------------------------------


def kernels(say: Report, folder: Path, options: argparse.Namespace) -> None:
    m, n = PAPER
    bed = paper_file(folder)
    X = rspca.formats.read_plink(bed, dtype=np.float32).matrix
    u, v = np.ones(m, np.float32), np.random.default_rng(0).standard_normal(n).astype(np.float32)
    say(f"\nProducts with {m:,} x {n:,} genotypes: packed, against float32 BLAS on the unpacked matrix, all cores\n")
    columns = ("float32 ms", "float64 ms", "BLAS ms", "float32/BLAS", "float64/BLAS", "memory")
    say(f"{'product':<10}" + "".join(f"{name:>14}" for name in columns))
    single, double = rspca.read(bed, dtype=np.float32).operator, rspca.read(bed).operator
    U = np.random.default_rng(1).standard_normal((m, 8)).astype(np.float32)
    for name, ours, exact, theirs in (
        ("X'u", lambda: single.rmatmat(u), lambda: double.rmatmat(u), lambda: X.T @ u),
        ("X v", lambda: single.matmat(v), lambda: double.matmat(v), lambda: X @ v),
        ("X'U, 8", lambda: single.rmatmat(U), lambda: double.rmatmat(U), lambda: (U.T @ X).T),
    ):
        a, b, c = medians(ours, exact, theirs, runs=15, in_a_row=3)
        share = bed.stat().st_size / X.nbytes
        say(f"{name:<10}{1e3 * a:>14.1f}{1e3 * b:>14.1f}{1e3 * c:>14.1f}{a / c:>14.2f}{b / c:>14.2f}{share:>14.4f}")
    cache = folder / "cache"
    code = "from rspca.operators import kernels; print(f'{kernels.compile_all():.1f}')"
    first, again = (python(code, NUMBA_CACHE_DIR=str(cache)) for _ in range(2))
    say(f"\nkernels: {first} s to compile the first time on a machine, {again} s to load afterwards")


COMPONENT = """
import sys, time, statistics
import numpy as np, rspca
from rspca.operators import kernels
import rspca.api, rspca.formats.bed, scipy.sparse.linalg
kernels.compile_all(sys.argv[3])
def work():
    table = rspca.read(sys.argv[1], dtype=sys.argv[3])
    return table, rspca.decompose(table, 1, k=int(sys.argv[2]), scale="patterson", random_state=0)
with Watch() as watch:
    table, found = work()
times = []
for _ in range(5):
    started = time.perf_counter(); work(); times.append(time.perf_counter() - started)
print(statistics.median(times), table.operator.passes, watch.peak - watch.before, found.components[0].variance)
"""


def component(say: Report, folder: Path, options: argparse.Namespace) -> None:
    bed = paper_file(folder)
    say(f"\nOne polished component, k = {K}, Patterson scaling, from opening the file to loadings, kernels compiled\n")
    plink = plink_seconds(bed, folder)
    for dtype in ("float32", "float64"):
        done = subprocess.run(
            [sys.executable, "-c", WATCH + COMPONENT, str(bed), str(K), dtype],
            capture_output=True,
            text=True,
            check=True,
        )
        took, passes, memory, variance = map(float, done.stdout.split())
        against = (
            "plink2 is not installed"
            if plink is None
            else f"{took / plink:.2f} x plink2 --pca 1 approx ({plink:.2f} s)"
        )
        say(
            f"{dtype}: {took:.3f} s, {against}; {passes:.1f} passes; {memory:.0f} MB anonymous; variance {variance:.1f}"
        )
    say("plink2 finds a dense component, whose approx mode is meant for more than 5,000 samples")


def plink_seconds(bed: Path, folder: Path) -> float | None:
    plink = shutil.which("plink2")
    if plink is None:
        return None
    call = [plink, "--bfile", str(bed.with_suffix("")), "--pca", "1", "approx", "--out", str(folder / "pca")]
    return statistics.median(
        seconds(lambda: subprocess.run(call, check=True, stdout=subprocess.DEVNULL)) for _ in range(3)
    )


def agreement(say: Report, folder: Path, options: argparse.Namespace) -> None:
    bed = data.data_path("hapmap3_flashpca", "data.bed")
    dense = rspca.formats.read_plink(bed, dtype=np.float64).matrix
    expected = {t: rspca.decompose(dense.astype(t), 3, k=100, scale="patterson", random_state=0) for t in ("f8", "f4")}
    say("\nHapMap3, Patterson scaling, k = 100, 3 components: packed against the dense route\n")
    for packed, route in (("f8", "f8"), ("f4", "f4"), ("f4", "f8")):
        table = rspca.read(bed, chromosomes="all", dtype=packed)
        found = rspca.decompose(table, 3, k=100, scale="patterson", random_state=0)
        pairs = list(zip(found.components, expected[route].components, strict=True))
        same = [bool(np.array_equal(a.support, b.support)) for a, b in pairs]
        gaps = [float(np.abs(a.dense() - b.dense()).max()) for a, b in pairs]
        shares = [a.variance / b.variance for a, b in pairs]
        gap, share = ", ".join(f"{g:.0e}" for g in gaps), ", ".join(f"{s:.4f}" for s in shares)
        say(f"packed {packed}, dense {route}: same supports {same}, largest differences of loadings {gap},")
        say(f"    variance / variance {share}")


def routes(say: Report, folder: Path, options: argparse.Namespace) -> None:
    from sklearn.decomposition import PCA
    from sklearn.decomposition import SparsePCA as TheirSparsePCA

    say("\nOne component at k = 5 % of n, Patterson scaling: seconds over those of dense float32 (passes)\n")
    header = ["float64", "float32", "packed", "blocks", "cluster", "svds", "PCA", "plink2"]
    say(f"{'data':<24}{'float32 s':>10}" + "".join(f"{name:>15}" for name in header))
    simulated = rspca.datasets.make_genotypes(1000, 20_000)[0].astype(np.float32)
    sets = {"make_genotypes": simulated, "HapMap3": data.hapmap3(), "HGDP, Europeans": data.hgdp_euro()}
    with cluster(2) as client:
        for name, X in sets.items():
            bed, mapped = folder / "routes.bed", folder / "routes.npy"
            write_plink(bed, np.rint(X))
            np.save(mapped, X)
            k = X.shape[1] // 20
            found: dict[str, float] = {}

            def fit(what: Any, label: str, k: int = k, found: dict[str, float] = found) -> Callable[[], Any]:
                def work() -> None:
                    found[label] = rspca.decompose(what, 1, k=k, scale="patterson", random_state=0).passes

                return work

            standard = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)
            works = {
                "float64": fit(X.astype(np.float64), "float64"),
                "float32": fit(X, "float32"),
                "packed": fit(rspca.read(bed), "packed"),
                "blocks": fit(as_operator(np.load(mapped, mmap_mode="r"), max_memory="100MB"), "blocks"),
                "cluster": fit(rspca.read(bed, client=client), "cluster"),
                "svds": lambda X=standard: svds(X, 1),
                "PCA": lambda X=standard: PCA(1, svd_solver="randomized", random_state=0).fit(X),
            }
            times = dict(zip(works, medians(*works.values(), runs=3), strict=True))
            plink = plink_seconds(bed, folder)
            times["plink2"] = float("nan") if plink is None else plink
            cells = [
                f"{times[one] / times['float32']:.2f}" + (f" ({found[one]:.0f})" if one in found else "")
                for one in header
            ]
            say(
                f"{f'{name} {X.shape[0]}x{X.shape[1]}':<24}{times['float32']:>10.3f}"
                + "".join(f"{c:>15}" for c in cells)
            )
    few = np.ascontiguousarray(standardized(simulated[:400, :2000]))
    ours, theirs = medians(
        lambda: rspca.SparsePCA(1, k=100, random_state=0).fit(few),
        lambda: TheirSparsePCA(1, alpha=5.0, max_iter=20, random_state=0).fit(few), runs=3,
    )  # fmt: skip
    say(f"\nsklearn.decomposition.SparsePCA on 400 x 2,000 of these: {theirs / ours:.0f} x our time")


def standardized(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)


STREAM = """
import sys, time, os
import numpy as np, rspca
path, limit = sys.argv[1], sys.argv[2]
def drop():
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
def plainly():
    buffer = bytearray(1 << 24)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer): pass
def timed(work):
    drop(); started = time.perf_counter(); work(); return time.perf_counter() - started
X = np.load(path, mmap_mode="r")
op = rspca.as_operator(X, max_memory=limit)
v = np.random.default_rng(0).standard_normal(X.shape[1])
with Watch() as watch:
    pairs = [(timed(plainly), timed(lambda: op.gram(v))) for _ in range(3)]
plain, ours = (sorted(column)[1] for column in zip(*pairs))
print(plain, ours, watch.peak)
"""


def stream(say: Report, folder: Path, options: argparse.Namespace) -> None:
    path, n = folder / "large.npy", 20_000
    m = int(options.gigabytes * 1e9) // (4 * n)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(m, n))
    rng = np.random.default_rng(0)
    for start in range(0, m, 1000):
        X[start : start + 1000] = rng.random((min(1000, m - start), n), dtype=np.float32)
    X.flush()
    del X
    os.sync()
    say(f"\nX'(Xv) on a mapped float32 file of {options.gigabytes:g} GB, max_memory 500 MB, cache dropped each time\n")
    done = subprocess.run(
        [sys.executable, "-c", WATCH + STREAM, str(path), "500MB"], capture_output=True, text=True, check=True
    )
    plain, ours, peak = map(float, done.stdout.split())
    say(f"{ours:.2f} s a pass, {ours / plain:.2f} x plainly reading it ({plain:.2f} s); RssAnon at most {peak:.0f} MB")
    path.unlink()


def cluster(n_workers: int) -> Any:
    from contextlib import contextmanager

    from distributed import Client, LocalCluster

    @contextmanager
    def running() -> Any:
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, silence_logs=50) as local,
            Client(local) as client,
        ):
            yield client

    return running()


def workers(say: Report, folder: Path, options: argparse.Namespace) -> None:
    m, n = 5000, 160_000
    bed = folder / "wide.bed"
    block = rspca.datasets.make_genotypes(m, n // 16)[0]
    write_plink(bed, np.tile(block, 16))
    say(f"\nX'(Xv) on {m:,} x {n:,} packed genotypes: two worker processes against this process with two threads\n")
    v = np.random.default_rng(0).standard_normal(n)
    here = rspca.read(bed).operator
    with cluster(2) as client:
        there = rspca.read(bed, client=client).operator
        a, b = medians(lambda: there.gram(v), lambda: here.gram(v))
    say(f"{1e3 * a:.0f} ms against {1e3 * b:.0f} ms: {a / b:.2f} x")
    rate = 2 * m * n / b / (os.cpu_count() or 1)
    passes, people, snps = 12, 500_000, 1_000_000
    minutes = passes * people * snps / rate / 60
    say(
        f"\n500,000 x 1,000,000 genotypes: {people * snps / 4e9:.0f} GB packed. At {rate / 1e9:.1f} billion genotypes a"
    )
    say(f"second and core, a component of {passes} passes takes {minutes:.0f} core-minutes of products.")
    say(f"{'workers (8 cores, each)':<26}{'GB each':>9}{'minutes':>9}")
    for count in (4, 8, 16):
        say(f"{count:<26}{people * snps / 4e9 / count:>9.0f}{minutes / (8 * count) * a / b:>9.1f}")
    say("A pass sends 1.5 million numbers, 12 MB, in all; the process that leads needs 2 GB for sketch and vectors.")


def growth(say: Report, folder: Path, options: argparse.Namespace) -> None:
    say("\nGrowth of one component, k = 5 % of n, packed, from the open file: seconds, and slope on log-log axes\n")
    curves = {}
    for name, sizes, shape in (
        ("n", [5000, 10_000, 20_000, 40_000, 80_000], lambda s: (1000, s)),
        ("m", [500, 1000, 2000, 4000, 8000], lambda s: (s, 10_000)),
    ):
        times = []
        for size in sizes:
            bed = folder / "growth.bed"
            write_plink(bed, rspca.datasets.make_genotypes(*shape(size))[0])
            table = rspca.read(bed)
            times += medians(
                lambda t=table: rspca.decompose(t, 1, k=t.shape[1] // 20, scale="patterson", random_state=0), runs=3
            )
        plain = [not examines_swaps(name, size) for size in sizes]
        slope = np.polyfit(np.log(np.compress(plain, sizes)), np.log(np.compress(plain, times)), 1)[0]
        say(f"{name} = {sizes}: {[round(t, 3) for t in times]} s, slope {slope:.2f}")
        curves[name] = (sizes, times)
    draw(curves)


def examines_swaps(axis: str, size: int) -> bool:
    """Return whether a fit of `growth` examines all single swaps: it takes longer than a larger one that does not."""
    n = size if axis == "n" else 10_000
    return swaps_affordable(n // 20, n)


def stored_curves() -> dict[str, tuple[list[int], list[float]]]:
    """Return the sizes and times of the last run of `growth`."""
    text = (HERE / "results" / "scale.txt").read_text()
    found = re.findall(r"^([nm]) = \[(.*)\]: \[(.*)\] s, slope", text, re.MULTILINE)
    return {
        name: ([int(size) for size in sizes.split(", ")], [float(time) for time in times.split(", ")])
        for name, sizes, times in found
    }


def draw(curves: dict[str, tuple[list[int], list[float]]]) -> None:
    """Draw time over size; sizes at which all single swaps are examined stand apart from the line."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from matplotlib.ticker import LogLocator, NullFormatter
    except ImportError:
        return
    figure, axes = plt.subplots(figsize=(5, 3.9), layout="constrained")
    words = {"n": "more SNPs, 1,000 people", "m": "more people, 10,000 SNPs"}
    for (name, (sizes, times)), marker in zip(curves.items(), "os", strict=True):
        apart = [examines_swaps(name, size) for size in sizes]
        plain = np.logical_not(apart)
        (line,) = axes.loglog(np.compress(plain, sizes), np.compress(plain, times), marker=marker, label=words[name])
        if any(apart):
            marks = {"markerfacecolor": "none", "color": line.get_color(), "linestyle": "none", "marker": marker}
            label = "the same, all single swaps examined"
            axes.loglog(np.compress(apart, sizes), np.compress(apart, times), label=label, **marks)
    axes.set(xlabel="number of SNPs or of people", ylabel="seconds for one component")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        axis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
    figure.savefig(HERE.parent / "docs" / "_static" / "scale.svg")


PARTS = {one.__name__: one for one in (kernels, component, agreement, routes, stream, workers, growth)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--gigabytes", type=float, default=2.0, help="size of the file that is streamed")
    parser.add_argument("--draw", action="store_true", help="draw the figure again from the stored result")
    options = parser.parse_args()
    if options.draw:
        return draw(stored_curves())
    whole = list(options.parts) == list(PARTS)
    say = Report("scale.txt" if whole else f"scale_{'_'.join(options.parts)}.txt")
    with tempfile.TemporaryDirectory() as folder:
        for part in options.parts:
            PARTS[part](say, Path(folder), options)


if __name__ == "__main__":
    main()
