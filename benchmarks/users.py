"""Work that users ask for, in one table: time over a reference, passes, memory and variance.

    python benchmarks/users.py                   all rows; writes results/users.txt and users.csv
    python benchmarks/users.py --rows "k = 20"   rows whose name has this in it; writes users_part.txt and .csv
    python benchmarks/users.py --quick           one repetition of each row; writes users_part.txt and .csv
    python benchmarks/users.py --resume          after a run with the same options that was stopped, of the same code
    python benchmarks/users.py --kept            the table of what such a run has; the rest is said to be absent

Both sides run strictly in turn in one process. A ratio is the median of 7 ratios of neighbors, of 3 where a turn takes
more than 3 s, once with the threads that BLAS takes by itself and once with one thread. Repetition i of our side has
seed i. The reference finds dense components: `svds` is given the centered matrix, or for sparse data a centered
operator over CSR and its transpose, ready-made; PCA is scikit-learn's.

Passes are reads of all entries of X: the largest number that a component took, and the total. MB is the peak of memory
beyond X (tracemalloc), next to the allowance: 10 % of X + 50 MB + 8 bytes x (r + 6)(m + n) + the Gram matrix where one
is formed. `first` is the variance of the first component, `set` the adjusted variance of all as a share of the total,
mean over seeds; next to them their change against results/users_reference.json, which was written by

    PYTHONPATH=<checkout of 7a7d3f9>/src python benchmarks/users.py --write-reference results/users_reference.json

The change of `first` is the worst over the seeds. `rival` is the change against the best other method at this k.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common import HERE, Report
from users_data import DATA
from users_rows import ROWS, Row
from users_sides import SIDES, NotInstalled, nbytes

import rspca

REPEATS, FEW_REPEATS, LONG_SECONDS = 7, 3, 3.0
SEEDS = 5
LONGEST = "genotypes"
"""The data that take longest are measured last, so that a run that is stopped has the others."""
REFERENCE = HERE / "results" / "users_reference.json"
KEPT = HERE / "results" / "users_kept.jsonl"
RIVALS = [name for name in rspca.METHODS if name not in ("rspca", "pca", "dspca")]
GREEDY_MOST = 700
WITH_RIVALS = ("hapmap3", "classic2", "chowdary", "wine", "breast", "digits")
FIRST_LOSS, SET_LOSS, RIVAL_LOSS = 1e-6, 1e-4, 1e-9
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS")
CLOCKS: dict[str, Callable[[], float]] = {
    "wall": time.perf_counter,
    "cpu": lambda: time.process_time() + sum(os.times()[2:4]),
}
"""CPU seconds are those of this process and of commands that have ended, not those of Dask's workers."""


# --- one fit ----------------------------------------------------------------------------------------------------------


def fit(X: Any, row: Row, seed: int) -> Any:
    """Return our components of the data of a row in this process."""
    table = rspca.read(X) if isinstance(X, Path) else X
    return rspca.decompose(table, row.r, k=row.features(table.shape[1]), scale=row.scale, random_state=seed)


def values(found: Any) -> dict[str, float]:
    """Return what is compared with the reference values."""
    return {
        "first": float(found.components[0].variance),
        "set": float(found.explained_variance.sum() / found.total_variance),
        "total": float(found.total_variance),
    }


def n_seeds(row: Row) -> int:
    """Return over how many seeds variances are compared."""
    return 1 if row.r == 1 else SEEDS


def key(row: Row, gigabytes: float) -> str:
    """Return the name of a fit among the reference values; a mapped file has different values at each size."""
    return f"{row.fit}, {gigabytes:g} GB" if row.data == "mapped" else row.fit


def allowance(shape: tuple[int, int], r: int, bytes_of_X: int) -> tuple[float, float]:
    """Return the MB that a fit may take beyond X, and the MB of them for a Gram matrix."""
    from rspca.operators.tall import gram_is_cheaper  # not at the commit of the reference values

    m, n = shape
    gram = 8 * n * n / 1e6 if gram_is_cheaper(shape, r) else 0.0
    return 0.1 * bytes_of_X / 1e6 + 50 + 8 * (r + 6) * (m + n) / 1e6 + gram, gram


