"""Make every result file, figure and page again from the code as it is, and say what changed: `make pages`.

    python tools/pages.py                  all steps that are older than the code; hours
    python tools/pages.py speed paper      these steps, whatever their age, and the pages made of results
    python tools/pages.py --list           the steps, what they write, and whether they are of this code

    python tools/pages.py --minutes 90     no step is begun that would end later than that, as far as is known

A run that is stopped goes on at the step where it stopped, on another machine too: a finished step is noted in
tools/results/pages.json with a digest of the code that it ran, and is left out while that code stays the same. Code is
the script with what it imports from its folder, and the package; comments and docstrings do not count, nor do command
line, report and plots where a step does not use them, nor the ways to a proof where it proves nothing. Steps run
strictly one after another, as most of them measure time: leave the machine alone. Steps that measure none, such as
false_proofs and mutants, can be named to a second run beside the first. A step that fails is named at the end; the
files of the others are kept.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DONE = ROOT / "tools" / "results" / "pages.json"
SHELLS = ("cli", "report", "plotting")
"""Folders of the package that measurements of the library do not run, and drawings only in part."""
PROOFS = "certificates"
"""Folder of the package whose modules run for a certificate only; some methods use its subfolder of bounds."""
SHARED_BY_PROOFS = "certify.py"
"""The module of that folder from which a method takes a margin for rounding."""
ONLY_FOR = {"formats/frames.py": ("fuzz", "coverage")}
"""Modules that read one kind of file, and the steps with such files: no other step runs them."""
FAILED = 1


class Finished(NamedTuple):
    """A step as it ended last: a digest of the code that it ran, and the time it took."""

    code: str
    minutes: float


@dataclass(frozen=True)
class Step:
    """One command, and what it writes."""

    name: str
    command: tuple[str, ...]
    """A script of the repository and its options."""
    writes: tuple[str, ...]
    """Patterns of files, seen from the root of the repository."""
    runs: tuple[str, ...] = ()
    """Patterns of scripts that it runs by their names, without importing them."""
    is_page: bool = False
    """Whether it only puts results on pages, and so runs after any other step."""
    shells: tuple[str, ...] = SHELLS
    """Which of command line, report and plots it runs."""
    proves: bool = True
    """Whether it computes certificates."""
    runs_tests: bool = False
    """Whether it runs the tests, some of which hold pages against results: pages are written before and after it."""

    @property
    def script(self) -> Path:
        """The file that is run."""
        return ROOT / self.command[0]

    def scripts(self) -> set[Path]:
        """Return the script, those that it runs by name, and what they import next to them."""
        named = [path for pattern in self.runs for path in ROOT.glob(pattern)]
        return set[Path]().union(*(scripts_of(script) for script in (self.script, *named)))

    def files(self) -> list[Path]:
        """Return the files that are there now."""
        return sorted(path for pattern in self.writes for path in ROOT.glob(pattern) if path.is_file())


def _benchmark(name: str, *options: str, writes: Sequence[str] = (), proves: bool = False) -> Step:
    """Return a step that measures the library alone."""
    written = tuple(f"benchmarks/results/{file}" for file in writes or (f"{name}.txt",))
    return Step(name, (f"benchmarks/{name}.py", *options), written, shells=(), proves=proves)


def _campaign(
    name: str, script: str, *options: str, writes: Sequence[str] = (), shells: tuple[str, ...] = (), **what: bool
) -> Step:
    written = tuple(f"tools/results/{file}" for file in writes or (f"{name}.txt",))
    return Step(name, (f"tools/{script}.py", *options), written, shells=shells, runs=(), **what)


STEPS = (
    _benchmark("users", "--resume", "--size", "2", writes=("users.txt", "users.csv")),
    _benchmark("speed"),
    Step(
        "speed_rivals", ("benchmarks/speed.py", "--rivals"), ("benchmarks/results/speed_rivals.txt",),
        shells=(), proves=False,
    ),
    Step(
        "scale", ("benchmarks/scale.py",), ("benchmarks/results/scale.txt", "docs/_static/scale.svg"), shells=(),
        proves=False,
    ),
    Step("import_time", ("benchmarks/import_time.py",), ("benchmarks/results/import_time.txt",)),
    _benchmark("quality", writes=("quality.txt", "rivals.txt", "few_features.txt", "scaled.txt")),
    _benchmark("budgets", writes=("budgets.csv",)),
    _benchmark("centering"),
    _benchmark("certificates", proves=True),
    Step(
        "certificates_middle", ("benchmarks/certificates.py", "--middle", "--seconds", "60"),
        ("benchmarks/results/certificates-middle-60s.txt",), shells=(),
    ),
    Step(
        "certificates_middle_10s", ("benchmarks/certificates.py", "--middle", "--seconds", "10"),
        ("benchmarks/results/certificates-middle-10s.txt",), shells=(),
    ),
    _benchmark("joint"),
    _benchmark("joint_constrained"),
    _benchmark("joint_certificates", proves=True),
    _benchmark("text"),
    _benchmark("resampling"),
    _benchmark("readers"),
    Step(
        "paper", ("experiments/run.py",), ("experiments/results/*", "docs/figures/*.png"), shells=("plotting",),
        runs=("experiments/*.py",),
    ),
    Step(
        "stories", ("experiments/run.py", "hapmap3", "choosing_k"),
        ("experiments/results/hapmap3.*", "docs/figures/hapmap3.png", "docs/figures/choosing_k.png"),
        shells=("plotting",), runs=("experiments/hapmap3.py", "experiments/choosing_k.py", "experiments/build.py"),
    ),
    _benchmark("comparison"),
    Step(
        "analyses", ("docs/analyses/draw.py",), ("docs/analyses/results.json", "docs/figures/analysis_*.png"),
        shells=("plotting",), runs=("docs/analyses/*.py",),
    ),
    Step("shares_figure", ("docs/shares_figure.py",), ("docs/_static/shares.png",), shells=("plotting",)),
    Step("report_figure", ("docs/report_figure.py",), ("docs/figures/report.png",)),
    _campaign("screens", "screens", shells=SHELLS),
    _campaign("rivals_small_k", "rivals_small_k", proves=False),
    _campaign("certify_small_k", "rivals_small_k", "--certify"),
    _campaign("blas_threads", "blas_threads", proves=False),
    _campaign("false_proofs", "false_proofs"),
    _campaign(
        "false_proofs_tall", "false_proofs", "--tall", "--first", "600000", "--cases", "1500",
        "--out", "tools/results/false_proofs_tall.txt",
    ),
    _campaign(
        "false_proofs_duals", "false_proofs", "--duals", "--cases", "400",
        "--out", "tools/results/false_proofs_duals.txt",
    ),
    _campaign("is_it_real", "is_it_real", proves=False),
    _campaign("invariants", "truth"),
    _campaign("fuzz", "fuzz", "--jobs", "2", shells=SHELLS),
    _campaign("kills", "kills", shells=SHELLS),
    _campaign("new_user", "new_user", shells=SHELLS),
    _campaign("mutants", "mutants", "--jobs", "2", writes=("mutants.txt", "mutants.jsonl"), runs_tests=True),
    _campaign("coverage", "covered", shells=SHELLS, runs_tests=True),
    Step("paper_pages", ("experiments/build.py",), ("docs/paper.md", "docs/hapmap3.md"), is_page=True),
    Step("analyses_pages", ("docs/analyses/write_pages.py",), ("docs/*.md", "README.md"), is_page=True),
    Step("numbers", ("tools/page.py",), ("docs/*.md", "README.md"), is_page=True),
)  # fmt: skip


def chosen_steps(names: Sequence[str], done: dict[str, Finished]) -> list[Step]:
    """Return the steps to run: those named, or those that have not run with this code; pages always, and last."""
    unknown = set(names) - {step.name for step in STEPS}
    if unknown:
        known = ", ".join(step.name for step in STEPS)
        raise SystemExit(f"There is no step {', '.join(sorted(unknown))}; there are {known}.")
    pages = [step for step in STEPS if step.is_page]
    others = [step for step in STEPS if not step.is_page]
    chosen = [step for step in others if (step.name in names if names else not is_current(step, done))]
    tests = [step for step in chosen if step.runs_tests]
    measurements = [step for step in chosen if not step.runs_tests]
    return [*measurements, *pages, *tests, *(pages if tests else ())]


def code_digest(step: Step) -> str:
    """Return a digest of the code that a step runs: its scripts and the package."""
    package = (path for path in ROOT.glob("src/**/*.py") if is_run(path, step))
    digest = hashlib.sha256(" ".join(step.command).encode())
    for source in [*sorted(package), *sorted(step.scripts())]:
        digest.update(source.relative_to(ROOT).as_posix().encode())
        digest.update(statements(source, source.stat().st_mtime_ns).encode())
    return digest.hexdigest()


def is_run(path: Path, step: Step) -> bool:
    """Return whether a module of the package is part of what a step runs."""
    folders = path.relative_to(ROOT).parts
    is_shell = any(shell in folders for shell in SHELLS if shell not in step.shells)
    is_proof = path.parent.name == PROOFS and path.name != SHARED_BY_PROOFS
    is_read = all(step.name in steps for module, steps in ONLY_FOR.items() if path.as_posix().endswith(module))
    return not is_shell and (step.proves or not is_proof) and is_read


@cache
def statements(source: Path, written: int) -> str:
    """Return the code of a file without comments and docstrings; `written` is the time of its last change."""
    tree = ast.parse(source.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not is_text(line)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def is_text(line: ast.stmt) -> bool:
    """Return whether a statement is a docstring, of a module, a function, a class or a name."""
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def scripts_of(script: Path) -> set[Path]:
    """Return a script and the scripts that it imports, from its folder or by the name of a folder, and so on."""
    found, to_read = set[Path](), [script]
    while to_read:
        path = to_read.pop()
        if path in found:
            continue
        found.add(path)
        for name in imported_names(path):
            places = (path.parent / name, ROOT / name)
            to_read += [place.with_suffix(".py") for place in places if place.with_suffix(".py").is_file()]
    return found


def imported_names(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, as paths without a suffix, and names that may be modules."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.replace(".", "/") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            module = node.module.replace(".", "/")
            yield module
            yield from (f"{module}/{alias.name}" for alias in node.names)


def contents(files: Sequence[Path]) -> dict[str, str]:
    """Return a digest of each file, by its place in the repository."""
    return {file.relative_to(ROOT).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def differences(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """Say of each file that is new, gone or another one that it is so."""
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            yield f"new      {name}"
        elif name not in after:
            yield f"gone     {name}"
        elif before[name] != after[name]:
            yield f"changed  {name}"


def is_current(step: Step, done: dict[str, Finished]) -> bool:
    """Return whether a step has finished with the code as it is."""
    return step.name in done and done[step.name].code == code_digest(step)


def finished_steps() -> dict[str, Finished]:
    """Return how each step ended last."""
    return {name: Finished(**last) for name, last in json.loads(DONE.read_text()).items()} if DONE.exists() else {}


def run(step: Step, done: dict[str, Finished]) -> list[str] | None:
    """Run a step and note it if it finished; return what changed, or None if it failed."""
    before, digest, began = contents(step.files()), code_digest(step), time.perf_counter()
    print(f"\n==> {step.name}: {' '.join(step.command)}", flush=True)
    status = subprocess.run([sys.executable, *step.command], cwd=ROOT, check=False).returncode
    minutes = (time.perf_counter() - began) / 60
    print(f"{step.name}: {minutes:.1f} minutes, exit {status}", flush=True)
    if status:
        return None
    if not step.is_page:
        done |= finished_steps()  # another run may have added to them
        done[step.name] = Finished(digest, round(minutes, 1))
        DONE.parent.mkdir(exist_ok=True)
        lines = {name: done[name]._asdict() for name in sorted(done)}
        DONE.write_text(json.dumps(lines, indent=1) + "\n")
    return list(differences(before, contents(step.files())))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", help="names of steps; all that are older than the code if none is given")
    parser.add_argument("--list", action="store_true", help="print the steps and whether they are of this code")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no step that would end later")
    options = parser.parse_args(arguments)
    done = finished_steps()
    if options.list:
        for step in STEPS:
            state = "page" if step.is_page else "of this code" if is_current(step, done) else "to be run"
            took = f"{done[step.name].minutes:.1f} min" if step.name in done else ""
            print(f"{step.name:24} {state:13} {took:>10}  {' '.join(step.writes)}")
        return 0
    changes, failed, left, end = list[str](), list[str](), list[str](), time.monotonic() + 60 * options.minutes
    for step in chosen_steps(options.steps, done):
        expected = done[step.name].minutes if step.name in done else 0.0
        if not step.is_page and time.monotonic() + 60 * expected > end:
            left.append(step.name)
            continue
        changed = run(step, done)
        if changed is None:
            failed.append(step.name)
        else:
            changes += changed
    print("\n" + ("\n".join(dict.fromkeys(changes)) or "Nothing changed."))
    if left:
        print(f"not begun, for want of time: {', '.join(left)}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return FAILED if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
