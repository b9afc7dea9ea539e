"""Mutation testing: small wrong changes to the steps and the certificates, and whether the tests notice.

    python benchmarks/mutants.py --limit 60            the first 60 of the 400
    python benchmarks/mutants.py --jobs 2              all of them, or those that --out does not have yet
    python benchmarks/mutants.py --report              the score of what has been run

400 places are drawn with a fixed seed from all places in the files below. Each mutant runs in a copy of the package
against the tests of its file, then against further ones, until one fails or runs out of time. Results are kept in
benchmarks/results/mutants.jsonl, one a line, so that a run can be stopped and taken up again; the report is written to
benchmarks/results/mutants.txt. Not mutated: docstrings, types, messages of errors, and the constants at the top of a
file and in signatures, which are budgets and tolerances.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

from mutations import SEED, SOURCE, Mutant, difference, key_of, mutants_of, mutated, source_of

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
WANTED = 400
WHOLE = ["test_invariants.py", "test_decomposition.py"]
PROOFS = ["test_certificates.py", "test_invariants.py", "test_certify.py"]
TESTS: dict[str, list[list[str]]] = {
    "vectors.py": [["test_vectors.py"], ["test_relaxation.py", "test_rounding.py"], WHOLE],
    "choice.py": [["test_groups.py", "test_polishing.py"], WHOLE],
    "spectral.py": [["test_spectral.py"], ["test_polishing.py", "test_variance.py"], WHOLE],
    "relaxation.py": [["test_relaxation.py"], ["test_sketch.py", "test_paper.py"], WHOLE],
    "rounding.py": [["test_rounding.py"], WHOLE],
    "normalization.py": [["test_polishing.py"], WHOLE],
    "polishing.py": [["test_polishing.py"], ["test_sketch.py", "test_groups.py"], WHOLE],
    "deflation.py": [["test_deflation.py"], WHOLE],
    "variance.py": [["test_variance.py"], ["test_estimator.py"]],
    "sketch.py": [["test_sketch.py"], ["test_invariants_symmetry.py"]],
    "ascent.py": [["test_polishing.py", "test_sketch.py"], ["test_groups.py", "test_invariants_symmetry.py"], WHOLE],
    "certificates/certificate.py": [["test_certify.py"]],
    "certificates/certify.py": [["test_certify.py"], ["test_invariants.py", "test_paths.py"]],
    "certificates/bounds.py": [["test_certificates.py"], PROOFS[1:]],
    "certificates/duals.py": [["test_certificates.py"], PROOFS[1:]],
    "certificates/elimination.py": [["test_certificates.py"], PROOFS[1:]],
    "certificates/lowrank.py": [["test_certificates.py"], PROOFS[1:]],
    "certificates/nodes.py": [["test_certificates.py"], PROOFS[1:]],
    "certificates/precision.py": [["test_certificates.py"], PROOFS[1:]],
    "certificates/progress.py": [["test_certify.py"], ["test_certificates.py"]],
    "certificates/search.py": [["test_certificates.py"], PROOFS[1:]],
    "certificates/semidefinite.py": [["test_certificates.py"], ["test_methods.py"], PROOFS[1:]],
    "certificates/spectra.py": [["test_certificates.py"], PROOFS[1:]],
    "certificates/stages.py": [["test_certify.py"], ["test_certificates.py", "test_paths.py"]],
}
INTERPRETED = {"certificates/nodes.py"}
"""Files that numba compiles: their mutants run as plain Python, the same source, so that no compilation is waited for
and nothing compiled before is taken for them. For all other mutants the compiled functions are those of the copy."""
SECONDS = 240
"""CPU time for the tests of one level, of which none needs half; a mutant that needs more counts as noticed."""
EQUIVALENT: dict[tuple[str, str], str] = {
    (
        "certificates/elimination.py",
        "top = np.partition(rows**2, n - k + (0), axis=1)[:, n - k + 1 :] if k > 1 else np.zeros((len(rows), 1))",
    ): "to put the k-th largest in its place puts the k - 1 larger ones behind it too",
}
"""Mutants that change no result, (file, line of the mutant) -> why; counted apart."""


def chosen() -> list[Mutant]:
    """Return the mutants of the fixed seed: the first by their keys, so that a change of one line moves no others."""
    everything = {one.key: one for file in TESTS for one in mutants_of(file)}
    compiling = (everything[key] for key in sorted(everything) if compiles(everything[key]))
    return list(itertools.islice(compiling, WANTED))


def compiles(one: Mutant) -> bool:
    try:
        ast.parse(mutated(one))
    except SyntaxError:
        return False
    return True


class Copy:
    """A copy of the package in which one mutant at a time lives."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made, self.writes = folder, int(time.time()), 0
        shutil.copytree(SOURCE, folder / "rspca", ignore=shutil.ignore_patterns("__pycache__"))
        self.tests = folder / "tests"
        shutil.copytree(ROOT / "tests", self.tests, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)

    def write(self, file: str, source: bytes) -> None:
        """Write a file with a time of its own, so that no byte code of another text is taken for it."""
        target = self.folder / "rspca" / file
        target.write_bytes(source)
        self.writes += 1
        os.utime(target, (self.made + self.writes, self.made + self.writes))

    def run(self, one: Mutant | None, tests: list[str]) -> tuple[bool, str, float]:
        """Return whether the tests notice, the first that does, and the seconds taken."""
        began = time.perf_counter()
        if one is not None:
            self.write(one.file, mutated(one))
        environment = os.environ | {
            "PYTHONPATH": str(self.folder),
            "RSPCA_HYPOTHESIS": "mutants",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis"),
            "RSPCA_DATA": os.environ.get("RSPCA_DATA", str(ROOT.parent / "shared" / "data")),
            **{f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")},
        }
        if one is not None and one.file in INTERPRETED:
            environment["NUMBA_DISABLE_JIT"] = "1"
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--tb=no", "-rf",
            *(f"tests/{name}" for name in tests),
        ]  # fmt: skip
        try:
            ended = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, preexec_fn=limited
            )
        finally:
            if one is not None:
                self.write(one.file, source_of(one.file))
        if ended.returncode in (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP):
            raise SystemExit("stopped from outside")
        lines = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        late = ended.returncode == -signal.SIGXCPU
        by = lines[0].split(" - ")[0] if lines else "time" if late else f"exit {ended.returncode}"
        return ended.returncode != 0, by, time.perf_counter() - began