def peak_memory(work: Callable[[], Any]) -> float:
    """Return the peak in MB while this works, beyond what there was."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


# --- measuring, in a process for each data set ------------------------------------------------------------------------


def measure(row: Row, X: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the times of a row; with default threads also passes, memory and variance."""
    clock = CLOCKS[options.clock]

    def seconds(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
        started = clock()
        done = work(*arguments)
        return clock() - started, done

    with SIDES[row.over](X, row, options.one_thread) as sides:
        turn = seconds(sides.reference)[0] * sides.times + seconds(sides.ours, 0)[0]
        repeats = 1 if options.quick else FEW_REPEATS if turn > LONG_SECONDS else REPEATS
        found, pairs = {}, []
        for seed in range(repeats):
            theirs = seconds(sides.reference)[0] * sides.times
            ours, found[seed] = seconds(sides.ours, seed)
            pairs.append((ours, theirs))
        mine, others = zip(*pairs, strict=True)
        ratio = statistics.median(ours / theirs for ours, theirs in pairs)
        times = {"ratio": ratio, "seconds": statistics.median(mine), "reference_seconds": statistics.median(others)}
        if options.one_thread:
            return times
        again = sides.found or sides.ours
        seeds = range(1 if options.quick else n_seeds(row))
        every = [again(seed) if sides.found or seed not in found else found[seed] for seed in seeds]
        first = every[0]
        shape = (first.n_samples, first.components[0].n_features)
        allowed, gram = allowance(shape, row.r, nbytes(X))
        return times | {
            "repeats": repeats,
            "features": row.features(shape[1]),
            "passes": max(component.passes for component in first.components),
            "all_passes": first.passes,
            "mb": peak_memory(lambda: again(0)),
            "allowed_mb": allowed,
            "gram_mb": gram,
            "values": [values(each) for each in every],
            "note": sides.note,
        }


def measure_data(options: argparse.Namespace) -> None:
    """Print a line of JSON for each chosen row of one data set."""
    X = DATA[options.measure].make(options.folder, options.size)
    for row in chosen_rows(options):
        if row.data == options.measure:
            try:
                result = measure(row, X, options)
            except (NotInstalled, MemoryError) as error:
                result = {"failed": str(error)}
            print(json.dumps({"row": row.name} | result), flush=True)


def measured(name: str, options: argparse.Namespace, *, one_thread: bool) -> Iterator[dict[str, Any]]:
    """Yield what a process for this data set prints; a row that fails there is passed on with the last complaint."""
    command = [sys.executable, __file__, "--measure", name, "--folder", str(options.folder)]
    command += ["--rows", options.rows, "--size", str(options.size), "--clock", options.clock]
    command += ["--quick"] * options.quick + ["--one-thread"] * one_thread
    environment = os.environ | (dict.fromkeys(BLAS_THREADS, "1") if one_thread else {})
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True, env=environment)
        assert process.stdout is not None
        done = set()
        for line in process.stdout:
            if line.startswith("{"):
                result = json.loads(line)
                done.add(result["row"])
                yield result
        if process.wait():
            complaints.seek(0)
            last = (complaints.read().strip().splitlines() or ["died without a message"])[-1]
            for row in chosen_rows(options):
                if row.data == name and row.name not in done:
                    yield {"row": row.name, "failed": last}


class Kept:
    """Results of the data sets that are done, in a file, for a run that goes on with the same code and options."""

    def __init__(self, options: argparse.Namespace) -> None:
        digest = hashlib.sha256(repr((options.rows, options.quick, options.size, options.clock)).encode())
        for source in sorted([*(HERE.parent / "src").rglob("*.py"), *HERE.glob("users*.py")]):
            digest.update(source.read_bytes())
        self._code, self._lines = digest.hexdigest(), list[dict[str, Any]]()
        if (options.resume or options.kept) and KEPT.exists():
            self._lines = [json.loads(line) for line in KEPT.read_text().splitlines()]
            self._lines = [line for line in self._lines if line["code"] == self._code]

    def measured(self, name: str, options: argparse.Namespace, *, one_thread: bool) -> Iterator[dict[str, Any]]:
        """Yield the results of a data set, as they were kept or as they are measured now."""
        known = [line["result"] for line in self._lines if (line["data"], line["one_thread"]) == (name, one_thread)]
        if known:
            yield from known
            return
        if options.kept:
            yield from ({"row": row.name, "failed": "not in this run"} for row in ROWS if row.data == name)
            return
        found = []
        for result in measured(name, options, one_thread=one_thread):
            found.append({"code": self._code, "data": name, "one_thread": one_thread, "result": result})
            yield result
        self._lines += found
        KEPT.write_text("".join(json.dumps(line) + "\n" for line in self._lines))


# --- the table --------------------------------------------------------------------------------------------------------


