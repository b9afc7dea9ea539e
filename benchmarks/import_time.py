"""Time of `import rspca` over that of `import sklearn.decomposition`, and of `rspca --help` over a bare interpreter.

Medians of 9 fresh interpreters in turn.

python benchmarks/import_time.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from common import Report

STATEMENTS = (
    "pass",
    "import sklearn.decomposition",
    "import rspca",
    "import rspca; rspca.SparsePCA",
    "import sys; sys.argv = ['rspca', '--help']; from rspca.cli import main; main()",
)


def seconds(statement: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    say = Report("import_time.txt")
    times = list(zip(*[[seconds(one) for one in STATEMENTS] for _ in range(9)], strict=True))
    bare, sklearn, ours, estimator, shown = (statistics.median(column) for column in times)
    say(f"import rspca: {(ours - bare) / (sklearn - bare):.2f} x import sklearn.decomposition")
    say(f"rspca.SparsePCA, which loads scikit-learn and SciPy: {(estimator - bare) / (sklearn - bare):.2f} x")
    say(f"rspca --help: {shown - bare:.2f} s over python -c pass, {shown / bare:.1f} x its time")