def limited() -> None:
    """Let the operating system end a process that needs too much CPU time: other processes do not count."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 20))


def examine(one: Mutant, place: Copy) -> dict[str, Any]:
    """Run a mutant against level after level of tests until one notices."""
    noticed, by, seconds, passed = False, "", 0.0, []
    for tests in TESTS[one.file]:
        noticed, by, took = place.run(one, tests)
        seconds += took
        if noticed:
            break
        passed += tests
    return {
        "name": one.name, "noticed": noticed, "by": by, "seconds": round(seconds, 1), "passed": passed,
        "difference": difference(one),
    }  # fmt: skip


def report(results: list[dict[str, Any]], say: Any) -> None:
    """Print the score, by file, and what nobody noticed."""
    noticed = sum(one["noticed"] for one in results)
    survivors = [one for one in results if not one["noticed"]]
    same = [one for one in survivors if reason(one)]
    say(f"{len(results)} mutants of the {WANTED} with seed {SEED}, of steps and certificates")
    say(f"noticed: {noticed}, {100 * noticed / max(len(results), 1):.1f} % of all")
    counted = max(len(results) - len(same), 1)
    say(f"without the {len(same)} that change no result: {100 * noticed / counted:.1f} %")
    say(f"noticed by running out of time: {sum(one['by'] == 'time' for one in results)}\n")
    totals, caught = (
        Counter(file_of(one) for one in results),
        Counter(file_of(one) for one in results if one["noticed"]),
    )
    for file in TESTS:
        if totals[file]:
            say(f"  {file:32} {caught[file]:4} of {totals[file]:4}")
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


def finished(path: Path, wanted: list[Mutant]) -> dict[str, dict[str, Any]]:
    """Return the results that are kept, of mutants that are still what they were."""
    lines = path.read_text().splitlines() if path.exists() else []
    known = {key_of(one["name"], one["difference"]): one for one in map(json.loads, lines)}
    return {one.name: known[one.key] | {"name": one.name} for one in wanted if one.key in known}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--limit", type=int, default=WANTED, help="so many of the mutants, in the order they were drawn"
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--out", type=Path, default=RESULTS / "mutants.jsonl", help="where results are kept")
    parser.add_argument("--report", action="store_true", help="only print what --out has")
    parser.add_argument("--again", action="store_true", help="run those again that were not noticed")
    options = parser.parse_args()
    wanted = chosen()[: options.limit]
    done = finished(options.out, wanted)
    if options.again:
        done = {name: one for name, one in done.items() if one["noticed"]}
    if not options.report:
        run_all([one for one in wanted if one.name not in done], done, options)
    lines = [f"machine: {machine()}"]
    report([done[one.name] for one in wanted if one.name in done], lines.append)
    print("\n".join(lines))
    (RESULTS / "mutants.txt").write_text("\n".join(lines) + "\n")


def machine() -> str:
    from common import machine

    return machine()


def run_all(left: list[Mutant], done: dict[str, dict[str, Any]], options: Any) -> None:
    """Run what is left, several at a time, and keep each result as it comes."""
    with tempfile.TemporaryDirectory() as folder, options.out.open("a") as kept:
        places: Queue[Copy] = Queue()
        for number in range(options.jobs):
            places.put(Copy(Path(folder) / str(number)))

        def work(one: Mutant) -> dict[str, Any]:
            place = places.get()
            try:
                return examine(one, place)
            finally:
                places.put(place)

        with ThreadPoolExecutor(options.jobs) as pool:
            for result in pool.map(work, left):
                done[result["name"]] = result
                kept.write(json.dumps(result) + "\n")
                kept.flush()
                said = f"noticed by {result['by']}" if result["noticed"] else "NOT NOTICED"
                print(f"{len(done):4} {result['name']}: {said}, {result['seconds']} s", flush=True)
        check_unchanged(places.get(), done)


def check_unchanged(place: Copy, done: dict[str, dict[str, Any]]) -> None:
    """Refuse tests that fail without any mutant, of those that passed with none: they would seem to notice all."""
    passed = {name for one in done.values() for name in one["passed"]}
    used = {name for one in done.values() for level in TESTS[file_of(one)] for name in level}
    for tests in sorted(used - passed):
        noticed, by, _ = place.run(None, [tests])
        if noticed:
            raise SystemExit(f"{tests} fails without any mutant ({by}): mend that, and delete what it noticed.")


if __name__ == "__main__":
    main()