def changes(result: dict[str, Any], before: dict[str, Any] | None) -> dict[str, float]:
    """Return how far variances are from the reference values, as shares of these; negative is less."""
    now = result["values"]
    out = {"first": now[0]["first"], "set": statistics.mean(each["set"] for each in now)}
    if before is None:
        return out
    pairs = list(zip(now, before["seeds"], strict=False))
    for mine, theirs in pairs:
        if abs(mine["total"] / theirs["total"] - 1) > 1e-5:
            raise ValueError(f"{result['row']}: the data are not those of the reference values.")
    out["first_change"] = min(mine["first"] / theirs["first"] - 1 for mine, theirs in pairs)
    means = [statistics.mean(side["set"] for side in sides) for sides in zip(*pairs, strict=True)]
    out["set_change"] = means[0] / means[1] - 1
    if "rival" in before:
        out["rival"] = now[0]["first"] / before["rival"] - 1
    return out


def missed(row: Row, line: dict[str, Any]) -> list[str]:
    """Return what is worse than was asked for."""
    one_bar = row.bar if row.one_thread_bar is None else row.one_thread_bar
    tests = {
        "time": row.bar is not None and line["ratio"] > row.bar,
        "one thread": one_bar is not None and line["one_thread"] > one_bar,
        "passes": row.most_passes is not None and max(line["passes"], line["all_passes"] / row.r) > row.most_passes,
        "memory": line["mb"] > line["allowed_mb"],
        "first": line.get("first_change", 0.0) < -FIRST_LOSS or line.get("rival", 0.0) < -RIVAL_LOSS,
        "set": line.get("set_change", 0.0) < -SET_LOSS,
    }
    return [name for name, is_worse in tests.items() if is_worse]


