"""Mutation testing: small wrong changes to the steps and the certificates, and whether the tests notice.

    python tools/mutants.py --limit 60            the first 60 of the 400
    python tools/mutants.py --jobs 2              all of them, or those that --out does not have yet
    python tools/mutants.py --again               and those that were not noticed, after new tests
    python tools/mutants.py --report              the score of what has been run

400 places are drawn with a fixed seed from all places in the files below. Each mutant runs in a copy of the package
against the tests that execute its statement, those of parts and the quickest first, until one fails (twice), or needs
far more CPU time than without the mutant, or their time is used up. Which tests these are is measured once
(reached.py). Results are kept in tools/results/mutants.jsonl, one a line, so that a run can be stopped and taken
up again; the report is written to tools/results/mutants.txt. Not mutated: docstrings, types, messages of errors,
and the constants at the top of a file and in signatures, which are budgets and tolerances.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import Queue
from typing import Any, TypeVar

from equivalents import EQUIVALENT
from mutations import SEED, Mutant, difference, key_of, lines_of, mutants_of, mutated
from package_copy import ROOT, Copy
from reached import KEPT, Reached, measured

Job, Done = TypeVar("Job"), TypeVar("Done")

RESULTS = ROOT / "tools" / "results"
WANTED = 400
FILES = [
    "linalg/vectors.py",
    "algorithm/feature_limits.py",
    "linalg/eigen.py",
    "algorithm/relax.py",
    "algorithm/round.py",
    "algorithm/normalize.py",
    "algorithm/polish.py",
    "algorithm/deflate.py",
    "linalg/explained_variance.py",
    "algorithm/sketch.py",
    "algorithm/ascent.py",
    "algorithm/full_data.py",
    "algorithm/sketched_data.py",
    "algorithm/small_search.py",
    "certificates/certificate.py",
    "certificates/certify.py",
    "certificates/bounds/gram.py",
    "certificates/bounds/duals.py",
    "certificates/bounds/elimination.py",
    "certificates/bounds/low_rank.py",
    "certificates/nodes.py",
    "certificates/precision.py",
    "certificates/progress.py",
    "certificates/search.py",
    "certificates/bounds/semidefinite.py",
    "certificates/bounds/spectra.py",
    "certificates/bounds/checked_dual.py",
    "certificates/bounds/limits.py",
    "certificates/bounds/penalties.py",
    "certificates/bounds/row_dual.py",
    "certificates/bounds/thresholds.py",
    "certificates/score_search.py",
    "certificates/bounds/core.py",
    "certificates/core_stage.py",
    "certificates/in_memory.py",
    "certificates/products.py",
    "certificates/proof_state.py",
    "certificates/steps.py",
    "certificates/strategy.py",
]
SMALL = (
    "tests/linalg/test_vectors.py",
    "tests/linalg/test_eigen.py",
    "tests/algorithm/test_relax.py",
    "tests/algorithm/test_round.py",
    "tests/algorithm/test_polish.py",
    "tests/algorithm/test_deflate.py",
    "tests/linalg/test_explained_variance.py",
    "tests/certificates/test_bounds_formulas.py",
    "tests/certificates/test_nodes.py",
    "tests/certificates/test_strategy.py",
    "tests/certificates/test_proof_parts.py",
    "tests/certificates/test_bounds.py",
    "tests/certificates/test_score_duals.py",
    "tests/certificates/test_core.py",
    "tests/certificates/test_row_dual.py",
    "tests/certificates/test_group_proofs.py",
    "tests/certificates/test_verify.py",
    "tests/algorithm/test_ascent.py",
    "tests/algorithm/test_loop.py",
    "tests/algorithm/test_routes.py",
    "tests/algorithm/test_small_search.py",
    "tests/algorithm/test_swap_bound.py",
    "tests/algorithm/test_working_set.py",
)
"""Tests of parts: they come before those of the whole, which take long to collect."""
WHOLE = [
    "tests/algorithm/test_feature_limits.py",
    "tests/algorithm/test_nonnegative.py",
    "tests/algorithm/test_pool.py",
    "tests/algorithm/test_sketch.py",
    "tests/certificates/test_certify.py",
    "tests/certificates/test_tall_proofs.py",
    "tests/algorithm/test_component.py",
    "tests/test_estimator.py",
    "tests/campaigns/test_invariants.py",
    "tests/campaigns/test_invariants_symmetry.py",
    "tests/methods/test_methods.py",
    "tests/analysis/test_k_path.py",
]
TESTS = [name.removeprefix("tests/") for name in (*SMALL, *WHOLE)]
INTERPRETED = {"certificates/nodes.py": ["certificates/test_nodes.py", "certificates/test_bounds.py"]}
"""Files that numba compiles, and the tests for them: their mutants run as plain Python, the same source, so that no
compilation is waited for and nothing compiled before is taken for them. For all other mutants the compiled functions
are those of the copy."""
LATE = 4.0
"""A mutant that needs so many times the CPU time of its tests counts as noticed, after half a minute for compiling."""


def chosen() -> list[Mutant]:
    """Return the mutants of the fixed seed: the first by their keys, so that a change of one line moves no others."""
    everything = {one.key: one for file in FILES for one in mutants_of(file)}
    compiling = (everything[key] for key in sorted(everything) if compiles(everything[key]))
    return list(itertools.islice(compiling, WANTED))


def compiles(one: Mutant) -> bool:
    try:
        ast.parse(mutated(one))
    except SyntaxError:
        return False
    return True


def examine(one: Mutant, place: Copy, reached: Reached, most: float) -> dict[str, Any]:
    """Run a mutant against the tests that run its lines; a test that fails must fail again, alone."""
    began = time.perf_counter()
    tests = reached.tests(one.file, lines_of(one), most)
    noticed, by, left = False, "", tests
    with place.changed(one.file, mutated(one)):
        while left and not noticed:
            batch = [name for name in left if name.startswith(SMALL)] or left
            by = failure(one, place, batch, reached)
            noticed = bool(by) and (by not in batch or failure(one, place, [by], reached) == by)
            left = [name for name in left if (name != by if by else name not in batch)]
    seconds = round(time.perf_counter() - began, 1)
    return {
        "name": one.name, "noticed": noticed, "by": by if noticed else "", "seconds": seconds, "tests": len(tests),
        "difference": difference(one),
    }  # fmt: skip


def failure(one: Mutant, place: Copy, tests: list[str], reached: Reached) -> str:
    """Return the first of the tests that fails, or what else went wrong, or nothing."""
    limit = 30.0 + LATE * sum(reached.seconds[name] for name in tests)
    code, output = place.pytest(tests, seconds=limit, compiled=one.file not in INTERPRETED)
    failures = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if failures:
        return failures[0].split(" ", 1)[1].split(" - ")[0]
    if code in (4, 5):  # pytest found no such tests
        raise SystemExit(f"pytest could not run {one.name}:\n{output[-4000:]}")
    return {0: "", -signal.SIGXCPU: "time", -signal.SIGKILL: "time"}.get(code, f"exit {code}")


def report(results: list[dict[str, Any]], say: Any) -> None:
    """Print the score, by file, and what nobody noticed."""
    noticed = sum(one["noticed"] for one in results)
    survivors = [one for one in results if not one["noticed"]]
    same = [one for one in survivors if reason(one)]
    say(f"{len(results)} mutants of the {WANTED} with seed {SEED}, of steps and certificates")
    counted = len(results) - len(same)
    say(f"noticed: {noticed}, {100 * noticed / max(counted, 1):.1f} % of the {counted} that change a result")
    say(f"({100 * noticed / max(len(results), 1):.1f} % of all: {len(same)} change no result)")
    say(f"noticed by running out of time: {sum(one['by'] == 'time' for one in results)}\n")
    totals, caught = (
        Counter(file_of(one) for one in results),
        Counter(file_of(one) for one in results if one["noticed"]),
    )
    for file in FILES:
        if totals[file]:
            say(f"  {file:36} {caught[file]:4} of {totals[file]:4}")
    for title, part in (("change no result", same), ("not noticed", [one for one in survivors if one not in same])):
        say(f"\n{title}: {len(part)}")
        for one in sorted(part, key=lambda one: one["name"]):
            say(f"\n{one['name']}" + (f": {reason(one)}" if reason(one) else ""))
            for line in one["difference"]:
                say(f"  {line}")


def reason(result: dict[str, Any]) -> str:
    """Return why a mutant changes no result, or nothing."""
    return EQUIVALENT.get((file_of(result), result["difference"][1].removeprefix("+ ")), "")


def file_of(result: dict[str, Any]) -> str:
    return str(result["name"]).split(":")[0]


def kept_results(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last result of each mutant, by its key."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {key_of(one["name"], one["difference"]): one for one in map(json.loads, lines)}


def finished(path: Path, wanted: list[Mutant]) -> dict[str, dict[str, Any]]:
    """Return the results that are kept, of mutants that are still what they were."""
    known = kept_results(path)
    return {one.name: known[one.key] | {"name": one.name} for one in wanted if one.key in known}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--limit", type=int, default=WANTED, help="so many of the mutants, in the order they were drawn"
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument(
        "--seconds", type=float, default=40.0, help="CPU time of the tests for one mutant, as measured without it"
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "mutants.jsonl", help="where results are kept")
    parser.add_argument("--report", action="store_true", help="only print what --out has")
    parser.add_argument("--again", action="store_true", help="run those again that were not noticed")
    options = parser.parse_args()
    wanted = chosen()[: options.limit]
    done = finished(options.out, wanted)
    if options.again:
        done = {name: one for name, one in done.items() if one["noticed"] or reason(one)}
    if not options.report:
        run_all([one for one in wanted if one.name not in done], done, options)
        lasting = kept_results(options.out).values()
        options.out.write_text("".join(json.dumps(one) + "\n" for one in lasting))
    lines = [f"machine: {machine()}"]
    report([done[one.name] for one in wanted if one.name in done], lines.append)
    print("\n".join(lines))
    (RESULTS / "mutants.txt").write_text("\n".join(lines) + "\n")


def machine() -> str:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]
    from common import machine

    return machine()


def run_all(left: list[Mutant], done: dict[str, dict[str, Any]], options: Any) -> None:
    """Run what is left, several at a time, and keep each result as it comes."""
    with options.out.open("a") as kept:
        places: Queue[Copy] = Queue()
        for number in range(options.jobs):
            places.put(Copy(KEPT / f"copy{number}"))

        def measure(job: tuple[str, bool], place: Copy) -> dict[str, Any]:
            return measured(place, job[0], FILES, compiled=job[1])

        quick = Reached(in_parallel(measure, [(test, True) for test in TESTS], places))
        slow = {
            file: Reached(in_parallel(measure, [(test, False) for test in tests], places))
            for file, tests in INTERPRETED.items()
        }

        def work(one: Mutant, place: Copy) -> dict[str, Any]:
            return examine(one, place, slow.get(one.file, quick), options.seconds)

        for result in in_parallel(work, left, places):
            done[result["name"]] = result
            kept.write(json.dumps(result) + "\n")
            kept.flush()
            said = f"noticed by {result['by']}" if result["noticed"] else f"NOT NOTICED ({result['tests']} tests)"
            print(f"{len(done):4} {result['name']}: {said}, {result['seconds']} s", flush=True)


def in_parallel(function: Callable[[Job, Copy], Done], jobs: Iterable[Job], places: Queue[Copy]) -> Iterator[Done]:
    """Yield what a function makes of each job, as it comes, in a copy that no other job uses meanwhile."""

    def work(job: Job) -> Done:
        place = places.get()
        try:
            return function(job, place)
        finally:
            places.put(place)

    with ThreadPoolExecutor(places.qsize()) as pool:
        try:
            for future in as_completed([pool.submit(work, job) for job in jobs]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main()
