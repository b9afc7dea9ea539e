"""What the benchmarks share: the workloads, the machine's name, and a printer that also keeps what it prints."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import rspca  # noqa: E402
from benchmarks import data  # noqa: E402


def genotypes() -> np.ndarray:
    """The size of the paper's chromosome 1, simulated."""
    return rspca.datasets.make_genotypes(2500, 37493, dtype=np.float32)[0]


WORKLOADS: dict[str, Callable[[], Any]] = {
    "Classic-2, sparse": data.classic2,
    "Chowdary, float64": data.chowdary,
    "HapMap3, float32": data.hapmap3,
    "genotypes, float32": genotypes,
}


def machine() -> str:
    """Return the machine in one line: a ratio means little without it."""
    import scipy
    import sklearn

    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {versions}"


class Report:
    """Prints lines and keeps them in a file, in benchmarks/results if no other folder is given."""

    def __init__(self, name: str, folder: Path = HERE / "results") -> None:
        self.path = folder / name
        self.path.parent.mkdir(exist_ok=True)
        self.lines: list[str] = []
        self(f"machine: {machine()}")

    def __call__(self, line: str = "") -> None:
        print(line, flush=True)
        self.lines.append(line)
        self.path.write_text("\n".join(self.lines) + "\n")
