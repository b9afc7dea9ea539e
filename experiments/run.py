"""Run every experiment, each in a process of its own, and build docs/paper.md and docs/hapmap3.md.

    python experiments/run.py               all of the paper's
    python experiments/run.py table1 convex some of them
    python experiments/run.py hapmap3       one that is not the paper's: hapmap3, choosing_k

An experiment whose data are absent says so, and what it found earlier stays.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = (
    "joint", "table1", "table2", "figure1", "genotypes", "gene_expression", "rotation", "vectors", "figure2", "convex",
    "starts", "hadamard", "every_method",
)  # fmt: skip
STORIES = ("hapmap3", "choosing_k")
"""Examples of the documentation, which are not the paper's."""


def main() -> None:
    chosen = sys.argv[1:] or SCRIPTS
    unknown = set(chosen) - {*SCRIPTS, *STORIES}
    if unknown:
        raise SystemExit(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join((*SCRIPTS, *STORIES))}.")
    failed, began = [], time.perf_counter()
    for name in (*chosen, "build"):
        print(f"\n==> {name}", flush=True)
        started = time.perf_counter()
        if subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False).returncode:
            failed.append(name)
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    print(f"\nall: {(time.perf_counter() - began) / 60:.1f} minutes", flush=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
