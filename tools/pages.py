"""Make every result file, figure and page again from the code as it is, and say what changed: `make pages`.

    python tools/pages.py                  all steps that are older than the code; hours
    python tools/pages.py speed paper      these steps, whatever their age, and the pages made of results
    python tools/pages.py --list           the steps, what they write, and whether they are of this code

A run that is stopped goes on at the step where it stopped: a finished step is noted with a digest of the code that it
ran, and is left out while that code stays the same. Steps run strictly one after another, as most of them measure time:
leave the machine alone. A step that fails is named at the end; the files of the others are kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DONE = ROOT / "tools" / ".cache" / "pages.json"
"""Steps that have finished, each with the digest of its code; not part of the repository."""
FAILED = 1


@dataclass(frozen=True)
class Step:
    """One command, and what it writes."""

    name: str
    command: tuple[str, ...]
    """A script of the repository and its options."""
    writes: tuple[str, ...]
    """Patterns of files, seen from the root of the repository."""
    is_page: bool = False
    """Whether it only puts results on pages, and so runs after any other step."""

    @property
    def script(self) -> Path:
        """The file that is run."""
        return ROOT / self.command[0]

    def files(self) -> list[Path]:
        """Return the files that are there now."""
        return sorted(path for pattern in self.writes for path in ROOT.glob(pattern) if path.is_file())


def _benchmark(name: str, *options: str, writes: Sequence[str] = ()) -> Step:
    written = writes or (f"{name}.txt",)
    return Step(name, (f"benchmarks/{name}.py", *options), tuple(f"benchmarks/results/{file}" for file in written))


def _campaign(name: str, script: str, *options: str, writes: Sequence[str] = ()) -> Step:
    written = writes or (f"{name}.txt",)
    return Step(name, (f"tools/{script}.py", *options), tuple(f"tools/results/{file}" for file in written))


STEPS = (
    _benchmark("users", writes=("users.txt", "users.csv")),
    _benchmark("speed"),
    Step("speed_rivals", ("benchmarks/speed.py", "--rivals"), ("benchmarks/results/speed_rivals.txt",)),
    Step("scale", ("benchmarks/scale.py",), ("benchmarks/results/scale.txt", "docs/_static/scale.svg")),
    _benchmark("import_time"),
    _benchmark("quality", writes=("quality.txt", "rivals.txt")),
    _benchmark("budgets", writes=("budgets.csv",)),
    _benchmark("centering"),
    _benchmark("certificates"),
    Step(
        "certificates_middle", ("benchmarks/certificates.py", "--middle", "--seconds", "60"),
        ("benchmarks/results/certificates-middle-60s.txt",),
    ),
    Step(
        "certificates_middle_10s", ("benchmarks/certificates.py", "--middle", "--seconds", "10"),
        ("benchmarks/results/certificates-middle-10s.txt",),
    ),
    _benchmark("joint"),
    _benchmark("joint_constrained"),
    _benchmark("joint_certificates"),
    _benchmark("text"),
    _benchmark("resampling"),
    _benchmark("readers"),
    Step("paper", ("experiments/run.py",), ("experiments/results/*", "docs/figures/*.png")),
    Step(
        "stories", ("experiments/run.py", "hapmap3", "choosing_k"),
        ("experiments/results/hapmap3.*", "docs/figures/hapmap3.png", "docs/figures/choosing_k.png"),
    ),
    _benchmark("comparison"),
    Step("analyses", ("docs/analyses/draw.py",), ("docs/analyses/results.json", "docs/figures/analysis_*.png")),
    Step("shares_figure", ("docs/shares_figure.py",), ("docs/_static/shares.png",)),
    Step("report_figure", ("docs/report_figure.py",), ("docs/figures/report.png",)),
    _campaign("rivals_small_k", "rivals_small_k"),
    _campaign("certify_small_k", "rivals_small_k", "--certify"),
    _campaign("blas_threads", "blas_threads"),
    _campaign("false_proofs", "false_proofs"),
    _campaign(
        "false_proofs_tall", "false_proofs", "--tall", "--first", "600000", "--cases", "1500",
        "--out", "tools/results/false_proofs_tall.txt",
    ),
    _campaign(
        "false_proofs_duals", "false_proofs", "--duals", "--cases", "400",
        "--out", "tools/results/false_proofs_duals.txt",
    ),
    _campaign("is_it_real", "is_it_real"),
    _campaign("invariants", "truth"),
    _campaign("fuzz", "fuzz"),
    _campaign("kills", "kills"),
    _campaign("mutants", "mutants", "--jobs", "2", writes=("mutants.txt", "mutants.jsonl")),
    _campaign("coverage", "covered"),
    _campaign("new_user", "new_user"),
    Step("paper_pages", ("experiments/build.py",), ("docs/paper.md", "docs/hapmap3.md"), is_page=True),
    Step("analyses_pages", ("docs/analyses/write_pages.py",), ("docs/*.md", "README.md"), is_page=True),
    Step("numbers", ("tools/page.py",), ("docs/*.md", "README.md"), is_page=True),
)  # fmt: skip


def chosen_steps(names: Sequence[str], done: dict[str, str]) -> list[Step]:
    """Return the steps to run: those named, or those that have not run with this code; pages always."""
    unknown = set(names) - {step.name for step in STEPS}
    if unknown:
        known = ", ".join(step.name for step in STEPS)
        raise SystemExit(f"There is no step {', '.join(sorted(unknown))}; there are {known}.")
    return [
        step for step in STEPS
        if step.is_page or (step.name in names if names else done.get(step.name) != code_digest(step))
    ]  # fmt: skip


def code_digest(step: Step) -> str:
    """Return a digest of the package and of all scripts in the folder of the step."""
    sources = sorted([*ROOT.glob("src/**/*.py"), *step.script.parent.glob("*.py")])
    digest = hashlib.sha256(" ".join(step.command).encode())
    for source in sources:
        digest.update(source.relative_to(ROOT).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


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


def finished_steps() -> dict[str, str]:
    """Return the digest of the code with which each step finished last."""
    return json.loads(DONE.read_text()) if DONE.exists() else {}


def run(step: Step, done: dict[str, str]) -> list[str] | None:
    """Run a step and note it if it finished; return what changed, or None if it failed."""
    before, digest, began = contents(step.files()), code_digest(step), time.perf_counter()
    print(f"\n==> {step.name}: {' '.join(step.command)}", flush=True)
    status = subprocess.run([sys.executable, *step.command], cwd=ROOT, check=False).returncode
    print(f"{step.name}: {(time.perf_counter() - began) / 60:.1f} minutes, exit {status}", flush=True)
    if status:
        return None
    done[step.name] = digest
    DONE.parent.mkdir(exist_ok=True)
    DONE.write_text(json.dumps(done, indent=1) + "\n")
    return list(differences(before, contents(step.files())))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", help="names of steps; all that are older than the code if none is given")
    parser.add_argument("--list", action="store_true", help="print the steps and whether they are of this code")
    options = parser.parse_args(arguments)
    done = finished_steps()
    if options.list:
        for step in STEPS:
            state = "of this code" if done.get(step.name) == code_digest(step) else "to be run"
            print(f"{step.name:18} {state:13} {' '.join(step.writes)}")
        return 0
    changes, failed = list[str](), list[str]()
    for step in chosen_steps(options.steps, done):
        changed = run(step, done)
        if changed is None:
            failed.append(step.name)
        else:
            changes += changed
    print("\n" + ("\n".join(dict.fromkeys(changes)) or "Nothing changed."))
    if failed:
        print(f"failed: {', '.join(failed)}")
    return FAILED if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