def table_line(row: Row, usual: dict[str, Any], one: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """Return one line of the table by the names of its columns."""
    line = {"work": row.work, "data": DATA[row.data].label, "over": row.over}
    failed = usual.get("failed") or one.get("failed")
    if failed:
        return line | {"failed": failed, "missed": "not measured"}
    line |= {"k": usual["features"], "ratio": usual["ratio"], "one_thread": one["ratio"], "bar": row.bar}
    line |= {"one_thread_bar": row.one_thread_bar or row.bar, "goal": row.goal, "most_passes": row.most_passes}
    line |= {"ms": 1e3 * usual["seconds"], "over_ms": 1e3 * usual["reference_seconds"]}
    line |= {"one_thread_ms": 1e3 * one["seconds"], "one_thread_over_ms": 1e3 * one["reference_seconds"]}
    line |= {name: usual[name] for name in ("passes", "all_passes", "mb", "allowed_mb", "gram_mb", "repeats", "note")}
    line |= changes(usual, before)
    return line | {"missed": ", ".join(missed(row, line))}


COLUMNS = (
    ("k", 6, "d"), ("ratio", 7, ".2f"), ("one_thread", 11, ".2f"), ("bar", 5, "g"), ("one_thread_bar", 5, "g"),
    ("goal", 5, "g"), ("ms", 10, ".1f"), ("over_ms", 10, ".1f"), ("passes", 8, ".1f"), ("all_passes", 11, ".1f"),
    ("mb", 8, ".1f"), ("allowed_mb", 11, ".1f"), ("first", 12, ".6g"), ("first_change", 13, "+.1e"),
    ("rival", 9, "+.1e"), ("set", 9, ".5f"), ("set_change", 11, "+.1e"),
)  # fmt: skip
HEADS = {"one_thread_bar": "one", "allowed_mb": "allowed", "all_passes": "all"}


def say_table(say: Report, lines: list[dict[str, Any]]) -> None:
    """Print the table with the notes below it."""
    heads = "".join(f"{HEADS.get(name, name):>{width}}" for name, width, _ in COLUMNS)
    say(f"{'work':<40}{'data':<46}{'over':<18}{heads}  missed")
    for line in lines:
        start = f"{line['work']:<40}{line['data']:<46}{line['over']:<18}"
        if "failed" in line:
            say(f"{start}  {line['failed']}")
            continue
        cells = (
            f"{'-' if line.get(name) is None else format(line[name], shape):>{width}}" for name, width, shape in COLUMNS
        )
        say(f"{start}{''.join(cells)}  {line['missed']}")
    say()
    for line in lines:
        if line.get("note"):
            say(f"{line['work']}, {line['data']}: {line['note']}")


def write_csv(path: Path, lines: list[dict[str, Any]]) -> None:
    """Write all columns with all digits."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def print_table(options: argparse.Namespace) -> int:
    """Measure all chosen rows, data set by data set, and print the table in the order of the rows."""
    part = "_part" * bool(options.rows or options.quick or options.clock != "wall")  # pages show whole runs only
    before = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}
    rows, lines, kept = chosen_rows(options), {}, Kept(options)
    with tempfile.TemporaryDirectory() as folder:
        options.folder = Path(folder)
        for name in sorted(dict.fromkeys(row.data for row in rows), key=LONGEST.__eq__):
            one = {result["row"]: result for result in kept.measured(name, options, one_thread=True)}
            for usual in kept.measured(name, options, one_thread=False):
                row = next(row for row in rows if row.name == usual["row"])
                lines[row] = table_line(row, usual, one[row.name], before.get(key(row, options.size)))
                line = lines[row]
                outcome = line.get("failed") or f"{line['ratio']:.2f}, one thread {line['one_thread']:.2f}"
                print(f"{row.name}: {outcome} {line['missed']}", file=sys.stderr, flush=True)
                write_csv(HERE / "results" / f"users{part}.csv", list(lines.values()))
    say = Report(f"users{part}.txt")
    repeats = max((line.get("repeats", 1) for line in lines.values()), default=1)
    say(f"\nTime over the reference, {options.clock} clock, median of {repeats}, or {FEW_REPEATS} if long\n")
    ordered = [lines[row] for row in rows if row in lines]
    write_csv(HERE / "results" / f"users{part}.csv", ordered)
    say_table(say, ordered)
    worse = sum(bool(line["missed"]) for line in ordered)
    say(f"\n{worse} of {len(ordered)} rows miss something that was asked for")
    return int(any("failed" in line for line in ordered))


# --- reference values -------------------------------------------------------------------------------------------------


def best_rival(X: Any, k: int) -> tuple[float, str]:
    """Return the variance of the best other method, refitted, and its name."""
    methods = [name for name in RIVALS if name != "greedy" or k <= GREEDY_MOST]
    found = rspca.compare(X, k, methods=methods, certify_seconds=None)
    best = max((one for one in found if one.normalization == "svd" and one.nonzeros <= k), key=lambda one: one.variance)
    return float(best.variance), best.method


def write_reference(options: argparse.Namespace) -> None:
    """Fit every chosen row with five seeds, then the rivals; what the file has already is not fitted again."""
    path, rows = options.write_reference, chosen_rows(options)
    kept = json.loads(path.read_text()) if path.exists() else {}
    print(f"by {rspca.__file__}", file=sys.stderr)

    def keep(name: str, entries: dict[str, Any]) -> None:
        kept[name] = kept.get(name, {}) | entries
        path.write_text(json.dumps(kept, indent=1) + "\n")
        print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for data in dict.fromkeys(row.data for row in rows):
            fits = {key(row, options.size): row for row in rows if row.data == data}
            absent = {
                name: row for name, row in fits.items() if len(kept.get(name, {}).get("seeds", ())) < n_seeds(row)
            }
            X = DATA[data].make(Path(folder), options.size) if absent else None
            for name, row in absent.items():
                started, seeds = time.perf_counter(), list(kept.get(name, {}).get("seeds", ()))
                while len(seeds) < n_seeds(row) and time.perf_counter() - started < options.seconds:
                    seeds.append(values(fit(X, row, len(seeds))))
                    keep(name, {"seeds": seeds})
        for data in WITH_RIVALS:
            for row in (row for row in rows if row.data == data and "rival" not in kept[row.fit]):
                started, X = time.perf_counter(), DATA[data].make(Path(folder), options.size)
                variance, method = best_rival(X, row.features(X.shape[1]))
                same_k = {one.fit for one in rows if (one.data, one.k) == (row.data, row.k)}
                for name in same_k:
                    keep(name, {"rival": variance, "rival_method": method})


def chosen_rows(options: argparse.Namespace) -> list[Row]:
    """Return the rows whose name has what `--rows` asks for."""
    return [row for row in ROWS if options.rows in row.name]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="measure rows whose name has this in it, such as 'tall' or 'bed'")
    parser.add_argument("--quick", action="store_true", help="one repetition of each row")
    parser.add_argument("--size", type=float, default=2.0, help="GB of the mapped file (default 2; the issue has 8)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: for a busy machine; not for the cluster")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was stopped, of the same code")
    parser.add_argument("--kept", action="store_true", help="measure nothing: the table of a run that was stopped")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--write-reference", type=Path, metavar="FILE", help="fit all rows and keep variances in FILE")
    parser.add_argument("--seconds", type=float, default=600, help="for a row of FILE; call again for its other seeds")
    parser.add_argument("--measure", choices=DATA, help=argparse.SUPPRESS)
    parser.add_argument("--one-thread", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        print("\n".join(row.name for row in chosen_rows(options)))
    elif options.measure:
        measure_data(options)
    elif options.write_reference:
        write_reference(options)
    else:
        return print_table(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
